package vhost

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/queue"
)

// wideDeadLetters plays the rejection of two messages whose dead-letter exchange leads to forty queues, in
// portions of three, and returns the log with the index of the first batch of that.
func wideDeadLetters(t *testing.T, arguments ...amqp.Field) (w *world, first int, before string) {
	w = newWorld()
	must(t, w, open("a")...)
	must(t, w, declareWith("source", append(arguments, textOf("x-dead-letter-exchange", "amq.fanout"))...))
	for i := range 40 {
		q := declareWith(fmt.Sprint("q", i))
		if i == 7 {
			q.Definition.Arguments = amqp.Table{textOf("x-queue-type", "quorum")}
		}
		must(t, w, q, Command{Kind: BindQueue, Channel: 1, Definition: &Definition{Name: fmt.Sprint("q", i), Source: "amq.fanout"}})
	}
	must(t, w, publishTo("source", amqp.Persistent, "wide"), publishTo("source", amqp.Persistent, "second"),
		Command{Kind: Get, Channel: 1, Definition: &Definition{Name: "source"}}, Command{Kind: Get, Channel: 1, Definition: &Definition{Name: "source"}})
	before, first = w.bodies(), len(w.log.batches)
	w.v.BoundSteps(3 * workOfFact)
	w.stepMax = 3 * workOfFact
	c := Command{Kind: Reject, Channel: 1, Tag: 1}
	for n := 0; ; n++ {
		made := w.v.Reader().Books().Made
		if err := w.batch(c); err != nil {
			t.Fatal(err)
		}
		if made = w.v.Reader().Books().Made - made; made > 4 {
			t.Errorf("a step made %d copies", made)
		}
		if c = (Command{Kind: Tick}); n == 3 {
			c = Command{Kind: Reject, Channel: 1, Tag: 2}
		}
		q, _ := w.v.Reader().Queue("source")
		if deadLetters := w.v.Reader().Books().Made - 2; (deadLetters < 80 || q.Held+q.Unacked > 0) && deadLetters > 0 && q.Held+q.Unacked+int(deadLetters)/40 != 2 {
			t.Errorf("%d copies are made, %d held", deadLetters, q.Held)
		}
		if err := w.audit(); err != nil {
			t.Fatal(err)
		}
		if n > 200 {
			t.Fatal("it does not end")
		}
		if at, due := w.v.Due(); n > 3 && (!due || at > w.now) {
			break
		}
	}
	for _, q := range w.v.sortedQueues() {
		var order []string
		q.messages.Each(0, func(s queue.Seq, _ *queue.Entry) bool {
			order = append(order, w.bodyOf(q, s))
			return true
		})
		if q.object.Name != "source" && !slices.Equal(order, []string{"wide", "second"}) {
			t.Errorf("%s has %q", q.object.Name, order)
		}
	}
	return w, first, before
}

// TestWideDeadLettersComeOnce says that a dead letter for very many queues leaves its queue before the last of
// them has it, comes to one of them twice, or never; when a crash comes in the middle, too; or that it
// comes to all in one step.
func TestWideDeadLettersComeOnce(t *testing.T) {
	t.Parallel()
	for _, strategy := range []string{"at-most-once", "at-least-once"} {
		arguments := []amqp.Field{textOf("x-queue-type", "quorum"), textOf("x-overflow", "reject-publish"), textOf("x-dead-letter-strategy", strategy)}
		if strategy == "at-most-once" {
			arguments = nil
		}
		w, first, _ := wideDeadLetters(t, arguments...)
		if err := restartsLead(w, first); err != nil {
			t.Errorf("%s: %v", strategy, err)
		}
	}
}

// restartsLead reports the first restart behind a batch of wideDeadLetters after which a dead letter is not
// either where it was or in each queue once.
func restartsLead(whole *world, first int) error {
	for n := first + 1; n <= len(whole.log.batches); n++ {
		w := newWorld()
		w.log.batches, w.stepMax, w.now = slices.Clone(whole.log.batches[:n]), whole.stepMax, whole.now
		if err := w.restart(nil); err != nil {
			return err
		}
		w.seal()
		w.begin()
		if err := w.ticks(); err != nil {
			return err
		}
		if err := w.audit(); err != nil {
			return fmt.Errorf("restarted behind batch %d: %w", n, err)
		}
		got := w.bodies()
		for _, body := range []string{"wide", "second"} {
			there, all := strings.Count(got, "source/"+body), strings.Count(got, "/"+body)
			if there == 1 && all != 1 || there == 0 && all != 40 || there > 1 {
				return fmt.Errorf("restarted behind batch %d: %q is in %d queues, %d times in its own", n-first, body, all, there)
			}
		}
	}
	return nil
}

// TestWideDeadLettersOfFullQueues says that a dead letter for very many queues forgets those that are full:
// it is held for them, or lost letters have it.
func TestWideDeadLettersOfFullQueues(t *testing.T) {
	t.Parallel()
	for _, atLeastOnce := range []bool{false, true} {
		w := newWorld()
		must(t, w, open("a")...)
		source := declareWith("source", textOf("x-dead-letter-exchange", "amq.fanout"))
		if atLeastOnce {
			source = declareWith("source", textOf("x-dead-letter-exchange", "amq.fanout"), textOf("x-queue-type", "quorum"),
				textOf("x-overflow", "reject-publish"), textOf("x-dead-letter-strategy", "at-least-once"))
		}
		must(t, w, source)
		for i := range 12 {
			name := fmt.Sprint("q", i)
			q := declareWith(name)
			if i < 3 {
				q = declareWith(name, argumentOf("x-max-length", 1), textOf("x-overflow", "reject-publish"))
			}
			must(t, w, q, Command{Kind: BindQueue, Channel: 1, Definition: &Definition{Name: name, Source: "amq.fanout"}}, publishTo(name, amqp.Persistent, "old"))
		}
		w.v.BoundSteps(2 * workOfFact)
		must(t, w, publishTo("source", amqp.Persistent, "m"), Command{Kind: Get, Channel: 1, Definition: &Definition{Name: "source"}},
			Command{Kind: Reject, Channel: 1, Tag: 1})
		if err := w.ticks(); err != nil {
			t.Fatal(err)
		}
		q, _ := w.v.Reader().Queue("source")
		lost, held := w.v.Reader().LostStore().Messages, q.Held
		if atLeastOnce && (held != 1 || lost != 0) || !atLeastOnce && (held != 0 || lost != 3) {
			t.Errorf("at least once: %t, %d held, %d lost", atLeastOnce, held, lost)
		}
		for i := range 3 {
			must(t, w, Command{Kind: PurgeQueue, Channel: 1, Definition: &Definition{Name: fmt.Sprint("q", i)}})
		}
		if err := w.ticks(); err != nil {
			t.Fatal(err)
		}
		want := 9
		if atLeastOnce {
			want = 12
		}
		if n := strings.Count(w.bodies(), "/m"); n != want {
			t.Errorf("at least once: %t, %d queues have the dead letter", atLeastOnce, n)
		}
		if err := w.audit(); err != nil {
			t.Error(err)
		}
	}
}
