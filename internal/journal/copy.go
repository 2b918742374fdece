package journal

import (
	"fmt"

	"github.com/bartleby-mq/bartleby/internal/journal/segment"
	"github.com/bartleby-mq/bartleby/internal/storage"
	"github.com/bartleby-mq/bartleby/internal/vfs"
)

const (
	groupBytes = 128 << 10 // of partial batches in a group, about: a step of a rewriting writes one at least
	readBytes  = 256 << 10 // of a read, at most
	readGap    = 8 << 10   // between pieces that are read at once
)

// cursor goes through the pieces to be copied, a batch at a time.
type cursor struct {
	w      *Rewriting
	ref    int // next one
	source int // that it is in, or behind it
	run    int // of the last batch
}

// batch returns the pieces of the next batch that a victim has, and whether it begins a span; none at the end.
func (c *cursor) batch() (pieces []storage.Ref, from *segment.Span, begins bool) {
	for refs := c.w.refs; c.ref < len(refs); {
		first, r := c.ref, refs[c.ref]
		for c.ref < len(refs) && refs[c.ref].Log == r.Log && refs[c.ref].Index == r.Index {
			c.ref++
		}
		i, found := c.w.source(c.source, r.Log, r.Index)
		if c.source = i; found { // else its victim was left alone
			s := c.w.sources[i]
			begins, c.run = s.run != c.run, s.run
			return refs[first:c.ref], s.Span, begins
		}
	}
	return nil, nil, false
}

// group says what goes into one group: none at the end.
type group struct {
	count, spans int
	size         int64 // header included, padding not
	data         int   // bytes of pieces
}

// group steps over the next group.
func (c *cursor) group() group {
	g := group{size: segment.GroupHeaderBytes}
	for g.size < groupBytes {
		pieces, _, begins := c.batch()
		if len(pieces) == 0 {
			break
		}
		if begins {
			g.spans++
		}
		g.count++
		n := segment.PartialBytes(pieces)
		g.size += segment.BatchBytes(int(n))
		g.data += int(n)
	}
	return g
}

// copier writes the new segment of a rewriting.
type copier struct {
	cursor
	out *segment.File
	buf []byte // of the writer
	raw []byte // of what is read
	gap int    // between pieces that are read at once
	at  []uint32
}

// newCopier begins the segment from its start: under another nonce than before, should it be the second try.
func newCopier(w *Rewriting) *copier {
	s := &w.out.File
	*s = segment.File{
		ID: s.ID, Number: s.Number, Disk: s.Disk, Size: s.Size, Rewritten: true, Nonce: mix(s.Nonce),
		End: segment.HeaderBytes,
	}
	s.Seed = segment.SeedOf(s.Nonce)
	raw := make([]byte, ReadBytes(storage.Ref{Size: readBytes}))
	return &copier{cursor: cursor{w: w}, out: s, buf: vfs.Aligned(bufferBytes), raw: raw, gap: readGap}
}

// group copies a group and tells how many bytes of data; zero: there is none left. Bad is a victim that cannot be read,
// for the reason err.
func (c *copier) group() (n int, bad *segmentState, err error) {
	ahead := c.cursor
	g := ahead.group()
	if g.count == 0 {
		return 0, nil, nil
	}
	s := c.out
	if s.Batches == 0 {
		if err := c.start(); err != nil {
			return 0, nil, err
		}
	}
	w := segment.Writer{File: s, Buf: c.buf, At: s.End}
	h := segment.GroupHeader{At: s.End, Size: g.size, Before: s.Batches, Count: uint32(g.count)}
	h.Put(w.Next(segment.GroupHeaderBytes), s.Seed)
	pos := s.End + segment.GroupHeaderBytes
	for range g.count {
		pieces, from, begins := c.batch()
		size := uint32(segment.PartialBytes(pieces))
		b := segment.BatchHeader{Log: from.Log, Index: pieces[0].Index, Size: size, Flags: segment.FlagPartial}
		if begins {
			b.Flags |= segment.FlagBegins
		}
		b.Put(w.Next(segment.BatchHeaderBytes), s.Seed)
		if err := c.pieces(&w, from, pieces, int(b.Size)); err != nil {
			bad := c.w.victim(from.Seg)
			return 0, bad, c.w.unreadable(bad, err)
		}
		s.AddPartial(b.Log, b.Index, segment.Entry{Pos: uint32(pos), Size: b.Size}, begins)
		pos += segment.BatchBytes(int(b.Size))
	}
	if err := w.Finish(); err != nil {
		return 0, nil, err
	}
	c.w.written += w.At - s.End
	s.End = w.At
	return g.data, nil, nil
}

// start makes sure that the file has space for all of the new segment, and writes the header.
func (c *copier) start() error {
	size, err := c.out.Disk.Size()
	if err == nil && size < c.out.Size {
		err = c.out.Disk.Allocate(0, c.out.Size)
	}
	if err != nil {
		return err
	}
	clear(c.buf[:segment.HeaderBytes])
	segment.PutHeader(c.buf, c.out)
	_, err = c.out.Disk.WriteAt(c.buf[:segment.HeaderBytes], 0)
	return err
}

// pieces writes the data of a partial batch: the list of its pieces, then what they are. The error is of reading; of
// writing the writer keeps one.
func (c *copier) pieces(w *segment.Writer, from *segment.Span, pieces []storage.Ref, size int) error {
	out := segment.Stream{Writer: w, Left: size}
	var p [8]byte
	le.PutUint32(p[:], uint32(len(pieces)))
	out.Write(p[:])
	at := segment.PartialHeaderBytes + segment.PieceBytes*len(pieces)
	for _, r := range pieces {
		le.PutUint32(p[:], r.Offset)
		le.PutUint32(p[4:], uint32(at))
		out.Write(p[:])
		at += int(r.Size)
	}
	s := from.Seg
	e, ok, err := from.Lookup(pieces[0].Index)
	if err == nil && !ok {
		err = s.Fault(from.Log, 0, fmt.Sprintf("batch %d is needed but missing", pieces[0].Index))
	}
	if err != nil {
		return err
	}
	c.at = c.at[:0]
	for _, r := range pieces {
		at, err := s.Piece(e, r)
		if err != nil {
			return err
		}
		c.at = append(c.at, at)
	}
	for i := 0; i < len(pieces); {
		k, start, end := i+1, int(c.at[i]), int(c.at[i]+pieces[i].Size)
		for k < len(pieces) && int(c.at[k])-end <= c.gap && int(c.at[k]+pieces[k].Size)-start <= readBytes {
			end = int(c.at[k] + pieces[k].Size)
			k++
		}
		for from := start; from < end; from += readBytes { // more than one only of a piece that is larger
			p, err := s.Data(c.raw, e, pieces[i], from, min(readBytes, end-from))
			if err != nil {
				return err
			}
			for ; i < k; i++ {
				to := int(c.at[i]+pieces[i].Size) - from
				out.Write(p[max(0, int(c.at[i])-from):min(to, len(p))])
				if to > len(p) {
					break
				}
			}
		}
	}
	return nil
}
