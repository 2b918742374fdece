package vhost

import (
	"slices"

	"github.com/bartleby-mq/bartleby/internal/deadline"
	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/settings"
	"github.com/bartleby-mq/bartleby/internal/storage"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// Most messages of a queue were published to the same few exchanges and keys. If they die there for the same reason,
// for the first time, they go to the same queues, and their histories differ only in the time. So a queue with a
// dead-letter exchange numbers the addresses of its messages, and remembers for each address how such a message went:
// the next one goes the same way, and its record need not be read. All of this is a cache: a message without a number,
// as after a restart, is read. Source: ours, decision 28.

const (
	// addressesMax is how many addresses a queue numbers, and addressBytesMax the length of the longest, bytes.
	addressesMax    = 16
	addressBytesMax = 256
	// addressedMax is how many addresses the queues of a virtual host number together: 6 MB of memory at the most.
	addressedMax = 8192
	// alikeTargetsMax is to how many queues messages go that die alike.
	alikeTargetsMax = 8
)

// addresses are those of a queue that have a number, which is their place here, from 1 on.
type addresses struct {
	list []address
	last uint8 // the number given last
}

// address is what a message without further keys was published to.
type address struct {
	exchange, key string
	expires       bool // with an expiration of its own
	way           *deathWay
}

// deathWay is how the messages of an address went that died for a reason. It holds while all of the first group is as
// it was.
type deathWay struct {
	reason   fact.Reason
	version  uint64 // of the topology
	settings *settings.Settings
	takesCC  bool // Options.KeyTakesCC

	targets []fact.QueueID
	history fact.History // with the time of the step in wall

	// The history in the log, for the durable copies of one step.
	index storage.Index
	wall  deadline.Instant
	ref   storage.Ref
}

// addressOf returns the number of the address of m, which is about to come to q; 0 if it gets none.
func (v *VHost) addressOf(q *queueState, m *message) uint8 {
	if !q.settings.HasDLX || m.history != nil || m.reportsFailure || m.diedIn != nil {
		return 0
	}
	c := &m.content
	if len(c.CC)+len(c.BCC) > 0 || len(c.Exchange)+len(c.Key) > addressBytesMax {
		return 0
	}
	if q.addresses == nil {
		q.addresses = &addresses{}
	}
	a := q.addresses
	if n := a.last; n > 0 && a.list[n-1].is(m) {
		return n
	}
	i := slices.IndexFunc(a.list, func(x address) bool { return x.is(m) })
	if i < 0 {
		if len(a.list) == addressesMax && q.messages.Len() == 0 {
			v.forgetAddresses(q) // no message has a number
			a = &addresses{}
			q.addresses = a
		}
		if len(a.list) == addressesMax || v.addressed >= addressedMax {
			return 0
		}
		i = len(a.list)
		v.addressed++
		a.list = append(a.list, address{exchange: string(c.Exchange), key: string(c.Key), expires: m.ttl >= 0})
	}
	a.last = uint8(i + 1)
	return a.last
}

// forgetAddresses takes the numbers of q back.
func (v *VHost) forgetAddresses(q *queueState) {
	if q.addresses != nil {
		v.addressed -= len(q.addresses.list)
		q.addresses = nil
	}
}

func (a *address) is(m *message) bool {
	return a.key == string(m.content.Key) && a.exchange == string(m.content.Exchange) && a.expires == (m.ttl >= 0)
}

// wayOf returns how the last message of e's address went, nil if none is known.
func (q *queueState) wayOf(e *queue.Entry) *deathWay {
	if e.Address == 0 || q.addresses == nil {
		return nil
	}
	return q.addresses.list[e.Address-1].way
}

// dieAlike ends a copy that dies like one of the same address before it, and reports whether it did: if anything may be
// different, nothing is changed.
func (s *step) dieAlike(q *queueState, seq queue.Seq, reason fact.Reason, depth int) bool {
	e := *q.messages.Entry(seq)
	w := q.wayOf(&e)
	if w == nil || w.reason != reason || depth > 0 || s.options.ClientDeathsCount || !w.holds(s, q) {
		return false
	}
	persistent := e.Flags&queue.Persistent != 0
	m := message{ttl: -1, persistent: persistent, borrowed: !persistent, priority: e.Priority, history: &w.history}
	ref := e.Ref(s.log)
	m.liesAt(ref)
	m.body.at = ref.Behind(int(e.Size - e.BodyBytes))
	for _, id := range w.targets {
		t := s.queues[id]
		stores := t != nil && t.quorum && !persistent // the quorum queue needs a record in the log
		if t == nil || t.ranked || stores || t.refuses(&m) {
			return false
		}
	}
	if w.index != s.Index || w.wall != s.Wall {
		w.index, w.wall, w.ref = s.Index, s.Wall, storage.Ref{}
		w.history.At, w.history.Deaths[0].Time = int64(s.Wall), int64(s.Wall)/1000
	}
	m.historyRef = w.ref
	s.traffic.Hops.note(1)
	p := passage{placed: true}
	s.traffic.Fates[reason][p.fate()]++
	for _, id := range w.targets {
		s.moveTo(s.queues[id], &m, depth)
	}
	w.ref = m.historyRef
	s.leaves(q, &p, 0)
	s.end(q, seq, p.end())
	return true
}

// holds reports whether a message of q would still go that way.
func (w *deathWay) holds(s *step, q *queueState) bool {
	return w.version == s.topo.Version() && w.settings == q.settings && w.takesCC == s.options.KeyTakesCC
}

// learnWay notes how a dead letter of from went, with its history, to all of the targets that its address leads to.
func (s *step) learnWay(from *queueState, number uint8, h *fact.History, targets []fact.QueueID) {
	reason := h.Last.Reason
	// A durable copy in such a queue is of a persistent message, and any other copy is not.
	known := from.object.Durable && !from.quorum && !from.ranked
	if !known || len(targets) > alikeTargetsMax || len(h.Deaths) != 1 || h.Redrive != (fact.RedriveMark{}) {
		return
	}
	if h.Cycles(from.object.Name, reason) && slices.Contains(targets, from.id) {
		return
	}
	if w := from.addresses.list[number-1].way; w != nil && w.reason == reason && w.holds(s, from) {
		return // it is known
	}
	w := &deathWay{
		reason: reason, version: s.topo.Version(), settings: from.settings, takesCC: s.options.KeyTakesCC,
		targets: slices.Clone(targets), history: *h,
	}
	d := h.Deaths[0]
	if d.TTLInRecord = d.HadTTL; d.HadTTL {
		d.Expiration = ""
	}
	w.history.Deaths = []fact.Death{d}
	from.addresses.list[number-1].way = w
}

// willRead reports whether the record of a message that is due in q is read soon: to let it die, or for a consumer of a
// queue that it then goes to.
func (v *VHost) willRead(q *queueState, e *queue.Entry) bool {
	if e.Address == 0 {
		return true
	}
	w := q.wayOf(e)
	return w != nil && slices.ContainsFunc(w.targets, func(id fact.QueueID) bool {
		t := v.queues[id]
		return t != nil && t.consumers.Len() > 0
	})
}
