//go:build linux

package crashtest

import (
	"fmt"
	"math/rand/v2"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// judgeDelayed says what is wrong with what an audit found of one delayed message, "" if nothing. While it waits it is
// durable, whatever its delivery mode; once it has come it is what it was published as.
func (s *shape) judgeDelayed(i id, e entry, seen []sighting, end ending) string {
	k := e.known.aged(e, end)
	came := k&(handed|wasSource|fired) != 0
	// A transient one is lost with a process in whose life it may have come.
	keeps := !end.died || !i.transient() || !came && e.due.After(end.again)
	exists := keeps && k&nacked == 0 && k&(confirmed|handed|wasSource|waited|fired) != 0
	gone := k&acked != 0 || k&calledOff != 0 && !came
	switch {
	case k&cancelled != 0 && (came || len(seen) > 0):
		return "was cancelled and came, or is going to"
	case len(seen) == 0 && exists && !gone:
		return "lost"
	case len(seen) == 0:
		return ""
	case len(seen) > 1:
		return fmt.Sprintf("there are %d copies: %+v", len(seen), seen)
	case k&(ackedSafe|nacked) != 0:
		return "came back"
	}
	switch at := seen[0]; {
	case at.early:
		return "came before its instant, or is going to"
	case at.waits && came:
		return "waits again after it came"
	case at.waits && k&waitsNot != 0:
		return "waits after it was replaced"
	case !at.waits && i.transient() && came && end.died:
		return "outlived the process, which a transient message does not"
	case !at.waits && !at.redelivered && (k&(handedSafe|wasSource) != 0 || k&handed != 0 && !end.died):
		return "was handed over before and is not marked redelivered"
	}
	return ""
}

// carried is what is known of a delayed message after an audit that has seen it.
func carried(e entry, at sighting) entry {
	what := wasSource
	if at.waits {
		what = waited
	}
	return entry{known: what, due: e.due, ticket: e.ticket}
}

// countDelayed counts a delayed message that an audit found so.
func (a *account) countDelayed(e entry, seen []sighting) {
	if e.known&audited == 0 && e.known&confirmed != 0 {
		a.delayed++
	}
	if e.known&(cancelled|wasOff) == cancelled {
		a.off++
	}
	if e.known&cancelled != 0 && (e.known&(handed|wasSource|fired) != 0 || len(seen) > 0) {
		a.came++
	}
	if e.known&fired != 0 {
		a.late++
	}
	for _, at := range seen {
		if at.early {
			a.early++
		}
		if at.waits {
			a.waiting++
		}
	}
}

// delay notes that a delayed message is about to be written.
func (l *ledger) delay(i id, now time.Time) {
	l.change(func(e *entry) { e.due = now.Add(i.delay()) }, i)
}

// replaced notes the confirm of a message that has the key of this one. Who had it before it was due never comes.
func (l *ledger) replaced(i id, now time.Time) {
	l.change(func(e *entry) {
		e.known |= waitsNot
		if now.Before(e.due) {
			e.known |= cancelled
		}
	}, i)
}

// tickets returns some of the messages whose ID is known, by that, of a round and those after it.
func (l *ledger) tickets(random *rand.Rand, since int) map[string]id {
	l.mu.Lock()
	defer l.mu.Unlock()
	some := map[string]id{}
	for i, e := range l.mu.entries {
		if e.ticket != "" && i.round() >= since && len(some) < ticketsMax && random.IntN(100) < ticketShare {
			some[e.ticket] = i
		}
	}
	return some
}

// identify notes the ID of a message that waits, and tells whether its instant is too early. It has one ID.
func (l *ledger) identify(i id, ticket string, due time.Time) (early bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e, ok := l.mu.entries[i]
	if !ok {
		return false // judged with all that was seen
	}
	if e.ticket != "" && e.ticket != ticket {
		l.mu.faults = append(l.mu.faults, fmt.Sprintf("message %v waits as %s, before it was %s", i, ticket, e.ticket))
	}
	e.ticket = ticket
	l.mu.entries[i] = e
	return due.Before(e.due.Truncate(time.Millisecond))
}

// comesEarly tells whether a message is not due.
func (l *ledger) comesEarly(i id, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return now.Before(l.mu.entries[i].due)
}

// arrived notes what is wrong with the arrival of a delayed message at its consumer.
func (l *ledger) arrived(i id, d *amqp.Delivery) {
	now := time.Now()
	l.change(func(e *entry) {
		if now.Before(e.due) {
			l.mu.early++
			l.mu.faults = append(l.mu.faults, fmt.Sprintf("message %v came %v before its instant", i, e.due.Sub(now)))
		}
		if e.known&(handed|wasSource) != 0 && !d.Redelivered {
			l.mu.twice++
			l.mu.faults = append(l.mu.faults, fmt.Sprintf("message %v came twice, and is not marked redelivered", i))
		}
		if delay := fmt.Sprint(d.Headers["x-delay"]); delay != fmt.Sprint(-i.delay().Milliseconds()) {
			l.mu.faults = append(l.mu.faults, fmt.Sprintf("message %v came with an x-delay of %s", i, delay))
		}
	}, i)
}
