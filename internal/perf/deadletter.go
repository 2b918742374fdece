package perf

import (
	"context"
	"errors"
	"flag"

	"github.com/bartleby-mq/bartleby/internal/amqp"
)

// rejecting are the flags of dead-letter.
var rejecting = group{
	declare: func(o *options, f *flag.FlagSet, _ *scenario) {
		f.IntVar(&o.reject, "reject", 100, "number of deliveries per basic.nack; 1: one basic.reject each")
		f.BoolVar(&o.atLeastOnce, "at-least-once", false, "set x-dead-letter-strategy at-least-once (RabbitMQ: with -queue-type quorum)")
	},
	settle: func(o *options, _ map[string]bool) error {
		if o.reject < 1 {
			return errors.New("-reject: at least 1")
		}
		return nil
	},
}

// deadLetter measures the whole way of a rejected message:
//
//	publisher ──▶ work ──▶ rejecter      work ──rejected──▶ dead ──▶ consumer
//
// Consumed is what came out at the end. With several rejecters for one queue, the order of the dead letters is nobody's
// promise.
func deadLetter(ctx context.Context, o *options) (*Report, error) {
	r, err := newRun(ctx, o)
	if err != nil {
		return nil, err
	}
	defer r.close()
	dead, err := r.declare("dead", plain)
	if err != nil {
		return nil, err
	}
	var more amqp.Table
	if o.atLeastOnce {
		more = amqp.Table{
			{Name: "x-dead-letter-strategy", Value: amqp.String("at-least-once")},
			{Name: "x-overflow", Value: amqp.String("reject-publish")},
		}
	}
	work, err := r.declare("work", deadLettersTo(dead, more))
	if err != nil {
		return nil, err
	}
	if _, err := r.publishTo(work, r.o.count, r.same); err != nil {
		return nil, err
	}
	consumers, err := r.consumeFrom(dead, role{
		verdict: o.ack, every: o.every, use: r.delayIfPaced(), dead: true, backlog: r.backlog,
	}, o.consumers <= o.queues)
	if err != nil {
		return nil, err
	}
	if _, err := r.consumeFrom(work, role{verdict: reject, every: o.reject}, true); err != nil {
		return nil, err
	}
	span, err := r.measure(consumers)
	if err != nil {
		return nil, err
	}
	return r.report(consumers, span)
}
