package vhost

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// bodies lists what is in each queue, sorted.
func (w *world) bodies() string {
	var all []string
	for _, q := range w.v.sortedQueues() {
		q.messages.Each(0, func(s queue.Seq, _ *queue.Entry) bool {
			all = append(all, fmt.Sprintf("%s/%s", q.object.Name, w.bodyOf(q, s)))
			return true
		})
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

func (w *world) ticks() error {
	for at, due := w.v.Due(); due && at <= w.now; at, due = w.v.Due() {
		if err := w.batch(Command{Kind: Tick}); err != nil {
			return err
		}
	}
	return nil
}

// largeCommit plays a commit in portions, and returns the log with the index of the first batch of it.
func largeCommit(t *testing.T) (w *world, first int, before string) {
	w = newWorld()
	must(t, w, open("a")...)
	must(t, w, declareWith("dead"), declareWith("source", textOf("x-dead-letter-exchange", ""), textOf("x-dead-letter-routing-key", "dead")),
		declareWith("quorum", textOf("x-queue-type", "quorum")))
	for i := range 3 {
		must(t, w, declareWith(fmt.Sprint("q", i)),
			Command{Kind: BindQueue, Channel: 1, Definition: &Definition{Name: fmt.Sprint("q", i), Source: "amq.fanout"}})
	}
	for i := range 12 {
		must(t, w, publishTo("source", amqp.Persistent, fmt.Sprint("old", i)))
	}
	must(t, w, Command{Kind: Consume, Channel: 1, Definition: &Definition{Name: "source", ConsumerTag: "c"}},
		Command{Kind: Cancel, Channel: 1, Definition: &Definition{ConsumerTag: "c"}}, Command{Kind: SelectTx, Channel: 1})
	for i := range 12 {
		c := publishTo("", amqp.Persistent, fmt.Sprint("new", i))
		c.Exchange = []byte("amq.fanout")
		must(t, w, c)
		switch {
		case i < 4:
			must(t, w, Command{Kind: Ack, Channel: 1, Tag: uint64(i + 1)})
		case i < 8:
			must(t, w, Command{Kind: Reject, Channel: 1, Tag: uint64(i + 1)})
		case i < 10:
			must(t, w, Command{Kind: Reject, Channel: 1, Tag: uint64(i + 1), Requeue: true}, publishTo("quorum", 1, fmt.Sprint("new", i)))
		}
	}
	before, first = w.bodies(), len(w.log.batches)
	w.v.BoundSteps(3 * workOfFact)
	must(t, w, Command{Kind: CommitTx, Channel: 1})
	for len(w.v.ongoing) > 0 {
		if err := w.audit(); err != nil {
			t.Fatal(err)
		}
		must(t, w, Command{Kind: Tick})
	}
	return w, first, before
}

// wideSpread plays a publish to many queues, as largeCommit does a commit.
func wideSpread(t *testing.T) (w *world, first int, before string) {
	w = newWorld()
	must(t, w, open("a")...)
	for i := range 40 {
		q := declareWith(fmt.Sprint("q", i))
		q.Definition.Durable = i%10 != 3
		if q.Definition.Exclusive = !q.Definition.Durable; i == 7 {
			q.Definition.Arguments = amqp.Table{textOf("x-queue-type", "quorum")}
		}
		must(t, w, q, Command{Kind: BindQueue, Channel: 1, Definition: &Definition{Name: fmt.Sprint("q", i), Source: "amq.fanout"}})
	}
	must(t, w, Command{Kind: SelectConfirms, Channel: 1})
	first = len(w.log.batches)
	w.v.BoundSteps(3 * workOfFact)
	c := publishTo("", amqp.Persistent, "wide")
	c.Exchange = []byte("amq.fanout")
	must(t, w, c)
	for len(w.v.ongoing) > 0 {
		if err := w.audit(); err != nil {
			t.Fatal(err)
		}
		if _, err := w.step(Command{Kind: Tick}); err != nil {
			t.Fatal(err)
		}
		for _, e := range w.out.Effects {
			if e.Kind == Confirm && (len(w.v.ongoing) > 0 || e.Tag != 1 || e.After != w.next()) {
				t.Fatalf("the confirm %+v comes before the end", e)
			}
		}
		w.seal()
		w.begin()
	}
	if w.v.Reader().Books().Made != 40 {
		t.Fatalf("%d copies", w.v.Reader().Books().Made)
	}
	must(t, w, Command{Kind: Disconnect, Conn: 1}) // its queues are not there after a restart
	if err := w.ticks(); err != nil {
		t.Fatal(err)
	}
	return w, first, ""
}

// TestWideSpreadsAreWhole says that a crash in the middle of a publish to very many queues leaves some of them without
// the message, or with two.
func TestWideSpreadsAreWhole(t *testing.T) {
	t.Parallel()
	if err := crashAnywhere(t, wideSpread); err != nil {
		t.Error(err)
	}
}

// crashAnywhere restarts a machine behind each batch of a command in portions, and reports the first state that is
// neither as before it nor as after it.
func crashAnywhere(t *testing.T, play func(*testing.T) (*world, int, string)) error {
	whole, first, before := play(t)
	after := whole.bodies()
	if after == before || len(whole.log.batches)-first < 10 {
		t.Fatalf("the commit is %d batches", len(whole.log.batches)-first)
	}
	happened := false
	for n := first; n <= len(whole.log.batches); n++ {
		w := newWorld()
		w.log.batches, w.stepMax, w.now = slices.Clone(whole.log.batches[:n]), 3*workOfFact, whole.now
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
		if len(w.v.txs) > 0 || got != before && got != after || happened && got == before {
			return fmt.Errorf("restarted behind batch %d of %d: %s\nbefore %s\nafter %s", n-first, len(whole.log.batches)-first, got, before, after)
		}
		happened = got == after
	}
	if !happened {
		return fmt.Errorf("the commit never happens after a restart")
	}
	return nil
}

// TestLargeCommitsAreWhole says that a crash in the middle of a commit in portions leaves a part of the transaction,
// makes something twice, or forgets the whole of it although the log says that it is committed.
func TestLargeCommitsAreWhole(t *testing.T) {
	t.Parallel()
	if err := crashAnywhere(t, largeCommit); err != nil {
		t.Error(err)
	}
}

// TestLargeCommitsAreAnswered says that a commit in portions is answered before its end, not at all, or with the wrong
// answer; or that one that is refused leaves something.
func TestLargeCommitsAreAnswered(t *testing.T) {
	t.Parallel()
	w, _, _ := largeCommit(t)
	done := func() (n int) {
		for _, e := range w.out.Effects {
			if e.Kind == Done && e.Command == CommitTx {
				n++
			}
		}
		return n
	}
	must(t, w, declareWith("full", argumentOf("x-max-length", 1), textOf("x-overflow", "reject-publish")))
	for range 5 {
		must(t, w, publishTo("q0", amqp.Persistent, "m"), publishTo("full", amqp.Persistent, "m"))
	}
	closed := false
	if _, err := w.step(Command{Kind: CommitTx, Channel: 1}); err != nil {
		t.Fatal(err)
	}
	for {
		for _, e := range w.out.Effects {
			closed = closed || e.Kind == Closed && e.Command == CommitTx && e.Err.Code == amqp.CodePreconditionFailed
		}
		if n := done(); n > 0 {
			t.Errorf("%d answers to a commit that was not taken as a whole", n)
		}
		w.seal()
		w.begin()
		if len(w.v.ongoing) == 0 {
			break
		}
		if _, err := w.step(Command{Kind: Tick}); err != nil {
			t.Fatal(err)
		}
	}
	if !closed || w.v.channels[1] != nil {
		t.Error("the channel is not closed")
	}
	if q, _ := w.v.Reader().Queue("full"); q.Ready != 1 {
		t.Errorf("%d messages in a queue of one", q.Ready)
	}
	if err := w.audit(); err != nil {
		t.Error(err)
	}
}

// TestTransactionsHoldManySettlements says that a settlement of many in a transaction costs a map entry for each, names
// a delivery that is named already, or one that was made since.
func TestTransactionsHoldManySettlements(t *testing.T) {
	t.Parallel()
	w := newWorld()
	must(t, w, open("a")...)
	must(t, w, declareWith("q"), Command{Kind: Consume, Channel: 1, Definition: &Definition{Name: "q", ConsumerTag: "c"}})
	for range 100 {
		must(t, w, publishTo("q", amqp.Persistent, "m"))
	}
	must(t, w, Command{Kind: SelectTx, Channel: 1}, Command{Kind: Ack, Channel: 1, Tag: 7},
		Command{Kind: Nack, Channel: 1, Tag: 90, Multiple: true}, Command{Kind: Ack, Channel: 1, Tag: 95})
	tx := w.v.channels[1].tx
	if len(tx.settled) != 2 || tx.count != 91 || tx.settles(91) || !tx.settles(90) || !tx.settles(7) || !tx.settles(95) {
		t.Errorf("%d entries for %d settlements", len(tx.settled), tx.count)
	}
	must(t, w, Command{Kind: Ack, Channel: 1, Multiple: true})
	c := publishTo("q", amqp.Persistent, "m")
	c.Channel = 1
	must(t, w, c, Command{Kind: CommitTx, Channel: 1}, Command{Kind: CommitTx, Channel: 1})
	if q, _ := w.v.Reader().Queue("q"); q.Unacked != 1 || w.v.Reader().Books().Ended[fact.Acked] != 11 || w.v.Reader().Books().Ended[fact.GoneRejected] != 89 {
		t.Errorf("%d are unacked, %+v", q.Unacked, w.v.Reader().Books())
	}
	refused, err := w.step(Command{Kind: Ack, Channel: 1, Tag: 50})
	if refused == nil || err != nil {
		t.Errorf("what is settled is settled again: %v %v", refused, err)
	}
}

// TestSpreadsNameNoNewQueues says that a queue which is declared after a restart gets a message that was on its way to
// a transient one of before: it has the same number.
func TestSpreadsNameNoNewQueues(t *testing.T) {
	t.Parallel()
	w := newWorld()
	must(t, w, open("a")...)
	for i := range 8 {
		q := declareWith(fmt.Sprint("q", i))
		q.Definition.Durable, q.Definition.Exclusive = i < 4, i >= 4
		must(t, w, q, Command{Kind: BindQueue, Channel: 1, Definition: &Definition{Name: fmt.Sprint("q", i), Source: "amq.fanout"}})
	}
	w.v.BoundSteps(workOfFact)
	w.stepMax = workOfFact
	c := publishTo("", amqp.Persistent, "wide")
	c.Exchange = []byte("amq.fanout")
	must(t, w, c)
	if err := w.restart(nil); err != nil {
		t.Fatal(err)
	}
	w.seal()
	w.begin()
	must(t, w, open("b")...)
	for i := range 4 {
		must(t, w, declareWith(fmt.Sprint("new", i)))
	}
	if err := w.ticks(); err != nil {
		t.Fatal(err)
	}
	if got := w.bodies(); strings.Contains(got, "new") {
		t.Error(got)
	}
}
