package sim

import (
	"github.com/bartleby-mq/bartleby/internal/deadline"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// late says what a tick has to do with a channel on which something is overdue.
type late struct {
	closes bool // the client cannot be told that its consumer is cancelled
}

// overdue reports whether a delivery is held for too long. One of a queue that is gone is nobody's loss.
func (d *delivery) overdue(now deadline.Instant) bool { return d.due != 0 && d.due <= now && !d.orphan }

// timedOut notes, before the facts of a tick, or of one more portion of it, are looked at, what is overdue, and lets go
// the consumers that go for it.
func (w *world) timedOut(st *step, effects []vhost.Effect) {
	if st.command.Kind != vhost.Tick {
		return
	}
	if st.portions == 1 {
		w.noteLate(st)
	}
	for i := range effects {
		e := &effects[i]
		ch := w.channels[e.Channel]
		switch {
		case ch == nil:
		case e.Kind == vhost.Closed:
			w.result.TimedOut++
			clear(ch.consumers)
		case e.Kind == vhost.Cancelled:
			w.result.TimedOut++
			if x := ch.consumers[e.ConsumerTag]; x == nil || !st.guilty[x] {
				w.violate(Timeout, "consumer %q was cancelled, and holds nothing for too long", e.ConsumerTag)
			}
			delete(ch.consumers, e.ConsumerTag)
		}
	}
	if st.portions > 1 {
		return
	}
	for id, x := range st.late {
		for tag, d := range w.channels[id].held {
			if !x.closes && d.overdue(st.stamp.Now) {
				w.channels[id].late[tag] = d
			}
		}
	}
}

// noteLate finds what is overdue when a tick begins.
func (w *world) noteLate(st *step) {
	st.late, st.guilty = map[vhost.ChannelID]late{}, map[*consumer]bool{}
	for id, ch := range w.channels {
		for _, d := range ch.held {
			if !d.overdue(st.stamp.Now) {
				continue
			}
			x := st.late[id]
			x.closes = x.closes || d.consumer == nil || !ch.conn.notify
			st.late[id] = x
			st.guilty[d.consumer] = true
		}
	}
}

// letOrphansGo takes late deliveries off their accounts whose queues went in the same step: no fact tells of it.
func (w *world) letOrphansGo(st *step) {
	for id := range st.late {
		ch := w.channels[id]
		if ch == nil { // it knew by an earlier portion that it is closed
			continue
		}
		for tag, d := range ch.late {
			if !d.orphan {
				continue
			}
			if d.letGo(); w.o.Portions > 0 { // its queue may have gone before a portion came to it
				delete(ch.late, tag)
			}
		}
	}
}

// checkLate makes sure that a settlement that comes too late is no error.
func (w *world) checkLate(st *step) {
	c := st.command
	if c.Kind != vhost.Ack && c.Kind != vhost.Nack && c.Kind != vhost.Reject || c.Tag == 0 || st.channel == nil {
		return
	}
	if _, ok := st.channel.late[c.Tag]; !ok {
		return
	}
	for _, tag := range st.channel.inTx {
		if tag == c.Tag {
			return // it was settled before, in time
		}
	}
	w.result.Late++
	if st.refused != nil {
		w.violate(Timeout, "delivery tag %d was taken back, and its settlement is refused: %v", c.Tag, st.refused)
	}
}
