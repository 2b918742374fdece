package search

import (
	"cmp"
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

// A tally counts letters in groups, each at its time.
type tally struct {
	by    sift.Grouping
	all   map[string]*counted
	total int64
	full  bool // there are more groups than are counted
}

// counted is a group in the making. Its times are in as many stretches as are kept of it: when a letter comes that is out of
// their reach, two become one.
type counted struct {
	count       int64
	first, last int64
	base, width int64 // of the stretches, ms
	parts       [2 * SparkParts]int64
	sample      Ref
}

func newTally(by sift.Grouping) *tally { return &tally{by: by, all: map[string]*counted{}} }

func (t *tally) add(value string, at int64, r Ref) {
	c := t.all[value]
	if c == nil {
		if len(t.all) >= groupsKnown {
			t.full = true
			return
		}
		c = &counted{width: 1}
		t.all[value] = c
	}
	t.total++
	c.add(at, r)
}

func (c *counted) add(at int64, r Ref) {
	c.count++
	if at == 0 {
		if c.sample.ID == 0 {
			c.sample = r
		}
		return
	}
	if c.first == 0 {
		c.first, c.base = at, at
	}
	c.first = min(c.first, at)
	if at >= c.last {
		c.last, c.sample = at, r
	}
	for at < c.base || at >= c.base+int64(len(c.parts))*c.width {
		c.widen(at < c.base)
	}
	c.parts[(at-c.base)/c.width]++
}

// widen makes one stretch of two, and room before the first or behind the last.
func (c *counted) widen(before bool) {
	const half = len(c.parts) / 2
	var parts [2 * SparkParts]int64
	shift := 0
	if before {
		shift = half
		c.base -= int64(len(c.parts)) * c.width
	}
	for i, n := range c.parts {
		parts[shift+i/2] += n
	}
	c.parts, c.width = parts, 2*c.width
}

// spark spreads the stretches over those of an answer.
func (c *counted) spark() (parts [SparkParts]int64) {
	span := max(c.last-c.first+1, 1)
	for i, n := range c.parts {
		if n > 0 {
			at := min(max(c.base+int64(i)*c.width+c.width/2, c.first), c.last)
			parts[min((at-c.first)*SparkParts/span, SparkParts-1)] += n
		}
	}
	return parts
}

// groups are the largest, at most most of them.
func (t *tally) groups(most int) Groups {
	g := Groups{Total: t.total, Answer: Answer{Partial: t.full}, Groups: make([]Group, 0, min(len(t.all), most))}
	values := make([]string, 0, len(t.all))
	for value := range t.all {
		values = append(values, value)
	}
	slices.SortFunc(values, func(a, b string) int {
		return cmp.Or(cmp.Compare(t.all[b].count, t.all[a].count), cmp.Compare(t.all[b].last, t.all[a].last), cmp.Compare(a, b))
	})
	for _, value := range values[:min(most, len(values))] {
		c := t.all[value]
		g.Groups = append(g.Groups, Group{
			Value: value, Filter: t.by.FilterFor(value), Count: c.count, First: c.first, Last: c.last, Spark: c.spark(), Sample: c.sample,
		})
	}
	g.Others = int64(len(values) - len(g.Groups))
	return g
}
