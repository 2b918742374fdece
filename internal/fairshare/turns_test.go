package fairshare

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// toil has a user's requests work in steps of some length until the context ends, and counts the steps.
func toil(ctx context.Context, s *Turns, name string, requests int, step time.Duration) (*sync.WaitGroup, *int) {
	all, steps := &sync.WaitGroup{}, new(int)
	var mu sync.Mutex
	for range requests {
		all.Go(func() {
			t := s.Of(name)
			defer t.Leave()
			for t.Work(ctx) == nil && ctx.Err() == nil {
				<-time.After(step)
				mu.Lock()
				*steps++
				mu.Unlock()
			}
		})
	}
	return all, steps
}

// idle reports what is left when nothing works and nothing waits.
func (s *Turns) idle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.mu.working) == 0 && s.mu.waiting == 0 && len(s.mu.users) == 0
}

func TestASmallRequestWaitsForOneTurn(t *testing.T) {
	// If this fails, a request that is answered at once waits for the long answers of another user.
	const step = turn / 5
	synctest.Test(t, func(t *testing.T) {
		s := NewTurns(1, TurnMost)
		ctx, leave := context.WithCancel(t.Context())
		all, _ := toil(ctx, s, "greedy", 100, step)
		for range 50 {
			<-time.After(7*time.Millisecond + step/3)
			began := time.Now()
			small := s.Of("other")
			for range 3 { // parts, between which it waits for something else
				if err := small.Work(t.Context()); err != nil {
					t.Fatal(err)
				}
				<-time.After(step)
				if err := small.Aside(t.Context(), func() error { return nil }); err != nil {
					t.Fatal(err)
				}
			}
			small.Leave()
			if took, most := time.Since(began), 3*step+4*(turn+step); took > most {
				t.Fatalf("three parts of %v took %v beside another user, at most %v is meant", step, took, most)
			}
		}
		if _, now, ever := s.Usage(); now != 99 || ever < 100 {
			t.Errorf("%d requests wait, %d have; want 99, and more", now, ever)
		}
		leave()
		all.Wait()
		if !s.idle() {
			t.Error("turns are held by nobody")
		}
	})
}

func TestUsersHaveTurnsAlike(t *testing.T) {
	// If this fails, the user with the most requests has most of the processor, or one of the users none.
	synctest.Test(t, func(t *testing.T) {
		for _, most := range []int{1, 2} {
			s := NewTurns(most, TurnMost)
			ctx, leave := context.WithCancel(t.Context())
			first, many := toil(ctx, s, "many", 40, turn/5)
			second, few := toil(ctx, s, "few", most, turn/5)
			<-time.After(time.Second)
			leave()
			first.Wait()
			second.Wait()
			if whole := most * int(time.Second*5/turn); *many+*few < whole*9/10 || *many+*few > whole+2*most {
				t.Errorf("%d at a time made %d steps, want about %d", most, *many+*few, whole)
			}
			if *few < *many*4/5 || *few > *many*6/5 {
				t.Errorf("%d at a time: one user made %d steps, the one with many requests %d", most, *few, *many)
			}
		}
	})
}

func TestATurnGoesOnAlone(t *testing.T) {
	// If this fails, a long answer is slower although nobody waits.
	synctest.Test(t, func(t *testing.T) {
		s := NewTurns(1, TurnMost)
		ctx, leave := context.WithCancel(t.Context())
		all, steps := toil(ctx, s, "alone", 1, turn/5)
		<-time.After(time.Second)
		leave()
		all.Wait()
		if _, _, ever := s.Usage(); ever != 0 || *steps < int(time.Second*5/turn) {
			t.Errorf("%d steps in a second, waited %d times", *steps, ever)
		}
	})
}

func TestWhoHasGoneHasNoTurn(t *testing.T) {
	// If this fails, requests whose clients have gone keep their places.
	synctest.Test(t, func(t *testing.T) {
		s := NewTurns(1, TurnMost)
		works := s.Of("ann")
		if err := works.Work(t.Context()); err != nil {
			t.Fatal(err)
		}
		ctx, leave := context.WithTimeout(t.Context(), time.Millisecond)
		defer leave()
		if err := s.Of("bob").Work(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("waits on: %v", err)
		}
		if _, now, _ := s.Usage(); now != 0 {
			t.Errorf("%d requests wait", now)
		}
		works.Leave()
		works.Leave()
		if !s.idle() {
			t.Error("turns are held by nobody")
		}
	})
}

func TestATurnThatLastsIsTakenBack(t *testing.T) {
	// If this fails, one answer that is made in one long step holds up those of all other users.
	synctest.Test(t, func(t *testing.T) {
		s := NewTurns(1, TurnMost)
		long := s.Of("ann")
		if err := long.Work(t.Context()); err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Hour) // nobody waits
		began := time.Now()
		small := s.Of("bob")
		if err := small.Work(t.Context()); err != nil || time.Since(began) > TurnMost {
			t.Fatalf("another user waits for %v, %v", time.Since(began), err)
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			if err := long.Work(t.Context()); err != nil { // now it waits
				t.Error(err)
			}
			long.Leave()
		}()
		synctest.Wait()
		if _, now, _ := s.Usage(); now != 1 {
			t.Errorf("%d requests wait; want the one whose turn was taken back", now)
		}
		small.Leave()
		<-done
		if !s.idle() {
			t.Error("turns are held by nobody")
		}
	})
}

func TestATurnMayLast(t *testing.T) {
	// If this fails, more requests hold whole lists than there is memory for, or one waits for ever.
	synctest.Test(t, func(t *testing.T) {
		s := NewTurns(1, 0)
		long := s.Of("ann")
		if err := long.Work(t.Context()); err != nil {
			t.Fatal(err)
		}
		ctx, leave := context.WithTimeout(t.Context(), time.Hour)
		defer leave()
		if err := s.Of("bob").Work(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a turn was taken back: %v", err)
		}
	})
}

func TestWhoIsAsideHasNoTurn(t *testing.T) {
	// If this fails, a client that does not read its answer holds up all others.
	synctest.Test(t, func(t *testing.T) {
		s := NewTurns(1, TurnMost)
		reads := make(chan struct{})
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() {
				slow := s.Of("ann")
				if err := slow.Work(t.Context()); err != nil {
					t.Error(err)
				}
				_ = slow.Aside(t.Context(), func() error { <-reads; return nil })
				slow.Leave()
			})
		}
		synctest.Wait()
		began := time.Now()
		other := s.Of("bob")
		if err := other.Work(t.Context()); err != nil || time.Since(began) != 0 {
			t.Errorf("waits for %v, %v", time.Since(began), err)
		}
		other.Leave()
		close(reads)
		all.Wait()
		if !s.idle() {
			t.Error("turns are held by nobody")
		}
	})
}
