package engine

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// TestReplayGoesCold says that a start which has to put messages on pages while it reads the log leaves a vhost that
// fails as soon as there are more, or loses them.
func TestReplayGoesCold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 200_000
		d := newDisk()
		few := func(o *Options) { o.HotMessages = 3000 }
		e := start(t, d, few)
		for round := range 2 {
			c := attach(t, e, "")
			if round == 0 {
				c.post(declare("work"))
			}
			for i := 0; i < n; i += 100 {
				batch := make([]vhost.Command, 100)
				for k := range batch {
					batch[k] = publish("work", fmt.Sprint(round*n+i+k))
				}
				c.post(batch...)
				if i%5000 == 0 {
					c.take()
				}
			}
			c.take()
			e.writer.settle()
			if err := c.stoppedWith(); err != nil {
				t.Fatalf("round %d: %v", round, err)
			}
			d.kill(e)
			e = start(t, d, few)
			if got := ready(t, e, "work"); got != (round+1)*n {
				t.Fatalf("round %d: %d messages are there, %d were confirmed", round, got, (round+1)*n)
			}
		}
		c := attach(t, e, "")
		for i := range 100 {
			c.post(get("work"))
			c.expect("got " + fmt.Sprint(i))
		}
		stop(t, e)
	})
}

// TestShortLives says that each start of a broker that is killed soon adds to what the next has to read, or to the
// disk.
func TestShortLives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		e := start(t, d)
		most := 0
		for round := range 12 {
			c := attach(t, e, "")
			c.post(declare("work"), confirms(), publish("work", "m"))
			c.take()
			d.kill(e)
			e = start(t, d)
			synctest.Wait()
			if n := e.writer.journal.Stats().Segments; round < 4 {
				most = max(most, n)
			} else if n > most {
				t.Fatalf("%d segments after %d lives", n, round+1)
			}
		}
		if n := ready(t, e, "work"); n != 12 {
			t.Errorf("%d messages are there", n)
		}
		stop(t, e)
	})
}
