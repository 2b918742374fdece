//go:build linux

package crashtest

import (
	"strings"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// firstID returns the first id of a stream that is transient, or is not.
func firstID(transient bool) id {
	i := newID(1, 2, 3, 1)
	for i.transient() != transient {
		i++
	}
	return i
}

// TestKillLedger proves that the judgement can find fault; if it fails, the kill tests show nothing.
func TestKillLedger(t *testing.T) {
	t.Parallel()
	work := &shape{name: "work", style: acks}
	quorum := &shape{name: "quorum", style: acks, quorum: true}
	reject := &shape{name: "reject", style: rejects, reason: "rejected"}
	expire := &shape{name: "expire", reason: "expired"}
	volatile := &shape{name: "volatile", volatile: true, style: rejects, reason: "rejected"}
	source, again := sighting{}, sighting{redelivered: true}
	dead, deadAgain := sighting{dead: true}, sighting{dead: true, redelivered: true}
	one := func(k known) entry { return entry{known: k} }
	sent := func(k known, at time.Duration) entry { return entry{known: k, settled: at} }
	killed, left := ending{died: true, at: 10 * time.Second}, ending{at: 10 * time.Second}
	const old, young = 8 * time.Second, 9500 * time.Millisecond
	persistent, transient := firstID(false), firstID(true)
	for _, c := range []struct {
		what string
		s    *shape
		i    id
		e    entry
		end  ending
		seen []sighting
		ok   bool
	}{
		{"confirmed and there", work, persistent, one(confirmed), killed, []sighting{source}, true},
		{"confirmed and lost", work, persistent, one(confirmed), killed, nil, false},
		{"not confirmed, not there", work, persistent, one(0), killed, nil, true},
		{"not confirmed, there", work, persistent, one(0), killed, []sighting{source}, true},
		{"refused and there", work, persistent, one(nacked), killed, []sighting{source}, false},
		{"delivered and lost", work, persistent, one(handed), killed, nil, false},
		{"acked and gone", work, persistent, one(confirmed | handed | acked), killed, nil, true},
		{"acked and back", work, persistent, one(confirmed | handed | acked), killed, []sighting{again}, true},
		{"acked just before and back", work, persistent, sent(confirmed|handed|acked, young), killed, []sighting{again}, true},
		{"acked long before and back", work, persistent, sent(confirmed|handed|acked, old), killed, []sighting{again}, false},
		{"acked for certain and back", work, persistent, one(confirmed | handed | acked | ackedSafe), killed, []sighting{again}, false},
		{"handed for certain and not marked", work, persistent, one(confirmed | handed | handedSafe), killed, []sighting{source}, false},
		{"handed and not marked", work, persistent, one(confirmed | handed), killed, []sighting{source}, true},
		{"audited and lost", work, persistent, one(wasSource), killed, nil, false},
		{"audited and not marked", work, persistent, one(wasSource), killed, []sighting{source}, false},
		{"rejected and dead", reject, persistent, one(confirmed | handed | rejected), killed, []sighting{dead}, true},
		{"rejected and back", reject, persistent, one(confirmed | handed | rejected), killed, []sighting{again}, true},
		{"rejected long before and back", reject, persistent, sent(confirmed|handed|rejected, old), killed, []sighting{again}, false},
		{"rejected for certain and back", reject, persistent, one(confirmed | handed | rejected | rejectedSafe), killed, []sighting{again}, false},
		{"rejected and in both", reject, persistent, one(confirmed | handed | rejected), killed, []sighting{again, dead}, false},
		{"rejected and doubled", reject, persistent, one(confirmed | handed | rejected), killed, []sighting{dead, dead}, false},
		{"rejected and lost", reject, persistent, one(confirmed | handed | rejected), killed, nil, false},
		{"nobody rejected it and dead", reject, persistent, one(confirmed | handed), killed, []sighting{dead}, false},
		{"acked and dead", reject, persistent, one(confirmed | handed | acked), killed, []sighting{dead}, false},
		{"seen dead and back", reject, persistent, one(confirmed | rejected | seenDead), killed, []sighting{again}, false},
		{"dead letter acked and gone", reject, persistent, one(confirmed | rejected | seenDead | deadAcked), killed, nil, true},
		{"dead letter acked for certain and there", reject, persistent, one(rejected | seenDead | deadAcked | deadAckedSafe), killed, []sighting{deadAgain}, false},
		{"dead letter acked long before and there", reject, persistent, sent(rejected|seenDead|deadAcked, old), killed, []sighting{deadAgain}, false},
		{"expired", expire, persistent, one(confirmed), killed, []sighting{dead}, true},
		{"expired with a wrong death", expire, persistent, one(confirmed), killed, []sighting{{dead: true, death: "died of boredom"}}, false},
		{"expired and marked", expire, persistent, one(confirmed), killed, []sighting{deadAgain}, false},
		{"never handed and marked", expire, persistent, one(confirmed), killed, []sighting{again}, false},
		{"volatile and lost", volatile, persistent, one(confirmed | handed), killed, nil, true},
		{"volatile, rejected and lost", volatile, persistent, one(confirmed | handed | rejected), killed, nil, true},
		{"volatile, rejected for certain and lost", volatile, persistent, one(confirmed | handed | rejected | rejectedSafe), killed, nil, false},
		{"volatile, dead and lost", volatile, persistent, one(rejected | seenDead), killed, nil, false},
		{"volatile, dead and there", volatile, persistent, one(rejected | seenDead), killed, []sighting{deadAgain}, true},
		{"transient and gone", work, transient, one(confirmed), killed, nil, true},
		{"transient and there", work, transient, one(confirmed), killed, []sighting{source}, false},
		{"transient in a quorum queue and gone", quorum, transient, one(confirmed), killed, nil, false},
		{"transient in a quorum queue and there", quorum, transient, one(confirmed), killed, []sighting{source}, true},
		{"transient, dead and gone", reject, transient, one(rejected | rejectedSafe | seenDead), killed, nil, true},
		{"transient, dead and there", reject, transient, one(rejected | seenDead), killed, []sighting{deadAgain}, false},
		{"transient and lost, nothing died", work, transient, one(confirmed), left, nil, false},
		{"volatile and lost, nothing died", volatile, persistent, one(confirmed), left, nil, false},
		{"acked just before and back, nothing died", work, persistent, sent(confirmed|handed|acked, young), left, []sighting{again}, false},
		{"acked in vain and back, nothing died", work, persistent, one(confirmed | handed | acked), left, []sighting{again}, true},
		{"handed and not marked, nothing died", work, persistent, one(confirmed | handed), left, []sighting{source}, false},
	} {
		if wrong := c.s.judge(c.i, c.e, c.seen, c.end); (wrong == "") != c.ok {
			t.Errorf("%s: judged %q", c.what, wrong)
		}
	}
}

// If this fails, the check does not detect a message that returns after its end, dead letters out of order, or a wrong
// body.
func TestKillBooks(t *testing.T) {
	t.Parallel()
	s := &shape{name: "reject", style: rejects, reason: "rejected"}
	killed := ending{died: true, at: time.Hour}
	i := firstID(false)
	for _, c := range []struct {
		what, says string
		play       func(l *ledger) map[id][]sighting
	}{
		{"one that nobody published", "nobody published it", func(*ledger) map[id][]sighting {
			return map[id][]sighting{i: {{}}}
		}},
		{"one that had gone", "had gone", func(l *ledger) map[id][]sighting {
			l.open(i)
			l.note(confirmed, i)
			l.close(s, map[id][]sighting{i: {{settled: true}}}, killed)
			return map[id][]sighting{i: {{redelivered: true}}}
		}},
		{"a delivery of one that had gone", "had gone", func(l *ledger) map[id][]sighting {
			l.note(handed, i)
			return nil
		}},
		{"a death that is forgotten", "before it was 1", func(l *ledger) map[id][]sighting {
			l.open(i)
			l.try(i)
			l.tried(i, 1)
			l.tried(i, 0)
			return nil
		}},
		{"a death that is made up", "rejected 0 times", func(l *ledger) map[id][]sighting {
			l.open(i)
			l.tried(i, 1)
			return nil
		}},
		{"dead letters out of order", "rejected earlier", func(l *ledger) map[id][]sighting {
			seen := map[id][]sighting{}
			for k := range 3 {
				l.open(i + id(k))
				l.die(i+id(k), uint64(1<<32+k))
				seen[i+id(k)] = []sighting{{dead: true, queue: "reject.dead", place: (k + 2) % 3}}
			}
			return seen
		}},
	} {
		l := newLedger()
		seen := c.play(l)
		a := l.close(s, seen, killed)
		if !strings.Contains(strings.Join(a.faults, "\n"), c.says) {
			t.Errorf("%s: not noticed: %q", c.what, a.faults)
		}
	}
	o := newOrder(s)
	for n, wrong := range []bool{false, false, true} {
		if got := o.next(newID(1, 1, 1, []int{1, 3, 2}[n])); (got != "") != wrong {
			t.Errorf("message %d in order: %q", n, got)
		}
	}
	if o.next(newID(0, 1, 1, 9)) == "" {
		t.Error("a message of the round before is not noticed")
	}
	sent := i.publishing()
	d := amqp.Delivery{Headers: sent.Headers, DeliveryMode: sent.DeliveryMode, Priority: sent.Priority, Body: sent.Body}
	if got, err := idOf(&d); got != i || err != nil {
		t.Errorf("read back as %v, %v", got, err)
	}
	d.Body[len(d.Body)-1]++
	if _, err := idOf(&d); err == nil {
		t.Error("a body with a wrong byte was not noticed")
	}
}
