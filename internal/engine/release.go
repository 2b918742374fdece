package engine

import (
	"github.com/bartleby-mq/bartleby/internal/storage"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// outbox is what waits to be sent on a channel.
type outbox struct {
	session *Session
	channel vhost.ChannelID
	held    []vhost.Effect // from first on
	first   int
	granted granted
	parked  bool // something of it waits for the end of alarms
}

// look is an answer that waits until batch after is safe.
type look struct {
	after  storage.Index
	glance bool // of the request
	done   chan error
}

// emit sends an effect on its way: to its frontend if it may leave, else behind what waits on its channel.
func (r *runner) emit(e *vhost.Effect) {
	box := r.outboxOf(e.Channel)
	if box == nil || box.session.closed {
		return
	}
	waits := box.first < len(box.held) || e.After > r.safe
	r.resolve(&e.Message, waits)
	if waits {
		switch {
		case box.first == len(box.held):
			box.held, box.first = box.held[:0], 0
			r.held = append(r.held, box)
		case len(box.held) == cap(box.held) && box.first > len(box.held)/2: // while there is always something that waits
			n := copy(box.held, box.held[box.first:])
			clear(box.held[n:])
			box.held, box.first = box.held[:n], 0
		}
		box.held = append(box.held, *e)
		r.urge(e.After)
		return
	}
	r.send(box, e)
}

// urge has the log synced at once if the batch at i was appended when nobody waited for it: now somebody does.
func (r *runner) urge(i storage.Index) {
	if i > r.urged {
		r.urged = r.appended
		r.log.Urge()
	}
}

func (r *runner) outboxOf(c vhost.ChannelID) *outbox {
	if r.last == nil || r.last.channel != c {
		r.last = r.outboxes[c]
	}
	return r.last
}

func (r *runner) send(box *outbox, e *vhost.Effect) {
	box.session.frontend.Emit(e)
	r.toFlush(box.session)
	if e.Kind == vhost.Closed || e.Kind == vhost.Done && e.Command == vhost.CloseChannel {
		delete(r.outboxes, e.Channel)
		box.session.forget(e.Channel)
		if r.last == box {
			r.last = nil
		}
	}
}

// toFlush has a frontend flushed at the end of the round.
func (r *runner) toFlush(s *Session) {
	if !s.touched {
		s.touched = true
		r.flush = append(r.flush, s)
	}
}

// releaseSafe takes note of what has become safe.
func (r *runner) releaseSafe() {
	if i := storage.Index(r.safeTo.Load()); i > r.safe {
		r.safe = i
		r.safeIs.Store(uint64(i))
		r.releaseHeld()
	}
}

// releaseHeld lets go what waited for batches that are safe now.
func (r *runner) releaseHeld() {
	still := r.held[:0]
	for _, box := range r.held {
		for box.first < len(box.held) && box.held[box.first].After <= r.safe {
			if !box.session.closed {
				r.send(box, &box.held[box.first])
			}
			box.held[box.first] = vhost.Effect{}
			box.first++
		}
		if box.first < len(box.held) {
			still = append(still, box)
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

// answer ends a look when all that it may have seen is safe. A glance does not wait for that while the log waits for
// space.
func (r *runner) answer(p *request) {
	if r.appended <= r.safe || p.glance && r.engine.Waiting() != nil {
		p.done <- nil
		return
	}
	r.urge(r.appended)
	r.looks = append(r.looks, look{r.appended, p.glance, p.done})
}

func (r *runner) flushDoors() {
	for _, s := range r.flush {
		s.touched = false
		if !s.closed {
			s.frontend.Flush()
		}
	}
	clear(r.flush)
	r.flush = r.flush[:0]
}

// resolve fills in the bytes of a message that lies in the log: lent until release, or to stay.
func (r *runner) resolve(m *vhost.Delivered, stay bool) {
	if m.Record == nil && !m.Ref.IsZero() {
		m.Stays = m.Ref.Size >= batchBytesMax/4 // a part of a batch holds it
		m.Record = r.record(m.Ref, stay || m.Stays)
	}
	if m.History == nil && !m.HistoryRef.IsZero() {
		if h := &r.history; h.ref != m.HistoryRef || stay && !h.stays {
			*h = sharedHistory{m.HistoryRef, r.record(m.HistoryRef, stay), stay}
		}
		m.History = r.history.bytes
	}
}

// sharedHistory is the history of the message that was resolved last: messages that died together share one.
type sharedHistory struct {
	ref   storage.Ref // zero: there is none
	bytes []byte
	stays bool // bytes are not lent
}

// endLoans ends the loans of records.
func (r *runner) endLoans() {
	r.cache.Release()
	if !r.history.stays {
		r.history = sharedHistory{}
	}
}

func (r *runner) record(ref storage.Ref, stay bool) []byte {
	if stay {
		return orFault(r.cache.Keep(ref))
	}
	return r.Record(ref)
}
