package perf

import (
	"context"
	"errors"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/bartleby-mq/bartleby/internal/wire"
)

// pollEvery is how often the end of a run is looked for.
const pollEvery = time.Millisecond

// wait lets time pass, or returns why the run has to end.
func (r *run) wait(d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-r.ctx.Done():
		return context.Cause(r.ctx)
	}
}

// await waits until reached, which reports progress too, says so. It gives up, without an error, when there was none
// for the time that -drain sets, counted from the instant given at the earliest.
func (r *run) await(from int64, reached func() (progress int64, ok bool)) error {
	last, before := max(from, now()), int64(-1)
	for {
		progress, ok := reached()
		if ok {
			return nil
		}
		if progress != before {
			last, before = max(last, now()), progress
		}
		if now()-last > int64(r.o.drain) {
			return nil
		}
		if err := r.wait(pollEvery); err != nil {
			return err
		}
	}
}

// drain waits until all publishers are done and confirmed, and the consumers have got as much as was published.
// Whoever rejects by many is told to settle what is left once the last message is published.
func (r *run) drain(done <-chan struct{}, consumers []*consumer, from int64) error {
	published := false
	err := r.await(from, func() (int64, bool) {
		total, arrived := r.published()-r.dropped(), arrivedAt(consumers)
		if !published && isClosed(done) {
			published = true
			for _, c := range r.consumers {
				if c.verdict == reject {
					c.finish()
				}
			}
		}
		return total + arrived, published && arrived >= total && r.confirmed()
	})
	if err == nil && !isClosed(done) {
		return errors.New("the broker does not accept published messages")
	}
	return err
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func (r *run) published() (n int64) {
	for _, p := range r.publishers {
		n += p.sent.Load()
	}
	return n
}

func (r *run) confirmed() bool {
	for _, p := range r.publishers {
		if !p.settled() {
			return false
		}
	}
	return true
}

func arrivedAt(consumers []*consumer) (n int64) {
	for _, c := range consumers {
		n += c.arrived.Load()
	}
	return n
}

// sample counts what the publishers have sent and the consumers given have got.
func (r *run) sample(consumers []*consumer) (sample, error) {
	used, err := r.o.broker.usage()
	published := r.published()
	return sample{
		at: now(), published: published, consumed: arrivedAt(consumers), bodies: published * int64(r.o.size),
		broker: used, own: ownCPU(),
	}, err
}

// report ends all connections but the control one, removes the queues and balances the books of the consumers given,
// those at the end of the messages' way.
func (r *run) report(last []*consumer, spans ...Span) (*Report, error) {
	if err := r.hangUp(); err != nil {
		return nil, err
	}
	out := &Report{Scenario: r.o.scenario, Broker: r.control.product, Settings: settingsOf(r.o), Spans: spans}
	var ledgers []*ledger
	var times, latencies, paces []*hdrhistogram.Histogram
	var early Early
	for _, c := range last {
		ledgers = append(ledgers, c.book)
		times = append(times, c.times)
		early.Count += c.early
		early.Most = max(early.Most, milliseconds(c.earliest))
	}
	out.Books = balance(ledgers, len(r.streams), r.sent)
	out.Books.Dropped = r.dropped()
	out.Books.Lost -= out.Books.Dropped
	if last[0].use == measureDue {
		out.Lateness, out.Early = quantiles(times...), &early
		out.Books.Early = early.Count
	} else {
		out.Latency = quantiles(times...)
	}
	for _, p := range r.publishers {
		out.Books.Returned += p.returned.Load()
		if p.pace != nil {
			paces = append(paces, p.pace.late)
		}
		if p.answers != nil {
			latency, nacked, unknown := p.answers.account()
			latencies = append(latencies, latency)
			out.Books.Nacked += nacked
			out.Books.Unknown += unknown
		}
	}
	out.Confirm, out.Pacing = quantiles(latencies...), quantiles(paces...)
	var err error
	out.Books.Left, err = r.remove()
	return out, err
}

// hangUp ends the publishers and consumers in good order: what they have settled is with the broker on return.
func (r *run) hangUp() error {
	for _, c := range r.consumers {
		c.end()
	}
	for _, p := range r.publishers {
		p.link.interrupt()
	}
	r.receiving.Wait()
	r.publishing.Wait()
	if r.ctx.Err() != nil {
		return context.Cause(r.ctx)
	}
	for _, l := range r.links() {
		if err := l.close(); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) links() (all []*link) {
	for _, p := range r.publishers {
		all = append(all, p.link)
	}
	for _, c := range r.consumers {
		all = append(all, c.link)
	}
	return all
}

// remove deletes what was declared and returns how many messages were ready in the queues.
func (r *run) remove() (left int64, err error) {
	for len(r.exchanges) > 0 {
		if _, err := call[*wire.ExchangeDeleteOk](r.control, &wire.ExchangeDelete{Exchange: r.exchanges[0]}); err != nil {
			return 0, err
		}
		r.exchanges = r.exchanges[1:]
	}
	for len(r.queues) > 0 {
		ok, err := call[*wire.QueueDeleteOk](r.control, &wire.QueueDelete{Queue: r.queues[0]})
		if err != nil {
			return left, err
		}
		left += int64(ok.MessageCount)
		r.queues = r.queues[1:]
	}
	return left, nil
}

// close leaves nothing behind, however far the run got.
func (r *run) close() {
	r.haltPublishers()
	for _, l := range r.links() {
		l.conn.Close()
	}
	r.receiving.Wait()
	r.publishing.Wait()
	r.cancel(nil)
	if len(r.queues) > 0 || len(r.exchanges) > 0 {
		r.sweep()
	}
	_ = r.control.close() // whatever went wrong before says more
}

// sweep removes what a run that failed has declared, over a new connection, because the broker may have closed the old
// one's channel. If that fails too, the broker has other troubles than that.
func (r *run) sweep() {
	_ = r.control.close()
	ctx, cancel := context.WithTimeout(context.Background(), replyTimeout)
	defer cancel()
	if l, err := dial(ctx, r.o.target); err == nil {
		r.control = l
		_, _ = r.remove()
	}
}
