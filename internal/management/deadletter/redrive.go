package deadletter

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/management/message"
	"github.com/bartleby-mq/bartleby/internal/management/web"
	"github.com/bartleby-mq/bartleby/internal/vhost"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

func (s *API) redriveEndpoints() []web.Endpoint {
	return []web.Endpoint{
		{
			Pattern: "POST x/redrives/{vhost}", Tag: authz.Management, Serve: s.postRedrive, Relieves: true, Scope: web.Leader,
			Summary: "Starts a job; with dry_run only reports what it would do (200)",
			In:      api.PostRedrive{}, Out: api.Redrive{},
		},
	}
}

// postRedrive starts a job that redrives or discards messages; with dry_run it only reports what the job would do.
func (s *API) postRedrive(r *web.Request) (web.Answer, error) {
	if err := r.Enter(r.PathValue("vhost")); err != nil {
		return web.Answer{}, err
	}
	var body api.PostRedrive
	if err := r.ReadKnown(&body); err != nil {
		return web.Answer{}, err
	}
	o, err := specOfBody(r, &body)
	if err != nil {
		return web.Answer{}, err
	}
	may := func(m authz.Machine) error { return r.Caller.BeginJob(m, r.PathValue("vhost"), o) }
	if err := r.Allowed(r.PathValue("vhost"), may); err != nil {
		return web.Answer{}, err
	}
	if !body.DryRun {
		if err := needForce(r, o); err != nil {
			return web.Answer{}, err
		}
		return s.begin(r, o)
	}
	r.Unchanged = true
	if err := r.BeginTask(); err != nil {
		return web.Answer{}, err
	}
	t, err := s.dryRun(r, o)
	if err != nil {
		return web.Answer{}, err
	}
	return web.OK(t)
}

// begin starts the job, and shows it.
func (s *API) begin(r *web.Request, o *vhost.JobSpec) (web.Answer, error) {
	effects, err := r.Do(r.PathValue("vhost"), vhost.Command{Kind: vhost.BeginRedrive, JobSpec: o})
	if err != nil {
		return web.Answer{}, web.AsBadRequest(err)
	}
	done := slices.IndexFunc(effects, func(e vhost.Effect) bool { return e.Kind == vhost.Done && e.Command == vhost.BeginRedrive })
	if done < 0 {
		return web.Answer{}, web.BadRequest("the redrive did not start")
	}
	id := effects[done].Count
	var j vhost.Job
	found := false
	if err := r.Look(r.PathValue("vhost"), func(v vhost.Reader) { j, found = v.RedriveJob(fact.JobID(id)) }); err != nil {
		return web.Answer{}, err
	}
	if !found {
		return web.Answer{}, web.ErrNotFound
	}
	shown := s.showRedrive(r, r.PathValue("vhost"), &j)
	if r.Detail, err = web.Encode(begun{
		ID: shown.ID, Action: shown.Action, Source: shown.Source, IDs: shown.IDs, Filter: shown.Filter, Max: shown.Max, Target: shown.Target,
		Options: shown.Options, Total: shown.Total,
	}); err != nil {
		return web.Answer{}, err
	}
	at := r.PathPrefix + api.Path("x", "redrives", r.PathValue("vhost"), strconv.FormatUint(uint64(id), 10))
	return web.Answer{Status: http.StatusAccepted, Body: shown, Header: http.Header{"Location": {at}}}, nil
}

// begun is the record of a job in the audit log.
type begun struct {
	ID      int64              `json:"id"`
	Action  string             `json:"action"`
	Source  api.RedriveSource  `json:"source"`
	IDs     int                `json:"ids"`
	Filter  string             `json:"filter"`
	Max     int64              `json:"max"`
	Target  api.RedriveTarget  `json:"target"`
	Options api.RedriveOptions `json:"options"`
	Total   int64              `json:"total"`
}

// specOfBody is the job that a body asks for.
func specOfBody(r *web.Request, body *api.PostRedrive) (*vhost.JobSpec, error) {
	o := &vhost.JobSpec{
		User: r.Caller.Name(), Source: vhost.Where{Queue: body.Source.Queue, Lost: bool(body.Source.Lost)}, Filter: body.Filter,
		Ramp: bool(body.Options.Ramp), StopNoConsumer: bool(body.Options.StopNoConsumer),
		StripDeaths: bool(body.Options.StripDeaths), DropExpiration: bool(body.Options.DropExpiration),
		Force: bool(body.Force),
	}
	if o.Source.Lost == (o.Source.Queue != "") {
		return nil, web.BadRequest("'source' must have either 'queue' or 'lost'")
	}
	if _, err := r.ParseFilter(o.Filter); err != nil {
		return nil, err
	}
	switch body.Action {
	case "", actionRedrive:
	case actionDiscard:
		o.Discard = true
	default:
		return nil, web.BadRequest("action must be redrive or discard, not '%s'", body.Action)
	}
	switch body.Options.Order {
	case "", oldestFirst:
	case newestWord:
		o.Newest = true
	default:
		return nil, web.BadRequest("order must be oldest or newest, not '%s'", body.Options.Order)
	}
	for _, n := range []struct {
		name  string
		given api.Integer
		to    *uint64
	}{
		{"max", body.Max, &o.Max}, {"rate", body.Options.Rate, &o.Rate}, {"canary", body.Options.Canary, &o.Canary},
		{"watch_ms", body.Options.WatchMS, &o.Watch}, {"stop_percent", body.Options.StopShare, &o.StopPercent},
	} {
		var err error
		if *n.to, err = amount(n.name, n.given); err != nil {
			return nil, err
		}
	}
	if o.Ramp && o.Canary == 0 {
		return nil, web.BadRequest("'ramp' requires 'canary'")
	}
	var err error
	if o.IDs, err = readIDs(body.IDs); err != nil {
		return nil, err
	}
	if o.IDs != nil && o.Filter != "" {
		return nil, web.BadRequest("give either 'ids' or 'filter', not both")
	}
	return o, readTarget(r, o, &body.Target)
}

// amount reads a number that is not negative.
func amount(name string, n api.Integer) (uint64, error) {
	if n < 0 {
		return 0, web.BadRequest("%s must not be negative", name)
	}
	return uint64(n), nil
}

// readIDs reads IDs; nil if none are given. An empty list means no message, not all.
func readIDs(ids []api.MessageID) ([]uint64, error) {
	if ids == nil {
		return nil, nil
	}
	if len(ids) == 0 {
		return nil, web.BadRequest("'ids' must not be empty")
	}
	if len(ids) > vhost.JobIDsMax {
		return nil, web.BadRequest("%d ids exceed the limit of %d: use a filter", len(ids), vhost.JobIDsMax)
	}
	numbers := make([]uint64, len(ids))
	for i, text := range ids {
		n, err := strconv.ParseUint(string(text), 10, 64)
		if err != nil || n == 0 {
			return nil, web.BadRequest("'%s' is not a message id", text)
		}
		numbers[i] = n
	}
	return numbers, nil
}

// readTarget reads the target of a job.
func readTarget(r *web.Request, o *vhost.JobSpec, to *api.RedriveTarget) error {
	where := cmp.Or(to.To, toQueueOf)
	if where != toElsewhere && (to.Exchange != nil || to.RoutingKey != nil) || where != toQueueOf && to.Queue != "" {
		return web.BadRequest("the target '%s' does not match its parameters: 'queue' requires to=queue, 'exchange' and 'routing_key' require to=elsewhere", where)
	}
	switch where {
	case toOrigin:
		o.Target = vhost.TargetOrigin
	case on:
		if o.Target = vhost.TargetOnward; !o.Source.Lost {
			return web.BadRequest("the target 'on' is for lost letters only")
		}
	case toQueueOf:
		o.Target, o.Queue = vhost.TargetQueue, to.Queue
		return needTarget(r, to.Queue, func(v vhost.Reader) bool { _, found := v.Topology().Queue(to.Queue); return found }, "queue")
	case toElsewhere:
		return elsewhere(r, o, to)
	default:
		return web.BadRequest("the target must be to queue, origin, elsewhere or on, not '%s'", where)
	}
	return nil
}

func elsewhere(r *web.Request, o *vhost.JobSpec, to *api.RedriveTarget) error {
	if err := web.NeedKeys(web.Needed("exchange", to.Exchange != nil)); err != nil {
		return err
	}
	o.Target, o.Exchange, o.Keys = vhost.TargetExchange, web.ExchangeName(*to.Exchange), to.RoutingKey == nil
	if to.RoutingKey != nil {
		o.Key = *to.RoutingKey
		if err := message.CheckRoutingKey(o.Key); err != nil {
			return err
		}
	}
	return needTarget(r, o.Exchange, func(v vhost.Reader) bool { return v.Topology().Exchange(o.Exchange) != nil }, "exchange")
}

// needTarget refuses a target that does not exist. The default exchange always exists.
func needTarget(r *web.Request, name string, there func(vhost.Reader) bool, what string) error {
	found := name == ""
	if !found {
		if err := r.Look(r.PathValue("vhost"), func(v vhost.Reader) { found = there(v) }); err != nil {
			return err
		}
	}
	if !found {
		return web.NotFound(what)
	}
	return nil
}
