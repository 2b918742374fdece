package perf

import (
	"context"

	"github.com/bartleby-mq/bartleby/internal/wire"
)

// backlog fills the queues with nobody consuming, then empties them with nobody publishing.
func backlog(ctx context.Context, o *options) (*Report, error) {
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
	empty, err := r.sample(nil)
	if err != nil {
		return nil, err
	}
	done := r.startPublishers()
	if err := r.filled(done); err != nil {
		return nil, err
	}
	full, err := r.sample(nil)
	if err != nil {
		return nil, err
	}
	consumers, err := r.consumeFrom(queues, role{verdict: o.ack, every: o.every}, true)
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
	fill.Name, drain.Name = "fill", "drain"
	return r.report(consumers, fill, drain)
}

// filled waits until the broker has confirmed all, or without confirms, until the queues hold all.
func (r *run) filled(done <-chan struct{}) error {
	var failure error
	err := r.await(0, func() (int64, bool) {
		if !isClosed(done) || !r.confirmed() {
			return r.published(), false
		}
		var ready int64
		for _, queue := range r.queues {
			ok, err := call[*wire.QueueDeclareOk](r.control, &wire.QueueDeclare{Queue: queue, Passive: true})
			if err != nil {
				failure = err
				return 0, true
			}
			ready += int64(ok.MessageCount)
		}
		return r.published() + ready, ready >= r.published()
	})
	if failure != nil {
		return failure
	}
	return err
}
