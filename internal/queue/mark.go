package queue

import "github.com/bartleby-mq/bartleby/internal/storage"

// Marker finds every record and page of a pool's queues that lies in some spans of the log: what must be kept when the
// segments that hold them are given back. It walks in portions while messages come and go; whoever makes a new
// reference meanwhile tells it. Source: ours, decision 10.
type Marker struct {
	pool   *Pool
	spans  []storage.Span
	queues []*Messages
	lane   int // of queues[0]
	no     uint64
	refs   []storage.Ref
}

// NewMarker begins a mark of these queues.
func (p *Pool) NewMarker(spans []storage.Span, queues []*Messages) *Marker {
	return &Marker{pool: p, spans: spans, queues: queues}
}

// Note marks r, if it lies in one of the spans.
func (k *Marker) Note(r storage.Ref) {
	for _, s := range k.spans {
		if s.Holds(r) {
			k.refs = append(k.refs, r)
			return
		}
	}
}

// Some looks at up to n chunks, and reports whether there are more.
func (k *Marker) Some(n int) (more bool) {
	for n > 0 && len(k.queues) > 0 {
		q := k.queues[0]
		if k.lane >= len(q.lanes) {
			k.queues, k.lane, k.no = k.queues[1:], 0, 0
			n--
			continue
		}
		l := q.lanes[k.lane]
		i, _ := l.find(k.no)
		for ; i < len(l.slots) && n > 0; i++ {
			s := l.slots[i]
			k.no = s.no + 1
			if s.live > 0 {
				n -= k.look(s)
			}
		}
		if i >= len(l.slots) {
			k.lane, k.no = k.lane+1, 0
		}
	}
	return len(k.queues) > 0
}

// look marks what a chunk refers to, and tells how much work it was: a chunk that had to be read counts for 8.
func (k *Marker) look(s *slot) int {
	k.Note(s.page)
	if s.extra != nil {
		k.Note(s.extra.kept)
	}
	if s.hot == nil && !k.meets(s.records) && !k.meets(s.histories()) {
		return 1
	}
	c, copied := k.pool.look(s)
	for i := range c.entries {
		e := &c.entries[i]
		if e.State == Gone {
			continue
		}
		k.Note(e.Ref(k.pool.log))
		if c.sides != nil {
			k.Note(c.sides[i].History)
		}
	}
	if copied {
		k.pool.put(c)
	}
	return 8
}

func (k *Marker) meets(s span) bool {
	for _, x := range k.spans {
		if x.Log == k.pool.log && s.meets(x.First, x.Last) {
			return true
		}
	}
	return false
}

// Refs returns what was marked, in no order and some of it twice, pages that only a checkpoint names among it. The
// result is the caller's: sorting it takes milliseconds in which others need not wait.
func (k *Marker) Refs() []storage.Ref {
	for _, r := range k.pool.dropped {
		k.Note(r)
	}
	for _, s := range [...]*Checkpoint{k.pool.saving, k.pool.storing} {
		if s != nil {
			for _, r := range s.dropped {
				k.Note(r)
			}
		}
	}
	return k.refs
}

// PageUse tells which pages are in use, those that only a checkpoint names among them; the result is the caller's.
func (p *Pool) PageUse() []storage.UseRange { return p.use.Ranges() }
