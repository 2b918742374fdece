package engine

import (
	"sync"

	"github.com/bartleby-mq/bartleby/internal/journal"
)

// tables is the lock that guards the journal: held for each call, shared by those that read.
type tables struct{ sync.RWMutex }

// run makes a change of the journal as a task: the lock is held while the task is planned and committed, and free while
// it works on the disk.
func (t *tables) run(j *journal.Journal, task func(*journal.Journal) *journal.Task) error {
	t.Lock()
	defer t.Unlock()
	change := task(j)
	for change.Plan() {
		t.work(change)
	}
	return change.Err()
}

// work does a step of a task without the lock.
func (t *tables) work(change *journal.Task) {
	t.Unlock()
	defer t.Lock()
	change.Work()
}
