package perf

import (
	"context"
	"errors"
	"flag"
	"math"
)

// paced is what the flags of latency must satisfy.
var paced = group{
	declare: func(*options, *flag.FlagSet, *scenario) {},
	settle: func(o *options, _ map[string]bool) error {
		if o.rate == 0 {
			return errors.New("-rate is required: at full speed, latency only measures the queue length")
		}
		return nil
	},
}

// flow publishes and consumes at once: throughput, and with a rate the latency from publisher to consumer.
func flow(ctx context.Context, o *options) (*Report, error) {
	r, err := newRun(ctx, o)
	if err != nil {
		return nil, err
	}
	defer r.close()
	queues, err := r.declare("queue", r.limits)
	if err != nil {
		return nil, err
	}
	if _, err := r.publishTo(queues, r.o.count, r.same); err != nil {
		return nil, err
	}
	consumers, err := r.consumeFrom(queues, role{
		verdict: o.ack, every: o.every, use: r.delayIfPaced(), backlog: r.backlog,
	}, r.ordered())
	if err != nil {
		return nil, err
	}
	span, err := r.measure(consumers)
	if err != nil {
		return nil, err
	}
	return r.report(consumers, span)
}

// delayIfPaced measures delays only at a rate: at full speed they tell how long the queue is, and cost time.
func (r *run) delayIfPaced() clockUse {
	if r.o.rate > 0 {
		return measureDelay
	}
	return ignoreStamp
}

// measure lets the publishers run: through the warm-up, then for the duration or to the last message, and returns what
// happened in that time. On return all has arrived that will.
func (r *run) measure(consumers []*consumer) (Span, error) {
	r.since.Store(math.MaxInt64)
	if r.o.warmup == 0 {
		r.since.Store(0)
	}
	done := r.startPublishers(r.publishers, r.o.rate)
	if r.o.warmup > 0 {
		if err := r.wait(r.o.warmup); err != nil {
			return Span{}, err
		}
		r.since.Store(now())
	}
	from, err := r.sample(consumers)
	if err != nil {
		return Span{}, err
	}
	if r.o.count > 0 {
		if err := r.drain(done, consumers, 0); err != nil {
			return Span{}, err
		}
	} else if err := r.wait(r.o.duration); err != nil {
		return Span{}, err
	}
	to, err := r.sample(consumers)
	if err != nil {
		return Span{}, err
	}
	r.haltPublishers()
	return span(from, to), r.drain(done, consumers, 0)
}
