package bartleby

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/bartleby-mq/bartleby/internal/amqpserver"
	"github.com/bartleby-mq/bartleby/internal/engine"
	"github.com/bartleby-mq/bartleby/internal/management"
)

// headerWithin bounds how long an HTTP client may take to send its request's header.
const headerWithin = 10 * time.Second

// listen opens the doors.
func (b *Broker) listen() error {
	if err := b.listenAMQP(); err != nil {
		return err
	}
	secret, err := b.secret()
	if err != nil {
		return err
	}
	b.management = management.New(management.Options{
		Engine: b.engine, Roster: roster{b.amqp}, Listeners: b.shown, Secret: secret,
		Version: Version, Data: b.config.Data, Log: b.config.Log,
	})
	if b.managementAddr, err = b.listenHTTP("management", b.config.Management, b.management); err != nil {
		return err
	}
	b.prometheusAddr, err = b.listenHTTP("prometheus", b.config.Prometheus, b.management.Metrics())
	return err
}

func (b *Broker) listenAMQP() error {
	options := amqpserver.Defaults()
	options.Log = b.config.Log
	options.Platform = "Bartleby " + Version
	server, err := amqpserver.New(door{b.engine}, options)
	if err != nil {
		return err
	}
	b.amqp = server
	if b.config.AMQP == "" {
		return nil
	}
	l, err := net.Listen("tcp", b.config.AMQP)
	if err != nil {
		return fmt.Errorf("AMQP listener: %w", err)
	}
	b.amqpAddr = l.Addr()
	b.listeners++
	go func() { b.serving <- server.Serve(l) }()
	return nil
}

func (b *Broker) listenHTTP(what, address string, h http.Handler) (net.Addr, error) {
	if address == "" {
		return nil, nil
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("%s listener: %w", what, err)
	}
	page := &http.Server{Handler: h, ReadHeaderTimeout: headerWithin}
	b.pages = append(b.pages, page)
	b.listeners++
	go func() { b.serving <- page.Serve(l) }()
	return l.Addr(), nil
}

// door lets the AMQP server see the engine through its own eyes.
type door struct{ *engine.Engine }

// Attach implements amqpserver.Engine.
func (d door) Attach(to engine.Door, info engine.ConnInfo) (amqpserver.Link, error) {
	l, err := d.Engine.Attach(to, info)
	if err != nil {
		return nil, err
	}
	return l, nil
}

// roster lets the management API see the AMQP server's connections.
type roster struct{ *amqpserver.Server }

// Connections implements management.Roster.
func (r roster) Connections() []management.Connection {
	live := r.Server.Connections()
	all := make([]management.Connection, len(live))
	for i, c := range live {
		all[i] = management.Connection{
			Name: c.Name, UserProvidedName: c.UserProvidedName, User: c.User, VHost: c.VHost, State: c.State,
			Protocol: "AMQP 0-9-1", PeerHost: c.PeerHost, Host: c.Host, PeerPort: c.PeerPort, Port: c.Port,
			AuthMechanism: c.AuthMechanism, ClientProperties: c.ClientProperties, ConnectedAt: c.ConnectedAt,
			Channels: len(c.Channels), ChannelMax: int(c.ChannelMax), FrameMax: int(c.FrameMax), Heartbeat: c.Heartbeat,
			Received: c.Received, Sent: c.Sent,
		}
	}
	return all
}

// shown lists the open doors for the management API.
func (b *Broker) shown() []management.Listener {
	var all []management.Listener
	for _, l := range b.Listeners() {
		if tcp, ok := l.Addr.(*net.TCPAddr); ok {
			all = append(all, management.Listener{Protocol: l.Protocol, Address: tcp.IP.String(), Port: tcp.Port})
		}
	}
	return all
}

func newSecret() string {
	var b [32]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}
