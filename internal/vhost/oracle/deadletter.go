package oracle

import (
	"slices"

	"github.com/bartleby-mq/bartleby/internal/amqp"
)

// Reason is why a message died.
type Reason string

// The reasons. A message that basic.nack gives back for good is rejected, but where the vhost tells the difference.
const (
	rejected      Reason = "rejected"
	nacked        Reason = "nacked"
	expired       Reason = "expired"
	maxlen        Reason = "maxlen"
	deliveryLimit Reason = "delivery_limit"
)

// plain is the reason as RabbitMQ knows it.
func (r Reason) plain() Reason {
	if r == nacked {
		return rejected
	}
	return r
}

// word is what x-death says. Source: docs/compat/dead-lettering.md#1, #15.
func (v *VHost) word(r Reason) string {
	if v.isOn("reject-reasons") {
		switch r {
		case rejected:
			return "reject"
		case nacked:
			return "nack"
		case deliveryLimit:
			return "Consumption limit exceeded"
		}
	}
	return string(r.plain())
}

// Death is an entry of x-death.
type Death struct {
	Queue      string
	Reason     Reason
	Count      int64
	Time       int64 // of the first, seconds since the Unix epoch
	Exchange   string
	Keys       []string
	Expiration string // "" if the message had none
}

// die ends a copy: it is a dead letter, or just gone. Source: RabbitMQ dlx; docs/compat/dead-lettering.md#1, #3, #9,
// #12.
func (v *VHost) die(q *queue, c *Copy, why Reason) {
	m := v.bury(q, c.message, why)
	if !q.settings.hasDLX {
		if why == deliveryLimit && v.keepsLost() {
			v.lose(q, m, "delivery_limit", q.name)
			v.end(q, c, "moved")
			return
		}
		if why == deliveryLimit {
			v.lose(q, m, "delivery_limit", "")
		}
		v.end(q, c, string(why.plain()))
		return
	}
	h := hop{from: q, message: m, holds: q.settings.atLeastOnce, keeps: q.settings.keep && why == expired}
	switch v.send(&h); {
	case h.missing != "":
		v.hold(c, &h)
	case h.stays:
		c.ExpireAt = 0
		c.fresh = false
	default:
		v.end(q, c, h.end())
	}
}

// dieAtTheDoor makes a dead letter of a message that q has no space for, if its overflow says so,
// and tells what came of it; nil if q just refuses. No copy of it was in q. Source:
// docs/compat/expiry-and-limits.md#6, reject-publish-dlx.
func (v *VHost) dieAtTheDoor(q *queue, m *message) *hop {
	if q.settings.overflow != "reject-publish-dlx" || !q.settings.hasDLX {
		return nil
	}
	h := &hop{from: q, message: v.bury(q, m, maxlen)}
	v.send(h)
	return h
}

// bury is m with one death more. The entry of a queue and reason that is there already moves to the front and counts
// one more; what else it says stays. Source: docs/compat/dead-lettering.md#5, #6.
func (v *VHost) bury(q *queue, m *message, why Reason) *message {
	d := Death{Queue: q.name, Reason: why, Count: 1, Time: v.Now / 1000, Exchange: m.hopExchange, Keys: m.hopKeys}
	n := *m
	if slices.Equal(d.Keys, m.keys) {
		d.Keys = m.keys[:m.public]
	}
	if !m.deadLetter() {
		d.Exchange, d.Keys, d.Expiration = m.exchange, m.keys[:m.public], m.properties.Expiration
		n.hopExchange, n.hopKeys = m.exchange, m.keys
	}
	n.last = d
	if !m.deadLetter() {
		n.first = d
	}
	n.deaths = []Death{d}
	for _, o := range v.united(m.deaths) {
		if o.Queue == d.Queue && o.Reason == d.Reason {
			o.Count++
			n.deaths[0] = o
		} else {
			n.deaths = append(n.deaths, o)
		}
	}
	n.properties.Has &^= amqp.FlagExpiration
	n.properties.Expiration = ""
	return &n
}

// united is a history in which nacked and rejected are one, unless the vhost tells them apart: of two entries the newer
// place, the older words, and the sum of both.
func (v *VHost) united(deaths []Death) (all []Death) {
	if v.isOn("reject-reasons") {
		return deaths
	}
	for _, d := range deaths {
		d.Reason = d.Reason.plain()
		i := slices.IndexFunc(all, func(o Death) bool { return o.Queue == d.Queue && o.Reason == d.Reason })
		if i < 0 {
			all = append(all, d)
		} else {
			d.Count += all[i].Count
			all[i] = d
		}
	}
	return all
}

// cycles reports whether a dead letter would come to a queue again without a rejection since. Source:
// docs/compat/dead-lettering.md#9.
func (m *message) cycles(name string) bool {
	if m.last.Reason.plain() == rejected {
		return false
	}
	for i, d := range m.deaths {
		if d.Queue == name {
			return !slices.ContainsFunc(m.deaths[:i+1], func(o Death) bool { return o.Reason.plain() == rejected })
		}
	}
	return false
}

// hop is one dead letter's way through its queue's dead-letter exchange.
type hop struct {
	from    *queue
	message *message
	copy    *Copy    // of the dead letter in from, if it is held there
	holds   bool     // from keeps it for targets that cannot take it
	keeps   bool     // from keeps it in place if it would only go round in a cycle
	took    []string // the targets that have it, or never will

	missing string // why it is held
	stays   bool   // in place
	placed  bool   // a queue or the lost store has it
	lost    string // why a copy of it is nowhere
}

// end is how the copy of the dead letter in its queue ends.
func (h *hop) end() string {
	if h.placed || h.lost == "" {
		return "moved"
	}
	return h.lost
}

// send publishes a dead letter to the dead-letter exchange of its queue. Source:
// docs/compat/dead-lettering.md#3, #4, #9, #11, #12.
func (v *VHost) send(h *hop) {
	m := v.onItsWay(h.from, h.message)
	targets := v.targets(h.from, m)
	cause := v.nowhere(h.from)
	if len(targets) == 0 {
		switch {
		case len(h.took) > 0 && cause == "no_route": // those that are left are gone
		case h.holds:
			h.missing = cause
		default:
			v.lay(h, m, cause, "")
		}
		return
	}
	var cycles []*queue
	for _, t := range targets {
		switch {
		case slices.Contains(h.took, t.name):
		case m.cycles(t.name):
			cycles = append(cycles, t)
		case !t.refuses(m) && v.wins(h.copy, t):
			v.enqueue(t, m)
			h.placed = true
			h.took = append(slices.Clip(h.took), t.name)
		case !t.refuses(m): // another dead letter gets the space
			h.missing = "refused"
		default:
			v.refused(h, t, m)
		}
	}
	if h.keeps && len(cycles) > 0 && len(h.took) == 0 && !h.placed && h.lost == "" && h.missing == "" {
		h.stays = true
		return
	}
	for _, t := range cycles {
		switch {
		case !h.holds:
			v.lay(h, m, "cycle", t.name)
		case h.missing == "":
			h.missing = "cycle"
		}
	}
}

// refused is what becomes of a dead letter that a target has no space for: it goes on from there, is held, or
// is lost.
func (v *VHost) refused(h *hop, t *queue, m *message) {
	if beyond := v.dieAtTheDoor(t, m); beyond != nil {
		h.placed = h.placed || beyond.placed
		if slices.Index(causes, beyond.lost) > slices.Index(causes, h.lost) {
			h.lost = beyond.lost
		}
		h.took = append(slices.Clip(h.took), t.name)
		return
	}
	if h.holds {
		h.missing = "refused"
	} else {
		v.lay(h, m, "refused", t.name)
	}
}

// causes is why a dead letter may be nowhere. If it is nowhere for several, the last of them counts.
var causes = []string{"", "no_exchange", "no_route", "cycle", "refused"}

// hold makes a dead message a held dead letter, or notes what has changed about one: it does not expire any
// more, and waits for nothing but its targets. Source: docs/compat/dead-lettering.md#12.
func (v *VHost) hold(c *Copy, h *hop) {
	c.Place, c.ExpireAt, c.Until, c.fresh = Held, 0, 0, false
	c.Cause, c.Took = h.missing, h.took
	c.message = h.message
}

// canMove reports whether something would come of trying a held dead letter again: a target that has not got
// it takes it now, or only those that have it are left. Source: ours,
// docs/compat/differences.md#dead-letters; docs/compat/dead-lettering.md#12.
func (v *VHost) canMove(q *queue, c *Copy) bool {
	m := v.onItsWay(q, c.message)
	targets := v.targets(q, m)
	open := 0
	for _, t := range targets {
		if slices.Contains(c.Took, t.name) {
			continue
		}
		open++
		if m.cycles(t.name) {
			continue // until another way leads elsewhere
		}
		if !t.refuses(m) && v.wins(c, t) || t.settings.overflow == "reject-publish-dlx" && t.settings.hasDLX {
			return true
		}
	}
	return open == 0 && len(c.Took) > 0 && v.nowhere(q) == "no_route"
}

// wins reports whether a held dead letter gets the space that there is in a target for which others may be
// held as well. A dead letter that is not held yet gets what it finds.
func (v *VHost) wins(c *Copy, t *queue) bool {
	if c == nil {
		return true
	}
	var among []*Copy
	var deadLetters []string
	for _, q := range v.queues {
		for _, o := range q.copies {
			if o.Place != Held || slices.Contains(o.Took, t.name) {
				continue
			}
			if m := v.onItsWay(q, o.message); !m.cycles(t.name) && !t.refuses(m) && slices.Contains(v.targets(q, m), t) {
				among, deadLetters = append(among, o), append(deadLetters, m.body+" "+m.history().String())
			}
		}
	}
	return among[v.Choices.Taken(CopyID{Queue: t.name, Arrival: t.arrivals + 1}, deadLetters)] == c
}

// retry tries a held dead letter again.
func (v *VHost) retry(q *queue, c *Copy) {
	h := hop{from: q, message: c.message, copy: c, holds: true, took: c.Took}
	if v.send(&h); h.missing != "" {
		v.hold(c, &h)
	} else {
		v.end(q, c, h.end())
	}
}

// onItsWay is a dead letter as the dead-letter exchange of its queue gets it. Source:
// docs/compat/dead-lettering.md#4.
func (v *VHost) onItsWay(q *queue, deadLetter *message) *message {
	m := *deadLetter
	m.hopExchange = q.settings.dlx
	if q.settings.hasDLRK {
		m.hopKeys = []string{q.settings.dlrk}
		m.hideCC = m.hideCC || v.dialect() == "rabbitmq-3"
	}
	return &m
}

// targets is the queues that a dead letter leads to now.
func (v *VHost) targets(q *queue, m *message) []*queue {
	if !q.settings.hasDLX || v.exchanges[q.settings.dlx] == nil {
		return nil
	}
	return v.route(q.settings.dlx, m.hopKeys, v.headers(m))
}

// nowhere is why the dead letters of a queue lead to no queue.
func (v *VHost) nowhere(q *queue) string {
	if !q.settings.hasDLX || v.exchanges[q.settings.dlx] == nil {
		return "no_exchange"
	}
	return "no_route"
}

// headers is what a headers exchange sees of a dead letter: the words that consumers see.
func (v *VHost) headers(m *message) amqp.Table {
	return slices.Concat(m.origins(v.word), m.properties.Headers)
}
