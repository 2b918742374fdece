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
		f.BoolVar(&o.filling, "full", false, "with -count: publish all messages first, then reject them")
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
	publishers, err := r.publishTo(work, r.o.count, r.same)
	if err != nil {
		return nil, err
	}
	if o.filling {
		return r.fillAndEmpty(publishers, "reject", func() ([]*consumer, error) { return r.consumeDead(work, dead) })
	}
	consumers, err := r.consumeDead(work, dead)
	if err != nil {
		return nil, err
	}
	span, err := r.measure(consumers)
	if err != nil {
		return nil, err
	}
	return r.report(consumers, span)
}

// consumeDead opens the consumers of the dead letters, which it returns, and those that reject.
func (r *run) consumeDead(work, dead []string) ([]*consumer, error) {
	use := r.delayIfPaced()
	if r.o.filling {
		use = ignoreStamp
	}
	consumers, err := r.consumeFrom(dead, role{
		verdict: r.o.ack, every: r.o.every, use: use, dead: true, backlog: r.backlog,
	}, r.o.consumers <= r.o.queues)
	if err != nil {
		return nil, err
	}
	_, err = r.consumeFrom(work, role{verdict: reject, every: r.o.reject}, true)
	return consumers, err
}
