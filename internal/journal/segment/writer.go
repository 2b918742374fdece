package segment

import "github.com/bartleby-mq/bartleby/internal/storage"

// Writer assembles a group in the journal's buffer; what outgrows it is written in several pieces.
type Writer struct {
	File *File
	Buf  []byte // of bufferBytes
	n    int    // filled
	At   int64  // in the segment, of buf[0]
	err  error
}

// Next returns the next n bytes of the buffer, at most half of it, to be filled in.
func (w *Writer) Next(n int) []byte {
	if w.n+n > len(w.Buf) {
		w.flush(w.n / SectorBytes * SectorBytes)
	}
	p := w.Buf[w.n : w.n+n]
	w.n += n
	return p
}

// flush writes the first n bytes, whole sectors, and moves the rest to the front.
func (w *Writer) flush(n int) {
	if w.err == nil {
		_, w.err = w.File.Disk.WriteAt(w.Buf[:n], w.At)
	}
	copy(w.Buf, w.Buf[n:w.n])
	w.n -= n
	w.At += int64(n)
}

// Batch adds a batch with these flags: its header, then chunks with their checksums.
func (w *Writer) Batch(log storage.LogID, index storage.Index, data []byte, flags uint32) {
	h := BatchHeader{Log: log, Index: index, Size: uint32(len(data)), Flags: flags}
	h.Put(w.Next(BatchHeaderBytes), w.File.Seed)
	for len(data) > 0 {
		n := min(len(data), ChunkBytes)
		p := w.Next(n + ChecksumBytes)
		copy(p, data[:n])
		le.PutUint32(p[n:], Checksum(w.File.Seed, p[:n]))
		data = data[n:]
	}
}

// Finish pads the group to whole sectors and writes what is left of it.
func (w *Writer) Finish() error {
	end := int(RoundUp(int64(w.n), SectorBytes))
	clear(w.Buf[w.n:end])
	w.n = end
	w.flush(end)
	return w.err
}

// Stream writes the data of a batch, of which it knows the size, in chunks with their checksums.
type Stream struct {
	Writer *Writer
	Left   int    // behind chunk
	chunk  []byte // being filled, space for the checksum included
	n      int    // bytes in it
}

// Write adds bytes of the data.
func (s *Stream) Write(p []byte) {
	for len(p) > 0 {
		if s.chunk == nil {
			n := min(s.Left, ChunkBytes)
			s.chunk, s.n = s.Writer.Next(n+ChecksumBytes), 0
			s.Left -= n
		}
		end := len(s.chunk) - ChecksumBytes
		n := copy(s.chunk[s.n:end], p)
		p = p[n:]
		if s.n += n; s.n == end {
			le.PutUint32(s.chunk[end:], Checksum(s.Writer.File.Seed, s.chunk[:end]))
			s.chunk = nil
		}
	}
}
