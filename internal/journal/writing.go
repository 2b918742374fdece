package journal

import "github.com/bartleby-mq/bartleby/internal/journal/segment"

// writing is the task that writes: a group, a sync, or a record of what is safe. There is one at a time, and its memory
// is used again, for one is made for each group of messages.
type writing struct {
	j    *Journal
	task Task

	group []Batch // that is left to be written
	sync  bool    // what was written is still to be synced
	mark  bool    // what is safe is still to be recorded
	marks bool    // the record of that is written

	doing diskStep            // planned last
	head  segment.GroupHeader // of what is put
	n     int                 // batches of the group that are put

	put, syncOpen func() error // the work, made once
}

// diskStep is what the disk is asked for.
type diskStep uint8

const (
	idle diskStep = iota
	putting
	syncing
	marking // an empty group
)

// of makes w the writing of j.
func (w *writing) of(j *Journal) {
	w.j = j
	w.task.plan = w.plan
	w.put = func() error { return j.put(j.open, w.head, w.group[:w.n]) }
	w.syncOpen = func() error { return j.open.Disk.Sync() }
}

// begin makes w ready for another task, in which there is nothing to be done yet.
func (w *writing) begin() *writing {
	w.task.worked, w.task.err = nil, nil
	w.group, w.sync, w.mark, w.marks, w.doing = nil, false, false, false, idle
	return w
}

// plan commits the step before, and plans the next.
func (w *writing) plan() (work func() error) {
	if err := w.commit(); err != nil {
		w.task.err = err
		return w.over()
	}
	j := w.j
	for len(w.group) > 0 {
		n, size := 0, int64(0)
		if j.open != nil {
			n, size = j.open.fit(w.group)
		}
		if n > 0 {
			return w.append(putting, n, size)
		}
		// whoever finds a group in the next may trust this one to be whole
		if len(j.dirty) > 0 {
			return w.makeSafe()
		}
		j.roll()
	}
	if w.mark {
		return w.append(marking, 0, segment.GroupHeaderBytes)
	}
	if w.sync {
		return w.makeSafe()
	}
	return w.over()
}

// append plans a group of so many batches, which fits into the open segment.
func (w *writing) append(as diskStep, n int, size int64) (work func() error) {
	s := w.j.open
	w.doing, w.n = as, n
	w.head = segment.GroupHeader{
		At: s.End, Size: size, Safe: s.safe, Before: s.Batches, Count: uint32(n), Prior: s.prior,
	}
	return w.put
}

// makeSafe plans a sync of the open segment.
func (w *writing) makeSafe() (work func() error) {
	w.doing = syncing
	return w.syncOpen
}

// commit takes note of what the disk has done.
func (w *writing) commit() error {
	j, err, done := w.j, w.task.worked, w.doing
	w.doing = idle
	switch done {
	case putting, marking:
		if err != nil {
			return j.tear(err)
		}
		j.wrote(&w.head, w.group[:w.n])
		w.group = w.group[w.n:]
		if done == marking {
			w.mark, w.marks, w.sync = false, true, true
		}
	case syncing:
		if err != nil {
			return j.tear(err)
		}
		j.synced()
		if w.sync = false; w.marks {
			j.open.marked = j.open.End
		}
	}
	return nil
}

// over ends the task.
func (w *writing) over() (work func() error) {
	w.group, w.j.needed = nil, 0
	return nil
}
