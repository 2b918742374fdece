package engine

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// TestColdBacklog says that a backlog which outgrew memory comes back changed or out of order, on the same node or
// after a restart, or that a broker cannot stop while it is being read.
func TestColdBacklog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n, size = 6000, 6000 // twice of what is hot
		body := func(k int) string { return fmt.Sprintf("%06d%s", k, strings.Repeat("x", size+k%1000)) }
		d := newDisk()
		e := start(t, d)
		c := attach(t, e, "")
		c.post(declare("work"), declare("rest"))
		for k := range n {
			c.post(publish([]string{"work", "rest"}[k%2], body(k)))
		}
		drain := func(e *Engine, queue string, k, until int) {
			t.Helper()
			c := attach(t, e, "")
			for ; k < until; k += 200 {
				gets := make([]vhost.Command, 0, 100)
				for range 100 {
					gets = append(gets, get(queue))
				}
				c.post(gets...)
				all := c.take()
				if len(all) != len(gets) {
					t.Fatalf("%d of %d messages", len(all), len(gets))
				}
				for i, got := range all {
					if got != "got "+body(k+2*i) {
						t.Fatalf("message %d: %.20q...", k+2*i, got)
					}
				}
				c.session.Written(1 << 30)
			}
		}
		c.take()
		drain(e, "work", 0, n)
		drain(e, "rest", 1, n/2) // and there it stops, while more is being read ahead
		stop(t, e)
		e = start(t, d)
		drain(e, "rest", n/2+1, n)
		stop(t, e)
	})
}
