package journal

import "iter"

// A Task is a change of the journal, for whoever guards it with a lock. It goes on in steps: each is planned under the
// lock, works on the disk without the lock, and is committed under the lock by the next Plan.
//
//	for t.Plan() { // under the lock
//		t.Work()   // without it
//	}
//	err := t.Err()
//
// A task must be brought to its end. What may run beside a step is said at Journal.
type Task struct {
	plan   func() (work func() error) // commits what worked has become of the step before; nil: the task is over
	work   func() error
	worked error // of the last work
	err    error
}

// Plan commits the step before, if there was one, and plans the next. It reports whether there is one.
func (t *Task) Plan() bool {
	t.work = t.plan()
	return t.work != nil
}

// Work does what was planned, on the disk.
func (t *Task) Work() { t.worked = t.work() }

// Err is what became of a task that is over.
func (t *Task) Err() error { return t.err }

// Run brings a task to its end, for who is alone with the journal.
func (t *Task) Run() error {
	for t.Plan() {
		t.Work()
	}
	return t.err
}

// Task returns what change does as a task. Change is given the journal, as it is to be used in the task: each piece of
// work on the disk is a step. It runs by turns with the caller of Plan, never beside it.
func (j *Journal) Task(change func(*Journal) error) *Task {
	t := &Task{}
	next, _ := iter.Pull(func(yield func(func() error) bool) {
		t.err = change(&Journal{tables: j.tables, inTask: func(work func() error) error {
			yield(work)
			return t.worked
		}})
	})
	t.plan = func() func() error {
		work, _ := next()
		return work
	}
	return t
}

// onDisk does work on the disk, as a step of a task if the journal is used in one.
func (j *Journal) onDisk(work func() error) error {
	if j.inTask == nil {
		return work()
	}
	return j.inTask(work)
}
