package segment

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
	PageBytes            = SectorBytes
	pageHeaderBytes      = 8
	EntryBytes           = 8
	EntriesPerPage       = (PageBytes - pageHeaderBytes) / EntryBytes
	fenceBytes           = 8
	fencesMax            = 512 // of a segment: they are in memory
)

// Shape is how large the parts of a table are.
type Shape struct{ span, entry int }

var (
	plainShape     = Shape{span: 24, entry: EntryBytes}
	RewrittenShape = Shape{span: 32, entry: 16}
)

// Shape is that of the table of s.
func (s *File) Shape() Shape {
	if s.Rewritten {
		return RewrittenShape
	}
	return plainShape
}

// PerPage is how many entries a page has.
func (h Shape) PerPage() uint64 { return uint64((PageBytes - pageHeaderBytes) / h.entry) }

func (h Shape) pages(entries uint64) uint64 { return (entries + h.PerPage() - 1) / h.PerPage() }

// stride is how many pages there are for each fence; zero: there are no fences.
func (h Shape) stride(entries uint64) uint64 {
	if h == plainShape {
		return 0
	}
	return max(1, (h.pages(entries)+fencesMax-1)/fencesMax)
}

func (h Shape) fences(entries uint64) int {
	if stride := h.stride(entries); stride > 0 {
		return int((h.pages(entries) + stride - 1) / stride)
	}
	return 0
}

// Directory is how many bytes the directory of so many spans and entries has.
func (h Shape) Directory(spans int, entries uint64) int64 {
	return RoundUp(int64(directoryHeaderBytes+h.span*spans+fenceBytes*h.fences(entries)), SectorBytes)
}

// Bytes is how many bytes a table has.
func (h Shape) Bytes(spans int, entries uint64) int64 {
	return h.Directory(spans, entries) + int64(h.pages(entries))*PageBytes
}

// ErrTable reports a directory that is damaged.
var ErrTable = errors.New("checksum mismatch in the table of batches")

// TableAt is where a table is; at zero: there is none.
type TableAt struct {
	At      int64
	Spans   uint32
	Entries uint64
}

// PlainTableBytes is how many bytes the table of a segment has that is not rewritten.
func PlainTableBytes(spans int, entries uint64) int64 { return plainShape.Bytes(spans, entries) }

// WriteTable writes the table of these spans of s behind its last group, without syncing it.
func (s *File) WriteTable(spans []*Span) (TableAt, error) {
	spans = slices.Clone(spans)
	slices.SortFunc(spans, func(a, b *Span) int {
		return cmp.Or(cmp.Compare(a.Log, b.Log), cmp.Compare(a.First, b.First))
	})
	t := TableAt{At: s.End, Spans: uint32(len(spans))}
	for _, sp := range spans {
		sp.Ordinal = t.Entries
		t.Entries += uint64(sp.Count)
	}
	h := s.Shape()
	p := vfs.Aligned(int(h.Bytes(len(spans), t.Entries)))
	directory, pages := p[:h.Directory(len(spans), t.Entries)], p[h.Directory(len(spans), t.Entries):]
	for i, sp := range spans {
		sp.put(directory[directoryHeaderBytes+i*h.span:])
		for i := range sp.Entries {
			n := sp.Ordinal + uint64(i)
			sp.putEntry(pages[n/h.PerPage()*PageBytes+pageHeaderBytes+n%h.PerPage()*uint64(h.entry):], i)
		}
	}
	if s.Rewritten {
		s.fences = s.fences[:0]
		for n := uint64(0); n < h.pages(t.Entries); n += h.stride(t.Entries) {
			fence := le.Uint64(pages[n*PageBytes+pageHeaderBytes:])
			le.PutUint64(directory[directoryHeaderBytes+h.span*len(spans)+fenceBytes*len(s.fences):], fence)
			s.fences = append(s.fences, storage.Index(fence))
		}
	}
	le.PutUint32(directory, Checksum(s.Seed, directory[4:]))
	for q := pages; len(q) > 0; q = q[PageBytes:] {
		le.PutUint32(q, Checksum(s.Seed, q[4:PageBytes]))
	}
	_, err := s.Disk.WriteAt(p, t.At)
	return t, err
}

// put renders the span for a directory.
func (s *Span) put(q []byte) {
	le.PutUint32(q[0:], uint32(s.Log))
	le.PutUint32(q[4:], s.Count)
	le.PutUint64(q[8:], uint64(s.First))
	le.PutUint64(q[16:], s.Ordinal)
	if s.Seg.Rewritten {
		le.PutUint64(q[24:], uint64(s.through))
	}
}

// putEntry renders the i-th entry for a page.
func (s *Span) putEntry(q []byte, i int) {
	if s.Seg.Rewritten {
		le.PutUint64(q, uint64(s.Indexes[i]))
		q = q[8:]
	}
	le.PutUint32(q[0:], s.Entries[i].Pos)
	le.PutUint32(q[4:], s.Entries[i].Size)
}

// ReadDirectory fills in the spans of a segment with a table.
func (s *File) ReadDirectory() error {
	h := s.Shape()
	p := make([]byte, h.Directory(int(s.Table.Spans), s.Table.Entries))
	if _, err := s.Disk.ReadAt(p, s.Table.At); err == io.EOF {
		return ErrTable
	} else if err != nil {
		return err
	}
	if le.Uint32(p) != Checksum(s.Seed, p[4:]) {
		return ErrTable
	}
	s.Spans = make([]*Span, s.Table.Spans)
	q := p[directoryHeaderBytes:]
	for i := range s.Spans {
		sp := &Span{
			Seg: s, Log: storage.LogID(le.Uint32(q)), Count: le.Uint32(q[4:]),
			First: storage.Index(le.Uint64(q[8:])), Ordinal: le.Uint64(q[16:]),
		}
		if s.Rewritten {
			sp.through = storage.Index(le.Uint64(q[24:]))
		}
		s.Spans[i], q = sp, q[h.span:]
	}
	s.dropVoid()
	for range h.fences(s.Table.Entries) {
		s.fences, q = append(s.fences, storage.Index(le.Uint64(q))), q[fenceBytes:]
	}
	s.Batches = s.Table.Entries
	return nil
}

// dropVoid leaves out of the spans what does not count.
func (s *File) dropVoid() {
	for i, sp := range s.Spans {
		if s.IsVoid(sp.Log, sp.Last()) {
			s.Spans[i] = sp.before(s.Void[sp.Log])
		}
	}
	s.Spans = slices.DeleteFunc(s.Spans, func(sp *Span) bool { return sp == nil })
}

// Lookup returns the entry of the batch; ok tells whether the span has it, which between its first and its last only
// one in a rewritten segment may not.
func (s *Span) Lookup(index storage.Index) (e Entry, ok bool, err error) {
	switch {
	case s.Seg.Rewritten:
		return s.search(index)
	case s.Entries != nil:
		return s.Entries[index-s.First], true, nil
	}
	q, err := s.Page(make([]byte, PageBytes), index)
	if err != nil {
		return Entry{}, false, err
	}
	return ParseEntry(q), true, nil
}

// Page reads the page of the table that has the entry of a batch into p, of pageBytes, and returns what it has from
// there on. The system's page cache is what bounds the memory of tables, and readers side by side share nothing else.
func (s *Span) Page(p []byte, index storage.Index) ([]byte, error) {
	n := s.Ordinal + uint64(index-s.First)
	if err := s.ReadPage(p, n/EntriesPerPage); err != nil {
		return nil, err
	}
	return p[pageHeaderBytes+n%EntriesPerPage*EntryBytes:], nil
}

// ReadPage reads and verifies page n of the table into p.
func (s *Span) ReadPage(p []byte, n uint64) error {
	t := &s.Seg.Table
	at := t.At + s.Seg.Shape().Directory(int(t.Spans), t.Entries) + int64(n)*PageBytes
	if _, err := s.Seg.Disk.ReadAt(p, at); err != nil {
		return s.Seg.ReadError(err)
	}
	if le.Uint32(p) != Checksum(s.Seg.Seed, p[4:]) {
		return s.Seg.Fault(s.Log, at, "checksum mismatch in the table of batches")
	}
	return nil
}

// ParseEntry reads an entry of a page.
func ParseEntry(q []byte) Entry { return Entry{Pos: le.Uint32(q), Size: le.Uint32(q[4:])} }

// search finds the entry of a batch in a rewritten segment.
func (s *Span) search(index storage.Index) (e Entry, ok bool, err error) {
	if s.Entries != nil {
		i, found := slices.BinarySearch(s.Indexes, index)
		if !found {
			return Entry{}, false, nil
		}
		return s.Entries[i], true, nil
	}
	p := make([]byte, PageBytes)
	n, err := s.Seek(p, index)
	if err != nil {
		return Entry{}, false, err
	}
	for at, e := range s.OfPage(p, n) {
		if at == index {
			return e, true, nil
		}
	}
	return Entry{}, false, nil
}

// Seek reads the page n of a rewritten segment's table into p that has the entry of a batch, if the span has it: the
// last that begins at or before it. It looks first between two fences, then between the pages there.
func (s *Span) Seek(p []byte, index storage.Index) (n uint64, err error) {
	h := s.Seg.Shape()
	low, high := s.Ordinal/h.PerPage(), (s.Ordinal+uint64(s.Count)-1)/h.PerPage() // pages
	stride := h.stride(s.Seg.Table.Entries)
	// Every page but the first begins with an entry of this span, and so has a fence of its own.
	from, to := low/stride+1, high/stride
	for from <= to {
		if mid := (from + to) / 2; s.Seg.fences[mid] <= index {
			low, from = mid*stride, mid+1
		} else {
			high, to = mid*stride-1, mid-1
		}
	}
	for low < high {
		mid := (low + high + 1) / 2
		if err := s.ReadPage(p, mid); err != nil {
			return 0, err
		}
		if storage.Index(le.Uint64(p[pageHeaderBytes:])) <= index {
			low = mid
		} else {
			high = mid - 1
		}
	}
	return low, s.ReadPage(p, low)
}

// OfPage yields the batches of the span, and where they are, that page n of a rewritten segment's table has, which is
// in p.
func (s *Span) OfPage(p []byte, n uint64) iter.Seq2[storage.Index, Entry] {
	return func(yield func(storage.Index, Entry) bool) {
		h := s.Seg.Shape()
		for k := max(s.Ordinal, n*h.PerPage()); k < min(s.Ordinal+uint64(s.Count), (n+1)*h.PerPage()); k++ {
			q := p[pageHeaderBytes+k%h.PerPage()*uint64(h.entry):]
			if !yield(storage.Index(le.Uint64(q)), ParseEntry(q[8:])) {
				return
			}
		}
	}
}

// TableBytes is what the table of s takes.
func (s *File) TableBytes() int64 {
	if s.Table.At == 0 {
		return 0
	}
	return s.Shape().Bytes(int(s.Table.Spans), s.Table.Entries)
}

// Each calls fn for each batch of the span.
func (s *Span) Each(fn func(storage.Index, Entry) error) error {
	if s.Entries != nil || s.Count == 0 {
		for i, e := range s.Entries {
			index := s.First + storage.Index(i)
			if s.Seg.Rewritten {
				index = s.Indexes[i]
			}
			if err := fn(index, e); err != nil {
				return err
			}
		}
		return nil
	}
	h := s.Seg.Shape()
	p := make([]byte, PageBytes)
	for i, read := uint64(0), false; i < uint64(s.Count); i++ {
		n := s.Ordinal + i
		if !read || n%h.PerPage() == 0 {
			if err := s.ReadPage(p, n/h.PerPage()); err != nil {
				return err
			}
			read = true
		}
		q := p[pageHeaderBytes+n%h.PerPage()*uint64(h.entry):]
		index := s.First + storage.Index(i)
		if s.Seg.Rewritten {
			index, q = storage.Index(le.Uint64(q)), q[8:]
		}
		if err := fn(index, ParseEntry(q)); err != nil {
			return err
		}
	}
	return nil
}
