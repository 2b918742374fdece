package vhost

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/bartleby-mq/bartleby/internal/place"
	"github.com/bartleby-mq/bartleby/internal/queue"
)

// Examine reads everything that the messages refer to, and counts it: to be called once, when all is folded.
func (s *Salvage) Examine() {
	s.tellMissing()
	s.tellWanted()
	var refs, bytes int64
	count := func(r place.Ref) {
		if !r.IsZero() {
			refs, bytes = refs+1, bytes+int64(r.Size)
		}
	}
	for _, q := range append(s.v.sortedQueues(), s.v.shelf) {
		position := uint64(0)
		q.messages.Each(0, func(seq queue.Seq, e *queue.Entry) bool {
			position++
			history := q.messages.Side(seq).History
			if e.Flags&queue.Letter == 0 {
				history = place.Ref{}
			}
			count(e.Ref(s.v.log))
			count(history)
			s.examine(q, seq, e, history, position)
			return true
		})
		for _, x := range s.foundIn(q.id) {
			s.examine(q, x.made.Seq, &x.made.Entry, x.made.History, 0)
		}
	}
	s.examineRecents(count)
	for _, g := range s.v.graves {
		s.v.unearth(g)
	}
	s.v.graves = nil
	if len(s.lacks) > 0 {
		return // all is counted anew
	}
	for _, r := range s.v.use.Ranges() {
		refs, bytes = refs-r.Refs, bytes-r.Bytes
	}
	if refs != 0 || bytes != 0 {
		s.lack(Lack{Kind: LackAccount, Why: fmt.Sprintf("%d references and %d bytes are not accounted for", refs, bytes)})
	}
}

// examine reads the record of a copy and, of a dead letter, its history.
func (s *Salvage) examine(q *queueState, seq queue.Seq, e *queue.Entry, history place.Ref, position uint64) {
	l := Lack{
		Queue: q.object.Name, Lost: q == s.v.shelf, Priority: seq.Lane(), Number: seq.Number(), Count: 1, Position: position,
		Ref: e.Ref(s.v.log), BodyBytes: e.BodyBytes,
	}
	var h History
	var letter error
	if !history.IsZero() {
		var p []byte
		if p, letter = s.read(history); letter == nil {
			if q == s.v.shelf {
				h, _, letter = parseSlip(p)
			} else {
				h, letter = parseHistory(p)
			}
		}
		if letter == nil {
			l.DiedIn = h.Last.Queue
		}
	}
	record, err := s.read(l.Ref)
	if err == nil {
		var c content
		c, err = parseRecord(record)
		l.Exchange, l.RoutingKey = string(c.exchange), string(c.key)
	} else {
		l.Exchange, l.RoutingKey = s.address(l.Ref)
	}
	switch at := (copyAt{q.id, seq}); {
	case err != nil:
		l.Kind, l.Why = LackRecord, err.Error()
		s.drop[at] = true
	case letter != nil && q == s.v.shelf:
		l.Kind, l.Why = LackRecord, "why it is there: "+letter.Error()
		s.drop[at] = true
	case letter != nil:
		l.Kind, l.Ref, l.Why = LackHistory, history, letter.Error()
		s.plain[at] = true
	default:
		return
	}
	s.lack(l)
}

// address reads where a message was published, if its record begins with bytes that can be read.
func (s *Salvage) address(r place.Ref) (exchange, key string) {
	const least = 1 + 1 + 255 + 1 + 255
	r.Size = min(r.Size, least)
	for ; r.Size > 0; r.Size /= 2 {
		p, err := s.read(r)
		if err != nil {
			continue
		}
		name, rest, ok := cutShort(p[1:])
		if !ok {
			return "", ""
		}
		routing, _, _ := cutShort(rest)
		return string(name), string(routing)
	}
	return "", ""
}

// examineRecents reads what exchanges keep, and lets go of what is lost.
func (s *Salvage) examineRecents(count func(place.Ref)) {
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
				_, err = parseRecord(p)
			}
			if err == nil && !m.history.IsZero() {
				if p, err = s.read(m.history); err == nil {
					_, err = parseHistory(p)
				}
			}
			if err != nil {
				s.lack(Lack{Kind: LackNote, Queue: x.Name, Count: 1, Ref: m.record, Why: err.Error()})
				continue
			}
			kept = append(kept, m)
		}
		r.durable.messages = kept
	}
}

// Marks returns what a sound vhost refers to in some spans of its log and of the log of its pages, in order.
func (s *Salvage) Marks(spans []place.Span) []place.Ref {
	s.v.Mark(spans)
	for s.v.MarkSome(1 << 16) {
	}
	return s.v.Marked()
}

// Rebuild returns a vhost with all that can be had, and with nothing else: its checkpoint at that batch, the last, is to take
// the place of the damaged log. What it does not have any more is counted as Damaged.
func (s *Salvage) Rebuild(at place.Index, pages place.Pages) (*VHost, error) {
	n := New(s.v.name, s.v.log, salvageRecords{s}, pages)
	var ranges []place.UseRange
	for _, r := range s.v.use.Ranges() {
		ranges = append(ranges, place.UseRange{First: r.First})
	}
	if len(ranges) > 0 {
		n.use.Restore(ranges, at)
	}
	b := binary.AppendUvarint([]byte{formatVersion}, uint64(s.v.logged))
	if err := n.Fold(0, s.v.newDefinitions().append(b, math.MaxInt)); err != nil {
		return nil, err
	}
	for _, q := range append(s.v.sortedQueues(), s.v.shelf) {
		if q == s.v.shelf || q.object.Durable {
			s.moveInto(n, q)
		}
	}
	live := n.durable.Made
	n.durable = s.v.durable
	if lost := n.durable.Made - n.durable.Total() - live; int64(lost) > 0 {
		n.durable.Ended[Damaged] += lost
	}
	n.durable.Made = n.durable.Total() + live
	n.books = n.durable
	if err := n.Check(); err != nil {
		return nil, fmt.Errorf("vhost %q, rebuilt: %w", n.name, err)
	}
	return n, nil
}

// moveInto makes the copies of a queue in n that are not lost.
func (s *Salvage) moveInto(n *VHost, q *queueState) {
	found := s.foundIn(q.id)
	before := func(seq queue.Seq) {
		for len(found) > 0 && found[0].made.Seq < seq {
			x := found[0]
			found = found[1:]
			s.make(n, x.made, x.failed, x.held)
		}
	}
	done := 0
	q.messages.Each(0, func(seq queue.Seq, e *queue.Entry) bool {
		before(seq)
		if s.drop[copyAt{q.id, seq}] {
			return true
		}
		side := q.messages.Side(seq)
		f := Fact{Kind: Enqueued, Durable: true, Queue: q.id, Seq: seq, Entry: *e, History: side.History, N: uint64(side.Acquired)}
		if e.State == queue.Waiting {
			f.At = side.Until
		}
		var held *Fact
		if x, known := q.held[seq]; e.State == queue.Held && known {
			held = &Fact{Kind: Held, Durable: true, Queue: q.id, Seq: seq, Cause: x.cause, History: side.History, Took: x.took}
		}
		s.make(n, f, uint64(side.Failed), held)
		if done++; done%queue.ChunkLen == 0 {
			n.pool.Trim()
		}
		return true
	})
	before(^queue.Seq(0))
	to := n.queueOf(q.id).messages
	q.messages.Logged(func(next queue.Seq) {
		if to.Fits(next) {
			to.Skip(next)
		}
	})
	n.pool.Trim()
}

// make makes one copy in n.
func (s *Salvage) make(n *VHost, f Fact, failed uint64, held *Fact) {
	if s.plain[copyAt{f.Queue, f.Seq}] {
		f.Entry.Flags &^= queue.Letter
		f.History, held = place.Ref{}, nil
	}
	f.Entry.State = queue.Ready
	n.apply(&f)
	if failed > 0 {
		n.apply(&Fact{Kind: Tallied, Queue: f.Queue, Seq: f.Seq, N: failed})
	}
	if held != nil {
		n.apply(held)
	}
}
