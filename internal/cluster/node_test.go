package cluster_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/bartleby-mq/bartleby/internal/cluster"
	"github.com/bartleby-mq/bartleby/internal/journal"
	"github.com/bartleby-mq/bartleby/internal/storage"
	"github.com/bartleby-mq/bartleby/internal/vfs"
)

// node is a process with its disk.
type node struct {
	w     *world
	id    cluster.NodeID
	self  cluster.MemberID
	gone  bool // it is no member any more, and does not run
	mem   *vfs.Mem
	disk  *vfs.Faulty
	rate  int64 // of its clock, in thousandths
	clock int64 // in microseconds
	epoch cluster.Session
	life  uint64

	journal *journal.Journal
	node    *cluster.Node
	group   *cluster.Group
	writes  []*cluster.Write
	applied map[storage.Index][]byte // of this life: from the checkpoint on
	base    cluster.Base             // of the newest checkpoint
	upTo    storage.Index
	leads   uint64 // term; 0: it does not
	paused  int64  // until then
	down    int64

	durable storage.Index // the last batch that is synced
	machine *machine      // nil: what is proposed means nothing
}

func (n *node) instant() cluster.Instant { return cluster.Instant(n.clock / 1000) }

// start opens what the disk has.
func (n *node) start() {
	for tries := 0; n.w.violation == nil; tries++ {
		n.disk.Before(nil)
		if !n.w.calm && tries < 3 && n.w.chance(4) {
			n.disk.FailFrom(n.disk.Calls()+1+n.w.dice.IntN(40), vfs.ErrCrashed)
		}
		err := n.open()
		if err == nil {
			n.disk.Before(nil)
			return
		}
		if !errors.Is(err, vfs.ErrCrashed) {
			n.w.violate("node %d cannot be started: %w", n.id, err)
			return
		}
		n.mem.Crash()
	}
}

func (n *node) open() error {
	n.life++
	o := journal.Options{Entropy: n.w.dice.Uint64(), SegmentBytes: 64 << 10, ReserveBytes: -1}
	j, report, err := journal.Open(n.disk, o)
	if err != nil {
		return err
	}
	if len(report.Faults) > 0 {
		return fmt.Errorf("damage: %v", report.Faults)
	}
	if err := j.AllowCuts(); err != nil {
		return err
	}
	n.base = cluster.Base{Config: n.w.config}
	at, state, err := j.LoadCheckpoint(group)
	if err == nil {
		if n.base, err = cluster.ReadBase(state); err != nil {
			return err
		}
		if n.base.At != at {
			return fmt.Errorf("the checkpoint is of batch %d and says %d", at, n.base.At)
		}
	} else if !errors.Is(err, journal.ErrNoCheckpoint) {
		return err
	}
	s := cluster.State{Self: n.self}
	if last := j.Next(group.State()) - 1; last > 0 {
		b, err := j.ReadBatch(nil, group.State(), last)
		if err != nil {
			return err
		}
		if s, err = cluster.ReadState(b); err != nil {
			return err
		}
	}
	if last := j.Next(group) - 1; last < n.durable {
		return fmt.Errorf("%d batches were durable, %d are there", n.durable, last)
	}
	n.durable = j.Next(group) - 1
	n.journal, n.writes, n.leads = j, nil, 0
	n.applied, n.upTo = map[storage.Index][]byte{}, n.base.At
	n.epoch++
	n.node = cluster.NewNode(n.id, cluster.UsualTiming, n.instant(), n.epoch<<32, n.w.dice.Uint64)
	if n.w.works {
		n.machine = newMachine(n)
		if err := n.machine.foldTo(n.base.At); err != nil {
			return err
		}
	}
	n.group, err = n.node.Open(group, n, s, n.base, 1, j.Next(group)-1)
	return err
}

// ReadBatch implements cluster.Batches.
func (n *node) ReadBatch(i storage.Index) ([]byte, error) { return n.journal.ReadBatch(nil, group, i) }

// crash ends the process, and what was not synced may be lost.
func (n *node) crash() {
	n.w.seen.crashes++
	n.leads = 0
	n.journal, n.node, n.group, n.machine = nil, nil, nil, nil
	n.mem.Crash()
	if n.down = n.w.now; n.w.chance(2) {
		n.down += n.w.dice.Int64N(3_000_000)
	}
}

// runs reports whether the process does anything now.
func (n *node) runs() bool { return n.node != nil && !n.gone && n.w.now >= n.paused }

// drive lets the node do what there is to do.
func (n *node) drive() {
	n.node.Pass(n.instant())
	out := n.node.Take()
	n.writes = append(n.writes, out.Writes...)
	for _, f := range out.Frames {
		n.w.send(f)
	}
	for i := range out.Events {
		n.event(&out.Events[i])
	}
	if err := n.group.Fault(); err != nil {
		n.w.violate("node %d: %w", n.id, err)
	}
}

func (n *node) event(e *cluster.Event) {
	w := n.w
	switch e.Kind {
	case cluster.Commits:
		if e.Index != n.upTo+1 {
			w.violate("node %d applies %d after %d", n.id, e.Index, n.upTo)
		}
		n.upTo = e.Index
		if n.machine != nil {
			n.machine.committed(e.Index, e.Batch)
		}
		n.applied[e.Index] = e.Batch
		if known, ok := w.ledger[e.Index]; ok && !bytes.Equal(known, e.Batch) {
			w.violate("node %d applies another batch %d than was committed: %x, %x", n.id, e.Index, e.Batch, known)
		} else if !ok {
			w.ledger[e.Index] = e.Batch
			w.most = max(w.most, e.Index)
			w.seen.committed++
		}
	case cluster.Leads:
		w.seen.leaders++
		n.leads = e.Term
		if e.Index != n.upTo+1 {
			w.violate("node %d decides from %d on, and has applied %d", n.id, e.Index, n.upTo)
		}
		if other, ok := w.leaders[e.Term]; ok && other != n.id {
			w.violate("nodes %d and %d lead term %d", other, n.id, e.Term)
		}
		w.leaders[e.Term] = n.id
		if n.machine != nil {
			n.machine.lead()
		}
	case cluster.Follows:
		n.leads = 0
		if n.machine != nil { // what it has decided may be lost
			n.machine = newMachine(n)
			if err := n.machine.foldTo(n.upTo); err != nil {
				w.violate("node %d: %w", n.id, err)
			}
		}
	}
}

// store makes some of what the node has to write durable.
func (n *node) store(most int) {
	k := min(len(n.writes), most)
	if k == 0 {
		return
	}
	if !n.w.calm && n.w.chance(30*n.w.mild) {
		n.disk.FailFrom(n.disk.Calls()+1+n.w.dice.IntN(6), vfs.ErrCrashed)
	}
	err := n.write(n.writes[:k])
	n.disk.Before(nil)
	if err != nil {
		if !errors.Is(err, vfs.ErrCrashed) && !errors.Is(err, journal.ErrFailed) {
			n.w.violate("node %d: %w", n.id, err)
		}
		n.crash()
		return
	}
	done := n.writes[:k]
	n.writes = slices.Clone(n.writes[k:])
	n.node.Pass(n.instant())
	for _, w := range done {
		n.node.Stored(w)
	}
	n.drive()
}

// write writes and syncs as one group.
func (n *node) write(writes []*cluster.Write) error {
	var batches []journal.Batch
	state := n.journal.Next(group.State())
	size := 0
	for _, w := range writes {
		if w.State != nil {
			batches = append(batches, journal.Batch{Log: group.State(), Index: state, Data: w.State.Append(nil)})
			state++
		}
		for i, b := range w.Batches {
			at := w.First + storage.Index(i)
			batches = append(batches, journal.Batch{Log: group, Index: at, Data: b, Cuts: w.Cuts && i == 0})
			size += len(b)
		}
		if w.Cuts {
			n.w.seen.cuts++
		}
	}
	if len(batches) == 0 {
		return nil
	}
	if err := n.journal.Reserve(size+len(batches)*journal.Overhead, journal.Committed); err != nil {
		return err
	}
	for _, w := range writes {
		if w.Cuts {
			n.durable = min(n.durable, w.First-1)
		}
	}
	if err := n.journal.Write(batches); err != nil {
		return err
	}
	if err := n.journal.Sync(); err != nil {
		return err
	}
	n.durable = n.journal.Next(group) - 1
	return nil
}

// checkpoint saves what the node has applied, and lets the log forget what all nodes have.
func (n *node) checkpoint() {
	w := n.w
	base := n.group.BaseAt()
	if base.At <= n.base.At {
		return
	}
	w.seen.checkpoints++
	states := []journal.State{{Log: group, At: base.At, Pieces: [][]byte{base.Append(nil)}}}
	if err := n.journal.MarkSafe(); err != nil {
		n.failed(err)
		return
	}
	for _, err := range n.journal.Checkpoints(states) {
		if err != nil {
			n.failed(err)
			return
		}
	}
	n.base = base
	least := base.At
	if w.changes {
		return // who is new needs all
	}
	for _, o := range w.nodes {
		least = min(least, o.base.At)
	}
	n.group.Compact(least)
}

func (n *node) failed(err error) {
	if !errors.Is(err, vfs.ErrCrashed) && !errors.Is(err, journal.ErrFailed) {
		n.w.violate("node %d: %w", n.id, err)
	}
	n.crash()
}

// propose has a leader decide something.
func (n *node) propose() {
	n.drive()
	if n.node == nil || !n.group.Leads() {
		return
	}
	w := n.w
	for range 1 + w.dice.IntN(3) {
		if n.machine != nil {
			n.machine.work()
			continue
		}
		w.proposed++
		b := binary.AppendUvarint([]byte{1}, uint64(w.proposed))
		b = append(b, make([]byte, w.dice.IntN(400))...)
		next := n.group.Next()
		if err := n.group.Propose(b); err != nil {
			return
		}
		if n.group.Next() != next+1 {
			w.violate("node %d: a batch at %d, the next at %d", n.id, next, n.group.Next())
		}
	}
	n.drive()
}
