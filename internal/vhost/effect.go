package vhost

import (
	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/storage"
)

// EffectKind says what a frontend has to do.
type EffectKind uint8

// The effects. All of a channel leave in the order in which they were emitted.
const (
	// Deliver hands a message to a consumer: ConsumerTag, Tag, Redelivered, Message.
	Deliver EffectKind = iota + 1
	// DeliverGot answers a Get: Tag, Redelivered, Message; Count, messages still ready.
	DeliverGot
	// DeliverNone answers a Get on a queue that is empty.
	DeliverNone
	// Confirm tells a publisher that the message with publish number Tag is safe. Source: RabbitMQ confirms.
	Confirm
	// Refuse tells a publisher that message Tag was not taken by all its queues (basic.nack).
	Refuse
	// SendBack returns an unroutable mandatory message to its publisher: Message. Source: AMQP basic.return.
	SendBack
	// Done answers a command: Command, its kind; Name, Count and Consumers as that command has them
	// (DeclareQueue: name, ready, consumers; PurgeQueue and DeleteQueue: Count; Consume and Cancel: Name, the tag).
	Done
	// Cancelled tells a consumer's frontend that the broker cancelled it: ConsumerTag. Source:
	// RabbitMQ consumer-cancel.
	Cancelled
	// Closed refuses a command: Err, which says whether the channel or the connection closes. The channel
	// is closed in the machine already.
	Closed
	// Answered tells what came of one lost letter that a Republish or Discard names: Tag, its ID; Name:
	// redriven, discarded, unknown (it is not in the lost store), or why it stays there: no_exchange,
	// no_route, refused.
	Answered
	// Went tells a queue to which a Resend has sent its message: Tag, the ID of the original; Name.
	Went
)

// Effect is one thing for a frontend to do. It leaves when batch After is safe; at once if After is zero.
type Effect struct {
	Kind        EffectKind
	Command     CommandKind // of Done and Closed
	Redelivered bool
	Channel     ChannelID
	After       storage.Index
	Tag         uint64
	ConsumerTag string
	Name        string
	Count       uint64
	Consumers   uint32
	Message     Delivered
	Err         *amqp.Error
}

// Delivered is a message as it leaves. Record and History are its bytes where the machine has them at hand;
// else the engine reads them at Ref and HistoryRef before the frontend sees the effect. Both are lent to the frontend.
type Delivered struct {
	Ref        storage.Ref
	HistoryRef storage.Ref // zero unless the message is a dead letter
	Record     []byte
	History    []byte
	Acquired   uint32 // x-acquired-count; zero unless the queue counts
	Count      uint32 // x-delivery-count; likewise
	Dialect    Dialect
	Stays      bool // Record is not written again: whoever has it may keep it, and with it at most five times its size
}

// WindowCost is what handing over a record of size bytes takes from a connection's window, in bytes: the
// record and about what frames add.
func WindowCost(size uint32) int64 { return int64(size) + 64 }
