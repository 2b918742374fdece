package vhost

import (
	"encoding/binary"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/deadline"
	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/storage"
	"github.com/bartleby-mq/bartleby/internal/topology"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// The lost store keeps the vhost's lost letters: dead letters that RabbitMQ would drop without a trace. It is the queue
// with number 0, which has no name and no consumers. Beside its record a lost letter has its info: its
// history, and after that why it is there, since when, and for which queue it was.
//
//	info = history cause at target
//
// Source: ours, decision 7.
const lostID fact.QueueID = 0

// lostInfo is what the lost store knows of a lost letter.
type lostInfo struct {
	cause  fact.Cause
	at     deadline.Instant
	target string // the queue that refused it, would have had it again, or gave it up; "" for other causes
}

func newLostStore(pool *queue.Pool) *queueState {
	return &queueState{
		object: fact.Object{Durable: true, Type: "classic"}, messages: queue.NewMessages(pool, uint32(lostID), true, 0),
		settings: &Settings{TTL: -1, Expires: -1, MaxLength: -1, DeliveryLimit: -1},
	}
}

func appendLostInfo(b []byte, x lostInfo) []byte {
	b = append(b, byte(x.cause))
	b = binary.AppendVarint(b, int64(x.at))
	return fact.AppendText(b, x.target)
}

func parseLostInfo(p []byte) (fact.History, lostInfo, error) {
	r := fact.Decoder{Rest: p}
	h, err := fact.ReadHistory(&r)
	x := lostInfo{cause: fact.Cause(r.Byte()), at: deadline.Instant(r.Int()), target: r.Text()}
	if err == nil {
		err = r.Err
	}
	return h, x, err
}

// storeLost puts a copy of m, a dead letter of from that could not be delivered, in the lost store, and
// reports whether there is one.
func (s *step) storeLost(from *queueState, m *message, cause fact.Cause, target string) bool {
	kept := s.options.LostLettersMaxBytes > 0
	s.lose(from, cause, kept)
	if kept {
		s.putInLost(m, cause, target)
	}
	return kept
}

// putInLost makes a copy of m in the lost store, which there is.
func (s *step) putInLost(m *message, cause fact.Cause, target string) {
	durable := m.persistent || !m.record.IsZero()
	ref := s.recordOf(m, durable)
	if ref.Log == storage.Volatile {
		s.work += int(ref.Size) // the copy is in memory until the step ends
		ref = s.volatile.alone(s.volatile.read(ref))
		if s.out.Trace {
			s.out.Facts = append(s.out.Facts, fact.Fact{Kind: fact.Stored, Bytes: s.record(ref)})
		}
	}
	b := appendLostInfo(fact.AppendHistory(nil, m.history), lostInfo{cause, s.Wall, target})
	f := fact.Fact{Kind: fact.Enqueued, Durable: durable, Queue: lostID, Seq: s.lost.messages.Next(0), N: uint64(m.origin(cause, target))}
	f.History = s.store(fact.Remembered, durable, len(b), func(to []byte) []byte { return append(to, b...) })
	f.Entry = queue.Entry{
		Index: ref.Index, Offset: ref.Offset, Size: ref.Size, BodyBytes: ref.Size + uint32(len(b)), Priority: uint8(cause),
		ExpireAt: s.From + deadline.Instant(s.options.LostLettersMaxAge), Flags: queue.HasHistory,
	}
	s.flag(s.lost, &f.Entry, ref, durable, m.reportsFailure)
	s.emit(&f)
	if m.arrived != 0 && len(m.history.Deaths) == 0 {
		s.emitArrived(&f, m.arrived)
	}
	s.markDirty(s.lost, 0)
	for s.lost.messages.Bytes(queue.Ready) > s.options.LostLettersMaxBytes+lostSlack { // many may come in one step
		loser, _ := s.loser()
		s.evict(loser)
	}
}

// loser is the lost letter that goes when the lost store is full.
func (v *VHost) loser() (seq queue.Seq, ok bool) {
	return v.shares.loser()
}

// evict ends a lost letter that the lost store has no space or no time for any more.
func (s *step) evict(seq queue.Seq) {
	s.note(Loss{Cause: fact.GoneEvicted})
	s.end(s.lost, seq, fact.GoneEvicted)
	s.markDirty(s.lost, 0)
}

// A Selection names lost letters, and where they shall go; or messages that wait, and when.
type Selection struct {
	IDs []MessageID // at most SelectionMax
	// Exchange and RoutingKey are where Republish sends the lost letters, if Elsewhere, with their own keys
	// if KeepKeys; else each goes where it was going.
	Elsewhere, KeepKeys  bool
	Exchange, RoutingKey string

	Scheduled []ScheduledID    // at most SelectionMax, of messages that wait
	At        deadline.Instant // wall clock, of Reschedule
}

// SelectionMax bounds a Selection, so that a command stays short.
const SelectionMax = 1000

// republish decides Republish: each lost letter leaves the lost store for all queues that its exchange routes
// it to, or stays and the answer says why. Source: ours, decision 7.
func (s *step) republish(ch *channel, c *Command) *amqp.Error {
	return s.eachSelected(ch, c, func(seq queue.Seq) string { return s.sendOn(seq, c.Selection) })
}

// discard decides Discard: lost letters leave the lost store for good.
func (s *step) discard(ch *channel, c *Command) *amqp.Error {
	return s.eachSelected(ch, c, func(seq queue.Seq) string {
		s.end(s.lost, seq, fact.GonePurged)
		return "discarded"
	})
}

// eachSelected does something to each lost letter that c names, and answers for each.
func (s *step) eachSelected(ch *channel, c *Command, do func(queue.Seq) string) *amqp.Error {
	if len(c.Selection.IDs) > SelectionMax {
		return amqp.PreconditionFailed("%d lost letters exceed the limit of %d per command", len(c.Selection.IDs), SelectionMax)
	}
	n := uint64(0)
	for _, id := range c.Selection.IDs {
		outcome := "unknown"
		if seq, ok := s.lostSeq(id); ok {
			outcome = do(seq)
			n++
		}
		s.effect(Effect{Kind: Answered, Command: c.Kind, Channel: ch.id, Tag: id, Name: outcome, After: s.newest()})
	}
	s.markDirty(s.lost, 0)
	s.done(ch, c, Effect{Count: n})
	return nil
}

// sendOn publishes one lost letter, and says what came of it.
func (s *step) sendOn(seq queue.Seq, to *Selection) string {
	m := s.loadMessage(s.lost, seq)
	h := *m.history
	if to.Elsewhere {
		h.Exchange = to.Exchange
		if !to.KeepKeys {
			h.Keys = []string{to.RoutingKey}
		}
	}
	h.Redrive = h.Redrive.Again(0)
	m.history, m.historyRef, m.historyVolatile = &h, storage.Ref{}, storage.Ref{}
	targets, keepers, why := s.onward(seq, &m, to.Elsewhere)
	switch {
	case why != 0:
		return why.String()
	case len(keepers) > 0 && m.delayRefusal != nil, anyRefuses(targets, &m):
		return fact.LostRefused.String()
	}
	if len(keepers) > 0 {
		if kept, _ := s.postpone(keepers, &m); kept == nil && targets == nil {
			return fact.LostRefused.String()
		}
	}
	if len(h.Deaths) == 0 && !to.Elsewhere { // it was published, and did not die
		m.history = nil
	}
	for _, q := range targets {
		s.enqueue(q, &m)
		s.markDirty(q, 0)
	}
	s.end(s.lost, seq, fact.Redriven)
	return fact.Redriven.String()
}

// onward finds where a lost letter goes. The copy that one queue did not get goes to that queue alone: the
// others that its exchange leads to have theirs. Another one goes through the dead-letter exchange that its queue has
// now, and if it has none, or is gone, through the one that it had: what was misspelt may have been mended since.
func (s *step) onward(
	seq queue.Seq, m *message, elsewhere bool,
) (targets []*queueState, keepers []*topology.Exchange, why fact.Cause) {
	if target := s.lostLetter(seq).Target; target != "" && !elsewhere {
		q := s.queueNamed(target)
		if q == nil {
			return nil, nil, fact.LostRoute
		}
		return []*queueState{q}, nil, 0
	}
	if q := s.queueNamed(m.history.Last.Queue); !elsewhere && q != nil && q.settings.HasDLX {
		m.history.Address(q.settings)
	}
	x := s.topo.Exchange(m.history.Exchange)
	if x == nil {
		return nil, nil, fact.LostExchange
	}
	route := s.routeByHistory(x, m)
	for _, id := range route.Queues {
		targets = append(targets, s.queues[id])
	}
	if targets == nil && len(route.Delayed) == 0 {
		return nil, nil, fact.LostRoute
	}
	return targets, route.Delayed, 0
}

// routeByHistory asks the topology where a message goes from x, by its history's keys.
func (s *step) routeByHistory(x *topology.Exchange, m *message) topology.Route {
	h := m.history
	headers := m.scan().Headers
	if headers != nil {
		m.delay, m.delayRefusal = delayOf(headers)
	}
	t := topology.Message{
		Key: []byte(h.Keys[0]), Properties: m.content.Properties, Headers: headers,
		Extra: fact.Origins{History: h, Dialect: s.options.Dialect}, Early: m.early(), Entropy: s.entropyOf(m),
	}
	for _, k := range h.Keys[1:] {
		t.More = append(t.More, []byte(k))
	}
	return s.routeOf(x, &t, nil)
}

// lostSeq finds a lost letter by its ID: IDs begin with 1.
func (v *VHost) lostSeq(id MessageID) (queue.Seq, bool) {
	seq := seqOf(id)
	return seq, id > 0 && v.lost.messages.Entry(seq) != nil
}

// entropyOf is the bits by which exchanges choose for a message. They are the same each time that the message
// is tried, so that a retry does not find another queue by chance.
func (s *step) entropyOf(m *message) uint64 {
	r := m.record
	if r.IsZero() {
		r = m.recordVolatile
	}
	if r.IsZero() {
		return s.draw()
	}
	return uint64(r.Index)<<32 ^ uint64(r.Offset)<<8 ^ uint64(m.history.Total())
}

// LostLetter is a lost letter as lists show it.
type LostLetter struct {
	ID         MessageID
	Cause      fact.Cause
	At         deadline.Instant // wall clock
	Target     string           // the queue that refused it, would have had it again or gave it up, or ""
	History    fact.History     // Deaths is never empty; Exchange and Keys say where it was going
	Size       uint32           // of the record, bytes
	Persistent bool
}
