package amqpserver

import (
	"strings"
	"unsafe"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/vhost"
	"github.com/bartleby-mq/bartleby/internal/wire"
)

// channelMethod acts on a method of an open channel. The four that come with every message are decoded in place.
func (c *conn) channelMethod(ch *channel, id wire.MethodID, arguments, payload []byte) error {
	switch id {
	case wire.IDBasicPublish:
		return c.publish(ch, arguments)
	case wire.IDBasicAck:
		m, err := wire.ParseAck(arguments)
		if err != nil {
			return err
		}
		cmd := c.input.add(vhost.Ack, ch.id)
		cmd.Tag, cmd.Multiple = m.DeliveryTag, m.Multiple
		return nil
	case wire.IDBasicNack:
		m, err := wire.ParseNack(arguments)
		if err != nil {
			return err
		}
		cmd := c.input.add(vhost.Nack, ch.id)
		cmd.Tag, cmd.Multiple, cmd.Requeue = m.DeliveryTag, m.Multiple, m.Requeue
		return nil
	case wire.IDBasicReject:
		m, err := wire.ParseReject(arguments)
		if err != nil {
			return err
		}
		cmd := c.input.add(vhost.Reject, ch.id)
		cmd.Tag, cmd.Requeue = m.DeliveryTag, m.Requeue
		return nil
	}
	m, err := wire.ParseMethod(payload)
	if err != nil {
		return err
	}
	return c.rareMethod(ch, m)
}

// rareMethod acts on the others.
func (c *conn) rareMethod(ch *channel, m wire.Method) error {
	switch m := m.(type) {
	case *wire.ChannelOpen:
		return amqp.ChannelError("second 'channel.open' seen").WithMethod(ids(m.ID()))
	case *wire.ChannelFlow:
		if !m.Active {
			return amqp.NotImplemented("active=false").WithMethod(ids(m.ID()))
		}
		c.idle.n += framesOfReply
		c.outbox.put(wire.AppendMethod(nil, ch.number, &wire.ChannelFlowOk{Active: true}), 0)
	case *wire.AccessRequest: // of AMQP 0-8; some old clients still ask
		c.outbox.put(wire.AppendMethod(nil, ch.number, &wire.AccessRequestOk{Ticket: 1}), 0)
	case *wire.ChannelFlowOk, *wire.BasicCancelOk: // to nothing that we wait for
	case *wire.BasicQos:
		c.define(vhost.Qos, ch, false, vhost.Definition{
			PrefetchSize: m.PrefetchSize, Prefetch: m.PrefetchCount, Global: m.Global,
		})
	case *wire.BasicConsume:
		c.define(vhost.Consume, ch, m.NoWait, vhost.Definition{
			Name: m.Queue, ConsumerTag: m.ConsumerTag, NoAck: m.NoAck, Exclusive: m.Exclusive, Arguments: m.Arguments,
		})
	case *wire.BasicCancel:
		c.define(vhost.Cancel, ch, m.NoWait, vhost.Definition{ConsumerTag: m.ConsumerTag})
	case *wire.BasicGet:
		c.define(vhost.Get, ch, false, vhost.Definition{Name: m.Queue, NoAck: m.NoAck})
	case *wire.BasicRecover:
		return c.recoverMessages(ch, m.ID(), m.Requeue)
	case *wire.BasicRecoverAsync:
		return c.recoverMessages(ch, m.ID(), m.Requeue)
	case *wire.ConfirmSelect:
		c.input.add(vhost.SelectConfirms, ch.id).NoWait = m.NoWait
	case *wire.TxSelect:
		c.input.add(vhost.SelectTx, ch.id)
	case *wire.TxCommit:
		c.input.add(vhost.CommitTx, ch.id)
	case *wire.TxRollback:
		c.input.add(vhost.RollbackTx, ch.id)
	default:
		return c.topologyMethod(ch, m)
	}
	return nil
}

// topologyMethod acts on methods of the classes exchange and queue.
func (c *conn) topologyMethod(ch *channel, m wire.Method) error {
	switch m := m.(type) {
	case *wire.ExchangeDeclare:
		c.define(vhost.DeclareExchange, ch, m.NoWait, vhost.Definition{
			Name: bareName(m.Exchange), Type: m.Type, Passive: m.Passive, Durable: m.Durable,
			AutoDelete: m.AutoDelete, Internal: m.Internal, Arguments: m.Arguments,
		})
	case *wire.ExchangeDelete:
		c.define(vhost.DeleteExchange, ch, m.NoWait, vhost.Definition{
			Name: bareName(m.Exchange), IfUnused: m.IfUnused,
		})
	case *wire.ExchangeBind:
		c.define(vhost.BindExchange, ch, m.NoWait, vhost.Definition{
			Source: m.Source, Name: m.Destination, RoutingKey: m.RoutingKey, Arguments: m.Arguments,
		})
	case *wire.ExchangeUnbind:
		c.define(vhost.UnbindExchange, ch, m.NoWait, vhost.Definition{
			Source: m.Source, Name: m.Destination, RoutingKey: m.RoutingKey, Arguments: m.Arguments,
		})
	case *wire.QueueDeclare:
		c.define(vhost.DeclareQueue, ch, m.NoWait, vhost.Definition{
			Name: bareName(m.Queue), Passive: m.Passive, Durable: m.Durable, Exclusive: m.Exclusive,
			AutoDelete: m.AutoDelete, Arguments: m.Arguments,
		})
	case *wire.QueueDelete:
		c.define(vhost.DeleteQueue, ch, m.NoWait, vhost.Definition{
			Name: bareName(m.Queue), IfUnused: m.IfUnused, IfEmpty: m.IfEmpty,
		})
	case *wire.QueueBind:
		c.define(vhost.BindQueue, ch, m.NoWait, vhost.Definition{
			Source: m.Exchange, Name: m.Queue, RoutingKey: m.RoutingKey, Arguments: m.Arguments,
		})
	case *wire.QueueUnbind:
		c.define(vhost.UnbindQueue, ch, false, vhost.Definition{
			Source: m.Exchange, Name: m.Queue, RoutingKey: m.RoutingKey, Arguments: m.Arguments,
		})
	case *wire.QueuePurge:
		c.define(vhost.PurgeQueue, ch, m.NoWait, vhost.Definition{Name: m.Queue})
	default: // what only a server sends, or what belongs on channel 0
		return amqp.CommandInvalid("unexpected method %v on a channel", m.ID()).WithMethod(ids(m.ID()))
	}
	return nil
}

// define adds a command with a definition, and counts what that takes.
func (c *conn) define(kind vhost.CommandKind, ch *channel, noWait bool, d vhost.Definition) {
	cmd := c.input.add(kind, ch.id)
	cmd.NoWait = noWait
	cmd.Definition = &d
	octets, values := d.Arguments.Size()
	c.input.load.made += int64(unsafe.Sizeof(d)) + int64(octets) + int64(values)*valueBytes
}

// recoverMessages acts on basic.recover and its asynchronous form, which has no answer.
func (c *conn) recoverMessages(ch *channel, id wire.MethodID, requeue bool) error {
	if !requeue {
		return amqp.NotImplemented("requeue=false").WithMethod(ids(id))
	}
	cmd := c.input.add(vhost.Recover, ch.id)
	cmd.Requeue, cmd.NoWait = true, id == wire.IDBasicRecoverAsync
	return nil
}

// bareName is a declared or deleted name without carriage returns and line feeds.
// Source: RabbitMQ, names.
func bareName(name string) string {
	if !strings.ContainsAny(name, "\r\n") {
		return name
	}
	return strings.NewReplacer("\r", "", "\n", "").Replace(name)
}
