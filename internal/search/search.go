package search

import (
	"context"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bartleby-mq/bartleby/internal/fairshare"
	"github.com/bartleby-mq/bartleby/internal/filter"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// Search visits a portion of the messages that pass the filter. Each is as it is in the machine at this
// moment.
func (x *Index) Search(ctx context.Context, q Query, visit Visit) (Answer, error) {
	if q.Limit <= 0 {
		q.Limit = LimitUsual
	}
	q.Limit = min(q.Limit, LimitMax)
	if k := x.knownOf(q.VHost); k != nil && !strings.HasPrefix(q.After, scanWord) {
		a, err := x.searchIndex(ctx, k, &q, visit)
		if !errors.Is(err, errDamaged) {
			return a, err
		}
		x.damaged(err)
		if q.After != "" { // the portions before came from the index
			return Answer{Partial: true}, nil
		}
	} else if q.After != "" && !strings.HasPrefix(q.After, scanWord) {
		return Answer{Partial: true}, nil
	}
	a, err := x.scanMessages(ctx, &q, visit)
	if k := x.knownOf(q.VHost); k != nil && inSchedules(q.After) { // the portions before came from the index
		k.Lock()
		defer k.Unlock()
		a.Index = k.state()
		a.Partial = a.Partial || a.Index.Forgotten
	}
	return a, err
}

// A found is a message that the index has.
type found struct {
	at  int64
	ref Ref
	in  uint64 // number of the segment
	i   int
}

// compareFound is the order of an answer, the newest first: by time, then by place and ID, so that a portion can begin
// behind any message.
func compareFound(a, b *found) int {
	if c := compare(b.at, a.at); c != 0 {
		return c
	}
	if a.ref.ID != b.ref.ID {
		if a.ref.ID > b.ref.ID {
			return -1
		}
		return 1
	}
	if a.ref.Lost != b.ref.Lost {
		if a.ref.Lost {
			return -1
		}
		return 1
	}
	return strings.Compare(a.ref.Queue, b.ref.Queue)
}

const indexWord = "at:"

// cursorOf names a message as the one after which a portion begins.
func cursorOf(f *found) string {
	place := lostWord
	if !f.ref.Lost {
		place = queueWord + f.ref.Queue
	}
	return indexWord + strconv.FormatInt(f.at, 10) + ":" + strconv.FormatUint(f.ref.ID, 10) + ":" + place
}

func parseFound(s string) (*found, error) {
	at, rest, ok := strings.Cut(strings.TrimPrefix(s, indexWord), ":")
	n, err := strconv.ParseInt(at, 10, 64)
	if err != nil || !ok || !strings.HasPrefix(s, indexWord) {
		return nil, ErrCursor
	}
	c, err := parseCursor(scanWord + rest)
	if err != nil {
		return nil, err
	}
	return &found{at: n, ref: Ref{c.at, c.after}}, nil
}

// A merge yields what segments have found, in order.
type merge struct {
	index  *Index
	plan   *plan
	order  Order
	behind *found           // nil: from the beginning
	left   []*reading       // not judged yet
	budget fairshare.Budget // when it is spent, no more are
	cut    bool             // some were not
	heads  []*stream
}

// stream is what one segment has found, in portions.
type stream struct {
	r     *reading
	maybe set
	next  []found // in order
	more  bool    // there is more behind the last of next
}

// before reports whether a comes before b in this merge.
func (m *merge) before(a, b *found) bool {
	c := compareFound(a, b)
	if m.order == Oldest {
		return c > 0
	}
	return c < 0
}

// next yields one more, nil at the end.
func (m *merge) next(ctx context.Context) (*found, error) {
	for {
		var best *stream
		for _, s := range m.heads {
			if len(s.next) > 0 && (best == nil || m.before(&s.next[0], &best.next[0])) {
				best = s
			}
		}
		if len(m.left) > 0 && m.budget.Spent() {
			m.left, m.cut = nil, true
		}
		if len(m.left) > 0 && (best == nil || m.mayHold(m.left[0], best.next[0].at)) {
			if err := errors.Join(m.judge(), fairshare.From(ctx).Rest(ctx)); err != nil {
				return nil, err
			}
			continue
		}
		if best == nil {
			return nil, nil
		}
		f := best.next[0]
		if best.next = best.next[1:]; len(best.next) == 0 && best.more {
			if err := m.refill(best, &f); err != nil {
				return nil, err
			}
		}
		return &f, nil
	}
}

// mayHold reports whether a segment may have messages that come before that instant, or with it.
func (m *merge) mayHold(r *reading, at int64) bool {
	if m.order == Oldest {
		return r.meta.MinAt <= at
	}
	return r.meta.MaxAt >= at
}

// judge takes one more segment.
func (m *merge) judge() error {
	r := m.left[0]
	m.left = m.left[1:]
	if b := m.behind; b != nil && (m.order == Newest && r.meta.MinAt > b.at || m.order == Oldest && r.meta.MaxAt < b.at) {
		return nil // all of it was in portions before
	}
	v, err := m.plan.judge(r)
	if errors.Is(err, errForgotten) {
		return nil
	}
	if err != nil {
		return err
	}
	s := &stream{r: r, maybe: v.maybe}
	if err := m.refill(s, m.behind); err != nil {
		if errors.Is(err, errForgotten) {
			return nil
		}
		return err
	}
	m.heads = append(m.heads, s)
	return nil
}

// refill finds the first messages of a segment behind one.
func (m *merge) refill(s *stream, behind *found) error {
	columns, err := s.r.columns(numbersAt, numbersID, numbersPlace)
	if err != nil {
		return err
	}
	at, ids, places := columns[0], columns[1], columns[2]
	message := func(i int) found {
		f := found{at: at.at(i), ref: Ref{ID: uint64(ids.at(i))}, in: s.r.number, i: i}
		if n := places.at(i); n >= 0 && n < int64(len(m.plan.places)) {
			f.ref.Where = m.plan.places[n].Where
		}
		return f
	}
	isBehind := func(i int) bool {
		if behind == nil {
			return true
		}
		if t := at.at(i); t != behind.at {
			return (t < behind.at) == (m.order == Newest)
		}
		f := message(i)
		return m.before(behind, &f)
	}
	// Only the first are put in order: those up to the instant of the one that is the last of them.
	var times []int64
	s.maybe.each(func(i int) {
		if isBehind(i) {
			times = append(times, at.at(i))
		}
	})
	slices.Sort(times)
	low, high := int64(math.MinInt64), int64(math.MaxInt64)
	if n := len(times); n > streamMost && m.order == Oldest {
		high = times[streamMost-1]
	} else if n > streamMost {
		low = times[n-streamMost]
	}
	s.next = nil
	s.maybe.each(func(i int) {
		if t := at.at(i); t >= low && t <= high && isBehind(i) {
			s.next = append(s.next, message(i))
		}
	})
	s.more = len(s.next) < len(times)
	slices.SortFunc(s.next, func(a, b found) int {
		if m.order == Oldest {
			return compareFound(&b, &a)
		}
		return compareFound(&a, &b)
	})
	return nil
}

// begin takes what there is to look at.
func (x *Index) begin(ctx context.Context, k *vhostIndex, f *filter.Filter, order Order) (*merge, *State) {
	k.Lock()
	defer k.Unlock()
	m := &merge{index: x, plan: newPlan(f, slices.Clone(k.record.Places), x.options.Broker.Now().UnixMilli()), order: order,
		left: k.readings(x.store, order), budget: fairshare.From(ctx).Budget(judgeBudget)}
	return m, k.state()
}

func (x *Index) searchIndex(ctx context.Context, k *vhostIndex, q *Query, visit Visit) (a Answer, err error) {
	m, state := x.begin(ctx, k, q.Filter, q.Order)
	a.Index, a.Partial = state, state.Forgotten
	if q.After != "" {
		if m.behind, err = parseFound(q.After); err != nil {
			return a, err
		}
	}
	needs := filter.Deaths
	if q.Filter != nil {
		needs |= q.Filter.Needs()
	}
	shown, looked, budget := 0, 0, fairshare.From(ctx).Budget(searchBudget)
	var last, before *found
	for {
		var some []found
		for len(some) < q.Limit-shown+verifySpare {
			f, err := m.next(ctx)
			if err = errors.Join(err, ctx.Err()); err != nil {
				return a, err
			}
			if f == nil {
				break
			}
			if q.May != nil && !f.ref.Lost && !q.May(f.ref.Where, "") || before != nil && before.ref == f.ref {
				continue // the same message was read twice when it moved from one segment to another
			}
			before = f
			some = append(some, *f)
		}
		a.Partial = a.Partial || m.cut
		if len(some) == 0 {
			return a, x.scanFrom(ctx, q, firstSchedule, q.Limit-shown, visit, &a)
		}
		for len(some) > 0 {
			n, err := x.verify(ctx, k, q, needs, some, q.Limit-shown, visit)
			if err != nil {
				return a, err
			}
			a.Scanned += n.scanned
			looked += n.looked
			shown += n.shown
			last = &some[n.looked-1]
			some = some[n.looked:]
			if shown >= q.Limit || looked >= searchMost || budget.Spent() {
				a.Next, a.Partial = cursorOf(last), a.Partial || shown < q.Limit
				return a, nil
			}
		}
	}
}

// verified is what came of some messages: how many were looked at, how many of these the caller may see, and
// how many are shown.
type verified struct{ looked, scanned, shown int }

// verify looks at messages in the machine, and visits those that are as they are meant to be, up to most.
func (x *Index) verify(ctx context.Context, k *vhostIndex, q *Query, needs filter.Need, some []found, most int, visit Visit) (n verified, err error) {
	var gone []found
	slice := fairshare.From(ctx).Slice(portion)
	err = x.look(ctx, q.VHost, func(v vhost.Reader) {
		began := time.Now()
		for i := range some {
			f := &some[i]
			n.looked++
			m, seen := f.find(v, needs)
			switch {
			case m == nil:
				gone = append(gone, *f)
			case q.May != nil && f.ref.Lost && !q.May(f.ref.Where, m.LastQueue):
			default:
				n.scanned++
				if q.Filter == nil || q.Filter.Match(m) {
					visit(seen, m)
					n.shown++
				}
			}
			if n.shown >= most || time.Since(began) > slice {
				return
			}
		}
	})
	k.Lock()
	defer k.Unlock()
	for i := range gone {
		k.remove(gone[i].in, gone[i].i)
	}
	return n, errors.Join(err, fairshare.From(ctx).Rest(ctx))
}

// find looks for a message in the machine; nil if it is gone, or was there at another time.
func (f *found) find(v vhost.Reader, needs filter.Need) (*filter.Message, *vhost.Seen) {
	seen, ok := v.Find(f.ref.Where, f.ref.ID)
	if !ok || !seen.DeadLetter {
		return nil, nil
	}
	m := seen.ForFilter(needs)
	if m.At != f.at {
		return nil, nil
	}
	return &m, &seen
}
