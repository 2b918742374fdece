package search

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bartleby-mq/bartleby/internal/fairshare"
	"github.com/bartleby-mq/bartleby/internal/filter"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// A scan answers without the index: place by place, the lost letters first, then the queues, then the schedules by
// name. Within a place messages come as they lie, so the order of an answer is by time only there. What waits
// in schedules is no dead letter, and in no index: it is scanned for if the filter asks for it.
type scan struct {
	index   *Index
	vhost   string
	filter  *filter.Filter
	needs   filter.Need
	may     func(vhost.Where, string) bool
	order   Order
	died    bool // messages that have not died are of no account
	looked  int
	scanned int // of these, those of which may says yes
	budget  fairshare.Budget
}

// cursor is where a scan goes on: behind a message of a place. Its text is scan:ID:PLACE.
type cursor struct {
	at    vhost.Where
	after uint64
}

const (
	scanWord     = "scan:"
	lostWord     = "lost"
	queueWord    = "queue:"
	scheduleWord = "schedule:"
)

// firstSchedule is before what waits in any delayed exchange, whose names are not empty, and behind all else.
var firstSchedule = cursor{at: vhost.Where{Schedule: "\x00"}}

func (c cursor) String() string {
	place := queueWord + c.at.Queue
	switch {
	case c.at.Lost:
		place = lostWord
	case c.at.Schedule != "":
		place = scheduleWord + c.at.Schedule
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
	name, isQueue := strings.CutPrefix(place, queueWord)
	exchange, isSchedule := strings.CutPrefix(place, scheduleWord)
	switch {
	case isQueue:
		c.at.Queue = name
	case isSchedule && exchange != "":
		c.at.Schedule = exchange
	case place == lostWord:
		c.at.Lost = true
	default:
		return c, ErrCursor
	}
	return c, nil
}

// inSchedules reports whether a text names a place among the schedules.
func inSchedules(s string) bool {
	c, err := parseCursor(s)
	return err == nil && c.at.Schedule != ""
}

func (x *Index) newScan(ctx context.Context, name string, f *filter.Filter, may func(vhost.Where, string) bool, order Order) *scan {
	s := &scan{index: x, vhost: name, filter: f, needs: filter.Deaths, may: may, order: order, budget: fairshare.From(ctx).Budget(scanBudget)}
	if f != nil {
		s.needs |= f.Needs()
	}
	s.died = !mayMatch(f, &filter.Message{}, ofDeaths...)
	return s
}

// ofDeaths are the fields that only dead letters have.
var ofDeaths = []string{"reason", "first-reason", "source", "last-queue"}

// mayMatch reports whether a message passes the terms that ask for some fields; f may be nil.
func mayMatch(f *filter.Filter, m *filter.Message, fields ...string) bool {
	if f == nil {
		return true
	}
	for _, t := range f.Terms() {
		if !slices.Contains(fields, t.Field) {
			continue
		}
		if only, err := filter.Parse(t.Text, 0); err == nil && !only.Match(m) {
			return false
		}
	}
	return true
}

// asksForScheduled reports whether a filter asks for scheduled messages: only then are they found. f may be nil.
func asksForScheduled(f *filter.Filter) bool {
	if f == nil {
		return false
	}
	asks := func(t filter.Term) bool { return t.Field == "state" && !t.Not }
	return slices.ContainsFunc(f.Terms(), asks) && mayMatch(f, &filter.Message{State: "scheduled"}, "state")
}

// places lists where messages may be, from one place on. Schedules in which nothing can be meant are left
// out.
func (s *scan) places(ctx context.Context, from vhost.Where) (all []vhost.Where, err error) {
	if from.Lost {
		all = append(all, from)
	}
	var queues, schedules []string
	err = s.index.look(ctx, s.vhost, func(v vhost.Reader) {
		if from.Schedule == "" {
			queues = v.QueueNames()
		}
		if !asksForScheduled(s.filter) {
			return
		}
		for _, name := range v.ScheduleNames() {
			if _, messages, _ := v.ScheduleNamed(name); messages > 0 {
				schedules = append(schedules, name)
			}
		}
	})
	slices.Sort(queues)
	for _, name := range queues {
		if from.Lost || name >= from.Queue {
			all = append(all, vhost.Where{Queue: name})
		}
	}
	for _, name := range schedules {
		if name >= from.Schedule && mayMatch(s.filter, &filter.Message{Queue: name}, "queue") {
			all = append(all, vhost.Where{Schedule: name})
		}
	}
	return all, err
}

// run visits the messages that are meant, until visit says no or the budget ends: next is where to go on
// then. Visit is called in the machine's loop.
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
			if enough() || s.looked >= scanMost || s.budget.Spent() {
				return &cursor{at, after}, nil
			}
			after, err = s.some(ctx, at, after, visit, enough)
			if err := errors.Join(err, fairshare.From(ctx).Rest(ctx)); err != nil {
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
	slice := fairshare.From(ctx).Slice(portion)
	err = s.index.look(ctx, s.vhost, func(v vhost.Reader) {
		began := time.Now()
		seen := 0
		for next = after; ; { // once at least: a place of which nothing was looked at is none that has come to its end
			g := vhost.Glance{Where: at, After: next, Newest: s.order == Newest, Looks: looksOnce}
			next, _ = v.Browse(g, func(x *vhost.Seen) bool {
				if seen++; s.meant(x, visit) && enough() {
					return false
				}
				return seen%16 != 0 || time.Since(began) < slice
			})
			if next == 0 || enough() || time.Since(began) >= slice {
				return
			}
		}
	})
	return next, err
}

// meant visits a message if it is asked for.
func (s *scan) meant(x *vhost.Seen, visit Visit) bool {
	if s.died && x.Scheduled && !x.HasHistory {
		return false
	}
	if s.looked++; s.may != nil && x.Lost {
		if m := x.ForFilter(filter.Deaths); !s.may(vhost.Where{Lost: true}, m.LastQueue) {
			return false
		}
	}
	if s.scanned++; !x.DeadLetter && !x.Scheduled {
		return false
	}
	if s.filter != nil && !x.Passes(s.filter) {
		return false
	}
	m := x.ForFilter(s.needs)
	visit(x, &m)
	return true
}

// scanMessages is Search without the index.
func (x *Index) scanMessages(ctx context.Context, q *Query, visit Visit) (a Answer, err error) {
	from, err := parseCursor(q.After)
	if err != nil {
		return a, err
	}
	err = x.scanFrom(ctx, q, from, q.Limit, visit, &a)
	return a, err
}

// scanFrom goes on with an answer by a scan, for up to most messages.
func (x *Index) scanFrom(ctx context.Context, q *Query, from cursor, most int, visit Visit, a *Answer) error {
	s, found := x.newScan(ctx, q.VHost, q.Filter, q.May, q.Order), 0
	next, err := s.run(ctx, from, func(seen *vhost.Seen, m *filter.Message) {
		found++
		visit(seen, m)
	}, func() bool { return found >= most })
	a.Scanned += s.scanned
	if next != nil {
		a.Next, a.Partial = next.String(), a.Partial || found < most
	}
	return err
}

// scanGroups is Groups without the index.
func (x *Index) scanGroups(ctx context.Context, q *GroupQuery) (g Groups, err error) {
	t := newTally(q.By)
	scanned, cut, err := x.scanTally(ctx, q, cursor{at: vhost.Where{Lost: true}}, t)
	g = t.groups(q.Most)
	g.Scanned, g.Partial = scanned, g.Partial || cut
	return g, err
}

// scanTally counts messages by a scan; cut reports whether there were more than it had time for.
func (x *Index) scanTally(ctx context.Context, q *GroupQuery, from cursor, t *tally) (scanned int, cut bool, err error) {
	s := x.newScan(ctx, q.VHost, q.Filter, q.May, Newest)
	s.needs |= q.By.Needs()
	s.died = s.died || slices.Contains(ofDeaths, q.By.String())
	next, err := s.run(ctx, from, func(seen *vhost.Seen, m *filter.Message) {
		value, ok := q.By.Key(m)
		t.count(value, ok, m.At, Ref{seen.Where(), seen.ID})
	}, func() bool { return false })
	return s.scanned, next != nil, err
}
