package management

import (
	"net/http"
	"slices"
	"strconv"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// postRedrive begins a job that sends letters back or discards them, or tells what it would do.
func postRedrive(r *request) (answer, error) {
	if err := r.enter(r.names[0]); err != nil {
		return answer{}, err
	}
	var body api.PostRedrive
	if err := r.readKnown(&body); err != nil {
		return answer{}, err
	}
	o, err := r.order(&body)
	if err != nil {
		return answer{}, err
	}
	may := func(m authz.Machine) error { return r.caller.BeginJob(m, r.names[0], o) }
	if err := r.allowed(r.names[0], may); err != nil {
		return answer{}, err
	}
	if !body.DryRun {
		return r.begin(o)
	}
	if err := r.takeTurn(); err != nil {
		return answer{}, err
	}
	t, err := r.trial(o)
	if err != nil {
		return answer{}, err
	}
	return ok(t)
}

// begin begins the job, and shows it.
func (r *request) begin(o *vhost.Order) (answer, error) {
	effects, err := r.do(r.names[0], vhost.Command{Kind: vhost.BeginRedrive, Order: o})
	if err != nil {
		return answer{}, plainly(err)
	}
	done := slices.IndexFunc(effects, func(e vhost.Effect) bool { return e.Kind == vhost.Done && e.Command == vhost.BeginRedrive })
	if done < 0 {
		return answer{}, badRequest("the redrive did not start")
	}
	id := effects[done].Count
	var j vhost.Job
	found := false
	if err := r.look(r.names[0], func(v *vhost.VHost) { j, found = v.RedriveJob(vhost.JobID(id)) }); err != nil {
		return answer{}, err
	}
	if !found {
		return answer{}, errNotFound
	}
	shown := r.showRedrive(r.names[0], &j)
	if r.detail, err = encode(begun{
		ID: shown.ID, Action: shown.Action, Source: shown.Source, IDs: shown.IDs, Filter: shown.Filter, Max: shown.Max, Target: shown.Target,
		Options: shown.Options, Total: shown.Total,
	}); err != nil {
		return answer{}, err
	}
	at := r.server.options.PathPrefix + api.Path("x", "redrives", r.names[0], strconv.FormatUint(uint64(id), 10))
	return answer{status: http.StatusAccepted, body: shown, header: http.Header{"Location": {at}}}, nil
}

// begun is what the audit log says of a job.
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

// order reads what a body asks for.
func (r *request) order(body *api.PostRedrive) (*vhost.Order, error) {
	o := &vhost.Order{
		User: r.caller.Name(), Source: vhost.Where{Queue: body.Source.Queue, Lost: bool(body.Source.Lost)}, Filter: body.Filter,
		Ramp: bool(body.Options.Ramp), StopNoConsumer: bool(body.Options.StopNoConsumer),
		StripDeaths: bool(body.Options.StripDeaths), DropExpiration: bool(body.Options.DropExpiration),
	}
	if o.Source.Lost == (o.Source.Queue != "") {
		return nil, badRequest("'source' must have either 'queue' or 'lost'")
	}
	if _, err := r.siftBy(o.Filter); err != nil {
		return nil, err
	}
	switch body.Action {
	case "", actionRedrive:
	case actionDiscard:
		o.Discard = true
	default:
		return nil, badRequest("action must be redrive or discard, not '%s'", body.Action)
	}
	switch body.Options.Order {
	case "", oldestFirst:
	case newestWord:
		o.Newest = true
	default:
		return nil, badRequest("order must be oldest or newest, not '%s'", body.Options.Order)
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
		return nil, badRequest("'ramp' requires 'canary'")
	}
	var err error
	if o.IDs, err = letterNumbers(body.IDs); err != nil {
		return nil, err
	}
	if o.IDs != nil && o.Filter != "" {
		return nil, badRequest("give either 'ids' or 'filter', not both")
	}
	return o, r.target(o, &body.Target)
}

// amount reads a number that is not negative.
func amount(name string, n api.Integer) (uint64, error) {
	if n < 0 {
		return 0, badRequest("%s must not be negative", name)
	}
	return uint64(n), nil
}

// letterNumbers reads IDs; nil if none are given. An empty list names none, and is not to mean all.
func letterNumbers(ids []api.LetterID) ([]uint64, error) {
	if ids == nil {
		return nil, nil
	}
	if len(ids) == 0 {
		return nil, badRequest("'ids' must not be empty")
	}
	if len(ids) > vhost.OrderIDsMax {
		return nil, badRequest("%d ids exceed the limit of %d: use a filter", len(ids), vhost.OrderIDsMax)
	}
	numbers := make([]uint64, len(ids))
	for i, text := range ids {
		n, err := strconv.ParseUint(string(text), 10, 64)
		if err != nil || n == 0 {
			return nil, badRequest("'%s' is not a message id", text)
		}
		numbers[i] = n
	}
	return numbers, nil
}

// target reads where letters are to go.
func (r *request) target(o *vhost.Order, to *api.RedriveTarget) error {
	where := to.To
	switch {
	case where == "" && o.Source.Lost:
		where = on
	case where == "":
		where = toOrigin
	}
	if where != toElsewhere && (to.Exchange != nil || to.RoutingKey != nil) || where != toQueueOf && to.Queue != "" {
		return badRequest("the target '%s' does not match its parameters: 'queue' requires to=queue, 'exchange' and 'routing_key' require to=elsewhere", where)
	}
	switch where {
	case toOrigin:
	case on:
		if o.Way = vhost.WayOn; !o.Source.Lost {
			return badRequest("the target 'on' is for lost letters only")
		}
	case toQueueOf:
		o.Way, o.Queue = vhost.WayQueue, to.Queue
		return r.needTarget(to.Queue, func(v *vhost.VHost) bool { _, found := v.Topology().Queue(to.Queue); return found }, "queue")
	case toElsewhere:
		return r.elsewhere(o, to)
	default:
		return badRequest("the target must be to origin, queue, elsewhere or on, not '%s'", where)
	}
	return nil
}

func (r *request) elsewhere(o *vhost.Order, to *api.RedriveTarget) error {
	if err := needKeys(key{"exchange", to.Exchange != nil}); err != nil {
		return err
	}
	o.Way, o.Exchange, o.Keys = vhost.WayElsewhere, exchangeNamed(*to.Exchange), to.RoutingKey == nil
	if to.RoutingKey != nil {
		o.Key = *to.RoutingKey
		if err := checkRoutingKey(o.Key); err != nil {
			return err
		}
	}
	return r.needTarget(o.Exchange, func(v *vhost.VHost) bool { return v.Topology().Exchange(o.Exchange) != nil }, "exchange")
}

// needTarget refuses a target that is not there. The nameless one always is.
func (r *request) needTarget(name string, there func(*vhost.VHost) bool, what string) error {
	found := name == ""
	if !found {
		if err := r.look(r.names[0], func(v *vhost.VHost) { found = there(v) }); err != nil {
			return err
		}
	}
	if !found {
		return notFound(what)
	}
	return nil
}
