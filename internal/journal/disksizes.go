package journal

// Sizes are how much of a disk a journal takes for itself, in bytes, where nobody says otherwise.
type Sizes struct {
	Segment    int64 // of a file of the log
	Reserve    int64 // kept for Draining
	Checkpoint int64 // that the log grows between checkpoints: before one, nothing is given back
}

// The shares of a disk, and between which bounds they apply. A broker that rests has the reserve, and at the most six
// segments more: together at most a fifth of the disk.
const (
	segmentShare, segmentBytesLeast       = 128, 2 << 20
	reserveShare, reserveBytesLeast       = 16, 16 << 20
	checkpointShare, checkpointBytesLeast = 32, 4 << 20
	checkpointBytesMost                   = 64 << 20
)

// SizesFor returns the sizes for a disk of so many bytes; zero: not known, so a large one. Each is a power of two, so
// that the few per cent that a file system takes for itself do not count: a disk of 0.9 GB is one of 1 GiB.
func SizesFor(disk int64) Sizes {
	if disk <= 0 {
		return Sizes{segmentBytesDefault, reserveBytesDefault, checkpointBytesMost}
	}
	rounded := int64(1)
	for rounded < disk-disk/4 {
		rounded *= 2
	}
	return Sizes{
		Segment:    min(max(rounded/segmentShare, segmentBytesLeast), segmentBytesDefault),
		Reserve:    min(max(rounded/reserveShare, reserveBytesLeast), reserveBytesDefault),
		Checkpoint: min(max(rounded/checkpointShare, checkpointBytesLeast), checkpointBytesMost),
	}
}
