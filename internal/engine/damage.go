package engine

import (
	"errors"
	"time"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/journal"
)

// Remedy is what to do about damage, in words.
const Remedy = "stop the broker, then run 'bartleby check DATA' to list the damage and 'bartleby repair DATA' to repair it"

// Stops counts how often a vhost has stopped for damage, or could not be opened for it, since the engine was opened.
// One that has stopped is opened again, and stops again when what is damaged is wanted again.
type Stops struct {
	Count uint64
	At    time.Time // of the last
	Last  error     // why; nil: never
}

// errBatchSize stops a vhost that is not damaged.
var errBatchSize = errors.New("the batch is too large")

// isDamage tells why a vhost has stopped: what it has on the disk cannot be read, or makes no sense. Else it is in
// other words in trouble, of which repairing is no way out.
func isDamage(err error) bool {
	for _, other := range []error{errBatchSize, journal.ErrClosed, journal.ErrFailed, journal.ErrDropped, journal.ErrNoSpace} {
		if errors.Is(err, other) {
			return false
		}
	}
	return true
}

// stopped counts and logs that a vhost has stopped, or cannot be opened, and returns what its clients are told: what to
// do first, as they are not told more than fits.
func (e *Engine) stopped(name, what string, err error) *amqp.Error {
	if !isDamage(err) {
		e.slog.Error("vhost "+what, "vhost", name, "error", err)
		return amqp.InternalError("vhost '%s' %s: %v", name, what, err)
	}
	e.damage.Lock()
	s := e.damage.stops[name]
	s.Count, s.At, s.Last = s.Count+1, e.Now(), err
	e.damage.stops[name] = s
	e.damage.Unlock()
	e.slog.Error("vhost "+what, "vhost", name, "error", err, "stops", s.Count, "remedy", Remedy)
	return amqp.InternalError("vhost '%s' %s (%s): %v", name, what, Remedy, err)
}

// Stops tells how often a vhost has stopped for damage.
func (e *Engine) Stops(vhost string) Stops {
	e.damage.Lock()
	defer e.damage.Unlock()
	return e.damage.stops[vhost]
}

// forgetStops is for a vhost that is deleted: another of its name is sound.
func (e *Engine) forgetStops(vhost string) {
	e.damage.Lock()
	defer e.damage.Unlock()
	delete(e.damage.stops, vhost)
}
