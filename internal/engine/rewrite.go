package engine

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/bartleby-mq/bartleby/internal/access"
	"github.com/bartleby-mq/bartleby/internal/journal"
	"github.com/bartleby-mq/bartleby/internal/place"
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

// rewrite gives back the room of sparse segments, the sparsest first, until none is worth it or more answers false: what
// is live in them is found by their vhosts, copied beside the traffic, and put in their place. Source: ours, decision 10.
func (e *Engine) rewrite(more func() bool) error {
	e.rewriting.Store(true)
	defer e.rewriting.Store(false)
	for more() {
		w, err := e.sparse(e.live.Load().bytes)
		if err != nil || w == nil {
			return err
		}
		n, err := e.rewriteOne(w)
		e.scribe.deeds.rewrote(n, err)
		if err != nil {
			e.housekeep(func(j *journal.Journal) error {
				j.Abandon(w)
				return nil
			})
			return err
		}
		e.slog.Debug("sparse segments rewritten", "count", n)
	}
	return nil
}

func (e *Engine) sparse(live journal.Live) (w *journal.Rewriting, err error) {
	err = e.housekeep(func(j *journal.Journal) error {
		w, err = j.Sparse(live, e.sparseShare)
		return err
	})
	return w, err
}

// liveLogs is what is needed of each log, as of the newest checkpoints.
type liveLogs map[place.LogID]vhost.Use

// bytes implements journal.Live. Of a vhost that is down nothing is known: it needs all it has.
func (l liveLogs) bytes(log place.LogID, first, last place.Index) int64 {
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

// housekeep has the keeper make a call of the journal.
func (e *Engine) housekeep(fn func(*journal.Journal) error) error {
	keeper, done := e.scribe.keeper, make(chan error, 1)
	keeper.do(func() { done <- keeper.job(fn) })
	return <-done
}

// rewriteOne finds what is live, copies it, and tells how many segments have gone.
func (e *Engine) rewriteOne(w *journal.Rewriting) (gone int, err error) {
	losses := e.scribe.losses.Load()
	spans := map[place.LogID][]place.Span{}
	for _, g := range w.Ranges() {
		spans[g.Log.Owner()] = append(spans[g.Log.Owner()], place.Span(g))
	}
	for _, r := range e.allRunners() {
		if of := spans[r.log.ID()]; of != nil {
			delete(spans, r.log.ID())
			refs, err := r.mark(of)
			if err != nil {
				return 0, err
			}
			w.Keep(refs)
		}
	}
	delete(spans, place.LogID(access.OwnLogID))
	for log := range spans {
		return 0, fmt.Errorf("log %d: its vhost is down, so its live data is unknown", log)
	}
	// What was not marked has ended: by batches that must be safe before it may go.
	if e.scribe.settle(); e.scribe.losses.Load() != losses {
		return 0, errors.New("batches were lost: what they ended is needed again")
	}
	for done := false; !done; {
		began := time.Now()
		if done, err = w.Step(rewriteStep); err != nil {
			return 0, err
		}
		time.Sleep(e.restAfter(time.Since(began), w.Urgent()))
	}
	err = e.housekeep(func(j *journal.Journal) error {
		gone, err = j.Adopt(w)
		return err
	})
	return gone, err
}

// restAfter is the pause after work that took so long: the disk and the processors are for messages first. A broker
// that ends, or has no traffic, does not wait.
func (e *Engine) restAfter(work time.Duration, urgent bool) time.Duration {
	switch {
	case e.scribe.resting.Load() || e.tidier.ending.Load():
		return 0
	case !urgent:
		work *= restTimes
	}
	return min(work, 100*time.Millisecond)
}

// mark finds what of those batches the vhost needs, a portion at a time.
func (r *runner) mark(spans []place.Span) (refs []place.Ref, err error) {
	alive := r.between(func() { r.vhost.Mark(spans) })
	for more := true; more && alive; {
		alive = r.between(func() { more = r.vhost.MarkSome(markPortion) })
	}
	alive = alive && r.between(func() {
		refs = r.vhost.Marked()
		r.finish() // what has ended is in the log, to be synced
		r.begin()
	})
	if !alive {
		return nil, fmt.Errorf("vhost '%s' has stopped", r.name)
	}
	return refs, nil
}
