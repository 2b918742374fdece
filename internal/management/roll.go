package management

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"weak"

	"github.com/bartleby-mq/bartleby/internal/access"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// A roll is the names of all queues of a virtual host, in order. It does not change.
type roll struct {
	of      weak.Pointer[vhost.VHost] // a virtual host that was opened again gives numbers anew
	newest  vhost.QueueID             // the greatest number that was given when it was made
	deleted uint64                    // queues, by then
	queues  []rollEntry               // by name
}

type rollEntry struct {
	name string
	id   vhost.QueueID
}

// rolls are the newest rolls. To sort a hundred thousand names for each page that somebody looks at takes too long: a roll is
// made from the one before it and from what was declared and deleted since.
type rolls struct {
	mu  sync.Mutex
	all map[uint32]*roll // by the vhost's LogID
}

// roll is the roll of a virtual host as it is now.
func (s *Server) roll(ctx context.Context, h *access.VHost) (*roll, error) {
	s.rolls.mu.Lock()
	old := s.rolls.all[h.LogID]
	s.rolls.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, lookPatience)
	defer cancel()
	made, err := nextRoll(ctx, s, h.Name, old)
	if err != nil || made == old {
		return made, err
	}
	s.rolls.mu.Lock()
	defer s.rolls.mu.Unlock()
	if s.rolls.all == nil {
		s.rolls.all = map[uint32]*roll{}
	}
	if _, known := s.rolls.all[h.LogID]; !known {
		alive := map[uint32]bool{}
		for _, h := range s.engine.Access().VHosts() {
			alive[h.LogID] = true
		}
		maps.DeleteFunc(s.rolls.all, func(id uint32, _ *roll) bool { return !alive[id] })
	}
	s.rolls.all[h.LogID] = made
	return made, nil
}

// nextRoll makes a roll from an older one, which may be nil. If nothing has changed it is the older one.
func nextRoll(ctx context.Context, s *Server, name string, old *roll) (*roll, error) {
	var next roll
	var read []rollEntry // by number: queues that the old roll has not, or all if some of those are gone
	var after vhost.QueueID
	begun, same, whole := false, false, true
	for more := true; more; {
		err := look(ctx, s.engine, name, func(v *vhost.VHost) {
			if !begun {
				begun = true
				next.of = weak.Make(v)
				next.newest, next.deleted = v.QueueChanges()
				if old != nil && old.of == next.of && old.deleted == next.deleted {
					whole, after = false, old.newest
					same = next.newest == old.newest
				}
			}
			more = !same && v.QueuesAfter(after, rollPortion, func(id vhost.QueueID, name string) {
				read = append(read, rollEntry{name, id})
				after = id
			})
		})
		if err != nil {
			return nil, err
		}
	}
	if same {
		return old, nil
	}
	next.newest = max(next.newest, after)
	var kept []rollEntry
	switch {
	case !whole:
		kept = old.queues
	case old != nil && old.of == next.of:
		kept, read = old.still(read)
	}
	slices.SortFunc(read, func(a, b rollEntry) int { return strings.Compare(a.name, b.name) })
	next.queues = mergeRolls(kept, read)
	return &next, nil
}

// still splits all queues that there are, by number, into those on the roll, by name, and others.
func (r *roll) still(all []rollEntry) (kept, others []rollEntry) {
	kept = make([]rollEntry, 0, len(all))
	for _, e := range r.queues {
		if _, found := slices.BinarySearchFunc(all, e.id, func(o rollEntry, id vhost.QueueID) int { return cmp.Compare(o.id, id) }); found {
			kept = append(kept, e)
		}
	}
	first, _ := slices.BinarySearchFunc(all, r.newest+1, func(o rollEntry, id vhost.QueueID) int { return cmp.Compare(o.id, id) })
	return kept, all[first:]
}

// mergeRolls makes one list of two that are in order.
func mergeRolls(long, short []rollEntry) []rollEntry {
	if len(long) == 0 {
		return short
	}
	all := make([]rollEntry, 0, len(long)+len(short))
	for _, e := range short {
		i, _ := slices.BinarySearchFunc(long, e.name, func(o rollEntry, name string) int { return strings.Compare(o.name, name) })
		all, long = append(append(all, long[:i]...), e), long[i:]
	}
	return append(all, long...)
}
