package listener

import (
	"net"
	"sync"
)

// A gate is a listener that can be suspended: its port is closed meanwhile, and Accept waits.
type gate struct {
	addr net.Addr
	done chan struct{} // closed when it is closed for good
	mu   struct {
		sync.Mutex
		inner net.Listener  // nil while it is shut
		again chan struct{} // closed when it is open again
		ended bool
	}
}

func newGate(l net.Listener) *gate {
	g := &gate{addr: l.Addr(), done: make(chan struct{})}
	g.mu.inner = l
	return g
}

// Addr implements net.Listener.
func (g *gate) Addr() net.Addr { return g.addr }

// Accept implements net.Listener.
func (g *gate) Accept() (net.Conn, error) {
	for {
		g.mu.Lock()
		inner, again := g.mu.inner, g.mu.again
		g.mu.Unlock()
		if inner == nil {
			select {
			case <-again:
				continue
			case <-g.done:
				return nil, net.ErrClosed
			}
		}
		c, err := inner.Accept()
		if err != nil && g.isShut() {
			continue
		}
		return c, err
	}
}

func (g *gate) isShut() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.mu.inner == nil && !g.mu.ended
}

// Close implements net.Listener.
func (g *gate) Close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.mu.ended {
		return net.ErrClosed
	}
	g.mu.ended = true
	close(g.done)
	if g.mu.inner == nil {
		return nil
	}
	return g.mu.inner.Close()
}

// shut closes the port. Connections that were let in stay.
func (g *gate) shut() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.mu.inner == nil || g.mu.ended {
		return nil
	}
	inner := g.mu.inner
	g.mu.inner, g.mu.again = nil, make(chan struct{})
	return inner.Close()
}

// reopen opens the port again.
func (g *gate) reopen() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.mu.inner != nil || g.mu.ended {
		return nil
	}
	l, err := open(g.addr.String())
	if err != nil {
		return err
	}
	g.mu.inner = l
	close(g.mu.again)
	return nil
}
