package management

import (
	"time"

	"github.com/bartleby-mq/bartleby/internal/sift"
	"github.com/bartleby-mq/bartleby/internal/turns"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// A walk goes through the messages of one place in portions, between which the virtual host serves others. Nothing is
// changed by it.
type walk struct {
	request *request
	spot    *spot
	filter  *sift.Filter
	from    vhost.Glance // where the next portion begins; Looks is of no account
	ended   bool         // there is nothing behind it
	scanned int
	budget  turns.Budget
	most    int // messages that are looked at
}

// walkThrough begins a walk with the budget of one request.
func (r *request) walkThrough(s *spot, f *sift.Filter, after uint64, newest bool) *walk {
	return &walk{
		request: r, spot: s, filter: f, from: vhost.Glance{Where: s.Where, After: after, Newest: newest},
		budget: r.turn.Budget(walkPatience), most: walkMost,
	}
}

// each visits messages that the filter lets through and the caller may see, inside the virtual host's loop, until visit says
// no, there are no more, or the budget is spent.
func (w *walk) each(visit func(*vhost.VHost, *vhost.Seen) bool) error {
	for stop := false; !stop && !w.ended && !w.spent(); {
		there, most := true, w.request.turn.Slice(walkTurn)
		var took time.Duration
		err := w.request.look(w.spot.host, func(v *vhost.VHost) {
			began := time.Now()
			from := w.from
			from.Looks = min(walkPortion, w.most-w.scanned)
			var next uint64
			next, there = v.Browse(from, func(x *vhost.Seen) bool {
				w.scanned++
				if passes(w.filter, x) && w.spot.sees(w.request, x) {
					stop = !visit(v, x)
				}
				return !stop && time.Since(began) < most
			})
			took = time.Since(began)
			w.from.After, w.ended = next, next == 0
		})
		switch {
		case err != nil:
			return err
		case !there:
			return errNotFound
		case !stop && !w.ended:
			if err := w.request.rest(took); err != nil {
				return err
			}
		}
	}
	return nil
}

// rest lets others have a virtual host for twice as long as it was looked at, and longer while messages flow.
func (r *request) rest(took time.Duration) error {
	if r.server.share.Flows() {
		return r.turn.Rest(r.Context())
	}
	pause := time.NewTimer(2 * took)
	defer pause.Stop()
	select {
	case <-pause.C:
		return nil
	case <-r.Context().Done():
		return r.Context().Err()
	}
}

// spent reports whether the walk may not go on in this request.
func (w *walk) spent() bool { return w.scanned >= w.most || w.budget.Spent() }

// passes asks a filter, and reads of a message no more than it takes to know.
func passes(f *sift.Filter, x *vhost.Seen) bool {
	needs := f.Needs()
	m := x.Sift(0)
	if f.Refuses(&m, 0) {
		return false
	}
	if needs&^sift.Deaths != 0 && needs&sift.Deaths != 0 && x.Letter {
		if m = x.Sift(sift.Deaths); f.Refuses(&m, sift.Deaths) {
			return false
		}
	}
	if needs != 0 {
		m = x.Sift(needs)
	}
	return f.Match(&m)
}
