package queue

import (
	"encoding/binary"
	"fmt"

	"github.com/bartleby-mq/bartleby/internal/deadline"
	"github.com/bartleby-mq/bartleby/internal/storage"
)

// A Checkpoint is what durable queues hold at the moment of BeginCheckpoint. It is saved piece by
// piece while they change. A queue, or a chunk, that is about to change is saved first. Source:
// ours, decision 12.
type Checkpoint struct {
	pool    *Pool
	visit   func(*Messages)
	slot    func(*Messages, Seq, []byte)
	rest    []*slot // to be saved, if they were not meanwhile
	next    int
	dropped []storage.Ref // pages that this checkpoint names no more
	buf     []byte
}

// BeginCheckpoint begins a checkpoint of the queues as they are. It calls visit for each durable queue before that
// changes, at the latest by Checkpoint.Queue; and slot for each chunk with persistent messages, with what
// Messages.Restore takes: the bytes are lent.
func (p *Pool) BeginCheckpoint(visit func(*Messages), slot func(*Messages, Seq, []byte)) *Checkpoint {
	p.epoch++
	p.saving = &Checkpoint{pool: p, visit: visit, slot: slot, dropped: p.dropped}
	p.dropped = nil
	return p.saving
}

// Touch saves m before it changes, and before what its owner keeps beside it does.
func (m *Messages) Touch() {
	if m.epoch != m.pool.epoch {
		m.epoch = m.pool.epoch
		if s := m.pool.saving; s != nil && m.durable {
			s.queue(m)
		}
	}
}

func (s *Checkpoint) queue(m *Messages) {
	s.visit(m)
	for _, l := range m.lanes {
		s.rest = append(s.rest, l.slots...)
	}
}

// Queue begins with a queue, unless that was done.
func (s *Checkpoint) Queue(m *Messages) { m.Touch() }

// pageCost is what it takes to write a page, and countCost what it takes to look through a chunk in memory, measured in
// slots that have a page and nothing more.
const (
	pageCost  = 32
	countCost = 6
)

// Some saves some chunks of the queues begun, n of those that have a page, or fewer that need one, and reports whether
// there are more.
func (s *Checkpoint) Some(n int) (more bool) {
	for ; s.next < len(s.rest) && n > 0; s.next++ {
		if x := s.rest[s.next]; x.epoch != s.pool.epoch {
			n--
			switch {
			case x.hot == nil:
			case x.hot.dirty || x.page.IsZero():
				n -= pageCost
			default:
				n -= countCost
			}
			s.pool.save(x)
		}
		s.rest[s.next] = nil
	}
	if s.next < len(s.rest) {
		return true
	}
	s.rest, s.next = s.rest[:0], 0
	return false
}

// End ends a checkpoint of which all has been saved, or which is given up.
func (s *Checkpoint) End() { s.pool.saving, s.pool.storing = nil, s }

// Stored tells what became of the checkpoint: if it counts now, the pages that the one before named and this one does
// not are given back.
func (s *Checkpoint) Stored(ok bool) {
	s.pool.storing = nil
	if !ok {
		s.pool.dropped = append(s.dropped, s.pool.dropped...)
		return
	}
	for _, r := range s.dropped {
		s.pool.use.Release(r)
	}
	s.dropped = nil
}

// Logged tells what Skip must be told of each lane when m is restored.
func (m *Messages) Logged(fn func(Seq)) {
	for i, l := range m.lanes {
		if l.logged > 0 {
			fn(seqOf(i, l.logged))
		}
	}
}

// What a saved slot has beside its page.
const (
	savedGone        = 1 << iota // a bitmap of what went, four numbers of 8 octets
	savedHanded                  // how many were with consumers, uvarint
	savedHistories               // first batch, and how many more, uvarints
	savedDue                     // the instant, uvarint
	savedOthers                  // waiting and held: number and octets of each, uvarints
	savedMixed                   // transient messages were left out: the page must be counted
	savedDeadLetters             // how many there are, uvarint; without it the page must be counted
)

// save tells the checkpoint in the making, if there is one, what is in s.
func (p *Pool) save(s *slot) {
	s.epoch = p.epoch
	if p.saving == nil || !s.lane.queue.durable || s.live == 0 {
		return
	}
	c := s.hot
	if c != nil {
		s.count(c)
	}
	if s.persistent == 0 {
		return
	}
	page, gone := s.page, s.gone()
	switch {
	case s.persistent < s.live, !page.IsZero() && page.Log != p.log.Pages() && (c == nil || !c.dirty):
		page, gone = p.saveSome(s)
	case c != nil && (c.dirty || page.IsZero()):
		if !p.write(s, c) {
			panic(storage.Fault{Err: fmt.Errorf("no place for a page of queue %d", s.lane.queue.id)})
		}
		page, gone = s.page, nil
	}
	b := appendSlot(p.saving.buf[:0], s, page, gone)
	p.saving.buf = b
	p.saving.slot(s.lane.queue, s.first(), b)
}

// saveSome gives s a page of its persistent entries alone.
func (p *Pool) saveSome(s *slot) (storage.Ref, *bitmap) {
	c := s.hot
	stale := c != nil && (c.dirty || s.page.IsZero())
	if !stale && s.extra != nil && !s.extra.kept.IsZero() {
		return s.extra.kept, s.gone()
	}
	if stale && p.write(s, c) {
		stale = false
	}
	if c == nil {
		var copied bool
		if c, copied = p.look(s); copied {
			defer p.put(c)
		}
	}
	p.buf = appendPage(p.buf[:0], c, Persistent)
	r := p.pages.Put(p.buf, false)
	p.retain(r)
	if stale { // no space for the other page: this one serves once
		p.dropped = append(p.dropped, r)
		return r, nil
	}
	s.more().kept = r
	return r, s.gone()
}

func appendSlot(b []byte, s *slot, page storage.Ref, gone *bitmap) []byte {
	at := len(b)
	b = append(b, 0)
	what := byte(0)
	b = binary.AppendUvarint(b, uint64(page.Index))
	b = binary.AppendUvarint(b, uint64(page.Offset))
	b = binary.AppendUvarint(b, uint64(page.Size))
	b = binary.AppendUvarint(b, uint64(s.live))
	b = binary.AppendUvarint(b, uint64(s.bytes))
	b = binary.AppendUvarint(b, uint64(s.records.first))
	b = binary.AppendUvarint(b, uint64(s.records.last-s.records.first))
	if gone != nil {
		what |= savedGone
		for _, w := range gone {
			b = binary.LittleEndian.AppendUint64(b, w)
		}
	}
	if s.handed > 0 {
		what |= savedHanded
		b = binary.AppendUvarint(b, uint64(s.handed))
	}
	if h := s.histories(); h.last > 0 {
		what |= savedHistories
		b = binary.AppendUvarint(b, uint64(h.first))
		b = binary.AppendUvarint(b, uint64(h.last-h.first))
	}
	if due := s.due(); due != 0 {
		what |= savedDue
		b = binary.AppendUvarint(b, uint64(due))
	}
	if s.others() > 0 {
		what |= savedOthers
		for _, o := range s.extra.others {
			b = binary.AppendUvarint(b, uint64(o.n))
			b = binary.AppendUvarint(b, uint64(o.bytes))
		}
	}
	if s.persistent < s.live {
		what |= savedMixed
	}
	what |= savedDeadLetters
	b = binary.AppendUvarint(b, uint64(s.deadLetters))
	b[at] = what
	return b
}

// Restore puts back a chunk as it was saved. The chunk is cold, its messages are ready, wait or are held, and due tells
// when the first of them is due, 0 if never. Numbers of the lane that are used are for Skip to tell.
func (m *Messages) Restore(first Seq, saved []byte) (due deadline.Instant, err error) {
	if first.lane() > m.priorityMax || first.n()%chunkLen != 0 {
		return 0, fmt.Errorf("queue: chunk %x cannot be", uint64(first))
	}
	l := m.lane(first)
	s := &slot{no: first.n() / chunkLen, lane: l, epoch: m.pool.epoch, restored: true}
	what, ok := s.parse(saved, m.pool.log.Pages())
	i, found := l.find(s.no)
	if !ok || found {
		return 0, errPage
	}
	l.slots = append(l.slots, nil)
	copy(l.slots[i+1:], l.slots[i:])
	l.slots[i] = s
	s.move(0, s.due())
	m.pool.retain(s.page)
	if what&savedMixed != 0 || what&savedDeadLetters == 0 {
		m.recount(s)
	}
	s.ready = s.live - s.others()
	m.persistent += int(s.persistent)
	m.deadLetters += int(s.deadLetters)
	l.ready += int(s.ready)
	m.counts[Ready] += int(s.ready)
	m.bytes[Ready] += s.bytes
	if s.extra != nil {
		for k, o := range s.extra.others {
			m.counts[int(Waiting)+k] += int(o.n)
			m.bytes[int(Waiting)+k] += o.bytes
			m.bytes[Ready] -= o.bytes
		}
	}
	if s.ready > 0 {
		m.top = max(m.top, l.number)
	}
	return s.at, nil
}

// recount counts what a page holds of a chunk that had transient messages, too, or whose dead letters
// an earlier version did not count.
func (m *Messages) recount(s *slot) {
	c := m.pool.take(true)
	m.pool.fill(c, s.page, s.gone())
	s.live = 0
	for i := range c.entries {
		if c.entries[i].State != Gone {
			s.live++
		}
	}
	handed := s.handed
	s.count(c)
	s.handed = max(handed, s.handed)
	m.pool.put(c)
}

func (s *slot) parse(saved []byte, log storage.LogID) (what byte, ok bool) {
	r := pageReader{rest: saved}
	what = r.octet()
	s.page = storage.Ref{Log: log, Index: storage.Index(r.uint()), Offset: uint32(r.uint()), Size: uint32(r.uint())}
	s.live = uint16(min(r.uint(), chunkLen))
	s.bytes = int64(r.uint())
	s.records.first = storage.Index(r.uint())
	s.records.last = s.records.first + storage.Index(r.uint())
	if what&savedGone != 0 {
		x := s.more()
		x.some = true
		for i := range x.gone {
			if len(r.rest) < 8 {
				return what, false
			}
			x.gone[i] = binary.LittleEndian.Uint64(r.rest)
			r.rest = r.rest[8:]
		}
	}
	if what&savedHanded != 0 {
		s.handed = uint16(min(r.uint(), chunkLen))
	}
	if what&savedHistories != 0 {
		h := &s.more().histories
		h.first = storage.Index(r.uint())
		h.last = h.first + storage.Index(r.uint())
	}
	if what&savedDue != 0 {
		s.at = deadline.Instant(r.uint())
	}
	if what&savedOthers != 0 {
		for i := range s.more().others {
			s.extra.others[i] = stateStat{uint16(min(r.uint(), chunkLen)), int64(r.uint())}
		}
	}
	if what&savedDeadLetters != 0 {
		s.deadLetters = uint16(min(r.uint(), chunkLen))
	}
	s.persistent = s.live
	return what, !r.bad && len(r.rest) == 0 && s.live > 0 && s.others() <= s.live
}
