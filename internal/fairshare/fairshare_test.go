package fairshare

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
		for range 2 { // all tasks together have one share
			all.Go(func() {
				for range 10 {
					ctx, task, err := s.Begin(t.Context(), "guest")
					if err != nil {
						t.Error(err)
						return
					}
					work(t, ctx, worked/20)
					task.End()
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
		ctx, task, err := s.Begin(t.Context(), "guest")
		if err != nil {
			t.Fatal(err)
		}
		work(t, ctx, time.Second)
		task.End()
		if took := time.Since(began); took != time.Second {
			t.Errorf("a second's work took %v", took)
		}
		if d := task.Slice(time.Minute); d != time.Minute {
			t.Errorf("slices of %v on an idle broker", d)
		}
	})
}

// TestASingleQuestion: without it whoever asks now and then would wait for those who ask without a pause, or be hurried
// on a broker that has time.
func TestASingleQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New((&traffic{time.Now(), 20_000}).commands)
		s.Flows()
		<-time.After(time.Second)
		began := time.Now()
		ctx, task, err := s.Begin(t.Context(), "guest")
		if err != nil || time.Since(began) != 0 {
			t.Fatalf("the first question waited for %v, %v", time.Since(began), err)
		}
		work(t, ctx, 2*time.Millisecond)
		if took := time.Since(began); took > 12*time.Millisecond {
			t.Errorf("2 ms of work took %v", took)
		}
		if d := task.Slice(time.Minute); d != slice {
			t.Errorf("slices of %v beside traffic, want %v", d, slice)
		}
		task.End()
	})
}

// TestBudget: without it an answer would be cut short because it had to rest, or never end.
func TestBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New((&traffic{time.Now(), 20_000}).commands)
		s.Flows()
		<-time.After(lookEvery)
		ctx, task, err := s.Begin(t.Context(), "guest")
		if err != nil {
			t.Fatal(err)
		}
		const budget = 50 * time.Millisecond
		spent := func() (after time.Duration) {
			b := task.Budget(budget)
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
		var none *Task
		b := none.Budget(budget)
		if b.Spent() {
			t.Error("a budget is spent before it begins")
		}
		<-time.After(budget + 1)
		if !b.Spent() {
			t.Error("a budget without a task does not end")
		}
	})
}

// TestWhoLeavesDoesNotWait: without it a request whose client has gone would sleep on.
func TestWhoLeavesDoesNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New((&traffic{time.Now(), 20_000}).commands)
		s.Flows()
		<-time.After(lookEvery)
		_, task, _ := s.Begin(t.Context(), "guest")
		<-time.After(owedMost)
		task.End() // much is owed
		ctx, leave := context.WithCancel(t.Context())
		leave()
		began := time.Now()
		if _, _, err := s.Begin(ctx, "guest"); !errors.Is(err, context.Canceled) || time.Since(began) != 0 {
			t.Errorf("waited for %v, %v", time.Since(began), err)
		}
		var none *Task
		if err := none.Rest(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("no task, no word of the end: %v", err)
		}
	})
}

// busy returns a share beside traffic, and what stops that.
func busy() (s *Share, still func()) {
	s = New((&traffic{time.Now(), 20_000}).commands)
	s.Flows()
	<-time.After(lookEvery)
	return s, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		last := s.commands()
		s.commands = func() uint64 { return last }
	}
}

// crowd has a user ask as much as he may, in slices of some length, until the context ends.
func crowd(t *testing.T, ctx context.Context, s *Share, name string, length time.Duration) *sync.WaitGroup {
	var all sync.WaitGroup
	for range UserTasks {
		all.Go(func() {
			ctx, task, err := s.Begin(ctx, name)
			if errors.Is(err, ErrTooManyTasks) {
				t.Error(err)
			}
			defer task.End()
			for ctx.Err() == nil {
				<-time.After(length)
				_ = task.Rest(ctx)
			}
		})
	}
	return &all
}

// TestUsersHaveAlike: without it one user who asks much would have all others wait for all that he asks.
func TestUsersHaveAlike(t *testing.T) {
	for _, length := range []time.Duration{slice, 2 * owedMost} {
		synctest.Test(t, func(t *testing.T) {
			s, _ := busy()
			ctx, leave := context.WithCancel(t.Context())
			all := crowd(t, ctx, s, "greedy", length)
			<-time.After(time.Second)
			for range 10 {
				began := time.Now()
				ctx, task, err := s.Begin(t.Context(), "other")
				if err != nil {
					t.Fatal(err)
				}
				if took, most := time.Since(began), owedMost*share+slice*share*2; took > most {
					t.Errorf("beside slices of %v another user waits for %v to begin, at most %v is meant", length, took, most)
				}
				work(t, ctx, 4*time.Millisecond)
				if took := time.Since(began); length == slice && took > 50*time.Millisecond || took > 2*owedMost*share {
					t.Errorf("beside slices of %v another user waits for %v for 4 ms of work", length, took)
				}
				task.End()
				<-time.After(30 * time.Millisecond)
			}
			leave()
			all.Wait()
		})
	}
}

// TestTheyGoOnOneByOne: without it those who rest would wake together, and together take more than a slice from the
// messages.
func TestTheyGoOnOneByOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := busy()
		ctx, leave := context.WithCancel(t.Context())
		var at []time.Time
		var mu sync.Mutex
		var all sync.WaitGroup
		for range UserTasks {
			all.Go(func() {
				ctx, task, _ := s.Begin(ctx, "guest")
				defer task.End()
				for ctx.Err() == nil {
					<-time.After(slice)
					if task.Rest(ctx) == nil {
						mu.Lock()
						at = append(at, time.Now())
						mu.Unlock()
					}
				}
			})
		}
		<-time.After(time.Second)
		leave()
		all.Wait()
		at = at[len(at)/2:]
		for i := range at[1:] {
			if d := at[i+1].Sub(at[i]); d < restLeast {
				t.Fatalf("slices begin %v one after the other", d)
			}
		}
		if n := len(at); n < 300 || n > 500 { // in half a second, each of a fifth
			t.Errorf("%d slices began in half a second", n)
		}
	})
}

// TestARestEnds: without it who waits would sleep on when messages have ceased to flow, when the answer's time is up,
// or for all that was ever asked before.
func TestARestEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, still := busy()
		ctx, leave := context.WithCancel(t.Context())
		all := crowd(t, ctx, s, "guest", owedMost)
		<-time.After(time.Second)
		ctx, task, err := s.Begin(t.Context(), "other")
		if err != nil {
			t.Fatal(err)
		}
		b := task.Budget(10 * time.Millisecond)
		began := time.Now()
		<-time.After(owedMost)
		if err := task.Rest(ctx); err != nil || time.Since(began) != patience*10*time.Millisecond {
			t.Errorf("went on after %v, %v", time.Since(began), err)
		}
		if <-time.After(1); !b.Spent() {
			t.Error("the budget is not spent")
		}
		<-time.After(owedMost)
		began = time.Now()
		still()
		if err := task.Rest(ctx); err != nil || time.Since(began) > lookEvery+time.Duration(UserTasks)*slice {
			t.Errorf("went on %v after the last message, %v", time.Since(began), err)
		}
		task.End()
		leave()
		all.Wait()
	})
}

// TestPlaces: without it one user could ask for so much that his own answers never come, or the places of those who are
// away would be held for ever.
func TestPlaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := busy()
		var tasks []*Task
		begin := func(name string) error {
			_, task, err := s.Begin(t.Context(), name)
			if err == nil {
				tasks = append(tasks, task)
			}
			return err
		}
		for range UserTasks {
			if err := begin("greedy"); err != nil {
				t.Fatal(err)
			}
		}
		if err := begin("greedy"); !errors.Is(err, ErrTooManyTasks) {
			t.Errorf("one more: %v", err)
		}
		if err := begin("other"); err != nil {
			t.Errorf("another user: %v", err)
		}
		tasks[0].End()
		tasks[0].End()
		err := errors.Join(begin("greedy"), begin("greedy"))
		if !errors.Is(err, ErrTooManyTasks) || len(tasks) != UserTasks+2 {
			t.Errorf("after one has ended: %v", err)
		}
		was := tasks[1].worked()
		_ = tasks[1].Away(func() error {
			if err := begin("greedy"); err != nil {
				t.Errorf("while one is away: %v", err)
			}
			if err := begin("greedy"); !errors.Is(err, ErrTooManyTasks) {
				t.Errorf("two while one is away: %v", err)
			}
			<-time.After(time.Hour)
			return nil
		})
		if d := tasks[1].worked() - was; d > slice {
			t.Errorf("an hour away is %v of work", d)
		}
		for _, task := range tasks {
			task.End()
		}
		if len(s.mu.users) != 0 {
			t.Errorf("users %v are left", s.mu.users)
		}
	})
}

// TestIdleIsNoWork: without it who has many wait for something else would have all others rest for that.
func TestIdleIsNoWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := busy()
		<-time.After(time.Second)
		idle := func() error { <-time.After(time.Second); return nil }
		for _, wait := range []func(*Task) error{
			func(task *Task) error { return task.Idle(idle) }, func(task *Task) error { return task.Away(idle) },
		} {
			var all sync.WaitGroup
			for range 4 {
				all.Go(func() {
					_, task, _ := s.Begin(t.Context(), "idle")
					_ = wait(task)
					task.End()
				})
			}
			all.Wait()
			began := time.Now()
			if _, task, err := s.Begin(t.Context(), "other"); err != nil || time.Since(began) != 0 {
				t.Errorf("rests for %v because others have waited, %v", time.Since(began), err)
			} else {
				task.End()
			}
		}
	})
}

// TestFewAreAway: without it who reads no answer could have as many as he likes.
func TestFewAreAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := busy()
		reads := make(chan struct{})
		var all sync.WaitGroup
		for range awayMost + UserTasks {
			all.Go(func() {
				_, task, err := s.Begin(t.Context(), "idle")
				if err != nil {
					t.Error(err)
				}
				defer task.End()
				_ = task.Away(func() error { <-reads; return nil })
			})
			synctest.Wait()
			<-time.After(time.Second)
		}
		if _, _, err := s.Begin(t.Context(), "idle"); !errors.Is(err, ErrTooManyTasks) {
			t.Errorf("one more than may be away: %v", err)
		}
		close(reads)
		all.Wait()
	})
}
