package deadletter

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/fairshare"
	"github.com/bartleby-mq/bartleby/internal/management/web"
	"github.com/bartleby-mq/bartleby/internal/search"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// A dryRunner computes the effect of a job, within the limits of one request.
type dryRunner struct {
	index        *search.Index
	r            *web.Request
	spec         *vhost.JobSpec
	wall         int64
	budget       fairshare.Budget
	portion      func(*tried) error // tries the next messages of the source
	lost         vhost.LostCounts
	spaceForLost int64 // for lost letters

	machine authz.Machine // of the look under way
}

// A tried is the result of a dry run.
type tried struct {
	vhost.RedriveDryRun
	partial bool
	cursor  uint64          // where it goes on
	listing *search.Listing // nil: without the index
	whole   bool            // the listing has all messages that the source has
}

// needForce refuses a job that would send messages to the queue where they are, unless its user forces that. It takes
// no turn, so it looks at the first messages of the source only: others the job leaves where they are.
func needForce(r *web.Request, o *vhost.JobSpec) error {
	if o.Force || o.Discard || o.Source.Lost {
		return nil
	}
	d := &dryRunner{r: r, spec: o}
	t := d.begin(&tried{})
	var refused *amqp.Error
	err := r.Look(r.PathValue("vhost"), func(v vhost.Reader) {
		d.machine = v
		_, t.partial, refused = v.DryRunRedrive(o, r.Engine.Now().UnixMilli(), 0, dryRunPortion, &t.RedriveDryRun)
	})
	switch n := t.Refused[vhost.SkipSameQueue]; {
	case err != nil:
		return err
	case refused != nil:
		return web.AsBadRequest(refused)
	case n > 0 && t.partial:
		return errSameQueue("at least %d messages would go to queue '%s', where they are now", n, o.Source.Queue)
	case n > 0:
		return errSameQueue("%d messages would go to queue '%s', where they are now", n, o.Source.Queue)
	}
	return nil
}

// errSameQueue refuses to send messages to where they are.
func errSameQueue(format string, args ...any) error {
	reason := fmt.Sprintf(format, args...) + ": this requires 'force'"
	return &api.Error{Status: http.StatusConflict, Kind: vhost.SkipSameQueue.String(), Reason: reason}
}

// counted shows numbers by queue.
func counted(all map[string]uint64) api.Object[int64] {
	shown := api.Object[int64]{}
	for name, n := range all {
		shown[name] = int64(n)
	}
	return shown
}

// dryRun computes what a job would do.
func (s *API) dryRun(r *web.Request, o *vhost.JobSpec) (*api.RedriveTrial, error) {
	d := &dryRunner{index: s.index, r: r, spec: o, wall: r.Engine.Now().UnixMilli(), budget: r.Task.Budget(dryRunTimeout)}
	d.portion = d.tryPortion
	t := d.begin(&tried{partial: true})
	err := d.scan(t, dryRunFew)
	if err == nil && t.partial {
		t, err = d.further(t)
	}
	if err != nil {
		return nil, err
	}
	shown := &api.RedriveTrial{
		Looked: int64(t.Looked), Matches: int64(t.Matches), Partial: t.partial, Refused: showRefused(func(w vhost.SkipReason) uint64 { return t.Refused[w] }),
		Queues: counted(t.Queues), NeverDied: counted(t.NeverDied), Pushed: counted(t.PushedOut),
		Fits: !o.Discard || o.Source.Lost || d.lost.Bytes+t.Bytes <= d.spaceForLost,
	}
	if l := t.listing; l != nil {
		shown.Index = showIndex(&l.State)
		if l.Sure && t.whole && r.Caller.AllMessages(r.PathValue("vhost"), o) {
			shown.Found = &l.Matches
		}
	}
	if shown.NoConsumers, err = d.unserved(slices.Sorted(maps.Keys(t.Queues))); err != nil {
		return nil, err
	}
	if shown.DeadLetterQueues, err = s.deadLetterQueues(r, shown.NoConsumers); err != nil {
		return nil, err
	}
	if shown.Expiring, err = d.expiring(t.Sample, shown.NoConsumers); err != nil {
		return nil, err
	}
	for _, x := range t.Sample {
		shown.Sample = append(shown.Sample, showSample(&x))
	}
	return shown, nil
}

// deadLetterQueues returns those of the queues that are dead-letter queues.
func (s *API) deadLetterQueues(r *web.Request, names []string) ([]string, error) {
	if len(names) == 0 {
		return nil, nil
	}
	h, err := r.VHost(r.PathValue("vhost"))
	if err != nil {
		return nil, err
	}
	return s.reader.DeadLetterQueues(r.Context(), h, names)
}

// unserved returns those of the queues that have no consumers.
func (d *dryRunner) unserved(names []string) (without api.List[string], err error) {
	for some := range slices.Chunk(names, dryRunPortion) {
		err := d.look(func(v vhost.Reader) *amqp.Error {
			without = append(without, unserved(v, some)...)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return without, nil
}

// unserved returns those of the queues that have no consumers.
func unserved(v vhost.Reader, names []string) (without []string) {
	for _, name := range names {
		if q, found := v.Queue(name); found && q.Consumers == 0 {
			without = append(without, name)
		}
	}
	return without
}

// expiring returns those of the queues without consumers to which sampled messages would return with an expiration, in
// order.
func (d *dryRunner) expiring(sample []vhost.RedriveSample, unserved []string) (names api.List[string], err error) {
	if d.spec.DropExpiration || len(unserved) == 0 {
		return nil, nil
	}
	err = d.look(func(v vhost.Reader) *amqp.Error {
		for i := range sample {
			if x, ok := v.Find(d.spec.Source, sample[i].ID); ok && keepsExpiration(d.spec, &x) {
				names = append(names, sample[i].Queues...)
			}
		}
		return nil
	})
	slices.Sort(names)
	names = slices.DeleteFunc(slices.Compact(names), func(name string) bool { return !slices.Contains(unserved, name) })
	return names, err
}

// keepsExpiration reports whether a job gives a message the expiration of its publisher again: where it is worked on,
// not in other queues of dead letters.
func keepsExpiration(o *vhost.JobSpec, x *vhost.Seen) bool {
	p, _, err := publishedWith(x)
	if err != nil || p.Has&amqp.FlagExpiration == 0 {
		return false
	}
	h := x.WholeHistory()
	return h == nil || len(h.Deaths) == 0 || o.Target == vhost.TargetOrigin ||
		o.Target == vhost.TargetQueue && (o.Queue == "" || o.Queue == x.CameFrom().Queue)
}

// further goes on with a job whose source is large: by the index if that can tell, else message by message. Of two
// that have not come to an end the one is taken that found more.
func (d *dryRunner) further(few *tried) (*tried, error) {
	byIndex, err := d.listed()
	if err != nil || byIndex != nil && !byIndex.partial {
		return byIndex, err
	}
	err = d.scan(few, dryRunMax)
	if err != nil || byIndex == nil || !few.partial || few.Matches >= byIndex.Matches {
		return few, err
	}
	return byIndex, nil
}

// begin makes the dry run check the caller's rights as of the request's arrival.
func (d *dryRunner) begin(t *tried) *tried {
	t.Rights = d
	return t
}

// Job implements vhost.Rights: a dry run allows every job.
func (d *dryRunner) Job(*vhost.JobSpec) error { return nil }

// Message implements vhost.Rights.
func (d *dryRunner) Message(o *vhost.JobSpec, x *vhost.Seen) (sees, may bool) {
	return d.r.Caller.Message(d.machine, d.r.PathValue("vhost"), o, x)
}

// scan goes on with reading messages as the job would, until it has looked at so many or the budget is spent; it reads
// one portion in any case. It does not use the index.
func (d *dryRunner) scan(t *tried, most uint64) error {
	for first := true; t.partial && t.Looked < most && (first || !d.budget.Spent()); first = false {
		if err := d.portion(t); err != nil {
			return err
		}
	}
	return nil
}

func (d *dryRunner) tryPortion(t *tried) error {
	return d.look(func(v vhost.Reader) (refused *amqp.Error) {
		t.cursor, t.partial, refused = v.DryRunRedrive(d.spec, d.wall, t.cursor, dryRunPortion, &t.RedriveDryRun)
		return refused
	})
}

// listed reads the dead letters that match by the index; nil if the index cannot be used. The result is complete only
// if the index has as many dead letters as the source has messages: a job by filter also takes messages that never
// died.
func (d *dryRunner) listed() (*tried, error) {
	if d.spec.IDs != nil || d.spec.Filter == "" {
		return nil, nil
	}
	f, err := d.r.ParseFilter(d.spec.Filter)
	if err != nil {
		return nil, err
	}
	l, err := d.index.List(d.r.Context(), d.r.PathValue("vhost"), d.spec.Source, f, dryRunMax)
	if l == nil || err != nil {
		return nil, err
	}
	if d.spec.Newest {
		slices.Reverse(l.IDs)
	}
	t := d.begin(&tried{listing: l})
	left := l.IDs
	wants := func() bool { return len(left) > 0 && (d.spec.Max == 0 || t.Matches < d.spec.Max) }
	for first := true; first || wants() && !d.budget.Spent(); first = false {
		err := d.look(func(v vhost.Reader) *amqp.Error {
			n, refused := v.DryRunRedriveOf(d.spec, d.wall, left[:min(dryRunPortion, len(left))], &t.RedriveDryRun)
			left = left[n:]
			return refused
		})
		if err != nil {
			return nil, err
		}
	}
	t.whole = l.Known >= int64(t.There) && l.State.Behind == 0 && !l.Partial
	t.partial = wants() || (!t.whole || int64(len(l.IDs)) < l.Matches) && (d.spec.Max == 0 || t.Matches < d.spec.Max)
	return t, nil
}

// look runs fn on the virtual host, then yields to others for a while.
func (d *dryRunner) look(fn func(vhost.Reader) *amqp.Error) error {
	var refused *amqp.Error
	var took time.Duration
	err := d.r.Look(d.r.PathValue("vhost"), func(v vhost.Reader) {
		began := time.Now()
		defer func() { took = time.Since(began) }()
		d.machine = v
		refused = fn(v)
		options, _ := v.Options()
		d.lost, d.spaceForLost = v.LostStore(), options.LostLettersMaxBytes
	})
	if err == nil && refused != nil {
		err = web.AsBadRequest(refused)
	}
	if err == nil {
		err = d.r.Rest(took)
	}
	return err
}

func showSample(x *vhost.RedriveSample) api.RedriveSample {
	shown := api.RedriveSample{ID: formatID(x.ID), Queues: x.Queues}
	if x.Skipped != 0 {
		shown.Refused = x.Skipped.String()
	}
	return shown
}
