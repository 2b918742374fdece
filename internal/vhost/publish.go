package vhost

import (
	"bytes"
	"errors"
	"slices"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/deadline"
	"github.com/bartleby-mq/bartleby/internal/place"
	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/sift"
	"github.com/bartleby-mq/bartleby/internal/topology"
)

// message is a message on its way into queues: published, or a dead letter.
type message struct {
	content     content
	persistent  bool
	told        bool // its headers tell of a failure,
	resent      bool // and that it was sent back before
	prioritized bool // it has the priority property
	priority    uint8
	ttl         int64 // from the expiration property, -1 if none; a letter has none

	delay    int64            // ms for which a delayed exchange keeps it
	nonsense *amqp.Error      // what the publisher is told if there is one, and that cannot be read
	name     string           // its key where it waits, "" if none
	until    deadline.Instant // queues deliver it no sooner

	history *History // of a letter

	properties amqp.PropertyScan // see scan
	scanned    bool

	// Where the record and the history lie, as far as they were stored: durable first.
	record, recordVolatile  place.Ref
	letter, historyVolatile place.Ref
	borrowed                bool // record is one of a transient copy, which was in the log before
}

// publish decides basic.publish. Every check comes before the first change.
// Source: AMQP basic.publish; reference amqp-surface 11.
func (v *VHost) publish(s *Stamp, ch *channel, c *Command, out *Outcome) *amqp.Error {
	if c.Immediate {
		return amqp.NotImplemented("immediate=true")
	}
	var scan amqp.PropertyScan
	if err := scan.Scan(c.Properties); err != nil {
		return malformed(err)
	}
	m := message{
		content: content{exchange: c.Exchange, key: c.Key, properties: c.Properties, body: c.Body},
		record:  v.staged, // zero but in a transaction that is committed in portions
		ttl:     -1, persistent: scan.Persistent(), priority: scan.Priority, prioritized: scan.Flags&amqp.FlagPriority != 0,
	}
	hit := ch.route.valid && ch.route.version == v.topo.Version() && bytes.Equal(ch.route.key, c.Key) && bytes.Equal(ch.route.exchange, c.Exchange)
	if !hit && string(c.Exchange) == ControlExchange {
		return v.control(s, ch, c, &scan, out)
	}
	if scan.Headers != nil || scan.Expiration != nil || scan.ReplyTo != nil || scan.UserID != nil || !hit {
		if err := v.checkPublish(s, ch, c, &scan, &m); err != nil {
			return err
		}
	}
	var targets []*queueState
	from := ch.route.flow
	var kept []ScheduledID // what waits of it
	full := false          // one that has no room
	replaced := false      // what waited under its key was cancelled for it
	if hit && m.content.cc == nil && m.content.bcc == nil {
		targets = ch.route.targets
	} else {
		from = v.flowOf(c.Exchange)
		var err *amqp.Error
		if targets, err = v.routePublish(s, ch, c, &scan, &m, from); err != nil {
			return err
		}
		keepers := v.topo.Keepers()
		if len(keepers) > 0 && m.nonsense != nil {
			v.traffic.Scheduled.Invalid++
			return m.nonsense
		}
		v.keepRecent(s, &m, out)
		if m.name != "" && len(keepers) == 0 {
			replaced = v.overtake(s, &m, out)
		}
		if len(keepers) > 0 {
			kept, full = v.postpone(s, keepers, &m, out)
			for i := 0; c.AskIDs && i < len(kept); i++ {
				e := Effect{Kind: Answered, Command: Publish, Channel: ch.id, Tag: kept[i].Number, Name: kept[i].String(), After: s.Index}
				out.effect(e, s.Index)
			}
		}
	}
	if ch.confirms {
		ch.published++
	}
	v.received(ch, c, from, targets, len(kept))
	if len(targets) == 0 && kept == nil && !full && !replaced {
		v.publishToNone(s, ch, c, &m, from, out)
		return nil
	}
	if v.spreads(ch, targets) {
		settle := published{from: from, tag: ch.published, resent: m.resent, full: full, durable: kept != nil || replaced}
		v.spreadPublish(s, ch, targets, &m, settle, out)
		return nil
	}
	refused, durable := v.deliverTo(s, targets, &m, 0, out)
	if m.resent {
		v.republished(s, targets)
	}
	v.publishedTo(s, ch, from, ch.published, refused || full, durable || kept != nil || replaced, out)
	return nil
}

// published is what is known of a message when it has been routed.
type published struct {
	from    *flow
	tag     uint64 // of its confirm
	resent  bool
	full    bool // a delayed exchange had no room
	durable bool // something of it is in the log
}

// spreadPublish is the rest of publish for a message that goes to very many queues.
func (v *VHost) spreadPublish(s *Stamp, ch *channel, targets []*queueState, m *message, x published, out *Outcome) {
	all := slices.Clone(targets)
	v.spread(s, ch, targets, m, out, func(s *Stamp, refused, durable bool, out *Outcome) {
		if x.resent {
			v.republished(s, all)
		}
		v.publishedTo(s, ch, x.from, x.tag, refused || x.full, durable || x.durable, out)
	})
}

// publishedTo answers for a message that all its queues have, or have refused.
func (v *VHost) publishedTo(s *Stamp, ch *channel, from *flow, tag uint64, refused, durable bool, out *Outcome) {
	v.refused = v.refused || refused
	if !ch.confirms {
		return
	}
	e := Effect{Kind: Confirm, Channel: ch.id, Tag: tag}
	if refused {
		e.Kind = Refuse
	} else {
		v.confirmed(from)
		if durable && v.mutant != MutantConfirmAtOnce {
			e.After = v.newest(out)
		}
	}
	out.effect(e, s.Index)
}

// checkPublish makes the checks that most messages of a channel need no more than once, and reads what is
// rarely there. Source: reference amqp-surface 11, 15.
func (v *VHost) checkPublish(s *Stamp, ch *channel, c *Command, scan *amqp.PropertyScan, m *message) *amqp.Error {
	if err := v.checkExchange(c.Exchange); err != nil {
		return err
	}
	properties, err := ch.withReplyTo(scan, m.content.properties)
	if err != nil {
		return err
	}
	m.content.properties = properties
	if scan.Expiration != nil {
		ttl, err := parseExpiration(string(scan.Expiration))
		if err != nil {
			return err
		}
		m.ttl = ttl
	}
	if scan.Headers != nil {
		if err := m.senderSelected(scan.Headers); err != nil {
			return err
		}
		if err := m.askTime(s, scan.Headers); err != nil {
			return err
		}
		if m.told = sift.TellsOfFailure(scan.Headers); m.told {
			_, m.resent, _ = amqp.LookupField(scan.Headers, "x-redrive-count")
		}
	}
	return ch.checkUser(scan)
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

// checkUser refuses a message that says that somebody else sends it. Source: reference amqp-surface 15.
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
				m.content.cc = append(m.content.cc, []byte(k.Str))
			default:
				m.content.bcc = append(m.content.bcc, []byte(k.Str))
			}
		}
		if name == "BCC" {
			p, err := amqp.ParseProperties(m.content.properties)
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
			m.content.properties = amqp.AppendProperties(nil, &p)
		}
	}
	return nil
}

// routePublish asks the topology, and remembers the answer for the channel if it depends on keys alone.
func (v *VHost) routePublish(
	s *Stamp, ch *channel, c *Command, scan *amqp.PropertyScan, m *message, from *flow,
) ([]*queueState, *amqp.Error) {
	more := append(m.content.cc[:len(m.content.cc):len(m.content.cc)], m.content.bcc...)
	ids, byKeys := v.routeOf(v.topo.Exchange(string(c.Exchange)), &topology.Message{
		Key: c.Key, More: more, Properties: m.content.properties, Headers: scan.Headers, Early: m.early(), Entropy: v.chance(s),
	}, v.route[:0])
	if v.topo.TooMuch() {
		return nil, amqp.PreconditionFailed("message to exchange '%s' in vhost '%s' compares with too many bindings", c.Exchange, v.name)
	}
	v.route = ids
	v.targets = v.targets[:0]
	for _, id := range ids {
		v.targets = append(v.targets, v.queues[id])
	}
	if byKeys && len(more) == 0 {
		r := &ch.route
		r.version, r.valid = v.topo.Version(), true
		r.exchange, r.key = append(r.exchange[:0], c.Exchange...), append(r.key[:0], c.Key...)
		r.targets, r.flow = append(r.targets[:0], v.targets...), from
	}
	return v.targets, nil
}

// chance is fresh bits for routing, other ones for each message of a command.
func (v *VHost) chance(s *Stamp) uint64 {
	v.chances++
	return s.Entropy + v.chances<<32
}

// publishToNone confirms a message that no queue takes: it is a direct reply, or it goes nowhere, and back to
// its publisher if it is mandatory. Source: AMQP basic.return; RabbitMQ confirms, direct-reply-to.
func (v *VHost) publishToNone(s *Stamp, ch *channel, c *Command, m *message, from *flow, out *Outcome) {
	after := place.Index(0)
	switch {
	case v.deliverReply(s, c, m, 0, out):
		v.traffic.Routed++
	case c.Mandatory:
		v.nowhereTo(from, true)
		after = v.newest(out)
		record := appendRecord(nil, &m.content)
		out.effect(Effect{Kind: SendBack, Channel: ch.id, After: after, Message: Delivered{Record: record}}, s.Index)
	default:
		v.nowhereTo(from, false)
	}
	if ch.confirms {
		v.confirmed(from)
		out.effect(Effect{Kind: Confirm, Channel: ch.id, Tag: ch.published, After: after}, s.Index)
	}
}

// deliverTo enqueues m wherever there is room. A queue that refuses may make it a dead letter at once.
// refused: at least one queue had no room. durable: a copy is in the log.
func (v *VHost) deliverTo(s *Stamp, targets []*queueState, m *message, depth int, out *Outcome) (refused, durable bool) {
	for i := range targets {
		q := targets[i]
		if q.refuses(m) {
			refused = true
			v.dieAtTheDoor(s, q, m, depth, out)
			continue
		}
		if v.enqueue(s, q, m, out) {
			durable = true
		}
		v.touch(q, depth)
	}
	return refused, durable
}

// refuses reports whether q's limit keeps m out. Source: reference expiry-and-limits 6, reject-publish.
func (q *queueState) refuses(m *message) bool {
	return q.refusesBytes(uint32(len(m.content.body)), m.history != nil)
}

// refusesBytes is refuses for a message with a body of that size.
func (q *queueState) refusesBytes(body uint32, letter bool) bool {
	return q.refusesMore(1, int64(body), letter)
}

// refusesMore is refuses for the last of n messages, with so many octets of bodies together. A quorum queue always has room for a
// dead letter. Source: reference dead-lettering 11.
func (q *queueState) refusesMore(n, octets int64, letter bool) bool {
	return !q.settings.Overflow.dropsHead() && !(q.quorum && letter) && q.overWith(q.settings, queue.Held, n, octets)
}

// overWith reports whether q has more than it may with n messages more, of so many octets of bodies together; held is as for
// counted.
func (q *queueState) overWith(set *Settings, held queue.State, n, octets int64) bool {
	return set.MaxLength >= 0 && int64(q.counted(held))+n > set.MaxLength ||
		set.MaxLengthBytes >= 0 && q.countedBytes(held)+octets > set.MaxLengthBytes
}

// counted is how many messages a limit looks at: what is ready or waiting, and, where the others do not have to go
// for them, the held dead letters. Source: reference expiry-and-limits 6; ours, decision 8.
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
func (v *VHost) enqueue(s *Stamp, q *queueState, m *message, out *Outcome) (durable bool) {
	durable = q.object.Durable && (m.persistent || q.quorum)
	priority := q.priorityOf(m)
	f := Fact{Kind: Enqueued, Durable: durable, Queue: q.id, Seq: q.messages.Next(priority)}
	ref := v.recordOf(s, m, durable, out)
	f.Entry = queue.Entry{
		Index: ref.Index, Offset: ref.Offset, Size: ref.Size,
		BodyBytes: uint32(len(m.content.body)), Priority: priority, ExpireAt: v.deadlineOf(s, q, m),
	}
	v.flag(s, q, &f.Entry, ref, durable, m.told)
	if m.until > s.From {
		f.At = m.until
	}
	if m.history != nil {
		f.Entry.Flags |= queue.Letter
		f.History = v.historyOf(s, m, durable, out)
		q.counters().Letters++
	}
	if f.Entry.ExpireAt != 0 && f.Entry.ExpireAt <= s.From {
		f.Entry.ExpireAt = s.Now // TTL 0: good for this step only
		q.zero = append(q.zero, f.Seq)
	}
	v.emit(s, &f, out)
	q.counters().Published++
	if durable {
		q.counters().Written++
	}
	return durable
}

// flag sets what the flags of a new entry of q say of its record, which is at ref.
func (v *VHost) flag(s *Stamp, q *queueState, e *queue.Entry, ref place.Ref, durable, told bool) {
	if told {
		e.Flags |= queue.Told
	}
	if durable {
		e.Flags |= queue.Persistent
	}
	switch {
	case ref.Log == place.Volatile:
		e.Flags |= queue.Volatile
	case ref.Index != s.Index:
		e.Flags |= queue.Moved
		q.lastMoved = s.Index
	}
}

// priorityOf is m's priority in q. Source: reference expiry-and-limits 9, quorum queues.
func (q *queueState) priorityOf(m *message) uint8 {
	if q.ranked && !m.prioritized {
		return quorumPriority
	}
	return m.priority
}

// deadlineOf is the instant at which m expires in q: the lesser of both TTLs counts, from now or from when it may be delivered. What was a dead letter
// too often has none, and none at all where queues' TTLs are not for dead letters.
// Source: RabbitMQ ttl; reference dead-lettering 15.
func (v *VHost) deadlineOf(s *Stamp, q *queueState, m *message) deadline.Instant {
	if h := m.history; h != nil && (!v.options.TTLInDLQ || v.options.HopsMax > 0 && h.total() >= v.options.HopsMax) {
		return 0
	}
	ttl := q.settings.TTL
	if m.ttl >= 0 && (ttl < 0 || m.ttl < ttl) {
		ttl = m.ttl
	}
	if ttl < 0 {
		return 0
	}
	return max(s.From, m.until) + deadline.Instant(ttl)
}

// recordOf names m's record where a copy can refer to it, storing it first if need be. A durable copy takes no record of an
// older batch that only transient copies refer to: the log may have given it back where those are not known.
func (v *VHost) recordOf(s *Stamp, m *message, durable bool, out *Outcome) place.Ref {
	borrowed := m.borrowed && m.record.Index != s.Index && v.mutant != MutantBorrowRecord
	if !m.record.IsZero() && !(durable && borrowed) {
		return m.record
	}
	if !durable && !m.recordVolatile.IsZero() {
		return m.recordVolatile
	}
	c := &m.content
	size := 1 + 2 + len(c.exchange) + len(c.key) + 4 + len(c.properties) + len(c.body)
	ref := v.store(s, Stored, durable, size, func(b []byte) []byte { return appendRecord(b, c) }, out)
	if durable {
		m.record = ref
	} else {
		m.recordVolatile = ref
	}
	return ref
}

func (v *VHost) historyOf(s *Stamp, m *message, durable bool, out *Outcome) place.Ref {
	if !m.letter.IsZero() {
		return m.letter
	}
	if !durable && !m.historyVolatile.IsZero() {
		return m.historyVolatile
	}
	b := appendHistory(nil, m.history)
	ref := v.store(s, Remembered, durable, len(b), func(to []byte) []byte { return append(to, b...) }, out)
	if durable {
		m.letter = ref
	} else {
		m.historyVolatile = ref
	}
	return ref
}

// PublishKeys lists the routing keys of a Publish: its own, CC and BCC. Headers that do not decode have none.
func PublishKeys(c *Command) []string {
	m := message{content: content{key: c.Key, properties: c.Properties}}
	var scan amqp.PropertyScan
	if scan.Scan(c.Properties) == nil && scan.Headers != nil && m.senderSelected(scan.Headers) != nil {
		m.content.cc, m.content.bcc = nil, nil
	}
	return m.content.keys()
}
