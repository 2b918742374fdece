package engine

import (
	"slices"
	"sync"
	"sync/atomic"
)

// fifoMutex is a lock that those who wait get in the order in which they came. It is the ownership of a runner. Who
// gives it up hands it to the first of them: a goroutine that takes it again and again, for a portion of work each time,
// takes turns with the others. None of them spins: a core that looks for the ownership is one that the owner does not
// have.
type fifoMutex struct {
	state atomic.Int64 // 0: free; else 1, and 2 for each that waits
	mu    sync.Mutex
	queue []chan struct{} // of those who wait; each is closed when its turn has come
}

// try takes the ownership if it is free.
func (t *fifoMutex) try() bool { return t.state.CompareAndSwap(0, 1) }

// awaited reports whether somebody waits: the owner, who alone asks, then does not begin another round.
func (t *fifoMutex) awaited() bool { return t.state.Load() > 1 }

// take waits for the ownership, but not longer than until stop is closed. It reports whether it has it.
func (t *fifoMutex) take(stop <-chan struct{}) bool {
	come := t.join()
	if come == nil {
		return true
	}
	select {
	case <-come:
		return true
	case <-stop:
	}
	if !t.leave(come) {
		t.pass() // it came meanwhile
	}
	return false
}

// join takes the ownership if it is free, or else returns what is closed when it is the caller's.
func (t *fifoMutex) join() chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	for {
		switch s := t.state.Load(); {
		case s == 0:
			if t.try() {
				return nil
			}
		case t.state.CompareAndSwap(s, s+2):
			come := make(chan struct{})
			t.queue = append(t.queue, come)
			return come
		}
	}
}

// leave gives up waiting. It reports false if the ownership has come already.
func (t *fifoMutex) leave(come chan struct{}) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := slices.Index(t.queue, come)
	if i < 0 {
		return false
	}
	t.queue = slices.Delete(t.queue, i, i+1)
	t.state.Add(-2)
	return true
}

// pass gives the ownership to the first who waits, or frees it.
func (t *fifoMutex) pass() {
	if t.state.CompareAndSwap(1, 0) {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.queue) == 0 { // the last one has given up
		t.state.Store(0)
		return
	}
	come := t.queue[0]
	t.queue = t.queue[1:]
	t.state.Add(-2)
	close(come)
}
