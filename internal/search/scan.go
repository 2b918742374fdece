package search

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/sift"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// A scan answers without the index: place by place, the lost letters first, then the queues by name. Within a place letters
// come as they lie, so the order of an answer is by time only there.
type scan struct {
	index   *Index
	vhost   string
	filter  *sift.Filter
	needs   sift.Need
	may     func(vhost.Where, string) bool
	order   Order
	scanned int
	ends    time.Time
}

// cursor is where a scan goes on: behind a message of a place. Its text is scan:ID:PLACE.
type cursor struct {
	at    vhost.Where
	after uint64
}

const (
	scanWord  = "scan:"
	lostWord  = "lost"
	queueWord = "queue:"
)

func (c cursor) String() string {
	place := lostWord
	if !c.at.Lost {
		place = queueWord + c.at.Queue
	}
	return scanWord + strconv.FormatUint(c.after, 10) + ":" + place
}

func parseCursor(s string) (c cursor, err error) {
	if s == "" {
		return cursor{at: vhost.Where{Lost: true}}, nil
	}
	number, place, ok := strings.Cut(strings.TrimPrefix(s, scanWord), ":")
	if c.after, err = strconv.ParseUint(number, 10, 64); err != nil || !ok {
		return c, ErrCursor
	}
	switch name, isQueue := strings.CutPrefix(place, queueWord); {
	case isQueue:
		c.at.Queue = name
	case place == lostWord:
		c.at.Lost = true
	default:
		return c, ErrCursor
	}
	return c, nil
}

func (x *Index) newScan(name string, f *sift.Filter, may func(vhost.Where, string) bool, order Order) *scan {
	s := &scan{index: x, vhost: name, filter: f, needs: sift.Deaths, may: may, order: order, ends: time.Now().Add(scanBudget)}
	if f != nil {
		s.needs |= f.Needs()
	}
	return s
}

// places lists where letters may be, from one place on.
func (s *scan) places(ctx context.Context, from vhost.Where) (all []vhost.Where, err error) {
	if from.Lost {
		all = append(all, from)
	}
	var names []string
	err = s.index.look(ctx, s.vhost, func(v *vhost.VHost) { names = v.QueueNames() })
	slices.Sort(names)
	for _, name := range names {
		if from.Lost || name >= from.Queue {
			all = append(all, vhost.Where{Queue: name})
		}
	}
	return all, err
}

// run visits the letters that are meant, until visit says no or the budget ends: next is where to go on then. Visit is called
// in the machine's loop.
func (s *scan) run(ctx context.Context, from cursor, visit Visit, enough func() bool) (next *cursor, err error) {
	places, err := s.places(ctx, from.at)
	if err != nil {
		return nil, err
	}
	for _, at := range places {
		after := uint64(0)
		if at == from.at {
			after = from.after
		}
		if s.may != nil && !at.Lost && !s.may(at, "") {
			continue
		}
		for {
			if enough() || s.scanned >= scanMost || time.Now().After(s.ends) {
				return &cursor{at, after}, nil
			}
			after, err = s.some(ctx, at, after, visit, enough)
			if err != nil {
				return nil, err
			}
			if after == 0 {
				break
			}
		}
	}
	return nil, nil
}

// some is one look at a place.
func (s *scan) some(ctx context.Context, at vhost.Where, after uint64, visit Visit, enough func() bool) (next uint64, err error) {
	err = s.index.look(ctx, s.vhost, func(v *vhost.VHost) {
		began := time.Now()
		for next = after; time.Since(began) < portion; {
			g := vhost.Glance{Where: at, After: next, Newest: s.order == Newest, Looks: looksOnce}
			next, _ = v.Browse(g, func(x *vhost.Seen) bool {
				s.scanned++
				if s.meant(x, visit) && enough() {
					return false
				}
				return s.scanned%16 != 0 || time.Since(began) < portion
			})
			if next == 0 || enough() {
				return
			}
		}
	})
	return next, err
}

// isLetter reports whether a message is one of those that this package is about.
func isLetter(x *vhost.Seen) bool { return x.Letter || x.Lost || x.State == queue.Held }

// meant visits a message if it is asked for.
func (s *scan) meant(x *vhost.Seen, visit Visit) bool {
	if !isLetter(x) {
		return false
	}
	m := x.Sift(sift.Deaths)
	if s.may != nil && x.Lost && !s.may(vhost.Where{Lost: true}, m.LastQueue) {
		return false
	}
	if s.filter != nil && s.filter.Refuses(&m, sift.Deaths) {
		return false
	}
	if s.needs != sift.Deaths {
		m = x.Sift(s.needs)
	}
	if s.filter != nil && !s.filter.Match(&m) {
		return false
	}
	visit(x, &m)
	return true
}

// scanLetters is Search without the index.
func (x *Index) scanLetters(ctx context.Context, q *Query, visit Visit) (a Answer, err error) {
	from, err := parseCursor(q.After)
	if err != nil {
		return a, err
	}
	s, found := x.newScan(q.VHost, q.Filter, q.May, q.Order), 0
	next, err := s.run(ctx, from, func(seen *vhost.Seen, m *sift.Message) {
		found++
		visit(seen, m)
	}, func() bool { return found >= q.Limit })
	a.Scanned = s.scanned
	if next != nil {
		a.Next, a.Partial = next.String(), found < q.Limit
	}
	return a, err
}

// scanGroups is Groups without the index.
func (x *Index) scanGroups(ctx context.Context, q *GroupQuery) (g Groups, err error) {
	s := x.newScan(q.VHost, q.Filter, q.May, Newest)
	s.needs |= q.By.Needs()
	t := newTally(q.By)
	next, err := s.run(ctx, cursor{at: vhost.Where{Lost: true}}, func(seen *vhost.Seen, m *sift.Message) {
		if value, ok := q.By.Key(m); ok {
			t.add(value, m.At, Ref{vhost.Where{Queue: seen.Queue, Lost: seen.Lost}, seen.ID})
		}
	}, func() bool { return false })
	g = t.groups(q.Most)
	g.Scanned, g.Partial = s.scanned, g.Partial || next != nil
	return g, err
}
