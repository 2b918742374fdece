//go:build linux

package violence

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

const (
	outstanding = 1000 // publishes that may wait for a confirm
	prefetch    = 2000
	proveEvery  = 64 // deliveries between two questions that prove what is safe
	expireAfter = 20 // ms
	lengthMax   = 10
	fullAt      = 200 // of the queue that refuses
	probeQueue  = "probe"
)

// A shape is a queue, where its dead letters go, and who reads.
type shape struct {
	name        string
	volatile    bool       // the source is not durable
	args        amqp.Table // of the source
	reason      string     // of its dead letters; "" if there are none
	read        bool       // the source has a consumer, which acks
	rejects     bool       // or rejects most
	lettersRead bool       // the letters have a consumer, which acks
}

func (s *shape) letters() string { return s.name + ".dead" }

func shapes() []*shape {
	return []*shape{
		{name: "work", read: true},
		{name: "still"},
		{name: "refuse", read: true, args: amqp.Table{"x-max-length": fullAt, "x-overflow": "reject-publish"}},
		{name: "reject", read: true, rejects: true, lettersRead: true, reason: "rejected"},
		{name: "expire", args: amqp.Table{"x-message-ttl": expireAfter}, reason: "expired"},
		{name: "overflow", args: amqp.Table{"x-max-length": lengthMax}, reason: "maxlen"},
		{name: "volatile.reject", volatile: true, read: true, rejects: true, reason: "rejected"},
		{name: "volatile.expire", volatile: true, args: amqp.Table{"x-message-ttl": expireAfter}, lettersRead: true, reason: "expired"},
	}
}

// declare declares the queues of a shape. What survived a crash must have kept its arguments, else this is refused.
func (s *shape) declare(t testing.TB, ch *amqp.Channel) {
	t.Helper()
	args := amqp.Table{}
	for k, v := range s.args {
		args[k] = v
	}
	if s.reason != "" {
		args["x-dead-letter-exchange"] = ""
		args["x-dead-letter-routing-key"] = s.letters()
		declare(t, ch, s.letters(), true, nil)
	}
	declare(t, ch, s.name, !s.volatile, args)
}

// If this fails, a crash of the process loses what was confirmed, doubles a dead letter, or forgets who had a message.
func TestKillConfirmed(t *testing.T) {
	random := dice(t)
	dir := t.TempDir()
	all := shapes()
	books := map[*shape]*ledger{}
	for _, s := range all {
		books[s] = newLedger()
	}
	var total account
	b := start(t, dir)
	for round := range *rounds {
		l := newLoad(b, round, random)
		for _, s := range all {
			l.add(s, books[s])
		}
		l.run(random)
		b.kill()
		l.wait()
		b = restart(t, dir, random)
		ready := time.Since(b.started)
		drain := round == *rounds-1 || random.IntN(2) == 0
		a := audit(t, b, all, books, drain)
		t.Logf("round %d: serves again after %v; %d published, %d confirmed; there are %d in their queues and %d letters; drained: %v",
			round, ready.Round(time.Millisecond), a.published, a.confirmed, a.source, a.letters, drain)
		if t.Failed() {
			return
		}
		total.add(a)
	}
	b.kill()
	b = start(t, dir)
	if a := audit(t, b, all, books, false); a.source+a.letters > 0 {
		t.Errorf("after the last drain %d messages and %d letters are back", a.source, a.letters)
	}
	compareBooks(t, b)
	t.Logf("%d rounds: %d published, %d confirmed; audits saw %d copies and %d letters",
		*rounds, total.published, total.confirmed, total.source, total.letters)
}

// compareBooks asks two doors how much is in each queue.
func compareBooks(t testing.TB, b *broker) {
	t.Helper()
	ch := b.channel()
	publish(t, ch, "still", id(1).body(), id(2).body())
	var queues []struct {
		Name     string
		Messages int
	}
	same := func() bool {
		must(t, json.Unmarshal([]byte(b.page("http", "/api/queues")), &queues))
		for _, q := range queues {
			if depth(t, ch, q.Name) != q.Messages {
				return false
			}
		}
		return true
	}
	eventually(t, "the management API counts as AMQP does", same)
	if len(queues) < len(shapes()) {
		t.Errorf("the management API knows %d queues", len(queues))
	}
}

// restart starts the broker again; now and then it is killed once more while it recovers.
func restart(t testing.TB, dir string, random *rand.Rand) *broker {
	t.Helper()
	for random.IntN(3) == 0 {
		b := launch(t, dir)
		select { // the moment is the dice's
		case <-time.After(time.Duration(random.IntN(60)) * time.Millisecond):
		case <-b.exited:
		}
		b.kill()
	}
	return start(t, dir)
}

// A load is what clients do to a broker until it dies.
type load struct {
	b       *broker
	random  *rand.Rand
	round   int
	clients sync.WaitGroup
	goals   sync.WaitGroup // one for each shape that has not seen enough yet
	starts  []func()
}

func newLoad(b *broker, round int, random *rand.Rand) *load {
	ch := b.channel()
	declare(b.t, ch, probeQueue, true, amqp.Table{"x-max-length": lengthMax})
	must(b.t, ch.Close())
	return &load{b: b, round: round, random: random}
}

// add readies the clients of a shape, each with a connection of its own.
func (l *load) add(s *shape, books *ledger) {
	l.b.t.Helper()
	ch := l.b.channel()
	s.declare(l.b.t, ch)
	l.publisher(ch, s, books)
	if s.read {
		l.consumer(s, books, false)
	}
	if s.lettersRead {
		l.consumer(s, books, true)
	}
}

// run lets the clients go, and returns at the moment to kill: all shapes have seen enough, and then the dice decide.
func (l *load) run(random *rand.Rand) {
	for _, start := range l.starts {
		l.clients.Go(start)
	}
	enough := make(chan struct{})
	go func() { l.goals.Wait(); close(enough) }()
	select {
	case <-enough:
	case <-l.b.exited:
		l.b.t.Error("the broker ended under load")
	case <-time.After(patience):
		l.b.t.Errorf("too few messages in %v", patience)
	}
	<-time.After(time.Duration(random.IntN(20_000)) * time.Microsecond)
}

// wait waits until every client has noticed that the broker is gone.
func (l *load) wait() { l.clients.Wait() }

// goal returns a function to be told of each event; the load goes on until there were enough.
func (l *load) goal(atLeast, dice int) (one func()) {
	left := new(atomic.Int64)
	left.Store(int64(atLeast + l.random.IntN(dice)))
	l.goals.Add(1)
	return func() {
		if left.Add(-1) == 0 {
			l.goals.Done()
		}
	}
}

// publisher publishes at full speed, outstanding messages ahead of the confirms, until the broker is gone.
func (l *load) publisher(ch *amqp.Channel, s *shape, books *ledger) {
	must(l.b.t, ch.Confirm(false))
	confirms := ch.NotifyPublish(make(chan amqp.Confirmation, outstanding))
	room := make(chan struct{}, outstanding)
	gone := make(chan struct{})
	first := id(l.round)<<40 | id(l.random.Uint32()&0xff)<<32 | 1
	one := l.goal(100, 1200)
	l.starts = append(l.starts, func() {
		defer close(gone)
		for c := range confirms {
			what := confirmed
			if !c.Ack {
				what = refused
			}
			books.note(what, first+id(c.DeliveryTag)-1)
			one()
			<-room
		}
	}, func() {
		for i := first; ; i++ {
			select {
			case room <- struct{}{}:
			case <-gone:
				return
			}
			books.note(0, i)
			if ch.Publish("", s.name, false, false, persistent(i.body())) != nil {
				return
			}
		}
	})
}

// consumer reads the source, or the letters, until the broker is gone.
func (l *load) consumer(s *shape, books *ledger, letters bool) {
	t := l.b.t
	ch := l.b.channel()
	must(t, ch.Confirm(false))
	must(t, ch.Qos(prefetch, 0, false))
	queue := s.name
	if letters {
		queue = s.letters()
	}
	r := &reader{ch: ch, s: s, books: books, letters: letters,
		random: rand.New(rand.NewPCG(l.random.Uint64(), l.random.Uint64()))}
	one := l.goal(10, 200)
	l.starts = append(l.starts, func() {
		deliveries, err := ch.Consume(queue, "", false, false, false, false, nil)
		if err != nil {
			return // the broker died before this client began
		}
		n := 0
		for d := range deliveries {
			if err := r.take(&d); err != nil {
				t.Error(err)
				return
			}
			if n++; n%proveEvery == 0 {
				r.prove()
			}
			one()
		}
	})
}

// A reader takes messages, settles most of them, and notes what it did.
type reader struct {
	ch      *amqp.Channel
	s       *shape
	books   *ledger
	letters bool
	random  *rand.Rand

	took, settled, died []id // since the last proof
}

// take notes before it does: what cannot be sent any more may have been sent.
func (r *reader) take(d *amqp.Delivery) error {
	i, err := idOf(d.Body)
	if err != nil {
		return err
	}
	luck := r.random.IntN(100)
	switch {
	case r.letters && luck < 60:
		r.books.note(letter|letterAcked, i)
		r.settled = append(r.settled, i)
		_ = d.Ack(false)
	case r.letters:
		r.books.note(letter, i)
	case r.s.rejects && luck < 80:
		r.books.note(handed|rejected, i)
		r.died = append(r.died, i)
		_ = d.Nack(false, false)
	case luck < 90:
		r.books.note(handed|acked, i)
		r.settled = append(r.settled, i)
		_ = d.Ack(false)
	case luck < 92:
		r.books.note(handed, i)
		_ = d.Nack(false, true)
	default:
		r.books.note(handed, i)
		r.took = append(r.took, i)
	}
	return nil
}

// prove asks for what depends on all that this channel did so far. An answer that reveals a settlement waits until that is
// safe. What was handed over is on the disk with the next batch at the latest, so a later confirm proves it.
func (r *reader) prove() {
	queue := r.s.name
	if r.letters || len(r.died) > 0 {
		queue = r.s.letters()
	}
	if _, err := r.ch.QueueDeclarePassive(queue, true, false, false, false, nil); err != nil {
		return
	}
	if r.letters {
		r.books.note(letterAckedSafe, r.settled...)
	} else {
		r.books.note(ackedSafe, r.settled...)
	}
	r.books.note(rejectedSafe, r.died...)
	r.settled, r.died = r.settled[:0], r.died[:0]
	c, err := r.ch.PublishWithDeferredConfirm("", probeQueue, false, false, persistent([]byte("probe")))
	if err != nil {
		return
	}
	select {
	case <-c.Done():
	case <-time.After(patience):
	}
	if c.Acked() {
		r.books.note(handedSafe, r.took...)
		r.took = r.took[:0]
	}
}

// audit looks at every message there is, judges it by the books, and gives it back or, if asked, takes it away for good.
func audit(t testing.TB, b *broker, all []*shape, books map[*shape]*ledger, drain bool) (sum account) {
	t.Helper()
	for _, s := range all {
		conn := b.dial()
		seen := map[id][]sighting{}
		if s.volatile {
			_, err := channelOn(t, conn).QueueDeclarePassive(s.name, false, false, false, false, nil)
			refusal(t, err, amqp.NotFound)
		} else {
			ch := channelOn(t, conn)
			if s.args["x-message-ttl"] != nil {
				eventually(t, "all expired in "+s.name, func() bool { return depth(t, ch, s.name) == 0 })
			}
			n := s.look(t, ch, false, drain, seen)
			if n > lengthMax && s.reason == "maxlen" {
				t.Errorf("%s holds %d messages, more than its limit", s.name, n)
			}
		}
		if s.reason != "" {
			s.look(t, channelOn(t, conn), true, drain, seen)
		}
		must(t, conn.Close()) // what was not acked returns
		a := books[s].close(s, seen)
		sum.add(a)
		if drain {
			books[s].drained()
		}
		for _, f := range a.faults[:min(len(a.faults), 10)] {
			t.Error(f)
		}
		if len(a.faults) > 10 {
			t.Errorf("%s: %d faults in all", s.name, len(a.faults))
		}
	}
	return sum
}

// look takes every message of one queue. With drain they are acked, and the answer to a question proves it.
func (s *shape) look(t testing.TB, ch *amqp.Channel, letters, drain bool, seen map[id][]sighting) int {
	t.Helper()
	queue := s.name
	if letters {
		queue = s.letters()
	}
	n := depth(t, ch, queue)
	deliveries, err := ch.Consume(queue, "", false, false, false, false, nil)
	must(t, err)
	var last uint64
	for k := range n {
		d := await(t, fmt.Sprintf("message %d of %d in %s", k+1, n, queue), deliveries)
		i, at, err := s.sight(&d, letters)
		if err != nil {
			t.Errorf("%s: %v", queue, err)
		}
		seen[i] = append(seen[i], at)
		last = d.DeliveryTag
	}
	if drain && n > 0 {
		must(t, ch.Ack(last, true))
	}
	if left := depth(t, ch, queue); left != 0 {
		t.Errorf("%s: %d messages were ready, then %d more", queue, n, left)
	}
	return n
}
