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
	RewriteRatio = 0.7

	// tidyEvery is how often the tidier looks.
	tidyEvery = time.Second
	// restingBytes are rewritten from one look to the next while nothing is appended.
	restingBytes = 64 << 20
	// restingLooks is after how many looks without traffic what has changed is checkpointed, if it is restingChange bytes
	// of the log, and lateLooks after how many looks it is in any case: only what a checkpoint covers can be given back.
	restingLooks  = 3
	restingChange = 256 << 10
	lateLooks     = 60
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
	idle   atomic.Bool // nothing was appended between the last two looks
	ending atomic.Bool

	// The goroutine's own, in bytes.
	appended int64 // ever, at the last look
	covered  int64 // of it, by the last checkpoints that were asked for
	extra    int64 // allowed beyond the ratio while there was no traffic
	looks    int   // since something was appended
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
	t.idle.Store(now == t.appended)
	if now != t.appended {
		t.appended, t.looks = now, 0
		return
	}
	if t.looks++; t.looks == shrinkLooks {
		t.shrink()
	}
	t.extra = min(t.extra+restingBytes, restingBytes)
	if changed := now - t.covered; t.looks == restingLooks && changed >= restingChange || t.looks == lateLooks && changed > 0 {
		t.covered = now
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
		t.engine.slog.Warn("files that are not needed stay", "error", err)
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
		t.engine.slog.Warn("sparse segments stay as they are", "error", err)
	}
}
