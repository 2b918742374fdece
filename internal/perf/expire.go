package perf

import (
	"context"
	"errors"
	"flag"
	"math/rand/v2"
	"time"

	"github.com/bartleby-mq/bartleby/internal/amqp"
)

// expiry are the flags of expire.
var expiry = group{
	declare: func(o *options, f *flag.FlagSet, _ *scenario) {
		f.DurationVar(&o.ttl, "ttl", 10*time.Second, "from the start of publishing until the first messages are due")
		f.DurationVar(&o.window, "window", 0, "messages are due at random in so long a time; 0: all at one instant")
		f.DurationVar(&o.head, "head", 0, "from the start until the first message of each queue is due; 0: like the others")
		f.Uint64Var(&o.seed, "seed", 1, "of the random instants")
	},
	settle: func(o *options, _ map[string]bool) error {
		if o.ttl < 0 || o.window < 0 || o.head < 0 {
			return errors.New("-ttl, -window, -head: not below 0")
		}
		return nil
	},
}

// expire publishes messages with a TTL that all end at one instant, or at random in a window, and measures how long
// after it each comes out of the queue that dead letters go to. Rates of the second span count from the instant at
// which the first were due.
func expire(ctx context.Context, o *options) (*Report, error) {
	r, err := newRun(ctx, o)
	if err != nil {
		return nil, err
	}
	defer r.close()
	dead, err := r.declare("dead", plain)
	if err != nil {
		return nil, err
	}
	source, err := r.declare("wait", deadLettersTo(dead, nil))
	if err != nil {
		return nil, err
	}
	start := now()
	due := start + int64(o.ttl)
	if _, err := r.publishTo(source, r.o.count, func(l *link, to lane) shape {
		e := &expiring{
			lane: to, body: make([]byte, o.size), properties: r.properties(), frameMax: l.frameMax,
			due: due, window: int64(o.window), dice: rand.New(rand.NewPCG(o.seed, uint64(to.stream))),
		}
		if o.head > 0 {
			e.head = start + int64(o.head)
		}
		e.properties.Has |= amqp.FlagExpiration
		return e
	}); err != nil {
		return nil, err
	}
	consumers, err := r.consumeFrom(dead, role{verdict: o.ack, every: o.every, use: measureDue, dead: true}, false)
	if err != nil {
		return nil, err
	}
	return r.flood(consumers, due)
}

// flood fills the queues, and waits until the last message should have come.
func (r *run) flood(consumers []*consumer, due int64) (*Report, error) {
	empty, err := r.sample(consumers)
	if err != nil {
		return nil, err
	}
	done := r.startPublishers(r.publishers, r.o.rate)
	if err := r.await(0, func() (int64, bool) { return r.published(), isClosed(done) && r.confirmed() }); err != nil {
		return nil, err
	}
	full, err := r.sample(consumers)
	if err != nil {
		return nil, err
	}
	if err := r.wait(time.Duration(due - now())); err != nil {
		return nil, err
	}
	begun, err := r.sample(consumers)
	if err != nil {
		return nil, err
	}
	last := max(due+int64(r.o.window), due-int64(r.o.ttl)+int64(r.o.head))
	if err := r.drain(done, consumers, last); err != nil {
		return nil, err
	}
	out, err := r.sample(consumers)
	if err != nil {
		return nil, err
	}
	fill, flood := span(empty, full), span(begun, out)
	fill.Name, flood.Name = "fill", "expire"
	return r.report(consumers, fill, flood)
}
