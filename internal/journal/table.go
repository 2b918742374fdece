package journal

import (
	"cmp"
	"errors"
	"slices"

	"github.com/bartleby-mq/bartleby/internal/place"
	"github.com/bartleby-mq/bartleby/internal/vfs"
)

// The table of a closed segment stands behind its last group: a directory of spans, then the entries in pages.
//
//	directory = checksum u32 (of nonce, what follows), zero u32, spans; zeros to the next sector
//	span      = log u32, count u32, first u64, ordinal of the first entry u64      sorted by log, first
//	page      = checksum u32 (of nonce, what follows), zero u32, entriesPerPage entries, the last page padded with zeros
//	entry     = position of the batch header u32, size of its data u32
const (
	directoryHeaderBytes = 8
	spanBytes            = 24
	pageBytes            = sectorBytes
	pageHeaderBytes      = 8
	entryBytes           = 8
	entriesPerPage       = (pageBytes - pageHeaderBytes) / entryBytes
)

// errTable reports a directory that is damaged.
var errTable = errors.New("checksum mismatch in the table of batches")

// tableAt is where a table is; at zero: there is none.
type tableAt struct {
	at      int64
	spans   uint32
	entries uint64
}

func directoryBytes(spans int) int64 {
	return roundUp(directoryHeaderBytes+spanBytes*int64(spans), sectorBytes)
}

func tableBytes(spans int, entries uint64) int64 {
	return directoryBytes(spans) + int64((entries+entriesPerPage-1)/entriesPerPage)*pageBytes
}

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
	p := vfs.Aligned(int(tableBytes(len(spans), t.entries)))
	for i, sp := range spans {
		q := p[directoryHeaderBytes+i*spanBytes:]
		le.PutUint32(q[0:], uint32(sp.log))
		le.PutUint32(q[4:], sp.count)
		le.PutUint64(q[8:], uint64(sp.first))
		le.PutUint64(q[16:], sp.ordinal)
	}
	pages := p[directoryBytes(len(spans)):]
	le.PutUint32(p, checksum(s.seed, p[4:len(p)-len(pages)]))
	for _, sp := range spans {
		for i, e := range sp.entries {
			n := int(sp.ordinal) + i
			q := pages[n/entriesPerPage*pageBytes+pageHeaderBytes+n%entriesPerPage*entryBytes:]
			le.PutUint32(q[0:], e.pos)
			le.PutUint32(q[4:], e.size)
		}
	}
	for q := pages; len(q) > 0; q = q[pageBytes:] {
		le.PutUint32(q, checksum(s.seed, q[4:pageBytes]))
	}
	_, err := s.f.WriteAt(p, t.at)
	return t, err
}

// readDirectory fills in the spans of a segment with a table.
func (s *segment) readDirectory() error {
	p := make([]byte, directoryBytes(int(s.table.spans)))
	if _, err := s.f.ReadAt(p, s.table.at); err != nil {
		return err
	}
	if le.Uint32(p) != checksum(s.seed, p[4:]) {
		return errTable
	}
	s.spans = make([]*span, s.table.spans)
	for i := range s.spans {
		q := p[directoryHeaderBytes+i*spanBytes:]
		s.spans[i] = &span{
			seg: s, log: place.LogID(le.Uint32(q)), count: le.Uint32(q[4:]),
			first: place.Index(le.Uint64(q[8:])), ordinal: le.Uint64(q[16:]),
		}
	}
	s.batches = s.table.entries
	return nil
}

// lookup returns the entry of the batch, which must be in sp.
func (j *Journal) lookup(sp *span, index place.Index) (entry, error) {
	i := index - sp.first
	if sp.entries != nil {
		return sp.entries[i], nil
	}
	q, err := sp.page(make([]byte, pageBytes), index)
	if err != nil {
		return entry{}, err
	}
	return parseEntry(q), nil
}

// page reads the page of the table that has the entry of a batch into p, of pageBytes, and returns what it has from there
// on. The system's page cache is what bounds the memory of tables, and readers side by side share nothing else.
func (s *span) page(p []byte, index place.Index) ([]byte, error) {
	n := s.ordinal + uint64(index-s.first)
	at := s.seg.table.at + directoryBytes(int(s.seg.table.spans)) + int64(n/entriesPerPage)*pageBytes
	if _, err := s.seg.f.ReadAt(p, at); err != nil {
		return nil, s.seg.readError(err)
	}
	if le.Uint32(p) != checksum(s.seg.seed, p[4:]) {
		return nil, s.seg.fault(s.log, at, "checksum mismatch in the table of batches")
	}
	return p[pageHeaderBytes+n%entriesPerPage*entryBytes:], nil
}

func parseEntry(q []byte) entry { return entry{pos: le.Uint32(q), size: le.Uint32(q[4:])} }
