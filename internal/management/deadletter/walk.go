package deadletter

import (
	"time"

	"github.com/bartleby-mq/bartleby/internal/fairshare"
	"github.com/bartleby-mq/bartleby/internal/filter"
	"github.com/bartleby-mq/bartleby/internal/management/web"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// A walk reads the messages of one source in portions; the virtual host serves others in between. It changes nothing.
type walk struct {
	request *web.Request
	source  *messageSource
	filter  *filter.Filter
	from    vhost.Glance // where the next portion begins; Looks is of no account
	ended   bool         // there is nothing behind it
	scanned int
	budget  fairshare.Budget
	most    int // messages that are looked at
}

// walkThrough begins a walk with the budget of one request.
func walkThrough(r *web.Request, s *messageSource, f *filter.Filter, after uint64, newest bool) *walk {
	return &walk{
		request: r, source: s, filter: f, from: vhost.Glance{Where: s.Where, After: after, Newest: newest},
		budget: r.Task.Budget(walkPatience), most: walkMost,
	}
}

// each visits the messages that match the filter and that the caller may see, inside the virtual host's loop, until
// visit returns false, there are no more, or the budget is spent.
func (w *walk) each(visit func(vhost.Reader, *vhost.Seen) bool) error {
	for stop := false; !stop && !w.ended && !w.spent(); {
		there, most := true, w.request.Task.Slice(walkSlice)
		var took time.Duration
		err := w.request.Look(w.source.host, func(v vhost.Reader) {
			began := time.Now()
			from := w.from
			from.Looks = min(walkPortion, w.most-w.scanned)
			var next uint64
			next, there = v.Browse(from, func(x *vhost.Seen) bool {
				w.scanned++
				if x.Passes(w.filter) && w.source.sees(w.request, x) {
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
			return web.ErrNotFound
		case !stop && !w.ended:
			if err := w.request.Rest(took); err != nil {
				return err
			}
		}
	}
	return nil
}

// spent reports whether the walk may not go on in this request.
func (w *walk) spent() bool { return w.scanned >= w.most || w.budget.Spent() }
