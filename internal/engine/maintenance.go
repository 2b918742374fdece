package engine

import (
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/bartleby-mq/bartleby/internal/journal"
)

// stepsBeforeJob is how many steps of preparing a job waits for; the longest writes 1 MiB of zeros.
const stepsBeforeJob = 64

// maintenance changes the files of the journal, one thing at a time, so that the log writer never waits for it: it
// makes segments ready ahead of need and writes the tables of full ones, and does the jobs it is given: checkpoints,
// giving space back, forgetting deleted logs.
type maintenance struct {
	writer *logWriter
	slog   *slog.Logger
	// who has put something into it may change files: maintenance, or the log writer if it cannot go on
	lock chan struct{}
	wake chan struct{}
	done chan struct{}

	mu struct {
		sync.Mutex
		jobs    []func()
		closing bool
	}

	// The goroutine's own.
	refused time.Time // when the disk had no space for another file
}

func newMaintenance(s *logWriter, l *slog.Logger) *maintenance {
	return &maintenance{
		writer: s, slog: l,
		lock: make(chan struct{}, 1), wake: make(chan struct{}, 1), done: make(chan struct{}),
	}
}

// do runs fn on the maintenance goroutine, behind what it was given before.
func (m *maintenance) do(fn func()) {
	m.mu.Lock()
	m.mu.jobs = append(m.mu.jobs, fn)
	m.mu.Unlock()
	m.kick()
}

func (m *maintenance) kick() {
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// close ends the goroutine when the jobs that it has are done.
func (m *maintenance) close() {
	m.mu.Lock()
	m.mu.closing = true
	m.mu.Unlock()
	m.kick()
	<-m.done
}

// run is the maintenance goroutine. On a full disk it tries again from time to time.
func (m *maintenance) run() {
	defer close(m.done)
	retry := time.NewTimer(noSpaceRetry)
	defer retry.Stop()
	for {
		job, closing := m.take()
		switch {
		case job != nil:
			job()
		case closing:
			return
		case m.prepare(m.mayMake()):
		default:
			var again <-chan time.Time
			if m.writer.full.Load() {
				retry.Reset(noSpaceRetry)
				again = retry.C
			}
			select {
			case <-m.wake:
			case <-again:
				m.writer.drained()
			}
		}
	}
}

func (m *maintenance) take() (job func(), closing bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.mu.jobs) > 0 {
		job = m.mu.jobs[0]
		m.mu.jobs = m.mu.jobs[1:]
	}
	return job, m.mu.closing
}

// mayMake reports whether files may be made now: a disk that had no space is not asked again at once.
func (m *maintenance) mayMake() bool {
	return !m.writer.full.Load() || time.Since(m.refused) >= noSpaceRetry
}

// prepare does a step towards what shall be ready; more reports that there is more to do.
func (m *maintenance) prepare(make bool) (more bool) {
	err := m.change(func(j *journal.Journal) (err error) {
		more, err = j.Prepare(make)
		return err
	})
	switch {
	case errors.Is(err, journal.ErrNoSpace):
		m.refused = time.Now()
		m.writer.becomeFull()
	case err != nil:
		m.slog.Error("cannot prepare a segment", "error", err)
	case !more && make:
		m.writer.full.Store(false)
		m.writer.setSpaceFor(journal.Growing)
	default:
		m.writer.checkSpace()
	}
	return more
}

// change makes one call that does maintenance.
func (m *maintenance) change(call func(*journal.Journal) error) error {
	m.lock <- struct{}{}
	err := m.writer.call(call)
	<-m.lock
	if errors.Is(err, journal.ErrFailed) {
		m.writer.do((*logWriter).mend)
	}
	return err
}

// job makes one call of a job, which may be a long one: what writing would wait for goes before it, and so do files for
// what is written meanwhile. Beside much traffic that would not end, so it has so many steps.
func (m *maintenance) job(call func(*journal.Journal) error) error {
	for steps := stepsBeforeJob; steps > 0 && m.prepare(m.mayMake()); steps-- {
	}
	for m.prepare(false) {
	}
	return m.change(call)
}

// checkpoints makes each of states the start of recovery for its log, and returns an error for each, or nil.
func (m *maintenance) checkpoints(states []journal.State) (errs []error) {
	err := m.job(func(j *journal.Journal) error {
		errs = j.Checkpoints(states)
		return errors.Join(errs...)
	})
	if errs == nil { // the journal was not reached
		errs = slices.Repeat([]error{err}, len(states))
	}
	return errs
}

// reclaim gives back the segments that nobody needs: live says how much of them the checkpointed states need.
func (m *maintenance) reclaim(live journal.Live) error {
	return m.job(func(j *journal.Journal) error {
		n, err := j.Reclaim(live)
		m.writer.statistics.reclaimed.Add(uint64(n))
		if n > 0 {
			m.slog.Debug("segments reclaimed", "count", n)
		}
		return err
	})
}
