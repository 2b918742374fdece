package management

import (
	"slices"
	"time"

	"github.com/bartleby-mq/bartleby/internal/api"
)

// A history is what some figures were over the last while, oldest first. What does not change takes no room.
type history struct {
	readings     []reading
	before, last int64 // the instants of the last two notes, ms since the Unix epoch; 0: none
}

// A reading is what the figures were from an instant on.
type reading struct {
	from    int64 // ms since the Unix epoch
	figures []uint64
}

// note adds what the figures are now. What was before keep ago, but for the newest of it, is forgotten. The slice is
// copied if it is kept.
func (h *history) note(now int64, figures []uint64, keep time.Duration) {
	if n := len(h.readings); n == 0 || !slices.Equal(h.readings[n-1].figures, figures) {
		h.readings = append(h.readings, reading{now, slices.Clone(figures)})
	}
	h.before, h.last = h.last, now
	old := 0
	for old+1 < len(h.readings) && h.readings[old+1].from <= now-keep.Milliseconds() {
		old++
	}
	h.readings = slices.Delete(h.readings, 0, old)
}

// moved reports whether anything changed between the last two notes.
func (h *history) moved() bool {
	n := len(h.readings)
	return h.before > 0 && n > 1 && h.readings[n-1].from > h.before
}

// at is what a figure was at an instant; what was before the history begins is 0.
func (h *history) at(when int64, figure int) uint64 {
	for i := len(h.readings) - 1; i >= 0; i-- {
		if h.readings[i].from <= when {
			return h.readings[i].figures[figure]
		}
	}
	return 0
}

// trend tells how fast the figures change. The spans say which of them come with samples.
func (h *history) trend(figures int, spanOf func(figure int) span) trend {
	t := trend{rates: make([]api.Rate, figures)}
	if h.before > 0 && !h.moved() {
		t.since = h.readings[len(h.readings)-1].from
	}
	for f := range figures {
		r := &t.rates[f]
		if h.before > 0 {
			r.Rate = perSecond(h.at(h.before, f), h.at(h.last, f), h.last-h.before)
		}
		if w := spanOf(f); w.incr > 0 && h.last > 0 {
			h.fill(r, f, w)
		}
	}
	return t
}

// fill adds the samples of a span to a rate, newest first, and what follows from them.
func (h *history) fill(r *api.Rate, figure int, w span) {
	var sum float64
	for back := int64(0); back <= w.age; back += w.incr {
		when := h.last - back
		n := h.at(when, figure)
		r.Samples = append(r.Samples, api.Sample{Sample: int64(n), Timestamp: when})
		sum += float64(n)
	}
	newest, oldest := r.Samples[0], r.Samples[len(r.Samples)-1]
	avg := sum / float64(len(r.Samples))
	avgRate := perSecond(uint64(oldest.Sample), uint64(newest.Sample), newest.Timestamp-oldest.Timestamp)
	r.Avg, r.AvgRate = &avg, &avgRate
}

// perSecond is how fast a figure went from one value to another; it may go down.
func perSecond(from, to uint64, ms int64) float64 {
	if ms <= 0 {
		return 0
	}
	return float64(int64(to-from)) * 1000 / float64(ms)
}

// A trend is how fast figures change. The zero value is that of figures which do not.
type trend struct {
	rates []api.Rate
	since int64 // since when none of them has changed, ms since the Unix epoch; 0: they change, or nobody knows
}

// of is the rate of one figure, or of several added up.
func (t *trend) of(figures ...int) (sum api.Rate) {
	if t.rates == nil {
		return sum
	}
	for _, f := range figures {
		sum = addRates(sum, t.rates[f])
	}
	return sum
}

// add adds another trend, figure by figure.
func (t *trend) add(o *trend) {
	if t.rates == nil {
		t.rates = make([]api.Rate, len(o.rates))
	}
	for f := range o.rates {
		t.rates[f] = addRates(t.rates[f], o.rates[f])
	}
}

// addRates adds two rates up, sample by sample: all histories are noted at the same instants.
func addRates(a, b api.Rate) api.Rate {
	sum := api.Rate{Rate: a.Rate + b.Rate, Samples: a.Samples, Avg: a.Avg, AvgRate: a.AvgRate}
	switch {
	case b.Samples == nil:
		return sum
	case a.Samples == nil:
		sum.Samples, sum.Avg, sum.AvgRate = b.Samples, b.Avg, b.AvgRate
		return sum
	}
	sum.Samples = slices.Clone(a.Samples)
	for i := range min(len(sum.Samples), len(b.Samples)) {
		sum.Samples[i].Sample += b.Samples[i].Sample
	}
	avg, avgRate := *a.Avg+*b.Avg, *a.AvgRate+*b.AvgRate
	sum.Avg, sum.AvgRate = &avg, &avgRate
	return sum
}
