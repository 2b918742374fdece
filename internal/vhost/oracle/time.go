package oracle

import (
	"maps"
	"math"
	"slices"
	"strconv"
)

// A timed thing is due at an instant: a copy expires, has waited or was held by a client long enough, or a queue was
// unused too long.
type timed struct {
	at   int64
	id   CopyID
	next func()
}

// timers is all that is to come: of a channel, what it has to settle first. In which order overdue things happen, of
// which there are several only if a policy has kept them, is open.
func (v *VHost) timers() (list []timed) {
	for _, q := range append([]*queue{v.lostStore}, v.queues...) {
		add := func(at int64, arrival int, next func()) {
			list = append(list, timed{at, CopyID{Queue: q.name, Arrival: arrival}, next})
		}
		if q.settings.expires > 0 && len(q.consumers) == 0 && q.unused > 0 {
			add(q.unused+q.settings.expires, 0, func() { v.deleteQueue(q) })
		}
		for _, c := range q.copies {
			if v.expires(q, c) {
				add(c.ExpireAt, c.Arrival, func() { v.expire(q, c) })
			}
			if c.Place == Waiting {
				add(c.Until, c.Arrival, func() { c.Place, c.Until = Ready, 0 })
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(v.channels)) {
		ch := v.channels[id]
		var first *delivery
		for _, d := range ch.unacked {
			if d.due != 0 && v.has(d) && (first == nil || d.due < first.due) {
				first = d
			}
		}
		if first != nil {
			list = append(list, timed{first.due, CopyID{first.queue.name, first.copy.Arrival, true}, func() { v.timeOut(ch) }})
		}
	}
	return list
}

// expires reports whether the copy leaves at its instant: anywhere in the queue, but where parity is asked for. What
// waits is nowhere in line, and does in any case. Source: ours, docs/compat/differences.md#expiry;
// docs/compat/expiry-and-limits.md#3, docs/compat/quorum-and-retry.md#6.
func (v *VHost) expires(q *queue, c *Copy) bool {
	switch {
	case c.ExpireAt == 0, c.fresh: // what is fresh is offered to consumers first
		return false
	case c.Place == Ready && q.settings.headOnly:
		return c == q.head()
	}
	return c.Place == Ready || c.Place == Waiting
}

func (v *VHost) expire(q *queue, c *Copy) {
	if q == v.lostStore {
		v.evict(c)
	} else {
		v.die(q, c, expired)
	}
}

// Due is the instant at which the next thing happens by itself; ok is false if nothing will.
func (v *VHost) Due() (at int64, ok bool) {
	at = math.MaxInt64
	for _, t := range v.timers() {
		at = min(at, t.at)
	}
	return at, at != math.MaxInt64
}

// DueAfter is the second of the different instants at which something happens by itself.
func (v *VHost) DueAfter() (at int64, ok bool) {
	first, _ := v.Due()
	at = math.MaxInt64
	for _, q := range append([]*queue{v.lostStore}, v.queues...) {
		for _, c := range q.copies {
			for _, t := range [...]int64{c.ExpireAt, c.Until} {
				if t > first {
					at = min(at, t)
				}
			}
		}
		if t := q.unused + q.settings.expires; q.settings.expires > 0 && t > first {
			at = min(at, t)
		}
	}
	return at, at != math.MaxInt64
}

// tick lets happen what is due.
func (v *VHost) tick() {
	for {
		var ids []CopyID
		var acts []func()
		for _, t := range v.timers() {
			if t.at <= v.Now {
				ids, acts = append(ids, t.id), append(acts, t.next)
			}
		}
		if len(ids) == 0 {
			return
		}
		acts[v.Choices.Next(ids)]()
	}
}

// used begins the life of an unused queue anew: a get, a declare, its last consumer leaving.
// Source: docs/compat/expiry-and-limits.md#5.
func (v *VHost) used(q *queue) {
	if len(q.consumers) == 0 {
		q.unused = v.Now
	}
}

// ttl is how long m may stay in q, ms; -1 for ever. Source: docs/compat/expiry-and-limits.md#1, #2;
// docs/compat/dead-lettering.md#15.
func (v *VHost) ttl(q *queue, m *message) int64 {
	ttl := q.settings.ttl
	if m.deadLetter() {
		deaths := int64(0)
		for _, d := range m.deaths {
			deaths += d.Count
		}
		if most := v.hopsMax(); most > 0 && deaths >= most || !v.onByDefault("ttl-in-dlq") {
			return -1
		}
		return ttl
	}
	if n, err := strconv.ParseInt(m.properties.Expiration, 10, 64); err == nil && (ttl < 0 || n < ttl) {
		return n
	}
	return ttl
}

// hopsMax is after how many deaths a message does not expire any more; 0 for none.
func (v *VHost) hopsMax() int64 {
	if v.dialect() == "apsaramq" {
		return v.option("hops-max", 16)
	}
	return v.option("hops-max", 0)
}
