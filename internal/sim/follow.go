package sim

import (
	"cmp"
	"maps"
	"slices"

	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/sim/clients"
	"github.com/bartleby-mq/bartleby/internal/vhost"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// begun notes what a command means for clients, before its facts are looked at.
func (w *world) begun(st *step) {
	w.begunOnConnection(st.command)
	ch := st.channel
	if ch == nil || ch.Dead {
		return
	}
	w.checkLate(st)
	if st.refused != nil {
		clear(ch.Consumers)
		return
	}
	w.begunOnChannel(st)
}

// begunOnConnection notes what a command means for all channels of a connection.
func (w *world) begunOnConnection(c *vhost.Command) {
	switch c.Kind {
	case vhost.Grant:
		if n := w.connection(c.Conn); n != nil {
			n.Used = max(n.Used-c.Window, 0)
			n.Window = cmp.Or(c.WindowMax, n.Window)
		}
	case vhost.StopDeliveries:
		if n := w.connection(c.Conn); n != nil {
			n.Stopped = true
		}
	case vhost.Disconnect:
		if n := w.connection(c.Conn); n != nil {
			for _, ch := range n.Channels {
				clear(ch.Consumers)
			}
		}
	}
}

// begunOnChannel notes what a command that is not refused means for its channel, which is open.
func (w *world) begunOnChannel(st *step) {
	c, ch := st.command, st.channel
	d := c.Definition
	switch c.Kind {
	case vhost.Publish:
		number := w.Published
		switch {
		case ch.Tx:
			ch.InTxPublishes = append(ch.InTxPublishes, number)
		case ch.Confirms:
			ch.Published++
			ch.Publishes[ch.Published] = number
		}
	case vhost.Consume:
		w.begunConsumer(st)
	case vhost.Cancel:
		delete(ch.Consumers, d.ConsumerTag)
	case vhost.CloseChannel:
		clear(ch.Consumers)
	case vhost.Qos:
		if d.Global {
			ch.Shared = int64(d.Prefetch)
		} else {
			ch.Shared, ch.Prefetch = 0, int64(d.Prefetch)
		}
	case vhost.DeclareQueue:
		if ch.LastQueue = d.Name; d.Name == "" {
			ch.LastQueue = answerTo(st).Name
		}
	case vhost.SelectConfirms:
		ch.Confirms = true
	case vhost.SelectTx:
		ch.Tx = true
	case vhost.Ack, vhost.Nack, vhost.Reject, vhost.Recover, vhost.CommitTx, vhost.RollbackTx:
		if st.partial() {
			if len(ch.InTxPublishes) == 0 {
				w.violate(Answers, "a commit without a publish closed its channel %d", ch.ID)
			}
			clear(ch.Consumers)
		}
		w.settling(st)
	}
}

// begunConsumer notes a consumer.
func (w *world) begunConsumer(st *step) {
	d, ch := st.command.Definition, st.channel
	x := &clients.Consumer{Tag: d.ConsumerTag, Queue: w.nameOf(d.Name, ch), NoAck: d.NoAck, Prefetch: ch.Prefetch, Timeout: -1}
	if a, ok := d.Arguments.Get("x-consumer-timeout"); ok {
		x.Timeout, _ = a.Integer()
	}
	if x.Tag == "" {
		x.Tag = answerTo(st).Name
	}
	w.attached++
	x.Attached = w.attached
	ch.Consumers[x.Tag] = x
}

// settling lets go what clients held of queues that are gone: no fact tells of it.
func (w *world) settling(st *step) {
	c, ch := st.command, st.channel
	var tags []uint64
	switch c.Kind {
	case vhost.RollbackTx:
		ch.InTx, ch.InTxPublishes = nil, nil
		return
	case vhost.CommitTx:
		tags, ch.InTx = ch.InTx, nil
		ch.Committing, ch.InTxPublishes = append(ch.Committing, ch.InTxPublishes), nil
	case vhost.Recover:
		tags = slices.DeleteFunc(ch.Tags(0, true), func(tag uint64) bool { return slices.Contains(ch.InTx, tag) })
		ch.Undoubt(0, true)
	default:
		tags = ch.Tags(c.Tag, c.Multiple)
		if ch.Held[c.Tag] == nil && ch.Late[c.Tag] != nil && !c.Multiple {
			return
		}
		if !c.Multiple && len(tags) == 0 && !ch.Doubtful[c.Tag] {
			w.violate(Answers, "delivery tag %d was settled, nobody holds it", c.Tag)
		}
		for _, tag := range tags {
			delete(ch.Late, tag) // it is settled before a portion of what is overdue comes to it
		}
		if ch.Tx {
			ch.InTx = append(ch.InTx, tags...)
			return
		}
		ch.Undoubt(c.Tag, c.Multiple)
	}
	for _, tag := range tags {
		if d := ch.Held[tag]; d != nil && d.Orphan {
			d.LetGo()
		}
	}
	for _, tag := range tags {
		if d := ch.Held[tag]; d != nil && !d.Orphan {
			st.settling = append(st.settling, settling{d, d.Entry.Returned})
		}
	}
}

// settled makes sure, after all facts, that the command did what it says.
func (w *world) settled(st *step) {
	c, ch := st.command, st.channel
	if c.Kind == vhost.Disconnect {
		if n := w.connection(c.Conn); n != nil {
			for _, ch := range n.Channels {
				delete(w.Channels, ch.ID)
			}
			w.Connections = slices.DeleteFunc(w.Connections, func(o *clients.Connection) bool { return o == n })
		}
	}
	if ch == nil || st.refused != nil {
		return
	}
	for _, s := range st.settling {
		w.checkSettled(c, s)
	}
	if !ch.Dead && ch.Confirmed != ch.Published {
		w.violate(Answers, "%d publishes, %d answers", ch.Published, ch.Confirmed)
	}
}

// settling is a delivery that a command settles, with how often its message had come back before.
type settling struct {
	delivery *clients.Delivery
	returned int
}

// checkSettled makes sure that a message has ended by an ack, has come back, or has died, as the command says.
func (w *world) checkSettled(c *vhost.Command, s settling) {
	d, e := s.delivery, s.delivery.Entry
	back := e.Returned > s.returned
	switch {
	case d.Channel.Held[d.Tag] == d:
		w.violate(Answers, "delivery tag %d was settled, and is still held", d.Tag)
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

// answerTo finds the answer among a command's effects.
func answerTo(st *step) *vhost.Effect {
	for i := range st.effects {
		if e := &st.effects[i]; e.Kind == vhost.Done && e.Command == st.command.Kind {
			return e
		}
	}
	return &vhost.Effect{}
}

func (w *world) nameOf(name string, ch *clients.Channel) string {
	if name == "" {
		return ch.LastQueue
	}
	return name
}

func (w *world) connection(id fact.ConnID) *clients.Connection {
	i := slices.IndexFunc(w.Connections, func(n *clients.Connection) bool { return n.ID == id })
	if i < 0 {
		return nil
	}
	return w.Connections[i]
}

// queueGone forgets the consumers of a deleted queue. One that expires has none.
func (w *world) queueGone(st *step, name string) {
	for _, ch := range w.Channels {
		maps.DeleteFunc(ch.Consumers, func(_ string, x *clients.Consumer) bool {
			if x.Queue == name && st.command.Kind == vhost.Tick {
				w.violate(Expiry, "queue %q expired while consumer %q used it", name, x.Tag)
			}
			return x.Queue == name
		})
	}
}
