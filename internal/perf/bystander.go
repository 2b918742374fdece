package perf

import "fmt"

// Meanwhile is how somebody else fared, who published and consumed on a queue of its own, at a rate, while messages of
// the run became due.
type Meanwhile struct {
	Latency *Quantiles `json:"latency,omitempty"`
	Confirm *Quantiles `json:"confirm,omitempty"`
	Pacing  *Quantiles `json:"pacing,omitempty"`
	Books   Books      `json:"books"`
}

// bystander is that somebody; nil is nobody.
type bystander struct {
	run       *run
	consumers []*consumer
	done      <-chan struct{}
}

// bystand lets one begin if the options want it. It goes on until end; its times count for what it is meant to send
// from an instant on.
func (r *run) bystand(since int64) (*bystander, error) {
	if r.o.bystander == 0 {
		return nil, nil
	}
	own := *r.o
	own.queues, own.publishers, own.consumers = 1, 1, 1
	own.rate, own.broker = own.bystander, 0 // whose peak is the run's to forget
	beside, err := newRun(r.ctx, &own)
	if err != nil {
		return nil, err
	}
	b := &bystander{run: beside}
	if err := b.begin(since); err != nil {
		beside.close()
		return nil, fmt.Errorf("other traffic: %w", err)
	}
	return b, nil
}

func (b *bystander) begin(since int64) error {
	queues, err := b.run.declare("bystander", plain)
	if err != nil {
		return err
	}
	publishers, err := b.run.publishTo(queues, 0, b.run.same)
	if err != nil {
		return err
	}
	as := role{verdict: b.run.o.ack, every: b.run.o.every, use: measureDelay}
	if b.consumers, err = b.run.consumeFrom(queues, as, true); err != nil {
		return err
	}
	b.run.since.Store(since)
	b.done = b.run.startPublishers(publishers, b.run.o.rate)
	return nil
}

// end makes it stop, and returns how it fared; nil if there was none.
func (b *bystander) end() (*Meanwhile, error) {
	if b == nil {
		return nil, nil
	}
	b.run.haltPublishers()
	if err := b.run.drain(b.done, b.consumers, 0); err != nil {
		return nil, fmt.Errorf("other traffic: %w", err)
	}
	r, err := b.run.report(b.consumers)
	if err != nil {
		return nil, fmt.Errorf("other traffic: %w", err)
	}
	return &Meanwhile{Latency: r.Latency, Confirm: r.Confirm, Pacing: r.Pacing, Books: r.Books}, nil
}

// close leaves nothing of it behind.
func (b *bystander) close() {
	if b != nil {
		b.run.close()
	}
}
