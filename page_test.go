package bartleby

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// pageWith serves h with space for so many connections; dial opens one and says something.
func pageWith(t *testing.T, h http.HandlerFunc, room int, log *slog.Logger) (dial func(said string) net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := newPage(h, log)
	ended := make(chan error, 1)
	go func() { ended <- p.Serve(withLimit(l, room, p.evict)) }()
	t.Cleanup(func() {
		if err := p.close(context.Background()); err != nil {
			t.Error(err)
		}
		<-ended
	})
	return func(said string) net.Conn {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		fmt.Fprint(c, said)
		return c
	}
}

const half = "POST /%s HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhalf"

func TestTheSilentMakeRoom(t *testing.T) {
	// If this fails, clients without a login that send half a request, or keep an idle connection, lock all other
	// clients out.
	t.Parallel()
	known := make(chan struct{}, 1)
	dial := pageWith(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/known" {
			loggedIn(r)
			known <- struct{}{}
		}
		body, err := io.ReadAll(r.Body)
		if err == nil {
			fmt.Fprintf(w, "heard %s.", body)
		}
	}, 3, slog.New(slog.DiscardHandler))
	friend := dial(fmt.Sprintf(half, "known"))
	<-known
	for range 3 {
		dial(fmt.Sprintf(half, "login"))
		dial("GET / HT")
		for range 2 { // the second time there are idle ones
			if got := line(t, dial("GET / HTTP/1.1\r\nHost: x\r\n\r\n")); got != "HTTP/1.1 200 OK" {
				t.Errorf("the response at the limit is %q", got)
			}
		}
	}
	fmt.Fprint(friend, "+other")
	if got := line(t, friend); got != "HTTP/1.1 200 OK" {
		t.Errorf("a logged-in client was closed for one without a login: %q", got)
	}
}

func line(t *testing.T, c net.Conn) string {
	t.Helper()
	text, err := bufio.NewReader(c).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(text)
}

func TestPanicIsLogged(t *testing.T) {
	// If this fails, a panic in a request is not logged.
	t.Parallel()
	var log lockedBuffer
	dial := pageWith(t, func(http.ResponseWriter, *http.Request) { panic("a fault") }, 1, slog.New(slog.NewTextHandler(&log, nil)))
	if _, err := io.ReadAll(dial("GET / HTTP/1.1\r\nHost: x\r\n\r\n")); err != nil {
		t.Error(err)
	}
	if got := log.String(); !strings.Contains(got, "level=ERROR") || !strings.Contains(got, "a fault") {
		t.Errorf("the log says %q", got)
	}
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
