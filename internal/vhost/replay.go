package vhost

import (
	"fmt"

	"github.com/bartleby-mq/bartleby/internal/deadline"
	"github.com/bartleby-mq/bartleby/internal/storage"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// ApplyBatch applies a batch of the vhost's log, made by this or an earlier version. An error says that the data is not
// what was written: the vhost must not be used then.
func (v *VHost) ApplyBatch(index storage.Index, batch []byte) error {
	err := v.applyFacts(index, batch)
	v.resolve()
	return err
}

// ApplyCheckpoint applies what EndCheckpoint has returned, before any batch. An error says what it says of ApplyBatch.
func (v *VHost) ApplyCheckpoint(state []byte) error {
	v.unresolved = true
	err := v.applyFacts(0, state)
	v.resolve()
	return err
}

// applyFacts applies the facts of a batch; index 0 is that of a checkpoint.
func (v *VHost) applyFacts(index storage.Index, batch []byte) error {
	r := fact.Decoder{Rest: batch}
	if format := r.Byte(); r.Err == nil && format != fact.FormatVersion {
		return fmt.Errorf("vhost %q: batch %d has format %d, this version reads %d", v.name, index, format, fact.FormatVersion)
	}
	v.logged = max(v.logged, deadline.Instant(r.Uint()))
	for len(r.Rest) > 0 && r.Err == nil {
		v.checkInterrupt()
		f, err := fact.Parse(&r, v.log, index)
		if err != nil {
			return fmt.Errorf("vhost %q: batch %d: %w", v.name, index, err)
		}
		if r.Err != nil {
			break
		}
		if f.Kind.ForCheckpoints() && index != 0 {
			return fmt.Errorf("vhost %q: batch %d: fact %d is for checkpoints", v.name, index, f.Kind)
		}
		if err := v.plausible(&f); err != nil {
			return fmt.Errorf("vhost %q: batch %d: %w", v.name, index, err)
		}
		if f.Queue != 0 && !f.Kind.Defines() {
			v.resolve()
		}
		v.apply(&f)
	}
	v.forgetOrphans()
	v.trim()
	if r.Err != nil {
		return fmt.Errorf("vhost %q: batch %d: %w", v.name, index, r.Err)
	}
	return nil
}

// InterruptBy has ask called while batches are applied, at least once for each name that policies are matched with. Its
// first error ends ApplyBatch with a storage.Fault, as one of a read does: the vhost must not be used then. With nil
// nothing is called any more.
func (v *VHost) InterruptBy(ask func() error) { v.interrupt = ask }

// checkInterrupt ends an ApplyBatch that was interrupted.
func (v *VHost) checkInterrupt() {
	if v.interrupt == nil {
		return
	}
	if err := v.interrupt(); err != nil {
		panic(storage.Fault{Err: err})
	}
}

// plausible reports why a fact cannot belong to the state that it is applied to.
func (v *VHost) plausible(f *fact.Fact) error {
	q := v.queueOf(f.Queue)
	switch f.Kind {
	case fact.QueueDeclared:
		_, taken := v.topo.Queue(f.Object.Name)
		if f.Object.Type == scheduleType {
			taken = v.schedules[f.Object.Name] != nil
		}
		if taken || q != nil {
			return fmt.Errorf("queue %d, %q, already exists", f.Queue, f.Object.Name)
		}
	case fact.Enqueued, fact.Skipped:
		if q != nil && !q.messages.Fits(f.Seq) {
			return fmt.Errorf("queue %d cannot have message %d", f.Queue, f.Seq)
		}
		if q != nil && q == v.lost && fact.Cause(f.Entry.Priority) >= fact.Causes { // there it stands in the place of the priority
			return fmt.Errorf("unknown cause %d", f.Entry.Priority)
		}
	case fact.TxStaged:
		return checkStep(f.Bytes)
	}
	return nil
}
