package vhost

import (
	"github.com/bartleby-mq/bartleby/internal/deadline"
	"github.com/bartleby-mq/bartleby/internal/storage"
)

// Stamp is all a decision may know of the world outside the vhost.
type Stamp struct {
	// vhost time, ms since the Unix epoch, rounded down: what is due is tested against it; never steps back
	Now     deadline.Instant
	From    deadline.Instant // the same moment rounded up: relative deadlines count from it
	Wall    deadline.Instant // the wall clock: only for instants that clients name, and x-death's time
	Index   storage.Index    // of the batch that these facts will be in
	Entropy uint64           // fresh bits: generated names
	Rights  Rights           // of the users of jobs; nil: they may do everything
}

// at is when in vhost time a client's instant is: exactly, where both are the same, and else not before it.
func (s *Stamp) at(wall deadline.Instant) deadline.Instant {
	if s.Now == s.Wall {
		return wall
	}
	return s.From + wall - s.Wall
}
