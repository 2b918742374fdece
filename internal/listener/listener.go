// Package listener opens the ports of the broker: certificates that are read again when their files change, the PROXY
// protocol of load balancers, and ports that can be suspended. It leaves what a connection says, and what a client's
// certificate entitles to, to whoever accepts it. With the PROXY protocol the operator sees to it that only the load
// balancer can reach the port: anybody else could send a header that claims to be another.
package listener

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"
)

// Options say what is between a port and whoever accepts its connections.
type Options struct {
	Certificates *Certificates // nil: no TLS
	Proxy        bool          // a load balancer sends the PROXY protocol, before TLS
}

// Listener is an open port.
type Listener struct {
	net.Listener
	gate         *gate
	certificates *Certificates
}

// Listen opens a TCP port.
func Listen(address string, o Options) (*Listener, error) {
	inner, err := open(address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("%w: another program is listening on this address", err)
	}
	if err != nil {
		return nil, err
	}
	l := &Listener{gate: newGate(inner), certificates: o.Certificates}
	l.Listener = l.gate
	if o.Proxy {
		l.Listener = behindProxy(l.Listener)
	}
	if o.Certificates != nil {
		l.Listener = tls.NewListener(l.Listener, o.Certificates.Config())
	}
	return l, nil
}

// open opens a TCP port. Multipath TCP is off: RabbitMQ has none, and the kernel says less of such connections.
func open(address string) (net.Listener, error) {
	var c net.ListenConfig
	c.SetMultipathTCP(false)
	keepAlive(&c)
	return c.Listen(context.Background(), "tcp", address)
}

// Suspend closes the port until Resume: no connection is accepted, those that were stay.
func (l *Listener) Suspend() error { return l.gate.shut() }

// Resume opens the port again.
func (l *Listener) Resume() error { return l.gate.reopen() }

// Suspended reports whether the port is closed by Suspend.
func (l *Listener) Suspended() bool { return l.gate.isShut() }

// TLS reports whether the port speaks TLS.
func (l *Listener) TLS() bool { return l.certificates != nil }

// Certificate returns the file of the certificate in use, and when that expires; nothing without TLS.
func (l *Listener) Certificate() (file string, expires time.Time) {
	if l.certificates == nil {
		return "", time.Time{}
	}
	return l.certificates.Certificate()
}

// IsShortage reports whether an error of Accept is a shortage, after which accepting may work again.
func IsShortage(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.ENOBUFS) ||
		errors.Is(err, syscall.ENOMEM) || errors.Is(err, syscall.ECONNABORTED)
}
