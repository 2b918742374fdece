package engine

import (
	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// A Frontend is the protocol's end of one connection. The engine calls it from the goroutine that owns the vhost
// at that moment, never from two at once, and a call must not block: what a slow client has not taken yet is
// bounded by its window.
type Frontend interface {
	// Emit encodes one effect of one of the connection's channels. Effects of a channel come in order. A
	// message's Record and History are there; they are lent until return, as e is.
	Emit(e *vhost.Effect)
	// Flush ends a run of Emit: what was encoded may go to the socket.
	Flush()
	// Blocked says that what the client publishes has to wait, and why; Unblocked that it goes on. A client that
	// has not published is told with its first message. Source: RabbitMQ connection-blocked.
	Blocked(reason string)
	Unblocked()
	// Stopped ends the attachment: the vhost was deleted or has failed, its user was deleted, or the broker shuts down.
	// No Emit follows. The connection closes with err.
	Stopped(err *amqp.Error)
}

// A Batch is what one read of a socket brought, in order. From Submit to Free it belongs to the engine: the
// commands and all that they point to must not change.
type Batch struct {
	Commands []vhost.Command
	// Free, if not nil, is called when the engine is done with the batch, from its goroutine; it must not block.
	Free func(*Batch)
}

// ConnInfo is what a connection says of itself.
type ConnInfo struct {
	authz.Principal // authenticated

	Name         string // "peer:port -> host:port"
	VHost        string
	CancelNotify bool   // the client takes basic.cancel. Source: RabbitMQ consumer-cancel
	Window       int64  // bytes on their way to the client at most; 0 means a share of windows, at most WindowDefault
	Protocol     string // "AMQP 0-9-1"
}

// WindowDefault is the largest window that a connection of a client has, in bytes. Source: ours, decision 22.
const WindowDefault = 2 << 20

// DeliveryCost is what a delivery takes from its connection's window, in bytes; the frontend gives the sum back
// with Session.Written once the bytes are in the socket.
func DeliveryCost(e *vhost.Effect) int64 { return vhost.WindowCost(e.Message.Ref.Size) }
