package amqpserver

import (
	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/vhost"
	"github.com/bartleby-mq/bartleby/internal/wire"
)

// answer encodes an effect that carries no message.
func (n *encoder) answer(ch *channel, e *vhost.Effect) {
	switch e.Kind {
	case vhost.Done:
		n.done(ch, e)
	case vhost.Closed:
		n.closed(ch, e)
	case vhost.Refuse:
		n.reserve(methodBytes)
		n.chunk = wire.AppendNack(n.chunk, ch.number, e.Tag, false, false)
	case vhost.DeliverNone:
		n.method(ch, &wire.BasicGetEmpty{})
	case vhost.Cancelled:
		n.method(ch, &wire.BasicCancel{ConsumerTag: e.ConsumerTag, NoWait: true})
	}
}

// done encodes the answer to a command.
func (n *encoder) done(ch *channel, e *vhost.Effect) {
	switch e.Command {
	case vhost.OpenChannel:
		n.method(ch, &wire.ChannelOpenOk{})
	case vhost.CloseChannel:
		n.channelClosed(ch)
	case vhost.DeclareExchange:
		n.method(ch, &wire.ExchangeDeclareOk{})
	case vhost.DeleteExchange:
		n.method(ch, &wire.ExchangeDeleteOk{})
	case vhost.BindExchange:
		n.method(ch, &wire.ExchangeBindOk{})
	case vhost.UnbindExchange:
		n.method(ch, &wire.ExchangeUnbindOk{})
	case vhost.DeclareQueue:
		n.method(ch, &wire.QueueDeclareOk{Queue: e.Name, MessageCount: uint32(e.Count), ConsumerCount: e.Consumers})
	case vhost.DeleteQueue:
		n.method(ch, &wire.QueueDeleteOk{MessageCount: uint32(e.Count)})
	case vhost.BindQueue:
		n.method(ch, &wire.QueueBindOk{})
	case vhost.UnbindQueue:
		n.method(ch, &wire.QueueUnbindOk{})
	case vhost.PurgeQueue:
		n.method(ch, &wire.QueuePurgeOk{MessageCount: uint32(e.Count)})
	case vhost.Qos:
		n.method(ch, &wire.BasicQosOk{})
	case vhost.Consume:
		n.method(ch, &wire.BasicConsumeOk{ConsumerTag: e.Name})
	case vhost.Cancel:
		n.method(ch, &wire.BasicCancelOk{ConsumerTag: e.Name})
	case vhost.Recover:
		n.method(ch, &wire.BasicRecoverOk{})
	case vhost.SelectConfirms:
		n.method(ch, &wire.ConfirmSelectOk{})
	case vhost.SelectTx:
		n.method(ch, &wire.TxSelectOk{})
	case vhost.CommitTx:
		n.method(ch, &wire.TxCommitOk{})
	case vhost.RollbackTx:
		n.method(ch, &wire.TxRollbackOk{})
	}
}

// method encodes a rare method.
func (n *encoder) method(ch *channel, m wire.Method) {
	n.reserve(rareMethodBytes)
	n.chunk = wire.AppendMethod(n.chunk, ch.number, m)
}

// rareMethodBytes is more than a method frame takes that has numbers and one short string.
const rareMethodBytes = 32 + amqp.ShortStringMax

// channelClosed encodes the end of a channel after CloseChannel: as the client asked, or as the reader refused.
func (n *encoder) channelClosed(ch *channel) {
	if ch.refusal != nil {
		n.closeChannel(ch, ch.refusal)
		return
	}
	n.forget(ch)
	n.method(ch, &wire.ChannelCloseOk{})
}

// closed encodes a refusal of the engine.
func (n *encoder) closed(ch *channel, e *vhost.Effect) {
	err := e.Err
	if err.ClassID == 0 && err.MethodID == 0 {
		err = err.WithMethod(ids(blamed(e.Command)))
	}
	if err.ClosesConnection() {
		n.Stopped(err)
		return
	}
	n.closeChannel(ch, err)
}

// closeChannel sends channel.close, and close-ok too if the client's own close crossed it. What is encoded goes to the
// outbox before the state changes, so that the reader's answers follow it.
func (n *encoder) closeChannel(ch *channel, err *amqp.Error) {
	n.conn.logChannelError(ch, err)
	n.forget(ch)
	n.method(ch, &wire.ChannelClose{
		ReplyCode: err.Code, ReplyText: err.Text, ClassID: err.ClassID, MethodID: err.MethodID,
	})
	n.hand()
	defer signal(n.conn.outbox.eased) // what its content waited for is not needed any more
	if !ch.state.CompareAndSwap(open, closedByBroker) {
		n.method(ch, &wire.ChannelCloseOk{})
	}
}

// forget ends the encoder's knowledge of ch: no effect of it follows.
func (n *encoder) forget(ch *channel) {
	n.conn.channels.remove(ch.id)
	n.recent = nil
}

// blamed is the method that led to a command.
func blamed(k vhost.CommandKind) wire.MethodID {
	switch k {
	case vhost.OpenChannel:
		return wire.IDChannelOpen
	case vhost.CloseChannel:
		return wire.IDChannelClose
	case vhost.DeclareExchange:
		return wire.IDExchangeDeclare
	case vhost.DeleteExchange:
		return wire.IDExchangeDelete
	case vhost.BindExchange:
		return wire.IDExchangeBind
	case vhost.UnbindExchange:
		return wire.IDExchangeUnbind
	case vhost.DeclareQueue:
		return wire.IDQueueDeclare
	case vhost.DeleteQueue:
		return wire.IDQueueDelete
	case vhost.BindQueue:
		return wire.IDQueueBind
	case vhost.UnbindQueue:
		return wire.IDQueueUnbind
	case vhost.PurgeQueue:
		return wire.IDQueuePurge
	case vhost.Qos:
		return wire.IDBasicQos
	case vhost.Consume:
		return wire.IDBasicConsume
	case vhost.Cancel:
		return wire.IDBasicCancel
	case vhost.Publish, vhost.Announce:
		return wire.IDBasicPublish
	case vhost.Get:
		return wire.IDBasicGet
	case vhost.Ack:
		return wire.IDBasicAck
	case vhost.Nack:
		return wire.IDBasicNack
	case vhost.Reject:
		return wire.IDBasicReject
	case vhost.Recover:
		return wire.IDBasicRecover
	case vhost.SelectConfirms:
		return wire.IDConfirmSelect
	case vhost.SelectTx:
		return wire.IDTxSelect
	case vhost.CommitTx:
		return wire.IDTxCommit
	case vhost.RollbackTx:
		return wire.IDTxRollback
	}
	return 0
}
