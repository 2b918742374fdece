package stats

import (
	"cmp"
	"net/url"
	"slices"
	"time"

	"github.com/bartleby-mq/bartleby/internal/accounts"
	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/duration"
	"github.com/bartleby-mq/bartleby/internal/filter"
	"github.com/bartleby-mq/bartleby/internal/management/web"
	"github.com/bartleby-mq/bartleby/internal/vhost"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// A Death is why messages die, in RabbitMQ's words.
type Death struct {
	Word    string
	Help    string
	Reasons []fact.Reason
}

// Deaths are why messages die. Consumers that take too long return their messages: that is no
// death. The last is of dead letters that clients published, of which the broker knows no death:
// they count in the queue that they came to.
var Deaths = [...]Death{
	{"expired", "Total number of messages dead-lettered due to message TTL exceeded", []fact.Reason{fact.Expired}},
	{"rejected", "Total number of messages dead-lettered due to basic.reject or basic.nack", []fact.Reason{fact.Rejected, fact.Nacked}},
	{"maxlen", "Total number of messages dead-lettered due to overflow drop-head or reject-publish-dlx", []fact.Reason{fact.MaxLen}},
	{"delivery_limit", "Total number of messages dead-lettered due to delivery-limit exceeded", []fact.Reason{fact.DeliveryLimit}},
	{Word: filter.Republished},
}

// ByBroker are the Deaths that the broker itself decides.
var ByBroker = Deaths[:len(Deaths)-1]

// Count counts the messages that died so in a queue.
func (d *Death) Count(n *vhost.QueueStats) (sum uint64) {
	if d.Reasons == nil {
		return n.Republished
	}
	for _, strategy := range Strategies {
		sum += Died(n, strategy, d.Reasons)
	}
	return sum
}

// Strategies are how dead letters leave.
var Strategies = []vhost.Strategy{vhost.Disabled, vhost.AtMostOnce, vhost.AtLeastOnce}

// Died counts the messages that died of some reasons.
func Died(n *vhost.QueueStats, strategy vhost.Strategy, reasons []fact.Reason) (sum uint64) {
	for _, r := range reasons {
		sum += n.Died[strategy][r]
	}
	return sum
}

// A DeathRange is how far back deaths are counted, and in which steps.
type DeathRange struct {
	name string
	span
}

// deathRanges are those that readings are kept for.
var deathRanges = [...]DeathRange{
	{"1m", span{60_000, 5_000}}, {"10m", span{600_000, 10_000}}, {"1h", span{3_600_000, 60_000}},
	{"8h", span{28_800_000, 600_000}}, {"24h", span{86_400_000, 1_800_000}},
}

// sourcesMax is of how many queues it is told that messages died there; others may look at readings whenever so many
// queues were seen through for that.
const sourcesMax, sourcesPortion = 10, 500

func DeathRangeOf(query url.Values) (DeathRange, error) {
	name := cmp.Or(query.Get("range"), "1h")
	ms, err := duration.Milliseconds(name)
	if err != nil {
		return DeathRange{}, web.BadRequest("range: %v", err)
	}
	for _, of := range deathRanges {
		if of.age == ms {
			return of, nil
		}
	}
	return DeathRange{}, web.BadRequest("range must be 1m, 10m, 1h, 8h or 24h, not '%s'", name)
}

// Opened is since when a virtual host counts.
func (s *Reader) Opened(h *accounts.VHost) time.Time { return s.sampler.Opened(h) }

// RecentDeaths are those of a virtual host that has counted so much by now, and its queues.
func (s *Reader) RecentDeaths(h *accounts.VHost, of DeathRange, now figures, queues []Queue) api.RecentDeaths {
	var v api.RecentDeaths
	var grown figures
	v.Deaths, grown = s.sampler.Deaths(h, nil, of, &now)
	v.NoDLX, v.CameBack = grown[atNoDLX], grown[atCameBack]
	v.Sources, v.Others = s.sampler.deathSources(h.LogID, of, queues), sumDied(&grown)
	for i := range v.Sources {
		v.Others -= min(v.Sources[i].Total, v.Others)
	}
	return v
}

func sumDied(f *figures) (n uint64) {
	for i := range Deaths {
		n += f[atDeath(i)]
	}
	return n
}

// byReason names those of the figures that are deaths.
func byReason(f *figures) api.Object[uint64] {
	all := api.Object[uint64]{}
	for i := range Deaths {
		all[Deaths[i].Word] = f[atDeath(i)]
	}
	return all
}

// Deaths tells what died in a virtual host, or in one of its queues, and by how much the figures, which are now those,
// have grown. What was not read yet is of the last step; when readings were forgotten, nothing has grown until the
// next.
func (s *Sampler) Deaths(h *accounts.VHost, queue *fact.QueueID, of DeathRange, now *figures) (d api.Deaths,
	grown figures) {
	s.mu.Lock()
	defer s.mu.Unlock()
	readings := &history{last: s.mu.last, fromZero: true}
	known := s.mu.runs
	if l := s.mu.ledgers[h.LogID]; l.forgotten() {
		now, known = &figures{}, nil
	} else if l != nil && queue == nil {
		readings = &l.whole
	} else if l != nil && l.queues[*queue] != nil {
		readings = l.queues[*queue]
	}
	t := readings.at(of.edges(s.mu.last))
	steps := len(t.at) - 1
	d = api.Deaths{
		Range: of.name, Since: web.FormatMS(t.at[steps]), StepSec: of.incr / 1000, Died: api.Object[uint64]{},
		Times: make(api.List[int64], steps), ByStep: api.Object[api.List[uint64]]{},
	}
	for i := range steps {
		d.Times[steps-1-i] = t.at[i]
	}
	from, to := t.at[steps], t.at[0]
	d.CountedSince = web.FormatMS(known.since(max(from, readings.begin()), to))
	for _, g := range known.gaps(max(from, readings.begin()), to) {
		d.Gaps = append(d.Gaps, api.Gap{From: g.from, To: g.to})
	}
	for f := atDied; f < queueFigures; f++ {
		counts := make(api.List[uint64], steps)
		later := t.now(f, now[f])
		for i := range steps {
			counts[steps-1-i] = t.grown(f, i+1, later)
			grown[f] += counts[steps-1-i]
			later = t.counted(f, i+1)
		}
		switch f {
		case atNoDLX, atCameBack:
		case atDeadLetters:
			d.ByStep["letters"] = counts
		case atRepublished:
			d.ByStep[filter.Republished] = counts
		default:
			d.ByStep[Deaths[f-atDied].Word] = counts
		}
	}
	d.Died, d.Arrived = byReason(&grown), grown[atDeadLetters]
	return d, grown
}

// edges are the instants between the steps of a range, newest first: it begins with a whole step.
func (of DeathRange) edges(last int64) []int64 {
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
func (s *Sampler) deathSources(log uint32, of DeathRange, queues []Queue) api.List[api.DeathSource] {
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
func (s *Sampler) addSources(all []deathSource, log uint32, of DeathRange, queues []Queue) []deathSource {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.mu.ledgers[log]
	if l.forgotten() {
		return all
	}
	edges := of.edges(s.mu.last)
	begin := edges[len(edges)-1:]
	for i := range queues {
		now := FiguresOf(queues[i].Stats)
		readings := &history{fromZero: true}
		if l != nil && l.queues[queues[i].ID] != nil {
			readings = l.queues[queues[i].ID]
		}
		if sumDied(&now) == 0 && readings.base == nil {
			continue
		}
		x := deathSource{name: queues[i].Name}
		t := readings.at(begin)
		for i := range Deaths {
			f := atDeath(i)
			x.grown[f] = t.grown(f, 0, t.now(f, now[f]))
		}
		if x.sum = sumDied(&x.grown); x.sum > 0 {
			all = append(all, x)
		}
	}
	return all
}
