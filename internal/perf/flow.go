package perf

import (
	"context"
	"math"
)

// flow publishes and consumes at once: throughput, and with a rate the latency from publisher to consumer.
func flow(ctx context.Context, o *options) (*Report, error) {
	r, err := newRun(ctx, o)
	if err != nil {
		return nil, err
	}
	defer r.close()
	queues, err := r.declare("queue", plain)
	if err != nil {
		return nil, err
	}
	if err := r.publishTo(queues, r.same); err != nil {
		return nil, err
	}
	consumers, err := r.consumeFrom(queues, role{
		verdict: o.ack, every: o.every, use: r.delayIfPaced(), backlog: r.backlog,
	}, true)
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
	done := r.startPublishers()
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
