package engine

import (
	"math/rand/v2"

	"github.com/bartleby-mq/bartleby/internal/deadline"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// reading is what the clock said last. Small commands share it while the work of the batch is less than until.
type reading struct {
	now, from, wall deadline.Instant
	until           int
}

// Work is counted in bytes of facts. A command and an effect count as effectWork.
const effectWork, sharedWork = 64, 2048

// stamp reads the clock.
func (r *runner) stamp() vhost.Stamp {
	r.now.now, r.now.from, r.now.wall = r.time.read()
	r.now.until = 0
	return r.sameTime()
}

// sameTime is a stamp with the time read last.
func (r *runner) sameTime() vhost.Stamp {
	return vhost.Stamp{Now: r.now.now, From: r.now.from, Wall: r.now.wall, Index: r.next, Entropy: rand.Uint64(), Rights: &r.jobRights}
}

// stampOf is the stamp of a command. Small commands that follow each other share one reading of the clock until they
// have made sharedWork; together they take some 20 µs. Reading it for each costs a tenth of the CPU of small messages.
func (r *runner) stampOf(c *vhost.Command) vhost.Stamp {
	if c.Kind != vhost.Publish && (c.Kind != vhost.Ack || c.Multiple) {
		return r.stamp()
	}
	work := len(r.out.Batch) + effectWork*len(r.out.Effects)
	if work < r.now.until {
		r.now.until -= effectWork
		return r.sameTime()
	}
	s := r.stamp()
	r.now.until = work + sharedWork
	return s
}
