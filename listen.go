package bartleby

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/amqpserver"
	"github.com/bartleby-mq/bartleby/internal/engine"
	"github.com/bartleby-mq/bartleby/internal/listener"
	"github.com/bartleby-mq/bartleby/internal/management"
	"github.com/bartleby-mq/bartleby/internal/management/stats"
)

// Listener is an open listener.
type Listener struct {
	Protocol string // amqp, amqp/ssl, http, https, http/prometheus, https/prometheus
	Addr     net.Addr
	TLS      bool
}

// openListener is a listener and what serves it.
type openListener struct {
	Listener
	socket *listener.Listener
	serve  func(net.Listener) error
}

// isAMQP reports whether the listener is for AMQP clients.
func (d *openListener) isAMQP() bool { return strings.HasPrefix(d.Protocol, "amqp") }

// listen opens the listeners. All addresses are known before the first client is served.
func (b *Broker) listen() error {
	c := &b.config
	var err error
	if b.amqp, err = amqpserver.New(eyes{b.engine}, b.clients()); err != nil {
		return err
	}
	secret, err := b.secret()
	if err != nil {
		return err
	}
	b.management = management.New(b.web(secret))
	metrics := b.management.Metrics()
	for _, d := range []struct {
		protocol, addresses string
		tls                 *TLS
		serve               func(net.Listener) error
	}{
		{"amqp", c.AMQP, nil, b.amqp.Serve},
		{"amqp/ssl", c.AMQPS, &c.TLS, b.amqp.Serve},
		{"http", c.Management, nil, b.serve(b.management)},
		{"https", c.ManagementHTTPS, &c.ManagementTLS, b.serve(b.management)},
		{"http/prometheus", c.Prometheus, nil, b.serve(metrics)},
		{"https/prometheus", c.PrometheusHTTPS, &c.PrometheusTLS, b.serve(metrics)},
	} {
		if err := b.openListeners(d.protocol, d.addresses, d.tls, d.serve); err != nil {
			for _, d := range b.opened {
				err = errors.Join(err, d.socket.Close())
			}
			b.opened = nil
			return fmt.Errorf("%s listener: %w", d.protocol, err)
		}
	}
	if err := b.keepAddress(); err != nil {
		b.config.Log.Warn("cannot write the management address: use --node with command line tools", "error", err)
	}
	b.serving, b.unfinished = make(chan error, len(b.opened)), len(b.opened)
	for _, d := range b.opened {
		go func() { b.serving <- d.serve(d.socket) }()
	}
	return nil
}

// keepAddress writes where the management API is beside the secret, for the command line on this machine.
func (b *Broker) keepAddress() error {
	if b.config.Data == "" {
		return nil
	}
	path := filepath.Join(b.config.Data, "ctl-address")
	for _, scheme := range []string{"http", "https"} {
		at, ok := b.addr(scheme).(*net.TCPAddr)
		if !ok {
			continue
		}
		host := at.AddrPort().Addr().Unmap()
		if host.IsUnspecified() {
			host = netip.AddrFrom4([4]byte{127, 0, 0, 1})
		}
		u := url.URL{Scheme: scheme, Host: netip.AddrPortFrom(host, uint16(at.Port)).String(), Path: strings.TrimRight(b.config.Web.PathPrefix, "/")}
		return os.WriteFile(path, []byte(u.String()+"\n"), 0o600)
	}
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// openDoors opens the listeners of one protocol.
func (b *Broker) openListeners(protocol, addresses string, options *TLS, serve func(net.Listener) error) error {
	if addresses == "" {
		return nil
	}
	o := listener.Options{Proxy: b.config.ProxyProtocol && strings.HasPrefix(protocol, "amqp")}
	if options != nil {
		var err error
		o.Certificates, err = listener.OpenCertificates(*options, b.signing, func(err error) { b.tellReloaded(protocol, err) })
		if err != nil {
			return err
		}
		b.certificates = append(b.certificates, o.Certificates)
	}
	for address := range strings.SplitSeq(addresses, ",") {
		l, err := listener.Listen(strings.TrimSpace(address), o)
		if err != nil {
			return err
		}
		b.opened = append(b.opened, openListener{Listener{protocol, l.Addr(), l.TLS()}, l, serve})
	}
	return nil
}

// suspendListeners closes the ports of AMQP, or opens them again, until the broker stops. An error leaves what could be
// done done. Source: RabbitMQ rabbitmqctl suspend_listeners, resume_listeners.
func (b *Broker) suspendListeners(on bool) error {
	var errs []error
	for _, d := range b.opened {
		switch {
		case !d.isAMQP():
		case on:
			errs = append(errs, d.socket.Suspend())
		default:
			errs = append(errs, d.socket.Resume())
		}
	}
	return errors.Join(errs...)
}

// listenersSuspended reports whether a port of AMQP is shut.
func (b *Broker) listenersSuspended() bool {
	return slices.ContainsFunc(b.opened, func(d openListener) bool { return d.isAMQP() && d.socket.Suspended() })
}

// Listeners lists the open listeners.
func (b *Broker) Listeners() []Listener {
	var all []Listener
	for _, d := range b.opened {
		all = append(all, d.Listener)
	}
	return all
}

// addr is where the first listener of a protocol is, nil if there is none.
func (b *Broker) addr(protocol string) net.Addr {
	for _, d := range b.opened {
		if d.Protocol == protocol {
			return d.Addr
		}
	}
	return nil
}

// Reload reads certificates and keys again. Where that fails the old ones stay in force.
func (b *Broker) Reload() error {
	var errs []error
	for _, c := range b.certificates {
		errs = append(errs, c.Reload())
	}
	return errors.Join(errs...)
}

// tellReloaded tells of certificates whose files have changed.
func (b *Broker) tellReloaded(protocol string, err error) {
	if err != nil {
		b.config.Log.Error("cannot use the changed TLS certificates: the old ones stay in use", "listener", protocol, "error", err)
		return
	}
	b.config.Log.Info("TLS certificates reloaded", "listener", protocol)
}

// NodeName is what clients and tools are told where Config names none, in RabbitMQ's form.
func NodeName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	return "rabbit@" + host
}

// eyes lets the AMQP server see the engine through its own eyes.
type eyes struct{ *engine.Engine }

// Attach implements amqpserver.Engine.
func (e eyes) Attach(to engine.Frontend, info engine.ConnInfo) (amqpserver.Session, error) {
	s, err := e.Engine.Attach(to, info)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Authenticate implements amqpserver.Engine.
func (e eyes) Authenticate(user, password string, from netip.Addr) (ok bool, reason string) {
	ok, reason = e.Engine.Authenticate(user, password, from)
	e.NoteLogin(engine.LoginAMQP, ok)
	return ok, reason
}

// roster lets the management API see the AMQP server's connections.
type roster struct {
	*amqpserver.Server
	signing *listener.Signing
}

// Connections implements stats.Roster.
func (r roster) Connections() []stats.Connection {
	live := r.Server.Connections()
	all := make([]stats.Connection, len(live))
	for i, c := range live {
		all[i] = stats.Connection{
			Name: c.Name, UserProvidedName: c.UserProvidedName, User: c.User, VHost: c.VHost, State: c.State,
			Protocol: "AMQP 0-9-1", PeerHost: c.PeerHost, Host: c.Host, PeerPort: c.PeerPort, Port: c.Port,
			AuthMechanism: c.AuthMechanism, ClientProperties: c.ClientProperties, ConnectedAt: c.ConnectedAt,
			Channels: len(c.Channels), ChannelMax: int(c.ChannelMax), FrameMax: int(c.FrameMax), Heartbeat: c.Heartbeat,
			Received: c.Received, Sent: c.Sent, Reads: c.Reads, Writes: c.Writes, Pending: c.Pending, TLS: c.TLS,
		}
	}
	return all
}

// Doors implements stats.Roster.
func (r roster) Doors() stats.Doors {
	u := r.Server.Unfinished()
	return stats.Doors{
		UnfinishedBytes: u.Bytes, UnfinishedWaiting: u.Waiting, UnfinishedEnded: u.Ended, SendTimeouts: r.Server.SendTimeouts(),
		IdleFramePauses: r.Server.IdleFramePauses(), HandshakesWaited: r.signing.Waits(),
	}
}

// shown lists the open listeners for the management API.
func (b *Broker) shown() []management.Listener {
	var all []management.Listener
	shut := b.listenersSuspended()
	for _, d := range b.opened {
		tcp, ok := d.Addr.(*net.TCPAddr)
		if !ok || shut && d.isAMQP() {
			continue
		}
		l := management.Listener{Protocol: d.Protocol, Address: tcp.IP.String(), Port: tcp.Port, TLS: d.TLS}
		l.Certificate, l.CertificateExpires = d.socket.Certificate()
		all = append(all, l)
	}
	return all
}

func newSecret() string {
	var b [32]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}
