package journal

import (
	"fmt"

	"github.com/bartleby-mq/bartleby/internal/journal/segment"
	"github.com/bartleby-mq/bartleby/internal/vfs"
)

const (
	// BatchBytesMax limits the data of one batch: positions in a segment are 32 bits wide, with space to spare.
	BatchBytesMax = 1 << 30
	// Overhead is the most that a batch costs beyond its data, in a segment of usual size: headers, checksums, padding,
	// its place in the table. Callers of Reserve add it for each batch.
	Overhead = 1 << 10

	segmentBytesDefault = 64 << 20  // so that reclaiming goes by small steps and rolling is rare
	reserveBytesDefault = 256 << 20 // what moves, settles and checkpoints may still take when the disk is full
	segmentBytesMin     = 64 << 10
	openFilesDefault    = 256     // of the thousand that a process may have where nobody asked for more
	bufferBytes         = 1 << 20 // of one write to the disk, and of one step of filling with zeros
)

// Options says how a journal is kept. The zero value, with Entropy, is right for production.
type Options struct {
	// Dir is the journal's directory in the file system; made if missing. Empty: "journal".
	Dir string
	// Entropy is 64 fresh random bits, other ones at each Open. They make the nonces of segments.
	Entropy uint64
	// SegmentBytes is the size of a segment file. Zero: 64 MiB. At least 64 KiB, rounded up to whole blocks.
	SegmentBytes int64
	// ReserveBytes is kept free in preallocated segments for what gives space back, and for what moves. It is no less
	// than what these need. Zero: 256 MiB; negative: none.
	ReserveBytes int64
	// InFlight is how many bytes may be on their way to Write when the caller learns that there is no space for more.
	InFlight int64
	// OpenFiles is how many files are open at a time, about: closed segments are opened when they are read. Zero: 256.
	OpenFiles int
}

func (o *Options) fill() error {
	if o.Dir == "" {
		o.Dir = "journal"
	}
	if o.SegmentBytes == 0 {
		o.SegmentBytes = segmentBytesDefault
	}
	if o.SegmentBytes < segmentBytesMin || o.SegmentBytes > BatchBytesMax {
		return fmt.Errorf("journal: segment size of %d bytes: it must be from %d to %d", o.SegmentBytes, segmentBytesMin, BatchBytesMax)
	}
	o.SegmentBytes = segment.RoundUp(o.SegmentBytes, vfs.BlockBytes)
	if o.OpenFiles == 0 {
		o.OpenFiles = openFilesDefault
	}
	if o.ReserveBytes == 0 {
		o.ReserveBytes = reserveBytesDefault
	}
	return nil
}

// reserve is how many segments that wait to be written are not for Growing, at the least.
func (o *Options) reserve() int {
	return int(max(0, (o.ReserveBytes+o.SegmentBytes-1)/o.SegmentBytes))
}
