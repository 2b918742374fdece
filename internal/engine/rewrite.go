package engine

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/bartleby-mq/bartleby/internal/accounts"
	"github.com/bartleby-mq/bartleby/internal/journal"
	"github.com/bartleby-mq/bartleby/internal/storage"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

const (
	// rewriteStep is how many bytes are copied between two pauses.
	rewriteStep = 128 << 10
	// restTimes is by how much longer than the work the pause is where rewriting keeps up with what is settled.
	restTimes = 4
	// grainsPerSegment is into how many parts of a segment what is live is told apart, about.
	grainsPerSegment = 64
	// markPortion is how many chunks of messages are looked at while others wait: less than a millisecond's work.
	markPortion = 256
)

// rewrite gives back the space of sparse segments, the sparsest first, until none is worth it or more answers false:
// what is live in them is found by their vhosts, copied beside the traffic, and put in their place. Source: ours,
// decision 10.
func (e *Engine) rewrite(more func() bool) error {
	e.rewriting.Store(true)
	defer e.rewriting.Store(false)
	for more() {
		w, err := e.sparse(e.live.Load().bytes)
		if err != nil || w == nil {
			return err
		}
		n, err := e.rewriteOne(w)
		e.writer.statistics.rewrote(n, err)
		if err != nil {
			e.maintain(func(j *journal.Journal) error {
				j.Abandon(w)
				return nil
			})
			return err
		}
		e.slog.Debug("sparse segments compacted", "count", n)
	}
	return nil
}

func (e *Engine) sparse(live journal.Live) (w *journal.Rewriting, err error) {
	err = e.maintain(func(j *journal.Journal) error {
		w, err = j.Sparse(live, e.sparseShare)
		return err
	})
	return w, err
}

// liveLogs is what is needed of each log, as of the newest checkpoints.
type liveLogs map[storage.LogID]vhost.Use

// bytes implements journal.Live. Of a vhost that is down nothing is known: it needs all it has.
func (l liveLogs) bytes(log storage.LogID, first, last storage.Index) int64 {
	use, known := l[log.Owner()]
	if !known {
		return unknownBytes
	}
	return use.Bytes(log, first, last)
}

// total is how many bytes are needed in all.
func (l liveLogs) total() (bytes int64) {
	for log, use := range l {
		bytes += use.Bytes(log, 0, math.MaxUint64) + use.Bytes(log.Pages(), 0, math.MaxUint64)
	}
	return bytes
}

// unknownBytes is more than a segment holds.
const unknownBytes = 1 << 40

// maintain makes a call of the journal in maintenance.
func (e *Engine) maintain(fn func(*journal.Journal) error) error {
	maintenance, done := e.writer.maintenance, make(chan error, 1)
	maintenance.do(func() { done <- maintenance.job(fn) })
	return <-done
}

// rewriteOne finds what is live, copies it, and tells how many segments have gone.
func (e *Engine) rewriteOne(w *journal.Rewriting) (gone int, err error) {
	losses := e.writer.losses.Load()
	spans, marked := map[storage.LogID][]storage.Span{}, map[*runner]storage.Index{}
	for _, g := range w.Ranges() {
		spans[g.Log.Owner()] = append(spans[g.Log.Owner()], storage.Span(g))
	}
	for _, r := range e.allRunners() {
		if of := spans[r.log.ID()]; of != nil {
			delete(spans, r.log.ID())
			refs, at, err := r.mark(of)
			if err != nil {
				return 0, err
			}
			marked[r] = at
			w.Keep(refs)
		}
	}
	delete(spans, storage.LogID(accounts.OwnLogID))
	for log := range spans {
		return 0, fmt.Errorf("log %d: its vhost is down, so the live data is unknown", log)
	}
	// What was not marked has ended: by batches that must be safe before it may go, and must never look like an
	// unfinished tail.
	err = e.writer.settleAndMark()
	if e.writer.losses.Load() != losses {
		return 0, errors.New("batches were lost: the data of messages that they ended is needed again")
	}
	if err != nil {
		return 0, err
	}
	end := time.Now().Add(settlePatience)
	for r, at := range marked {
		if !settles(func() bool { return r.log.Settled(at) }, end) {
			return 0, fmt.Errorf("vhost '%s': what has ended is not safe yet", r.name)
		}
	}
	for done := false; !done; {
		began := time.Now()
		if done, err = w.Step(rewriteStep); err != nil {
			return 0, err
		}
		time.Sleep(e.restAfter(time.Since(began), w.Urgent()))
	}
	err = e.maintain(func(j *journal.Journal) error {
		gone, err = j.Adopt(w)
		return err
	})
	return gone, err
}

// restAfter is the pause after work that took so long: the disk and the processors are for messages first. A broker
// that ends, or has no traffic, does not wait.
func (e *Engine) restAfter(work time.Duration, urgent bool) time.Duration {
	switch {
	case e.writer.resting.Load() || e.compactor.ending.Load():
		return 0
	case !urgent:
		work *= restTimes
	}
	return min(work, 100*time.Millisecond)
}

// mark finds what of those batches the vhost needs after batch at, a portion at a time.
func (r *runner) mark(spans []storage.Span) (refs []storage.Ref, at storage.Index, err error) {
	alive := r.between(func() { r.vhost.Mark(spans) })
	for more := true; more && alive; {
		alive = r.between(func() { more = r.vhost.MarkSome(markPortion) })
	}
	alive = alive && r.between(func() {
		refs = r.vhost.Marked()
		r.finish() // what has ended is in the log, to be synced
		r.begin()
		at = r.appended
	})
	if !alive {
		return nil, 0, fmt.Errorf("vhost '%s' has stopped", r.name)
	}
	return refs, at, nil
}
