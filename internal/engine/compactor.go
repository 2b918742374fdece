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
	// otherwise. Where each message is as likely as any other to be settled next, the log then takes about 1.6 times
	// what is live. A higher ratio takes less space and more writing.
	RewriteRatio = 0.66

	// compactEvery is how often the compactor checks for work.
	compactEvery = time.Second
	// restingBytes are rewritten from one look to the next while nothing is appended.
	restingBytes = 64 << 20
	// restingLooks is after how many looks without traffic what has changed is checkpointed, if the checkpoint before
	// is apartLooks old: only what a checkpoint covers can be given back, and a purge of millions is a few bytes of the
	// log. While there is too little of the disk it is checkpointed at every look.
	restingLooks = 3
	apartLooks   = 20
	// shrinkLooks is after how many of them the files that are kept for the next traffic are removed, but for a few.
	shrinkLooks = 15
)

// compactor gives space back in the background, within an allowance: so much for each byte that traffic appends, and
// more while there is none.
type compactor struct {
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

func newCompactor(e *Engine) *compactor {
	return &compactor{engine: e, wake: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{})}
}

// kick says that a checkpoint was stored.
func (c *compactor) kick() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

func (c *compactor) close() {
	c.ending.Store(true)
	close(c.stop)
	<-c.done
}

// run is the compactor's goroutine.
func (c *compactor) run() {
	defer close(c.done)
	ticker := time.NewTicker(compactEvery)
	defer ticker.Stop()
	for {
		select {
		case <-c.wake:
			c.fresh = true
		case <-ticker.C:
			c.look()
		case <-c.stop:
			return
		}
		if c.fresh && c.allowance() > 0 {
			c.compact()
		}
	}
}

// look sees what traffic there was, and asks for a checkpoint in a pause.
func (c *compactor) look() {
	now := c.engine.writer.appended.Load()
	short := c.engine.LowOnDisk()
	c.engine.writer.resting.Store(now == c.appended)
	if !c.engine.writer.full.Load() {
		c.engine.writer.maintenance.kick() // what could not be made for another reason is tried again
	}
	c.apart++
	if c.looks++; now != c.appended {
		c.appended, c.looks = now, 0
	}
	if c.looks > 0 || short {
		c.extra = min(c.extra+restingBytes, restingBytes)
	}
	if short || c.looks == shrinkLooks {
		c.shrink()
	}
	if now != c.covered && (short || c.looks >= restingLooks && c.apart >= apartLooks) {
		c.covered, c.apart = now, 0
		c.engine.checkpointSoon()
	}
}

// shrink removes files that are ready to be written and will not be needed soon.
func (c *compactor) shrink() {
	err := c.engine.maintain(func(j *journal.Journal) error {
		_, err := j.Shrink()
		return err
	})
	if err != nil {
		c.engine.slog.Warn("cannot remove unneeded files", "error", err)
	}
}

// allowance is how many bytes may be rewritten now.
func (c *compactor) allowance() int64 {
	return int64(c.engine.rewriteRatio*float64(c.engine.writer.appended.Load())) + c.extra - c.spent()
}

// spent is how many bytes were rewritten.
func (c *compactor) spent() int64 {
	s := c.engine.writer
	s.tables.RLock()
	defer s.tables.RUnlock()
	return s.journal.Stats().Written.Rewriting
}

// compact rewrites until nothing is left, or the allowance is.
func (c *compactor) compact() {
	c.fresh = false
	err := c.engine.rewrite(func() bool {
		more := c.allowance() > 0 && !c.ending.Load()
		c.fresh = !more
		return more
	})
	if err != nil {
		c.fresh = c.engine.LowOnDisk() // nothing else may ever give space back: it is tried again at the next look
		c.engine.slog.Warn("cannot compact sparse segments", "error", err)
	}
}
