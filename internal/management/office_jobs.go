package management

import (
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// The words of what jobs do and where letters go.
const (
	actionRedrive, actionDiscard         = "redrive", "discard"
	toOrigin, toQueueOf, toElsewhere, on = "origin", "queue", "elsewhere", "on"
	oldestFirst, newestWord              = "oldest", "newest"
)

// jobStates counts the jobs of a virtual host by state.
func jobStates(v *vhost.VHost) map[string]int {
	states := map[string]int{}
	for _, j := range v.Redrives() {
		states[j.State.String()]++
	}
	return states
}

// jobsRate adds up the rates of the jobs of a virtual host that go on.
func jobsRate(v *vhost.VHost) (n uint64) {
	for _, j := range v.Redrives() {
		if j.State == vhost.JobRunning || j.State == vhost.JobWatching {
			n += j.Progress.Rate
		}
	}
	return n
}

// showRedrive renders a job.
func (r *request) showRedrive(host string, j *vhost.Job) api.Redrive {
	shown := api.Redrive{
		ID: int64(j.ID), VHost: host, User: j.User, Action: actionRedrive, Source: api.RedriveSource{Queue: j.Source.Queue, Lost: api.Flag(j.Source.Lost)},
		IDs: len(j.IDs), Filter: j.Filter, Max: int64(j.Max), Target: showTarget(&j.Order), State: j.State.String(), Why: j.Note,
		Options: api.RedriveOptions{
			Rate: api.Integer(j.Progress.Rate), Order: oldestFirst, Canary: api.Integer(j.Canary), WatchMS: api.Integer(j.Watch), Ramp: api.Flag(j.Ramp),
			StopShare: api.Integer(j.StopPercent), StopNoConsumer: api.Flag(j.StopNoConsumer), StripDeaths: api.Flag(j.StripDeaths),
			DropExpiration: api.Flag(j.DropExpiration),
		},
		Begun: iso(int64(j.Begun)), Looked: int64(j.Looked), Moved: int64(j.Moved), Refused: showRefused(func(w vhost.Why) uint64 { return j.Refused[w] }),
		CameBack: int64(j.CameBack), Total: int64(j.Total),
	}
	if j.Discard {
		shown.Action = actionDiscard
	}
	if j.Newest {
		shown.Options.Order = newestWord
	}
	if j.Ended != 0 {
		at := iso(int64(j.Ended))
		shown.Ended = &at
	}
	if j.State == vhost.JobRunning {
		shown.Rate = r.server.paces.of(host, j, time.Now())
		if left := shown.Total - shown.Looked; shown.Rate > 0 && left >= 0 {
			ms := int64(float64(left) / shown.Rate * 1000)
			shown.ETA = &ms
		}
	}
	return shown
}

func showTarget(o *vhost.Order) api.RedriveTarget {
	switch o.Way {
	case vhost.WayQueue:
		return api.RedriveTarget{To: toQueueOf, Queue: o.Queue}
	case vhost.WayOn:
		return api.RedriveTarget{To: on}
	case vhost.WayElsewhere:
		to := api.RedriveTarget{To: toElsewhere, Exchange: &o.Exchange}
		if !o.Keys {
			to.RoutingKey = &o.Key
		}
		return to
	}
	return api.RedriveTarget{To: toOrigin}
}

// showRefused counts by why letters stay.
func showRefused(count func(vhost.Why) uint64) api.Object[int64] {
	shown := api.Object[int64]{}
	for _, w := range vhost.Whys() {
		if n := count(w); n > 0 {
			shown[w.String()] = int64(n)
		}
	}
	return shown
}

// paces remembers how far jobs were when somebody asked, so that their pace can be told.
type paces struct {
	mu struct {
		sync.Mutex
		jobs map[pacedJob]pace
	}
}

type pacedJob struct {
	vhost string
	id    vhost.JobID
}

// A pace is between two observations, at least paceSpan apart.
type pace struct {
	at     time.Time
	looked uint64
	last   float64 // letters per second, between the two before
}

// of is how many letters per second a job looks at lately; 0: it is not known.
func (p *paces) of(host string, j *vhost.Job, now time.Time) float64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	name := pacedJob{host, j.ID}
	old, known := p.mu.jobs[name]
	switch took := now.Sub(old.at); {
	case !known || took > 10*paceSpan || j.Looked < old.looked:
		if p.mu.jobs == nil || len(p.mu.jobs) > pacesMax {
			p.mu.jobs = map[pacedJob]pace{}
		}
		p.mu.jobs[name] = pace{at: now, looked: j.Looked}
		return 0
	case took < paceSpan:
		return old.last
	default:
		n := pace{at: now, looked: j.Looked, last: float64(j.Looked-old.looked) / took.Seconds()}
		p.mu.jobs[name] = n
		return n.last
	}
}

// getRedrives lists the jobs of a virtual host, the newest first: those that have ended as long as there is room.
func getRedrives(r *request) (answer, error) {
	if err := r.enter(r.names[0]); err != nil {
		return answer{}, err
	}
	var jobs []vhost.Job
	if err := r.look(r.names[0], func(v *vhost.VHost) { jobs = v.Redrives() }); err != nil {
		return answer{}, err
	}
	var all []api.Redrive
	for i := range jobs {
		if r.caller.SeeJob(r.names[0], &jobs[i]) {
			all = append(all, r.showRedrive(r.names[0], &jobs[i]))
		}
	}
	return list(r, all, func(j *api.Redrive) string { return j.Source.Queue })
}

// job finds the one that the path names.
func (r *request) job() (j vhost.Job, err error) {
	if err := r.enter(r.names[0]); err != nil {
		return j, err
	}
	id, err := strconv.ParseUint(r.names[1], 10, 64)
	if err != nil {
		return j, errNotFound
	}
	found := false
	err = r.look(r.names[0], func(v *vhost.VHost) { j, found = v.RedriveJob(vhost.JobID(id)) })
	switch {
	case err != nil:
		return j, err
	case !found:
		return j, errNotFound
	}
	return j, r.caller.NeedJob(r.names[0], &j)
}

func getRedrive(r *request) (answer, error) {
	j, err := r.job()
	if err != nil {
		return answer{}, err
	}
	return ok(r.showRedrive(r.names[0], &j))
}

// changeJob does something to the job that the path names, and shows it as it is then. Its owner and administrators may; to let it
// go on, or faster, they need what it takes to begin it, too.
func (r *request) changeJob(c vhost.JobChange) (answer, error) {
	j, err := r.job()
	if err != nil {
		return answer{}, err
	}
	may := func(m authz.Machine) error { return r.caller.ChangeJob(m, r.names[0], &j, c.Action) }
	if err := r.allowed(r.names[0], may); err != nil {
		return answer{}, err
	}
	if ended := j.State == vhost.JobDone || j.State == vhost.JobCancelled || j.State == vhost.JobFailed; ended != (c.Action == vhost.JobForget) {
		return answer{}, &api.Error{Status: http.StatusConflict, Kind: "conflict", Reason: "redrive " + r.names[1] + " is " + j.State.String()}
	}
	c.Job, c.Note = j.ID, r.caller.Name()
	if _, err := r.do(r.names[0], vhost.Command{Kind: vhost.ChangeRedrive, JobChange: &c}); err != nil {
		return answer{}, plainly(err)
	}
	if c.Action == vhost.JobForget {
		return nothing()
	}
	return getRedrive(r)
}

func changeJob(action vhost.JobAction) endpoint {
	return func(r *request) (answer, error) { return r.changeJob(vhost.JobChange{Action: action}) }
}

// patchRedrive sets the rate of a job.
func patchRedrive(r *request) (answer, error) {
	var body api.PatchRedrive
	if err := r.readKnown(&body); err != nil {
		return answer{}, err
	}
	if err := needKeys(key{"rate", body.Rate != nil}); err != nil {
		return answer{}, err
	}
	rate, err := amount("rate", *body.Rate)
	if err != nil {
		return answer{}, err
	}
	return r.changeJob(vhost.JobChange{Action: vhost.JobRate, Rate: rate})
}
