package sim

import (
	"maps"
	"slices"

	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/vhost"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// begun notes what a command means for clients, before its facts are looked at.
func (w *world) begun(st *step) {
	c, ch := st.command, st.channel
	switch c.Kind {
	case vhost.Grant:
		if n := w.connection(c.Conn); n != nil {
			n.used = max(n.used-c.Window, 0)
		}
	case vhost.Disconnect:
		if n := w.connection(c.Conn); n != nil {
			for _, ch := range n.channels {
				clear(ch.consumers)
			}
		}
	}
	if ch == nil || ch.dead {
		return
	}
	w.checkLate(st)
	if st.refused != nil {
		clear(ch.consumers)
		return
	}
	d := c.Definition
	switch c.Kind {
	case vhost.Publish:
		number := w.published
		switch {
		case ch.tx:
			ch.inTxPublishes = append(ch.inTxPublishes, number)
		case ch.confirms:
			ch.published++
			ch.publishes[ch.published] = number
		}
	case vhost.Consume:
		x := &consumer{tag: d.ConsumerTag, queue: w.nameOf(d.Name, ch), noAck: d.NoAck, prefetch: ch.prefetch, timeout: -1}
		if a, ok := d.Arguments.Get("x-consumer-timeout"); ok {
			x.timeout, _ = a.Integer()
		}
		if x.tag == "" {
			x.tag = answerTo(st).Name
		}
		w.attached++
		x.attached = w.attached
		ch.consumers[x.tag] = x
	case vhost.Cancel:
		delete(ch.consumers, d.ConsumerTag)
	case vhost.CloseChannel:
		clear(ch.consumers)
	case vhost.Qos:
		if d.Global {
			ch.shared = int64(d.Prefetch)
		} else {
			ch.shared, ch.prefetch = 0, int64(d.Prefetch)
		}
	case vhost.DeclareQueue:
		if ch.lastQueue = d.Name; d.Name == "" {
			ch.lastQueue = answerTo(st).Name
		}
	case vhost.SelectConfirms:
		ch.confirms = true
	case vhost.SelectTx:
		ch.tx = true
	case vhost.Ack, vhost.Nack, vhost.Reject, vhost.Recover, vhost.CommitTx, vhost.RollbackTx:
		if st.partial() {
			if len(ch.inTxPublishes) == 0 {
				w.violate(Answers, "a commit without a publish closed its channel %d", ch.id)
			}
			clear(ch.consumers)
		}
		w.settling(st)
	}
}

// settling lets go what clients held of queues that are gone: no fact tells of it.
func (w *world) settling(st *step) {
	c, ch := st.command, st.channel
	var tags []uint64
	switch c.Kind {
	case vhost.RollbackTx:
		ch.inTx, ch.inTxPublishes = nil, nil
		return
	case vhost.CommitTx:
		tags, ch.inTx = ch.inTx, nil
		ch.committing, ch.inTxPublishes = append(ch.committing, ch.inTxPublishes), nil
	case vhost.Recover:
		tags = slices.DeleteFunc(ch.tags(0, true), func(tag uint64) bool { return slices.Contains(ch.inTx, tag) })
	default:
		tags = ch.tags(c.Tag, c.Multiple)
		if ch.held[c.Tag] == nil && ch.late[c.Tag] != nil && !c.Multiple {
			return
		}
		if !c.Multiple && len(tags) == 0 {
			w.violate(Answers, "delivery tag %d was settled, nobody holds it", c.Tag)
		}
		for _, tag := range tags {
			delete(ch.late, tag) // it is settled before a portion of what is overdue comes to it
		}
		if ch.tx {
			ch.inTx = append(ch.inTx, tags...)
			return
		}
	}
	for _, tag := range tags {
		if d := ch.held[tag]; d != nil && d.orphan {
			d.letGo()
		}
	}
	for _, tag := range tags {
		if d := ch.held[tag]; d != nil && !d.orphan {
			st.settling = append(st.settling, settling{d, d.entry.Returned})
		}
	}
}

// settled makes sure, after all facts, that the command did what it says.
func (w *world) settled(st *step) {
	c, ch := st.command, st.channel
	if c.Kind == vhost.Disconnect {
		if n := w.connection(c.Conn); n != nil {
			for _, ch := range n.channels {
				delete(w.channels, ch.id)
			}
			w.connections = slices.DeleteFunc(w.connections, func(o *connection) bool { return o == n })
		}
	}
	if ch == nil || st.refused != nil {
		return
	}
	for _, s := range st.settling {
		w.checkSettled(c, s)
	}
	if !ch.dead && ch.confirmed != ch.published {
		w.violate(Answers, "%d publishes, %d answers", ch.published, ch.confirmed)
	}
}

// settling is a delivery that a command settles, with how often its message had come back before.
type settling struct {
	delivery *delivery
	returned int
}

// checkSettled makes sure that a message has ended by an ack, has come back, or has died, as the command says.
func (w *world) checkSettled(c *vhost.Command, s settling) {
	d, e := s.delivery, s.delivery.entry
	back := e.Returned > s.returned
	switch {
	case d.channel.held[d.tag] == d:
		w.violate(Answers, "delivery tag %d was settled, and is still held", d.tag)
	case c.Kind == vhost.CommitTx: // of several kinds
	case e.Off && c.Kind != vhost.Ack:
	case c.Kind == vhost.Ack && e.Cause != fact.Acked:
		w.violate(Answers, "message %d of %q was acked, and ended as %q", e.Message, e.Line.Name, e.Cause)
	case (c.Requeue || c.Kind == vhost.Recover) && !back:
		w.violate(Answers, "message %d of %q was requeued, and did not return", e.Message, e.Line.Name)
	case c.Kind != vhost.Ack && !c.Requeue && (back || e.Cause == 0 && e.State != queue.Held || e.Cause == fact.Acked):
		w.violate(Answers, "message %d of %q was rejected, and ended as %q", e.Message, e.Line.Name, e.Cause)
	}
}

// tags lists what a settlement names, in order.
func (ch *channel) tags(tag uint64, multiple bool) []uint64 {
	var all []uint64
	for _, t := range slices.Sorted(maps.Keys(ch.held)) {
		if t == tag || multiple && (t < tag || tag == 0) {
			all = append(all, t)
		}
	}
	return all
}

// answerTo finds the answer among a command's effects.
func answerTo(st *step) *vhost.Effect {
	for i := range st.effects {
		if e := &st.effects[i]; e.Kind == vhost.Done && e.Command == st.command.Kind {
			return e
		}
	}
	return &vhost.Effect{}
}

func (w *world) nameOf(name string, ch *channel) string {
	if name == "" {
		return ch.lastQueue
	}
	return name
}

func (w *world) connection(id fact.ConnID) *connection {
	i := slices.IndexFunc(w.connections, func(n *connection) bool { return n.id == id })
	if i < 0 {
		return nil
	}
	return w.connections[i]
}

// queueGone forgets the consumers of a deleted queue. One that expires has none.
func (w *world) queueGone(st *step, name string) {
	for _, ch := range w.channels {
		maps.DeleteFunc(ch.consumers, func(_ string, x *consumer) bool {
			if x.queue == name && st.command.Kind == vhost.Tick {
				w.violate(Expiry, "queue %q expired while consumer %q used it", name, x.tag)
			}
			return x.queue == name
		})
	}
}
