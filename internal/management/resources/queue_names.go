package resources

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/bartleby-mq/bartleby/internal/accounts"
	"github.com/bartleby-mq/bartleby/internal/management/web"
	"github.com/bartleby-mq/bartleby/internal/vhost"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// A nameList is the names of all queues of a virtual host, in order. It does not change.
type nameList struct {
	of      vhost.Identity // a virtual host that was opened again gives numbers anew
	newest  fact.QueueID   // the greatest number that was given when it was made
	deleted uint64         // queues, by then
	queues  []nameEntry    // by name
}

type nameEntry struct {
	name string
	id   fact.QueueID
}

// nameLists are the newest rolls. To sort a hundred thousand names for each page that somebody looks at takes too long:
// a roll is made from the one before it and from what was declared and deleted since.
type nameLists struct {
	mu    sync.Mutex
	all   map[uint32]*nameList     // by the vhost's LogID
	turns map[uint32]chan struct{} // likewise
}

// turn is what holds one while a roll of the virtual host is made.
func (r *nameLists) turn(log uint32) chan struct{} {
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
func (r *nameLists) newest(log uint32) *nameList {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.all[log]
}

// keep keeps a roll, and forgets those of virtual hosts that are gone.
func (r *nameLists) keep(log uint32, made *nameList, alive []*accounts.VHost) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.all == nil {
		r.all = map[uint32]*nameList{}
	}
	if _, known := r.all[log]; !known {
		still := map[uint32]bool{}
		for _, h := range alive {
			still[h.LogID] = true
		}
		maps.DeleteFunc(r.all, func(id uint32, _ *nameList) bool { return !still[id] })
		maps.DeleteFunc(r.turns, func(id uint32, _ chan struct{}) bool { return !still[id] })
	}
	r.all[log] = made
}

// nameList is the roll of a virtual host as it is now. One is made at a time: who waits for that needs only what
// has changed since.
func (s *API) nameList(ctx context.Context, h *accounts.VHost) (*nameList, error) {
	ctx, cancel := context.WithTimeout(ctx, web.LookPatience)
	defer cancel()
	turn := s.nameLists.turn(h.LogID)
	select {
	case turn <- struct{}{}:
		defer func() { <-turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	old := s.nameLists.newest(h.LogID)
	made, err := nextNameList(ctx, s, h.Name, old)
	if err == nil && made != old {
		s.nameLists.keep(h.LogID, made, s.Engine.Accounts().VHosts())
	}
	return made, err
}

// namesFor is the nameList for a request, which leaves its turn to others meanwhile.
func (s *API) namesFor(r *web.Request, h *accounts.VHost) (*nameList, error) {
	return aside(r, h, s.nameList)
}

// aside reads a nameList outside of the request's turn.
func aside(r *web.Request, h *accounts.VHost, read func(context.Context, *accounts.VHost) (*nameList, error)) (
	names *nameList, err error) {
	err = r.Aside(func() error {
		names, err = read(r.Context(), h)
		return err
	})
	return names, err
}

// nameListOrNewest is the newest roll that is known, else the roll as it is now: for who has had one already, and
// holds none while it waits for a client.
func (s *API) nameListOrNewest(ctx context.Context, h *accounts.VHost) (*nameList, error) {
	if last := s.nameLists.newest(h.LogID); last != nil {
		return last, nil
	}
	return s.nameList(ctx, h)
}

// behind is at most n of the queues whose names come after one, or from the first queue on.
func (r *nameList) behind(name string, first bool, n int) []nameEntry {
	i := 0
	if !first {
		var found bool
		i, found = slices.BinarySearchFunc(r.queues, name, func(o nameEntry, name string) int { return strings.Compare(o.name, name) })
		if found {
			i++
		}
	}
	return r.queues[i:min(i+n, len(r.queues))]
}

// eachName reads the names of the queues of a virtual host in order, in portions, and holds no more than one
// of them.
func (s *API) eachName(r *web.Request, h *accounts.VHost, n int, visit func(names []string) error) error {
	if r.IsDown(h.Name) {
		return nil
	}
	names, last := make([]string, 0, n), ""
	for first := true; ; first = false {
		read := s.nameListOrNewest
		if first {
			read = s.nameList
		}
		now, err := aside(r, h, read)
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

// nextNameList makes a roll from an older one, which may be nil. If nothing has changed it is the older one.
func nextNameList(ctx context.Context, s *API, name string, old *nameList) (*nameList, error) {
	var next nameList
	var read []nameEntry // by number: queues that the old roll has not, or all if some of those are gone
	var after fact.QueueID
	begun, same, whole := false, false, true
	for more := true; more; {
		err := web.Look(ctx, s.Engine, name, func(v vhost.Reader) {
			if !begun {
				begun = true
				next.of = v.Identity()
				next.newest, next.deleted = v.QueueChanges()
				if old != nil && old.of == next.of && old.deleted == next.deleted {
					whole, after = false, old.newest
					same = next.newest == old.newest
				}
			}
			more = !same && v.QueuesAfter(after, namesPortion, func(id fact.QueueID, name string) {
				read = append(read, nameEntry{name, id})
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
	var kept []nameEntry
	switch {
	case !whole:
		kept = old.queues
	case old != nil && old.of == next.of:
		kept, read = old.still(read)
	}
	slices.SortFunc(read, func(a, b nameEntry) int { return strings.Compare(a.name, b.name) })
	next.queues = mergeNames(kept, read)
	return &next, nil
}

// still splits all queues that there are, by number, into those on the roll, by name, and others.
func (r *nameList) still(all []nameEntry) (kept, others []nameEntry) {
	kept = make([]nameEntry, 0, len(all))
	for _, e := range r.queues {
		if _, found := slices.BinarySearchFunc(all, e.id, func(o nameEntry, id fact.QueueID) int { return cmp.Compare(o.id, id) }); found {
			kept = append(kept, e)
		}
	}
	first, _ := slices.BinarySearchFunc(all, r.newest+1, func(o nameEntry, id fact.QueueID) int { return cmp.Compare(o.id, id) })
	return kept, all[first:]
}

// mergeNames makes one list of two that are in order.
func mergeNames(long, short []nameEntry) []nameEntry {
	if len(long) == 0 {
		return short
	}
	all := make([]nameEntry, 0, len(long)+len(short))
	for _, e := range short {
		i, _ := slices.BinarySearchFunc(long, e.name, func(o nameEntry, name string) int { return strings.Compare(o.name, name) })
		all, long = append(append(all, long[:i]...), e), long[i:]
	}
	return append(all, long...)
}
