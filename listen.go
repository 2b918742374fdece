package bartleby

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/bartleby-mq/bartleby/internal/amqpserver"
	"github.com/bartleby-mq/bartleby/internal/engine"
	"github.com/bartleby-mq/bartleby/internal/management"
)

// How long HTTP clients may keep a connection: to send a request's header, the whole request, to take the answer, and
// to do nothing in between. Definitions of a large broker take their time.
const (
	headerWithin  = 10 * time.Second
	requestWithin = 5 * time.Minute
	answerWithin  = 10 * time.Minute
	idleWithin    = time.Minute
)

// listen opens the doors. All addresses are known before the first client is served.
func (b *Broker) listen() error {
	options := amqpserver.Defaults()
	options.Log = b.config.Log
	options.Platform = "Bartleby " + Version
	options.ClusterName = nodeName()
	options.Connections = share(filesMax(), amqpSixteenths)
	var err error
	if b.amqp, err = amqpserver.New(door{b.engine}, options); err != nil {
		return err
	}
	secret, err := b.secret()
	if err != nil {
		return err
	}
	b.management = management.New(management.Options{
		Engine: b.engine, Roster: roster{b.amqp}, Listeners: b.shown, Secret: secret, Node: nodeName(),
		Version: Version, Data: b.config.Data, Log: b.config.Log,
	})
	doors := []struct {
		what, address string
		addr          *net.Addr
		serve         func(net.Listener) error
		listener      net.Listener
	}{
		{what: "AMQP", address: b.config.AMQP, addr: &b.amqpAddr, serve: b.amqp.Serve},
		{what: "management", address: b.config.Management, addr: &b.managementAddr, serve: b.page(b.management)},
		{what: "prometheus", address: b.config.Prometheus, addr: &b.prometheusAddr, serve: b.page(b.management.Metrics())},
	}
	for i := range doors {
		d := &doors[i]
		if d.address == "" {
			continue
		}
		if d.listener, err = net.Listen("tcp", d.address); err != nil {
			for k := range i {
				if doors[k].listener != nil {
					err = errors.Join(err, doors[k].listener.Close())
				}
			}
			return fmt.Errorf("%s listener: %w", d.what, err)
		}
		*d.addr = d.listener.Addr()
	}
	for _, d := range doors {
		if d.listener != nil {
			b.listeners++
			go func() { b.serving <- d.serve(d.listener) }()
		}
	}
	return nil
}

// page returns what serves h.
func (b *Broker) page(h http.Handler) func(net.Listener) error {
	p := &http.Server{
		Handler: h, ReadHeaderTimeout: headerWithin, ReadTimeout: requestWithin, WriteTimeout: answerWithin, IdleTimeout: idleWithin,
	}
	b.pages = append(b.pages, p)
	return func(l net.Listener) error { return p.Serve(withRoom(l, share(filesMax(), pageSixteenths))) }
}

// nodeName is what clients and tools are told, in RabbitMQ's form.
func nodeName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	return "rabbit@" + host
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
