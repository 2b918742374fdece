package segment

import (
	"fmt"
	"io"
	"slices"

	"github.com/bartleby-mq/bartleby/internal/storage"
)

// Data returns the bytes at..at+n of the data of the batch at e, verified, in buf if that is large enough. R names the
// batch in errors.
func (s *File) Data(buf []byte, e Entry, r storage.Ref, at, n int) ([]byte, error) {
	first, last := at/ChunkBytes, (at+n+ChunkBytes-1)/ChunkBytes
	size := min(last*ChunkBytes, int(e.Size)) - first*ChunkBytes // of the data of those chunks
	if size <= 0 || n <= 0 {
		return nil, nil
	}
	pos := int64(e.Pos) + BatchHeaderBytes + int64(first)*(ChunkBytes+ChecksumBytes)
	raw := slices.Grow(buf[:0], size+(last-first)*ChecksumBytes)[:size+(last-first)*ChecksumBytes]
	if _, err := s.Disk.ReadAt(raw, pos); err != nil {
		return nil, s.ReadError(err)
	}
	data, bad := Unchunk(raw, size, s.Seed)
	if bad >= 0 {
		return nil, s.Fault(r.Log, pos+int64(bad), fmt.Sprintf("batch %d is damaged", r.Index))
	}
	at -= first * ChunkBytes
	return data[at : at+n : at+n], nil
}

// Unchunk verifies chunks with size bytes of data and moves the data together at the start of raw. Bad is the offset of
// the first damaged chunk, -1 if there is none.
func Unchunk(raw []byte, size int, seed uint32) (data []byte, bad int) {
	for from, to := 0, 0; to < size; {
		n := min(size-to, ChunkBytes)
		if le.Uint32(raw[from+n:]) != Checksum(seed, raw[from:from+n]) {
			return nil, from
		}
		copy(raw[to:], raw[from:from+n])
		from, to = from+n+ChecksumBytes, to+n
	}
	return raw[:size], -1
}

// A Hole is bytes of a batch's data that are lost, from From to before To: zeros stand there.
type Hole struct{ From, To int }

// DataWithHoles reads the data of the batch at e, zeros where it is damaged.
func (s *File) DataWithHoles(e Entry) (data []byte, holes []Hole, err error) {
	raw := make([]byte, BatchBytes(int(e.Size))-BatchHeaderBytes)
	n, err := s.Disk.ReadAt(raw, int64(e.Pos)+BatchHeaderBytes)
	if err != nil && err != io.EOF {
		return nil, nil, s.ReadError(err)
	}
	data = make([]byte, 0, e.Size)
	for at := 0; len(data) < int(e.Size); {
		k := min(int(e.Size)-len(data), ChunkBytes)
		from := len(data)
		if at+k+ChecksumBytes <= n && le.Uint32(raw[at+k:]) == Checksum(s.Seed, raw[at:at+k]) {
			data = append(data, raw[at:at+k]...)
		} else {
			data = append(data, make([]byte, k)...)
			if last := len(holes) - 1; last >= 0 && holes[last].To == from {
				holes[last].To += k
			} else {
				holes = append(holes, Hole{from, from + k})
			}
		}
		at += k + ChecksumBytes
	}
	return data, holes, nil
}

// Fault is damage to s at a position.
func (s *File) Fault(log storage.LogID, at int64, what string) *Fault {
	return &Fault{Log: log, File: s.Name(), Offset: at, What: what}
}

// ReadError is what the disk said, with the name of the file.
func (s *File) ReadError(err error) error { return fmt.Errorf("journal: %s: %w", s.Name(), err) }
