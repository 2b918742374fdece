package engine

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// TestLargeDeadLettersAreRedrivenByTheirHeads says that a redrive reads the bodies of what it moves, from the disk into
// memory, while others of the virtual host wait.
func TestLargeDeadLettersAreRedrivenByTheirHeads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n, size = 16, 2 << 20
		d := newDisk()
		running := func(o *Options) { o.Clock = SystemClock() }
		e := start(t, d, running)
		c := attach(t, e, "")
		c.post(declare("work"), declare("dead"), confirms())
		body := strings.Repeat("b", size)
		for range n {
			c.post(publish("dead", body))
			c.take()
		}
		stop(t, e) // nothing of it is in memory after a restart
		e = start(t, d, running)
		defer stop(t, e)
		c = attach(t, e, "")
		before := e.writer.statistics.reads.read()
		c.post(vhost.Command{Kind: vhost.BeginRedrive, JobSpec: &vhost.JobSpec{
			User: "guest", Source: vhost.Where{Queue: "dead"}, Target: vhost.TargetQueue, Queue: "work",
		}})
		time.Sleep(time.Second)
		synctest.Wait()
		c.take()
		if got := ready(t, e, "work"); got != n {
			t.Fatalf("%d of %d dead letters were redriven", got, n)
		}
		after := e.writer.statistics.reads.read()
		if got := after.Bytes - before.Bytes; got == 0 || got > n*2*vhost.HeadBytes {
			t.Errorf("%d bytes were read to redrive %d dead letters of %d bytes", got, n, size)
		}
		c.post(get("work"))
		c.expect("got " + body)
	})
}
