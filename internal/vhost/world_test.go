package vhost

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/deadline"
	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/storage"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// testLog is the log of every machine in these tests; epoch is when their clocks begin.
const (
	testLog = storage.LogID(7)
	epoch   = deadline.Instant(1_000_000_000_000)
)

// batchLog keeps the batches of one log; batch i is at i-1.
type batchLog struct{ batches [][]byte }

// Record implements storage.Records.
func (l *batchLog) Record(r storage.Ref) []byte {
	b := l.batches[r.Index-1]
	return b[r.Offset : r.Offset+r.Size : r.Offset+r.Size]
}

// Head implements storage.Records.
func (l *batchLog) Head(r storage.Ref, n int) []byte { return l.Record(r.First(n)) }

// countedLog is a log that counts the bytes that are read.
type countedLog struct {
	*batchLog
	bytes int
}

// Record implements storage.Records.
func (c *countedLog) Record(r storage.Ref) []byte {
	c.bytes += int(r.Size)
	return c.batchLog.Record(r)
}

// Head implements storage.Records.
func (c *countedLog) Head(r storage.Ref, n int) []byte { return c.Record(r.First(n)) }

// world drives one machine as the engine does, with a clock that is moved by hand and a log in memory.
type world struct {
	v       *VHost
	out     Outcome
	log     *batchLog
	reads   countedLog // of log, by the machine
	now     deadline.Instant
	entropy uint64
	pages   *memoryPages
	hot     bool          // messages stay in memory, and small records are read whole
	stepMax int           // how much a step does, 0: as usual
	saving  storage.Index // batch of the checkpoint in the making
	taken   bool          // the log has the outcome's batch
}

func newWorld() *world {
	w := &world{log: &batchLog{}, now: epoch, pages: newPages()}
	w.reads.batchLog = w.log
	w.v = w.fresh()
	w.out.Trace = true
	return w
}

// fresh returns a machine for the world's log.
func (w *world) fresh() *VHost {
	v := New("/", testLog, &w.reads, w.pages)
	if !w.hot {
		v.KeepHot(1, 1)
		v.BoundHeads(1)
	}
	if w.stepMax > 0 {
		v.BoundSteps(w.stepMax)
	}
	return v
}

// bodyOf is the body of a message.
func (w *world) bodyOf(q *queueState, seq queue.Seq) string {
	m := w.v.loadMessage(q, seq)
	return string(w.v.octetsOf(&m.body))
}

func (w *world) next() storage.Index { return storage.Index(len(w.log.batches) + 1) }

func (w *world) stamp() Stamp {
	w.entropy++
	return Stamp{Now: w.now, From: w.now, Wall: w.now, Index: w.next(), Entropy: w.entropy}
}

// step decides one command, and refuses it as the engine does. It fails if a refusal has left a trace.
func (w *world) step(c Command) (refused *amqp.Error, err error) {
	for ch := w.v.channels[c.Channel]; ch != nil && w.v.Busy(ch.conn.id); ch = w.v.channels[c.Channel] {
		if _, err := w.step(Command{Kind: Tick}); err != nil {
			return nil, err
		}
	}
	s := w.stamp()
	facts, effects, batch := len(w.out.Facts), len(w.out.Effects), len(w.out.Batch)
	before := w.v.Reader().Books()
	failed := w.v.Step(s, c, &w.out)
	if failed == nil {
		return nil, nil
	}
	if !errors.As(failed, &refused) {
		return nil, fmt.Errorf("a refusal that is no *amqp.Error: %w", failed)
	}
	if len(w.out.Facts) != facts || len(w.out.Effects) != effects || len(w.out.Batch) != batch || w.v.Reader().Books() != before {
		return nil, fmt.Errorf("the refused command %d left a trace", c.Kind)
	}
	w.v.Refuse(s, c, refused, &w.out)
	return refused, nil
}

// seal ends the batch; its facts and effects stay until begin.
func (w *world) seal() {
	batch, _ := w.out.Seal()
	w.taken = batch != nil
	if w.taken {
		w.log.batches = append(w.log.batches, batch)
	}
}

func (w *world) begin() {
	if w.taken {
		w.out.Next(nil)
	} else {
		w.out.Next(w.out.Batch)
	}
	w.taken = false
}

// batch runs commands as one batch and forgets what they led to.
func (w *world) batch(commands ...Command) error {
	for _, c := range commands {
		if _, err := w.step(c); err != nil {
			return err
		}
	}
	w.seal()
	w.begin()
	return nil
}

// restart opens the machine anew, as after a crash: from a snapshot, or from all batches if there is none. What
// that led to is in the batch in the making.
func (w *world) restart(snapshot []byte) error {
	v := w.fresh()
	if snapshot != nil {
		if err := v.ApplyCheckpoint(snapshot); err != nil {
			return err
		}
	} else if err := w.replayAll(v); err != nil {
		return err
	}
	w.v, w.out = v, Outcome{Trace: true}
	_, err := w.step(Command{Kind: Recovered})
	return err
}

func (w *world) replayAll(v *VHost) error {
	for i, b := range w.log.batches {
		if err := v.ApplyBatch(storage.Index(i+1), b); err != nil {
			return err
		}
	}
	return nil
}

// checkNamed reports the first fact in the log that names what whoever applies the log may have
// given back: a record or a history of an older batch that no durable copy refers to by then, or
// the number of a queue that another queue gets later.
func (w *world) checkNamed() error {
	v := New("/", testLog, w.log, newPages())
	v.CountBy(1) // each batch by itself
	numbers := map[fact.QueueID]int{}
	for i, b := range w.log.batches {
		index := storage.Index(i + 1)
		facts, err := fact.All(testLog, index, b)
		if err != nil {
			return err
		}
		for k := range facts {
			f := &facts[k]
			if f.Kind == fact.QueueDeclared && numbers[f.Queue] > 0 {
				return fmt.Errorf("batch %d gives queue %q the number %d, which batch %d names", index, f.Object.Name, f.Queue, numbers[f.Queue])
			}
			for _, id := range f.Took {
				numbers[id] = i + 1
			}
			var refs []storage.Ref
			switch f.Kind {
			case fact.Enqueued, fact.Noted:
				refs = []storage.Ref{f.Entry.Ref(testLog), f.History}
			case fact.Held:
				refs = []storage.Ref{f.History}
			}
			for _, r := range refs {
				if !r.IsZero() && r.Index != index && storage.Bytes(v.use.Ranges(), r.Index, r.Index) == 0 {
					return fmt.Errorf("batch %d, fact %d of kind %d names %v, which nothing durable refers to", index, k, f.Kind, r)
				}
			}
			v.Apply(*f)
		}
	}
	return nil
}

// audit compares the machine with its log: whoever applies all batches, or a snapshot, has the same durable
// state; a snapshot of that is the same again; and the machine's own invariants hold.
func (w *world) audit() error {
	if err := w.v.Check(); err != nil {
		return err
	}
	replayed := New("/", testLog, w.log, newPages())
	if err := w.replayAll(replayed); err != nil {
		return err
	}
	want := w.v.Projection()
	if got := replayed.Projection(); !bytes.Equal(got, want) {
		return fmt.Errorf("replay differs from live:\n%s", difference(got, want))
	}
	if err := replayed.Check(); err != nil {
		return fmt.Errorf("after a replay: %w", err)
	}
	if replayed.Reader().Books() != w.v.Reader().DurableBooks() {
		return fmt.Errorf("replay counts %+v, live %+v", replayed.Reader().Books(), w.v.Reader().DurableBooks())
	}
	if err := replayed.checkUse(); err != nil {
		return fmt.Errorf("after a replay: %w", err)
	}
	if w.v.InCheckpoint() {
		return nil // one checkpoint at a time
	}
	restored := w.fresh()
	if err := restored.ApplyCheckpoint(w.v.snapshot()); err != nil {
		return err
	}
	if err := restored.checkUse(); err != nil {
		return fmt.Errorf("after a snapshot: %w", err)
	}
	if got := restored.Projection(); !bytes.Equal(got, want) {
		return fmt.Errorf("snapshot differs from live:\n%s", difference(got, want))
	}
	if restored.Reader().Books() != w.v.Reader().DurableBooks() {
		return fmt.Errorf("snapshot counts %+v, live %+v", restored.Reader().Books(), w.v.Reader().DurableBooks())
	}
	return restored.Check()
}

// checkpoint takes a step towards a checkpoint between two batches, and, at its end, compares what it and the batches
// since its beginning lead to with the live state.
func (w *world) checkpoint(dice *rand.Rand) error {
	v := w.v
	switch {
	case !v.InCheckpoint() && dice.IntN(10) == 0:
		w.saving = w.next() - 1
		v.BeginCheckpoint(w.saving)
	case v.InCheckpoint() && dice.IntN(2) == 0 && !v.SaveCheckpoint(1+dice.IntN(40)):
		root := slices.Concat(v.EndCheckpoint()...)
		restored := w.fresh()
		if err := restored.ApplyCheckpoint(root); err != nil {
			return fmt.Errorf("checkpoint of batch %d: %w", w.saving, err)
		}
		for i := w.saving + 1; i < w.next(); i++ {
			if err := restored.ApplyBatch(i, w.log.batches[i-1]); err != nil {
				return fmt.Errorf("after the checkpoint of batch %d: %w", w.saving, err)
			}
		}
		v.CheckpointStored(dice.IntN(2) == 0)
		if got, want := restored.Projection(), v.Projection(); !bytes.Equal(got, want) {
			return fmt.Errorf("a checkpoint of batch %d and the rest differ from live:\n%s", w.saving, difference(got, want))
		}
		if restored.Reader().Books() != v.Reader().DurableBooks() {
			return fmt.Errorf("a checkpoint and the rest count %+v, live %+v", restored.Reader().Books(), v.Reader().DurableBooks())
		}
		if err := restored.checkUse(); err != nil {
			return fmt.Errorf("a checkpoint and the rest: %w", err)
		}
		return restored.Check()
	}
	return nil
}

// exhumeAll gives back at once what ticks would.
func (v *VHost) exhumeAll() {
	for len(v.pendingFree)+len(v.deletedMessages) > 0 {
		v.deadlines.Remove(deadline.Entry{At: 1, Owner: ownPendingFree})
		v.freeSome()
	}
}

// checkUse compares how much of the log is in use with what copies refer to, counted the slow way.
func (v *VHost) checkUse() error {
	n, bytes := int64(0), int64(0)
	count := func(refs ...storage.Ref) {
		for _, r := range refs {
			if !r.IsZero() && r.Log == testLog {
				n++
				bytes += int64(r.Size)
			}
		}
	}
	for _, q := range append(v.sortedQueues(), v.lost) {
		q.messages.Each(0, func(s queueSeq, e *queueEntry) bool {
			count(e.Ref(testLog), q.messages.Side(s).History)
			return true
		})
	}
	for _, r := range v.recents {
		for _, m := range r.durable.messages {
			count(m.record, m.history)
		}
	}
	for _, x := range v.txs {
		for i := range x.steps {
			count(x.steps[i].record)
		}
	}
	v.exhumeAll()
	for _, r := range append(v.use.Ranges(), v.borrowed.Ranges()...) {
		n, bytes = n-r.Refs, bytes-r.Bytes
	}
	if n != 0 || bytes != 0 {
		return fmt.Errorf("copies refer to %d records of %d bytes more than is in use", n, bytes)
	}
	return nil
}

// difference lists two encodings as facts.
func difference(got, want []byte) string {
	list := func(b []byte) string {
		facts, err := fact.All(testLog, 0, b)
		s := fmt.Sprint(err)
		for i := range facts {
			s += fmt.Sprintf("\n  %+v %+v", facts[i], facts[i].Object)
		}
		return s
	}
	return "got " + list(got) + "\nwant " + list(want)
}
