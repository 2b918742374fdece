package vhost

import (
	"slices"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/place"
	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/topology"
)

// die ends a copy for reason: it moves through the queue's dead-letter exchange, in this same batch; what its targets
// do not take is held or on the shelf. Without a dead-letter exchange it is gone, unless it came back too often.
// Source: RabbitMQ dlx; reference dead-lettering 1, 11, 12.
func (v *VHost) die(s *Stamp, q *queueState, seq queue.Seq, reason Reason, depth int, out *Outcome) {
	if q == v.shelf {
		v.evict(s, seq, out)
		return
	}
	if v.putsOff(q, reason) {
		v.suspend(s, q, seq, task{reason: reason}, out)
		return
	}
	v.touch(q, depth)
	q.counters().Died[v.strategyOf(q)][reason]++
	if !q.settings.hasDLX && (reason != DeliveryLimit || v.options.LostLettersMaxBytes == 0) {
		v.endsBack(s, q, seq)
		v.traffic.Fates[reason][FateNoDLX]++
		if reason == DeliveryLimit {
			v.lose(q, GoneLimit, false)
		}
		v.end(s, q, seq, reason.withoutDLX(), out)
		return
	}
	m := v.recall(q, seq)
	back := v.bury(s, q, &m, reason)
	v.traffic.Hops.note(len(m.history.Deaths))
	if !q.settings.hasDLX {
		v.comesBack(s, back)
		v.traffic.Fates[reason][FateNoDLX]++
		v.shelve(s, q, &m, GoneLimit, q.object.Name, out)
		v.end(s, q, seq, Moved, out)
		return
	}
	p := v.hop(s, q, &m, attempt{depth: depth, parts: true, holds: q.settings.AtLeastOnce, keeps: q.settings.CycleKeep && reason == Expired}, out)
	v.traffic.Fates[reason][p.fate()]++
	if !p.stays {
		v.comesBack(s, back)
	}
	switch {
	case p.missing != 0:
		v.withhold(s, q, seq, &m, p, out)
	case p.stays:
		f := Fact{Kind: Kept, Queue: q.id, Seq: seq, Durable: q.messages.Entry(seq).Flags&queue.Persistent != 0}
		v.emit(s, &f, out)
		q.counters().Kept++
	default:
		v.leaves(q, &p, 0)
		v.end(s, q, seq, p.end(), out)
	}
}

// leaves counts a letter that q need not hold, or not any longer, after so many ms.
func (v *VHost) leaves(q *queueState, p *passage, ms int64) {
	if p.end() != Moved {
		return
	}
	strategy := AtMostOnce
	if q.settings.AtLeastOnce {
		strategy = AtLeastOnce
		q.counters().Confirmed++
	}
	if p.laid == 0 {
		v.traffic.Placing[strategy].note(ms)
	}
}

// dieAtTheDoor makes a dead letter of a message that q has no room for, if q is set so.
// Source: RabbitMQ maxlength#overflow-behaviour, reject-publish-dlx.
func (v *VHost) dieAtTheDoor(s *Stamp, q *queueState, m *message, depth int, out *Outcome) passage {
	if !q.settings.passesOn() {
		return passage{}
	}
	q.counters().Died[min(v.strategyOf(q), AtMostOnce)][MaxLen]++ // it is never held
	letter := *m
	v.comesBack(s, v.bury(s, q, &letter, MaxLen))
	v.traffic.Hops.note(len(letter.history.Deaths))
	p := v.hop(s, q, &letter, attempt{depth: depth}, out)
	v.traffic.Fates[MaxLen][p.fate()]++
	return p
}

// recall reads a copy back as the message it is.
func (v *VHost) recall(q *queueState, seq queue.Seq) message {
	e := q.messages.Entry(seq)
	history := place.Ref{}
	if e.Flags&queue.Letter != 0 {
		history = q.messages.Side(seq).History
	}
	m := v.readBack(e.Ref(v.log), history, e.Flags&queue.Persistent != 0)
	m.told = e.Flags&queue.Told != 0
	return m
}

// readBack makes a message of its record and its history, which is zero if it has none. durable says that they belong to
// something durable.
func (v *VHost) readBack(record, history place.Ref, durable bool) message {
	m := message{ttl: -1, borrowed: !durable}
	if record.Log == place.Volatile {
		m.recordVolatile = record
	} else {
		m.record = record
		if record.Index != v.readAt { // neighbours are read together
			v.readAt = record.Index
			v.work += workOfRead
		}
	}
	var err error
	if m.content, err = parseRecord(v.record(record)); err != nil {
		panic(err) // our own bytes, under a checksum
	}
	scan := m.scan()
	m.persistent, m.priority, m.prioritized = scan.Persistent(), scan.Priority, scan.Flags&amqp.FlagPriority != 0
	if !history.IsZero() {
		h := v.historyAt(history)
		m.history = &h
	}
	return m
}

// historyAt reads a history back.
func (v *VHost) historyAt(r place.Ref) History {
	h, err := parseHistory(v.record(r))
	if err != nil {
		panic(err) // our own bytes, under a checksum
	}
	return h
}

// scan looks through the properties of a message that was published, once.
func (m *message) scan() *amqp.PropertyScan {
	if !m.scanned {
		if err := m.properties.Scan(m.content.properties); err != nil {
			panic(err) // it was scanned when it was published
		}
		m.scanned = true
	}
	return &m.properties
}

// attempt is how a letter is sent through its queue's dead-letter exchange.
type attempt struct {
	depth int
	holds bool      // its queue keeps it for the targets that cannot take it now
	parts bool      // its queue can keep it for very many targets, which get it in portions
	turn  bool      // it is the first of those
	wide  bool      // it is one of those
	keeps bool      // its queue keeps it in place if it would only come round in a cycle
	again bool      // it was tried before
	had   []QueueID // the targets that have it already
	only  QueueID   // no other target is tried; 0: all are
}

// passage is what came of that.
type passage struct {
	took    []QueueID // the targets that have it
	full    []QueueID // those that have no room; only if the queue holds it for them
	missing Cause     // why it is held, 0 if it is not
	stays   bool      // it stays in place
	placed  bool      // a queue or the shelf has it
	lost    Cause     // why a copy of it is nowhere, 0 if none is
	laid    Cause     // why a copy of it is on the shelf, or nowhere; 0 if none is
}

// end is how the copy in its queue ends.
func (p *passage) end() Cause {
	if p.placed || p.lost == 0 {
		return Moved
	}
	return p.lost
}

// hop publishes m, whose history has its newest death, to the dead-letter exchange of from, the queue that it died in.
// The copy in from, if there is one, is still there: what becomes of it is the caller's.
// Source: RabbitMQ dlx#routing, dlx#effects; reference dead-lettering 3 to 12.
func (v *VHost) hop(s *Stamp, from *queueState, m *message, a attempt, out *Outcome) passage {
	p := passage{took: slices.Clone(a.had)}
	h := *m.history
	from.settings.address(&h)
	h.HideCC = h.HideCC || from.settings.hasDLRK && v.options.keyTakesCC
	letter := *m
	letter.history, letter.ttl, letter.until = &h, -1, 0
	letter.letter, letter.historyVolatile = place.Ref{}, place.Ref{}
	crowded := a.depth > 0 && (v.moves > movesMax || v.work > stepWorkMax)
	if a.depth >= hopsMax || crowded || h.automatic() > chainMax || len(h.Deaths) > 1 && h.size() > historyBytesMax {
		v.tooFar(s, from, &letter, a, &p, out)
		return p
	}
	x := v.topo.Exchange(h.Exchange)
	if x == nil || !from.settings.hasDLX {
		v.nowhere(s, from, &letter, LostExchange, a, &p, out)
		return p
	}
	ids := v.routeLetter(s, x, &letter)
	if a.wide = a.parts && len(ids) > v.reach(); a.wide {
		v.work += len(ids) * workOfRoute
		if !a.turn && len(v.wide) > 0 {
			p.missing = Moved
			return p
		}
	}
	keepers := v.topo.Keepers()
	if !a.again || a.turn && len(a.had) == 0 {
		v.keepRecent(s, &letter, out)
	}
	if len(keepers) > 0 {
		v.putOff(s, from, &letter, keepers, a, &p, out)
		if len(ids) == 0 {
			return p
		}
	}
	if len(ids) == 0 {
		v.nowhere(s, from, &letter, LostRoute, a, &p, out)
		return p
	}
	if h.Share /= uint32(len(ids)); h.Share == 0 {
		if len(h.Deaths) > 1 {
			v.tooFar(s, from, &letter, a, &p, out)
			return p
		}
		h.Share = 1 // one exchange that leads to more queues than that: they get it, and no others from them
	}
	v.place(s, from, &letter, ids, a, &p, out)
	return p
}

// putOff gives a letter to delayed exchanges, which keep it for its targets: that settles it.
// Source: reference delayed-exchange 6, 7.
func (v *VHost) putOff(s *Stamp, from *queueState, m *message, keepers []*topology.Exchange, a attempt, p *passage, out *Outcome) {
	var fresh []*topology.Exchange
	for _, x := range keepers {
		switch q := v.schedules[x.Name]; {
		case q != nil && slices.Contains(a.had, q.id):
		case m.nonsense != nil:
			v.lay(s, from, m, LostRefused, "", p, out)
			if a.holds || a.wide {
				p.took = append(p.took, v.scheduleOf(s, x.Name, out).id) // it will not be tried again
			}
		default:
			fresh = append(fresh, x)
		}
	}
	if len(fresh) == 0 {
		return
	}
	kept, full := v.postpone(s, fresh, m, out)
	p.placed = p.placed || kept != nil
	if a.holds || a.wide {
		for _, id := range kept {
			p.took = append(p.took, id.Schedule)
		}
	}
	switch {
	case full && a.holds:
		p.missing = LostRefused
	case full:
		v.lay(s, from, m, LostRefused, "", p, out)
	}
}

// place puts a letter into the queues that its exchange leads to, or into a portion of very many: then it is on its way to the
// others, see wide.go.
func (v *VHost) place(s *Stamp, from *queueState, m *message, ids []QueueID, a attempt, p *passage, out *Outcome) {
	reason := m.history.Last.Reason
	var cycles []*queueState
	has := membership(a.had)
	p.placed = p.placed || a.wide && len(a.had) > 0
	tried := 0
	for i, id := range ids {
		if has(id) {
			continue
		}
		q := v.queues[id]
		switch {
		case m.history.cycles(q.object.Name, reason):
			cycles = append(cycles, q)
			continue
		case a.wide && tried == v.reach():
			p.missing, p.full = Moved, nil
			return
		case a.only != 0 && a.only != id:
			p.missing = LostRefused // or whatever it is that others wait for: it was said when they were tried
		case v.mutant == MutantLoseMove && i == len(ids)-1:
			p.placed = true
		case !q.refuses(m):
			v.enqueue(s, q, m, out)
			v.touch(q, a.depth+1)
			if v.calming {
				v.moves++
			}
			p.placed = true
			if (a.holds || a.wide) && v.mutant != MutantForgetTook {
				p.took = append(p.took, id)
			}
		case q.settings.passesOn():
			beyond := v.dieAtTheDoor(s, q, m, a.depth+1, out)
			p.placed, p.lost = p.placed || beyond.placed, max(p.lost, beyond.lost)
			if a.holds || a.wide {
				p.took = append(p.took, id) // it has gone on from there: not to be tried again
			}
		case a.holds:
			p.full, p.missing = append(p.full, id), LostRefused
			continue // each portion looks at it again
		default:
			v.lay(s, from, m, LostRefused, q.object.Name, p, out)
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
	case !a.holds || v.mutant == MutantShelveCycle:
		for _, q := range cycles {
			v.lay(s, from, m, LostCycle, q.object.Name, p, out)
		}
	case p.missing == 0: // what waits for room says so
		p.missing = LostCycle
	}
}

// tooFar is what becomes of a letter that went through too many queues: it is held, or a lost letter.
func (v *VHost) tooFar(s *Stamp, from *queueState, m *message, a attempt, p *passage, out *Outcome) {
	if a.holds {
		p.missing = LostHops
		return
	}
	v.lay(s, from, m, LostHops, "", p, out)
}

// nowhere is what becomes of a letter that leads to no queue now: it is held, or a lost letter. If some targets have
// it already and no route is left, the others are gone and it is done.
func (v *VHost) nowhere(s *Stamp, from *queueState, m *message, c Cause, a attempt, p *passage, out *Outcome) {
	switch {
	case len(a.had) > 0 && c == LostRoute:
	case a.holds:
		p.missing = c
	default:
		v.lay(s, from, m, c, "", p, out)
	}
}

// lay puts a letter on the shelf, if there is one.
func (v *VHost) lay(s *Stamp, from *queueState, m *message, c Cause, target string, p *passage, out *Outcome) {
	p.laid = c
	if c == LostHops {
		if v.hops++; v.hops > hopsKeptMax { // letters that multiply are all alike
			v.lose(from, c, false)
			p.lost = c
			return
		}
	}
	if v.shelve(s, from, m, c, target, out) {
		p.placed = true
	} else {
		p.lost = c
	}
}

// bury puts m's newest death into its history: it died in from. back is the job that had sent it there, if it has not died
// since.
func (v *VHost) bury(s *Stamp, from *queueState, m *message, reason Reason) (back JobID) {
	d := Death{Queue: from.object.Name, Reason: reason, Count: 1, Time: int64(s.Wall) / 1000}
	old, told := History{}, false
	if m.history != nil {
		old = *m.history
		d.Exchange, d.Keys = old.Exchange, old.Keys
		if old.Resent.Restored {
			if e := m.scan().Expiration; e != nil {
				d.HadTTL, d.Expiration = true, string(e)
			}
			old.Resent.Restored = false
		}
		back = old.Resent.away()
		old.Resent.CameBack = true
	} else {
		scan := m.scan()
		d.Exchange, d.Keys = string(m.content.exchange), m.content.publicKeys()
		if scan.Expiration != nil {
			d.HadTTL, d.Expiration = true, string(scan.Expiration)
		}
		old.Exchange, old.Keys, old.Share = d.Exchange, m.content.keys(), lettersMax
		if v.options.clientDeathsCount {
			old.Deaths, told = clientDeaths(scan.Headers)
		}
	}
	if v.options.Dialect&DialectReasons == 0 {
		old.unite()
	}
	m.letter, m.historyVolatile = place.Ref{}, place.Ref{}
	h := old
	if v.mutant != MutantForgetDeath || m.history == nil {
		h = old.died(d)
	}
	h.At = int64(s.Wall)
	if told { // the first death is the publisher's to tell
		h.First = Origin{}
	}
	m.history = &h
	return back
}

// lose counts a dead letter that found no place; kept says that the shelf has it.
func (v *VHost) lose(from *queueState, c Cause, kept bool) {
	from.counters().Lost[c]++
	v.note(Loss{Queue: from.object.Name, Cause: c, Kept: kept})
}

// A Loss is a dead letter of Queue that found no place. Kept says that the shelf has it. With the cause GoneShelf it
// is a letter that the shelf gave up. With a Reader it is none: a direct reply that found no room on its way to the connection
// of that name.
type Loss struct {
	Queue  string
	Cause  Cause
	Kept   bool
	Reader string
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
