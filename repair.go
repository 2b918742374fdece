package bartleby

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/bartleby-mq/bartleby/internal/repair"
	"github.com/bartleby-mq/bartleby/internal/vfs"
)

// Report tells what is in a data directory, what of it is damaged, and what a repair does, or has done, about it.
type Report = repair.Report

// The states of a Report.
const (
	Sound    = repair.Sound
	Damaged  = repair.Damaged
	Repaired = repair.Repaired
)

// Check reads all of a data directory that no broker uses, and changes nothing. Damage is in the report; an error says
// why it could not look: a broker uses the directory, there is no journal in it, or a later version has written it.
func Check(data string) (*Report, error) {
	r, err := repair.Check(vfs.Dir(data))
	return r, about(data, err)
}

// Repair makes a data directory that is damaged one from which a broker starts, with all that can be saved; what was
// damaged is kept beside it. A crash leaves what there was, or what is repaired. Of a sound one nothing is changed.
// After an error the directory is what it was.
func Repair(data string) (*Report, error) {
	r, err := repair.Repair(vfs.Dir(data), rand.Uint64())
	return r, about(data, err)
}

// about says of which directory an error is.
func about(data string, err error) error {
	switch {
	case errors.Is(err, vfs.ErrLocked):
		return fmt.Errorf("data directory %s is in use by a broker: stop it first: %w", data, err)
	case errors.Is(err, vfs.ErrNotExist):
		return fmt.Errorf("%s is not the data directory of a broker: %w", data, err)
	case err != nil:
		return fmt.Errorf("data directory %s: %w", data, err)
	}
	return nil
}
