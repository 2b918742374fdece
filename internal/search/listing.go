package search

import (
	"context"
	"errors"
	"slices"

	"github.com/bartleby-mq/bartleby/internal/fairshare"
	"github.com/bartleby-mq/bartleby/internal/filter"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// A Listing is what the index knows of one place, and of a filter there.
type Listing struct {
	Known   int64    // messages of the place, some of which may have gone a moment ago
	Matches int64    // of these: that pass the filter, or may
	Sure    bool     // that pass
	IDs     []uint64 // of Matches, in order: as many as were asked for at the most
	Partial bool     // not all of the index was asked, or it has forgotten old messages
	State   State
}

// List lists the messages of one place that may pass a filter, without a look at them. nil: there is no index
// to be asked.
func (x *Index) List(ctx context.Context, name string, at vhost.Where, f *filter.Filter, most int) (*Listing, error) {
	k := x.knownOf(name)
	if k == nil {
		return nil, nil
	}
	l, err := x.list(ctx, k, at, f, most)
	if errors.Is(err, errDamaged) {
		x.damaged(err)
		return nil, nil
	}
	return l, err
}

func (x *Index) list(ctx context.Context, k *vhostIndex, at vhost.Where, f *filter.Filter, most int) (*Listing, error) {
	m, state := x.begin(ctx, k, f, Newest)
	place := slices.IndexFunc(m.plan.places, func(p placeRecord) bool { return p.Where == at && !p.Gone })
	l := &Listing{Sure: true, State: *state, Partial: state.Forgotten}
	for i, r := range m.left {
		m.left[i] = nil // what it has read is too much to be kept
		if !slices.ContainsFunc(r.meta.Places, func(s span) bool { return int(s.Place) == place }) {
			continue
		}
		if err := fairshare.From(ctx).Rest(ctx); err != nil {
			return nil, err
		}
		if m.budget.Spent() {
			l.Partial = true
			break
		}
		switch err := l.add(r, m.plan, place, most); {
		case errors.Is(err, errForgotten):
			l.Partial = true // what is left of it is read anew
		case err != nil:
			return nil, err
		}
	}
	slices.Sort(l.IDs)
	if all := int64(len(l.IDs)) == l.Matches; all {
		l.IDs = slices.Compact(l.IDs) // a message is read anew before it is forgotten where it was
		l.Matches = int64(len(l.IDs))
	}
	return l, nil
}

// add adds what a segment has.
func (l *Listing) add(r *reading, p *plan, place, most int) error {
	columns, err := r.columns(numbersPlace, numbersID)
	if err != nil {
		return err
	}
	places, ids := columns[0], columns[1]
	v, err := p.judge(r)
	if err != nil {
		return err
	}
	r.all.each(func(i int) {
		if places.at(i) != int64(place) {
			return
		}
		l.Known++
		if !v.maybe.has(i) {
			return
		}
		l.Matches++
		l.Sure = l.Sure && v.sure.has(i)
		if len(l.IDs) < most {
			l.IDs = append(l.IDs, uint64(ids.at(i)))
		}
	})
	return nil
}
