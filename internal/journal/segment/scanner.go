package segment

import (
	"cmp"
	"io"
)

// Scanner reads groups of a segment.
type Scanner struct {
	File *File
	Buf  []byte
	off  int64       // in the segment, of buf[0]
	n    int         // bytes in buf
	Head GroupHeader // that next found
	Last int64       // end of the last one that search found

	Short string // what is wrong with the file's size

	Group  GroupHeader // of the group last read
	Header bool        // g is sound
	Whole  bool        // so is all of the group
	Found  []Found     // its batches, up to the first one whose header is bad
	Seen   uint64      // batches before the next group, if nothing is missing
}

// Harm says what is wrong with bytes that were safe.
func (sc *Scanner) Harm() string {
	return cmp.Or(sc.Short, "checksum mismatch before the last safe position")
}

// Found is a batch; bad is the position of the first bad chunk, 0 if there is none.
type Found struct {
	Header BatchHeader
	Pos    int64
	Bad    int64
}

// Window returns n bytes at off, fewer at the end of the file.
func (sc *Scanner) Window(off int64, n int) ([]byte, error) {
	if off < sc.off || off+int64(n) > sc.off+int64(sc.n) {
		k, err := sc.File.Disk.ReadAt(sc.Buf, off)
		if err != nil && err != io.EOF {
			return nil, err
		}
		sc.off, sc.n = off, k
	}
	at := int(off - sc.off)
	return sc.Buf[at:min(at+n, sc.n)], nil
}

// Read reads the group at off.
func (sc *Scanner) Read(off int64) error {
	sc.Header, sc.Whole, sc.Found = false, false, sc.Found[:0]
	p, err := sc.Window(off, GroupHeaderBytes)
	if err != nil {
		return err
	}
	if !sc.Group.Parse(p, sc.File.Seed, off) || off+sc.Group.Size > sc.File.Size {
		return nil
	}
	sc.Header = true
	end := off + sc.Group.Size
	sound := true
	for pos := off + GroupHeaderBytes; pos < end; {
		b := Found{Pos: pos}
		if p, err = sc.Window(pos, BatchHeaderBytes); err != nil {
			return err
		}
		if !b.Header.Parse(p, sc.File.Seed) || pos+BatchBytes(int(b.Header.Size)) > end {
			return nil
		}
		if err := sc.chunks(&b); err != nil {
			return err
		}
		sound = sound && b.Bad == 0
		sc.Found = append(sc.Found, b)
		pos += BatchBytes(int(b.Header.Size))
	}
	sc.Whole = sound && len(sc.Found) == int(sc.Group.Count)
	return nil
}

// chunks verifies the data of a batch.
func (sc *Scanner) chunks(b *Found) error {
	pos := b.Pos + BatchHeaderBytes
	for left := int(b.Header.Size); left > 0; {
		n := min(left, ChunkBytes)
		p, err := sc.Window(pos, n+ChecksumBytes)
		if err != nil {
			return err
		}
		if len(p) < n+ChecksumBytes || le.Uint32(p[n:]) != Checksum(sc.File.Seed, p[:n]) {
			b.Bad = pos
			return nil
		}
		pos += int64(n) + ChecksumBytes
		left -= n
	}
	return nil
}

// Next returns the position of the first group header at or behind off, which is head then; 0 if there is none.
func (sc *Scanner) Next(off int64) (int64, error) {
	for ; off+GroupHeaderBytes <= sc.File.Size; off += SectorBytes {
		p, err := sc.Window(off, GroupHeaderBytes)
		if err != nil {
			return 0, err
		}
		if sc.Head.Parse(p, sc.File.Seed, off) {
			return off, nil
		}
	}
	return 0, nil
}

// Search returns the highest safe position that any group behind off records.
func (sc *Scanner) Search(off int64) (safe int64, err error) {
	for {
		at, err := sc.Next(off)
		if err != nil || at == 0 {
			return safe, err
		}
		safe = max(safe, sc.Head.Safe)
		sc.Last = max(sc.Last, at+sc.Head.Size)
		off = at + SectorBytes
	}
}

// Ours reports whether a batch of this segment's stands where the first of a group at off would: then its header was
// lost, not never written.
func (sc *Scanner) Ours(off int64) (bool, error) {
	p, err := sc.Window(off+GroupHeaderBytes, BatchHeaderBytes)
	if err != nil {
		return false, err
	}
	var h BatchHeader
	return h.Parse(p, sc.File.Seed), nil
}
