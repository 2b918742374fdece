package segment

import (
	"encoding/binary"
	"hash/crc32"
	"io"

	"github.com/bartleby-mq/bartleby/internal/storage"
	"github.com/bartleby-mq/bartleby/internal/vfs"
)

// The bytes of a segment; docs/format/journal.md draws them. All numbers are little-endian. Every checksum is a CRC32C
// that begins with the segment's nonce, so that nothing an earlier user of the file left behind can pass for new.
//
//	segment = header, zeros to HeaderBytes, groups, table
//	group   = group header, batches, zeros to the next sector
//	batch   = batch header, chunks
//	chunk   = up to ChunkBytes of data, checksum
const (
	FormatNumber = 2 // of what is written
	FormatCuts   = 3 // of a journal with batches that cut, which earlier versions of Bartleby must not open
	FormatOldest = 1 // that is read: it has no rewritten segments

	segmentMagic     = 0x47455342 // "BSEG"
	HeaderBytes      = vfs.BlockBytes
	groupMagic       = 0x50524742 // "BGRP"
	GroupHeaderBytes = 48
	BatchHeaderBytes = 24
	ChunkBytes       = 2 << 10
	ChecksumBytes    = 4
	SectorBytes      = vfs.SectorBytes
)

var (
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
	le         = binary.LittleEndian
)

// Checksum continues a CRC32C: of the nonce's seed, or of what came before.
func Checksum(seed uint32, p []byte) uint32 { return crc32.Update(seed, castagnoli, p) }

// SeedOf is what the checksums of a segment begin with.
func SeedOf(nonce uint64) uint32 {
	var p [8]byte
	le.PutUint64(p[:], nonce)
	return Checksum(0, p[:])
}

// RoundUp rounds n up to a multiple of unit.
func RoundUp(n, unit int64) int64 { return (n + unit - 1) / unit * unit }

// BatchBytes is what a batch with n bytes of data takes in a group.
func BatchBytes(n int) int64 {
	return BatchHeaderBytes + int64(n) + ChecksumBytes*chunks(n)
}

func chunks(n int) int64 { return (int64(n) + ChunkBytes - 1) / ChunkBytes }

// GroupHeader heads what one call of Write appended to one segment.
//
//	 0  magic    u32
//	 4  checksum u32  of nonce, bytes 8 to 48
//	 8  at       u64  position of this header in the segment
//	16  size     u64  of the group, this header included, padding not
//	24  safe     u64  position in this segment below which everything was known safe; 0: nothing
//	32  before   u64  batches in this segment before this group
//	40  count    u32  batches in this group
//	44  prior    u32  where the segment written before this one ended, in sectors: all of it was safe;
//	                  0: the manifest says
type GroupHeader struct {
	At, Size, Safe int64
	Before         uint64
	Count          uint32
	Prior          int64 // bytes
}

// Put writes the header to p.
func (g *GroupHeader) Put(p []byte, seed uint32) {
	le.PutUint32(p[0:], groupMagic)
	le.PutUint64(p[8:], uint64(g.At))
	le.PutUint64(p[16:], uint64(g.Size))
	le.PutUint64(p[24:], uint64(g.Safe))
	le.PutUint64(p[32:], g.Before)
	le.PutUint32(p[40:], g.Count)
	le.PutUint32(p[44:], uint32(g.Prior/SectorBytes))
	le.PutUint32(p[4:], Checksum(seed, p[8:GroupHeaderBytes]))
}

// Parse reports whether p begins with a group header of the segment with that seed, written for position at.
func (g *GroupHeader) Parse(p []byte, seed uint32, at int64) bool {
	if len(p) < GroupHeaderBytes || le.Uint32(p) != groupMagic || le.Uint64(p[8:]) != uint64(at) ||
		le.Uint32(p[4:]) != Checksum(seed, p[8:GroupHeaderBytes]) {
		return false
	}
	*g = GroupHeader{
		At: at, Size: int64(le.Uint64(p[16:])), Safe: int64(le.Uint64(p[24:])),
		Before: le.Uint64(p[32:]), Count: le.Uint32(p[40:]), Prior: int64(le.Uint32(p[44:])) * SectorBytes,
	}
	return g.Size >= GroupHeaderBytes
}

// BatchHeader heads a batch.
//
//	 0  checksum u32  of nonce, bytes 4 to 24
//	 4  size     u32  of the data
//	 8  log      u32
//	12  flags    u32
//	16  index    u64
type BatchHeader struct {
	Log   storage.LogID
	Index storage.Index
	Size  uint32
	Flags uint32
}

// FlagCuts marks a batch that replaces those of its log that stand before it in the journal, from its index on.
const FlagCuts = 4

// IsWhole reports whether it heads the batch of a log with that index and that many bytes, all of them.
func (b *BatchHeader) IsWhole(log storage.LogID, index storage.Index, size uint32) bool {
	return b.Log == log && b.Index == index && b.Size == size && b.Flags&^FlagCuts == 0
}

// Put writes the header to p.
func (b *BatchHeader) Put(p []byte, seed uint32) {
	le.PutUint32(p[4:], b.Size)
	le.PutUint32(p[8:], uint32(b.Log))
	le.PutUint32(p[12:], b.Flags)
	le.PutUint64(p[16:], uint64(b.Index))
	le.PutUint32(p[0:], Checksum(seed, p[4:BatchHeaderBytes]))
}

// Parse reports whether p begins with a batch header of the segment with that seed.
func (b *BatchHeader) Parse(p []byte, seed uint32) bool {
	if len(p) < BatchHeaderBytes || le.Uint32(p) != Checksum(seed, p[4:BatchHeaderBytes]) {
		return false
	}
	*b = BatchHeader{
		Log: storage.LogID(le.Uint32(p[8:])), Index: storage.Index(le.Uint64(p[16:])), Size: le.Uint32(p[4:]),
		Flags: le.Uint32(p[12:]),
	}
	return true
}

// PutHeader writes what names a segment to whoever finds the file: under another name, or without a manifest.
//
//	 0  magic    u32
//	 4  checksum u32  of nonce, bytes 8 to 40
//	 8  format   u32
//	12  flags    u32  1 if rewritten
//	16  nonce    u64
//	24  id       u64
//	32  size     u64  of the file
func PutHeader(p []byte, s *File) {
	le.PutUint32(p[0:], segmentMagic)
	le.PutUint32(p[8:], FormatNumber)
	le.PutUint32(p[12:], s.Flags())
	le.PutUint64(p[16:], s.Nonce)
	le.PutUint64(p[24:], s.ID)
	le.PutUint64(p[32:], uint64(s.Size))
	le.PutUint32(p[4:], Checksum(s.Seed, p[8:40]))
}

// Header is what a segment's file says of itself.
type Header struct {
	ID, Nonce uint64
	Size      int64
	Rewritten bool
}

// ReadHeader reads the header of a segment; nil if there is none, or it is damaged.
func ReadHeader(f io.ReaderAt) (*Header, error) {
	p := make([]byte, 40)
	if n, err := f.ReadAt(p, 0); err != nil && err != io.EOF {
		return nil, err
	} else if n < len(p) || le.Uint32(p) != segmentMagic {
		return nil, nil
	}
	h := &Header{
		Nonce: le.Uint64(p[16:]), ID: le.Uint64(p[24:]), Size: int64(le.Uint64(p[32:])),
		Rewritten: le.Uint32(p[12:])&FlagRewritten != 0,
	}
	n := le.Uint32(p[8:])
	if le.Uint32(p[4:]) != Checksum(SeedOf(h.Nonce), p[8:40]) || n < FormatOldest || n > FormatNumber {
		return nil, nil
	}
	return h, nil
}

// Names reports whether h is the header of s.
func (h *Header) Names(s *File) bool { return h != nil && h.ID == s.ID && h.Nonce == s.Nonce }

// FlagRewritten marks a rewritten segment, in its header and in the manifest.
const FlagRewritten = 1

// Flags are of the header.
func (s *File) Flags() uint32 {
	if s.Rewritten {
		return FlagRewritten
	}
	return 0
}
