package search

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/bartleby-mq/bartleby/internal/fairshare"
	"github.com/bartleby-mq/bartleby/internal/filter"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// Groups counts messages by what they have in common. What the index is sure of is counted as it was read, so
// that messages that have gone a moment ago may be among them.
func (x *Index) Groups(ctx context.Context, q GroupQuery) (Groups, error) {
	if q.Most <= 0 {
		q.Most = GroupsUsual
	}
	q.Most = min(q.Most, GroupsMax)
	if k := x.knownOf(q.VHost); k != nil {
		g, err := x.groupsIndex(ctx, k, &q)
		if !errors.Is(err, errDamaged) {
			return g, err
		}
		x.damaged(err)
	}
	return x.scanGroups(ctx, &q)
}

// A grouping is groups in the making.
type grouping struct {
	query *GroupQuery
	plan  *plan
	tally *tally
	doubt []found // messages that have to be looked at
	may   []bool  // by the number of a place that is a queue

	looked  int
	partial bool
}

func (x *Index) groupsIndex(ctx context.Context, k *vhostIndex, q *GroupQuery) (g Groups, err error) {
	m, state := x.begin(ctx, k, q.Filter, Newest)
	w := &grouping{query: q, plan: m.plan, tally: newTally(q.By), may: make([]bool, len(m.plan.places))}
	for i, p := range m.plan.places {
		w.may[i] = q.May == nil || p.Lost || q.May(p.Where, "")
	}
	budget := fairshare.From(ctx).Budget(groupsBudget)
	for i, r := range m.left {
		if err := fairshare.From(ctx).Rest(ctx); err != nil {
			return g, err
		}
		if m.budget.Spent() {
			w.partial = true
			break
		}
		m.left[i] = nil // what it has read is too much to be kept
		switch err := w.count(r); {
		case errors.Is(err, errForgotten):
		case err != nil:
			return g, err
		}
		if err := w.ask(ctx, x, k, &budget); err != nil {
			return g, err
		}
	}
	scanned, cut, err := x.scanTally(ctx, q, firstSchedule, w.tally)
	if err != nil {
		return g, err
	}
	g = w.tally.groups(q.Most)
	g.Scanned, g.Index = w.looked+scanned, state
	g.Partial = g.Partial || w.partial || cut || state.Forgotten
	return g, nil
}

// count counts the messages of a segment that it is sure of, and notes the others.
func (w *grouping) count(r *reading) error {
	v, err := w.plan.judge(r)
	if err != nil || v.maybe.empty() {
		return err
	}
	columns, err := r.columns(numbersAt, numbersID, numbersPlace)
	if err != nil {
		return err
	}
	at, ids, places := columns[0], columns[1], columns[2]
	last, err := r.textsOf("last-queue")
	if err != nil {
		return err
	}
	key, err := w.keys(r)
	if err != nil {
		return err
	}
	v.maybe.each(func(i int) {
		n := places.at(i)
		if n < 0 || n >= int64(len(w.may)) || !w.may[n] {
			return
		}
		where := w.plan.places[n].Where
		if w.query.May != nil && where.Lost {
			if queue, kept := last.value(i); !kept || !w.query.May(where, string(queue)) {
				return
			}
		}
		f := found{at: at.at(i), ref: Ref{where, uint64(ids.at(i))}, in: r.number, i: i}
		if !v.sure.has(i) {
			w.doubt = append(w.doubt, f)
			return
		}
		value, ok, known := key(i, where)
		switch {
		case !known:
			w.doubt = append(w.doubt, f)
		default:
			w.tally.count(value, ok, f.at, f.ref)
		}
	})
	return nil
}

// keys returns what tells the group of a message: its value, whether it has one, and whether that is known.
func (w *grouping) keys(r *reading) (func(i int, at vhost.Where) (value string, ok, known bool), error) {
	by, column := w.query.By, w.query.By.String()
	switch column {
	case "state":
		return func(int, vhost.Where) (string, bool, bool) { return "", false, false }, nil
	case "queue":
		return func(_ int, at vhost.Where) (string, bool, bool) { return at.Queue, at.Queue != "", true }, nil
	case "key":
		column = columnKeys
	}
	header := ""
	if name, ok := strings.CutPrefix(column, "header:"); ok {
		header, column = name, headerPrefix+name
	}
	x, err := r.textsOf(column)
	if err != nil {
		return nil, err
	}
	if x == nil {
		known := header == "" || !r.meta.OtherHeaders && !strings.Contains(header, ".")
		return func(int, vhost.Where) (string, bool, bool) { return "", false, known }, nil
	}
	type key struct {
		value string
		ok    bool
	}
	keys := make([]key, len(x.values))
	for i, value := range x.values {
		if column == columnException || column == columnFingerprint {
			keys[i] = key{string(value), true}
			continue
		}
		m := mini(column, value)
		keys[i].value, keys[i].ok = by.Key(&m)
	}
	return func(i int, _ vhost.Where) (string, bool, bool) {
		switch c := x.code(i); {
		case c == codeNone:
			return "", false, true
		case c == codeLong || int(c-codesKept) >= len(keys):
			return "", false, false
		default:
			return keys[c-codesKept].value, keys[c-codesKept].ok, true
		}
	}, nil
}

// ask looks at the messages of which the index is not sure.
func (w *grouping) ask(ctx context.Context, x *Index, k *vhostIndex, budget *fairshare.Budget) error {
	needs := filter.Deaths | w.query.By.Needs()
	if w.query.Filter != nil {
		needs |= w.query.Filter.Needs()
	}
	var gone []found
	for len(w.doubt) > 0 {
		if w.looked >= groupsMost || budget.Spent() {
			w.partial = true
			break
		}
		slice := fairshare.From(ctx).Slice(portion)
		err := x.look(ctx, w.query.VHost, func(v vhost.Reader) {
			began := time.Now()
			for len(w.doubt) > 0 && time.Since(began) < slice {
				f := &w.doubt[0]
				w.doubt = w.doubt[1:]
				w.looked++
				m, _ := f.find(v, needs)
				if m == nil {
					gone = append(gone, *f)
					continue
				}
				if w.query.Filter != nil && !w.query.Filter.Match(m) {
					continue
				}
				value, ok := w.query.By.Key(m)
				w.tally.count(value, ok, m.At, f.ref)
			}
		})
		if err := errors.Join(err, fairshare.From(ctx).Rest(ctx)); err != nil {
			return err
		}
	}
	w.doubt = nil
	k.Lock()
	defer k.Unlock()
	for i := range gone {
		k.remove(gone[i].in, gone[i].i)
	}
	return nil
}
