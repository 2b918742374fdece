package journal

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/bartleby-mq/bartleby/internal/storage"
)

type modelLog struct {
	sizes      []int         // of the batches written, from index 1
	lives      []int         // of these, how many were there before with that index
	before     *modelLog     // a batch cut what this was, and is not safe; nil: none did
	safe       storage.Index // last one reported safe
	checkpoint storage.Index // last one that succeeded; a log of pages has none
	trying     storage.Index // one whose outcome is unknown; 0: none
	floor      storage.Index // batches above it are live
	pieces     []storage.Ref // these, too, of those below
	dropping   bool          // or dropped
	named      storage.Index // a log of pages: a checkpoint may name those up to here
}

// data is what a batch holds.
func (l *modelLog) data(log storage.LogID, i storage.Index) []byte {
	return data(log, i+storage.Index(l.lives[i-1])<<40, l.sizes[i-1])
}

// add notes a batch of n bytes, and returns it.
func (l *modelLog) add(log storage.LogID, n int, life int) Batch {
	l.sizes, l.lives = append(l.sizes, n), append(l.lives, life)
	i := storage.Index(len(l.sizes))
	return Batch{Log: log, Index: i, Data: l.data(log, i)}
}

// cut notes that the next batch takes the place of the one at i.
func (l *modelLog) cut(i storage.Index) {
	before := *l
	l.before = &before
	l.sizes, l.lives = slices.Clone(l.sizes[:i-1]), slices.Clone(l.lives[:i-1])
	l.safe = min(l.safe, i-1)
}

// mayCut returns the first batch that may be cut, what is needed of those before; 0: none.
func (l *modelLog) mayCut(log storage.LogID) storage.Index {
	first := max(l.checkpoint, l.trying, l.floor) + 1
	if log.IsPages() || l.before != nil || first > storage.Index(len(l.sizes)) {
		return 0
	}
	return first
}

// settle makes the batches up to floor dead, but for a few records, and some of the old ones.
func (l *modelLog) settle(log storage.LogID, floor storage.Index, dice *rand.Rand) {
	l.pieces = slices.DeleteFunc(l.pieces, func(storage.Ref) bool { return dice.IntN(8) == 0 })
	for l.floor < floor {
		l.floor++
		n := l.sizes[l.floor-1]
		for at := 0; at < n && dice.IntN(2) == 0; {
			size := min(n-at, 1+dice.IntN(1+n/4))
			if dice.IntN(4) == 0 {
				l.pieces = append(l.pieces, storage.Ref{Log: log, Index: l.floor, Offset: uint32(at), Size: uint32(size)})
			}
			at += size
		}
	}
}

// uncut makes the log what it was before a batch cut it, if that batch is not there.
func (l *modelLog) uncut(j *Journal, log storage.LogID) error {
	before, last := l.before, j.Next(log)-1
	if before == nil {
		return nil
	}
	same := int(last) <= len(before.sizes)
	kept := 0 // of the batches, before the cut
	for kept < min(len(l.lives), len(before.lives)) && l.lives[kept] == before.lives[kept] {
		kept++
	}
	for i := storage.Index(kept) + 1; i <= last && same; i++ {
		p, err := j.ReadBatch(nil, log, i)
		if err != nil {
			return err
		}
		same = bytes.Equal(p, before.data(log, i))
	}
	if l.before = nil; same {
		l.sizes, l.lives, l.safe = before.sizes, before.lives, min(before.safe, storage.Index(kept))
	}
	return nil
}

// checkRecords reads every record that is live.
func (l *modelLog) checkRecords(j *Journal, log storage.LogID) error {
	if l.dropping {
		return nil
	}
	refs := slices.Clone(l.pieces)
	for i := l.floor + 1; i <= l.safe; i++ {
		if n := l.sizes[i-1]; n > 0 {
			refs = append(refs, storage.Ref{Log: log, Index: i, Size: uint32(n)})
		}
	}
	for _, r := range refs {
		p := make([]byte, r.Size)
		if _, err := j.ReadAt(p, r); errors.Is(err, ErrGone) && log.IsPages() && r.Index > l.named {
			l.lose(refs, r) // nothing names it
			continue
		} else if err != nil {
			return fmt.Errorf("%+v: %w", r, err)
		}
		if !bytes.Equal(p, l.data(log, r.Index)[r.Offset:][:r.Size]) {
			return fmt.Errorf("%+v: other bytes than written", r)
		}
	}
	return nil
}

// checkBatches reads every batch that a checkpoint does not cover, twice: alone and by Replay.
func (l *modelLog) checkBatches(j *Journal, log storage.LogID) error {
	if log.IsPages() {
		return nil
	}
	last := storage.Index(len(l.sizes))
	for i := l.checkpoint + 1; i <= last; i++ {
		p, err := j.ReadBatch(nil, log, i)
		if err != nil {
			return err
		}
		if !bytes.Equal(p, l.data(log, i)) {
			return fmt.Errorf("log %d, index %d: other bytes than written", log, i)
		}
	}
	want := l.checkpoint + 1
	err := j.Replay(log, func(i storage.Index, p []byte) error {
		if i != want || !bytes.Equal(p, l.data(log, i)) {
			return fmt.Errorf("log %d: replay: index %d, want %d", log, i, want)
		}
		want++
		return nil
	})
	if err == nil && want != last+1 {
		err = fmt.Errorf("log %d: replay ended at %d, want %d", log, want-1, last)
	}
	return err
}
