package amqpserver

import (
	"net/netip"

	"github.com/bartleby-mq/bartleby/internal/accounts"
	"github.com/bartleby-mq/bartleby/internal/engine"
	"github.com/bartleby-mq/bartleby/internal/vhost"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// Engine is what the frontend needs of the broker.
type Engine interface {
	// Accounts returns the present picture of users and permissions.
	Accounts() *accounts.View
	// Authenticate checks a password that came from an address, invalid for one that is not a network's. The reason
	// says why not, for the log.
	Authenticate(user, password string, from netip.Addr) (ok bool, reason string)
	// Attach makes a connection known to its virtual host. Errors that are *amqp.Error are told to the client.
	Attach(d engine.Frontend, info engine.ConnInfo) (Session, error)
}

// Session is one connection's way into its virtual host, an *engine.Session.
type Session interface {
	Conn() fact.ConnID
	NewChannel() vhost.ChannelID
	// Submit gives a batch away, in order.
	Submit(b *engine.Batch)
	// Paced reports whether what was published waits for the consumers of a queue, from any goroutine.
	Paced() bool
	// Written gives window back, from any goroutine, also after Close.
	Written(cost int64)
	// Close detaches: on return no Emit follows and the connection's exclusive queues are gone.
	Close()
}
