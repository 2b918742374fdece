package perf

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/wire"
)

// run is one measurement: its queues, publishers and consumers. One goroutine, that of the scenario, calls its methods.
//
//	newRun → declare, publishTo, consumeFrom → start… → drain → report → close
type run struct {
	o       *options
	name    string // of its queues begins so
	control *link

	exchange  string   // that publishers send to; empty: the default one
	queues    []string // declared by it
	exchanges []string // these, too

	publishers []*publisher
	consumers  []*consumer
	streams    []origin
	backlog    *gate
	dice       *rand.Rand   // seeded by the options
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
	r.dice = rand.New(rand.NewPCG(o.seed, 0))
	r.ctx, r.cancel = context.WithCancelCause(ctx)
	return r, nil
}

// declare makes the queues of a kind; arguments adds to those of a queue, by its place.
func (r *run) declare(kind string, arguments func(i int) amqp.Table) ([]string, error) {
	var names []string
	for i := range r.o.queues {
		names = append(names, queueName(r.name, kind, i))
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

func queueName(of, kind string, i int) string { return fmt.Sprintf("%s.%s.%04d", of, kind, i) }

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

// publishTo opens publishers of the queues, which share count messages, or go on until they are halted if that is 0;
// shapeOf makes the messages of one.
func (r *run) publishTo(queues []string, count int64, shapeOf func(l *link, to lane) shape) ([]*publisher, error) {
	var opened []*publisher
	n := r.o.publishers
	for i := range n {
		l, err := dial(r.ctx, r.o.target)
		if err != nil {
			return nil, err
		}
		p, err := newPublisher(l, r.o.confirms)
		r.publishers = append(r.publishers, p)
		opened = append(opened, p)
		if err != nil {
			return nil, err
		}
		p.lane = lane{exchange: r.exchange, queues: share(queues, n, i), stream: len(r.streams)}
		p.shape = shapeOf(l, p.lane)
		p.backlog, p.since = r.backlog, &r.since
		for queue := range p.lane.queues {
			r.streams = append(r.streams, origin{p, queue})
		}
		if count > 0 {
			p.count = count/int64(n) + btoi(int64(i) < count%int64(n))
			if p.count == 0 {
				return nil, errors.New("fewer messages than publishers")
			}
		}
	}
	return opened, nil
}

func btoi(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// same makes messages that differ in nothing but their stamps.
func (r *run) same(l *link, to lane) shape {
	return newRing(to, r.o.size, r.properties, l.frameMax)
}

func (r *run) properties() amqp.Properties {
	var p amqp.Properties
	if r.o.persistent {
		p.Has, p.DeliveryMode = amqp.FlagDeliveryMode, amqp.Persistent
	}
	r.o.vary(&p, r.dice)
	return p
}

// consumeFrom opens the consumers of the queues and lets them go; ordered tells whether the streams come to the queues
// in their order.
func (r *run) consumeFrom(queues []string, as role, ordered bool) ([]*consumer, error) {
	var opened []*consumer
	for i := range r.o.consumers {
		l, err := dial(r.ctx, r.o.target)
		if err != nil {
			return nil, err
		}
		c := &consumer{role: as, link: l, since: &r.since, book: newLedger(len(r.streams), ordered, r.sent)}
		if as.keep > 0 {
			c.stock = newStock(as.keep, r.o.seed+uint64(i))
		}
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

// startPublishers lets those given go, at a rate in all, or at full speed if that is 0, and returns what is closed when
// all are done.
func (r *run) startPublishers(publishers []*publisher, rate float64) <-chan struct{} {
	begin := now() + int64(time.Millisecond)
	for i, p := range publishers {
		if rate > 0 {
			// They take turns instead of sending at the same instant.
			n := len(publishers)
			p.pace = newPace(rate/float64(n), r.o.tick, begin)
			p.pace.thread = n <= threadsMax
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
