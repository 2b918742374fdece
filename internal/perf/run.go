package perf

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/wire"
)

// pollEvery is how often the end of a run is looked for.
const pollEvery = time.Millisecond

// run is one measurement: its queues, publishers and consumers. One goroutine, that of the scenario, calls its methods.
//
//	newRun → declare, publishTo, consumeFrom → start… → drain → report → close
type run struct {
	o       *options
	name    string // of its queues begins so
	control *link
	queues  []string // declared by it

	publishers []*publisher
	consumers  []*consumer
	streams    []origin
	backlog    *gate
	since      atomic.Int64 // times count for messages meant to be sent from then on

	// ctx is done when the run shall end before its time, cause says why.
	ctx        context.Context
	cancel     context.CancelCauseFunc
	publishing sync.WaitGroup
	receiving  sync.WaitGroup
}

// origin is where a stream comes from.
type origin struct {
	publisher *publisher
	queue     int // in the publisher's lane
}

func newRun(ctx context.Context, o *options) (*run, error) {
	control, err := dial(ctx, o.target)
	if err != nil {
		return nil, err
	}
	o.broker.forgetPeak()
	r := &run{o: o, control: control, name: fmt.Sprintf("perf.%08x", rand.Uint32()), backlog: newGate(o.backlogMax)}
	r.ctx, r.cancel = context.WithCancelCause(ctx)
	return r, nil
}

// declare makes the queues of a kind; arguments adds to those of a queue, by its place.
func (r *run) declare(kind string, arguments func(i int) amqp.Table) ([]string, error) {
	var names []string
	for i := range r.o.queues {
		names = append(names, fmt.Sprintf("%s.%s.%04d", r.name, kind, i))
		table := arguments(i)
		if r.o.queueType != "" {
			table = append(table, amqp.Field{Name: "x-queue-type", Value: amqp.String(r.o.queueType)})
		}
		declare := &wire.QueueDeclare{Queue: names[i], Durable: r.o.durable, Arguments: table}
		if _, err := call[*wire.QueueDeclareOk](r.control, declare); err != nil {
			return nil, err
		}
		r.queues = append(r.queues, names[i])
	}
	return names, nil
}

func plain(int) amqp.Table { return nil }

// deadLettersTo returns the arguments of queues whose dead letters go to those given, by place.
func deadLettersTo(queues []string, more amqp.Table) func(i int) amqp.Table {
	return func(i int) amqp.Table {
		return append(amqp.Table{
			{Name: "x-dead-letter-exchange", Value: amqp.String("")},
			{Name: "x-dead-letter-routing-key", Value: amqp.String(queues[i])},
		}, more...)
	}
}

// share returns what the i-th of n connections has of the queues: one, or every n-th.
func share(queues []string, n, i int) []string {
	if n >= len(queues) {
		i %= len(queues)
		return queues[i : i+1]
	}
	var mine []string
	for ; i < len(queues); i += n {
		mine = append(mine, queues[i])
	}
	return mine
}

// publishTo opens the publishers of the queues; shapeOf makes the messages of one.
func (r *run) publishTo(queues []string, shapeOf func(l *link, to lane) shape) error {
	n := r.o.publishers
	for i := range n {
		l, err := dial(r.ctx, r.o.target)
		if err != nil {
			return err
		}
		p, err := newPublisher(l, r.o.confirms)
		r.publishers = append(r.publishers, p)
		if err != nil {
			return err
		}
		p.lane = lane{queues: share(queues, n, i), stream: len(r.streams)}
		p.shape = shapeOf(l, p.lane)
		p.backlog, p.since = r.backlog, &r.since
		for queue := range p.lane.queues {
			r.streams = append(r.streams, origin{p, queue})
		}
		if r.o.count > 0 {
			p.count = r.o.count/int64(n) + btoi(int64(i) < r.o.count%int64(n))
			if p.count == 0 {
				return fmt.Errorf("-count: fewer messages than publishers")
			}
		}
	}
	return nil
}

func btoi(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// same makes messages that differ in nothing but their stamps.
func (r *run) same(l *link, to lane) shape {
	properties := r.properties()
	return newRing(to, r.o.size, &properties, l.frameMax)
}

func (r *run) properties() amqp.Properties {
	if !r.o.persistent {
		return amqp.Properties{}
	}
	return amqp.Properties{Has: amqp.FlagDeliveryMode, DeliveryMode: amqp.Persistent}
}

// consumeFrom opens the consumers of the queues and lets them go; ordered tells whether the streams come to the queues
// in their order.
func (r *run) consumeFrom(queues []string, as role, ordered bool) ([]*consumer, error) {
	var opened []*consumer
	for range r.o.consumers {
		l, err := dial(r.ctx, r.o.target)
		if err != nil {
			return nil, err
		}
		c := &consumer{role: as, link: l, since: &r.since, book: newLedger(len(r.streams), ordered, r.sent)}
		r.consumers = append(r.consumers, c)
		opened = append(opened, c)
	}
	for i, c := range opened {
		if err := c.subscribe(share(queues, len(opened), i), r.o.prefetch); err != nil {
			return nil, err
		}
		r.spawn(&r.receiving, c.receive)
	}
	return opened, nil
}

// sent returns how many messages of a stream may have been sent. Any goroutine may call it.
func (r *run) sent(stream int) int64 {
	from := r.streams[stream]
	return from.publisher.sentTo(from.queue)
}

// spawn runs a goroutine whose failure ends the run.
func (r *run) spawn(group *sync.WaitGroup, f func() error) {
	group.Add(1)
	go func() {
		defer group.Done()
		if err := f(); err != nil {
			r.cancel(err)
		}
	}()
}

// startPublishers lets them go, and returns what is closed when all are done.
func (r *run) startPublishers() <-chan struct{} {
	begin := now() + int64(time.Millisecond)
	for i, p := range r.publishers {
		if r.o.rate > 0 {
			// They take turns instead of sending at the same instant.
			n := len(r.publishers)
			p.pace = newPace(r.o.rate/float64(n), r.o.tick, begin)
			p.pace.start += p.pace.period * int64(i) / int64(n)
		}
		r.spawn(&r.receiving, p.receive)
		r.spawn(&r.publishing, p.publish)
	}
	done := make(chan struct{})
	go func() {
		r.publishing.Wait()
		close(done)
	}()
	return done
}

// haltPublishers makes them stop before their count is reached.
func (r *run) haltPublishers() {
	for _, p := range r.publishers {
		p.halt()
	}
	r.backlog.close()
}

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

// await waits until reached, which reports progress too, says so. It gives up, without an error, when there was none for
// the time that -drain sets, counted from the instant given at the earliest.
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
		total, arrived := r.published(), arrivedAt(consumers)
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
		return errors.New("the broker does not take what is published")
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
	return sample{at: now(), published: r.published(), consumed: arrivedAt(consumers), broker: used, own: ownCPU()}, err
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
	if r.o.scenario == "expire" {
		out.Lateness, out.Early = quantiles(times...), &early
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

// remove deletes the queues and returns how many messages were ready in them.
func (r *run) remove() (left int64, err error) {
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
	if len(r.queues) > 0 {
		r.sweep()
	}
	_ = r.control.close() // whatever went wrong before says more
}

// sweep removes the queues of a run that failed, over a new connection, because the broker may have closed the old one's
// channel. If that fails too, the broker has other troubles than a few queues.
func (r *run) sweep() {
	_ = r.control.close()
	ctx, cancel := context.WithTimeout(context.Background(), replyTimeout)
	defer cancel()
	if l, err := dial(ctx, r.o.target); err == nil {
		r.control = l
		_, _ = r.remove()
	}
}
