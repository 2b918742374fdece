package amqpserver

import (
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"time"
)

// Options are what an operator may set. Begin with Defaults.
type Options struct {
	Log      *slog.Logger
	Node     string // the node's name, such as rabbit@host, and the cluster's as long as it has none
	Platform string // told to clients: who we are beside being compatible

	ChannelMax        uint16        // channels of a connection at most; 0 means no limit
	FrameMax          uint32        // octets of a frame at most, from frameBytesFloor
	Heartbeat         time.Duration // suggested to clients, in whole seconds; 0 switches heartbeats off
	MessageMax        int64         // octets of a body at most
	HandshakeTimeout  time.Duration // from accept to connection.open
	TLSTimeout        time.Duration // from accept to the end of the TLS handshake
	UnfinishedTimeout time.Duration // for which a message or a frame that has begun need not come on; 0 means for ever
	// for which a client may take nothing of what waits to be sent to it; 0 means for ever
	SendTimeout    time.Duration
	LoopbackUsers  []string // users who may log in from this machine only
	Connections    int      // served at once by all Serve; the next ones wait to be accepted; 0 means no limit
	ConnectionMax  int      // connections that are let in at once; one more is refused; 0 means no limit
	ChannelMaxNode int      // channels of all connections together; one more is refused; 0 means no limit

	// Octets of messages that have not arrived whole, and of large ones that wait to be taken: for the node, for all
	// connections of a user, for a connection, which may always have one message. Zero means no limit. When the first
	// or the second is reached connections wait; one that needs more than the third ends.
	UnfinishedMax, UnfinishedMaxUser, UnfinishedMaxConnection int64

	Mechanisms        []string // of Mechanisms, offered in this order; EXTERNAL only to clients that use TLS
	AnonymousUser     string   // who ANONYMOUS logs in, with AnonymousPassword
	AnonymousPassword string
	CertLogin         CertLogin // how EXTERNAL finds the user in a certificate
}

// Mechanisms are those that Options may offer. Source: RabbitMQ access-control#mechanisms.
var Mechanisms = []string{"PLAIN", "AMQPLAIN", "ANONYMOUS", "EXTERNAL"}

// Defaults returns RabbitMQ's defaults.
func Defaults() Options {
	return Options{
		Log:               slog.Default(),
		Node:              "rabbit@localhost",
		Platform:          "Bartleby",
		ChannelMax:        2047,
		FrameMax:          128 << 10,
		Heartbeat:         time.Minute,
		MessageMax:        16 << 20,
		HandshakeTimeout:  10 * time.Second,
		TLSTimeout:        5 * time.Second,
		UnfinishedTimeout: 30 * time.Second,
		SendTimeout:       15 * time.Second, // Source: RabbitMQ tcp_listen_options.send_timeout
		LoopbackUsers:     []string{"guest"},
		Mechanisms:        []string{"PLAIN", "AMQPLAIN", "ANONYMOUS"},
		// Source: RabbitMQ 4.0, anonymous_login_user, anonymous_login_pass.
		AnonymousUser: "guest", AnonymousPassword: "guest",
	}
}

// unfinishedMost is how many octets of incomplete messages a connection may have: one message at least.
func (o *Options) unfinishedMost() int64 {
	return max(o.UnfinishedMaxConnection, o.MessageMax+int64(o.FrameMax))
}

func (o *Options) validate() error {
	switch {
	case o.Log == nil:
		return fmt.Errorf("amqpserver: no logger")
	case o.FrameMax < frameBytesFloor || o.FrameMax > frameBytesCeiling:
		return fmt.Errorf("amqpserver: frame max %d is not from %d to %d", o.FrameMax, frameBytesFloor, frameBytesCeiling)
	case o.Heartbeat < 0 || o.Heartbeat%time.Second != 0 || o.Heartbeat > math.MaxUint16*time.Second:
		return fmt.Errorf("amqpserver: heartbeat %v is not from 0 to %d whole seconds", o.Heartbeat, math.MaxUint16)
	case o.MessageMax < 1 || o.MessageMax > messageBytesCeiling:
		return fmt.Errorf("amqpserver: message max %d is not from 1 to %d", o.MessageMax, messageBytesCeiling)
	case o.HandshakeTimeout <= 0:
		return fmt.Errorf("amqpserver: handshake timeout %v is not positive", o.HandshakeTimeout)
	case o.TLSTimeout <= 0:
		return fmt.Errorf("amqpserver: TLS handshake timeout %v is not positive", o.TLSTimeout)
	case o.UnfinishedTimeout < 0:
		return fmt.Errorf("amqpserver: timeout %v of unfinished messages is negative", o.UnfinishedTimeout)
	case min(o.UnfinishedMax, o.UnfinishedMaxUser, o.UnfinishedMaxConnection) < 0:
		least := min(o.UnfinishedMax, o.UnfinishedMaxUser, o.UnfinishedMaxConnection)
		return fmt.Errorf("amqpserver: limit %d of unfinished messages is negative", least)
	case o.SendTimeout < 0:
		return fmt.Errorf("amqpserver: send timeout %v is negative", o.SendTimeout)
	case o.Connections < 0 || o.ConnectionMax < 0:
		return fmt.Errorf("amqpserver: connection limit %d is negative", min(o.Connections, o.ConnectionMax))
	case o.ChannelMaxNode < 0:
		return fmt.Errorf("amqpserver: channel limit %d is negative", o.ChannelMaxNode)
	case len(o.Mechanisms) == 0:
		return fmt.Errorf("amqpserver: no authentication mechanism")
	}
	for _, m := range o.Mechanisms {
		if !slices.Contains(Mechanisms, m) {
			known := strings.Join(Mechanisms, ", ")
			return fmt.Errorf("amqpserver: unknown authentication mechanism %q; known are %s", m, known)
		}
	}
	return o.CertLogin.validate()
}
