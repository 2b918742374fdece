package perf

import (
	"context"
	"errors"
	"flag"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/wire"
)

// longQueue are the flags of backlog.
var longQueue = group{
	declare: func(o *options, f *flag.FlagSet, _ *scenario) {
		durationVar(f, &o.short, "short", 0, "before the test, publish and consume at the same time for this long, for comparison; 0: skip")
		f.IntVar(&o.priorities, "priorities", 0, "x-max-priority of the queues and maximum random priority of messages; 0: none")
		durationVar(f, &o.far, "ttl", 0, "minimum time to live of messages; must be longer than the run; 0: no expiry")
		durationVar(f, &o.spread, "window", 0, "random time added to -ttl")
		f.Int64Var(&o.lengthMax, "max-length", 0, "x-max-length of each queue; messages dropped by it do not count as lost; 0: none")
		f.Uint64Var(&o.seed, "seed", 1, "random seed for priorities and TTLs")
	},
	settle: func(o *options, _ map[string]bool) error {
		switch {
		case o.short < 0 || o.far < 0 || o.spread < 0 || o.lengthMax < 0:
			return errors.New("-short, -ttl, -window, -max-length: must not be negative")
		case o.priorities < 0 || o.priorities > 255:
			return errors.New("-priorities: 0 to 255")
		}
		return nil
	},
}

// backlog fills the queues with nobody consuming, then empties them with nobody publishing. With -short, rates are
// compared with those of queues that stay short.
func backlog(ctx context.Context, o *options) (*Report, error) {
	if o.short == 0 {
		return longOnly(ctx, o)
	}
	brief := *o
	brief.count, brief.duration, brief.warmup = 0, o.short, time.Second
	brief.filling, brief.lengthMax, brief.backlogMax = false, 0, backlogDefault
	short, err := flow(ctx, &brief)
	if err != nil || !short.Books.Balanced() {
		return short, err
	}
	long, err := longOnly(ctx, o)
	if err != nil {
		return long, err
	}
	steady, fill, drain := short.Spans[0], long.Spans[0], long.Spans[1]
	steady.Name = "short"
	long.Spans = append([]Span{steady}, long.Spans...)
	long.add(figureFill, 100*ratio(fill.PublishRate, steady.ConsumeRate), "%")
	long.add(figureDrain, 100*ratio(drain.ConsumeRate, steady.ConsumeRate), "%")
	return long, nil
}

// The figures of backlog.
const (
	figureFill  = "fill rate / rate of a short queue"
	figureDrain = "drain rate / rate of a short queue"
)

// longOnly fills and empties.
func longOnly(ctx context.Context, o *options) (*Report, error) {
	r, err := newRun(ctx, o)
	if err != nil {
		return nil, err
	}
	defer r.close()
	queues, err := r.declare("queue", r.limits)
	if err != nil {
		return nil, err
	}
	publishers, err := r.publishTo(queues, o.count, r.same)
	if err != nil {
		return nil, err
	}
	return r.fillAndEmpty(publishers, "drain", func() ([]*consumer, error) {
		return r.consumeFrom(queues, role{verdict: o.ack, every: o.every}, r.ordered())
	})
}

// fillAndEmpty fills the queues, then has consumers empty them, the last on the messages' way, and measures both. The
// second span gets the name.
func (r *run) fillAndEmpty(publishers []*publisher, name string, consume func() ([]*consumer, error)) (*Report, error) {
	empty, err := r.sample(nil)
	if err != nil {
		return nil, err
	}
	done := r.startPublishers(publishers, r.o.rate)
	if err := r.filled(done, r.queues); err != nil {
		return nil, err
	}
	full, err := r.sample(nil)
	if err != nil {
		return nil, err
	}
	r.o.broker.forgetPeak()
	consumers, err := consume()
	if err != nil {
		return nil, err
	}
	if err := r.drain(done, consumers, 0); err != nil {
		return nil, err
	}
	out, err := r.sample(consumers)
	if err != nil {
		return nil, err
	}
	fill, drain := span(empty, full), span(full, out)
	fill.Name, drain.Name = "fill", name
	return r.report(consumers, fill, drain)
}

// limits returns the arguments of the queues: what -priorities and -max-length ask for.
func (r *run) limits(int) (table amqp.Table) {
	if r.o.priorities > 0 {
		table = append(table, amqp.Field{Name: "x-max-priority", Value: amqp.Int64(int64(r.o.priorities))})
	}
	if r.o.lengthMax > 0 {
		table = append(table, amqp.Field{Name: "x-max-length", Value: amqp.Int64(r.o.lengthMax)})
	}
	return table
}

// vary gives properties what -priorities and -ttl ask for.
func (o *options) vary(p *amqp.Properties, dice *rand.Rand) {
	if o.priorities > 0 {
		p.Has |= amqp.FlagPriority
		p.Priority = uint8(dice.IntN(o.priorities + 1))
	}
	if o.far > 0 {
		ttl := o.far
		if o.spread > 0 {
			ttl += time.Duration(dice.Int64N(int64(o.spread)))
		}
		p.Has |= amqp.FlagExpiration
		p.Expiration = strconv.FormatInt(ttl.Milliseconds(), 10)
	}
}

// ordered reports whether each stream shall come in its order.
func (r *run) ordered() bool { return r.o.priorities == 0 }

// dropped returns how many of the messages published must have fallen to -max-length, if nobody consumed.
func (r *run) dropped() (n int64) {
	if r.o.lengthMax == 0 {
		return 0
	}
	came := map[string]int64{}
	for stream, from := range r.streams {
		came[from.publisher.lane.queues[from.queue]] += r.sent(stream)
	}
	for _, messages := range came {
		n += max(messages-r.o.lengthMax, 0)
	}
	return n
}

// filled waits until the publishers are done and confirmed, and those queues hold all messages.
func (r *run) filled(done <-chan struct{}, queues []string) error {
	var failure error
	err := r.await(0, func() (int64, bool) {
		if !isClosed(done) || !r.confirmed() {
			return r.published(), false
		}
		ready, err := r.ready(queues)
		if failure = err; err != nil {
			return 0, true
		}
		return r.published() + ready, ready >= r.published()-r.dropped()
	})
	if failure != nil {
		return failure
	}
	return err
}

// ready counts the messages of queues that may be delivered.
func (r *run) ready(queues []string) (n int64, err error) {
	for _, queue := range queues {
		ok, err := call[*wire.QueueDeclareOk](r.control, &wire.QueueDeclare{Queue: queue, Passive: true})
		if err != nil {
			return 0, err
		}
		n += int64(ok.MessageCount)
	}
	return n, nil
}
