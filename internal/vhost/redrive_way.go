package vhost

import (
	"math"
	"slices"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/place"
	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/sift"
	"github.com/bartleby-mq/bartleby/internal/topology"
)

// A wayTo is where one letter goes.
type wayTo struct {
	exchange string
	keys     []string
	targets  []*queueState
	keepers  []*topology.Exchange // delayed exchanges that keep it
}

// served reports whether somebody consumes where the letter goes.
func (w *wayTo) served() bool {
	return len(w.targets) == 0 || slices.ContainsFunc(w.targets, func(q *queueState) bool { return q.consumers.Len() > 0 })
}

// wayBack finds where an order sends a letter of a queue or the shelf, or why it stays. It changes nothing but what is known
// of m.
func (v *VHost) wayBack(s *Stamp, o *Order, source *queueState, seq queue.Seq, m *message) (w wayTo, why Why) {
	v.topo.ForgetWay()
	h := m.past()
	switch o.Way {
	case WayQueue:
		name := o.Queue
		if name == "" {
			name = h.firstQueue()
		}
		if f, told := m.failure(); name == "" && told {
			name = f.Queue
		}
		q := v.queueNamed(name)
		if q == nil {
			return w, WhyQueue
		}
		w = wayTo{keys: []string{name}, targets: []*queueState{q}}
		if q.refuses(m) {
			return w, WhyRefused
		}
		return w, 0
	case WayOn:
		letter := *m
		letter.history = &h
		targets, cause := v.wayOn(s, seq, &letter, false)
		w = wayTo{exchange: letter.history.Exchange, keys: letter.history.Keys, targets: targets, keepers: v.topo.Keepers()}
		m.delay, m.nonsense = letter.delay, letter.nonsense
		if cause != 0 {
			return w, whyOf(cause)
		}
	case WayElsewhere:
		w.exchange, w.keys = o.Exchange, []string{o.Key}
		if o.Keys {
			w.keys = m.content.keys()
		}
		why = v.routeBack(s, m, h, &w)
	default:
		w.exchange, w.keys = string(m.content.exchange), m.content.keys()
		if f, told := m.failure(); told {
			if exchange, key, ok := f.Back(); ok {
				w.exchange, w.keys = exchange, []string{key}
			}
		}
		why = v.routeBack(s, m, h, &w)
	}
	if why == 0 {
		why = v.roomAt(m, &w)
	}
	return w, why
}

// routeBack asks the topology where w leads.
func (v *VHost) routeBack(s *Stamp, m *message, h History, w *wayTo) Why {
	x := v.topo.Exchange(w.exchange)
	if x == nil {
		return WhyExchange
	}
	letter := *m
	h.Exchange, h.Keys = w.exchange, w.keys
	letter.history = &h
	for _, id := range v.routeLetter(s, x, &letter) {
		w.targets = append(w.targets, v.queues[id])
	}
	w.keepers = v.topo.Keepers()
	m.delay, m.nonsense = letter.delay, letter.nonsense
	if w.targets == nil && len(w.keepers) == 0 {
		return WhyRoute
	}
	return 0
}

// roomAt reports why a letter cannot go where w leads: all of it goes, or nothing.
func (v *VHost) roomAt(m *message, w *wayTo) Why {
	if len(w.keepers) > 0 && (m.nonsense != nil || slices.ContainsFunc(w.keepers, func(x *topology.Exchange) bool { return v.isFull(x, m) })) {
		return WhyRefused
	}
	if slices.ContainsFunc(w.targets, func(q *queueState) bool { return q.refuses(m) }) {
		return WhyRefused
	}
	return 0
}

func whyOf(c Cause) Why {
	switch c {
	case LostExchange:
		return WhyExchange
	case LostRefused:
		return WhyRefused
	}
	return WhyRoute
}

// failure is what the headers tell of a message that a client has published where failures go: it was somewhere else before.
func (m *message) failure() (f sift.Failure, told bool) {
	if m.scan().Headers == nil {
		return f, false
	}
	return sift.FailureOf(m.content.properties)
}

// past is the history of a message, which it may not have had before.
func (m *message) past() History {
	if m.history != nil {
		return *m.history
	}
	h := History{Exchange: string(m.content.exchange), Keys: m.content.keys(), Share: lettersMax}
	if f, told := m.failure(); told {
		h.Resent.Times = uint32(min(max(f.Redrives, 0), math.MaxUint32-1))
	}
	return h
}

// firstQueue is where a letter died first, "" if it never did.
func (h *History) firstQueue() string {
	if k := len(h.Deaths); h.First.Queue == "" && k > 0 {
		return h.Deaths[k-1].Queue
	}
	return h.First.Queue
}

// sendBack moves a letter: it ends where it is, and is in its targets, in the same batch. The properties that it was
// published with are its own again. What is kept stays where it is, too.
func (v *VHost) sendBack(s *Stamp, o *Order, job JobID, w wayTo, source *queueState, seq queue.Seq, m *message, keep bool, out *Outcome) {
	h := m.past()
	h.Exchange, h.Keys, h.HideCC, h.Share = w.exchange, w.keys, false, lettersMax
	h.Resent = Resent{Times: h.Resent.Times + 1, Job: job}
	if o.StripDeaths {
		h.Deaths, h.First, h.Last = nil, Origin{}, Origin{}
	}
	if !o.DropExpiration && m.scan().Expiration != nil {
		h.Resent.Restored = true
		m.wishes(s)
	}
	m.history, m.letter, m.historyVolatile = &h, place.Ref{}, place.Ref{}
	if len(w.keepers) > 0 {
		v.postpone(s, w.keepers, m, out)
	}
	for _, q := range w.targets {
		v.enqueue(s, q, m, out)
		v.touch(q, 0)
	}
	v.traffic.Redrives.Moved++
	if !keep && v.mutant != MutantSendTwice {
		source.stats.Redriven++
		v.end(s, source, seq, Redriven, out)
	}
}

// discardOne puts a message on the shelf, from which it may be taken back to its queue, or ends it for good if it is there or
// there is no shelf.
func (v *VHost) discardOne(s *Stamp, source *queueState, seq queue.Seq, out *Outcome) {
	v.traffic.Redrives.Discarded++
	if source == v.shelf {
		v.end(s, source, seq, GonePurged, out)
		return
	}
	source.stats.Discarded++
	if v.options.LostLettersMaxBytes == 0 {
		v.end(s, source, seq, Discarded, out)
		return
	}
	m := v.recall(source, seq)
	h := m.past()
	m.history, m.letter, m.historyVolatile = &h, place.Ref{}, place.Ref{}
	v.putOnShelf(s, &m, Discarded, source.object.Name, out)
	v.end(s, source, seq, Moved, out)
}

// An Edit names a message that is published anew, with other properties and another body, and where it goes.
type Edit struct {
	Source        Where
	ID            uint64
	Keep          bool // the original stays where it is
	Way           Way  // but WayOn
	Queue         string
	Exchange, Key string
}

// resend decides Resend. Its history goes on with the message.
func (v *VHost) resend(s *Stamp, ch *channel, c *Command, out *Outcome) *amqp.Error {
	x := c.Edit
	source := v.whereabouts(x.Source)
	if source == nil {
		return amqp.NotFound("no queue '%s' in vhost '%s'", x.Source.Queue, v.name)
	}
	var scan amqp.PropertyScan
	if err := scan.Scan(c.Properties); err != nil {
		return malformed(err)
	}
	answer := func(outcome string) *amqp.Error {
		out.effect(Effect{Kind: Answered, Command: Resend, Channel: ch.id, Tag: x.ID, Name: outcome, After: v.newest(out)}, s.Index)
		v.done(ch, c, out, Effect{})
		return nil
	}
	seq := queue.Seq(x.ID - 1)
	switch e := source.messages.Entry(seq); {
	case x.ID == 0 || e == nil:
		return answer(WhyUnknown.String())
	case e.State != queue.Ready:
		return answer(WhyBusy.String())
	}
	old := v.recall(source, seq)
	h := old.past()
	m := message{
		content: content{exchange: old.content.exchange, key: old.content.key, bcc: old.content.bcc, properties: c.Properties, body: c.Body},
		ttl:     -1, persistent: scan.Persistent(), priority: scan.Priority, prioritized: scan.Flags&amqp.FlagPriority != 0, history: &h,
	}
	if scan.Headers != nil {
		if err := m.senderSelected(scan.Headers); err != nil {
			return err
		}
	}
	o := Order{Source: x.Source, Way: x.Way, Queue: x.Queue, Exchange: x.Exchange, Key: x.Key}
	w, why := v.wayBack(s, &o, source, seq, &m)
	if why != 0 {
		return answer(why.String())
	}
	if x.Way == WayElsewhere { // it is a new message, published there
		m.content.exchange, m.content.key = []byte(x.Exchange), []byte(x.Key)
	}
	v.sendBack(s, &o, 0, w, source, seq, &m, x.Keep, out)
	v.touch(source, 0)
	return answer(Redriven.String())
}
