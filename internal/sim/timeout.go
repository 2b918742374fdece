package sim

import (
	"github.com/bartleby-mq/bartleby/internal/sim/clients"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// late says what a tick has to do with a channel on which something is overdue.
type late struct {
	closes bool // the client cannot be told that its consumer is cancelled
}

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
		ch := w.Channels[e.Channel]
		switch {
		case ch == nil:
		case e.Kind == vhost.Closed:
			w.result.TimedOut++
			clear(ch.Consumers)
		case e.Kind == vhost.Cancelled:
			w.result.TimedOut++
			if x := ch.Consumers[e.ConsumerTag]; x == nil || !st.guilty[x] {
				w.violate(Timeout, "consumer %q was cancelled, and holds nothing for too long", e.ConsumerTag)
			}
			delete(ch.Consumers, e.ConsumerTag)
		}
	}
	if st.portions > 1 {
		return
	}
	for id, x := range st.late {
		for tag, d := range w.Channels[id].Held {
			if !x.closes && d.Overdue(st.stamp.Now) {
				w.Channels[id].Late[tag] = d
			}
		}
	}
}

// noteLate finds what is overdue when a tick begins.
func (w *world) noteLate(st *step) {
	st.late, st.guilty = map[vhost.ChannelID]late{}, map[*clients.Consumer]bool{}
	for id, ch := range w.Channels {
		for _, d := range ch.Held {
			if !d.Overdue(st.stamp.Now) {
				continue
			}
			x := st.late[id]
			x.closes = x.closes || d.Consumer == nil || !ch.Conn.Notify
			st.late[id] = x
			st.guilty[d.Consumer] = true
		}
	}
}

// letOrphansGo takes late deliveries off their accounts whose queues went in the same step: no fact tells of it.
func (w *world) letOrphansGo(st *step) {
	for id := range st.late {
		ch := w.Channels[id]
		if ch == nil { // it knew by an earlier portion that it is closed
			continue
		}
		for tag, d := range ch.Late {
			if !d.Orphan {
				continue
			}
			if d.LetGo(); w.o.Portions > 0 { // its queue may have gone before a portion came to it
				delete(ch.Late, tag)
				ch.Doubtful[tag] = true
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
	if _, ok := st.channel.Late[c.Tag]; !ok {
		return
	}
	for _, tag := range st.channel.InTx {
		if tag == c.Tag {
			return // it was settled before, in time
		}
	}
	w.result.Late++
	if st.refused != nil {
		w.violate(Timeout, "delivery tag %d was taken back, and its settlement is refused: %v", c.Tag, st.refused)
	}
}
