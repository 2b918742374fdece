package engine

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bartleby-mq/bartleby/internal/amqp"
)

// TestACrowdIsReadBeforehand says that each message of a crowd that is due at many instants of a moment costs a read of
// its own, or that they leave in another order than they are due, or that what was read is kept for ever.
func TestACrowdIsReadBeforehand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n, instants = 12_000, 200
		d := newDisk()
		running := func(o *Options) { o.Clock = SystemClock() }
		e := start(t, d, running)
		c := attach(t, e, "")
		c.post(declare("dead"), declare("work", amqp.Field{Name: "x-dead-letter-exchange", Value: amqp.String("")},
			amqp.Field{Name: "x-dead-letter-routing-key", Value: amqp.String("dead")}))
		begin := time.Now()
		due := make([][]string, instants)
		for i := range n {
			at := i * 7919 % instants
			p := publish("work", fmt.Sprint(i))
			p.Properties = amqp.AppendProperties(nil, &amqp.Properties{
				Has: amqp.FlagDeliveryMode | amqp.FlagExpiration, DeliveryMode: amqp.Persistent, Expiration: strconv.Itoa(60_000 + at),
			})
			c.post(p)
			due[at] = append(due[at], "got "+strconv.Itoa(i))
		}
		c.expect()
		if time.Since(begin) != 0 {
			t.Fatal("time has passed: they are not due at the instants meant")
		}
		stop(t, e) // nothing of it is in memory after a restart
		e = start(t, d, running)
		defer stop(t, e)
		before := e.writer.statistics.reads.read().Count
		time.Sleep(59 * time.Second)
		synctest.Wait()
		if e.cached.Prefetched() != 0 {
			t.Error("records are read long before they are due")
		}
		time.Sleep(2 * time.Second)
		if got := ready(t, e, "dead"); got != n {
			t.Fatalf("%d dead letters have come, want %d", got, n)
		}
		if reads := e.writer.statistics.reads.read().Count - before; reads == 0 || reads > n/4 {
			t.Errorf("%d reads of the log for %d messages", reads, n)
		}
		time.Sleep(time.Minute)
		c = attach(t, e, "")
		c.post(get("dead"))
		want := slices.Concat(due...)
		c.expect(want[0])
		if kept := e.cached.Prefetched(); kept != 0 {
			t.Errorf("%d bytes are kept, though nothing is due", kept)
		}
		for _, w := range want[1:5000] {
			c.post(get("dead"))
			c.expect(w)
		}
	})
}
