package engine

import (
	"maps"
	"sync"

	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// Retired is what vhosts had counted that were deleted, or opened anew: with it, totals of the node never go back.
type Retired struct {
	Traffic vhost.Traffic
	Queues  map[string]vhost.QueueStats // by type
}

// Retired tells what was counted by vhosts that are no more. The map is the caller's.
func (e *Engine) Retired() Retired {
	r := &e.closed
	r.mu.Lock()
	defer r.mu.Unlock()
	return Retired{r.mu.Traffic, maps.Clone(r.mu.Queues)}
}

// closedStatistics keeps the counts of virtual hosts that were closed.
type closedStatistics struct {
	mu struct {
		sync.Mutex
		Retired
	}
}

// keep adds what a vhost has counted that ends, and that the caller owns.
func (r *closedStatistics) keep(v *vhost.VHost) {
	t := v.Reader().Traffic()
	t.Publishers, t.Repliers = 0, 0
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.Traffic.Add(&t)
	for kind, n := range v.Reader().CountsByType() {
		if r.mu.Queues == nil {
			r.mu.Queues = map[string]vhost.QueueStats{}
		}
		sum := r.mu.Queues[kind]
		sum.Add(&n)
		r.mu.Queues[kind] = sum
	}
}
