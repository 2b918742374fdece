package engine

import (
	"github.com/bartleby-mq/bartleby/internal/place"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// port is a channel's way out.
type port struct {
	link    *Link
	channel vhost.ChannelID
	held    []vhost.Effect // from first on
	first   int
	granted granted
	parked  bool // something of it waits for the end of alarms
}

// look is an answer that waits until batch after is safe.
type look struct {
	after  place.Index
	glance bool // of the post
	done   chan error
}

// emit sends an effect on its way: to its door if it may leave, else behind what waits on its channel.
func (r *runner) emit(e *vhost.Effect) {
	p := r.portOf(e.Channel)
	if p == nil || p.link.closed {
		return
	}
	waits := p.first < len(p.held) || e.After > r.safe
	r.resolve(&e.Message, waits)
	if waits {
		switch {
		case p.first == len(p.held):
			p.held, p.first = p.held[:0], 0
			r.held = append(r.held, p)
		case len(p.held) == cap(p.held) && p.first > len(p.held)/2: // while there is always something that waits
			n := copy(p.held, p.held[p.first:])
			clear(p.held[n:])
			p.held, p.first = p.held[:n], 0
		}
		p.held = append(p.held, *e)
		r.urge(e.After)
		return
	}
	r.send(p, e)
}

// urge has the log synced at once if the batch at i was appended when nobody waited for it: now somebody does.
func (r *runner) urge(i place.Index) {
	if i > r.urged {
		r.urged = r.appended
		r.log.Urge()
	}
}

func (r *runner) portOf(c vhost.ChannelID) *port {
	if r.last == nil || r.last.channel != c {
		r.last = r.ports[c]
	}
	return r.last
}

func (r *runner) send(p *port, e *vhost.Effect) {
	p.link.door.Emit(e)
	r.toFlush(p.link)
	if e.Kind == vhost.Closed || e.Kind == vhost.Done && e.Command == vhost.CloseChannel {
		delete(r.ports, e.Channel)
		p.link.forget(e.Channel)
		if r.last == p {
			r.last = nil
		}
	}
}

// toFlush has a door flushed at the end of the round.
func (r *runner) toFlush(l *Link) {
	if !l.touched {
		l.touched = true
		r.flush = append(r.flush, l)
	}
}

// releaseSafe takes note of what has become safe.
func (r *runner) releaseSafe() {
	if i := place.Index(r.safeTo.Load()); i > r.safe {
		r.safe = i
		r.safeIs.Store(uint64(i))
		r.releaseHeld()
	}
}

// releaseHeld lets go what waited for batches that are safe now.
func (r *runner) releaseHeld() {
	still := r.held[:0]
	for _, p := range r.held {
		for p.first < len(p.held) && p.held[p.first].After <= r.safe {
			if !p.link.closed {
				r.send(p, &p.held[p.first])
			}
			p.held[p.first] = vhost.Effect{}
			p.first++
		}
		if p.first < len(p.held) {
			still = append(still, p)
		}
	}
	clear(r.held[len(still):])
	r.held = still
	looks := r.looks[:0]
	waiting := r.engine.Waiting() != nil
	for _, l := range r.looks {
		if l.after <= r.safe || l.glance && waiting {
			l.done <- nil
		} else {
			looks = append(looks, l)
		}
	}
	r.looks = looks
}

// answer ends a look when all that it may have seen is safe. A glance does not wait for that while the log waits for room.
func (r *runner) answer(p *post) {
	if r.appended <= r.safe || p.glance && r.engine.Waiting() != nil {
		p.done <- nil
		return
	}
	r.urge(r.appended)
	r.looks = append(r.looks, look{r.appended, p.glance, p.done})
}

func (r *runner) flushDoors() {
	for _, l := range r.flush {
		l.touched = false
		if !l.closed {
			l.door.Flush()
		}
	}
	clear(r.flush)
	r.flush = r.flush[:0]
}

// resolve fills in the bytes of a message that lies in the log: lent until release, or to stay.
func (r *runner) resolve(m *vhost.Delivered, stay bool) {
	if m.Record == nil && !m.Ref.IsZero() {
		m.Record = r.record(m.Ref, stay)
	}
	if m.History == nil && !m.HistoryRef.IsZero() {
		m.History = r.record(m.HistoryRef, stay)
	}
}

func (r *runner) record(ref place.Ref, stay bool) []byte {
	if stay {
		return orFault(r.cache.keep(ref))
	}
	return r.Record(ref)
}
