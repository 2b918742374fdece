package journal

import (
	"errors"
	"fmt"

	"github.com/bartleby-mq/bartleby/internal/journal/segment"
)

var (
	// ErrNoSpace reports that there is no space on the disk. An alarm, not a fault: nothing has changed, and the same
	// call succeeds once there is space.
	ErrNoSpace = errors.New("journal: no space left")
	// ErrUnready reports that no segment is ready for a group. Nothing was written; call Reserve first.
	ErrUnready = errors.New("journal: no segment is ready")
	// ErrFailed is final: an earlier write or sync failed, and nothing past the last safe position is trusted. See
	// Recover.
	ErrFailed = errors.New("journal: an earlier write or sync failed")
	// ErrLooking reports a change of a journal that was opened by Look.
	ErrLooking = errors.New("journal: open for reading only")
	// ErrClosed reports a call after Close.
	ErrClosed = errors.New("journal: closed")
	// ErrDropped reports a write to a log that was dropped.
	ErrDropped = errors.New("journal: log was dropped")
	// ErrOrder reports a batch whose index is not the next of its log. Nothing was written.
	ErrOrder = errors.New("journal: batch out of order")
	// ErrTooLarge reports a batch of more than BatchBytesMax. Nothing was written.
	ErrTooLarge = errors.New("journal: batch too large")
	// ErrUnsafe reports a checkpoint that covers batches which are not safe yet. Nothing was written.
	ErrUnsafe = errors.New("journal: the batches of the checkpoint are not safe yet")
	// ErrNoCheckpoint reports that a log has none.
	ErrNoCheckpoint = errors.New("journal: log has no checkpoint")
)

// What the files of the log report is reported by the journal as it is.
type (
	// Fault is damage to what was known safe: bytes of a log that the disk has lost. It stops that log; the
	// others go on.
	Fault = segment.Fault
	// A Hole is bytes of a batch's data that are lost: zeros stand there.
	Hole = segment.Hole
)

var (
	// ErrGone reports a batch that the journal does not hold: never written, cut, reclaimed or of a dropped log.
	ErrGone = segment.ErrGone
	// ErrDamaged is what errors are besides that say that files are damaged or missing: Look tells more, Mend may help.
	ErrDamaged = segment.ErrDamaged
)

// damagedError is ErrDamaged, in the words of another error.
type damagedError struct{ error }

// Is makes it ErrDamaged.
func (d damagedError) Is(target error) bool { return target == ErrDamaged }

// Unwrap gives the other error.
func (d damagedError) Unwrap() error { return d.error }

// fail makes err final and returns it as the caller is to see it.
func (j *Journal) fail(err error) error {
	j.failed = fmt.Errorf("%w: %w", ErrFailed, err)
	return j.failed
}
