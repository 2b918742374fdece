package management

import (
	"cmp"
	"net/url"
	"slices"

	"github.com/bartleby-mq/bartleby/internal/access"
	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// A deathRange is how far back deaths are counted, and in which steps.
type deathRange struct {
	name string
	span
}

// deathRanges are those that readings are kept for.
var deathRanges = [...]deathRange{
	{"1m", span{60_000, 5_000}}, {"10m", span{600_000, 10_000}}, {"1h", span{3_600_000, 60_000}},
	{"8h", span{28_800_000, 600_000}}, {"24h", span{86_400_000, 1_800_000}},
}

// sourcesMax is of how many queues it is told that messages died there; others may look at readings whenever so many queues
// were seen through for that.
const sourcesMax, sourcesPortion = 10, 500

func deathRangeOf(query url.Values) (deathRange, error) {
	name := cmp.Or(query.Get("range"), "1h")
	for _, of := range deathRanges {
		if of.name == name {
			return of, nil
		}
	}
	return deathRange{}, badRequest("range must be 1m, 10m, 1h, 8h or 24h, not '%s'", name)
}

// deathsAsked is the virtual host and the range that a request about deaths names.
func (r *request) deathsAsked() (h *access.VHost, of deathRange, err error) {
	if h, err = r.vhost(r.names[0]); err == nil {
		of, err = deathRangeOf(r.URL.Query())
	}
	return h, of, err
}

// getDeaths tells what died in a queue, and which dead letters came to it.
func getDeaths(r *request) (answer, error) {
	h, of, err := r.deathsAsked()
	if err != nil {
		return answer{}, err
	}
	var q vhost.QueueView
	var found bool
	err = r.look(h.Name, func(v *vhost.VHost) { q, found = v.Queue(r.names[1]) })
	switch {
	case err != nil:
		return answer{}, err
	case !found:
		return answer{}, errNotFound
	}
	now := figuresOf(&q.Stats)
	d, _ := r.server.sampler.deaths(h, &q.ID, of, &now)
	return ok(d)
}

// recentDeaths are those of a virtual host that has counted so much by now, and its queues.
func (s *Server) recentDeaths(h *access.VHost, of deathRange, now figures, queues []queueSeries) api.RecentDeaths {
	var v api.RecentDeaths
	var grown figures
	v.Deaths, grown = s.sampler.deaths(h, nil, of, &now)
	v.NoDLX, v.CameBack = grown[atNoDLX], grown[atCameBack]
	v.Sources, v.Others = s.sampler.deathSources(h.LogID, of, queues), sumDied(&grown)
	for i := range v.Sources {
		v.Others -= min(v.Sources[i].Total, v.Others)
	}
	return v
}

func sumDied(f *figures) (n uint64) {
	for i := range deaths {
		n += f[atDied+i]
	}
	return n
}

// byReason names those of the figures that are deaths.
func byReason(f *figures) api.Object[uint64] {
	all := api.Object[uint64]{}
	for i := range deaths {
		all[deaths[i].word] = f[atDied+i]
	}
	return all
}

// deaths tells what died in a virtual host, or in one of its queues, and by how much the figures, which are now those,
// have grown. What was not read yet is of the last step; when readings were forgotten, nothing has grown until the next.
func (s *sampler) deaths(h *access.VHost, queue *vhost.QueueID, of deathRange, now *figures) (d api.Deaths, grown figures) {
	s.mu.Lock()
	defer s.mu.Unlock()
	readings := &history{last: s.mu.last, fromZero: true}
	if l := s.mu.ledgers[h.LogID]; l.forgotten() {
		now = &figures{}
	} else if l != nil && queue == nil {
		readings = &l.whole
	} else if l != nil && l.queues[*queue] != nil {
		readings = l.queues[*queue]
	}
	t := readings.at(of.edges(s.mu.last))
	steps := len(t.at) - 1
	d = api.Deaths{
		Range: of.name, Since: iso(t.at[steps]), StepSec: of.incr / 1000, Died: api.Object[uint64]{},
		Times: make(api.List[int64], steps), ByStep: api.Object[api.List[uint64]]{},
	}
	for i := range steps {
		d.Times[steps-1-i] = t.at[i]
	}
	for f := atDied; f < queueFigures; f++ {
		counts := make(api.List[uint64], steps)
		later := now[f]
		for i := range steps {
			counts[steps-1-i] = t.grown(f, i+1, later)
			grown[f] += counts[steps-1-i]
			later = t.counted(f, i+1)
		}
		if f < atLetters {
			d.ByStep[deaths[f-atDied].word] = counts
		} else if f == atLetters {
			d.ByStep["letters"] = counts
		}
	}
	d.Died, d.Letters = byReason(&grown), grown[atLetters]
	return d, grown
}

// edges are the instants between the steps of a range, newest first: it begins with a whole step.
func (of deathRange) edges(last int64) []int64 {
	w := of.span
	if w.incr >= alignedFrom {
		w.age += w.incr - 1
	}
	return w.instants(last)
}

// A deathSource is how much of what died where.
type deathSource struct {
	name  string
	grown figures
	sum   uint64
}

// deathSources lists the queues in which most died.
func (s *sampler) deathSources(log uint32, of deathRange, queues []queueSeries) api.List[api.DeathSource] {
	var all []deathSource
	for portion := range slices.Chunk(queues, sourcesPortion) {
		all = s.addSources(all, log, of, portion)
	}
	slices.SortFunc(all, func(a, b deathSource) int { return cmp.Or(cmp.Compare(b.sum, a.sum), cmp.Compare(a.name, b.name)) })
	shown := api.List[api.DeathSource]{}
	for _, x := range all[:min(len(all), sourcesMax)] {
		shown = append(shown, api.DeathSource{Queue: x.name, Died: byReason(&x.grown), Total: x.sum})
	}
	return shown
}

// addSources adds the queues of a portion in which anything died.
func (s *sampler) addSources(all []deathSource, log uint32, of deathRange, queues []queueSeries) []deathSource {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.mu.ledgers[log]
	if l.forgotten() {
		return all
	}
	edges := of.edges(s.mu.last)
	begin := edges[len(edges)-1:]
	for i := range queues {
		now := figuresOf(queues[i].Stats)
		if sumDied(&now) == 0 {
			continue
		}
		readings := &history{fromZero: true}
		if l != nil && l.queues[queues[i].ID] != nil {
			readings = l.queues[queues[i].ID]
		}
		x := deathSource{name: queues[i].Name}
		t := readings.at(begin)
		for f := atDied; f < atLetters; f++ {
			x.grown[f] = t.grown(f, 0, now[f])
		}
		if x.sum = sumDied(&x.grown); x.sum > 0 {
			all = append(all, x)
		}
	}
	return all
}
