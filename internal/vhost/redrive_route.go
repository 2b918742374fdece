package vhost

import (
	"math"
	"slices"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/filter"
	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/settings"
	"github.com/bartleby-mq/bartleby/internal/storage"
	"github.com/bartleby-mq/bartleby/internal/topology"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// For is the order for one of its messages. One that was discarded failed nowhere else since: instead of to the queue
// where it failed before it goes back to the one from which it was discarded, so that a redrive undoes a discard.
func (o *JobSpec) For(x *Seen) *JobSpec {
	if o.Target != TargetQueue || o.Queue != "" || !o.Source.Lost || x.Cause != fact.Discarded {
		return o
	}
	back := *o
	back.Target = TargetOnward
	return &back
}

// undoes reports whether an order, which a job has for one of its messages, undoes a discard. Then the message goes
// back to where it waited before, and needs no consumer there.
func (o *JobSpec) undoes(job *JobSpec) bool { return o.Target != job.Target }

// A destination is where one message goes.
type destination struct {
	exchange string
	keys     []string
	targets  []*queueState
	keepers  []*topology.Exchange // delayed exchanges that keep it
}

// served reports whether somebody consumes where the message goes.
func (w *destination) served() bool {
	return len(w.targets) == 0 || slices.ContainsFunc(w.targets, func(q *queueState) bool { return q.consumers.Len() > 0 })
}

// redriveRoute finds where a job sends a message of a queue or the lost store, or why it stays. It changes
// nothing but what is known of m.
func (s *step) redriveRoute(o *JobSpec, source *queueState, seq queue.Seq, m *message) (w destination, why SkipReason) {
	h := m.past()
	switch o.Target {
	case TargetQueue:
		w, why = s.routeHome(o.Queue, m, h)
	case TargetOnward:
		sent := *m
		sent.history = &h
		targets, keepers, cause := s.onward(seq, &sent, false)
		w = destination{exchange: sent.history.Exchange, keys: sent.history.Keys, targets: targets, keepers: keepers}
		m.delay, m.delayRefusal = sent.delay, sent.delayRefusal
		if cause != 0 {
			return w, skipReasonOf(cause)
		}
	case TargetExchange:
		w.exchange, w.keys = o.Exchange, []string{o.Key}
		if o.Keys {
			w.keys = m.content.Keys()
		}
		why = s.routeBack(m, h, &w)
	default:
		from := m.cameFrom()
		w.exchange, w.keys = from.Exchange, from.Keys
		why = s.routeBack(m, h, &w)
	}
	if why == 0 && !o.Force && slices.Contains(w.targets, source) {
		why = SkipSameQueue
	}
	if why == 0 {
		why = s.spaceAt(m, &w)
	}
	return w, why
}

// routeHome finds the way into a queue, "" for the one where the message failed, past all exchanges: its consumer sees
// the exchange and the key of the first publish. If headers name only an exchange and a key, these lead back.
func (s *step) routeHome(name string, m *message, h fact.History) (w destination, why SkipReason) {
	from := m.cameFrom()
	w.exchange, w.keys = from.Exchange, from.Keys
	if name == "" {
		name = from.Queue
	}
	switch q := s.queueNamed(name); {
	case name == "" && from.Told:
		why = s.routeBack(m, h, &w)
		return w, why
	case name == "":
		return w, SkipNoOrigin
	case q == nil:
		return w, SkipNoQueue
	default:
		w.targets = []*queueState{q}
		return w, 0
	}
}

// routeBack asks the topology where w leads.
func (s *step) routeBack(m *message, h fact.History, w *destination) SkipReason {
	x := s.topo.Exchange(w.exchange)
	if x == nil {
		return SkipNoExchange
	}
	sent := *m
	h.Exchange, h.Keys = w.exchange, w.keys
	sent.history = &h
	route := s.routeByHistory(x, &sent)
	for _, id := range route.Queues {
		w.targets = append(w.targets, s.queues[id])
	}
	w.keepers = route.Delayed
	m.delay, m.delayRefusal = sent.delay, sent.delayRefusal
	if w.targets == nil && len(w.keepers) == 0 {
		return SkipNoRoute
	}
	return 0
}

// spaceAt reports why a message cannot go where w leads: all of it goes, or nothing.
func (v *VHost) spaceAt(m *message, w *destination) SkipReason {
	if len(w.keepers) > 0 && (m.delayRefusal != nil || slices.ContainsFunc(w.keepers, func(x *topology.Exchange) bool { return v.isFull(x, m) })) {
		return SkipRefused
	}
	if anyRefuses(w.targets, m) {
		return SkipRefused
	}
	return 0
}

func skipReasonOf(c fact.Cause) SkipReason {
	switch c {
	case fact.LostExchange:
		return SkipNoExchange
	case fact.LostRefused:
		return SkipRefused
	}
	return SkipNoRoute
}

// failure is what the headers of a message tell of a failure.
func (m *message) failure() (f filter.Failure, told bool) {
	if m.scan().Headers == nil {
		return f, false
	}
	return failureOf(m.content.Properties, m.history)
}

// past is the history of a message, which it may not have had before.
func (m *message) past() fact.History {
	if m.history != nil {
		return *m.history
	}
	h := fact.History{Exchange: string(m.content.Exchange), Keys: m.content.Keys(), Share: fact.DeadLettersMax}
	if f, told := m.failure(); told {
		h.Redrive.Times = uint32(min(max(f.Redrives, 0), math.MaxUint32-1))
	}
	return h
}

// redriveOne moves a message: it ends where it is, and is in its targets, in the same batch. The properties
// that it was published with are its own again. What is kept stays where it is, too.
func (s *step) redriveOne(o *JobSpec, job fact.JobID, w destination, source *queueState, seq queue.Seq, m *message, keep bool) {
	h := m.past()
	returns := job == 0 || o.returnsToWork(m) // who edits a message wants it worked on
	restore := !o.DropExpiration && m.scan().Expiration != nil && (returns || len(h.Deaths) == 0)
	atWork := returns && !slices.Contains(w.targets, source) || !m.isDeadLetter(source, &h)
	h.Exchange, h.Keys, h.HideCC, h.Share = w.exchange, w.keys, false, fact.DeadLettersMax
	h.Redrive = h.Redrive.Again(job)
	h.Redrive.AtWork = atWork
	if o.StripDeaths {
		h.Deaths, h.First, h.Last = nil, fact.Origin{}, fact.Origin{}
	}
	if restore {
		h.Redrive.Restored = true
		m.applyExpiration(&s.Stamp)
	}
	m.history, m.historyRef, m.historyVolatile = &h, storage.Ref{}, storage.Ref{}
	if len(w.keepers) > 0 {
		s.postpone(w.keepers, m)
	}
	for _, q := range w.targets {
		s.enqueue(q, m)
		s.markDirty(q, 0)
	}
	s.traffic.Redrives.Moved++
	if !keep {
		s.fatesOf(source).Redriven++
		s.end(source, seq, fact.Redriven)
	}
}

// returnsToWork reports whether a job sends a message to where it is worked on, as it was published:
// there it is no dead letter until it dies again. Elsewhere, and in the queue that it was taken from,
// it stays what it is: another queue may be one of dead letters, where its expiration would end it.
func (o *JobSpec) returnsToWork(m *message) bool {
	return o.Target == TargetOrigin || o.Target == TargetQueue && (o.Queue == "" || o.Queue == m.cameFrom().Queue)
}

// isDeadLetter reports whether a message of q with that past is a dead letter, as queue.Flags and the mark say of one.
func (m *message) isDeadLetter(q *queueState, h *fact.History) bool {
	return q.marked() || (len(h.Deaths) > 0 || m.reportsFailure) && !h.Redrive.AtWork
}

// marked reports whether q is marked as a dead-letter queue: then each message in it is a dead letter.
func (q *queueState) marked() bool { return q.settings.DLQ == Marked }

// holdsAsDeadLetter reports whether an entry of q is a dead letter, by its flags or by the mark of its queue.
func (q *queueState) holdsAsDeadLetter(e *queue.Entry) bool {
	return e.Flags.DeadLetter() || q.marked()
}

// deadLetters counts the dead letters in q.
func (q *queueState) deadLetters() int {
	if q.marked() {
		return q.messages.Len()
	}
	return q.messages.DeadLetters()
}

// discardOne puts a message in the lost store, from which it may be taken back to its queue, or ends it for good if it
// is there or nothing is kept there.
func (s *step) discardOne(source *queueState, seq queue.Seq) {
	s.traffic.Redrives.Discarded++
	if source == s.lost {
		s.end(source, seq, fact.GonePurged)
		return
	}
	s.fatesOf(source).Discarded++
	if s.options.LostLettersMaxBytes == 0 {
		s.end(source, seq, fact.Discarded)
		return
	}
	m := s.loadMessage(source, seq)
	h := m.past()
	m.history, m.historyRef, m.historyVolatile = &h, storage.Ref{}, storage.Ref{}
	s.putInLost(&m, fact.Discarded, source.object.Name)
	s.end(source, seq, fact.Moved)
}

// An Edit names a message that is published anew, with other properties and another body, and where it goes.
type Edit struct {
	Source        Where
	ID            MessageID
	Keep          bool   // the original stays where it is
	Way           Target // but TargetOnward
	Queue         string
	Exchange, Key string
	Force         bool // it may go to the queue where the original is
}

// JobSpec is the order of a job that sends a message where the edit does.
func (x *Edit) JobSpec() JobSpec {
	return JobSpec{Source: x.Source, Target: x.Way, Queue: x.Queue, Exchange: x.Exchange, Key: x.Key, Force: x.Force}
}

// An editedMessage is what an Edit makes of a message, and where that goes.
type editedMessage struct {
	message
	destination
	from    Origin
	skipped SkipReason // it goes nowhere
	source  *queueState
	order   JobSpec
}

// edited makes the message that a Resend asks for, and changes nothing. It is checked as a publish is.
func (s *step) edited(c *Command) (e editedMessage, err *amqp.Error) {
	x := c.Edit
	e.order = x.JobSpec()
	if e.source = s.whereabouts(x.Source); e.source == nil {
		return e, amqp.NotFound("no queue '%s' in vhost '%s'", x.Source.Queue, s.name)
	}
	var scan amqp.PropertyScan
	if err := scan.Scan(c.Properties); err != nil {
		return e, malformed(err)
	}
	if scan.Expiration != nil { // which it has again when it is sent
		if _, err := settings.ParseExpiration(string(scan.Expiration)); err != nil {
			return e, err
		}
	}
	seq := seqOf(x.ID)
	there := e.source.messages.Entry(seq)
	if x.ID == 0 || there == nil {
		e.skipped = SkipUnknown
		return e, nil
	}
	old := s.loadMessage(e.source, seq)
	h := old.past()
	e.message = message{
		content: fact.Head{
			Exchange: old.content.Exchange, Key: old.content.Key, BCC: old.content.BCC, Properties: c.Properties,
		},
		body: body{octets: c.Body},
		ttl:  -1, persistent: scan.Persistent(), priority: scan.Priority, prioritized: scan.Flags&amqp.FlagPriority != 0, history: &h,
	}
	if scan.Headers != nil {
		if err := e.senderSelected(scan.Headers); err != nil {
			return e, err
		}
		if _, err := deliveryTimeOf(scan.Headers, s.Wall); err != nil {
			return e, err
		}
	}
	e.from = e.cameFrom()
	if e.destination, e.skipped = s.redriveRoute(&e.order, e.source, seq, &e.message); there.State != queue.Ready {
		e.skipped = SkipBusy
	}
	if x.Way == TargetExchange { // it is a new message, published there with that key
		e.content.Exchange, e.content.Key, e.content.CC, e.content.BCC = []byte(x.Exchange), []byte(x.Key), nil, nil
	}
	return e, nil
}

// resend decides Resend. Its history goes on with the message.
func (s *step) resend(ch *channel, c *Command) *amqp.Error {
	x := c.Edit
	e, err := s.edited(c)
	if err != nil {
		return err
	}
	tell := func(kind EffectKind, name string) {
		s.effect(Effect{Kind: kind, Command: Resend, Channel: ch.id, Tag: x.ID, Name: name, After: s.newest()})
	}
	outcome := e.skipped.String()
	if e.skipped == 0 {
		outcome = fact.Redriven.String()
		s.redriveOne(&e.order, 0, e.destination, e.source, seqOf(x.ID), &e.message, x.Keep)
		s.markDirty(e.source, 0)
	}
	tell(Answered, outcome)
	if e.skipped == 0 {
		for _, q := range e.targets {
			tell(Went, q.object.Name)
		}
	}
	s.done(ch, c, Effect{})
	return nil
}
