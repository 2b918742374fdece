package bartleby

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"
)

// How long HTTP clients may keep a connection: to send a request's header, the whole request, to take the answer, and
// to do nothing in between. Definitions of a large broker take their time.
const (
	headerWithin  = 10 * time.Second
	requestWithin = 5 * time.Minute
	answerWithin  = 10 * time.Minute
	idleWithin    = time.Minute
)

// page is what serves HTTP.
type page struct {
	http.Server
	mu struct {
		sync.Mutex
		fresh map[net.Conn]struct{} // that have not said anything
	}
}

// serve returns what serves h.
func (b *Broker) serve(h http.Handler) func(net.Listener) error {
	p := &page{Server: http.Server{
		Handler: h, ReadHeaderTimeout: headerWithin, ReadTimeout: requestWithin, WriteTimeout: answerWithin, IdleTimeout: idleWithin,
	}}
	p.mu.fresh = map[net.Conn]struct{}{}
	p.ConnState = p.note
	b.pages = append(b.pages, p)
	return func(l net.Listener) error { return p.Serve(withRoom(l, share(filesMax(), pageSixteenths))) }
}

func (p *page) note(c net.Conn, state http.ConnState) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if state == http.StateNew {
		p.mu.fresh[c] = struct{}{}
		return
	}
	delete(p.mu.fresh, c)
}

// close ends the page: requests under way may be answered until ctx ends. Shutdown would wait some seconds for what who
// has connected might say.
func (p *page) close(ctx context.Context) error {
	p.mu.Lock()
	for c := range p.mu.fresh {
		c.Close()
	}
	p.mu.Unlock()
	err := p.Shutdown(ctx)
	if errors.Is(err, ctx.Err()) {
		return p.Close()
	}
	return err
}
