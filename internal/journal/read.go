package journal

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/bartleby-mq/bartleby/internal/journal/segment"
	"github.com/bartleby-mq/bartleby/internal/storage"
)

// ReadBatch returns the data of a batch, verified, in buf if it is large enough. Errors: ErrGone, also for a batch of
// which only pieces were kept (Rewriting), a *Fault, or what the disk said.
func (j *Journal) ReadBatch(buf []byte, log storage.LogID, index storage.Index) ([]byte, error) {
	sp, e, err := j.locate(log, index)
	if err != nil {
		return nil, err
	}
	if sp.Seg.Rewritten {
		return nil, fmt.Errorf("%w: log %d, index %d is only partly stored", ErrGone, log, index)
	}
	n := int(segment.BatchBytes(int(e.Size)))
	raw := slices.Grow(buf[:0], n)[:n]
	if _, err := sp.Seg.Disk.ReadAt(raw, int64(e.Pos)); err != nil {
		return nil, sp.Seg.ReadError(err)
	}
	var h segment.BatchHeader
	if !h.Parse(raw, sp.Seg.Seed) || !h.IsWhole(log, index, e.Size) {
		return nil, sp.Seg.Fault(log, int64(e.Pos), fmt.Sprintf("batch %d is damaged", index))
	}
	data, bad := segment.Unchunk(raw[segment.BatchHeaderBytes:], int(e.Size), sp.Seg.Seed)
	if bad >= 0 {
		return nil, sp.Seg.Fault(log, int64(e.Pos)+segment.BatchHeaderBytes+int64(bad), fmt.Sprintf("batch %d is damaged", index))
	}
	copy(raw, data)
	return raw[:len(data)], nil
}

// ReadAt reads the bytes that r names into p, which has space for r.Size of them. Only the chunks that hold them are
// read and verified. Errors: ErrGone, also for what was not kept when its segment was rewritten, a *Fault, or what the
// disk said.
func (j *Journal) ReadAt(p []byte, r storage.Ref) (int, error) {
	if len(p) < int(r.Size) {
		return 0, fmt.Errorf("journal: log %d, index %d: %d bytes into %d: %w", r.Log, r.Index, r.Size, len(p), io.ErrShortBuffer)
	}
	data, err := j.Read(nil, r)
	return copy(p, data), err
}

// A Hint remembers where a batch was found, so that finding it again costs no look into a table. One reader at a time
// has it. It is never wrong: a batch that has moved, or is gone, is looked up anew.
type Hint struct {
	sp    *segment.Span
	index storage.Index
	e     segment.Entry
}

// Read returns the bytes that r names, in buf if that is large enough: ReadBytes tells. Otherwise it is like ReadAt.
func (j *Journal) Read(buf []byte, r storage.Ref) ([]byte, error) { return j.ReadBy(new(Hint), buf, r) }

// ReadBy is Read with a hint, which is of the batch of r afterwards.
func (j *Journal) ReadBy(hint *Hint, buf []byte, r storage.Ref) ([]byte, error) {
	sp, err := j.spanOf(r.Log, r.Index)
	if err != nil {
		return nil, err
	}
	if sp != hint.sp || r.Index != hint.index { // a span says the same of a batch for as long as it is the one that has it
		_, e, err := j.locate(r.Log, r.Index)
		if err != nil {
			return nil, err
		}
		*hint = Hint{sp, r.Index, e}
	}
	at, err := sp.Seg.Piece(hint.e, r)
	if err != nil {
		return nil, err
	}
	return sp.Seg.Data(buf, hint.e, r, int(at), int(r.Size))
}

// ReadBytes is the space that Read needs for r, but where a segment was rewritten.
func ReadBytes(r storage.Ref) int {
	first, last := int(r.Offset)/segment.ChunkBytes, (int(r.Offset)+int(r.Size)+segment.ChunkBytes-1)/segment.ChunkBytes
	return (last - first) * (segment.ChunkBytes + segment.ChecksumBytes)
}

// locate finds a batch.
func (j *Journal) locate(log storage.LogID, index storage.Index) (*segment.Span, segment.Entry, error) {
	sp, err := j.spanOf(log, index)
	if err != nil {
		return nil, segment.Entry{}, err
	}
	e, ok, err := sp.Lookup(index)
	if err == nil && !ok {
		err = j.gone(log, index)
	}
	return sp, e, err
}

// spanOf finds the span that holds a batch.
func (j *Journal) spanOf(log storage.LogID, index storage.Index) (*segment.Span, error) {
	if l := j.logs[log]; l != nil {
		if sp := l.find(index); sp != nil {
			return sp, nil
		}
	}
	return nil, j.gone(log, index)
}

// spanFrom finds the span that holds a batch or, if that was not kept, the first one behind it.
func (j *Journal) spanFrom(log storage.LogID, index storage.Index) (*segment.Span, error) {
	if l := j.logs[log]; l != nil {
		i, _ := slices.BinarySearchFunc(l.spans, index, func(s *segment.Span, at storage.Index) int { return cmp.Compare(s.Last(), at) })
		if i < len(l.spans) {
			return l.spans[i], nil
		}
	}
	return nil, j.gone(log, index)
}

// gone is what a reader is told of a batch that is not there: if Open found damage, it may have been there.
func (j *Journal) gone(log storage.LogID, index storage.Index) error {
	if d := j.damage; d != nil {
		return &Fault{Log: log, File: d.File, Offset: d.Offset, What: fmt.Sprintf("batch %d is missing; it may have been here", index)}
	}
	return fmt.Errorf("%w: log %d, index %d", ErrGone, log, index)
}

// Replay hands over the batches of log after its newest checkpoint, in order; each is lent until fn returns. It stops
// at the first error of fn. A log with a fault is refused before its first batch.
func (j *Journal) Replay(log storage.LogID, fn func(index storage.Index, data []byte) error) error {
	l := j.logs[log]
	if l == nil {
		return nil
	}
	if l.fault != nil {
		return l.fault
	}
	var buf []byte
	for index := l.checkpoint.at + 1; index < l.next; index++ {
		data, err := j.ReadBatch(buf, log, index)
		if err != nil {
			return err
		}
		if err := fn(index, data); err != nil {
			return err
		}
		buf = data
	}
	return nil
}
