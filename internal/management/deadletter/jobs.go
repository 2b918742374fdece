package deadletter

import (
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/management/web"
	"github.com/bartleby-mq/bartleby/internal/vhost"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

func (s *API) jobEndpoints() []web.Endpoint {
	return []web.Endpoint{
		{
			Pattern: "GET x/redrives/{vhost}", Tag: authz.Management, Serve: s.Redrives, Scope: web.Leader,
			Summary: "Redrive and discard jobs, newest first", Out: api.List[api.Redrive]{},
		},
		{
			Pattern: "GET x/redrives/{vhost}/{job}", Tag: authz.Management, Serve: s.getRedrive, Scope: web.Leader,
			Summary: "One job", Out: api.Redrive{},
		},
		{
			Pattern: "PATCH x/redrives/{vhost}/{job}", Tag: authz.Management, Serve: s.patchRedrive, Scope: web.Leader,
			Summary: "Sets the rate of a job", In: api.PatchRedrive{}, Out: api.Redrive{},
		},
		{
			Pattern: "DELETE x/redrives/{vhost}/{job}", Tag: authz.Management, Serve: s.jobAction(vhost.JobForget), Scope: web.Leader,
			Summary: "Deletes a finished job from the history",
		},
		{
			Pattern: "POST x/redrives/{vhost}/{job}/pause", Tag: authz.Management, Serve: s.jobAction(vhost.JobPause), Scope: web.Leader,
			Summary: "Pauses a job", Out: api.Redrive{},
		},
		{
			Pattern: "POST x/redrives/{vhost}/{job}/resume", Tag: authz.Management, Serve: s.jobAction(vhost.JobResume), Scope: web.Leader,
			Summary: "Resumes a job", Out: api.Redrive{},
		},
		{
			Pattern: "POST x/redrives/{vhost}/{job}/cancel", Tag: authz.Management, Serve: s.jobAction(vhost.JobCancel), Scope: web.Leader,
			Summary: "Cancels a job", Out: api.Redrive{},
		},
	}
}

// The names of actions and targets of jobs.
const (
	actionRedrive, actionDiscard         = "redrive", "discard"
	toOrigin, toQueueOf, toElsewhere, on = "origin", "queue", "elsewhere", "on"
	oldestFirst, newestWord              = "oldest", "newest"
)

// showRedrive renders a job.
func (s *API) showRedrive(r *web.Request, host string, j *vhost.Job) api.Redrive {
	shown := api.Redrive{
		ID: int64(j.ID), VHost: host, User: j.User, Action: actionRedrive, Source: api.RedriveSource{Queue: j.Source.Queue, Lost: api.Flag(j.Source.Lost)},
		IDs: len(j.IDs), Filter: j.Filter, Max: int64(j.Max), Target: showTarget(&j.JobSpec), Force: j.Force,
		State: j.State.String(), Why: j.Note,
		Options: api.RedriveOptions{
			Rate: api.Integer(j.Progress.Rate), Order: oldestFirst, Canary: api.Integer(j.Canary), WatchMS: api.Integer(j.Watch), Ramp: api.Flag(j.Ramp),
			StopShare: api.Integer(j.StopPercent), StopNoConsumer: api.Flag(j.StopNoConsumer), StripDeaths: api.Flag(j.StripDeaths),
			DropExpiration: api.Flag(j.DropExpiration),
		},
		Begun: web.FormatMS(int64(j.Begun)), Looked: int64(j.Looked), Moved: int64(j.Moved), Refused: showRefused(func(w vhost.SkipReason) uint64 { return j.Refused[w] }),
		CameBack: int64(j.CameBack), Matched: int64(takenOf(j)), Left: leftOf(j), Total: int64(j.Total),
	}
	if j.Discard {
		shown.Action = actionDiscard
	}
	if j.Newest {
		shown.Options.Order = newestWord
	}
	if j.Ended != 0 {
		at := web.FormatMS(int64(j.Ended))
		shown.Ended = &at
	}
	if j.State == vhost.JobRunning {
		shown.Rate = s.rates.of(host, j, time.Now())
		if left := shown.Total - shown.Looked; shown.Rate > 0 && left >= 0 {
			ms := int64(float64(left) / shown.Rate * 1000)
			shown.ETA = &ms
		}
	}
	return shown
}

// takenOf is how many messages a job has moved, discarded or refused: those that matched.
func takenOf(j *vhost.Job) uint64 {
	n := j.Moved
	for _, k := range j.Refused {
		n += k
	}
	return n
}

// leftOf is how many messages a job will still take at most, nil if that is not known.
func leftOf(j *vhost.Job) *int64 {
	taken := takenOf(j)
	left := int64(j.Total) - int64(j.Looked)
	switch {
	case j.Finished, j.State == vhost.JobDone, left <= 0, j.Max > 0 && taken >= j.Max:
		left = 0
	case j.Filter != "":
		return nil
	case j.Max > 0:
		left = min(left, int64(j.Max-taken))
	}
	return &left
}

func showTarget(o *vhost.JobSpec) api.RedriveTarget {
	switch o.Target {
	case vhost.TargetQueue:
		return api.RedriveTarget{To: toQueueOf, Queue: o.Queue}
	case vhost.TargetOnward:
		return api.RedriveTarget{To: on}
	case vhost.TargetExchange:
		to := api.RedriveTarget{To: toElsewhere, Exchange: &o.Exchange}
		if !o.Keys {
			to.RoutingKey = &o.Key
		}
		return to
	}
	return api.RedriveTarget{To: toOrigin}
}

// showRefused counts the messages that were not redriven, by reason.
func showRefused(count func(vhost.SkipReason) uint64) api.Object[int64] {
	shown := api.Object[int64]{}
	for _, w := range vhost.SkipReasons() {
		if n := count(w); n > 0 {
			shown[w.String()] = int64(n)
		}
	}
	return shown
}

// rates remembers the progress of jobs at earlier requests, to compute their rates.
type rates struct {
	mu struct {
		sync.Mutex
		jobs map[pacedJob]rateSample
	}
}

type pacedJob struct {
	vhost string
	id    fact.JobID
}

// A rateSample is computed from two observations, at least rateSpan apart.
type rateSample struct {
	at     time.Time
	looked uint64
	last   float64 // messages per second, between the two observations before
}

// of returns the recent rate of a job in messages per second; 0 if it is not known.
func (p *rates) of(host string, j *vhost.Job, now time.Time) float64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	name := pacedJob{host, j.ID}
	old, known := p.mu.jobs[name]
	switch took := now.Sub(old.at); {
	case !known || took > 10*rateSpan || j.Looked < old.looked:
		if p.mu.jobs == nil || len(p.mu.jobs) > ratesMax {
			p.mu.jobs = map[pacedJob]rateSample{}
		}
		p.mu.jobs[name] = rateSample{at: now, looked: j.Looked}
		return 0
	case took < rateSpan:
		return old.last
	default:
		n := rateSample{at: now, looked: j.Looked, last: float64(j.Looked-old.looked) / took.Seconds()}
		p.mu.jobs[name] = n
		return n.last
	}
}

// Redrives lists the jobs of a virtual host, newest first, with the ended ones that are still in the history.
func (s *API) Redrives(r *web.Request) (web.Answer, error) {
	if err := r.Enter(r.PathValue("vhost")); err != nil {
		return web.Answer{}, err
	}
	var jobs []vhost.Job
	if err := r.Look(r.PathValue("vhost"), func(v vhost.Reader) { jobs = v.Redrives() }); err != nil {
		return web.Answer{}, err
	}
	var all []api.Redrive
	for i := range jobs {
		if r.Caller.SeeJob(r.PathValue("vhost"), &jobs[i]) {
			all = append(all, s.showRedrive(r, r.PathValue("vhost"), &jobs[i]))
		}
	}
	return web.List(r, all, func(j *api.Redrive) string { return j.Source.Queue })
}

// noJob refuses a job that does not exist.
func noJob(format string, args ...any) error {
	return &api.Error{Status: http.StatusNotFound, Kind: web.ErrNotFound.Kind, Reason: fmt.Sprintf(format, args...)}
}

// job finds the one that the path names.
func job(r *web.Request) (j vhost.Job, err error) {
	if err := r.Enter(r.PathValue("vhost")); err != nil {
		return j, err
	}
	id, err := strconv.ParseUint(r.PathValue("job"), 10, 64)
	if err != nil {
		return j, noJob("'%s' is not the number of a job", r.PathValue("job"))
	}
	found := false
	err = r.Look(r.PathValue("vhost"), func(v vhost.Reader) { j, found = v.RedriveJob(fact.JobID(id)) })
	switch {
	case err != nil:
		return j, err
	case !found:
		return j, noJob("job %d does not exist in virtual host '%s'", id, r.PathValue("vhost"))
	}
	return j, r.Caller.NeedJob(r.PathValue("vhost"), &j)
}

func (s *API) getRedrive(r *web.Request) (web.Answer, error) {
	j, err := job(r)
	if err != nil {
		return web.Answer{}, err
	}
	return web.OK(s.showRedrive(r, r.PathValue("vhost"), &j))
}

// changeJob changes the job that the path names, and shows the result. Only its owner and administrators may. To resume
// it or to change its rate, they also need the rights to start it.
func (s *API) changeJob(r *web.Request, c vhost.JobChange) (web.Answer, error) {
	j, err := job(r)
	if err != nil {
		return web.Answer{}, err
	}
	may := func(m authz.Machine) error { return r.Caller.ChangeJob(m, r.PathValue("vhost"), &j, c.Action) }
	if err := r.Allowed(r.PathValue("vhost"), may); err != nil {
		return web.Answer{}, err
	}
	if j.State.Ended() != (c.Action == vhost.JobForget) {
		return web.Answer{}, &api.Error{Status: http.StatusConflict, Kind: "conflict", Reason: "redrive " + r.PathValue("job") + " is " + j.State.String()}
	}
	c.Job, c.Note = j.ID, r.Caller.Name()
	if _, err := r.Do(r.PathValue("vhost"), vhost.Command{Kind: vhost.ChangeRedrive, JobChange: &c}); err != nil {
		return web.Answer{}, web.AsBadRequest(err)
	}
	if c.Action == vhost.JobForget {
		return web.NoContent()
	}
	return s.getRedrive(r)
}

func (s *API) jobAction(action vhost.JobAction) web.Handler {
	return func(r *web.Request) (web.Answer, error) { return s.changeJob(r, vhost.JobChange{Action: action}) }
}

// patchRedrive sets the rate of a job.
func (s *API) patchRedrive(r *web.Request) (web.Answer, error) {
	var body api.PatchRedrive
	if err := r.ReadKnown(&body); err != nil {
		return web.Answer{}, err
	}
	if err := web.NeedKeys(web.Needed("rate", body.Rate != nil)); err != nil {
		return web.Answer{}, err
	}
	rate, err := amount("rate", *body.Rate)
	if err != nil {
		return web.Answer{}, err
	}
	return s.changeJob(r, vhost.JobChange{Action: vhost.JobRate, Rate: rate})
}
