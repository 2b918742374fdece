package vhost

import (
	"bytes"
	"cmp"
	"errors"
	"slices"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/deadline"
	"github.com/bartleby-mq/bartleby/internal/filter"
	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/settings"
	"github.com/bartleby-mq/bartleby/internal/storage"
	"github.com/bartleby-mq/bartleby/internal/topology"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// message is a message on its way into queues: published, or a dead letter.
type message struct {
	content        fact.Head
	body           body
	persistent     bool
	reportsFailure bool // its headers tell of a failure,
	resent         bool // and that it was sent back before
	prioritized    bool // it has the priority property
	priority       uint8
	diedIn         []string // queues in an x-death that a client has copied
	ttl            int64    // from the expiration property, -1 if none; a dead letter has none

	delay        int64            // ms for which a delayed exchange keeps it
	delayRefusal *amqp.Error      // what the publisher is told if there is one, and that cannot be read
	name         string           // its key where it waits, "" if none
	until        deadline.Instant // queues deliver it no sooner

	history *fact.History    // of a dead letter
	arrived deadline.Instant // wall clock: when it came as a dead letter without a death, 0: not noted

	properties amqp.PropertyScan // see scan
	scanned    bool

	// Where the record and the history lie, as far as they were stored: durable first.
	record, recordVolatile      storage.Ref
	historyRef, historyVolatile storage.Ref
	borrowed                    bool // record is one of a transient copy, which was in the log before
}

// A publication is a message that a channel publishes, and where it goes.
type publication struct {
	message
	ch      *channel
	scan    amqp.PropertyScan // of the properties as they came
	known   bool              // the channel knows the way of its exchange and key
	way     topology.Route    // zero if the channel knows it
	targets []*queueState
	from    *flow
}

// publish decides basic.publish.
// Source: AMQP basic.publish; docs/compat/amqp-surface.md#11.
func (s *step) publish(ch *channel, c *Command) *amqp.Error {
	_, err := s.publishFrom(storage.Ref{}, ch, c)
	return err
}

// publishFrom is publish for a message whose record may be in the log already; record is zero if it is not. Every
// refusal comes before the first change: admit changes, and refuses nothing. full reports that a queue, or a delayed
// exchange, had no space.
func (s *step) publishFrom(record storage.Ref, ch *channel, c *Command) (full bool, _ *amqp.Error) {
	p := publication{ch: ch}
	p.record = record
	s.volatile.offered = c.Owned
	if err := p.parse(c); err != nil {
		return false, err
	}
	p.known = ch.route.valid && ch.route.version == s.topo.Version() &&
		bytes.Equal(ch.route.key, c.Key) && bytes.Equal(ch.route.exchange, c.Exchange)
	if !p.known && string(c.Exchange) == ControlExchange {
		return false, s.control(ch, c, &p.scan)
	}
	if !p.known || p.scan.Headers != nil || p.scan.Expiration != nil || p.scan.ReplyTo != nil || p.scan.UserID != nil {
		if err := s.checkPublish(&p); err != nil {
			return false, err
		}
	}
	if err := s.routePublish(&p); err != nil {
		if err == p.delayRefusal {
			s.traffic.Scheduled.Invalid++
		}
		return false, err
	}
	full = s.admit(c, &p)
	clear(s.targets) // deleted queues are not kept for it
	s.targets = s.targets[:0]
	return full, nil
}

// parse reads the fixed part of the properties.
func (p *publication) parse(c *Command) *amqp.Error {
	if c.Immediate {
		return amqp.NotImplemented("immediate=true")
	}
	if err := p.scan.Scan(c.Properties); err != nil {
		return malformed(err)
	}
	p.content, p.body = contentOf(c)
	p.ttl, p.persistent = -1, p.scan.Persistent()
	p.priority, p.prioritized = p.scan.Priority, p.scan.Flags&amqp.FlagPriority != 0
	return nil
}

// contentOf is what a Publish publishes, as it came.
func contentOf(c *Command) (fact.Head, body) {
	return fact.Head{Exchange: c.Exchange, Key: c.Key, Properties: c.Properties}, body{octets: c.Body}
}

// checkPublish makes the checks that most messages of a channel need no more than once, and reads what is
// rarely there. Source: docs/compat/amqp-surface.md#11, docs/compat/amqp-surface.md#15.
func (s *step) checkPublish(p *publication) *amqp.Error {
	scan, m := &p.scan, &p.message
	if err := s.checkExchange(m.content.Exchange); err != nil {
		return err
	}
	properties, err := p.ch.withReplyTo(scan, m.content.Properties)
	if err != nil {
		return err
	}
	m.content.Properties = properties
	if scan.Expiration != nil {
		ttl, err := settings.ParseExpiration(string(scan.Expiration))
		if err != nil {
			return err
		}
		m.ttl = ttl
	}
	if scan.Headers != nil {
		if err := m.senderSelected(scan.Headers); err != nil {
			return err
		}
		if err := m.askTime(&s.Stamp, scan.Headers); err != nil {
			return err
		}
		if m.readFailure(scan.Headers); m.reportsFailure || m.diedIn != nil {
			_, m.resent, _ = amqp.LookupField(scan.Headers, "x-redrive-count")
		}
	}
	return p.ch.checkUser(scan)
}

// routePublish finds where a message goes, and refuses one that cannot be routed.
func (s *step) routePublish(p *publication) *amqp.Error {
	if r := &p.ch.route; p.known && p.content.CC == nil && p.content.BCC == nil {
		p.targets, p.from = r.targets, r.flow
		return nil
	}
	return s.findWay(p)
}

// rememberedTargets is for how many queues a channel remembers the way of its last message: a deleted queue is kept in
// memory for as long.
const rememberedTargets = 64

// findWay asks the topology where a message goes, and has the channel remember the answer if it depends on keys alone.
// The targets are lent until it is asked again.
func (s *step) findWay(p *publication) *amqp.Error {
	c := &p.content
	more := append(c.CC[:len(c.CC):len(c.CC)], c.BCC...)
	p.way = s.routeOf(s.topo.Exchange(string(c.Exchange)), &topology.Message{
		Key: c.Key, More: more, Properties: c.Properties, Headers: p.scan.Headers, Early: p.early(), Entropy: s.draw(),
	}, s.route[:0])
	switch {
	case p.way.TooMuch:
		return amqp.PreconditionFailed("message to exchange '%s' in vhost '%s' must be compared with too many bindings", c.Exchange, s.name)
	case len(p.way.Delayed) > 0 && p.delayRefusal != nil:
		return p.delayRefusal
	case len(p.way.Delayed) > 0 && p.name != "" && s.keyCount >= s.keysMax && !s.replaces(p):
		return amqp.PreconditionFailed("vhost '%s' has %d scheduled messages with a key, which is the maximum: "+
			"publish without %s, or cancel some", s.name, s.keyCount, KeyHeader)
	}
	p.from, s.route = s.flowOf(c.Exchange), p.way.Queues
	s.targets = s.targets[:0]
	for _, id := range p.way.Queues {
		s.targets = append(s.targets, s.queues[id])
	}
	p.targets = s.targets
	if p.way.ByKeys && len(more) == 0 && len(p.targets) <= rememberedTargets {
		r := &p.ch.route
		r.version, r.valid = s.topo.Version(), true
		r.exchange, r.key = append(r.exchange[:0], c.Exchange...), append(r.key[:0], c.Key...)
		r.targets, r.flow = append(r.targets[:0], p.targets...), p.from
	}
	return nil
}

// admit lets a message in that nothing refuses, and answers for it: now, or behind the last portion if it goes to very
// many queues. full is as for publishFrom.
func (s *step) admit(c *Command, p *publication) (full bool) {
	ch, x := p.ch, published{from: p.from}
	kept, full, replaced := s.delay(c, p)
	if ch.confirms {
		ch.published++
	}
	s.received(ch, c, p.from, p.targets, len(kept))
	x.tag, x.full, x.durable = ch.published, full, kept != nil || replaced
	switch {
	case len(p.targets) == 0 && !x.full && !x.durable:
		s.publishToNone(ch, c, &p.message, p.from)
	case s.spreads(ch, p.targets):
		x.resent = p.resent
		s.spreadPublish(ch, p.targets, &p.message, x)
	default:
		refused, durable := s.deliverTo(p.targets, &p.message, 0)
		if p.resent {
			s.republished(p.targets)
		}
		x.full, x.durable = x.full || refused, x.durable || durable
		s.confirm(ch, x)
		return x.full
	}
	return false
}

// delay does what exchanges on the way do that keep messages: those that keep what they see, and delayed ones. kept is
// what waits of the message; full: one has no space for it; replaced: it is due, and what waited under its key was
// cancelled for it.
func (s *step) delay(c *Command, p *publication) (kept []ScheduledID, full, replaced bool) {
	s.keepRecent(&p.message, p.way.Recent)
	if len(p.way.Delayed) == 0 {
		return nil, false, p.name != "" && s.overtake(&p.message, p.way.Passed)
	}
	kept, full = s.postpone(p.way.Delayed, &p.message)
	for i := 0; c.AskIDs && i < len(kept); i++ {
		s.effect(Effect{Kind: Answered, Command: Publish, Channel: p.ch.id, Tag: kept[i].Number, Name: kept[i].String(), After: s.Index})
	}
	return kept, full, false
}

// published is what the answer to a publish depends on.
type published struct {
	from    *flow
	tag     uint64 // of its confirm
	resent  bool
	full    bool // a queue, or a delayed exchange, had no space
	durable bool // something of it is in the log
}

// spreadPublish delivers a message that goes to very many queues, and confirms it behind the last.
func (s *step) spreadPublish(ch *channel, targets []*queueState, m *message, x published) {
	all := slices.Clone(targets)
	s.spread(ch, targets, m, func(s *step, refused, durable bool) {
		if x.resent {
			s.republished(all)
		}
		x.full, x.durable = x.full || refused, x.durable || durable
		s.confirm(ch, x)
	})
}

// confirm answers for a message that all its queues have, or have refused.
func (s *step) confirm(ch *channel, x published) {
	if !ch.confirms {
		return
	}
	e := Effect{Kind: Confirm, Channel: ch.id, Tag: x.tag}
	if x.full {
		e.Kind = Refuse
	} else {
		s.confirmed(x.from)
		if x.durable {
			e.After = s.newest()
		}
	}
	s.effect(e)
}

// checkExchange refuses an exchange to which clients cannot publish.
func (v *VHost) checkExchange(name []byte) *amqp.Error {
	x := v.topo.Exchange(string(name))
	if x == nil {
		return v.noExchange(string(name))
	}
	if x.Internal {
		return amqp.AccessRefused("cannot publish to internal exchange '%s' in vhost '%s'", name, v.name)
	}
	return nil
}

// announce decides what can be decided of a publish before its body has come, as publish would.
func (v *VHost) announce(c *Command) *amqp.Error {
	switch {
	case c.Immediate:
		return amqp.NotImplemented("immediate=true")
	case string(c.Exchange) == ControlExchange: // no exchange, and none is needed
		return nil
	}
	return v.checkExchange(c.Exchange)
}

// checkUser refuses a message that says that somebody else sends it. Source: docs/compat/amqp-surface.md#15.
func (ch *channel) checkUser(scan *amqp.PropertyScan) *amqp.Error {
	if scan.UserID != nil && ch.conn.user != "" && string(scan.UserID) != ch.conn.user {
		return amqp.PreconditionFailed("user_id property set to '%s' but authenticated user was '%s'", scan.UserID, ch.conn.user)
	}
	return nil
}

// malformed is the refusal of content that does not decode.
func malformed(err error) *amqp.Error {
	var refused *amqp.Error
	if errors.As(err, &refused) {
		return refused
	}
	return amqp.SyntaxError("%v", err)
}

// senderSelected takes CC and BCC from the headers: both are further routing keys, and BCC is taken out.
// Source: RabbitMQ sender-selected.
func (m *message) senderSelected(headers []byte) *amqp.Error {
	for _, name := range [2]string{"CC", "BCC"} {
		value, ok, err := amqp.LookupField(headers, name)
		if err != nil {
			return malformed(err)
		}
		if !ok {
			continue
		}
		if value.Kind != amqp.KindArray {
			return amqp.PreconditionFailed("invalid message: {unacceptable_type_in_header,\"%s\",%s}", name, value.TypeName())
		}
		if len(value.Array) > copyKeysMax {
			return amqp.PreconditionFailed("invalid message: %d keys in header %s, at most %d are allowed", len(value.Array), name, copyKeysMax)
		}
		for _, k := range value.Array {
			switch {
			case k.Kind != amqp.KindString:
			case name == "CC":
				m.content.CC = append(m.content.CC, []byte(k.Str))
			default:
				m.content.BCC = append(m.content.BCC, []byte(k.Str))
			}
		}
		if name == "BCC" {
			p, err := amqp.ParseProperties(m.content.Properties)
			if err != nil {
				return malformed(err)
			}
			kept := p.Headers[:0]
			for _, f := range p.Headers {
				if f.Name != "BCC" {
					kept = append(kept, f)
				}
			}
			p.Headers = kept
			m.content.Properties = amqp.AppendProperties(nil, &p)
		}
	}
	return nil
}

// draw is fresh bits for routing, other ones for each message of a command.
func (s *step) draw() uint64 {
	s.draws++
	return s.Entropy + s.draws<<32
}

// publishToNone confirms a message that no queue takes: it is a direct reply, or it goes nowhere, and back to
// its publisher if it is mandatory. Source: AMQP basic.return; RabbitMQ confirms, direct-reply-to.
func (s *step) publishToNone(ch *channel, c *Command, m *message, from *flow) {
	after := storage.Index(0)
	switch {
	case s.deliverReply(c, m, 0):
		s.traffic.Routed++
	case c.Mandatory:
		s.nowhereTo(from, true)
		after = s.newest()
		record := fact.AppendRecord(nil, &m.content, m.body.octets)
		s.effect(Effect{Kind: SendBack, Channel: ch.id, After: after, Message: Delivered{Record: record}})
	default:
		s.nowhereTo(from, false)
	}
	if ch.confirms {
		s.confirmed(from)
		s.effect(Effect{Kind: Confirm, Channel: ch.id, Tag: ch.published, After: after})
	}
}

// deliverTo enqueues m wherever there is space. A queue that refuses may make it a dead letter at once.
// refused: at least one queue had no space. durable: a copy is in the log.
func (s *step) deliverTo(targets []*queueState, m *message, depth int) (refused, durable bool) {
	for i := range targets {
		q := targets[i]
		if q.refuses(m) {
			refused = true
			s.deadLetterOnReject(q, m, depth)
			continue
		}
		if s.enqueue(q, m) {
			durable = true
		}
		s.markDirty(q, depth)
	}
	return refused, durable
}

// refuses reports whether q's limit keeps m out. Source: docs/compat/expiry-and-limits.md#6, reject-publish.
func (q *queueState) refuses(m *message) bool {
	return q.refusesBytes(m.body.size(), m.history != nil)
}

// anyRefuses reports whether a limit of one of the queues keeps m out: then a move to all of them does not begin.
func anyRefuses(queues []*queueState, m *message) bool {
	return slices.ContainsFunc(queues, func(q *queueState) bool { return q.refuses(m) })
}

// refusesBytes is refuses for a message with a body of that size.
func (q *queueState) refusesBytes(body uint32, deadLetter bool) bool {
	return q.refusesMore(1, int64(body), deadLetter)
}

// refusesMore is refuses for the last of n messages, with so many octets of bodies together. A quorum queue always has
// space for a dead letter. Source: docs/compat/dead-lettering.md#11.
func (q *queueState) refusesMore(n, octets int64, deadLetter bool) bool {
	return !q.settings.Overflow.DropsHead() && !(q.quorum && deadLetter) && q.overWith(q.settings, queue.Held, n, octets)
}

// counted is how many messages a limit looks at: what is ready or waiting, and, where the others do not have to go
// for them, the held dead letters. Source: docs/compat/expiry-and-limits.md#6; ours, decision 8.
func (q *queueState) counted(held queue.State) int {
	m := q.messages
	return m.Ready() + m.Count(queue.Waiting) + m.Count(held)
}

// countedBytes is counted for bodies.
func (q *queueState) countedBytes(held queue.State) int64 {
	m := q.messages
	return m.Bytes(queue.Ready) + m.Bytes(queue.Waiting) + m.Bytes(held)
}

// enqueue makes a copy of m in q and reports whether it is in the log.
func (s *step) enqueue(q *queueState, m *message) (durable bool) {
	durable = q.object.Durable && (m.persistent || q.quorum)
	priority := q.priorityOf(m)
	f := fact.Fact{Kind: fact.Enqueued, Durable: durable, Queue: q.id, Seq: q.messages.Next(priority)}
	ref := s.recordOf(m, durable)
	f.Entry = queue.Entry{
		Index: ref.Index, Offset: ref.Offset, Size: ref.Size,
		BodyBytes: m.body.size(), Priority: priority, ExpireAt: s.deadlineOf(q, m),
	}
	f.Entry.Flags = m.historyFlags()
	f.Entry.Address = s.addressOf(q, m)
	s.flag(q, &f.Entry, ref, durable, m.reportsFailureIn(q))
	if m.until > s.Now { // not From: what is left of this millisecond is waited for
		f.At = m.until
	}
	if m.history != nil {
		f.History = s.historyOf(m, durable)
	}
	if f.Entry.ExpireAt != 0 && f.Entry.ExpireAt <= s.From && f.At == 0 {
		f.Entry.ExpireAt = s.Now // TTL 0: good for this step only
		q.zero = append(q.zero, f.Seq)
	}
	s.emit(&f)
	if q.holdsAsDeadLetter(&f.Entry) {
		s.noteDeadLetter(q, &f, m)
	}
	if m.history == nil && s.isOvergrown(q, false) {
		s.overgrown = q.id
	}
	q.flow.Published++
	if durable {
		q.flow.Written++
	}
	return durable
}

// noteDeadLetter counts a dead letter that came to q. If the broker knows no death of it, its time
// is that of its arrival, which it keeps when a redrive moves it. Source: ours, decision 26.
func (s *step) noteDeadLetter(q *queueState, enqueued *fact.Fact, m *message) {
	q.flow.DeadLetters++
	if m.history != nil && len(m.history.Deaths) > 0 {
		return
	}
	if m.history == nil && m.arrived == 0 {
		q.flow.Republished++
	}
	s.emitArrived(enqueued, cmp.Or(m.arrived, s.Wall))
}

// emitArrived says when a new copy came as a dead letter.
func (s *step) emitArrived(enqueued *fact.Fact, at deadline.Instant) {
	s.emit(&fact.Fact{
		Kind: fact.Arrived, Durable: enqueued.Durable, Queue: enqueued.Queue, Seq: enqueued.Seq, At: at,
	})
}

// readFailure notes what the headers of a publish tell of a failure.
func (m *message) readFailure(headers []byte) {
	m.reportsFailure, m.diedIn = filter.TellsOfFailure(headers)
}

// reportsFailureIn reports whether m is a dead letter in q because of what its headers tell. One that a client has
// published again where it had died is not: it is to be tried once more.
func (m *message) reportsFailureIn(q *queueState) bool {
	return m.reportsFailure || m.diedIn != nil && !slices.Contains(m.diedIn, q.object.Name)
}

// historyFlags are those that say of a new entry what has become of m before.
func (m *message) historyFlags() queue.Flags {
	switch {
	case m.history == nil:
		return 0
	case m.history.Redrive.AtWork:
		return queue.HasHistory | queue.AtWork
	}
	return queue.HasHistory
}

// flag sets what the flags of a new entry of q say of its record, which is at ref.
func (s *step) flag(q *queueState, e *queue.Entry, ref storage.Ref, durable, told bool) {
	if told {
		e.Flags |= queue.ReportsFailure
	}
	if durable {
		e.Flags |= queue.Persistent
	}
	switch {
	case ref.Log == storage.Volatile:
		e.Flags |= queue.Volatile
	case ref.Index != s.Index:
		e.Flags |= queue.Moved
		q.lastMoved = s.Index
	}
}

// priorityOf is m's priority in q. Source: docs/compat/expiry-and-limits.md#9, quorum queues.
func (q *queueState) priorityOf(m *message) uint8 {
	if q.ranked && !m.prioritized {
		return quorumPriority
	}
	return m.priority
}

// PublishKeys lists the routing keys of a Publish: its own, CC and BCC. Headers that do not decode have none.
func PublishKeys(c *Command) []string {
	m := message{content: fact.Head{Key: c.Key, Properties: c.Properties}}
	var scan amqp.PropertyScan
	if scan.Scan(c.Properties) == nil && scan.Headers != nil && m.senderSelected(scan.Headers) != nil {
		m.content.CC, m.content.BCC = nil, nil
	}
	return m.content.Keys()
}
