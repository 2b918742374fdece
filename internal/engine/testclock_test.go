package engine

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bartleby-mq/bartleby/internal/amqp"
)

// TestAdvanceAfterRestart says that a test clock which begins before the time that the log has seen, as after a
// restart of a broker that was moved ahead, no longer lets what is due happen before Advance returns.
func TestAdvanceAfterRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		e := start(t, d)
		if err := e.Advance(t.Context(), 30*24*time.Hour); err != nil {
			t.Fatal(err)
		}
		c := attach(t, e, "")
		c.post(declare("grave"), declare("slow", append(dlxArgs("", "grave"), amqp.Field{Name: "x-message-ttl", Value: amqp.Int32(1000)})...))
		c.take()
		stop(t, e)

		e = start(t, d)
		defer stop(t, e)
		c = attach(t, e, "")
		for range 3 * 2048 { // more than one tick takes
			c.post(publish("slow", "m"))
		}
		c.take()
		if err := e.Advance(t.Context(), time.Second); err != nil {
			t.Fatal(err)
		}
		if n := ready(t, e, "grave"); n != 3*2048 {
			t.Errorf("%d dead letters when Advance returned, want %d", n, 3*2048)
		}
	})
}

// TestAdvanceTogether says that of two who move a test clock at once one is forgotten, or that one who has given up
// keeps others from moving it.
func TestAdvanceTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := start(t, newDisk())
		defer stop(t, e)
		begun := e.Now()
		var jobs sync.WaitGroup
		for range 10 {
			jobs.Go(func() {
				if err := e.Advance(t.Context(), time.Hour); err != nil {
					t.Error(err)
				}
			})
		}
		jobs.Wait()
		if passed := e.Now().Sub(begun); passed != 10*time.Hour {
			t.Errorf("%v have passed, want 10 hours", passed)
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if err := e.Advance(gone, time.Hour); !errors.Is(err, context.Canceled) {
			t.Errorf("somebody who has gone moved the clock: %v", err)
		}
		begun = e.Now()
		if err := e.Advance(t.Context(), time.Hour); err != nil || e.Now().Sub(begun) != time.Hour {
			t.Errorf("%v have passed, error %v", e.Now().Sub(begun), err)
		}
	})
}
