package engine

import (
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/bartleby-mq/bartleby/internal/journal"
	"github.com/bartleby-mq/bartleby/internal/place"
)

// keeper keeps house in the journal, one thing at a time, so that the scribe never waits for it: it makes segments ready
// ahead of need and writes the tables of full ones, and does the jobs it is given: checkpoints, giving space back,
// forgetting deleted logs.
type keeper struct {
	scribe *scribe
	slog   *slog.Logger
	house  chan struct{} // who has put something into it keeps house: the keeper, or the scribe if it cannot go on
	wake   chan struct{}
	done   chan struct{}

	mu struct {
		sync.Mutex
		jobs    []func()
		closing bool
	}

	// The goroutine's own.
	refused time.Time // when the disk had no room for another file
}

func newKeeper(s *scribe, l *slog.Logger) *keeper {
	return &keeper{
		scribe: s, slog: l,
		house: make(chan struct{}, 1), wake: make(chan struct{}, 1), done: make(chan struct{}),
	}
}

// do runs fn on the keeper's goroutine, behind what it was given before.
func (k *keeper) do(fn func()) {
	k.mu.Lock()
	k.mu.jobs = append(k.mu.jobs, fn)
	k.mu.Unlock()
	k.kick()
}

func (k *keeper) kick() {
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

// close ends the goroutine when the jobs that it has are done.
func (k *keeper) close() {
	k.mu.Lock()
	k.mu.closing = true
	k.mu.Unlock()
	k.kick()
	<-k.done
}

// run is the keeper's goroutine. On a full disk it tries again from time to time.
func (k *keeper) run() {
	defer close(k.done)
	retry := time.NewTimer(noSpaceRetry)
	defer retry.Stop()
	for {
		job, closing := k.take()
		switch {
		case job != nil:
			job()
		case closing:
			return
		case k.prepare(k.mayMake()):
		default:
			var again <-chan time.Time
			if k.scribe.full.Load() {
				retry.Reset(noSpaceRetry)
				again = retry.C
			}
			select {
			case <-k.wake:
			case <-again:
				k.scribe.drained()
			}
		}
	}
}

func (k *keeper) take() (job func(), closing bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.mu.jobs) > 0 {
		job = k.mu.jobs[0]
		k.mu.jobs = k.mu.jobs[1:]
	}
	return job, k.mu.closing
}

// mayMake reports whether files may be made now: a disk that had no room is not asked again at once.
func (k *keeper) mayMake() bool {
	return !k.scribe.full.Load() || time.Since(k.refused) >= noSpaceRetry
}

// prepare does a step towards what shall be ready; more reports that there is more to do.
func (k *keeper) prepare(make bool) (more bool) {
	err := k.keep(func(j *journal.Journal) (err error) {
		more, err = j.Prepare(make)
		return err
	})
	switch {
	case errors.Is(err, journal.ErrNoSpace):
		k.refused = time.Now()
		k.scribe.becomeFull()
	case err != nil:
		k.slog.Error("cannot prepare a segment", "error", err)
	case !more && make:
		k.scribe.full.Store(false)
		k.scribe.noRoomFor(journal.Growing)
	default:
		k.scribe.lookForRoom()
	}
	return more
}

// keep makes one call that keeps house.
func (k *keeper) keep(call func(*journal.Journal) error) error {
	k.house <- struct{}{}
	err := k.scribe.call(call)
	<-k.house
	if errors.Is(err, journal.ErrFailed) {
		k.scribe.do((*scribe).mend)
	}
	return err
}

// job makes one call of a job, which may be a long one: what writing would wait for goes before it.
func (k *keeper) job(call func(*journal.Journal) error) error {
	for k.prepare(false) {
	}
	return k.keep(call)
}

// checkpoint makes state the start of recovery for a log.
func (k *keeper) checkpoint(log place.LogID, at place.Index, state []byte) error {
	return k.job(func(j *journal.Journal) error { return j.Checkpoint(log, at, state) })
}

// reclaim gives back the segments that nobody needs: live says how much of them the checkpointed states need.
func (k *keeper) reclaim(live journal.Live) error {
	return k.job(func(j *journal.Journal) error {
		n, err := j.Reclaim(live)
		k.scribe.deeds.reclaimed.Add(uint64(n))
		if n > 0 {
			k.slog.Debug("segments reclaimed", "count", n)
		}
		return err
	})
}
