package oracle

import (
	"maps"
	"slices"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/amqp"
)

// Place is where a copy is.
type Place string

// The places. The lost store is a queue of its own, on which all copies are Ready.
const (
	Ready   Place = "ready"
	Unacked Place = "unacked"
	Waiting Place = "waiting" // for a delayed retry
	Held    Place = "held"    // a dead letter that not all its targets have taken
)

// Copy is a message in a queue.
type Copy struct {
	Arrival     int
	Place       Place
	Level       int   // priority, as far as the queue tells priorities apart
	ExpireAt    int64 // 0: never
	Until       int64 // of a waiting copy
	Redelivered bool
	Acquired    int // returns of any kind
	Failed      int // returns after a failure
	Cause       string
	Took        []string // of a held dead letter: the targets that have it, or never will

	message *message
	target  string // of a lost letter: the queue that did not get it, "" if there was none
	origin  string // of a lost letter: the queue in which it died last, "" if it did not
	fresh   bool   // TTL 0, and the command that brought it is not over
}

// message is a message as published, with what happened to it since.
type message struct {
	exchange   string
	keys       []string // its own, CC, BCC
	public     int      // how many of them are not BCC
	properties amqp.Properties
	body       string

	deaths      []Death // newest first
	first, last Death
	hopExchange string // of a dead letter: where its last hop published it
	hopKeys     []string
	hideCC      bool
	redrives    int64 // how often it was sent back by hand
}

func (m *message) deadLetter() bool { return len(m.deaths) > 0 }

// due reports whether the copy has expired.
func (c *Copy) due(now int64) bool { return c.ExpireAt != 0 && c.ExpireAt <= now }

// queue is a queue with all that is in it.
type queue struct {
	name       string
	quorum     bool
	durable    bool
	autoDelete bool
	arguments  amqp.Table
	settings   settings
	copies     []*Copy // in the order of arrival
	arrivals   int
	consumers  []*consumer
	consumed   bool  // had one
	unused     int64 // since when its own life counts, ms; 0 while it has consumers
}

// head is the ready copy that is delivered next: the highest priority, then the oldest.
func (q *queue) head() (best *Copy) {
	for _, c := range q.copies {
		if c.Place == Ready && (best == nil || c.Level > best.Level) {
			best = c
		}
	}
	return best
}

// victim is the ready copy that leaves if the queue is too long. Source: docs/compat/expiry-and-limits.md#6, #9.
func (q *queue) victim() *Copy {
	if q.settings.overflow != "drop-lowest" {
		return q.head()
	}
	var worst *Copy
	for _, c := range q.copies {
		if c.Place == Ready && (worst == nil || c.Level < worst.Level) {
			worst = c
		}
	}
	return worst
}

// count is how many copies are in one of the places, and the sum of their bodies.
func (q *queue) count(places ...Place) (n, bytes int64) {
	for _, c := range q.copies {
		if slices.Contains(places, c.Place) {
			n++
			bytes += int64(len(c.message.body))
		}
	}
	return n, bytes
}

// over reports whether the queue is longer than its limits, so that messages have to leave it. Held dead
// letters do not count here: for their sake nothing else would be left of the queue. Source:
// docs/compat/expiry-and-limits.md#6; ours, decision 7.
func (q *queue) over() bool {
	n, bytes := q.count(Ready, Waiting)
	return q.settings.length >= 0 && n > q.settings.length || q.settings.bytes >= 0 && bytes > q.settings.bytes
}

// refuses reports whether the queue has no space for a message more: all counts that is not unacked. A quorum queue
// takes dead letters beyond its limit.
// Source: docs/compat/expiry-and-limits.md#6, docs/compat/dead-lettering.md#11.
func (q *queue) refuses(m *message) bool {
	if q.settings.drops() || q.quorum && m.deadLetter() {
		return false
	}
	n, bytes := q.count(Ready, Waiting, Held)
	return q.settings.length >= 0 && n+1 > q.settings.length ||
		q.settings.bytes >= 0 && bytes+int64(len(m.body)) > q.settings.bytes
}

// enqueue makes a copy of m in q.
func (v *VHost) enqueue(q *queue, m *message) *Copy {
	q.arrivals++
	v.made++
	c := &Copy{Arrival: q.arrivals, Place: Ready, Level: q.level(m), message: m}
	if ttl := v.ttl(q, m); ttl >= 0 {
		c.ExpireAt = v.Now + ttl
		c.fresh = ttl == 0
	}
	q.copies = append(q.copies, c)
	return c
}

// level is the priority that m has in q. Source: docs/compat/expiry-and-limits.md#9.
func (q *queue) level(m *message) int {
	priority, given := int(m.properties.Priority), m.properties.Has&amqp.FlagPriority != 0
	if n, ok := number(q.arguments, "x-max-priority"); ok {
		return min(priority, int(max(n, 1)))
	}
	switch {
	case !q.quorum:
		return 0
	case !given:
		return 4
	}
	return min(priority, 31)
}

// declareQueue decides queue.declare. Source: AMQP queue.declare; docs/compat/dead-lettering.md#13.
func (v *VHost) declareQueue(ch *channel, c *Command) uint16 {
	q := v.queue(c.Name)
	switch {
	case q == nil && c.Passive:
		return amqp.CodeNotFound
	case q == nil:
		quorum := textOf(c.Arguments, "x-queue-type") == "quorum"
		if quorum && (!c.Durable || c.AutoDelete) {
			return amqp.CodePreconditionFailed
		}
		q = &queue{name: c.Name, quorum: quorum, durable: c.Durable, autoDelete: c.AutoDelete, arguments: c.Arguments}
		q.settings = v.effective(q)
		v.queues = append(v.queues, q)
	case c.Passive:
	case q.durable != c.Durable || q.autoDelete != c.AutoDelete || !sameArguments(q.arguments, c.Arguments):
		return amqp.CodePreconditionFailed
	}
	v.used(q)
	n, _ := q.count(Ready)
	v.answer(ch.id, Answered, "declared %s ready=%d consumers=%d", q.name, n, len(q.consumers))
	return 0
}

// sameArguments compares what queues know of two declarations; all that the oracle is told is known.
func sameArguments(a, b amqp.Table) bool {
	if len(a) != len(b) {
		return false
	}
	for _, f := range a {
		if o, ok := b.Get(f.Name); !ok || !f.Value.Equivalent(o) {
			return false
		}
	}
	return true
}

// removeQueue decides queue.delete. Nothing becomes a dead letter. Source: docs/compat/dead-lettering.md#1.
func (v *VHost) removeQueue(ch *channel, c *Command) uint16 {
	q := v.queue(c.Name)
	n := int64(0)
	if q != nil {
		n, _ = q.count(Ready)
		v.deleteQueue(q)
	}
	v.answer(ch.id, Answered, "deleted count=%d", n)
	return 0
}

func (v *VHost) deleteQueue(q *queue) {
	for len(q.copies) > 0 {
		v.end(q, q.copies[0], "deleted")
	}
	for _, x := range q.consumers {
		v.answer(x.channel.id, Cancelled, "cancelled %s", x.tag)
	}
	q.consumers = nil
	maps.DeleteFunc(v.lost, func(k string, _ uint64) bool { return strings.HasPrefix(k, q.name+" ") })
	v.queues = slices.DeleteFunc(v.queues, func(o *queue) bool { return o == q })
	v.bindings = slices.DeleteFunc(v.bindings, func(b binding) bool { return !b.toExchange && b.destination == q.name })
}

// purge decides queue.purge: all goes that no consumer has. Source: AMQP queue.purge; docs/compat/dead-lettering.md#12,
// docs/compat/quorum-and-retry.md#6.
func (v *VHost) purge(ch *channel, c *Command) uint16 {
	q := v.queue(c.Name)
	if q == nil {
		return amqp.CodeNotFound
	}
	n := 0
	for _, x := range slices.Clone(q.copies) {
		if x.Place != Unacked {
			v.end(q, x, "purged")
			n++
		}
	}
	v.answer(ch.id, Answered, "purged count=%d", n)
	return 0
}
