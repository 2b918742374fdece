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
	restore := !o.DropExpiration && m.scan().Expiration != nil && (job == 0 || o.worksAgain(&h))
	h.Exchange, h.Keys, h.HideCC, h.Share = w.exchange, w.keys, false, lettersMax
	h.Resent = h.Resent.again(job)
	if o.StripDeaths {
		h.Deaths, h.First, h.Last = nil, Origin{}, Origin{}
	}
	if restore {
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
		source.counters().Redriven++
		v.end(s, source, seq, Redriven, out)
	}
}

// worksAgain reports whether an order sends a message to where it is worked on, as it was published, and not from one place of dead
// letters to another, where its expiration would end it.
func (o *Order) worksAgain(h *History) bool {
	return len(h.Deaths) == 0 || o.Way == WayOrigin || o.Way == WayQueue && (o.Queue == "" || o.Queue == h.firstQueue())
}

// discardOne puts a message on the shelf, from which it may be taken back to its queue, or ends it for good if it is there or
// there is no shelf.
func (v *VHost) discardOne(s *Stamp, source *queueState, seq queue.Seq, out *Outcome) {
	v.traffic.Redrives.Discarded++
	if source == v.shelf {
		v.end(s, source, seq, GonePurged, out)
		return
	}
	source.counters().Discarded++
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

// An EditTrial is what an Edit would do.
type EditTrial struct {
	Why      Why      // the original stays; 0: it goes
	Exchange string   // where the message is published
	Keys     []string // with which: its own, CC, and BCC, those that the original had among them
	Queues   []string
}

// TryResend tells what a Resend would do now. It changes nothing.
func (v *VHost) TryResend(c *Command, wall int64) (t EditTrial, err *amqp.Error) {
	e, err := v.edited(&Stamp{Wall: Instant(wall), Now: v.logged, From: v.logged}, c)
	if err != nil {
		return t, err
	}
	t = EditTrial{Why: e.why, Exchange: e.exchange, Keys: e.keys}
	for _, q := range e.targets {
		t.Queues = append(t.Queues, q.object.Name)
	}
	return t, nil
}

// An editedMessage is what an Edit makes of a message, and where that goes.
type editedMessage struct {
	message
	wayTo
	why    Why // it goes nowhere
	source *queueState
	order  Order
}

// edited makes the message that a Resend asks for, and changes nothing. It is checked as a publish is.
func (v *VHost) edited(s *Stamp, c *Command) (e editedMessage, err *amqp.Error) {
	x := c.Edit
	e.order = Order{Source: x.Source, Way: x.Way, Queue: x.Queue, Exchange: x.Exchange, Key: x.Key}
	if e.source = v.whereabouts(x.Source); e.source == nil {
		return e, amqp.NotFound("no queue '%s' in vhost '%s'", x.Source.Queue, v.name)
	}
	var scan amqp.PropertyScan
	if err := scan.Scan(c.Properties); err != nil {
		return e, malformed(err)
	}
	if scan.Expiration != nil { // which it has again when it is sent
		if _, err := parseExpiration(string(scan.Expiration)); err != nil {
			return e, err
		}
	}
	seq := queue.Seq(x.ID - 1)
	there := e.source.messages.Entry(seq)
	if x.ID == 0 || there == nil {
		e.why = WhyUnknown
		return e, nil
	}
	old := v.recall(e.source, seq)
	h := old.past()
	e.message = message{
		content: content{exchange: old.content.exchange, key: old.content.key, bcc: old.content.bcc, properties: c.Properties, body: c.Body},
		ttl:     -1, persistent: scan.Persistent(), priority: scan.Priority, prioritized: scan.Flags&amqp.FlagPriority != 0, history: &h,
	}
	if scan.Headers != nil {
		if err := e.senderSelected(scan.Headers); err != nil {
			return e, err
		}
		if _, err := deliveryTimeOf(scan.Headers, s.Wall); err != nil {
			return e, err
		}
	}
	if e.wayTo, e.why = v.wayBack(s, &e.order, e.source, seq, &e.message); there.State != queue.Ready {
		e.why = WhyBusy
	}
	if x.Way == WayElsewhere { // it is a new message, published there with that key
		e.content.exchange, e.content.key, e.content.cc, e.content.bcc = []byte(x.Exchange), []byte(x.Key), nil, nil
	}
	return e, nil
}

// resend decides Resend. Its history goes on with the message.
func (v *VHost) resend(s *Stamp, ch *channel, c *Command, out *Outcome) *amqp.Error {
	x := c.Edit
	e, err := v.edited(s, c)
	if err != nil {
		return err
	}
	tell := func(kind EffectKind, name string) {
		out.effect(Effect{Kind: kind, Command: Resend, Channel: ch.id, Tag: x.ID, Name: name, After: v.newest(out)}, s.Index)
	}
	outcome := e.why.String()
	if e.why == 0 {
		outcome = Redriven.String()
		v.sendBack(s, &e.order, 0, e.wayTo, e.source, queue.Seq(x.ID-1), &e.message, x.Keep, out)
		v.touch(e.source, 0)
	}
	tell(Answered, outcome)
	if e.why == 0 {
		for _, q := range e.targets {
			tell(Went, q.object.Name)
		}
	}
	v.done(ch, c, out, Effect{})
	return nil
}
