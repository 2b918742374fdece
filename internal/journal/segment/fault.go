package segment

import (
	"errors"
	"fmt"

	"github.com/bartleby-mq/bartleby/internal/storage"
)

var (
	// ErrGone reports a batch that the journal does not hold: never written, cut, reclaimed or of a dropped log.
	ErrGone = errors.New("journal: no such batch")
	// ErrDamaged is what errors are besides that say that files are damaged or missing: Look tells more, Mend may help.
	ErrDamaged = errors.New("journal: damaged")
)

// Fault is damage to what was known safe: bytes of a log that the disk has lost. It stops that log; the others go on.
type Fault struct {
	Log    storage.LogID
	File   string // in the journal's directory
	Offset int64  // in the file, of the first bad byte known
	What   string // in words, without names
}

func (f *Fault) Error() string {
	return fmt.Sprintf("journal: log %d: %s, offset %d: %s", f.Log, f.File, f.Offset, f.What)
}

// Is makes a Fault ErrDamaged.
func (f *Fault) Is(target error) bool { return target == ErrDamaged }
