package management

import (
	"log/slog"
	"os"
	"time"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/engine"
)

// Options say what the door shows and to whom. Engine is needed, the rest has defaults.
type Options struct {
	Engine    *engine.Engine
	Roster    Roster            // nil: no connection is ever shown
	Listeners func() []Listener // nil: none is shown
	// Secret, sent as bearer token, makes the caller an administrator to whom no permission is denied; empty:
	// nobody.
	Secret        string
	LoopbackUsers []string // who may log in from this machine only; nil: guest
	Node          string   // empty: rabbit@ and the host's name
	Product       string   // empty: Bartleby
	Version       string   // of the product
	Data          string   // the data directory; empty: in memory
	Log           *slog.Logger
}

// A Roster knows the connections of the other doors. Its methods may be called by any goroutine.
type Roster interface {
	// Connections lists the live ones, in the order of their arrival. The slice is the caller's.
	Connections() []Connection
	// CloseConnection ends those of that name, telling them the reason, and reports whether there was one. It
	// does not wait for their end.
	CloseConnection(name, reason string) bool
}

// A Connection is a picture of a live connection.
type Connection struct {
	Name             string // "peer:port -> host:port"
	UserProvidedName string // client property connection_name
	User, VHost      string // empty until known
	State            string // starting, tuning, opening, running, closing
	Protocol         string // "AMQP 0-9-1"
	PeerHost, Host   string
	PeerPort, Port   int
	AuthMechanism    string
	ClientProperties amqp.Table // shared, not changed here
	ConnectedAt      time.Time
	Channels         int
	ChannelMax       int
	FrameMax         int // bytes
	Heartbeat        time.Duration
	Received, Sent   uint64 // bytes
}

// A Listener is an open door of the broker.
type Listener struct {
	Protocol string // amqp, amqp/ssl, http, https, http/prometheus, …
	Address  string // IP address
	Port     int
	TLS      bool
}

func (o *Options) complete() {
	if o.Roster == nil {
		o.Roster = noRoster{}
	}
	if o.Listeners == nil {
		o.Listeners = func() []Listener { return nil }
	}
	if o.LoopbackUsers == nil {
		o.LoopbackUsers = []string{"guest"}
	}
	if o.Product == "" {
		o.Product = "Bartleby"
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Node == "" {
		host, err := os.Hostname()
		if err != nil {
			host = "localhost"
		}
		o.Node = "rabbit@" + host
	}
}

// noRoster is the roster of a broker without other doors.
type noRoster struct{}

func (noRoster) Connections() []Connection           { return nil }
func (noRoster) CloseConnection(string, string) bool { return false }
