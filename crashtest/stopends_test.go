//go:build linux

package crashtest

import (
	"fmt"
	"io"
	"net"
	"testing"
	"time"
)

// If this fails, a stopping broker waits for a client that does not read, for a request whose response is not read, for
// a job that needs hours, or for a backup; or such a stop loses confirmed messages.
func TestKillNotNeededToStop(t *testing.T) {
	t.Parallel()
	const messages = 20_000
	dir := t.TempDir()
	b := start(t, dir, smallFiles...)
	ch := b.channel()
	declare(t, ch, "dead", true, nil)
	declare(t, ch, "work", true, nil)
	declare(t, ch, "unread", true, nil)
	bodies := make([][]byte, messages)
	for i := range bodies {
		bodies[i] = fmt.Appendf(nil, "%01000d", i)
	}
	publish(t, ch, "dead", bodies...)
	publish(t, ch, "unread", bodies...)

	b.change("POST", "/api/x/redrives/%2F", map[string]any{ // takes hours
		"source": map[string]any{"queue": "dead"}, "target": map[string]any{"to": "queue", "queue": "work"}, "options": map[string]any{"rate": 1},
	})
	conn, valve, err := b.dialValve(beat)
	must(t, err)
	reader := channelOn(t, conn)
	valve.shut()
	go func() { _, _ = reader.Consume("unread", "", true, false, false, false, nil) }() // its answer is not read
	for _, path := range []string{"/api/definitions", "/api/x/backup", "/metrics/detailed?family=queue_coarse_metrics"} {
		socket, err := net.Dial("tcp", b.addr("http"))
		must(t, err)
		defer socket.Close()
		_, err = io.WriteString(socket, "GET "+path+" HTTP/1.1\r\nHost: x\r\nAuthorization: Basic Z3Vlc3Q6Z3Vlc3Q=\r\n\r\n")
		must(t, err)
	}
	eventually(t, "the job has begun", func() bool { return depth(t, ch, "work") > 0 })
	began := time.Now()
	b.terminate()
	if code := b.awaitExit(); code != 0 {
		t.Errorf("exit code %d:\n%s", code, b.stderr.tail(10))
	}
	if took := time.Since(began); took > stopWithin {
		t.Errorf("stopped after %v", took)
	}
	valve.reopen() // for the client's own end
	b = start(t, dir, smallFiles...)
	ch = b.channel()
	if n := depth(t, ch, "dead") + depth(t, ch, "work"); n != messages {
		t.Errorf("%d dead letters and sent back ones are there, not %d", n, messages)
	}
}
