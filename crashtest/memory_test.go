//go:build linux

package crashtest

import (
	"bytes"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestMemoryAttacks says that halves of messages, large arguments or answers that nobody reads take more memory than
// the watermark allows. TestHalfSentMessages has more kinds of halves, and bench/crowd.sh larger crowds.
func TestMemoryAttacks(t *testing.T) {
	b := start(t, t.TempDir(), "--vm_memory_high_watermark.absolute="+halvesWatermark)
	ch := b.channel()
	declare(t, ch, "ping", true, nil)
	b.besiege(t, siegeOfHalves{"halves of who may publish", 150, "guest", onChannels(1, func(n uint16) []byte { return half(n, 15_400_000) })})

	large := map[string]any{"durable": true, "arguments": map[string]any{"x-large": make([]int, 4_500_000)}}
	var asked sync.WaitGroup
	for n := range 6 {
		asked.Go(func() {
			status, body, err := b.ask("http", "PUT", fmt.Sprintf("/api/queues/%%2F/large%d", n), large)
			if err != nil || status != 400 || !bytes.Contains(body, []byte("bytes")) {
				t.Errorf("9 MB of arguments: %d %.200s %v", status, body, err)
			}
		})
	}
	asked.Wait()
	b.within(t, "large arguments")

	for n := range 2000 {
		declare(t, ch, fmt.Sprintf("crowd-%d-%s", n, strings.Repeat("x", 200)), true, nil)
	}
	var unread []net.Conn
	for range 60 {
		conn, err := net.DialTimeout("tcp", b.addr("http"), patience)
		must(t, err)
		unread = append(unread, conn)
		_, err = fmt.Fprint(conn, "GET /api/queues HTTP/1.1\r\nHost: broker\r\nAuthorization: Basic Z3Vlc3Q6Z3Vlc3Q=\r\n\r\n")
		must(t, err)
	}
	looks := time.NewTicker(50 * time.Millisecond) // the bound holds at each of them
	defer looks.Stop()
	for begun := time.Now(); time.Since(begun) < halvesLast; <-looks.C {
		b.within(t, "lists that nobody reads")
	}
	for _, conn := range unread {
		_ = conn.Close()
	}
	pings(t, ch, 20)
}

// within fails if more memory is resident than attacks may take.
func (b *broker) within(t *testing.T, what string) {
	t.Helper()
	if rss := b.figure("VmRSS"); rss > halvesAllowed {
		t.Fatalf("%s: %d MB of memory", what, rss/1_000_000)
	}
}
