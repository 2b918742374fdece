//go:build linux

package crashtest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

const (
	delayedKind     = "x-delayed-message"
	controlExchange = "amq.bartleby.scheduled"
	replyTo         = "amq.rabbitmq.reply-to"
	delayedBurst    = 600
	slots           = 24 // keys of a session
	keyedShare      = 25 // percent of messages
	cancelShare     = 10 // percent of publishes that cancel
	ticketShare     = 30 // percent of what an audit saw waiting, and of all that was cancelled before, that is cancelled by ID
	// For so many rounds IDs are asked about: the broker remembers 16,384 cancellations, and a round has some hundreds.
	ticketRounds = 10
	ticketsMax   = 1000 // in one command
)

// A delayer publishes to a delayed exchange and calls off some of what waits there: by key, by a replacement of the
// same key, or by the ID that an audit has seen. All goes on one channel, so that it knows which message has a key.
type delayer struct {
	l      *load
	s      *shape
	books  *ledger
	number int
	random *rand.Rand
	burst  int
	one    func() // to be told of each confirm
}

// A notice is what a delayer awaits for a publish or a command, in order.
type notice struct {
	id       id            // of a message; 0: a command
	replaces id            // the one that had its key; 0: none
	targets  map[string]id // of a command, by what the answer calls them
}

func (l *load) delayer(number int, s *shape, books *ledger) client {
	d := &delayer{l: l, s: s, books: books, number: number, burst: 1 + l.random.IntN(delayedBurst), one: l.goal("delayer of "+s.name, 50, 200),
		random: rand.New(rand.NewPCG(l.random.Uint64(), l.random.Uint64()))}
	return d.session
}

// A delaying is one session of a delayer.
type delaying struct {
	*delayer
	ch       *amqp.Channel
	number   int
	next     id            // of the next message
	holders  map[string]id // of keys
	confirms chan notice   // that are awaited
	answers  chan notice
	gone     chan struct{} // closed with the channel
}

func (d *delayer) session(conn *amqp.Connection, number int) {
	ch, err := conn.Channel()
	if err != nil || ch.Confirm(false) != nil {
		return
	}
	replies, err := ch.Consume(replyTo, "", true, false, false, false, nil)
	if err != nil {
		return
	}
	confirms := ch.NotifyPublish(make(chan amqp.Confirmation, outstanding))
	v := &delaying{delayer: d, ch: ch, number: number, next: newID(d.l.round, d.number, number, 1), holders: map[string]id{},
		confirms: make(chan notice, outstanding), answers: make(chan notice, outstanding), gone: make(chan struct{})}
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		for reply := range replies {
			v.answered(<-v.answers, &reply)
		}
	}()
	go func() {
		defer close(v.gone)
		for c := range confirms {
			v.confirmed(<-v.confirms, c.Ack)
			d.one()
		}
		<-answered
	}()
	defer func() { _ = ch.Close(); <-v.gone }()
	if v.run() && !(settled(v.confirms, v.gone) && settled(v.answers, v.gone)) {
		d.books.fault("confirms or answers are missing %v after the last delayed message", patience)
	}
}

// run returns true when the load quits, false when the connection has broken.
func (v *delaying) run() bool {
	pace := time.NewTicker(slowPace)
	defer pace.Stop()
	for first := true; ; first = false {
		var err error
		switch luck := v.random.IntN(100); {
		case first:
			err = v.cancel("ids", v.books.tickets(v.random, v.l.round-ticketRounds))
		case luck < cancelShare:
			err = v.cancel("keys", v.someKeys())
		case luck < cancelShare+keyedShare:
			err = v.publish(fmt.Sprintf("%d.%d.%d", v.l.round, v.number, v.random.IntN(slots)))
		default:
			err = v.publish("")
		}
		if err != nil {
			return false
		}
		if v.burst--; v.burst < 0 {
			select {
			case <-pace.C:
			case <-v.gone:
				return false
			}
		}
		select {
		case <-v.l.quit:
			return true
		default:
		}
	}
}

// await readies a notice, and waits while too many are.
func (v *delaying) await(where chan<- notice, n notice) error {
	select {
	case where <- n:
		return nil
	case <-v.gone:
		return amqp.ErrClosed
	}
}

func (v *delaying) publish(key string) error {
	n, sent := notice{id: v.next, replaces: v.holders[key]}, v.next.publishing()
	v.next++
	sent.Headers["x-delay"] = n.id.delay().Milliseconds()
	if key != "" {
		sent.Headers["x-schedule-key"] = key
		v.holders[key] = n.id
	}
	if n.replaces != 0 {
		v.books.note(calledOff, n.replaces)
	}
	v.books.open(n.id)
	if err := v.await(v.confirms, n); err != nil {
		return err
	}
	v.books.delay(n.id, time.Now())
	return v.ch.Publish(laterExchange, v.s.name, false, false, sent)
}

// someKeys returns up to three keys that were given, which have no holder then.
func (v *delaying) someKeys() map[string]id {
	some := map[string]id{}
	for key, i := range v.holders {
		if len(some) < 3 {
			some[key] = i
			delete(v.holders, key)
		}
	}
	return some
}

// cancel sends a command about messages, which are named by keys or ids.
func (v *delaying) cancel(by string, targets map[string]id) error {
	if len(targets) == 0 {
		return nil
	}
	var names []any
	for name, i := range targets {
		names = append(names, name)
		v.books.note(calledOff, i)
	}
	n := notice{targets: targets}
	if err := v.await(v.answers, n); err != nil {
		return err
	}
	if err := v.await(v.confirms, n); err != nil {
		return err
	}
	return v.ch.Publish(controlExchange, "cancel", false, false, amqp.Publishing{
		Headers: amqp.Table{"exchange": laterExchange, by: names}, ReplyTo: replyTo, CorrelationId: correlation(targets)})
}

// correlation is the same for the same targets only.
func correlation(targets map[string]id) string {
	least := id(0)
	for _, i := range targets {
		if least == 0 || i < least {
			least = i
		}
	}
	return strconv.FormatUint(uint64(least), 10)
}

// confirmed notes a confirm. One that replaces another has ended its wait; if that was before it was due, for good.
func (v *delaying) confirmed(n notice, ack bool) {
	switch {
	case n.id == 0:
		if !ack {
			v.books.fault("a command was refused: %v", n.targets)
		}
	case !ack:
		v.books.note(nacked, n.id)
	default:
		v.books.note(confirmed, n.id)
		if n.replaces != 0 {
			v.books.replaced(n.replaces, time.Now())
		}
	}
}

// answered notes what became of the targets of a command.
func (v *delaying) answered(n notice, reply *amqp.Delivery) {
	var answer struct {
		Results []struct{ ID, Key, Outcome string }
	}
	if err := json.Unmarshal(reply.Body, &answer); err != nil || reply.CorrelationId != correlation(n.targets) || len(answer.Results) != len(n.targets) {
		v.books.fault("a command about %v was answered %q, correlation %s: %v", n.targets, reply.Body, reply.CorrelationId, err)
		return
	}
	for _, r := range answer.Results {
		i, byKey := n.targets[r.Key]
		if !byKey {
			i = n.targets[r.ID]
		}
		switch {
		case r.Outcome == "cancelled":
			v.books.note(waitsNot|cancelled, i)
		case r.Outcome == "already_fired", r.Outcome == "unknown" && byKey: // nobody has the key any more
			v.books.note(waitsNot|fired, i)
		default:
			v.books.fault("message %v, %s%s, was to be cancelled: %s", i, r.ID, r.Key, r.Outcome)
		}
	}
}

// delay is how long a delayed message is to wait.
func (i id) delay() time.Duration {
	longest := uint64(3000)
	if i.hash()>>7%2 == 0 {
		longest = 300
	}
	return time.Duration(50+i.hash()>>9%(longest-49)) * time.Millisecond
}

// scheduled lists what waits, a page at a time.
func (b *broker) scheduled(limit int) (all []scheduled) {
	b.t.Helper()
	for path := fmt.Sprintf("/api/x/scheduled/%%2F/%s?limit=%d", laterExchange, limit); ; {
		var page struct {
			Items []scheduled
			Next  *string
		}
		b.list(path, &page)
		all = append(all, page.Items...)
		if page.Next == nil {
			return all
		}
		path = fmt.Sprintf("/api/x/scheduled/%%2F/%s?limit=%d&after=%s", laterExchange, limit, *page.Next)
	}
}

// A scheduled message is one that the management API lists.
type scheduled struct {
	ID         string
	DueMS      int64 `json:"due_ms"`
	Properties struct {
		Headers struct{ Number string }
	}
}

// waiting looks at what waits.
func (a *audit) waiting(books *ledger) map[id][]sighting {
	a.t.Helper()
	seen := map[id][]sighting{}
	all := a.b.scheduled(100)
	if !slices.IsSortedFunc(all, func(x, y scheduled) int { return int(x.DueMS - y.DueMS) }) {
		books.fault("what waits is not listed in the order of its instants")
	}
	for place, m := range all {
		number, err := strconv.ParseUint(m.Properties.Headers.Number, 10, 64)
		if err != nil {
			books.fault("what waits as %s is of no known message: %v", m.ID, err)
			continue
		}
		i := id(number)
		early := books.identify(i, m.ID, time.UnixMilli(m.DueMS))
		seen[i] = append(seen[i], sighting{queue: laterExchange, place: place, waits: true, early: early})
	}
	return seen
}

// delayed looks at what waits, then at what came, then at what waits still. Time goes on: what is seen to wait first
// may come then, what came must not wait any more.
func (a *audit) delayed(ch *amqp.Channel, s *shape, books *ledger, seen map[id][]sighting) {
	a.t.Helper()
	before := a.waiting(books)
	a.look(ch, s, books, s.name, seen)
	after := a.waiting(books)
	for i, at := range before {
		if len(at) > 1 || len(seen[i]) == 0 || len(after[i]) > 0 {
			seen[i] = append(seen[i], at...)
		}
	}
	for i, at := range after {
		if len(before[i]) == 0 {
			books.fault("message %v waits, and a moment ago it did not", i)
			seen[i] = append(seen[i], at...)
		}
	}
}
