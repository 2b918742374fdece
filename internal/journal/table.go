package journal

import (
	"cmp"
	"errors"
	"io"
	"iter"
	"slices"

	"github.com/bartleby-mq/bartleby/internal/storage"
	"github.com/bartleby-mq/bartleby/internal/vfs"
)

// The table of a closed segment stands behind its last group: a directory of spans, then the entries in pages. That of
// a rewritten segment says of each entry which batch it is of, for spans have holes there, and begins with fences: the
// first index of every so many pages, so that a search reads few.
//
//	directory = checksum u32 (of nonce, what follows), zero u32, spans, fences; zeros to the next sector
//	span      = log u32, count u32, first u64, ordinal of the first entry u64      sorted by log, first
//	            in a rewritten segment also: last u64
//	fence     = index u64
//	page      = checksum u32 (of nonce, what follows), zero u32, entries, as many as fit; zeros
//	entry     = position of the batch header u32, size of its data u32
//	            in a rewritten segment: index u64, position u32, size u32
const (
	directoryHeaderBytes = 8
	pageBytes            = sectorBytes
	pageHeaderBytes      = 8
	entryBytes           = 8
	entriesPerPage       = (pageBytes - pageHeaderBytes) / entryBytes
	fenceBytes           = 8
	fencesMax            = 512 // of a segment: they are in memory
)

// shape is how large the parts of a table are.
type shape struct{ span, entry int }

var (
	plainShape     = shape{span: 24, entry: entryBytes}
	rewrittenShape = shape{span: 32, entry: 16}
)

func (s *segment) shape() shape {
	if s.rewritten {
		return rewrittenShape
	}
	return plainShape
}

func (h shape) perPage() uint64 { return uint64((pageBytes - pageHeaderBytes) / h.entry) }

func (h shape) pages(entries uint64) uint64 { return (entries + h.perPage() - 1) / h.perPage() }

// stride is how many pages there are for each fence; zero: there are no fences.
func (h shape) stride(entries uint64) uint64 {
	if h == plainShape {
		return 0
	}
	return max(1, (h.pages(entries)+fencesMax-1)/fencesMax)
}

func (h shape) fences(entries uint64) int {
	if stride := h.stride(entries); stride > 0 {
		return int((h.pages(entries) + stride - 1) / stride)
	}
	return 0
}

func (h shape) directory(spans int, entries uint64) int64 {
	return roundUp(int64(directoryHeaderBytes+h.span*spans+fenceBytes*h.fences(entries)), sectorBytes)
}

func (h shape) bytes(spans int, entries uint64) int64 {
	return h.directory(spans, entries) + int64(h.pages(entries))*pageBytes
}

// errTable reports a directory that is damaged.
var errTable = errors.New("checksum mismatch in the table of batches")

// tableAt is where a table is; at zero: there is none.
type tableAt struct {
	at      int64
	spans   uint32
	entries uint64
}

func tableBytes(spans int, entries uint64) int64 { return plainShape.bytes(spans, entries) }

// writeTable writes the table of s behind its last group, without syncing it.
func (s *segment) writeTable() (tableAt, error) {
	spans := slices.Clone(s.spans)
	slices.SortFunc(spans, func(a, b *span) int {
		return cmp.Or(cmp.Compare(a.log, b.log), cmp.Compare(a.first, b.first))
	})
	t := tableAt{at: s.end, spans: uint32(len(spans))}
	for _, sp := range spans {
		sp.ordinal = t.entries
		t.entries += uint64(sp.count)
	}
	h := s.shape()
	p := vfs.Aligned(int(h.bytes(len(spans), t.entries)))
	directory, pages := p[:h.directory(len(spans), t.entries)], p[h.directory(len(spans), t.entries):]
	for i, sp := range spans {
		sp.put(directory[directoryHeaderBytes+i*h.span:])
		for i := range sp.entries {
			n := sp.ordinal + uint64(i)
			sp.putEntry(pages[n/h.perPage()*pageBytes+pageHeaderBytes+n%h.perPage()*uint64(h.entry):], i)
		}
	}
	if s.rewritten {
		s.fences = s.fences[:0]
		for n := uint64(0); n < h.pages(t.entries); n += h.stride(t.entries) {
			fence := le.Uint64(pages[n*pageBytes+pageHeaderBytes:])
			le.PutUint64(directory[directoryHeaderBytes+h.span*len(spans)+fenceBytes*len(s.fences):], fence)
			s.fences = append(s.fences, storage.Index(fence))
		}
	}
	le.PutUint32(directory, checksum(s.seed, directory[4:]))
	for q := pages; len(q) > 0; q = q[pageBytes:] {
		le.PutUint32(q, checksum(s.seed, q[4:pageBytes]))
	}
	_, err := s.f.WriteAt(p, t.at)
	return t, err
}

// put renders the span for a directory.
func (s *span) put(q []byte) {
	le.PutUint32(q[0:], uint32(s.log))
	le.PutUint32(q[4:], s.count)
	le.PutUint64(q[8:], uint64(s.first))
	le.PutUint64(q[16:], s.ordinal)
	if s.seg.rewritten {
		le.PutUint64(q[24:], uint64(s.through))
	}
}

// putEntry renders the i-th entry for a page.
func (s *span) putEntry(q []byte, i int) {
	if s.seg.rewritten {
		le.PutUint64(q, uint64(s.indexes[i]))
		q = q[8:]
	}
	le.PutUint32(q[0:], s.entries[i].pos)
	le.PutUint32(q[4:], s.entries[i].size)
}

// readDirectory fills in the spans of a segment with a table.
func (s *segment) readDirectory() error {
	h := s.shape()
	p := make([]byte, h.directory(int(s.table.spans), s.table.entries))
	if _, err := s.f.ReadAt(p, s.table.at); err == io.EOF {
		return errTable
	} else if err != nil {
		return err
	}
	if le.Uint32(p) != checksum(s.seed, p[4:]) {
		return errTable
	}
	s.spans = make([]*span, s.table.spans)
	q := p[directoryHeaderBytes:]
	for i := range s.spans {
		sp := &span{
			seg: s, log: storage.LogID(le.Uint32(q)), count: le.Uint32(q[4:]),
			first: storage.Index(le.Uint64(q[8:])), ordinal: le.Uint64(q[16:]),
		}
		if s.rewritten {
			sp.through = storage.Index(le.Uint64(q[24:]))
		}
		s.spans[i], q = sp, q[h.span:]
	}
	for range h.fences(s.table.entries) {
		s.fences, q = append(s.fences, storage.Index(le.Uint64(q))), q[fenceBytes:]
	}
	s.batches = s.table.entries
	return nil
}

// lookup returns the entry of the batch; ok tells whether the span has it, which between its first and its last only
// one in a rewritten segment may not.
func (s *span) lookup(index storage.Index) (e entry, ok bool, err error) {
	switch {
	case s.seg.rewritten:
		return s.search(index)
	case s.entries != nil:
		return s.entries[index-s.first], true, nil
	}
	q, err := s.page(make([]byte, pageBytes), index)
	if err != nil {
		return entry{}, false, err
	}
	return parseEntry(q), true, nil
}

// page reads the page of the table that has the entry of a batch into p, of pageBytes, and returns what it has from
// there on. The system's page cache is what bounds the memory of tables, and readers side by side share nothing else.
func (s *span) page(p []byte, index storage.Index) ([]byte, error) {
	n := s.ordinal + uint64(index-s.first)
	if err := s.readPage(p, n/entriesPerPage); err != nil {
		return nil, err
	}
	return p[pageHeaderBytes+n%entriesPerPage*entryBytes:], nil
}

// readPage reads and verifies page n of the table into p.
func (s *span) readPage(p []byte, n uint64) error {
	t := &s.seg.table
	at := t.at + s.seg.shape().directory(int(t.spans), t.entries) + int64(n)*pageBytes
	if _, err := s.seg.f.ReadAt(p, at); err != nil {
		return s.seg.readError(err)
	}
	if le.Uint32(p) != checksum(s.seg.seed, p[4:]) {
		return s.seg.fault(s.log, at, "checksum mismatch in the table of batches")
	}
	return nil
}

func parseEntry(q []byte) entry { return entry{pos: le.Uint32(q), size: le.Uint32(q[4:])} }

// search finds the entry of a batch in a rewritten segment.
func (s *span) search(index storage.Index) (e entry, ok bool, err error) {
	if s.entries != nil {
		i, found := slices.BinarySearch(s.indexes, index)
		if !found {
			return entry{}, false, nil
		}
		return s.entries[i], true, nil
	}
	p := make([]byte, pageBytes)
	n, err := s.seek(p, index)
	if err != nil {
		return entry{}, false, err
	}
	for at, e := range s.ofPage(p, n) {
		if at == index {
			return e, true, nil
		}
	}
	return entry{}, false, nil
}

// seek reads the page n of a rewritten segment's table into p that has the entry of a batch, if the span has it: the
// last that begins at or before it. It looks first between two fences, then between the pages there.
func (s *span) seek(p []byte, index storage.Index) (n uint64, err error) {
	h := s.seg.shape()
	low, high := s.ordinal/h.perPage(), (s.ordinal+uint64(s.count)-1)/h.perPage() // pages
	stride := h.stride(s.seg.table.entries)
	// Every page but the first begins with an entry of this span, and so has a fence of its own.
	from, to := low/stride+1, high/stride
	for from <= to {
		if mid := (from + to) / 2; s.seg.fences[mid] <= index {
			low, from = mid*stride, mid+1
		} else {
			high, to = mid*stride-1, mid-1
		}
	}
	for low < high {
		mid := (low + high + 1) / 2
		if err := s.readPage(p, mid); err != nil {
			return 0, err
		}
		if storage.Index(le.Uint64(p[pageHeaderBytes:])) <= index {
			low = mid
		} else {
			high = mid - 1
		}
	}
	return low, s.readPage(p, low)
}

// ofPage yields the batches of the span, and where they are, that page n of a rewritten segment's table has, which is
// in p.
func (s *span) ofPage(p []byte, n uint64) iter.Seq2[storage.Index, entry] {
	return func(yield func(storage.Index, entry) bool) {
		h := s.seg.shape()
		for k := max(s.ordinal, n*h.perPage()); k < min(s.ordinal+uint64(s.count), (n+1)*h.perPage()); k++ {
			q := p[pageHeaderBytes+k%h.perPage()*uint64(h.entry):]
			if !yield(storage.Index(le.Uint64(q)), parseEntry(q[8:])) {
				return
			}
		}
	}
}
