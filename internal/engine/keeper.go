package engine

import (
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/bartleby-mq/bartleby/internal/journal"
	"github.com/bartleby-mq/bartleby/internal/place"
	"github.com/bartleby-mq/bartleby/internal/vfs"
)

const (
	// ampleBytes of free disk are enough to put off making spare segments while there is traffic, for those that are given
	// back will serve; and to do with the reserve in a pause.
	ampleBytes = 2 << 30
)

// keeper keeps house in the journal, one thing at a time, so that the scribe never waits for it: it makes segments ready
// ahead of need and writes the tables of full ones, and does the jobs it is given: checkpoints, giving space back,
// forgetting deleted logs.
type keeper struct {
	scribe *scribe
	fs     vfs.FS
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

func newKeeper(s *scribe, fs vfs.FS, l *slog.Logger) *keeper {
	return &keeper{
		scribe: s, fs: fs, slog: l,
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

// run is the keeper's goroutine. In traffic it does what the scribe would soon have to wait for, in a pause the rest. On
// a full disk it tries again from time to time.
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
		case k.prepare(k.wanted()):
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

// wanted is which segments should be ready now: the reserve in a pause, and more when the disk is so full that the reserve
// must be kept complete in traffic. A disk that had no room is not asked again at once.
func (k *keeper) wanted() journal.Stock {
	free, err := k.fs.Free()
	switch {
	case k.scribe.full.Load() && time.Since(k.refused) < noSpaceRetry:
		return journal.None
	case err != nil || free <= ampleBytes || k.scribe.full.Load():
		return journal.Ample
	case k.scribe.resting.Load():
		return journal.Rest
	}
	return journal.Least
}

// prepare does a step towards what shall be ready; more reports that there is more to do.
func (k *keeper) prepare(stock journal.Stock) (more bool) {
	err := k.keep(func(j *journal.Journal) (err error) {
		more, err = j.Prepare(stock)
		return err
	})
	switch {
	case errors.Is(err, journal.ErrNoSpace):
		k.refused = time.Now()
		k.scribe.full.Store(true)
		k.scribe.lookForRoom()
	case err != nil:
		k.slog.Error("cannot prepare a segment", "error", err)
	case !more && stock == journal.Ample:
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
	for k.prepare(journal.None) {
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
