package oracle

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// State is what a virtual host holds, to be compared with another.
type State struct {
	Queues    []QueueState      // by name
	LostStore []CopyState       // the lost letters, in order
	Made      uint64            // copies
	Ended     map[string]uint64 // copies, by cause
	Lost      map[string]uint64 // dead letters that found no place, by queue and cause, of the queues that are there
}

// QueueState is one queue in a State.
type QueueState struct {
	Name                          string
	Settings                      Settings
	Ready, Unacked, Waiting, Held int64
	Consumers                     int
	Copies                        []CopyState // by priority, highest first, then by arrival
}

// CopyState is one copy in a State.
type CopyState struct {
	Body             string
	Place            Place
	Level            int
	ExpireAt, Until  int64
	Redelivered      bool
	Acquired, Failed int
	Cause            string   // why it is held, or in the lost store
	Took             []string // of a held dead letter: the targets that have it, or never will; in order
	Origin           string   // of a lost letter: whose it is when the lost store is full
	History          *History // of a dead letter
}

// History is what became of a dead letter.
type History struct {
	Exchange    string // of the last hop
	Keys        []string
	Deaths      []Death // newest first
	First, Last Death   // Queue, Reason and Exchange
}

// State shows what v holds.
func (v *VHost) State() *State {
	s := &State{Made: v.made, Ended: v.ended, Lost: v.lost}
	for _, q := range v.queues {
		x := QueueState{Name: q.name, Settings: q.settings.shown(), Consumers: len(q.consumers)}
		for _, n := range [...]struct {
			place Place
			n     *int64
		}{{Ready, &x.Ready}, {Unacked, &x.Unacked}, {Waiting, &x.Waiting}, {Held, &x.Held}} {
			*n.n, _ = q.count(n.place)
		}
		x.Copies = v.states(q)
		s.Queues = append(s.Queues, x)
	}
	slices.SortFunc(s.Queues, func(a, b QueueState) int { return strings.Compare(a.Name, b.Name) })
	s.LostStore = v.states(v.lostStore)
	return s
}

func (v *VHost) states(q *queue) []CopyState {
	sorted := slices.Clone(q.copies)
	slices.SortStableFunc(sorted, func(a, b *Copy) int { return b.Level - a.Level })
	var list []CopyState
	for _, c := range sorted {
		x := CopyState{
			Body: c.message.body, Place: c.Place, Level: c.Level, ExpireAt: c.ExpireAt, Until: c.Until, Redelivered: c.Redelivered,
			Acquired: c.Acquired, Failed: c.Failed, Cause: c.Cause, Origin: c.origin, Took: slices.Sorted(slices.Values(c.Took)),
		}
		if c.Place == Held { // for what it waits now
			x.Cause = v.waitsFor(q, c)
		}
		if m := c.message; m.deadLetter() {
			x.History = m.history()
		}
		list = append(list, x)
	}
	return list
}

// waitsFor is why a held dead letter is held now.
func (v *VHost) waitsFor(q *queue, c *Copy) string {
	m := v.onItsWay(q, c.message)
	cause := v.nowhere(q)
	for _, t := range v.targets(q, m) {
		switch {
		case m.cycles(t.name):
			cause = "cycle"
		case !slices.Contains(c.Took, t.name):
			return "refused"
		case cause != "cycle":
			cause = "refused"
		}
	}
	return cause
}

// Equal reports whether s and o say the same.
func (s *State) Equal(o *State) bool { return reflect.DeepEqual(s, o) || s.String() == o.String() }

func (m *message) history() *History {
	return &History{m.hopExchange, m.hopKeys, m.deaths, m.first, m.last}
}

// String is s in lines.
func (s *State) String() string {
	var b strings.Builder
	for i := range s.Queues {
		q := &s.Queues[i]
		fmt.Fprintf(&b, "%s %s\n  ready=%d unacked=%d waiting=%d held=%d consumers=%d\n",
			q.Name, q.Settings, q.Ready, q.Unacked, q.Waiting, q.Held, q.Consumers)
		for k := range q.Copies {
			b.WriteString("  " + q.Copies[k].String() + "\n")
		}
	}
	for k := range s.LostStore {
		b.WriteString("lost store " + s.LostStore[k].String() + "\n")
	}
	fmt.Fprintf(&b, "made=%d", s.Made)
	for _, c := range sortedKeys(s.Ended) {
		fmt.Fprintf(&b, " %s=%d", c, s.Ended[c])
	}
	for _, c := range sortedKeys(s.Lost) {
		fmt.Fprintf(&b, "\nlost %s %d", c, s.Lost[c])
	}
	return b.String()
}

// String is the copy in a line.
func (c *CopyState) String() string {
	s := fmt.Sprintf("%q %s", c.Body, c.Place)
	for _, n := range [...]struct {
		name string
		n    int64
	}{{"level", int64(c.Level)}, {"expire", c.ExpireAt}, {"until", c.Until}, {"acquired", int64(c.Acquired)}, {"failed", int64(c.Failed)}} {
		if n.n != 0 {
			s += fmt.Sprintf(" %s=%d", n.name, n.n)
		}
	}
	if c.Redelivered {
		s += " redelivered"
	}
	if c.Cause != "" {
		s += " " + c.Cause
	}
	if c.Origin != "" {
		s += " of=" + c.Origin
	}
	if len(c.Took) > 0 {
		s += fmt.Sprintf(" took=%q", c.Took)
	}
	if c.History != nil {
		s += " " + c.History.String()
	}
	return s
}

// String is the history in a line.
func (h *History) String() string {
	s := fmt.Sprintf("to %q %q", h.Exchange, h.Keys)
	for _, d := range h.Deaths {
		s += fmt.Sprintf(" [%s %s x%d at %d from %q %q", d.Queue, d.Reason, d.Count, d.Time, d.Exchange, d.Keys)
		if d.Expiration != "" {
			s += " expiration=" + d.Expiration
		}
		s += "]"
	}
	for _, d := range [...]Death{h.First, h.Last} {
		s += fmt.Sprintf(" (%s %s %q)", d.Queue, d.Reason, d.Exchange)
	}
	return s
}

// shown is the settings as others see them.
func (s *settings) shown() Settings {
	x := Settings{
		TTL: s.ttl, Expires: s.expires, MaxLength: s.length, MaxLengthBytes: s.bytes, DeliveryLimit: s.limit, Overflow: s.overflow,
		AtLeastOnce: s.atLeastOnce, CountFailed: s.countMode == "failed", Counts: s.counts,
		HeadOnly: s.headOnly, CycleKeep: s.keep, ConsumerTimeout: s.consumerTimeout,
	}
	if s.retryType != "disabled" {
		x.RetryType, x.RetryMin, x.RetryMax = s.retryType, s.retryMin, s.retryMax
	}
	if s.hasDLX {
		x.DLX = fmt.Sprintf("%q", s.dlx)
	}
	if s.hasDLRK {
		x.DLRK = fmt.Sprintf("%q", s.dlrk)
	}
	return x
}

// Settings is what a queue runs with; numbers are -1 where there is none.
type Settings struct {
	TTL, Expires, MaxLength, MaxLengthBytes, DeliveryLimit int64
	Overflow                                               string
	DLX, DLRK                                              string // quoted; "" if there is none
	AtLeastOnce, Counts, CountFailed                       bool
	RetryType                                              string // "" if nothing is delayed
	RetryMin, RetryMax, ConsumerTimeout                    int64
	HeadOnly, CycleKeep                                    bool
}

// String is the settings in a line.
func (s Settings) String() string {
	type fields Settings
	return strings.Trim(fmt.Sprintf("%+v", fields(s)), "{}")
}
