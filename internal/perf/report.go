package perf

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// Report is all that a run found out. Rates are per second.
type Report struct {
	Scenario string   `json:"scenario"`
	Broker   string   `json:"broker"`
	Settings Settings `json:"settings"`

	Spans   []Span    `json:"spans,omitempty"`   // one, or each phase
	Figures []Figure  `json:"figures,omitempty"` // what only this scenario measures
	Storage []Storage `json:"storage,omitempty"` // from look to look

	Latency *Quantiles `json:"latency,omitempty"` // meant to be sent → delivered
	Confirm *Quantiles `json:"confirm,omitempty"` // sent → confirmed
	// meant to be sent → written: the generator's own part, and what a full socket adds
	Pacing   *Quantiles `json:"pacing,omitempty"`
	Lateness *Quantiles `json:"lateness,omitempty"` // due → arrived, of those that did not come early
	Early    *Early     `json:"early,omitempty"`

	Meanwhile *Meanwhile `json:"meanwhile,omitempty"`

	Books Books `json:"books"`
}

// Balanced reports whether the books balance, those of a bystander included.
func (r *Report) Balanced() bool {
	return r.Books.Balanced() && (r.Meanwhile == nil || r.Meanwhile.Books.Balanced())
}

// Figure is one thing that was measured.
type Figure struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
}

// Figure returns the value of the figure of that name, and whether there is one.
func (r *Report) Figure(name string) (float64, bool) {
	for _, f := range r.Figures {
		if f.Name == name {
			return f.Value, true
		}
	}
	return 0, false
}

// add appends a figure.
func (r *Report) add(name string, value float64, unit string) {
	r.Figures = append(r.Figures, Figure{name, value, unit})
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
	Priorities int     `json:"priorities,omitempty"`
	LengthMax  int64   `json:"max_length,omitempty"`
	Live       int64   `json:"live,omitempty"`
	Links      int     `json:"connections,omitempty"`
	Channels   int     `json:"channels,omitempty"`
	Bindings   int     `json:"bindings,omitempty"`
	Reject     int     `json:"reject_every,omitempty"`
	Waiting    int64   `json:"waiting,omitempty"`
	Delays     string  `json:"delays,omitempty"`
	Bystander  float64 `json:"bystander_rate,omitempty"`
	TTL        string  `json:"ttl,omitempty"`
	Window     string  `json:"window,omitempty"`
	Head       string  `json:"head,omitempty"`
}

func settingsOf(o *options) Settings {
	s := Settings{
		Size: o.size, Publishers: o.publishers, Consumers: o.consumers, Queues: o.queues, Rate: o.rate,
		Persistent: o.persistent, Durable: o.durable, QueueType: o.queueType, Confirms: o.confirms,
		BacklogMax: o.backlogMax, Reject: o.reject,
		TTL: spell(max(o.ttl, o.far)), Window: spell(max(o.window, o.spread)), Head: spell(o.head),
		Priorities: o.priorities, LengthMax: o.lengthMax, Live: o.live,
		Links: o.connections, Channels: o.channels, Bindings: o.bindings,
		Waiting: o.waiting, Delays: o.delays.text(), Bystander: o.bystander,
	}
	if o.ack == ack && o.publishers > 0 {
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
	for i := range r.Storage {
		r.Storage[i].print(w)
	}
	r.Latency.print(w, "latency")
	r.Confirm.print(w, "confirm")
	r.Pacing.print(w, "pacing")
	r.Lateness.print(w, "lateness")
	if m := r.Meanwhile; m != nil {
		m.Latency.print(w, "latency of other traffic")
		m.Confirm.print(w, "confirm of other traffic")
		m.Pacing.print(w, "pacing of other traffic")
	}
	w.Flush()
	if r.Early != nil {
		fmt.Fprintf(&b, "  early     %d, at most by %.3f ms\n", r.Early.Count, r.Early.Most)
	}
	for _, f := range r.Figures {
		fmt.Fprintf(&b, "  %s: %s %s\n", f.Name, strconv.FormatFloat(f.Value, 'f', decimals(f.Value), 64), f.Unit)
	}
	if r.Books != (Books{}) {
		fmt.Fprintf(&b, "  messages  %s\n", r.Books.text())
	}
	if r.Meanwhile != nil {
		fmt.Fprintf(&b, "  bystander %s\n", r.Meanwhile.Books.text())
	}
	return b.String()
}

// decimals returns how many digits after the point a value deserves.
func decimals(value float64) int {
	switch {
	case value >= 100 || value == math.Trunc(value):
		return 0
	case value >= 10:
		return 1
	}
	return 3
}

func (s *Settings) text() string {
	var parts []string
	add := func(is bool, format string, args ...any) {
		if is {
			parts = append(parts, fmt.Sprintf(format, args...))
		}
	}
	add(s.Size > 0, "%d bytes", s.Size)
	add(s.Persistent, "persistent")
	add(s.Durable && !s.Persistent, "declare durable queues")
	add(s.QueueType != "", "%s queues", s.QueueType)
	add(s.Publishers > 0, "publishers %d, consumers %d, queues %d", s.Publishers, s.Consumers, s.Queues)
	add(s.Rate > 0, "%.0f/s", s.Rate)
	add(s.Confirms > 0, "confirms (%d outstanding)", s.Confirms)
	add(s.Publishers > 0 && s.AckEvery == 0, "auto-ack")
	add(s.AckEvery > 0, "acks by %d", s.AckEvery)
	add(s.Prefetch > 0, "prefetch %d", s.Prefetch)
	add(s.Reject > 0, "rejects by %d", s.Reject)
	add(s.BacklogMax > 0, "at most %d published and not consumed", s.BacklogMax)
	add(s.Priorities > 0, "priorities 0 to %d", s.Priorities)
	add(s.LengthMax > 0, "at most %d per queue", s.LengthMax)
	add(s.Live > 0, "%d live", s.Live)
	add(s.Links > 0, "%d connections", s.Links)
	add(s.Channels > 0, "with one channel each")
	add(s.Bindings > 0, "%d bindings", s.Bindings)
	add(s.Waiting > 0, "with %d other waiting messages", s.Waiting)
	add(s.Delays != "", "%s", s.Delays)
	add(s.TTL != "", "due after %s", s.TTL)
	add(s.Window != "", "within %s", s.Window)
	add(s.Head != "", "the first after %s", s.Head)
	add(s.Bystander > 0, "with %.0f/s of other traffic", s.Bystander)
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
	if s.WriteAmplification != nil {
		fmt.Fprintf(w, "\twrote %.0f MiB, %.2f per byte of message bodies", *s.BrokerWrittenMiB, *s.WriteAmplification)
	}
	fmt.Fprintln(w)
}

func (b *Books) text() string {
	s := fmt.Sprintf("published %d, received %d, lost %d, duplicated %d, out of order %d", b.Published, b.Received, b.Lost, b.Doubled, b.Unordered)
	for _, rare := range []struct {
		n    int64
		name string
	}{
		{b.Redelivered, "redelivered"}, {b.Unknown, "unknown"}, {b.Deathless, "without x-death"}, {b.Dropped, "dropped"},
		{b.Early, "early"}, {b.Returned, "unroutable"}, {b.Nacked, "nacked"}, {b.Left, "left in queues"},
	} {
		if rare.n > 0 {
			s += fmt.Sprintf(", %s %d", rare.name, rare.n)
		}
	}
	return s
}
