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
	mu    sync.Mutex
	all   map[uint32]*roll         // by the vhost's LogID
	turns map[uint32]chan struct{} // likewise
}

// turn is what holds one while a roll of the virtual host is made.
func (r *rolls) turn(log uint32) chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.turns == nil {
		r.turns = map[uint32]chan struct{}{}
	}
	if r.turns[log] == nil {
		r.turns[log] = make(chan struct{}, 1)
	}
	return r.turns[log]
}

// newest is the roll that was made last, nil if there is none.
func (r *rolls) newest(log uint32) *roll {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.all[log]
}

// keep keeps a roll, and forgets those of virtual hosts that are gone.
func (r *rolls) keep(log uint32, made *roll, alive []*access.VHost) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.all == nil {
		r.all = map[uint32]*roll{}
	}
	if _, known := r.all[log]; !known {
		still := map[uint32]bool{}
		for _, h := range alive {
			still[h.LogID] = true
		}
		maps.DeleteFunc(r.all, func(id uint32, _ *roll) bool { return !still[id] })
		maps.DeleteFunc(r.turns, func(id uint32, _ chan struct{}) bool { return !still[id] })
	}
	r.all[log] = made
}

// roll is the roll of a virtual host as it is now. One is made at a time: who waits for that needs only what
// has changed since.
func (s *Server) roll(ctx context.Context, h *access.VHost) (*roll, error) {
	ctx, cancel := context.WithTimeout(ctx, lookPatience)
	defer cancel()
	turn := s.rolls.turn(h.LogID)
	select {
	case turn <- struct{}{}:
		defer func() { <-turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	old := s.rolls.newest(h.LogID)
	made, err := nextRoll(ctx, s, h.Name, old)
	if err == nil && made != old {
		s.rolls.keep(h.LogID, made, s.engine.Access().VHosts())
	}
	return made, err
}

// rollAfter is the newest roll that is known, else the roll as it is now: for who has had one already, and
// holds none while it waits for a client.
func (s *Server) rollAfter(ctx context.Context, h *access.VHost) (*roll, error) {
	if last := s.rolls.newest(h.LogID); last != nil {
		return last, nil
	}
	return s.roll(ctx, h)
}

// behind is at most n of the queues whose names come after one, or from the first queue on.
func (r *roll) behind(name string, first bool, n int) []rollEntry {
	i := 0
	if !first {
		var found bool
		i, found = slices.BinarySearchFunc(r.queues, name, func(o rollEntry, name string) int { return strings.Compare(o.name, name) })
		if found {
			i++
		}
	}
	return r.queues[i:min(i+n, len(r.queues))]
}

// eachName reads the names of the queues of a virtual host in order, in portions, and holds no more than one
// of them.
func (r *request) eachName(h *access.VHost, n int, visit func(names []string) error) error {
	if r.down(h.Name) {
		return nil
	}
	names, last := make([]string, 0, n), ""
	for first := true; ; first = false {
		read := r.server.rollAfter
		if first {
			read = r.server.roll
		}
		now, err := read(r.Context(), h)
		if err != nil {
			return err
		}
		names = names[:0]
		for _, q := range now.behind(last, first, n) {
			names = append(names, q.name)
		}
		now = nil // it is not held while visit waits for a client
		if len(names) == 0 {
			return nil
		}
		last = names[len(names)-1]
		if err := visit(names); err != nil {
			return err
		}
	}
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
