package management

import (
	"slices"
	"time"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/search"
	"github.com/bartleby-mq/bartleby/internal/turns"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// A dryRun tries an order, as far as a request does.
type dryRun struct {
	r      *request
	order  *vhost.Order
	wall   int64
	budget turns.Budget
	shelf  vhost.Shelf
	room   int64 // for lost letters

	machine authz.Machine // of the look under way
}

// A tried is what came of it.
type tried struct {
	vhost.RedriveTrial
	partial bool
	listing *search.Listing // nil: without the index
	whole   bool            // the listing has all messages that the source has
}

// trial tells what an order would do.
func (r *request) trial(o *vhost.Order) (*api.RedriveTrial, error) {
	d := &dryRun{r: r, order: o, wall: r.server.engine.Now().UnixMilli(), budget: r.turn.Budget(trialPatience)}
	t, err := d.scan(trialFew)
	if err == nil && t.partial {
		t, err = d.further(t)
	}
	if err != nil {
		return nil, err
	}
	shown := &api.RedriveTrial{
		Looked: int64(t.Looked), Matches: int64(t.Matches), Partial: t.partial, Refused: showRefused(func(w vhost.Why) uint64 { return t.Refused[w] }),
		Queues: api.Object[int64]{}, Pushed: api.Object[int64]{}, Fits: !o.Discard || o.Source.Lost || d.shelf.Bytes+t.Bytes <= d.room,
	}
	if l := t.listing; l != nil {
		shown.Index = showIndex(&l.State)
		if l.Sure && t.whole && r.caller.AllLetters(r.names[0], o) {
			shown.Found = &l.Matches
		}
	}
	for name, n := range t.Queues {
		shown.Queues[name] = int64(n)
	}
	for name, n := range t.PushedOut {
		shown.Pushed[name] = int64(n)
	}
	for _, x := range t.Sample {
		shown.Sample = append(shown.Sample, showSample(&x))
	}
	return shown, nil
}

// further tries an order whose source is large: by the index if that can tell, else message by message. Of two that have not come to an
// end the one is taken that found more.
func (d *dryRun) further(few *tried) (*tried, error) {
	byIndex, err := d.listed()
	if err != nil || byIndex != nil && !byIndex.partial {
		return byIndex, err
	}
	t, err := d.scan(trialMost)
	if err != nil || byIndex == nil || !t.partial || t.Matches >= byIndex.Matches {
		return t, err
	}
	return byIndex, nil
}

// begin has the trial ask for the caller's rights, which stand as they were when the request came.
func (d *dryRun) begin(t *tried) *tried {
	t.Rights = d
	return t
}

// Order implements vhost.Rights.
func (d *dryRun) Order(*vhost.Order) error { return nil }

// Letter implements vhost.Rights.
func (d *dryRun) Letter(o *vhost.Order, x *vhost.Seen) (sees, may bool) {
	return d.r.caller.Letter(d.machine, d.r.names[0], o, x)
}

// scan looks at messages as the job would, up to most. It asks for nothing but the machine.
func (d *dryRun) scan(most uint64) (*tried, error) {
	t, cursor := d.begin(&tried{partial: true}), uint64(0)
	for t.partial && t.Looked < most && !d.budget.Spent() {
		err := d.look(func(v *vhost.VHost) (refused *amqp.Error) {
			cursor, t.partial, refused = v.TryRedrive(d.order, d.wall, cursor, trialPortion, &t.RedriveTrial)
			return refused
		})
		if err != nil {
			return nil, err
		}
	}
	return t, nil
}

// listed looks at the letters that the index knows to match; nil if it cannot tell. It tells all only if it knows of as many letters as there
// are messages: a job by filter takes those, too, that never died.
func (d *dryRun) listed() (*tried, error) {
	if d.order.IDs != nil || d.order.Filter == "" {
		return nil, nil
	}
	f, err := d.r.siftBy(d.order.Filter)
	if err != nil {
		return nil, err
	}
	l, err := d.r.server.options.Index.List(d.r.Context(), d.r.names[0], d.order.Source, f, trialMost)
	if l == nil || err != nil {
		return nil, err
	}
	if d.order.Newest {
		slices.Reverse(l.IDs)
	}
	t := d.begin(&tried{listing: l})
	left := l.IDs
	wants := func() bool { return len(left) > 0 && (d.order.Max == 0 || t.Matches < d.order.Max) }
	for first := true; first || wants() && !d.budget.Spent(); first = false {
		err := d.look(func(v *vhost.VHost) *amqp.Error {
			n, refused := v.TryRedriveOf(d.order, d.wall, left[:min(trialPortion, len(left))], &t.RedriveTrial)
			left = left[n:]
			return refused
		})
		if err != nil {
			return nil, err
		}
	}
	t.whole = l.Known >= int64(t.There) && l.State.Behind == 0 && !l.Partial
	t.partial = wants() || (!t.whole || int64(len(l.IDs)) < l.Matches) && (d.order.Max == 0 || t.Matches < d.order.Max)
	return t, nil
}

// look runs fn in the loop of the virtual host, and lets others have it for a while then.
func (d *dryRun) look(fn func(*vhost.VHost) *amqp.Error) error {
	var refused *amqp.Error
	var took time.Duration
	err := d.r.look(d.r.names[0], func(v *vhost.VHost) {
		began := time.Now()
		defer func() { took = time.Since(began) }()
		d.machine = v
		refused = fn(v)
		options, _ := v.Options()
		d.shelf, d.room = v.Shelf(), options.LostLettersMaxBytes
	})
	if err == nil && refused != nil {
		err = plainly(refused)
	}
	if err == nil {
		err = d.r.rest(took)
	}
	return err
}

func showSample(x *vhost.RedriveSample) api.RedriveSample {
	shown := api.RedriveSample{ID: letterID(x.ID), Queues: x.Queues}
	if x.Why != 0 {
		shown.Refused = x.Why.String()
	}
	return shown
}
