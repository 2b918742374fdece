package engine

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
)

// TestTurnsInOrder says that who waits first has the ownership first, before anybody who comes by, and that who takes
// it again behind others waits for them.
func TestTurnsInOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var own fifoMutex
		var order []string // the owner's
		var all sync.WaitGroup
		if !own.try() || own.awaited() {
			t.Fatal("nobody has it, and it is not free")
		}
		for _, name := range []string{"a", "b", "c"} {
			all.Go(func() {
				for range 2 {
					own.take(nil)
					order = append(order, name)
					own.pass()
				}
			})
			synctest.Wait()
		}
		if own.try() || !own.awaited() {
			t.Fatal("three wait, and it can be taken")
		}
		own.pass()
		all.Wait()
		if want := []string{"a", "b", "c"}; !slices.Equal(order[:3], want) || len(order) != 6 {
			t.Errorf("it went to %v, want %v first", order, want)
		}
		if !own.try() || own.awaited() {
			t.Error("all are done, and it is not free")
		}
	})
}

// TestTurnGivenUp says that the ownership does not get lost with one who has stopped waiting for it.
func TestTurnGivenUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var own fifoMutex
		own.try()
		stop, got := make(chan struct{}), make(chan bool)
		go func() { got <- own.take(stop) }()
		synctest.Wait()
		close(stop)
		if <-got {
			t.Error("it was taken while somebody had it")
		}
		own.pass()
		if !own.try() {
			t.Error("nobody waits, and it is not free")
		}
	})
}

// TestTurnAlone says that one at a time has the ownership, and that nobody waits for ever, however they come and go.
func TestTurnAlone(t *testing.T) {
	t.Parallel()
	var own fifoMutex
	var all sync.WaitGroup
	stop := make(chan struct{})
	n, had := 0, 0 // the owner's
	for i := range 8 {
		all.Go(func() {
			for k := range 2000 {
				switch {
				case i == 0 && k == 1000:
					close(stop)
				case i%4 == 1 && !own.try(), i%4 == 2 && !own.take(stop):
					continue
				case i%4 != 1 && i%4 != 2:
					own.take(nil)
				}
				if i == 0 && k == 1000 {
					continue
				}
				if n++; n != 1 {
					t.Errorf("%d have it", n)
				}
				had++
				n--
				own.pass()
			}
		})
	}
	all.Wait()
	if had < 4*2000-1 || !own.try() {
		t.Errorf("it was had %d times and is not free at the end", had)
	}
}
