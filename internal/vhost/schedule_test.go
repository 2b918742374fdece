package vhost

import (
	"strings"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// delayed is a world with a delayed exchange d that leads to a queue q, and n messages in it that wait for so many ms.
func delayed(t *testing.T, n int, delay int32) *world {
	t.Helper()
	w := newWorld()
	must(t, w, open("a")...)
	must(t, w,
		Command{Kind: DeclareQueue, Channel: 1, Definition: &Definition{Name: "q", Durable: true}},
		Command{Kind: DeclareExchange, Channel: 1, Definition: &Definition{Name: "d", Type: "x-delayed-message", Durable: true, Arguments: amqp.Table{
			{Name: "x-delayed-type", Value: amqp.String("fanout")},
		}}},
		Command{Kind: BindQueue, Channel: 1, Definition: &Definition{Source: "d", Name: "q"}})
	for range n {
		w.ask(t, later(delay))
	}
	w.end(t)
	return w
}

// ask steps a command that is not refused.
func (w *world) ask(t *testing.T, c Command) {
	t.Helper()
	if refused, err := w.step(c); refused != nil || err != nil {
		t.Fatalf("command %d: %v, %v", c.Kind, refused, err)
	}
}

// later publishes to the delayed exchange.
func later(delay int32) Command {
	return Command{
		Kind: Publish, Channel: 1, Exchange: []byte("d"), Body: []byte("m"),
		Properties: properties(1, amqp.Table{{Name: "x-delay", Value: amqp.Int32(delay)}}),
	}
}

// end ends the batch and audits the world.
func (w *world) end(t *testing.T) {
	t.Helper()
	w.seal()
	w.begin()
	if err := w.audit(); err != nil {
		t.Fatal(err)
	}
}

// about asks for something with messages of schedule 2, and returns the answers by number.
func (w *world) about(t *testing.T, kind CommandKind, first, n uint64) map[uint64]string {
	t.Helper()
	s := &Selection{}
	for i := range n {
		s.Scheduled = append(s.Scheduled, ScheduledID{2, first + i})
	}
	w.ask(t, Command{Kind: kind, Channel: 1, Selection: s})
	answers := map[uint64]string{}
	for i := range w.out.Effects {
		if e := &w.out.Effects[i]; e.Kind == Answered {
			answers[e.Tag] = e.Name
		}
	}
	if uint64(len(answers)) != n {
		t.Fatalf("%d messages were named, %d answers", n, len(answers))
	}
	w.seal()
	w.begin()
	return answers
}

// TestCancellationsAreRemembered says that a cancellation is forgotten too soon, or that what is forgotten is told
// wrongly; that a restart knows less; or that schedules remember without bound.
func TestCancellationsAreRemembered(t *testing.T) {
	t.Parallel()
	const more = 3 * SelectionMax
	w := delayed(t, recallMax+more, 1000)
	for first := uint64(0); first < recallMax+more; first += SelectionMax {
		n := min(SelectionMax, recallMax+more-first)
		for id, name := range w.about(t, Unschedule, first, n) {
			if name != "cancelled" {
				t.Fatalf("message %d: %s", id, name)
			}
		}
	}
	check := func(when string) {
		t.Helper()
		for id, want := range map[uint64]string{
			0: "unknown", more - 1: "unknown", more: "cancelled", recallMax + more - 1: "cancelled", recallMax + more: "unknown",
		} {
			if got := w.about(t, Unschedule, id, 1)[id]; got != want {
				t.Errorf("%s message %d: %s, expected %s", when, id, got, want)
			}
		}
		x := w.v.schedules["d"].schedule
		if len(x.cancelled) != recallMax || len(x.order) != recallMax {
			t.Errorf("%s %d, %d cancellations are remembered", when, len(x.cancelled), len(x.order))
		}
	}
	check("live,")
	for _, snapshot := range [][]byte{nil, w.v.snapshot()} {
		if err := w.restart(snapshot); err != nil {
			t.Fatal(err)
		}
		must(t, w, open("a")...)
		check("after a restart,")
	}
	must(t, w, later(1))
	w.now += 10
	must(t, w, Command{Kind: Tick})
	w.end(t)
	if got := w.about(t, Unschedule, recallMax+more, 1)[recallMax+more]; got != "already_fired" {
		t.Errorf("what came and fired since: %s", got)
	}
}

// TestOneInstantInOrder says that messages of one instant, of which there are more than one tick fires and than are in
// memory, do not come in the order of their publishing, or not all, or twice.
func TestOneInstantInOrder(t *testing.T) {
	t.Parallel()
	const n = 5000
	w := delayed(t, n, 1000)
	if err := w.restart(w.v.snapshot()); err != nil {
		t.Fatal(err)
	}
	must(t, w, open("a")...)
	w.end(t)
	w.now += 1000
	next, ticks := uint64(0), 0
	for {
		if at, ok := w.v.Due(); !ok || at > w.now {
			break
		}
		w.ask(t, Command{Kind: Tick})
		ticks++
		for i := range w.out.Facts {
			if f := &w.out.Facts[i]; f.Kind == fact.Ended && f.Queue == 2 {
				if uint64(f.Seq) != next || f.Cause != fact.Fired {
					t.Fatalf("message %d left after %d messages, as %s", f.Seq, next, f.Cause)
				}
				next++
			}
		}
		w.seal()
		w.begin()
	}
	if q, _ := w.v.Reader().Queue("q"); next != n || q.Ready != n || ticks < 2 {
		t.Errorf("%d of %d fired in %d ticks, %d came", next, n, ticks, q.Ready)
	}
	w.end(t)
}

// TestCommandsAreBounded says that one command may name so many messages that everybody else waits for it.
func TestCommandsAreBounded(t *testing.T) {
	t.Parallel()
	for _, kind := range []CommandKind{Unschedule, Reschedule, FireNow} {
		w := delayed(t, 1, 1000)
		refused, err := w.step(Command{Kind: kind, Channel: 1, Selection: &Selection{Scheduled: make([]ScheduledID, SelectionMax+1)}})
		if err != nil || refused == nil || refused.Code != amqp.CodePreconditionFailed {
			t.Errorf("command %d with one more than allowed: %v, %v", kind, refused, err)
		}
	}
}

// TestScheduledIDs says that an ID is read as another than was written, or that something is read that nobody writes.
func TestScheduledIDs(t *testing.T) {
	t.Parallel()
	for _, id := range []ScheduledID{{}, {12, 345}, {1<<32 - 1, 1<<64 - 1}} {
		if back, ok := ParseScheduledID(id.String()); !ok || back != id {
			t.Errorf("%s came back as %s, %t", id, back, ok)
		}
	}
	for text := range strings.SplitSeq("| |1|-|1-|-1|1-2-3|01-2|1-02|+1-2|1-+2|1- 2|a-1|1-a|4294967296-1|1-18446744073709551616|-1-2", "|") {
		if id, ok := ParseScheduledID(text); ok {
			t.Errorf("%q was read as %s", text, id)
		}
	}
}

// TestScheduleKeysAreBounded says that messages wait under any number of keys; that one under a key that is there is
// refused at the limit; or that a key still counts whose message is gone, or its exchange.
func TestScheduleKeysAreBounded(t *testing.T) {
	t.Parallel()
	sc := counted(t, `
		exchange d x-delayed-message x-delayed-type=fanout
		exchange e x-delayed-message x-delayed-type=fanout
		publish d:k "1" h.x-delay=1000 h.x-schedule-key=a
		publish d:k "2" h.x-delay=1000 h.x-schedule-key=b
		publish e:k "3" h.x-delay=1000 h.x-schedule-key=a
		publish d:k "4" h.x-delay=1000 h.x-schedule-key=a`)
	v := sc.world.v
	waiting := func() int { return v.schedules["d"].waiting() }
	if v.keyCount != 3 || waiting() != 2 {
		t.Errorf("%d keys, %d messages", v.keyCount, waiting())
	}
	v.keysMax = 3
	play := func(line string) {
		if err := sc.block([]string{line}); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
	play(`b: publish d:k "5" h.x-delay=1000 h.x-schedule-key=c`)
	if v.keyCount != 3 || waiting() != 2 {
		t.Errorf("beyond the limit: %d keys, %d messages", v.keyCount, waiting())
	}
	play(`publish d:k "6" h.x-delay=1000 h.x-schedule-key=b`)
	play(`publish d:k "7" h.x-delay=1000`)
	if v.keyCount != 3 || waiting() != 3 {
		t.Errorf("a replacement and a message without a key: %d keys, %d messages", v.keyCount, waiting())
	}
	play("delete-exchange e")
	play("advance 2s")
	if v.keyCount != 0 {
		t.Errorf("when all messages were due, there are %d keys", v.keyCount)
	}
}

// TestATimeOfDeliveryInThisMillisecond says that a message is delivered in the millisecond before the time that its
// publisher has asked for, or expires then.
func TestATimeOfDeliveryInThisMillisecond(t *testing.T) {
	t.Parallel()
	for _, ttl := range []string{"", "0"} {
		w := newWorld()
		must(t, w, open("a")...)
		must(t, w, Command{Kind: DeclareQueue, Channel: 1, Definition: &Definition{Name: "q", Durable: true}})
		next := amqp.Int64(int64(w.now) + 1)
		p := amqp.Properties{Has: amqp.FlagHeaders, Headers: amqp.Table{{Name: deliveryTimeHeader, Value: next}}}
		if ttl != "" {
			p.Has, p.Expiration = p.Has|amqp.FlagExpiration, ttl
		}
		s := w.stamp()
		s.From++ // a part of the millisecond is over
		c := Command{Kind: Publish, Channel: 1, Key: []byte("q"), Properties: amqp.AppendProperties(nil, &p)}
		if err := w.v.Step(s, c, &w.out); err != nil {
			t.Fatal(err)
		}
		w.end(t)
		q := w.v.queueNamed("q").messages
		must(t, w, Command{Kind: Tick})
		if q.Ready() != 0 || q.Count(queue.Waiting) != 1 {
			t.Errorf("TTL %q: before its time %d messages are ready, %d wait", ttl, q.Ready(), q.Count(queue.Waiting))
		}
		w.now++
		must(t, w, Command{Kind: Tick})
		want := 1
		if ttl != "" {
			want = 0
		}
		if q.Ready() != want || q.Count(queue.Waiting) != 0 {
			t.Errorf("TTL %q: at its time %d messages are ready, %d wait", ttl, q.Ready(), q.Count(queue.Waiting))
		}
	}
}
