package engine

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// TestWindowsAreShared says that clients which never read get as much at once as one that reads, so that many of them
// fill the memory; or that one that reads has a small window for good, also when others have left theirs unused.
func TestWindowsAreShared(t *testing.T) {
	const bodies, bodyBytes = 900, 10_000
	synctest.Test(t, func(t *testing.T) {
		e := start(t, newDisk())
		defer stop(t, e)
		consume := func(queue string) vhost.Command {
			return vhost.Command{Kind: vhost.Consume, NoWait: true, Definition: &vhost.Definition{Name: queue, NoAck: true}}
		}
		publisher := attach(t, e, "")
		publisher.post(declare("work"), declare("next"))
		fill := func(queue string) {
			for range bodies {
				publisher.post(publish(queue, strings.Repeat("x", bodyBytes)))
			}
			publisher.take()
		}
		// read takes all that comes, and reports how many bytes came at once at the most.
		read := func(c *client) (most int) {
			for {
				n := len(c.take())
				if n == 0 {
					return most
				}
				most = max(most, n*bodyBytes)
				c.session.Written(int64(n) * (bodyBytes + 150))
			}
		}
		fill("work")
		for range 3 {
			stalled := attachSharing(t, e)
			stalled.post(consume("work"))
			if n := len(stalled.take()) * bodyBytes; n == 0 || n > windowFirst+bodyBytes {
				t.Errorf("%d bytes are on their way to a client that has read nothing", n)
			}
		}
		reader := attachSharing(t, e)
		reader.post(consume("work"))
		fill("work")
		if most := read(reader); most < 1<<20 {
			t.Errorf("a client that reads gets %d bytes at once", most)
		}
		e.windows.bytes.Add(windowsMost) // others have it
		e.windows.grown.Add(10)
		next := attachSharing(t, e)
		next.post(consume("next"))
		fill("next")
		if most := read(next); most > windowFirst+bodyBytes {
			t.Errorf("%d bytes come at once when others have all", most)
		}
		if n := reader.session.window.Load(); n != windowFirst {
			t.Errorf("a window that nobody uses has %d bytes", n)
		}
		e.windows.bytes.Add(-windowsMost)
		e.windows.grown.Add(-10)
		fill("next")
		if read(next) < 1<<20 {
			t.Error("windows stay small when others have left theirs")
		}
		reader.session.Close()
		next.session.Close()
		if w := e.Windows(); w != (Windows{}) {
			t.Errorf("%+v are counted of sessions that have ended", w)
		}
	})
}

// attachSharing is attach for a client whose window is a share, as that of a client over a socket.
func attachSharing(t *testing.T, e *Engine) *client {
	c := &client{t: t, events: make(chan string, 10_000)}
	var err error
	if c.session, err = e.Attach(c, ConnInfo{Name: "test", Principal: testPrincipal(""), VHost: "/"}); err != nil {
		t.Fatal(err)
	}
	c.open()
	return c
}

// TestManyWindows says that more than windowsMost is on its way to many clients that read, or that those who came first
// keep what others need.
func TestManyWindows(t *testing.T) {
	var w windows
	sessions := make([]int64, 200)
	for i := range sessions {
		sessions[i] = windowFirst
	}
	for range 20 {
		for i, now := range sessions {
			next, _ := w.next(now)
			w.change(now, next)
			sessions[i] = next
			if all := w.bytes.Load(); all > windowsMost {
				t.Fatalf("%d bytes", all)
			}
		}
	}
	for i, n := range sessions {
		if n < windowsMost/200/2 || n > windowsMost/200 {
			t.Errorf("%d of %d has %d bytes", i, len(sessions), n)
		}
	}
}
