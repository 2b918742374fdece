package journal

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/bartleby-mq/bartleby/internal/storage"
	"github.com/bartleby-mq/bartleby/internal/vfs"
)

// The bytes of a segment; docs/format/journal.md draws them. All numbers are little-endian. Every checksum is a CRC32C
// that begins with the segment's nonce, so that nothing an earlier user of the file left behind can pass for new.
//
//	segment = header, zeros to segmentHeaderBytes, groups, table
//	group   = group header, batches, zeros to the next sector
//	batch   = batch header, chunks
//	chunk   = up to chunkBytes of data, checksum
const (
	formatNumber = 2 // of what is written
	formatOldest = 1 // that is read: it has no rewritten segments

	segmentMagic       = 0x47455342 // "BSEG"
	segmentHeaderBytes = vfs.BlockBytes
	groupMagic         = 0x50524742 // "BGRP"
	groupHeaderBytes   = 48
	batchHeaderBytes   = 24
	chunkBytes         = 2 << 10
	checksumBytes      = 4
	sectorBytes        = vfs.SectorBytes
)

var (
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
	le         = binary.LittleEndian
)

// checksum continues a CRC32C: of the nonce's seed, or of what came before.
func checksum(seed uint32, p []byte) uint32 { return crc32.Update(seed, castagnoli, p) }

func seedOf(nonce uint64) uint32 {
	var p [8]byte
	le.PutUint64(p[:], nonce)
	return checksum(0, p[:])
}

// roundUp rounds n up to a multiple of unit.
func roundUp(n, unit int64) int64 { return (n + unit - 1) / unit * unit }

// batchBytes is what a batch with n bytes of data takes in a group.
func batchBytes(n int) int64 {
	return batchHeaderBytes + int64(n) + checksumBytes*chunks(n)
}

func chunks(n int) int64 { return (int64(n) + chunkBytes - 1) / chunkBytes }

// groupHeader heads what one call of Write appended to one segment.
//
//	 0  magic    u32
//	 4  checksum u32  of nonce, bytes 8 to 48
//	 8  at       u64  position of this header in the segment
//	16  size     u64  of the group, this header included, padding not
//	24  safe     u64  position in this segment below which everything was known safe; 0: nothing
//	32  before   u64  batches in this segment before this group
//	40  count    u32  batches in this group
//	44  prior    u32  where the segment written before this one ended, in sectors: all of it was safe; 0: the manifest says
type groupHeader struct {
	at, size, safe int64
	before         uint64
	count          uint32
	prior          int64 // bytes
}

func (g *groupHeader) put(p []byte, seed uint32) {
	le.PutUint32(p[0:], groupMagic)
	le.PutUint64(p[8:], uint64(g.at))
	le.PutUint64(p[16:], uint64(g.size))
	le.PutUint64(p[24:], uint64(g.safe))
	le.PutUint64(p[32:], g.before)
	le.PutUint32(p[40:], g.count)
	le.PutUint32(p[44:], uint32(g.prior/sectorBytes))
	le.PutUint32(p[4:], checksum(seed, p[8:groupHeaderBytes]))
}

// parse reports whether p begins with a group header of the segment with that seed, written for position at.
func (g *groupHeader) parse(p []byte, seed uint32, at int64) bool {
	if len(p) < groupHeaderBytes || le.Uint32(p) != groupMagic || le.Uint64(p[8:]) != uint64(at) ||
		le.Uint32(p[4:]) != checksum(seed, p[8:groupHeaderBytes]) {
		return false
	}
	*g = groupHeader{
		at: at, size: int64(le.Uint64(p[16:])), safe: int64(le.Uint64(p[24:])),
		before: le.Uint64(p[32:]), count: le.Uint32(p[40:]), prior: int64(le.Uint32(p[44:])) * sectorBytes,
	}
	return g.size >= groupHeaderBytes
}

// batchHeader heads a batch.
//
//	 0  checksum u32  of nonce, bytes 4 to 24
//	 4  size     u32  of the data
//	 8  log      u32
//	12  flags    u32  of a partial batch; else zero
//	16  index    u64
type batchHeader struct {
	log   storage.LogID
	index storage.Index
	size  uint32
	flags uint32
}

func (b *batchHeader) put(p []byte, seed uint32) {
	le.PutUint32(p[4:], b.size)
	le.PutUint32(p[8:], uint32(b.log))
	le.PutUint32(p[12:], b.flags)
	le.PutUint64(p[16:], uint64(b.index))
	le.PutUint32(p[0:], checksum(seed, p[4:batchHeaderBytes]))
}

func (b *batchHeader) parse(p []byte, seed uint32) bool {
	if len(p) < batchHeaderBytes || le.Uint32(p) != checksum(seed, p[4:batchHeaderBytes]) {
		return false
	}
	*b = batchHeader{
		log: storage.LogID(le.Uint32(p[8:])), index: storage.Index(le.Uint64(p[16:])), size: le.Uint32(p[4:]), flags: le.Uint32(p[12:]),
	}
	return true
}

// putSegmentHeader writes what names a segment to whoever finds the file: under another name, or without a manifest.
//
//	 0  magic    u32
//	 4  checksum u32  of nonce, bytes 8 to 40
//	 8  format   u32
//	12  flags    u32  1 if rewritten
//	16  nonce    u64
//	24  id       u64
//	32  size     u64  of the file
func putSegmentHeader(p []byte, s *segment) {
	le.PutUint32(p[0:], segmentMagic)
	le.PutUint32(p[8:], formatNumber)
	le.PutUint32(p[12:], s.flags())
	le.PutUint64(p[16:], s.nonce)
	le.PutUint64(p[24:], s.id)
	le.PutUint64(p[32:], uint64(s.size))
	le.PutUint32(p[4:], checksum(s.seed, p[8:40]))
}
