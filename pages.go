package bartleby

import (
	"context"
	"errors"
	"log/slog"
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
		unheard map[net.Conn]struct{} // that have not said all that it takes to begin with an answer
	}
}

// connKey is where a request's context has its connection.
type connKey struct{}

// serve returns what serves h.
func (b *Broker) serve(h http.Handler) func(net.Listener) error {
	p := &page{}
	p.Server = http.Server{
		ReadHeaderTimeout: headerWithin, ReadTimeout: requestWithin, WriteTimeout: answerWithin, IdleTimeout: idleWithin,
		ErrorLog: slog.NewLogLogger(b.config.Log.Handler(), slog.LevelDebug), // handshakes that fail, and such
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if c, ok := r.Context().Value(connKey{}).(net.Conn); ok {
				p.hear(c, true)
			}
			h.ServeHTTP(w, r)
		}),
		ConnContext: func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, connKey{}, c) },
		ConnState: func(c net.Conn, state http.ConnState) {
			p.hear(c, state != http.StateNew && state != http.StateActive)
		},
	}
	p.mu.unheard = map[net.Conn]struct{}{}
	b.pages = append(b.pages, p)
	return func(l net.Listener) error { return p.Serve(withRoom(l, share(filesMax(), pageSixteenths))) }
}

// hear notes whether there is nothing more to hear from c before its answer.
func (p *page) hear(c net.Conn, all bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if all {
		delete(p.mu.unheard, c)
		return
	}
	p.mu.unheard[c] = struct{}{}
}

// close ends the page: requests under way may be answered until ctx ends. Who has not asked for anything is not waited
// for, as Shutdown would.
func (p *page) close(ctx context.Context) error {
	p.mu.Lock()
	for c := range p.mu.unheard {
		c.Close()
	}
	p.mu.Unlock()
	err := p.Shutdown(ctx)
	if errors.Is(err, ctx.Err()) {
		return p.Close()
	}
	return err
}
