package perf

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"
)

// Report is all that a run found out. Rates are per second.
type Report struct {
	Scenario string   `json:"scenario"`
	Broker   string   `json:"broker"`
	Settings Settings `json:"settings"`

	Spans []Span `json:"spans"` // one, or each phase

	Latency  *Quantiles `json:"latency,omitempty"`  // meant to be sent → delivered
	Confirm  *Quantiles `json:"confirm,omitempty"`  // sent → confirmed
	Pacing   *Quantiles `json:"pacing,omitempty"`   // meant to be sent → written: the generator's own part, and what a full socket adds
	Lateness *Quantiles `json:"lateness,omitempty"` // due → arrived, of those that did not come early
	Early    *Early     `json:"early,omitempty"`

	Books Books `json:"books"`
}

// Early tells of messages that came before they were due.
type Early struct {
	Count int64   `json:"count"`
	Most  float64 `json:"most_ms"`
}

// Settings are the options that the figures depend on.
type Settings struct {
	Size       int     `json:"size"`
	Publishers int     `json:"publishers"`
	Consumers  int     `json:"consumers"`
	Queues     int     `json:"queues"`
	Rate       float64 `json:"rate,omitempty"`
	Persistent bool    `json:"persistent"`
	Durable    bool    `json:"durable"`
	QueueType  string  `json:"queue_type,omitempty"`
	Confirms   int     `json:"confirms_outstanding,omitempty"`
	AckEvery   int     `json:"ack_every"` // 0: automatic
	Prefetch   int     `json:"prefetch,omitempty"`
	BacklogMax int     `json:"backlog_max,omitempty"`
	Reject     int     `json:"reject_every,omitempty"`
	TTL        string  `json:"ttl,omitempty"`
	Window     string  `json:"window,omitempty"`
	Head       string  `json:"head,omitempty"`
}

func settingsOf(o *options) Settings {
	s := Settings{
		Size: o.size, Publishers: o.publishers, Consumers: o.consumers, Queues: o.queues, Rate: o.rate,
		Persistent: o.persistent, Durable: o.durable, QueueType: o.queueType, Confirms: o.confirms,
		BacklogMax: o.backlogMax, Reject: o.reject,
		TTL: spell(o.ttl), Window: spell(o.window), Head: spell(o.head),
	}
	if o.ack == ack {
		s.AckEvery, s.Prefetch = o.every, o.prefetch
	}
	return s
}

func spell(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return d.String()
}

// Text returns the report for a reader, of a few lines.
func (r *Report) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s  %s\n", r.Scenario, r.Broker, r.Settings.text())
	w := tabwriter.NewWriter(&b, 0, 8, 2, ' ', 0)
	for _, s := range r.Spans {
		s.print(w)
	}
	for _, line := range []struct {
		name string
		q    *Quantiles
	}{{"latency", r.Latency}, {"confirm", r.Confirm}, {"pacing", r.Pacing}, {"lateness", r.Lateness}} {
		if q := line.q; q != nil {
			fmt.Fprintf(w, "  %s\tp50 %.3f\tp90 %.3f\tp99 %.3f\tp99.9 %.3f\tmax %.3f ms\t(%d)\n",
				line.name, q.P50, q.P90, q.P99, q.P999, q.Max, q.Count)
		}
	}
	w.Flush()
	if r.Early != nil {
		fmt.Fprintf(&b, "  early     %d, at most by %.3f ms\n", r.Early.Count, r.Early.Most)
	}
	fmt.Fprintf(&b, "  books     %s\n", r.Books.text())
	return b.String()
}

func (s *Settings) text() string {
	parts := []string{fmt.Sprintf("%d octets", s.Size)}
	add := func(is bool, format string, args ...any) {
		if is {
			parts = append(parts, fmt.Sprintf(format, args...))
		}
	}
	add(s.Persistent, "persistent")
	add(s.Durable && !s.Persistent, "durable queues")
	add(s.QueueType != "", "%s queues", s.QueueType)
	add(true, "publishers %d, consumers %d, queues %d", s.Publishers, s.Consumers, s.Queues)
	add(s.Rate > 0, "%.0f/s", s.Rate)
	add(s.Confirms > 0, "confirms (%d outstanding)", s.Confirms)
	add(s.AckEvery == 0, "auto-ack")
	add(s.AckEvery > 0, "acks by %d, prefetch %d", s.AckEvery, s.Prefetch)
	add(s.Reject > 0, "rejects by %d", s.Reject)
	add(s.BacklogMax > 0, "at most %d published and not consumed", s.BacklogMax)
	add(s.TTL != "", "due after %s", s.TTL)
	add(s.Window != "", "within %s", s.Window)
	add(s.Head != "", "the first after %s", s.Head)
	return strings.Join(parts, ", ")
}

func (s *Span) print(w *tabwriter.Writer) {
	name := s.Name
	if name == "" {
		name = "measured"
	}
	fmt.Fprintf(w, "  %s\t%.2f s\tpublished %.0f/s\tconsumed %.0f/s\tgenerator %.3f CPU-s/M", name, s.Seconds, s.PublishRate, s.ConsumeRate, s.OwnCPU)
	if s.BrokerCPU != nil {
		fmt.Fprintf(w, "\tbroker %.3f CPU-s/M, %.0f MiB, peak %.0f", *s.BrokerCPU, *s.BrokerResidentMiB, *s.BrokerPeakMiB)
	}
	fmt.Fprintln(w)
}

func (b *Books) text() string {
	s := fmt.Sprintf("published %d, received %d, lost %d, doubled %d, out of order %d", b.Published, b.Received, b.Lost, b.Doubled, b.Unordered)
	for _, rare := range []struct {
		n    int64
		name string
	}{
		{b.Redelivered, "redelivered"}, {b.Unknown, "unknown"}, {b.Deathless, "without x-death"},
		{b.Returned, "unroutable"}, {b.Nacked, "nacked"}, {b.Left, "left in queues"},
	} {
		if rare.n > 0 {
			s += fmt.Sprintf(", %s %d", rare.name, rare.n)
		}
	}
	return s
}
