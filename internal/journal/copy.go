package journal

import (
	"fmt"

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
func (c *cursor) batch() (pieces []storage.Ref, from *span, begins bool) {
	for refs := c.w.refs; c.ref < len(refs); {
		first, r := c.ref, refs[c.ref]
		for c.ref < len(refs) && refs[c.ref].Log == r.Log && refs[c.ref].Index == r.Index {
			c.ref++
		}
		i, found := c.w.source(c.source, r.Log, r.Index)
		if c.source = i; found { // else its victim was left alone
			s := c.w.sources[i]
			begins, c.run = s.run != c.run, s.run
			return refs[first:c.ref], s.span, begins
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
	g := group{size: groupHeaderBytes}
	for g.size < groupBytes {
		pieces, _, begins := c.batch()
		if len(pieces) == 0 {
			break
		}
		if begins {
			g.spans++
		}
		g.count++
		n := partialBytes(pieces)
		g.size += batchBytes(int(n))
		g.data += int(n)
	}
	return g
}

// copier writes the new segment of a rewriting.
type copier struct {
	cursor
	out *segment
	buf []byte // of the writer
	raw []byte // of what is read
	gap int    // between pieces that are read at once
	at  []uint32
}

// newCopier begins the segment from its start: under another nonce than before, should it be the second try.
func newCopier(w *Rewriting) *copier {
	s := w.out
	*s = segment{id: s.id, file: s.file, f: s.f, size: s.size, rewritten: true, nonce: mix(s.nonce), end: segmentHeaderBytes}
	s.seed = seedOf(s.nonce)
	raw := make([]byte, ReadBytes(storage.Ref{Size: readBytes}))
	return &copier{cursor: cursor{w: w}, out: s, buf: vfs.Aligned(bufferBytes), raw: raw, gap: readGap}
}

// group copies a group and tells how many bytes of data; zero: there is none left. Bad is a victim that cannot be read,
// for the reason err.
func (c *copier) group() (n int, bad *segment, err error) {
	ahead := c.cursor
	g := ahead.group()
	if g.count == 0 {
		return 0, nil, nil
	}
	s := c.out
	if s.batches == 0 {
		if err := c.start(); err != nil {
			return 0, nil, err
		}
	}
	w := writer{s: s, buf: c.buf, at: s.end}
	h := groupHeader{at: s.end, size: g.size, before: s.batches, count: uint32(g.count)}
	h.put(w.next(groupHeaderBytes), s.seed)
	pos := s.end + groupHeaderBytes
	for range g.count {
		pieces, from, begins := c.batch()
		b := batchHeader{log: from.log, index: pieces[0].Index, size: uint32(partialBytes(pieces)), flags: flagPartial}
		if begins {
			b.flags |= flagBegins
		}
		b.put(w.next(batchHeaderBytes), s.seed)
		if err := c.pieces(&w, from, pieces, int(b.size)); err != nil {
			return 0, from.seg, c.w.unreadable(from.seg, err)
		}
		s.addPartial(b.log, b.index, entry{pos: uint32(pos), size: b.size}, begins)
		pos += batchBytes(int(b.size))
	}
	if err := w.finish(); err != nil {
		return 0, nil, err
	}
	c.w.written += w.at - s.end
	s.end = w.at
	return g.data, nil, nil
}

// start makes sure that the file has room for all of the new segment, and writes the header.
func (c *copier) start() error {
	size, err := c.out.f.Size()
	if err == nil && size < c.out.size {
		err = c.out.f.Allocate(0, c.out.size)
	}
	if err != nil {
		return err
	}
	clear(c.buf[:segmentHeaderBytes])
	putSegmentHeader(c.buf, c.out)
	_, err = c.out.f.WriteAt(c.buf[:segmentHeaderBytes], 0)
	return err
}

// pieces writes the data of a partial batch: the list of its pieces, then what they are. The error is of reading; of
// writing the writer keeps one.
func (c *copier) pieces(w *writer, from *span, pieces []storage.Ref, size int) error {
	out := stream{w: w, left: size}
	var p [8]byte
	le.PutUint32(p[:], uint32(len(pieces)))
	out.write(p[:])
	at := partialHeaderBytes + pieceBytes*len(pieces)
	for _, r := range pieces {
		le.PutUint32(p[:], r.Offset)
		le.PutUint32(p[4:], uint32(at))
		out.write(p[:])
		at += int(r.Size)
	}
	s := from.seg
	e, ok, err := from.lookup(pieces[0].Index)
	if err == nil && !ok {
		err = s.fault(from.log, 0, fmt.Sprintf("batch %d is needed but missing", pieces[0].Index))
	}
	if err != nil {
		return err
	}
	c.at = c.at[:0]
	for _, r := range pieces {
		at, err := s.piece(e, r)
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
			p, err := s.data(c.raw, e, pieces[i], from, min(readBytes, end-from))
			if err != nil {
				return err
			}
			for ; i < k; i++ {
				to := int(c.at[i]+pieces[i].Size) - from
				out.write(p[max(0, int(c.at[i])-from):min(to, len(p))])
				if to > len(p) {
					break
				}
			}
		}
	}
	return nil
}

// stream writes the data of a batch, of which it knows the size, in chunks with their checksums.
type stream struct {
	w     *writer
	left  int    // behind chunk
	chunk []byte // being filled, room for the checksum included
	n     int    // bytes in it
}

func (s *stream) write(p []byte) {
	for len(p) > 0 {
		if s.chunk == nil {
			n := min(s.left, chunkBytes)
			s.chunk, s.n = s.w.next(n+checksumBytes), 0
			s.left -= n
		}
		end := len(s.chunk) - checksumBytes
		n := copy(s.chunk[s.n:end], p)
		p = p[n:]
		if s.n += n; s.n == end {
			le.PutUint32(s.chunk[end:], checksum(s.w.s.seed, s.chunk[:end]))
			s.chunk = nil
		}
	}
}
