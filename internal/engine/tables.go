package engine

import "sync"

// tables is the lock that guards the journal, as that asks: held for each call, shared by those that look, and let go of
// while the disk works.
type tables struct{ sync.RWMutex }

// beside is the journal's Options.Beside.
func (t *tables) beside(io func() error) error {
	t.Unlock()
	defer t.Lock()
	return io()
}
