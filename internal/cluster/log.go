package cluster

import (
	"errors"
	"fmt"
	"slices"
	"sort"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"

	"github.com/bartleby-mq/bartleby/internal/storage"
)

// Batches are those of a replica's log that are on the disk.
type Batches interface {
	// ReadBatch returns a batch, verified. The result is the caller's.
	ReadBatch(i storage.Index) ([]byte, error)
}

// ErrGap is a log of which batches are missing that the machine has not.
var ErrGap = errors.New("batches of the log are missing")

// log is what Raft sees of a replica's log on the disk. The disk knows batches and their indexes; the terms are those
// that control batches say.
type log struct {
	batches Batches
	state   State
	config  *raftpb.ConfState // with which Raft begins
	base    storage.Index     // what is up to there cannot be read any more, and is settled; 0: nothing
	last    storage.Index
	runs    []run           // by their first batches; the first is that of base
	changes []storage.Index // of members, of those behind base
}

// run is a row of batches of one term.
type run struct {
	first storage.Index
	term  uint64
}

// openLog finds out the terms of the batches from first to last, which are on the disk. Of those before the first
// control batch that says a term, and before the machine's base, the terms are not known: they are given up.
func openLog(b Batches, s State, machine *Base, first, last storage.Index) (*log, error) {
	l := &log{batches: b, state: s, config: machine.Config.raft(), base: machine.At, last: machine.At}
	if first > machine.At+1 || last < machine.At {
		return nil, fmt.Errorf("%w: from %d to %d, the machine is at %d", ErrGap, first, last, machine.At)
	}
	l.runs = []run{{machine.At, machine.Term}}
	if first == 1 {
		l.base, l.last, l.runs = 0, 0, []run{{0, 0}}
	}
	for i := first; i <= last; i++ {
		batch, err := b.ReadBatch(i)
		if err != nil {
			return nil, err
		}
		term, kind, err := controlOf(batch)
		if err != nil {
			return nil, fmt.Errorf("batch %d: %w", i, err)
		}
		switch {
		case i > l.last: // it comes next
			before := l.term(l.last)
			if kind != termKind {
				term = before
			}
			if term < before {
				return nil, fmt.Errorf("batch %d: %w: term %d comes after term %d", i, ErrControl, term, before)
			}
			l.grow(i, term, kind == changeKind)
		case kind == termKind: // the machine has it, and so more of the log is known
			l.base, l.last, l.runs = i, i, []run{{i, term}}
		}
	}
	return l, nil
}

// grow takes note of a batch of a term, in the place of what was there and behind it. Changes: it changes the members.
func (l *log) grow(i storage.Index, term uint64, changes bool) {
	for n := len(l.changes); n > 0 && l.changes[n-1] >= i; n = len(l.changes) {
		l.changes = l.changes[:n-1]
	}
	if changes {
		l.changes = append(l.changes, i)
	}
	for n := len(l.runs); n > 1 && l.runs[n-1].first >= i; n = len(l.runs) {
		l.runs = l.runs[:n-1]
	}
	if l.runs[len(l.runs)-1].term != term {
		l.runs = append(l.runs, run{i, term})
	}
	l.last = i
}

// compact gives up what is up to a batch: it can be read no longer.
func (l *log) compact(to storage.Index) {
	if to <= l.base || to > l.last {
		return
	}
	term := l.term(to)
	n := sort.Search(len(l.runs), func(i int) bool { return l.runs[i].first > to })
	l.runs = slices.Insert(slices.Clone(l.runs[n:]), 0, run{to, term})
	l.base = to
	l.changes = slices.DeleteFunc(l.changes, func(i storage.Index) bool { return i <= to })
}

// changesIn reports whether a batch behind from, up to to, changes the members.
func (l *log) changesIn(from, to storage.Index) bool {
	return slices.ContainsFunc(l.changes, func(i storage.Index) bool { return from < i && i <= to })
}

// term is that of a batch from base to last.
func (l *log) term(i storage.Index) uint64 {
	n := sort.Search(len(l.runs), func(n int) bool { return l.runs[n].first > i })
	return l.runs[n-1].term
}

// InitialState implements raft.Storage.
func (l *log) InitialState() (*raftpb.HardState, *raftpb.ConfState, error) {
	return &raftpb.HardState{Term: &l.state.Term, Vote: &l.state.Vote, Commit: &l.state.Commit}, l.config, nil
}

// Entries implements raft.Storage.
func (l *log) Entries(lo, hi, maxSize uint64) (entries []*raftpb.Entry, err error) {
	switch {
	case lo <= uint64(l.base):
		return nil, raft.ErrCompacted
	case hi > uint64(l.last)+1:
		return nil, raft.ErrUnavailable
	}
	size := uint64(0)
	for i := lo; i < hi; i++ {
		batch, err := l.batches.ReadBatch(storage.Index(i))
		if err != nil {
			return nil, err
		}
		e, err := entryOf(l.term(storage.Index(i)), storage.Index(i), batch)
		if err != nil {
			return nil, err
		}
		if size += uint64(len(batch)); len(entries) > 0 && size > maxSize {
			break
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// Term implements raft.Storage.
func (l *log) Term(i uint64) (uint64, error) {
	switch {
	case i < uint64(l.base):
		return 0, raft.ErrCompacted
	case i > uint64(l.last):
		return 0, raft.ErrUnavailable
	}
	return l.term(storage.Index(i)), nil
}

// LastIndex implements raft.Storage.
func (l *log) LastIndex() (uint64, error) { return uint64(l.last), nil }

// FirstIndex implements raft.Storage.
func (l *log) FirstIndex() (uint64, error) { return uint64(l.base) + 1, nil }

// Snapshot implements raft.Storage: there are none yet.
func (l *log) Snapshot() (*raftpb.Snapshot, error) {
	return nil, raft.ErrSnapshotTemporarilyUnavailable
}
