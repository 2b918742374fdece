package amqpserver

import (
	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/engine"
	"github.com/bartleby-mq/bartleby/internal/vhost"
	"github.com/bartleby-mq/bartleby/internal/wire"
)

// encoder is the connection's engine.Frontend: it turns effects into frames, in chunks that it gives to the outbox. The
// goroutine that owns the virtual host owns it; deliveries and confirms allocate nothing.
type encoder struct {
	conn     *conn
	frameMax uint32     // as negotiated
	chunk    []byte     // frames that are not in the outbox yet; nil if none
	cost     int64      // window that they take
	recent   *channel   // of the last effect
	acking   []*channel // those with confirms to send; each at most once
	renderer vhost.Renderer
	scratch  []byte // of what is rendered for one message
}

var _ engine.Frontend = (*encoder)(nil)

// Emit encodes one effect.
func (n *encoder) Emit(e *vhost.Effect) {
	ch := n.channel(e.Channel)
	if ch == nil {
		return // its close-ok is out
	}
	switch e.Kind {
	case vhost.Deliver:
		n.deliver(ch, e)
	case vhost.Confirm:
		if ch.acks == 0 {
			n.acking = append(n.acking, ch)
		}
		ch.acks++
		ch.ackThrough = e.Tag
	case vhost.DeliverGot:
		n.deliverGot(ch, e)
	case vhost.SendBack:
		n.sendBack(ch, e)
	default:
		n.confirm(ch) // before what may end the channel
		n.answer(ch, e)
	}
}

// Flush gives what was encoded to the writer.
func (n *encoder) Flush() {
	for _, ch := range n.acking {
		n.confirm(ch)
	}
	n.acking = n.acking[:0]
	n.hand()
}

// Blocked tells the client that what it publishes has to wait, if it asked to be told.
// Source: RabbitMQ connection-blocked.
func (n *encoder) Blocked(reason string) {
	n.conn.blocked.Store(true)
	if n.conn.tellsBlocked {
		n.connectionMethod(&wire.ConnectionBlocked{Reason: reason})
	}
}

// Unblocked tells it that publishing goes on.
func (n *encoder) Unblocked() {
	n.conn.blocked.Store(false)
	signal(n.conn.outbox.eased)
	if n.conn.tellsBlocked {
		n.connectionMethod(&wire.ConnectionUnblocked{})
	}
}

// connectionMethod encodes a rare method on channel 0.
func (n *encoder) connectionMethod(m wire.Method) {
	n.reserve(rareMethodBytes)
	n.chunk = wire.AppendMethod(n.chunk, 0, m)
}

// Stopped ends the connection.
func (n *encoder) Stopped(err *amqp.Error) {
	n.Flush()
	n.conn.end(err)
}

// hand gives the chunk away.
func (n *encoder) hand() {
	if len(n.chunk) == 0 {
		return
	}
	if n.conn.outbox.put(n.chunk, n.cost) && n.cost > 0 {
		n.conn.session.Written(n.cost)
	}
	n.chunk, n.cost = nil, 0
}

// reserve makes sure that size octets fit in the chunk.
func (n *encoder) reserve(size int) {
	b := &n.conn.server.buffers
	if c, ok := b.extend(n.chunk, size); ok {
		n.chunk = c
		return
	}
	n.hand()
	n.chunk = b.chunk(size)
}

func (n *encoder) channel(id vhost.ChannelID) *channel {
	if n.recent == nil || n.recent.id != id {
		n.recent = n.conn.channels.find(id)
	}
	return n.recent
}

// confirm sends the confirms of a run as one. Publish numbers ascend, so all below the last are answered.
// Source: RabbitMQ confirms.
func (n *encoder) confirm(ch *channel) {
	if ch.acks == 0 {
		return
	}
	n.reserve(methodBytes)
	n.chunk = wire.AppendAck(n.chunk, ch.number, ch.ackThrough, ch.acks > 1)
	ch.acks = 0
}

const (
	// methodBytes is more than a method frame takes whose arguments are numbers and bits.
	methodBytes = 32
	// contentMethodBytes is more than deliver, get-ok and return take besides their strings.
	contentMethodBytes = 64
)

func (n *encoder) deliver(ch *channel, e *vhost.Effect) {
	v, ok := n.view(e, len(e.ConsumerTag))
	if !ok {
		return
	}
	n.chunk = wire.AppendDeliver(n.chunk, ch.number, e.ConsumerTag, e.Tag, e.Redelivered, v.Exchange, v.RoutingKey)
	n.content(ch, &v, e, engine.DeliveryCost(e))
}

func (n *encoder) deliverGot(ch *channel, e *vhost.Effect) {
	v, ok := n.view(e, 0)
	if !ok {
		return
	}
	n.chunk = wire.AppendGetOk(n.chunk, ch.number, e.Tag, e.Redelivered, v.Exchange, v.RoutingKey, uint32(e.Count))
	n.content(ch, &v, e, engine.DeliveryCost(e))
}

// noRoute is the whole reply text of basic.return.
// Source: RabbitMQ, basic.return.
const noRoute = "NO_ROUTE"

func (n *encoder) sendBack(ch *channel, e *vhost.Effect) {
	v, ok := n.view(e, len(noRoute))
	if !ok {
		return
	}
	n.chunk = wire.AppendReturn(n.chunk, ch.number, amqp.CodeNoRoute, noRoute, v.Exchange, v.RoutingKey)
	n.content(ch, &v, e, 0)
}

// view renders a message and makes space for it and extra octets. A message that cannot be rendered is a fault of
// ours; the connection ends rather than go on without it. Nothing is rendered for a connection to which nothing more is
// sent: it may have to wait for its end, and get many messages meanwhile.
func (n *encoder) view(e *vhost.Effect, extra int) (vhost.View, bool) {
	if n.chunk == nil && n.conn.outbox.isOver() {
		return vhost.View{}, false
	}
	v, scratch, err := n.renderer.AppendView(&e.Message, n.scratch[:0], wire.PropertiesMax(n.frameMax))
	n.scratch = scratch
	if err != nil {
		n.conn.log.Error("cannot encode a message", "error", err)
		n.Stopped(amqp.InternalError("cannot read a message"))
		return v, false
	}
	body := len(v.Body)
	if n.lends(e, &v) {
		body = 0
	}
	n.reserve(contentMethodBytes + extra + len(v.Exchange) + len(v.RoutingKey) + wire.ContentSize(len(v.Properties), body, n.frameMax))
	return v, true
}

// lends reports whether a message's body goes to the socket from where it is: copying large ones takes longer than
// sending them.
func (n *encoder) lends(e *vhost.Effect, v *vhost.View) bool {
	return e.Message.Stays && len(v.Body) > chunkBytes
}

// content encodes header and body of a message, which took cost of the window.
func (n *encoder) content(ch *channel, v *vhost.View, e *vhost.Effect, cost int64) {
	n.chunk = wire.AppendContentHeader(n.chunk, ch.number, uint64(len(v.Body)), v.Properties)
	if n.lends(e, v) {
		n.conn.outbox.lend(n.chunk, wire.BodyPieces(ch.number, v.Body, n.frameMax), n.cost+cost)
		n.chunk, n.cost = nil, 0
		return
	}
	n.chunk = wire.AppendBody(n.chunk, ch.number, v.Body, n.frameMax)
	n.cost += cost
}
