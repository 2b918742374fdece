package bartleby

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"sync"
	"time"
)

// How long HTTP clients may keep a connection: to send a request's header, the whole request, to take the answer, and
// to do nothing in between. Who has logged in may take more time: definitions of a large broker need it.
const (
	headerWithin = 10 * time.Second
	idleWithin   = time.Minute

	strangersRequestWithin, strangersAnswerWithin = 10 * time.Second, time.Minute
	requestWithin, answerWithin                   = 5 * time.Minute, 10 * time.Minute
)

// page is what serves HTTP.
type page struct {
	http.Server
	log *slog.Logger
	mu  struct {
		sync.Mutex
		silent map[net.Conn]silence // that have not said all that it takes to begin with an answer
	}
}

// A silence is what a connection does that has not said all.
type silence struct {
	since time.Time
	known bool // who is silent has logged in with this request
}

// visitKey is where a request's context has its visit.
type visitKey struct{}

// A visit is a connection to a page.
type visit struct {
	page *page
	conn net.Conn
}

// serve returns what serves h.
func (b *Broker) serve(h http.Handler) func(net.Listener) error {
	p := newPage(h, b.config.Log)
	p.RegisterOnShutdown(b.management.EndStreams)
	b.pages = append(b.pages, p)
	return func(l net.Listener) error {
		return p.Serve(withLimit(l, share(filesMax(), pageSixteenths), p.evict))
	}
}

func newPage(h http.Handler, log *slog.Logger) *page {
	p := &page{log: log}
	p.mu.silent = map[net.Conn]silence{}
	p.Server = http.Server{
		ReadHeaderTimeout: headerWithin, ReadTimeout: strangersRequestWithin, WriteTimeout: strangersAnswerWithin, IdleTimeout: idleWithin,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug), // handshakes that fail, and such
		Handler:  p.watch(h),
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, visitKey{}, visit{p, c})
		},
		ConnState: func(c net.Conn, state http.ConnState) {
			if state == http.StateClosed || state == http.StateHijacked {
				p.hear(c)
				return
			}
			p.await(c, false)
		},
	}
	return p
}

// watch serves h, hears when a request is there whole, and tells of a panic, which ends the connection.
func (p *page) watch(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			if fault := recover(); fault != nil {
				if fault != http.ErrAbortHandler {
					p.log.Error("panic while serving a request", "method", r.Method, "error", fmt.Sprint(fault), "stack", string(debug.Stack()))
				}
				panic(http.ErrAbortHandler)
			}
		}()
		if at, ok := r.Context().Value(visitKey{}).(visit); ok {
			if r.Body == nil || r.Body == http.NoBody {
				p.hear(at.conn)
			} else {
				r.Body = &heardBody{r.Body, func() { p.hear(at.conn) }}
			}
		}
		h.ServeHTTP(w, r)
	})
}

// heardBody tells when nothing more of it comes.
type heardBody struct {
	io.ReadCloser
	whole func()
}

// Read implements io.Reader.
func (b *heardBody) Read(to []byte) (int, error) {
	n, err := b.ReadCloser.Read(to)
	if err != nil {
		b.whole()
	}
	return n, err
}

// await notes that c has something to say before it is answered.
func (p *page) await(c net.Conn, known bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.silent[c] = silence{time.Now(), known}
}

// hear notes that there is nothing more to hear from c before its answer.
func (p *page) hear(c net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.mu.silent, c)
}

// loggedIn gives the request's sender time: it is known.
func loggedIn(r *http.Request) {
	at, ok := r.Context().Value(visitKey{}).(visit)
	if !ok {
		return
	}
	now := time.Now()
	if r.Body != nil && r.Body != http.NoBody {
		at.page.mu.Lock()
		if s, silent := at.page.mu.silent[at.conn]; silent {
			s.known = true
			at.page.mu.silent[at.conn] = s
		}
		at.page.mu.Unlock()
		_ = at.conn.SetReadDeadline(now.Add(requestWithin)) // one that is gone shows when it is read
	}
	_ = at.conn.SetWriteDeadline(now.Add(answerWithin))
}

// evict closes the connection that has been silent for the longest time, unless somebody who is known is about to
// say something there.
func (p *page) evict() {
	p.mu.Lock()
	defer p.mu.Unlock()
	var longest net.Conn
	for c, s := range p.mu.silent {
		if !s.known && (longest == nil || s.since.Before(p.mu.silent[longest].since)) {
			longest = c
		}
	}
	if longest != nil {
		delete(p.mu.silent, longest)
		go longest.Close() // with TLS it says goodbye, which can take a while
	}
}

// close ends the page: requests under way may be answered until ctx ends. Who has not asked for anything, or not said
// all of it, is not waited for, as Shutdown would.
func (p *page) close(ctx context.Context) error {
	p.mu.Lock()
	for c := range p.mu.silent {
		go c.Close()
	}
	p.mu.Unlock()
	err := p.Shutdown(ctx)
	if errors.Is(err, ctx.Err()) {
		return p.Close()
	}
	return err
}
