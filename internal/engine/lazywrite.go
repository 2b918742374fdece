package engine

import "time"

// A batch that nobody waits for may stay unwritten for lazyWrite, because each group takes a call and at least a
// sector. With more than lazyBytes of them, they are written at once.
const (
	lazyWrite = 2 * time.Millisecond
	lazyBytes = 128 << 10
)

// mayWait is for how long what was appended need not be written yet.
func (w *logWriter) mayWait() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.mu.batches) == 0 || w.mu.hurried || w.mu.forced || w.mu.closing || len(w.mu.jobs) > 0 {
		return 0
	}
	wait := lazyWrite - time.Since(w.mu.first)
	if !w.due.IsZero() {
		wait = min(wait, time.Until(w.due))
	}
	return wait
}
