package vhost

import "github.com/bartleby-mq/bartleby/internal/deadline"

// LateKind is what kind of deadline was met.
type LateKind uint8

// The kinds.
const (
	LateTTL     LateKind = iota // a message expired
	LateDelay                   // a scheduled message fired
	LateRetry                   // a message that waited in its queue is ready
	LateExpires                 // an unused queue was deleted
	LateKinds
)

// String names the kind as metrics do.
func (k LateKind) String() string { return [LateKinds]string{"ttl", "delay", "retry", "expires"}[k] }

// LateBounds are the upper bounds of Lateness's buckets, ms; a last one has the rest.
var LateBounds = [...]int64{0, 1, 2, 5, 10, 20, 50, 100, 250, 500, 1000, 5000, 30_000}

// Lateness counts, since the vhost was opened, how long after their instants things happened that were due.
type Lateness struct {
	Buckets [LateKinds][len(LateBounds) + 1]uint64 // not cumulated
	Sum     [LateKinds]int64                       // ms
}

func (l *Lateness) note(k LateKind, late deadline.Instant) {
	i := 0
	for i < len(LateBounds) && int64(late) > LateBounds[i] {
		i++
	}
	l.Buckets[k][i]++
	l.Sum[k] += max(int64(late), 0)
}
