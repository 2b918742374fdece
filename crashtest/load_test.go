//go:build linux

package crashtest

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

const (
	outstanding = 500  // publishes that may wait for a confirm
	burstUsual  = 2000 // messages that a publisher sends at full speed, at most
	probeQueue  = "probe"
	shortBeat   = time.Second          // of clients that take a stopped broker for dead
	slowPace    = 2 * time.Millisecond // between two messages of a publisher after its burst
	retryAfter  = 50 * time.Millisecond
)

// A load is what clients do to a broker until it dies or they leave.
type load struct {
	b       *broker
	random  *rand.Rand
	round   int
	quit    chan struct{} // closed: clients take their leave
	doomed  atomic.Bool   // the broker is about to be ended: what breaks now is no client's doubt
	clients sync.WaitGroup
	goals   sync.WaitGroup // one for each client that has not seen enough yet
	lacking sync.Map       // the same, for the error: their names, and how many they have yet to see, as *atomic.Int64
	all     []client
	readers atomic.Uint64
	probes  chan proof
}

// A client is what one does on one connection; it is called again, on a new one and with the next number, when that one
// breaks. It returns when the connection has broken, or in order when the load quits.
type client func(conn *amqp.Connection, number int)

// newLoad readies what clients need.
func newLoad(b *broker, round int, random *rand.Rand, all []*shape, books map[*shape]*ledger) *load {
	b.t.Helper()
	conn := b.dial()
	ch := channelOn(b.t, conn)
	declare(b.t, ch, probeQueue, true, amqp.Table{"x-max-length": lengthMax})
	for _, s := range all {
		s.declare(b.t, ch)
	}
	connect(b.t, ch, round == 0)
	must(b.t, conn.Close())
	l := &load{b: b, round: round, random: random, quit: make(chan struct{}), probes: make(chan proof, 1)}
	l.all = append(l.all, l.probe)
	ways := routes(all)
	for n, name := range slices.Sorted(maps.Keys(ways)) {
		l.all = append(l.all, l.publisher(n, ways[name], books))
	}
	for _, s := range all {
		if s.delayed {
			l.all = append(l.all, l.delayer(len(ways), s, books[s]))
		}
		if s.style != none {
			l.all = append(l.all, l.consumer(s, books[s], s.name, false))
		}
		for _, queue := range s.deadLetters() {
			if s.deadLettersRead {
				l.all = append(l.all, l.consumer(s, books[s], queue, true))
			}
		}
	}
	return l
}

// begin lets the clients go; some of them have a short heartbeat.
func (l *load) begin() {
	for _, c := range l.all {
		heartbeat := beat
		if l.random.IntN(3) == 0 {
			heartbeat = shortBeat
		}
		l.clients.Go(func() { l.keep(heartbeat, c) })
	}
}

// keep connects a client, again and again, while the broker lives and the load goes on.
func (l *load) keep(heartbeat time.Duration, c client) {
	again := time.NewTicker(retryAfter)
	defer again.Stop()
	for number := 0; ; number++ {
		if conn, _, err := l.b.dialValve(heartbeat); err == nil {
			c(conn, number)
			_ = conn.CloseDeadline(time.Now().Add(patience)) // an error means that it has broken
		}
		select {
		case <-l.quit:
			return
		case <-l.b.exited:
			return
		case <-again.C:
		}
	}
}

// enough waits until every client has seen enough.
func (l *load) enough() {
	l.b.t.Helper()
	enough := make(chan struct{})
	go func() { l.goals.Wait(); close(enough) }()
	select {
	case <-enough:
	case <-l.b.exited:
		l.b.t.Error("the broker ended under load")
	case <-time.After(patience):
		l.lacking.Range(func(who, left any) bool {
			l.b.t.Errorf("%v has yet to see %d, after %v", who, left.(*atomic.Int64).Load(), patience)
			return true
		})
	}
}

// leave has every client take its leave of a broker that lives on.
func (l *load) leave() {
	close(l.quit)
	l.clients.Wait()
}

// goal returns a function to be told of each event; the load goes on until there were enough.
func (l *load) goal(who string, atLeast, dice int) (one func()) {
	left := new(atomic.Int64)
	left.Store(int64(atLeast + l.random.IntN(dice)))
	l.goals.Add(1)
	l.lacking.Store(who, left)
	return func() {
		if left.Add(-1) == 0 {
			l.lacking.Delete(who)
			l.goals.Done()
		}
	}
}

// A publisher sends messages, some ahead of the confirms.
type publisher struct {
	l      *load
	number int
	ways   []route
	books  map[*shape]*ledger
	burst  int
	one    func() // to be told of each confirm
}

func (l *load) publisher(number int, ways []route, books map[*shape]*ledger) client {
	burst := burstUsual
	if b := ways[0].to[0].burst; b > 0 {
		burst = b
	}
	p := &publisher{l: l, number: number, ways: ways, books: books, burst: 1 + l.random.IntN(burst), one: l.goal(fmt.Sprintf("publisher %d", number), 100, 500)}
	return p.session
}

// way is the route of a message: it follows from the id.
func (p *publisher) way(i id) *route { return &p.ways[i.hash()>>5%uint64(len(p.ways))] }

func (p *publisher) session(conn *amqp.Connection, number int) {
	ch, err := conn.Channel()
	if err != nil || ch.Confirm(false) != nil {
		return
	}
	confirms := ch.NotifyPublish(make(chan amqp.Confirmation, outstanding))
	room, gone := make(chan struct{}, outstanding), make(chan struct{})
	first := newID(p.l.round, p.number, number, 1)
	go func() {
		defer close(gone)
		for c := range confirms {
			what := confirmed
			if !c.Ack {
				what = nacked
			}
			i := first + id(c.DeliveryTag) - 1
			for _, s := range p.way(i).to {
				p.books[s].note(what, i)
			}
			p.one()
			<-room
		}
	}()
	defer func() { _ = ch.Close(); <-gone }()
	if p.publish(ch, first, room, gone) && !settled(room, gone) {
		p.books[p.ways[0].to[0]].fault("publisher %d: confirms are missing %v after the last message", p.number, patience)
	}
}

// publish returns true when the load quits, false when the connection has broken.
func (p *publisher) publish(ch *amqp.Channel, first id, room chan<- struct{}, gone <-chan struct{}) bool {
	pace := time.NewTicker(slowPace)
	defer pace.Stop()
	for i := first; ; i++ {
		select {
		case room <- struct{}{}:
		case <-gone:
			return false
		case <-p.l.quit:
			return true
		}
		if p.burst--; p.burst < 0 {
			select {
			case <-pace.C:
			case <-gone:
				return false
			}
		}
		way := p.way(i)
		for _, s := range way.to {
			p.books[s].open(i)
		}
		if ch.Publish(way.exchange, way.key, false, false, i.publishing()) != nil {
			return false
		}
	}
}

// settled waits until everything is confirmed: then all the space is free. It returns false when that takes too long.
func settled[E any](room chan<- E, gone <-chan struct{}) bool {
	deadline := time.After(patience)
	for range outstanding {
		var one E
		select {
		case room <- one:
		case <-gone:
			return true
		case <-deadline:
			return false
		}
	}
	return true
}

// A proof is what a later confirm shows to be safe.
type proof struct {
	books *ledger
	taken []id
}

// probe publishes a message for each proof asked for. It has a connection of its own: on a full disk those who publish
// are not read from.
func (l *load) probe(conn *amqp.Connection, _ int) {
	ch, err := conn.Channel()
	if err != nil || ch.Confirm(false) != nil {
		return
	}
	closed := ch.NotifyClose(make(chan *amqp.Error, 1))
	for {
		select {
		case <-l.quit:
			return
		case <-closed:
			return
		case p := <-l.probes:
			c, err := ch.PublishWithDeferredConfirm("", probeQueue, false, false, persistent([]byte("probe")))
			if err != nil {
				return
			}
			select {
			case <-c.Done():
			case <-l.quit:
			case <-closed:
			}
			if c.Acked() {
				p.books.note(handedSafe, p.taken...)
			}
		}
	}
}
