package vhost

import (
	"slices"

	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/storage"
	"github.com/bartleby-mq/bartleby/internal/topology"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// deadLetter ends a copy for reason: it moves through the queue's dead-letter exchange, in this same batch; what its
// targets do not take is held or in the lost store. Without a dead-letter exchange it is gone, unless it came back too
// often. Source: RabbitMQ dlx; docs/compat/dead-lettering.md#1, #11, #12.
func (s *step) deadLetter(q *queueState, seq queue.Seq, reason fact.Reason, depth int) {
	if q == s.lost {
		s.evict(seq)
		return
	}
	if s.putsOff(q, reason) {
		s.suspend(q, seq, task{reason: reason})
		return
	}
	s.markDirty(q, depth)
	s.fatesOf(q).Died[s.strategyOf(q)][reason]++
	if !q.settings.HasDLX && (reason != fact.DeliveryLimit || s.options.LostLettersMaxBytes == 0) {
		s.countDiedAgainAtEnd(q, seq)
		s.traffic.Fates[reason][FateNoDLX]++
		if reason == fact.DeliveryLimit {
			s.lose(q, fact.GoneLimit, false)
		}
		s.end(q, seq, reason.WithoutDLX())
		return
	}
	if s.dieAlike(q, seq, reason, depth) {
		return
	}
	m := s.loadMessage(q, seq)
	back := s.recordDeath(q, &m, reason)
	s.traffic.Hops.note(len(m.history.Deaths))
	s.work += max(len(m.history.Deaths)-fewDeaths, 0) * workOfDeath
	if !q.settings.HasDLX {
		s.countDiedAgain(back)
		s.traffic.Fates[reason][FateNoDLX]++
		s.storeLost(q, &m, fact.GoneLimit, q.object.Name)
		s.end(q, seq, fact.Moved)
		return
	}
	p := s.routeDeadLetter(q, &m, attempt{
		depth: depth, parts: true, holds: q.settings.AtLeastOnce, keeps: q.settings.CycleKeep && reason == fact.Expired,
		address: q.messages.Entry(seq).Address,
	})
	s.traffic.Fates[reason][p.fate()]++
	if !p.stays {
		s.countDiedAgain(back)
	}
	switch {
	case p.missing != 0:
		s.holdDeadLetter(q, seq, &m, p)
	case p.stays:
		f := fact.Fact{Kind: fact.Kept, Queue: q.id, Seq: seq, Durable: q.messages.Entry(seq).Flags&queue.Persistent != 0}
		s.emit(&f)
		s.fatesOf(q).Kept++
	default:
		s.leaves(q, &p, 0)
		s.end(q, seq, p.end())
	}
}

// leaves counts a dead letter that q need not hold, or not any longer, after so many ms.
func (v *VHost) leaves(q *queueState, p *passage, ms int64) {
	if p.end() != fact.Moved {
		return
	}
	strategy := AtMostOnce
	if q.settings.AtLeastOnce {
		strategy = AtLeastOnce
		v.fatesOf(q).Confirmed++
	}
	if p.stored == 0 {
		v.traffic.Placing[strategy].note(ms)
	}
}

// deadLetterOnReject makes a dead letter of a message that q has no space for, if q is set so.
// Source: RabbitMQ maxlength#overflow-behaviour, reject-publish-dlx.
func (s *step) deadLetterOnReject(q *queueState, m *message, depth int) passage {
	if !q.settings.PassesOn() {
		return passage{}
	}
	s.fatesOf(q).Died[min(s.strategyOf(q), AtMostOnce)][fact.MaxLen]++ // it is never held
	deadLetter := *m
	s.countDiedAgain(s.recordDeath(q, &deadLetter, fact.MaxLen))
	s.traffic.Hops.note(len(deadLetter.history.Deaths))
	p := s.routeDeadLetter(q, &deadLetter, attempt{depth: depth})
	s.traffic.Fates[fact.MaxLen][p.fate()]++
	return p
}

// attempt is how a dead letter is sent through its queue's dead-letter exchange.
type attempt struct {
	depth int
	holds bool           // its queue keeps it for the targets that cannot take it now
	parts bool           // its queue can keep it for very many targets, which get it in portions
	turn  bool           // it is the first of those
	wide  bool           // it is one of those
	keeps bool           // its queue keeps it in place if it would only come round in a cycle
	again bool           // it was tried before
	had   []fact.QueueID // the targets that have it already
	only  fact.QueueID   // no other target is tried; 0: all are

	address uint8 // of its copy in the queue, for which the way is noted; 0: it is not
}

// passage is what came of that.
type passage struct {
	took    []fact.QueueID // the targets that have it
	full    []fact.QueueID // those that have no space; only if the queue holds it for them
	missing fact.Cause     // why it is held, 0 if it is not
	stays   bool           // it stays in place
	placed  bool           // a queue or the lost store has it
	lost    fact.Cause     // why a copy of it is nowhere, 0 if none is
	stored  fact.Cause     // why a copy of it is in the lost store, or nowhere; 0 if none is
}

// end is how the copy in its queue ends.
func (p *passage) end() fact.Cause {
	if p.placed || p.lost == 0 {
		return fact.Moved
	}
	return p.lost
}

// isPlaced reports whether nothing but its targets has it.
func (p *passage) isPlaced() bool {
	return p.placed && p.missing == 0 && p.lost == 0 && p.stored == 0 && !p.stays
}

// routeDeadLetter publishes m, whose history has its newest death, to the dead-letter exchange of from, the queue that
// it died in. The copy in from, if there is one, is still there: what becomes of it is the caller's. Source: RabbitMQ
// dlx#routing, dlx#effects; docs/compat/dead-lettering.md#3 to #12.
func (s *step) routeDeadLetter(from *queueState, m *message, a attempt) passage {
	p := passage{took: slices.Clone(a.had)}
	h := *m.history
	h.Address(from.settings)
	h.HideCC = h.HideCC || from.settings.HasDLRK && s.options.KeyTakesCC
	deadLetter := *m
	deadLetter.history, deadLetter.ttl, deadLetter.until = &h, -1, 0
	deadLetter.historyRef, deadLetter.historyVolatile = storage.Ref{}, storage.Ref{}
	crowded := a.depth > 0 && (s.moves > movesMax || s.work > stepWorkMax)
	if a.depth >= hopsMax || crowded || h.Automatic() > chainMax || len(h.Deaths) > 1 && h.Size() > historyBytesMax {
		s.tooFar(from, &deadLetter, a, &p)
		return p
	}
	x := s.topo.Exchange(h.Exchange)
	if x == nil || !from.settings.HasDLX {
		s.nowhere(from, &deadLetter, fact.LostExchange, a, &p)
		return p
	}
	route := s.routeByHistory(x, &deadLetter)
	ids := route.Queues
	if a.wide = a.parts && len(ids) > s.itemsPerStep(); a.wide {
		s.work += len(ids) * workOfRoute
		if !a.turn && len(s.wide) > 0 {
			p.missing = fact.Moved
			return p
		}
	}
	if !a.again || a.turn && len(a.had) == 0 {
		s.keepRecent(&deadLetter, route.Recent)
	}
	if len(route.Delayed) > 0 {
		s.putOff(from, &deadLetter, route.Delayed, a, &p)
		if len(ids) == 0 {
			return p
		}
	}
	if len(ids) == 0 {
		s.nowhere(from, &deadLetter, fact.LostRoute, a, &p)
		return p
	}
	if h.Share /= uint32(len(ids)); h.Share == 0 {
		if len(h.Deaths) > 1 {
			s.tooFar(from, &deadLetter, a, &p)
			return p
		}
		h.Share = 1 // one exchange that leads to more queues than that: they get it, and no others from them
	}
	s.deliverDeadLetter(from, &deadLetter, ids, a, &p)
	if a.address > 0 && route.ByKeys && len(route.Recent)+len(route.Delayed) == 0 && p.isPlaced() {
		s.learnWay(from, a.address, &h, ids)
	}
	return p
}

// putOff gives a dead letter to delayed exchanges, which keep it for its targets: that settles it.
// Source: docs/compat/delayed-exchange.md#6, #7.
func (s *step) putOff(from *queueState, m *message, keepers []*topology.Exchange, a attempt, p *passage) {
	var fresh []*topology.Exchange
	for _, x := range keepers {
		switch q := s.schedules[x.Name]; {
		case q != nil && slices.Contains(a.had, q.id):
		case m.delayRefusal != nil:
			s.storeOrLose(from, m, fact.LostRefused, "", p)
			if a.holds || a.wide {
				p.took = append(p.took, s.scheduleOf(x.Name).id) // it will not be tried again
			}
		default:
			fresh = append(fresh, x)
		}
	}
	if len(fresh) == 0 {
		return
	}
	kept, full := s.postpone(fresh, m)
	p.placed = p.placed || kept != nil
	if a.holds || a.wide {
		for _, id := range kept {
			p.took = append(p.took, id.Schedule)
		}
	}
	switch {
	case full && a.holds:
		p.missing = fact.LostRefused
	case full:
		s.storeOrLose(from, m, fact.LostRefused, "", p)
	}
}

// deliverDeadLetter puts a dead letter into the queues that its exchange leads to, or into a portion of very
// many: then it is on its way to the others, see wide.go.
func (s *step) deliverDeadLetter(from *queueState, m *message, ids []fact.QueueID, a attempt, p *passage) {
	reason := m.history.Last.Reason
	var cycles []*queueState
	has := membership(a.had)
	p.placed = p.placed || a.wide && len(a.had) > 0
	tried := 0
	for _, id := range ids {
		if has(id) {
			continue
		}
		q := s.queues[id]
		switch {
		case m.history.Cycles(q.object.Name, reason):
			cycles = append(cycles, q)
			continue
		case a.wide && tried == s.itemsPerStep():
			p.missing, p.full = fact.Moved, nil
			return
		case a.only != 0 && a.only != id:
			p.missing = fact.LostRefused // or whatever it is that others wait for: it was said when they were tried
		case !q.refuses(m):
			s.moveTo(q, m, a.depth)
			p.placed = true
			if a.holds || a.wide {
				p.took = append(p.took, id)
			}
		case q.settings.PassesOn():
			beyond := s.deadLetterOnReject(q, m, a.depth+1)
			p.placed, p.lost = p.placed || beyond.placed, max(p.lost, beyond.lost)
			if a.holds || a.wide {
				p.took = append(p.took, id) // it has gone on from there: not to be tried again
			}
		case a.holds:
			p.full, p.missing = append(p.full, id), fact.LostRefused
			continue // each portion looks at it again
		default:
			s.storeOrLose(from, m, fact.LostRefused, q.object.Name, p)
			if a.wide {
				p.took = append(p.took, id)
			}
		}
		tried++
	}
	if a.keeps && len(cycles) > 0 && !p.placed && p.lost == 0 && p.missing == 0 && len(p.took) == 0 {
		p.stays = true
		return
	}
	switch {
	case len(cycles) == 0:
	case !a.holds:
		for _, q := range cycles {
			s.storeOrLose(from, m, fact.LostCycle, q.object.Name, p)
		}
	case p.missing == 0: // what waits for space says so
		p.missing = fact.LostCycle
	}
}

// moveTo makes the copy of a dead letter in a target; depth is that of the queue that it comes from.
func (s *step) moveTo(q *queueState, m *message, depth int) {
	s.enqueue(q, m)
	s.markDirty(q, depth+1)
	if s.draining {
		s.moves++
	}
}

// tooFar is what becomes of a dead letter that went through too many queues: it is held, or a lost letter.
func (s *step) tooFar(from *queueState, m *message, a attempt, p *passage) {
	if a.holds {
		p.missing = fact.LostHops
		return
	}
	s.storeOrLose(from, m, fact.LostHops, "", p)
}

// nowhere is what becomes of a dead letter that leads to no queue now: it is held, or a lost letter. If some
// targets have it already and no route is left, the others are gone and it is done.
func (s *step) nowhere(from *queueState, m *message, c fact.Cause, a attempt, p *passage) {
	switch {
	case len(a.had) > 0 && c == fact.LostRoute:
	case a.holds:
		p.missing = c
	default:
		s.storeOrLose(from, m, c, "", p)
	}
}

// storeOrLose puts a dead letter in the lost store, if there is one.
func (s *step) storeOrLose(from *queueState, m *message, c fact.Cause, target string, p *passage) {
	p.stored = c
	if c == fact.LostHops {
		if s.hops++; s.hops > hopsKeptMax { // dead letters that multiply are all alike
			s.lose(from, c, false)
			p.lost = c
			return
		}
	}
	if s.storeLost(from, m, c, target) {
		p.placed = true
	} else {
		p.lost = c
	}
}

// recordDeath puts m's newest death into its history: it died in from. back is the job that had sent it there, if it
// has not died since.
func (s *step) recordDeath(from *queueState, m *message, reason fact.Reason) (back fact.JobID) {
	d := fact.Death{Queue: from.object.Name, Reason: reason, Count: 1, Time: int64(s.Wall) / 1000}
	old, told := fact.History{}, false
	if m.history != nil {
		old = *m.history
		d.Exchange, d.Keys = old.Exchange, m.content.Public(old.Keys)
		if old.Redrive.Restored {
			if e := m.scan().Expiration; e != nil {
				d.HadTTL, d.Expiration = true, string(e)
			}
			old.Redrive.Restored = false
		}
		back = old.Redrive.SentBy()
		old.Redrive.CameBack, old.Redrive.AtWork = true, false
	} else {
		scan, keys := m.scan(), m.content.Keys()
		d.Exchange, d.Keys = string(m.content.Exchange), m.content.Public(keys)
		if scan.Expiration != nil {
			d.HadTTL, d.Expiration = true, string(scan.Expiration)
		}
		old.Exchange, old.Keys, old.Share = d.Exchange, keys, fact.DeadLettersMax
		if s.options.ClientDeathsCount {
			old.Deaths, told = clientDeaths(scan.Headers)
		}
	}
	if s.options.Dialect&DialectReasons == 0 {
		old.Unite()
	}
	m.historyRef, m.historyVolatile = storage.Ref{}, storage.Ref{}
	h := old.Died(d)
	h.At = int64(s.Wall)
	if told { // the first death is the publisher's to tell
		h.First = fact.Origin{}
	}
	m.history = &h
	return back
}

// lose counts a dead letter that found no place; kept says that the lost store has it.
func (v *VHost) lose(from *queueState, c fact.Cause, kept bool) {
	v.fatesOf(from).Lost[c]++
	v.note(Loss{Queue: from.object.Name, Cause: c, Kept: kept})
}

// A Loss is a dead letter of Queue that found no place. Kept says that the lost store has it. With
// the cause GoneEvicted it is a dead letter that the lost store gave up. With a SlowConnection it is none: a
// direct reply that found no space on its way to the connection of that name, whose client reads too slowly.
type Loss struct {
	Queue          string
	Cause          fact.Cause
	Kept           bool
	SlowConnection string
}

func (v *VHost) note(l Loss) {
	if len(v.losses) < lossesMax {
		v.losses = append(v.losses, l)
	}
}

// TakeLosses returns the losses since it was called last, the first lossesMax of them, for the log of whoever
// runs the vhost; how many there were in all is in QueueStats. The slice is lent until the next command.
func (v *VHost) TakeLosses() []Loss {
	list := v.losses
	v.losses = v.losses[:0]
	return list
}
