package metrics

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"
)

// answerBounds are the upper bounds of the buckets of bartleby_http_request_seconds.
var answerBounds = []float64{0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10, 60}

// answers counts what the API answered, and how long that took.
type answers struct {
	mu struct {
		sync.Mutex
		of map[answerKey]*answerTimes
	}
}

// answerKey is what is told apart: few, whatever is asked for.
type answerKey struct {
	route, method string
	status        int
}

// answerTimes is a histogram in the making.
type answerTimes struct {
	buckets []uint64 // not cumulated, one more than answerBounds
	sum     float64  // seconds
}

// note counts an answer. Routes are those of the table, "" for paths that lead nowhere.
func (a *answers) note(route, method string, status int, took time.Duration) {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPut, http.MethodPost, http.MethodDelete, http.MethodOptions:
	default:
		method = "other"
	}
	key := answerKey{cmp.Or(route, "other"), method, status}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.mu.of == nil {
		a.mu.of = map[answerKey]*answerTimes{}
	}
	t := a.mu.of[key]
	if t == nil {
		t = &answerTimes{buckets: make([]uint64, len(answerBounds)+1)}
		a.mu.of[key] = t
	}
	i, _ := slices.BinarySearch(answerBounds, took.Seconds())
	t.buckets[i]++
	t.sum += took.Seconds()
}

// answers shows how the API answers. Source: ours, docs/metrics.md.
func (s *scrape) answers() {
	const name = "bartleby_http_request_seconds"
	a := &s.server.scraper.answers
	a.mu.Lock()
	defer a.mu.Unlock()
	taken, refused := s.server.Memory.Usage()
	one(s.exposition, "bartleby_http_memory_bytes", gauge, "Memory used by requests to the management API: bodies, decoded values, responses", taken)
	one(s.exposition, "bartleby_http_memory_refused_total", counter, "Requests to the management API refused because the memory limit for requests was reached", refused)
	one(s.exposition, "bartleby_http_decoding_waits_total", counter,
		"Waits of large documents sent to the management API, because others were being decoded", s.server.DecodingWaits())
	_, waiting, waits := s.server.Turns.Usage()
	one(s.exposition, "bartleby_http_turns_waiting", gauge,
		"Requests to the management API that wait for their turn to make the response", waiting)
	one(s.exposition, "bartleby_http_turn_waits_total", counter,
		"Waits of requests to the management API, because responses to others were being made", waits)
	s.family(name, histogram, "Duration of requests to the management API")
	keys := make([]answerKey, 0, len(a.mu.of))
	for key := range a.mu.of {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b answerKey) int {
		return cmp.Or(cmp.Compare(a.route, b.route), cmp.Compare(a.method, b.method), cmp.Compare(a.status, b.status))
	})
	for _, key := range keys {
		labels := labelled("route", key.route, "method", key.method, "code", strconv.Itoa(key.status))
		s.buckets(name, labels, answerBounds, a.mu.of[key].buckets, a.mu.of[key].sum)
	}
}
