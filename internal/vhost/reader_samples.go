package vhost

import (
	"math"
	"slices"
	"weak"

	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/topology"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// QueueSample is a queue as metrics see it: what Samples can tell without reading anything.
type QueueSample struct {
	ID                       fact.QueueID
	Name                     string
	Type                     string
	Durable                  bool
	AutoDelete, Exclusive    bool
	Policy, OperatorPolicy   string
	Ready, Unacked           int
	Waiting, Held            int
	DeadLetters              int // of all of these
	ReadyBytes, UnackedBytes int64
	WaitingBytes, HeldBytes  int64
	Consumers                int
	HeldBy                   [len(HeldCauses)]int // Held by why, in the order of HeldCauses
	NextRetry                Instant              // none of Waiting is ready before; 0: nothing waits
	DeadLetterWay            DeadLetterWay
	Counted                  bool        // false: Stats are all 0
	Stats                    *QueueStats // never nil; lent as the sample is: copy what is kept
}

// DeadLetterWay is where the dead letters of a queue go, as far as that can be known before they die.
type DeadLetterWay struct {
	Kind    WayKind
	Targets []fact.QueueID // shared by queues with the same way: do not change them
	Waits   bool           // dead letters that come into the queue expire there
	Mark    Mark           // of the queue as a dead-letter queue
}

// WayKind is whether dead letters have a way.
type WayKind uint8

// The kinds.
const (
	WayNone    WayKind = iota // no dead-letter exchange is set
	WayOpen                   // it leads to the targets, or depends on the messages
	WayMissing                // the dead-letter exchange does not exist
	WayUnbound                // it leads to no queue
)

// A Sampling visits all queues in portions, between which the vhost serves others. A queue that is declared or deleted
// meanwhile may be visited or not; what it has counted is in Gone if it was not visited before it was deleted.
type Sampling struct {
	begun   bool
	gone    map[string]QueueStats
	stats   QueueStats // of the queue that is visited
	after   fact.QueueID
	version uint64                           // of the topology, for
	ways    map[deadLetterKey][]fact.QueueID // where an exchange leads
}

// deadLetterKey is a dead-letter exchange and a dead-letter routing key; own says that dead letters keep
// theirs, which may be any.
type deadLetterKey struct {
	exchange, key string
	own           bool
}

// Sample visits up to most queues more, in the order of their numbers, and reports whether there may be others. A
// sample is lent until visit returns.
func (r Reader) Sample(to *Sampling, most int, visit func(*QueueSample)) (more bool) {
	if !to.begun {
		r.v.beginSampling(to)
	}
	if to.ways == nil || to.version != r.v.topo.Version() {
		to.version, to.ways = r.v.topo.Version(), map[deadLetterKey][]fact.QueueID{}
	}
	var x QueueSample
	for _, q := range r.v.after(to.after) {
		if q.deleted || q.schedule != nil {
			continue
		}
		if most--; most < 0 {
			return true
		}
		to.after = q.id
		r.sample(q, to, &x)
		visit(&x)
	}
	to.after = math.MaxUint32
	r.v.endSampling(to)
	return false
}

// after lists the queues with greater numbers; some may be deleted.
func (v *VHost) after(id fact.QueueID) []*queueState {
	i, _ := slices.BinarySearchFunc(v.ordered, id+1, byNumber)
	return v.ordered[i:]
}

// QueueChanges tells the greatest number that a queue was ever given, and how many queues were deleted since the vhost
// was opened: the queues are the same as long as both are.
func (r Reader) QueueChanges() (newest fact.QueueID, deleted uint64) {
	return r.v.queueMax, r.v.dropped
}

// QueuesAfter visits up to most of the queues whose numbers are greater, in the order of numbers, and reports whether
// there may be others.
func (r Reader) QueuesAfter(id fact.QueueID, most int, visit func(id fact.QueueID, name string)) (more bool) {
	for _, q := range r.v.after(id) {
		if q.deleted || q.schedule != nil {
			continue
		}
		if most--; most < 0 {
			return true
		}
		visit(q.id, q.object.Name)
	}
	return false
}

// Gone sums up what queues had counted, by type, that are no more and were not visited: with the samples it is what all
// queues have counted, and never less than what a sampling before had found. It is complete when all queues were
// visited. The map is the sampling's.
func (s *Sampling) Gone() map[string]QueueStats { return s.gone }

// beginSampling has a sampling told of queues that are deleted before it ends. Those that nobody goes on with are
// forgotten.
func (v *VHost) beginSampling(s *Sampling) {
	s.begun, s.gone = true, map[string]QueueStats{}
	for kind, n := range v.gone {
		s.gone[kind] = *n
	}
	v.samplings = slices.DeleteFunc(v.samplings, func(p weak.Pointer[Sampling]) bool { return p.Value() == nil })
	v.samplings = append(v.samplings, weak.Make(s))
}

// endSampling forgets a sampling.
func (v *VHost) endSampling(s *Sampling) {
	v.samplings = slices.DeleteFunc(v.samplings, func(p weak.Pointer[Sampling]) bool { return p.Value() == s })
}

// missedBy notes what a queue has counted that is being deleted with those samplings that have not visited it.
func (v *VHost) missedBy(q *queueState) {
	for _, p := range v.samplings {
		if s := p.Value(); s != nil && s.after < q.id && q.hasCounted() {
			n, counted := s.gone[q.object.Type], q.counts()
			n.Add(&counted)
			s.gone[q.object.Type] = n
		}
	}
}

func (r Reader) sample(q *queueState, to *Sampling, x *QueueSample) {
	m := q.messages
	*x = QueueSample{
		ID: q.id, Name: q.object.Name, Type: q.object.Type, Durable: q.object.Durable,
		AutoDelete: q.object.AutoDelete, Exclusive: q.object.Exclusive, Policy: q.policy, OperatorPolicy: q.operator,
		Ready: m.Ready(), Unacked: m.Unacked(), Waiting: m.Count(queue.Waiting), Held: m.Count(queue.Held),
		DeadLetters: q.deadLetters(), ReadyBytes: m.Bytes(queue.Ready), UnackedBytes: m.Bytes(queue.Unacked),
		WaitingBytes: m.Bytes(queue.Waiting), HeldBytes: m.Bytes(queue.Held),
		Consumers: q.consumers.Len(), DeadLetterWay: r.deadLetterWay(q, to),
		Counted: q.hasCounted(), Stats: &to.stats,
	}
	to.stats = q.counts()
	for i, c := range HeldCauses {
		x.HeldBy[i] = int(q.heldBy[c])
	}
	if x.Waiting > 0 {
		x.NextRetry = m.NextDue()
	}
}

// deadLetterWay finds where q's dead letters go. Where keys of messages decide, all queues that the exchange
// may lead to are targets.
func (r Reader) deadLetterWay(q *queueState, to *Sampling) DeadLetterWay {
	set := q.settings
	if !set.HasDLX {
		return DeadLetterWay{Mark: set.DLQ}
	}
	w := DeadLetterWay{Kind: WayOpen, Waits: set.TTL >= 0 && r.v.options.TTLInDLQ, Mark: set.DLQ}
	x := r.v.topo.Exchange(set.DeadLetterExchange)
	key := deadLetterKey{set.DeadLetterExchange, set.DeadLetterRoutingKey, !set.HasDLRK}
	if x == nil {
		w.Kind = WayMissing
		return w
	}
	if key.own && key.exchange == "" {
		return w // back to where they were published, if that was by name
	}
	known := false
	if w.Targets, known = to.ways[key]; !known {
		if key.own {
			w.Targets = r.leadsTo(key.exchange)
		} else {
			w.Targets = r.v.topo.Route(x, &topology.Message{Key: []byte(key.key)}, nil).Queues
		}
		to.ways[key] = w.Targets
	}
	if len(w.Targets) == 0 {
		w.Kind = WayUnbound
	}
	return w
}

// leadsTo lists the queues that an exchange may route a message to.
func (r Reader) leadsTo(exchange string) (queues []fact.QueueID) {
	seen := map[string]bool{exchange: true}
	reached := map[fact.QueueID]bool{}
	visit := func(name string, all *[]string) {
		if !seen[name] && r.v.topo.Exchange(name) != nil {
			seen[name] = true
			*all = append(*all, name)
		}
	}
	all := []string{exchange}
	for i := 0; i < len(all); i++ {
		for b := range r.v.topo.BindingsFrom(all[i]) {
			if !b.ToQueue {
				visit(b.Destination, &all)
			} else if id, ok := r.v.topo.Queue(b.Destination); ok && !reached[id] {
				reached[id] = true
				queues = append(queues, id)
			}
		}
		if x := r.v.topo.Exchange(all[i]); x.Alternate != "" {
			visit(x.Alternate, &all)
		}
	}
	return queues
}

// oldestWithin is how many messages from the head of a queue on are looked at for one that has died.
const oldestWithin = 256

// OldestDeadLetter tells when the dead letter next to the head of a queue died, or when a client
// published it there, in seconds since the Unix epoch; 0 if that is not known. It is read unless it
// is the one that is known; ok is false if there is none among the first messages.
func (r Reader) OldestDeadLetter(id fact.QueueID, known MessageID) (oldest MessageID, died int64, ok bool) {
	q := r.v.queues[id]
	if q == nil {
		return 0, 0, false
	}
	s, _, ok := q.messages.Head()
	if !ok {
		return 0, 0, false
	}
	looked := 0
	ok = false
	q.messages.Each(s, func(at queue.Seq, e *queue.Entry) bool {
		s, ok = at, e.State == queue.Ready && q.holdsAsDeadLetter(e)
		looked++
		return !ok && looked < oldestWithin
	})
	switch {
	case !ok:
		return 0, 0, false
	case idOf(s) == known:
		return known, 0, true
	}
	x := r.v.seen(q, s, q.messages.Entry(s))
	return idOf(s), x.DiedAt() / 1000, true
}

// DelayedSample is what waits in a delayed exchange, as metrics see it.
type DelayedSample struct {
	Exchange string
	Messages int
	Bytes    int64 // of bodies
	Orphan   bool  // the exchange is gone
}

// Delayed visits what waits in delayed exchanges, in no order: cheaper than Schedules.
func (r Reader) Delayed(visit func(DelayedSample)) {
	for name, q := range r.v.schedules {
		x := r.v.topo.Exchange(name)
		visit(DelayedSample{name, q.waiting(), q.messages.Bytes(queue.Waiting), x == nil || !x.Delayed})
	}
}

// overdueChunks bounds how many chunks of messages Overdue looks at.
const overdueChunks = 64

// Overdue counts the messages in delayed exchanges that are due at an instant and have not gone on: none, but while
// there are more than a tick takes. Of many it counts the first.
func (r Reader) Overdue(now Instant) (n int) {
	for _, q := range r.v.schedules {
		left := overdueChunks
		q.messages.Due(0, 0, func(chunk queue.Seq, at Instant) bool {
			if left--; at >= now || left < 0 {
				return false
			}
			q.messages.Look(chunk, func(_ queue.Seq, e *queue.Entry, side *queue.Side) {
				if e.State == queue.Waiting && side.Until < now {
					n++
				}
			})
			return true
		})
	}
	return n
}

// Armed counts the deadlines that are set: chunks of messages that expire or wait, queues that expire, and other work
// to come.
func (r Reader) Armed() int { return r.v.deadlines.Len() }
