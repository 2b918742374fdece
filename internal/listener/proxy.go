package listener

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	helloWithin = 5 * time.Second // for the header
	helloMost   = 256
	acceptPause = 100 * time.Millisecond
	textMost    = 107     // octets of a header of version 1
	binaryMost  = 1 << 12 // octets of addresses and more of version 2
)

// proxied is a listener behind a load balancer that says, by the PROXY protocol, version 1 or 2, whose connections it
// passes on. A connection that is accepted has sent its header; one that sends something else, or nothing in time, is
// closed.
//
// Invariants:
//   - Not an octet behind the header is taken.
//   - helloMost connections at the most have not sent their header: a new one takes the place of the oldest of them.
//
// Source: HAProxy, PROXY protocol; RabbitMQ proxy_protocol.
type proxied struct {
	net.Listener
	told    chan net.Conn
	places  chan struct{} // holds one for each connection that was not passed on
	closing chan struct{}
	close   sync.Once
	running sync.WaitGroup
	failure error // why no more is accepted; set before told is closed

	mu     sync.Mutex
	silent []net.Conn // have not sent their header, oldest first
}

// behindProxy is l behind a load balancer. It owns l.
func behindProxy(l net.Listener) *proxied {
	p := &proxied{Listener: l, told: make(chan net.Conn), places: make(chan struct{}, helloMost),
		closing: make(chan struct{})}
	p.running.Go(p.run)
	return p
}

// run reads the headers of connections, each in a goroutine.
func (p *proxied) run() {
	var hearing sync.WaitGroup
	defer close(p.told)
	defer hearing.Wait()
	for {
		select {
		case <-p.closing:
			p.failure = net.ErrClosed
			return
		default:
		}
		c, err := p.Listener.Accept()
		if IsShortage(err) {
			select {
			case <-time.After(acceptPause):
			case <-p.closing:
			}
			continue
		}
		if err != nil {
			p.failure = err
			p.end()
			return
		}
		select {
		case p.places <- struct{}{}:
		default:
			p.dropOldest()
			select {
			case p.places <- struct{}{}:
			case <-p.closing:
				c.Close()
				p.failure = net.ErrClosed
				return
			}
		}
		c.SetReadDeadline(time.Now().Add(helloWithin))
		p.mu.Lock()
		p.silent = append(p.silent, c)
		p.mu.Unlock()
		hearing.Go(func() {
			defer func() { <-p.places }()
			p.hear(c)
		})
	}
}

// dropOldest ends the wait for the header of the connection that has been silent for the longest time. Without one, all
// wait to be accepted.
func (p *proxied) dropOldest() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.silent) > 0 {
		p.silent[0].SetReadDeadline(time.Unix(1, 0))
		p.silent = slices.Delete(p.silent, 0, 1)
	}
}

// spoke notes that c has sent its header, or is closed.
func (p *proxied) spoke(c net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.Index(p.silent, c); i >= 0 {
		p.silent = slices.Delete(p.silent, i, i+1)
	}
}

// hear passes on a connection that sends its header.
func (p *proxied) hear(c net.Conn) {
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		select {
		case <-p.closing:
			c.SetReadDeadline(time.Unix(1, 0))
		case <-stop:
		}
	}()
	peer, host, err := header(c)
	p.spoke(c)
	if err != nil {
		c.Close()
		return
	}
	c.SetReadDeadline(time.Time{})
	introduced := &conn{Conn: c, peer: c.RemoteAddr(), host: c.LocalAddr()}
	if peer.IsValid() {
		introduced.peer, introduced.host = net.TCPAddrFromAddrPort(peer), net.TCPAddrFromAddrPort(host)
	}
	select {
	case p.told <- introduced:
	case <-p.closing:
		c.Close()
	}
}

// Accept implements net.Listener.
func (p *proxied) Accept() (net.Conn, error) {
	if c, ok := <-p.told; ok {
		return c, nil
	}
	return nil, p.failure
}

// Close implements net.Listener. On return all goroutines are gone.
func (p *proxied) Close() error {
	p.end()
	err := p.Listener.Close()
	p.running.Wait()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

func (p *proxied) end() { p.close.Do(func() { close(p.closing) }) }

// conn is a connection of somebody who is not at its other end.
type conn struct {
	net.Conn
	peer, host net.Addr
}

// NetConn is the connection to the load balancer.
func (c *conn) NetConn() net.Conn { return c.Conn }

// RemoteAddr implements net.Conn.
func (c *conn) RemoteAddr() net.Addr { return c.peer }

// LocalAddr implements net.Conn.
func (c *conn) LocalAddr() net.Addr { return c.host }

// signature begins version 2.
const signature = "\r\n\r\n\x00\r\nQUIT\n"

var errHeader = errors.New("the PROXY protocol header is missing")

// header reads whose connection it is: nobody's but the load balancer's own if peer is not valid.
func header(r io.Reader) (peer, host netip.AddrPort, err error) {
	begin := make([]byte, len(signature)) // the shortest header is longer
	if _, err := io.ReadFull(r, begin); err != nil {
		return peer, host, err
	}
	switch {
	case string(begin) == signature:
		return binaryHeader(r)
	case strings.HasPrefix(string(begin), "PROXY "):
		return textHeader(r, begin)
	}
	return peer, host, errHeader
}

// textHeader reads version 1: PROXY TCP4 192.0.2.1 192.0.2.2 40000 5672, or PROXY UNKNOWN.
func textHeader(r io.Reader, line []byte) (peer, host netip.AddrPort, err error) {
	for one := make([]byte, 1); !strings.HasSuffix(string(line), "\r\n"); line = append(line, one[0]) {
		if len(line) == textMost {
			return peer, host, errHeader
		}
		if _, err := io.ReadFull(r, one); err != nil {
			return peer, host, err
		}
	}
	words := strings.Split(strings.TrimSuffix(string(line), "\r\n"), " ")
	if words[1] == "UNKNOWN" {
		return peer, host, nil
	}
	if len(words) != 6 || words[1] != "TCP4" && words[1] != "TCP6" {
		return peer, host, errHeader
	}
	if peer, err = netip.ParseAddrPort(net.JoinHostPort(words[2], words[4])); err != nil {
		return peer, host, fmt.Errorf("%w: %w", errHeader, err)
	}
	if host, err = netip.ParseAddrPort(net.JoinHostPort(words[3], words[5])); err != nil {
		return netip.AddrPort{}, host, fmt.Errorf("%w: %w", errHeader, err)
	}
	return peer, host, nil
}

// binaryHeader reads version 2, behind the signature:
//
//	version and command (1) │ family (1) │ length (2) │ peer │ host │ port (2) │ port (2) │ what else there is
func binaryHeader(r io.Reader) (peer, host netip.AddrPort, err error) {
	fixed := make([]byte, 4)
	if _, err := io.ReadFull(r, fixed); err != nil {
		return peer, host, err
	}
	n := int(binary.BigEndian.Uint16(fixed[2:]))
	if fixed[0]>>4 != 2 || n > binaryMost {
		return peer, host, errHeader
	}
	rest := make([]byte, n)
	if _, err := io.ReadFull(r, rest); err != nil {
		return peer, host, err
	}
	size := map[byte]int{0x11: 4, 0x21: 16}[fixed[1]] // TCP over IPv4, over IPv6
	switch command := fixed[0] & 15; {
	case command == 0: // the load balancer's own
		return peer, host, nil
	case command != 1 || size == 0 || n < 2*size+4:
		return peer, host, errHeader
	}
	from, _ := netip.AddrFromSlice(rest[:size])
	to, _ := netip.AddrFromSlice(rest[size : 2*size])
	ports := rest[2*size:]
	return netip.AddrPortFrom(from, binary.BigEndian.Uint16(ports)), netip.AddrPortFrom(to, binary.BigEndian.Uint16(ports[2:])), nil
}
