//go:build linux

package crashtest

import (
	"strings"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// TestKillLedgerOfDelays proves that the judgement of delayed messages can find fault; if it fails, the kill tests show
// nothing of them.
func TestKillLedgerOfDelays(t *testing.T) {
	t.Parallel()
	later := &shape{name: "later", style: acks, delayed: true}
	again := time.Now()
	killed, left := ending{died: true, at: time.Hour, again: again}, ending{at: time.Hour, again: again}
	persistent, transient := firstID(false), firstID(true)
	waits, came, back := sighting{waits: true}, sighting{}, sighting{redelivered: true}
	const past, future = -time.Second, time.Second
	for _, c := range []struct {
		what string
		i    id
		k    known
		due  time.Duration // from the process's beginning
		end  ending
		seen []sighting
		ok   bool
	}{
		{"confirmed and waits", persistent, confirmed, future, killed, []sighting{waits}, true},
		{"confirmed and came", persistent, confirmed, past, killed, []sighting{came}, true},
		{"confirmed and lost", persistent, confirmed, past, killed, nil, false},
		{"confirmed and lost, before it was due", persistent, confirmed, future, killed, nil, false},
		{"not confirmed, not there", persistent, 0, past, killed, nil, true},
		{"refused and waits", persistent, nacked, past, killed, []sighting{waits}, false},
		{"waits and came", persistent, confirmed, past, killed, []sighting{waits, came}, false},
		{"came twice", persistent, confirmed, past, killed, []sighting{came, came}, false},
		{"came before its instant", persistent, confirmed, future, killed, []sighting{{early: true}}, false},
		{"waits for too early an instant", persistent, confirmed, future, killed, []sighting{{early: true, waits: true}}, false},
		{"delivered and waits", persistent, confirmed | handed, past, killed, []sighting{waits}, false},
		{"delivered and lost", persistent, handed, past, killed, nil, false},
		{"delivered, acked and gone", persistent, handed | acked, past, killed, nil, true},
		{"acked for certain and back", persistent, handed | acked | ackedSafe, past, killed, []sighting{back}, false},
		{"acked and waits", persistent, handed | acked, past, killed, []sighting{waits}, false},
		{"audited and waits", persistent, wasSource, past, killed, []sighting{waits}, false},
		{"audited waiting and lost", persistent, waited, past, killed, nil, false},
		{"handed for certain and not marked", persistent, handed | handedSafe, past, killed, []sighting{came}, false},
		{"cancelled, no answer, gone", persistent, confirmed | calledOff, past, killed, nil, true},
		{"cancelled, no answer, waits", persistent, confirmed | calledOff, past, killed, []sighting{waits}, true},
		{"cancelled, no answer, handed and lost", persistent, confirmed | calledOff | handed, past, killed, nil, false},
		{"cancelled and gone", persistent, confirmed | calledOff | waitsNot | cancelled, past, killed, nil, true},
		{"cancelled and waits", persistent, confirmed | calledOff | waitsNot | cancelled, past, killed, []sighting{waits}, false},
		{"cancelled and came", persistent, confirmed | calledOff | waitsNot | cancelled, past, killed, []sighting{came}, false},
		{"cancelled and delivered", persistent, confirmed | calledOff | waitsNot | cancelled | handed | acked, past, killed, nil, false},
		{"too late and came", persistent, confirmed | calledOff | waitsNot | fired, past, killed, []sighting{came}, true},
		{"too late and lost", persistent, confirmed | calledOff | waitsNot | fired, past, killed, nil, false},
		{"too late and waits", persistent, confirmed | calledOff | waitsNot | fired, past, killed, []sighting{waits}, false},
		{"too late, acked and gone", persistent, calledOff | waitsNot | fired | handed | acked, past, killed, nil, true},
		{"replaced and gone", persistent, confirmed | calledOff | waitsNot, past, killed, nil, true},
		{"replaced too late and came", persistent, confirmed | calledOff | waitsNot, past, killed, []sighting{came}, true},
		{"replaced and waits", persistent, confirmed | calledOff | waitsNot, past, killed, []sighting{waits}, false},
		{"transient and waits", transient, confirmed, future, killed, []sighting{waits}, true},
		{"transient and lost while it waited", transient, confirmed, future, killed, nil, false},
		{"transient and lost after it was due", transient, confirmed, past, killed, nil, true},
		{"transient, delivered and waits", transient, confirmed | handed, past, killed, []sighting{waits}, false},
		{"transient, delivered and there", transient, confirmed | handed, past, killed, []sighting{back}, false},
		{"transient, delivered and lost", transient, confirmed | handed, past, killed, nil, true},
		{"transient and lost, nothing died", transient, confirmed, past, left, nil, false},
		{"handed and not marked, nothing died", persistent, handed, past, left, []sighting{came}, false},
	} {
		e := entry{known: c.k, due: again.Add(c.due)}
		if wrong := later.judge(c.i, e, c.seen, c.end); (wrong == "") != c.ok {
			t.Errorf("%s: judged %q", c.what, wrong)
		}
	}
}

// If this fails, the check does not detect a delayed message that arrives early, twice, or long after it was cancelled.
func TestKillBooksOfDelays(t *testing.T) {
	t.Parallel()
	later := &shape{name: "later", style: acks, delayed: true}
	i := firstID(false)
	killed := ending{died: true, at: time.Hour, again: time.Now()}
	written := time.Now().Add(-time.Hour)
	comes := func(l *ledger) {
		l.arrived(i, &amqp.Delivery{Headers: amqp.Table{"x-delay": -i.delay().Milliseconds()}})
		l.note(handed, i)
	}
	for _, c := range []struct {
		what, says string
		play       func(l *ledger)
		count      func(a account) int
	}{
		{"one that is early", "before its instant", func(l *ledger) {
			l.delay(i, time.Now())
			comes(l)
		}, func(a account) int { return a.early }},
		{"one that comes twice", "came twice", func(l *ledger) {
			comes(l)
			comes(l)
		}, func(a account) int { return a.doubled }},
		{"one that comes an audit after it was cancelled", "was cancelled and came", func(l *ledger) {
			l.note(confirmed|calledOff|waitsNot|cancelled, i)
			if a := l.close(later, nil, killed); len(a.faults) > 0 || a.off != 1 || a.delayed != 1 {
				t.Errorf("cancelled and gone: %+v", a)
			}
			comes(l)
		}, func(a account) int { return a.came }},
		{"one that comes although it was replaced in time", "was cancelled and came", func(l *ledger) {
			l.note(confirmed|calledOff, i)
			l.replaced(i, written)
			comes(l)
		}, func(a account) int { return a.came }},
		{"one that waits as another", "before it was 1-1", func(l *ledger) {
			l.identify(i, "1-1", time.Now())
			l.identify(i, "1-2", time.Now())
		}, func(account) int { return 1 }},
	} {
		l := newLedger()
		l.open(i)
		l.delay(i, written)
		c.play(l)
		a := l.close(later, nil, killed)
		if !strings.Contains(strings.Join(a.faults, "\n"), c.says) || c.count(a) != 1 {
			t.Errorf("%s: not noticed: %+v", c.what, a)
		}
	}
	l := newLedger()
	l.open(i)
	l.delay(i, written)
	if due := written.Add(i.delay()); !l.identify(i, "1-1", due.Add(-time.Millisecond)) || l.identify(i, "1-1", due) || !l.comesEarly(i, due.Add(-1)) {
		t.Error("an instant that is too early is not noticed, or another one is")
	}
}
