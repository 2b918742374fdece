package engine

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

func realClock(o *Options) { o.Clock = SystemClock() }

// TestDueWhileOwned says that a deadline which passes while somebody else has the vhost, and the clock of its
// goroutine strikes in vain, is forgotten.
func TestDueWhileOwned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := start(t, newDisk(), realClock)
		defer stop(t, e)
		c := attach(t, e, "")
		c.post(declare("grave"), declare("work", append(dlxArgs("", "grave"),
			amqp.Field{Name: "x-message-ttl", Value: amqp.Int32(1000)})...), consume("grave"), publishTransient("work", "a"))
		time.Sleep(2 * lazySync) // of the bubble: the log has nothing more to say
		c.expect()
		r, err := e.runnerOf("/")
		if err != nil {
			t.Fatal(err)
		}
		r.own()
		time.Sleep(2 * time.Second) // of the bubble
		synctest.Wait()
		r.release()
		c.expect("deliver a")
	})
}

// TestLazySync says that batches which nobody waits for, if only they come often enough, are never synced.
func TestLazySync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		e := start(t, d, realClock)
		defer stop(t, e)
		c := attach(t, e, "")
		c.post(declare("work"))
		synctest.Wait()
		time.Sleep(time.Second) // of the bubble
		r, err := e.runnerOf("/")
		if err != nil {
			t.Fatal(err)
		}
		before := r.safeTo.Load()
		for range 20 {
			c.post(publish("work", "nobody asks for a confirm"))
			time.Sleep(lazySync / 10)
		}
		synctest.Wait()
		if r.safeTo.Load() == before {
			t.Errorf("nothing was synced in %v", 2*lazySync)
		}
	})
}

// TestSafeDoesNotStep says that the goroutine that writes the log steps a vhost: then it can wait for space in
// the log, which only it makes, for ever.
func TestSafeDoesNotStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := start(t, newDisk())
		defer stop(t, e)
		c := attach(t, e, "")
		c.post(declare("work"))
		synctest.Wait()
		r, err := e.runnerOf("/")
		if err != nil {
			t.Fatal(err)
		}
		command := publish("work", "a")
		command.Channel = c.channel
		e.writer.do(func(s *logWriter) {
			r.mu.Lock()
			r.mu.inbox = append(r.mu.inbox, request{session: c.session, batch: &Batch{Commands: []vhost.Command{command}}})
			r.mu.Unlock()
			s.mu.Lock()
			s.mu.bytes = pendingBytesMax + 1 // until it takes what there is
			s.mu.Unlock()
			r.becameSafe(r.safe)
			s.kick()
		})
		synctest.Wait()
		if n := ready(t, e, "work"); n != 1 {
			t.Errorf("%d ready, want 1", n)
		}
	})
}
