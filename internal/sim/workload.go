package sim

import (
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// work lets clients ask for a few things; all of it is one batch, as after one read of a socket or several.
func (w *world) work() {
	recoveries := w.result.Recoveries
	if !w.updateSpace() {
		return
	}
	for range 1 + w.dice.IntN(6) {
		c, ok := w.Command()
		if !ok {
			continue
		}
		if w.full && w.vhost.Grows(&c) {
			continue // publishers wait while the disk is full
		}
		w.decide(c)
		if w.violation != nil || w.result.Recoveries != recoveries || w.deferred != nil {
			return
		}
	}
	w.finish()
	w.pace()
}

// pass lets time go by, little or much.
func (w *world) pass() {
	w.clock += []int64{0, 300_000, 1_000_000, 7_400_000, 40_000_000, 1_000_000_000}[w.dice.IntN(6)] * (1 + w.dice.Int64N(2))
	if w.dice.IntN(20) == 0 {
		w.skew = w.dice.Int64N(10_000_000_000) - 5_000_000_000
	}
}

// tick lets everything that is due happen, round by round, as the engine does.
func (w *world) tick() {
	recoveries := w.result.Recoveries
	if !w.updateSpace() {
		return
	}
	for w.violation == nil {
		if at, ok := w.vhost.Due(); !ok || at > w.stamp().Now {
			w.checkPunctual()
			return
		}
		w.decide(vhost.Command{Kind: vhost.Tick})
		if w.violation != nil || w.result.Recoveries != recoveries {
			return
		}
		w.finish()
		if w.pace(); w.result.Recoveries != recoveries || !w.updateSpace() {
			return
		}
	}
}
