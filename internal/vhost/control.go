package vhost

import (
	"encoding/json"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/deadline"
	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/settings"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// ControlExchange takes commands about scheduled messages, for programs that have nothing but AMQP. It is no exchange
// of the topology, and nobody can declare one of that name. The routing key is the command, headers say what it is
// about, and the answer goes to the message's reply-to. Source: ours, docs/delayed-messages.md.
const ControlExchange = "amq.bartleby.scheduled"

// The headers of a request. ControlOf is the exchange in which the messages wait: who may publish to that may command.
const (
	ControlOf  = "exchange"
	controlID  = "id"  // or an array ids
	controlKey = "key" // or an array keys
	controlAt  = "at"  // ms since the Unix epoch
	controlIn  = "in"  // ms from now
)

// request is what a message to the control exchange asks for.
type request struct {
	verb     string
	schedule *queueState // nil: nothing waits there
	targets  []target
	at       deadline.Instant // vhost time
}

// target is a message that a request names.
type target struct {
	ID  string `json:"id,omitempty"`
	Key string `json:"key,omitempty"`
	// Outcome is what has become of it, as Answered says.
	Outcome string `json:"outcome"`
}

// reply is the body of an answer.
type reply struct {
	Results  []target `json:"results,omitempty"`
	Count    int      `json:"count"`              // of messages that this request has changed; of count: messages that wait
	Next     int64    `json:"next_due,omitempty"` // of count, ms since the Unix epoch: nothing fires before
	Exchange string   `json:"exchange"`
}

// ControlTarget is the exchange that a message to the control exchange is about, and where its answer goes; "" if it
// does not say.
func ControlTarget(properties []byte) (exchange, replyTo string) {
	var scan amqp.PropertyScan
	if scan.Scan(properties) != nil {
		return "", ""
	}
	a, _, err := amqp.LookupField(scan.Headers, ControlOf)
	if err == nil && a.Kind == amqp.KindString {
		exchange = a.Str
	}
	return exchange, string(scan.ReplyTo)
}

// control decides a publish to the control exchange. Its confirm says that what it did is safe.
func (s *step) control(ch *channel, c *Command, scan *amqp.PropertyScan) *amqp.Error {
	if err := ch.checkUser(scan); err != nil {
		return err
	}
	r, answer, err := s.requestOf(c, scan)
	if err != nil {
		return err
	}
	properties, err := ch.withReplyTo(scan, c.Properties)
	if err != nil {
		return err
	}
	for i := range r.targets {
		t := &r.targets[i]
		var done bool
		if t.Outcome, done = s.carryOut(r, t); done {
			answer.Count++
		}
	}
	answer.Results = r.targets
	if r.schedule != nil {
		s.closeSchedule(answer.Exchange)
	}
	s.answer(properties, &answer)
	if ch.confirms {
		ch.published++
		s.effect(Effect{Kind: Confirm, Channel: ch.id, Tag: ch.published, After: s.newest()})
	}
	return nil
}

// requestOf reads a request.
func (s *step) requestOf(c *Command, scan *amqp.PropertyScan) (r request, answer reply, _ *amqp.Error) {
	invalid := func(format string, args ...any) (request, reply, *amqp.Error) {
		return request{}, reply{}, amqp.PreconditionFailed("invalid request to '"+ControlExchange+"': "+format, args...)
	}
	var headers amqp.Table
	if scan.Headers != nil {
		var err error
		if headers, _, err = amqp.ParseTable(scan.Headers); err != nil {
			return request{}, reply{}, malformed(err)
		}
	}
	of, ok := headers.Get(ControlOf)
	if !ok || of.Kind != amqp.KindString || of.Str == "" {
		return invalid("the header '%s' must name the delayed exchange", ControlOf)
	}
	answer.Exchange = of.Str
	r.verb, r.schedule = string(c.Key), s.schedules[of.Str]
	if x := s.topo.Exchange(of.Str); r.schedule == nil && (x == nil || !x.Delayed) {
		return request{}, reply{}, amqp.NotFound("no delayed exchange '%s' in vhost '%s'", of.Str, s.name)
	}
	var bad string
	for _, name := range [2]string{controlID, controlKey} {
		for _, text := range textsOf(headers, name, &bad) {
			t := target{ID: text}
			if name == controlKey {
				t = target{Key: text}
			}
			r.targets = append(r.targets, t)
		}
	}
	switch r.verb {
	case "count":
		if q := r.schedule; q != nil {
			answer.Count = q.waiting()
			if next := s.scheduleView(q).Next; next != 0 {
				answer.Next = int64(next - s.Now + s.Wall)
			}
		}
		r.targets = nil
		return r, answer, nil
	case "cancel", "fire":
	case "reschedule":
		after, ok := afterOf(&s.Stamp, headers)
		if !ok || after > settings.WaitMax {
			return invalid("reschedule needs a header '%s' or '%s', in ms, at most ten years ahead", controlAt, controlIn)
		}
		r.at = s.From + after
	default:
		return invalid("unknown routing key '%s': use cancel, reschedule, fire or count", r.verb)
	}
	switch {
	case bad != "":
		return invalid("header '%s' must be a string, or '%ss' an array of strings", bad, bad)
	case len(r.targets) == 0 || len(r.targets) > SelectionMax:
		return invalid("%d messages named by '%s' and '%s': from 1 to %d are allowed", len(r.targets), controlID, controlKey, SelectionMax)
	}
	return r, answer, nil
}

// textsOf reads a header that is one string or, with an s behind its name, several; bad tells which is neither.
func textsOf(headers amqp.Table, name string, bad *string) (all []string) {
	if a, ok := headers.Get(name); ok {
		if a.Kind != amqp.KindString {
			*bad = name
		}
		all = append(all, a.Str)
	}
	if a, ok := headers.Get(name + "s"); ok {
		if a.Kind != amqp.KindArray {
			*bad = name
		}
		for _, x := range a.Array {
			if x.Kind != amqp.KindString {
				*bad = name
			}
			all = append(all, x.Str)
		}
	}
	return all
}

// afterOf is in how many ms a message shall be due.
func afterOf(s *Stamp, headers amqp.Table) (after deadline.Instant, ok bool) {
	at, hasAt := headers.Get(controlAt)
	in, hasIn := headers.Get(controlIn)
	if hasAt == hasIn {
		return 0, false
	}
	if hasIn {
		n, ok := in.Integer()
		return deadline.Instant(n), ok && n >= 0
	}
	n, ok := at.Integer()
	return max(deadline.Instant(n)-s.Wall, 0), ok && n >= 0
}

// carryOut does what a request asks for one message, and reports whether there was anything to do.
func (s *step) carryOut(r request, t *target) (outcome string, done bool) {
	q, seq := r.schedule, queue.Seq(0)
	if t.Key != "" {
		if seq, outcome = s.underKey(q, t.Key); outcome != outcomeUnknown {
			t.ID = ScheduledID{q.id, uint64(seq)}.String()
		}
		if outcome != "" {
			return outcome, false
		}
	} else {
		id, ok := ParseScheduledID(t.ID)
		if !ok || q == nil || id.Schedule != q.id {
			return outcomeUnknown, false
		}
		if q, seq, outcome = s.waits(id); q == nil {
			return outcome, false
		}
	}
	switch r.verb {
	case "cancel":
		s.cancelOne(q, seq)
		return outcomeCancelled, true
	case "fire":
		s.fire(q, seq)
		return outcomeFired, true
	}
	s.move(q, seq, r.at)
	return outcomeRescheduled, true
}

// answer sends what came of a request to its reply-to, if it has one that is there. It is seen when what it tells is
// safe.
func (s *step) answer(properties []byte, r *reply) {
	asked, err := amqp.ParseProperties(properties)
	if err != nil || asked.ReplyTo == "" {
		return
	}
	text, err := json.Marshal(r)
	if err != nil {
		panic(err) // strings and numbers
	}
	told := amqp.Properties{
		Has: amqp.FlagContentType | asked.Has&amqp.FlagCorrelationID, ContentType: "application/json", CorrelationID: asked.CorrelationID,
	}
	m := message{ttl: -1, body: body{octets: text}}
	m.content = fact.Head{Key: []byte(asked.ReplyTo), Properties: amqp.AppendProperties(nil, &told)}
	after := s.newest()
	if s.deliverReply(&Command{Key: m.content.Key}, &m, after) {
		return
	}
	if q := s.queueNamed(asked.ReplyTo); q != nil {
		q.answered = after
		s.deliverTo([]*queueState{q}, &m, 0)
	}
}
