package engine

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// TestPublishersWaitForConsumers says that a publisher of a queue which grows too long pushes on as fast as it can
// while consumers take from it; or that it waits for consumers that take nothing, when there are none, for longer than
// the least rate allows, when the queue is short again, when it consumes itself, or after its end.
func TestPublishersWaitForConsumers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := start(t, newDisk(), func(o *Options) { o.Clock = SystemClock() })
		defer stop(t, e)
		if err := e.look(context.Background(), "/", false, func(v *vhost.VHost) { v.BoundOvergrown(8) }); err != nil {
			t.Fatal(err)
		}
		publisher, consumer := attach(t, e, ""), attach(t, e, "")
		some := vhost.Command{Kind: vhost.Qos, NoWait: true, Definition: &vhost.Definition{Prefetch: 2000}}
		consumer.post(declare("q"), some)
		var given atomic.Int32 // batches
		began := time.Now()
		push := func(n int) {
			commands := make([]vhost.Command, n)
			for i := range commands {
				commands[i] = publish("q", "m")
				commands[i].Channel = publisher.channel
			}
			publisher.session.Submit(&Batch{Commands: commands, Free: func(*Batch) { given.Add(1) }})
			synctest.Wait()
		}
		// holds checks how many batches are given back now, and whether the publisher waits.
		holds := func(when string, want int32, waits bool) {
			t.Helper()
			synctest.Wait()
			if n := given.Load(); n != want || publisher.session.Paced() != waits || (e.Pacing().Now > 0) != waits {
				t.Fatalf("%s, after %v: %d batches were given back, expected %d; waits: %t, %+v",
					when, time.Since(began), n, want, publisher.session.Paced(), e.Pacing())
			}
		}
		ack := vhost.Command{Kind: vhost.Ack, Multiple: true}
		purge := vhost.Command{Kind: vhost.PurgeQueue, NoWait: true, Definition: &vhost.Definition{Name: "q"}}
		const many = 4000 // that may take 10 ms
		pass := func(ms int) {
			time.Sleep(time.Duration(ms) * time.Millisecond)
		}
		push(10)
		holds("without consumers", 1, false)
		consumer.post(consume("q"))
		push(many)
		holds("when it is not known how fast they are", 2, false)
		pass(drainWindow)
		consumer.post(ack)
		push(many)
		holds("when they are fast", 2, true)
		push(many)
		pass(9)
		holds("shortly before the time is over", 2, true)
		pass(2)
		holds("when the time of the first is over", 3, true)
		pass(10)
		holds("when the time of the second is over", 4, false)
		push(100)
		holds("that sends little", 5, false)
		pass(drainWindow)
		push(many)
		holds("when nothing is taken", 6, false)
		consumer.post(ack)
		pass(drainWindow)
		push(many)
		holds("when something was taken again", 6, true)
		consumer.post(purge)
		holds("when the queue is short", 7, false)
		push(many)
		holds("at its end", 7, true)
		publisher.session.Close()
		holds("after its end", 8, false)
		publisher = attach(t, e, "")
		publisher.post(declare("other"), consume("other"))
		consumer.post(ack)
		push(many)
		holds("that consumes itself", 9, false)
		if n := e.Pacing().Batches; n != 4 {
			t.Errorf("%d batches waited", n)
		}
	})
}
