package vhost

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/storage"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// examinedAtOnce is how many copies are examined at a time, in the order in which their records lie in the log: queues
// that were filled together would have all of it read once for each.
const examinedAtOnce = 1 << 20

// examined is a copy to be examined.
type examined struct {
	queue    *queueState
	seq      queue.Seq
	entry    queue.Entry
	history  storage.Ref
	position uint64
}

// Examine reads everything that the messages refer to, and counts it: to be called once, when all is applied.
func (s *Salvage) Examine() {
	s.tellMissing()
	s.tellWanted()
	var refs, bytes int64
	count := func(r storage.Ref) {
		if !r.IsZero() {
			refs, bytes = refs+1, bytes+int64(r.Size)
		}
	}
	var portion []examined
	add := func(x examined) {
		if x.entry.Flags&queue.HasHistory == 0 {
			x.history = storage.Ref{}
		}
		if x.position > 0 {
			count(x.entry.Ref(s.v.log))
			count(x.history)
		}
		if portion = append(portion, x); len(portion) == examinedAtOnce {
			s.examine(portion)
			portion = portion[:0]
		}
	}
	for _, q := range append(s.v.sortedQueues(), s.v.lost) {
		position := uint64(0)
		q.messages.Each(0, func(seq queue.Seq, e *queue.Entry) bool {
			position++
			x := examined{queue: q, seq: seq, entry: *e, position: position}
			if e.Flags&queue.HasHistory != 0 {
				x.history = q.messages.Side(seq).History
			}
			add(x)
			return true
		})
		for _, x := range s.foundIn(q.id) {
			add(examined{queue: q, seq: x.made.Seq, entry: x.made.Entry, history: x.made.History})
		}
	}
	s.examine(portion)
	s.examineRecents(count)
	for _, x := range s.v.txs {
		for i := range x.steps {
			count(x.steps[i].record)
		}
	}
	for _, g := range s.v.pendingFree {
		s.v.freeChunk(g)
	}
	s.v.pendingFree = nil
	for s.v.freeDeleted(math.MaxInt) {
	}
	if len(s.losses) > 0 {
		return // all is counted anew
	}
	for _, r := range s.v.use.Ranges() {
		refs, bytes = refs-r.Refs, bytes-r.Bytes
	}
	if refs != 0 || bytes != 0 {
		s.noteLoss(DataLoss{Kind: LossOfAccount, Why: fmt.Sprintf("%d references and %d bytes are not accounted for", refs, bytes)})
	}
}

// examine reads the records of copies and, of dead letters, their histories. What is lost is told in the order of
// copies.
func (s *Salvage) examine(all []examined) {
	order := make([]int, len(all))
	for i := range order {
		order[i] = i
	}
	deadLetters := slices.DeleteFunc(slices.Clone(order), func(i int) bool { return all[i].history.IsZero() })
	inLog := func(of func(x *examined) storage.Ref) func(a, b int) int {
		return func(a, b int) int {
			r, o := of(&all[a]), of(&all[b])
			return cmp.Or(cmp.Compare(r.Index, o.Index), cmp.Compare(r.Offset, o.Offset))
		}
	}
	record := func(x *examined) storage.Ref { return x.entry.Ref(s.v.log) }
	slices.SortFunc(deadLetters, inLog(func(x *examined) storage.Ref { return x.history }))
	slices.SortFunc(order, inLog(record))
	lost := map[int]DataLoss{}
	for _, i := range deadLetters {
		if _, err := s.historyOf(&all[i]); err != nil {
			lost[i] = s.withoutHistory(&all[i], err)
		}
	}
	for _, i := range order {
		p, err := s.read(record(&all[i]))
		if err == nil {
			_, err = fact.ParseRecord(p)
		}
		if err != nil {
			lost[i] = s.withoutRecord(&all[i], err)
		}
	}
	told := make([]int, 0, len(lost))
	for i := range lost {
		told = append(told, i)
	}
	slices.Sort(told)
	for _, i := range told {
		s.noteLoss(lost[i])
	}
}

// historyOf reads the history of a dead letter.
func (s *Salvage) historyOf(x *examined) (fact.History, error) {
	p, err := s.read(x.history)
	if err != nil {
		return fact.History{}, err
	}
	if x.queue == s.v.lost {
		h, _, err := parseLostInfo(p)
		return h, err
	}
	return fact.ParseHistory(p)
}

// lossOf says which copy is concerned, and what is known of it.
func (s *Salvage) lossOf(x *examined, kind DataLossKind, err error) DataLoss {
	l := DataLoss{
		Kind: kind, Queue: x.queue.object.Name, Lost: x.queue == s.v.lost, Priority: x.seq.Lane(), Number: x.seq.Number(), Count: 1,
		Position: x.position, Ref: x.entry.Ref(s.v.log), BodyBytes: x.entry.BodyBytes, Why: err.Error(),
	}
	l.Exchange, l.RoutingKey = s.address(l.Ref)
	if !x.history.IsZero() {
		if h, err := s.historyOf(x); err == nil {
			l.DiedIn = h.Last.Queue
		}
	}
	return l
}

func (s *Salvage) withoutRecord(x *examined, err error) DataLoss {
	s.drop[copyAt{x.queue.id, x.seq}] = true
	return s.lossOf(x, LossOfRecord, err)
}

// withoutHistory: a dead letter in a queue is a message all the same, one in the lost store is nothing.
func (s *Salvage) withoutHistory(x *examined, err error) DataLoss {
	if x.queue == s.v.lost {
		return s.withoutRecord(x, fmt.Errorf("why it is there: %w", err))
	}
	s.plain[copyAt{x.queue.id, x.seq}] = true
	l := s.lossOf(x, LossOfHistory, err)
	l.Ref = x.history
	return l
}

// address reads where a message was published, if its record begins with bytes that can be read.
func (s *Salvage) address(r storage.Ref) (exchange, key string) {
	const least = 1 + 1 + 255 + 1 + 255
	for r = r.First(least); r.Size > 0; r.Size /= 2 {
		p, err := s.read(r)
		if err != nil {
			continue
		}
		name, routing := fact.Address(p)
		return string(name), string(routing)
	}
	return "", ""
}

// examineRecents reads what exchanges keep, and lets go of what is lost.
func (s *Salvage) examineRecents(count func(storage.Ref)) {
	for x := range s.v.topo.Exchanges() {
		r := s.v.recents[x.Name]
		if r == nil {
			continue
		}
		var kept []recentMessage
		for _, m := range r.durable.messages {
			count(m.record)
			count(m.history)
			p, err := s.read(m.record)
			if err == nil {
				_, err = fact.ParseRecord(p)
			}
			if err == nil && !m.history.IsZero() {
				if p, err = s.read(m.history); err == nil {
					_, err = fact.ParseHistory(p)
				}
			}
			if err != nil {
				s.noteLoss(DataLoss{Kind: LossOfRecent, Queue: x.Name, Count: 1, Ref: m.record, Why: err.Error()})
				continue
			}
			kept = append(kept, m)
		}
		r.durable.messages = kept
	}
}
