package turns

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A traffic is commands that come at a rate.
type traffic struct {
	since time.Time
	rate  float64
}

func (c *traffic) commands() uint64 { return uint64(time.Since(c.since).Seconds() * c.rate) }

// work works so long, in slices, without a rest that Rest does not ask for. In a synctest bubble sleeping is working.
func work(t *testing.T, ctx context.Context, d time.Duration) {
	t.Helper()
	for ends := time.Duration(0); ends < d; ends += slice {
		<-time.After(slice)
		if err := From(ctx).Rest(ctx); err != nil {
			t.Fatal(err)
		}
	}
}

// TestShare: without it those who search without a pause would take a processor from the messages.
func TestShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New((&traffic{time.Now(), 20_000}).commands)
		s.Flows()
		<-time.After(lookEvery)
		if !s.Flows() {
			t.Fatal("20,000 commands a second are no traffic")
		}
		const worked = 100 * time.Millisecond
		began := time.Now()
		var all sync.WaitGroup
		for range 2 { // all turns together have one share
			all.Go(func() {
				for range 10 {
					ctx, turn, err := s.Begin(t.Context())
					if err != nil {
						t.Error(err)
						return
					}
					work(t, ctx, worked/20)
					turn.End()
				}
			})
		}
		all.Wait()
		took := time.Since(began)
		if least := (worked - saved) * share * 9 / 10; took < least || took > worked*share*3/2 {
			t.Errorf("%v of work took %v, one part in %d of the time is meant", worked, took, share)
		}
	})
}

// TestNobodyWaitsOnAnIdleBroker: without it searches on an idle broker would be five times as slow.
func TestNobodyWaitsOnAnIdleBroker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New((&traffic{time.Now(), flowing / 2}).commands)
		s.Flows()
		<-time.After(lookEvery)
		began := time.Now()
		ctx, turn, err := s.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		work(t, ctx, time.Second)
		turn.End()
		if took := time.Since(began); took != time.Second {
			t.Errorf("a second's work took %v", took)
		}
		if d := turn.Slice(time.Minute); d != time.Minute {
			t.Errorf("slices of %v on an idle broker", d)
		}
	})
}

// TestASingleQuestion: without it whoever asks now and then would wait for those who ask without a pause, or be hurried on a
// broker that has time.
func TestASingleQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New((&traffic{time.Now(), 20_000}).commands)
		s.Flows()
		<-time.After(time.Second)
		began := time.Now()
		ctx, turn, err := s.Begin(t.Context())
		if err != nil || time.Since(began) != 0 {
			t.Fatalf("the first question waited for %v, %v", time.Since(began), err)
		}
		work(t, ctx, 2*time.Millisecond)
		if took := time.Since(began); took > 12*time.Millisecond {
			t.Errorf("2 ms of work took %v", took)
		}
		if d := turn.Slice(time.Minute); d != slice {
			t.Errorf("slices of %v beside traffic, want %v", d, slice)
		}
		turn.End()
	})
}

// TestBudget: without it an answer would be cut short because it had to rest, or never end.
func TestBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New((&traffic{time.Now(), 20_000}).commands)
		s.Flows()
		<-time.After(lookEvery)
		ctx, turn, err := s.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		const budget = 50 * time.Millisecond
		spent := func() (after time.Duration) {
			b := turn.Budget(budget)
			began := time.Now()
			for !b.Spent() {
				work(t, ctx, slice)
			}
			return time.Since(began)
		}
		if d := spent(); d < 2*budget || d > patience*budget+5*time.Millisecond {
			t.Errorf("a budget of %v was spent after %v, with rests", budget, d)
		}
		last := s.commands()
		s.commands = func() uint64 { return last }
		<-time.After(lookEvery)
		if d := spent(); d < budget || d > budget+time.Millisecond {
			t.Errorf("a budget of %v was spent after %v, without rests", budget, d)
		}
		var none *Turn
		b := none.Budget(budget)
		if b.Spent() {
			t.Error("a budget is spent before it begins")
		}
		<-time.After(budget + 1)
		if !b.Spent() {
			t.Error("a budget without a turn does not end")
		}
	})
}

// TestWhoLeavesDoesNotWait: without it a request whose client has gone would sleep on.
func TestWhoLeavesDoesNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New((&traffic{time.Now(), 20_000}).commands)
		s.Flows()
		<-time.After(lookEvery)
		_, turn, _ := s.Begin(t.Context())
		<-time.After(owedMost)
		turn.End() // much is owed
		ctx, leave := context.WithCancel(t.Context())
		leave()
		began := time.Now()
		if _, _, err := s.Begin(ctx); !errors.Is(err, context.Canceled) || time.Since(began) != 0 {
			t.Errorf("waited for %v, %v", time.Since(began), err)
		}
		var none *Turn
		if err := none.Rest(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("no turn, no word of the end: %v", err)
		}
	})
}
