package stats

import (
	"slices"

	"github.com/bartleby-mq/bartleby/internal/api"
)

// A Trend is how fast figures change. The zero value is that of figures which do not.
type Trend struct {
	rates []api.Rate
	Since int64 // since when none of them has changed, ms since the Unix epoch; 0: they change, or nobody knows
}

// Of is the rate of one figure, or of several added up.
func (t *Trend) Of(figures ...int) (sum api.Rate) {
	if t.rates == nil {
		return sum
	}
	for _, f := range figures {
		sum = addRates(sum, t.rates[f])
	}
	return sum
}

// add adds another trend, figure by figure.
func (t *Trend) add(o *Trend) {
	if t.rates == nil {
		t.rates = make([]api.Rate, len(o.rates))
	}
	for f := range o.rates {
		t.rates[f] = addRates(t.rates[f], o.rates[f])
	}
}

// addRates adds two rates up, sample by sample: all histories are noted at the same instants. One may begin later than
// the other.
func addRates(a, b api.Rate) api.Rate {
	if len(b.Samples) > len(a.Samples) {
		a, b = b, a
	}
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
