package engine

import (
	"sync/atomic"
	"time"

	"github.com/bartleby-mq/bartleby/internal/journal"
)

const (
	// SparseShare is the live share above which no segment is rewritten, if nobody says otherwise: what then is left to
	// be given back of a log that rests is less than 15 % of what is live.
	SparseShare = 0.87
	// RewriteRatio is how many bytes are rewritten for each that is appended while there is traffic, if nobody says
	// otherwise. Where each message is as likely as any other to be settled next, the log then takes about 1.6 times what
	// is live. A higher ratio takes less space and more writing.
	RewriteRatio = 0.66

	// tidyEvery is how often the tidier looks.
	tidyEvery = time.Second
	// restingBytes are rewritten from one look to the next while nothing is appended.
	restingBytes = 64 << 20
	// restingLooks is after how many looks without traffic what has changed is checkpointed, if the checkpoint before is
	// apartLooks old: only what a checkpoint covers can be given back, and a purge of millions is a few bytes of the log.
	// While there is too little of the disk it is checkpointed at every look.
	restingLooks = 3
	apartLooks   = 20
	// shrinkLooks is after how many of them the files that are kept for the next traffic are removed, but for a few.
	shrinkLooks = 15
)

// tidier gives space back in the background, within an allowance: so much for each byte that traffic appends, and more
// while there is none.
type tidier struct {
	engine *Engine
	wake   chan struct{} // a checkpoint was stored: there may be more to give back
	stop   chan struct{}
	done   chan struct{}
	ending atomic.Bool

	// The goroutine's own, in bytes.
	appended int64 // ever, at the last look
	covered  int64 // of it, by the last checkpoints that were asked for
	extra    int64 // allowed beyond the ratio while there was no traffic
	looks    int   // since something was appended
	apart    int   // looks since a checkpoint was asked for
	fresh    bool  // there is a checkpoint since nothing was left to rewrite
}

func newTidier(e *Engine) *tidier {
	return &tidier{engine: e, wake: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{})}
}

// kick says that a checkpoint was stored.
func (t *tidier) kick() {
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

func (t *tidier) close() {
	t.ending.Store(true)
	close(t.stop)
	<-t.done
}

// run is the tidier's goroutine.
func (t *tidier) run() {
	defer close(t.done)
	ticker := time.NewTicker(tidyEvery)
	defer ticker.Stop()
	for {
		select {
		case <-t.wake:
			t.fresh = true
		case <-ticker.C:
			t.look()
		case <-t.stop:
			return
		}
		if t.fresh && t.allowance() > 0 {
			t.tidy()
		}
	}
}

// look sees what traffic there was, and asks for a checkpoint in a pause.
func (t *tidier) look() {
	now := t.engine.scribe.appended.Load()
	short := t.engine.LowOnDisk()
	t.engine.scribe.resting.Store(now == t.appended)
	if !t.engine.scribe.full.Load() {
		t.engine.scribe.keeper.kick() // what could not be made for another reason is tried again
	}
	t.apart++
	if t.looks++; now != t.appended {
		t.appended, t.looks = now, 0
	}
	if t.looks > 0 || short {
		t.extra = min(t.extra+restingBytes, restingBytes)
	}
	if short || t.looks == shrinkLooks {
		t.shrink()
	}
	if now != t.covered && (short || t.looks >= restingLooks && t.apart >= apartLooks) {
		t.covered, t.apart = now, 0
		t.engine.checkpointSoon()
	}
}

// shrink removes files that are ready to be written and will not be needed soon.
func (t *tidier) shrink() {
	err := t.engine.housekeep(func(j *journal.Journal) error {
		_, err := j.Shrink()
		return err
	})
	if err != nil {
		t.engine.slog.Warn("cannot remove unneeded files", "error", err)
	}
}

// allowance is how many bytes may be rewritten now.
func (t *tidier) allowance() int64 {
	return int64(t.engine.rewriteRatio*float64(t.engine.scribe.appended.Load())) + t.extra - t.spent()
}

// spent is how many bytes were rewritten.
func (t *tidier) spent() int64 {
	s := t.engine.scribe
	s.tables.RLock()
	defer s.tables.RUnlock()
	return s.journal.Stats().Written.Rewriting
}

// tidy rewrites until nothing is left, or the allowance is.
func (t *tidier) tidy() {
	t.fresh = false
	err := t.engine.rewrite(func() bool {
		more := t.allowance() > 0 && !t.ending.Load()
		t.fresh = !more
		return more
	})
	if err != nil {
		t.fresh = t.engine.LowOnDisk() // nothing else may ever give space back: it is tried again at the next look
		t.engine.slog.Warn("cannot compact sparse segments", "error", err)
	}
}
