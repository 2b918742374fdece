package stats

import (
	"net/url"
	"strconv"

	"github.com/bartleby-mq/bartleby/internal/management/web"
)

// A span is how far back, and how close together, a query wants samples; both in ms, 0 if it wants none.
type span struct{ age, incr int64 }

// Spans are those of a query, by what they are of. Source: RabbitMQ management API, lengths_age and its like.
type Spans struct {
	lengths span // messages in queues
	rates   span // messages that come and go
	data    span // bytes on connections
	node    span // what the node does
}

// SpansOf reads the query.
func SpansOf(r *web.Request) (w Spans, err error) {
	query := r.URL.Query()
	for _, x := range []struct {
		name string
		to   *span
	}{{"lengths", &w.lengths}, {"msg_rates", &w.rates}, {"data_rates", &w.data}, {"node_stats", &w.node}} {
		if *x.to, err = spanOf(query, x.name); err != nil {
			return w, err
		}
	}
	return w, nil
}

func spanOf(query url.Values, name string) (span, error) {
	seconds := func(key string) (int64, error) {
		text := query.Get(key)
		if text == "" {
			return 0, nil
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 1 || n > spanSecondsMax {
			return 0, web.BadRequest("%s must be an integer from 1 to %d, in seconds, not '%s'", key, spanSecondsMax, text)
		}
		return n * 1000, nil
	}
	age, err := seconds(name + "_age")
	if err != nil {
		return span{}, err
	}
	incr, err := seconds(name + "_incr")
	switch {
	case err != nil:
		return span{}, err
	case age == 0 && incr == 0:
		return span{}, nil
	case age == 0 || incr == 0:
		return span{}, web.BadRequest("give both %s_age and %s_incr", name, name)
	case age/incr > samplesMax:
		return span{}, web.BadRequest("%s_age and %s_incr ask for more than %d samples", name, name, samplesMax)
	}
	return span{age, incr}, nil
}

// alignedFrom is from which interval on samples are at its multiples, ms: what is longer ago was kept of these
// instants.
const alignedFrom = 60_000

// instants are those that a span has samples of, newest first. The first is the last reading's.
func (w span) instants(last int64) []int64 {
	all := []int64{last}
	back := last - w.incr
	if w.incr >= alignedFrom {
		back = (last - 1) / w.incr * w.incr
	}
	for ; back >= last-w.age; back -= w.incr {
		all = append(all, back)
	}
	return all
}
