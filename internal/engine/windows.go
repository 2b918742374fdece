package engine

import (
	"sync/atomic"
	"time"

	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// A window is how many bytes may be on their way to a client. All that clients do not read is in memory, so a window
// begins small, and is doubled each time that a quarter of it was written: up to WindowDefault, and
// up to an equal share of windowsMost if many have grown. Who has more than that share gives it back
// with what is written next. Windows that are not used are made small again when others want to
// grow. Small ones cost more: what was written is granted by quarters of a window, each a step.
//
// Source: ours, decision 22.
const (
	windowFirst = 32 << 10
	windowsMost = 64 << 20
	// narrowEvery is how often unused windows are looked for.
	narrowEvery = time.Second
)

// windows counts the windows of all connections that have grown.
type windows struct {
	grown atomic.Int64 // connections with more than windowFirst
	bytes atomic.Int64 // that they have beyond it
}

// next is the window after one of now bytes; refused reports that it would be larger if others were not.
func (w *windows) next(now int64) (next int64, refused bool) {
	share := min(max(windowsMost/max(w.grown.Load(), 1), windowFirst), WindowDefault)
	switch {
	case now > share:
		return share, false
	case now == WindowDefault:
		return now, false
	case 2*now > share || w.bytes.Load()+now > windowsMost:
		return now, true
	}
	return 2 * now, false
}

// change counts a window that was one of before bytes.
func (w *windows) change(before, after int64) {
	w.bytes.Add(after - before)
	switch {
	case before == windowFirst && after > windowFirst:
		w.grown.Add(1)
	case before > windowFirst && after == windowFirst:
		w.grown.Add(-1)
	}
}

// Windows are figures of the windows of connections.
type Windows struct {
	Grown int64 // connections with more than the first 32 KiB
	Bytes int64 // that they may have on their way beyond that, at most 64 MiB and what a few have just given back
}

// Windows tells how far the windows of connections have grown.
func (e *Engine) Windows() Windows { return Windows{e.windows.grown.Load(), e.windows.bytes.Load()} }

// grant gives a session the window that its frontend has given back.
func (r *runner) grant(s *Session) {
	n := s.returned.Swap(0)
	if n == 0 {
		return
	}
	c := vhost.Command{Kind: vhost.Grant, Conn: s.conn, Window: n}
	if s.sharesWindows {
		next, refused := r.engine.windows.next(s.window.Load())
		c.WindowMax = s.setWindow(next)
		if refused {
			r.narrowUnused()
		}
	}
	r.decide(s, &c)
}

// setWindow changes the window of a session that shares, and returns it if it is another one; else 0.
func (s *Session) setWindow(next int64) int64 {
	before := s.window.Swap(next)
	if before == next {
		return 0
	}
	s.engine.windows.change(before, next)
	return next
}

// narrowUnused makes the windows small again that nothing is on its way in.
func (r *runner) narrowUnused() {
	now := time.Now()
	if now.Sub(r.narrowedAt) < narrowEvery {
		return
	}
	r.narrowedAt = now
	for _, s := range r.sessions {
		if !s.sharesWindows || s.window.Load() == windowFirst || r.vhost.OnWay(s.conn) > s.returned.Load() {
			continue
		}
		r.decide(s, &vhost.Command{
			Kind: vhost.Grant, Conn: s.conn, Window: s.returned.Swap(0), WindowMax: s.setWindow(windowFirst),
		})
	}
}
