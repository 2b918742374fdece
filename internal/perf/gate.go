package perf

import "sync"

// gate bounds how many messages are between two points: published and not confirmed, or published and not consumed.
// Any goroutine may call it.
type gate struct {
	limit int // 0: no limit

	mu struct {
		sync.Mutex
		held   int
		closed bool
	}
	freed *sync.Cond // held has fallen, or the gate is closed
}

func newGate(limit int) *gate {
	g := &gate{limit: limit}
	g.freed = sync.NewCond(&g.mu)
	return g
}

// slackMax is how many places are free at the latest when those who wait for space are woken.
const slackMax = backlogDefault / 8

// slack is how many places must be free to wake those who wait for space.
func (g *gate) slack() int { return min(max(g.limit/8, 1), slackMax) }

// acquire waits for space and takes at most want places; ok is false once the gate is closed. It wakes late on purpose,
// with an eighth of the limit free, or slackMax: a publisher that ran for every single place would spend its time in
// system calls.
func (g *gate) acquire(want int) (n int, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.limit == 0 {
		g.mu.held += want
		return want, !g.mu.closed
	}
	if g.mu.held >= g.limit {
		for g.mu.held > g.limit-g.slack() && !g.mu.closed {
			g.freed.Wait()
		}
	}
	if g.mu.closed {
		return 0, false
	}
	n = min(want, g.limit-g.mu.held)
	g.mu.held += n
	return n, true
}

// release gives n places back.
func (g *gate) release(n int) {
	if n == 0 {
		return
	}
	g.mu.Lock()
	before := g.mu.held
	g.mu.held -= n
	if most := g.limit - g.slack(); before > most && g.mu.held <= most {
		g.freed.Broadcast()
	}
	g.mu.Unlock()
}

// held returns how many places are taken.
func (g *gate) held() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.mu.held
}

// close lets nobody through any more, nor wait.
func (g *gate) close() {
	g.mu.Lock()
	g.mu.closed = true
	g.mu.Unlock()
	g.freed.Broadcast()
}
