package engine

import (
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/deadline"
	"github.com/bartleby-mq/bartleby/internal/journal"
	"github.com/bartleby-mq/bartleby/internal/place"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// machineState is a machine's state at one index of its log.
type machineState struct {
	log    place.LogID
	at     place.Index
	bytes  []byte                             // nil: nothing has changed since the checkpoint before
	live   func(first, last place.Index) bool // has records in those batches
	stored func()                             // the checkpoint is durable
}

// newRunner folds a vhost's checkpoint and what came after it.
func (e *Engine) newRunner(name string, log place.LogID) (*runner, error) {
	r := &runner{
		name: name, log: &diskLog{scribe: e.scribe, id: log}, engine: e, slog: e.slog,
		wake: make(chan struct{}, 1), stop: make(chan struct{}), stopped: make(chan struct{}),
		told: map[vhost.Loss]deadline.Instant{}, cache: newBatchCache(), links: map[vhost.ConnID]*Link{}, ports: map[vhost.ChannelID]*port{},
		time: vhostTime{clock: e.clock},
	}
	r.vhost = vhost.New(name, log, r)
	err := r.log.Restore(func(at place.Index, state []byte) error {
		r.checkpointed.Store(uint64(at))
		if err := r.vhost.Fold(0, state); err != nil {
			return fmt.Errorf("checkpoint: %w", err)
		}
		return nil
	}, r.vhost.Fold)
	if err != nil {
		return nil, err
	}
	next, err := r.log.Reserve(journal.Draining)
	if err != nil {
		return nil, err
	}
	r.appended, r.safe = next-1, next-1
	r.safeTo.Store(uint64(r.safe))
	r.safeIs.Store(uint64(r.safe))
	if c, ok := e.clock.(*TestClock); ok { // moved ahead before a restart: it stands where it stood
		c.moveTo(int64(r.vhost.Logged()) * int64(time.Millisecond))
	}
	r.time.atLeast(r.vhost.Logged())
	r.begin()
	r.decide(nil, &vhost.Command{Kind: vhost.Recovered})
	return r, nil
}

// own waits for the ownership of r.
func (r *runner) own() {
	for !r.owned.CompareAndSwap(false, true) {
		runtime.Gosched()
	}
}

// freeze returns what a vhost's next checkpoint holds; no state, if nothing has changed since the last.
func (r *runner) freeze() (machineState, bool) {
	r.own()
	defer r.release()
	if r.failure.Load() != nil {
		return machineState{}, false
	}
	r.finish()
	r.begin()
	st := machineState{log: r.log.ID(), at: r.appended, live: liveIn(r.vhost.LiveBatches())}
	st.stored = func() { r.checkpointed.Store(uint64(st.at)) }
	if uint64(st.at) != r.checkpointed.Load() {
		st.bytes = r.vhost.Snapshot(nil)
	}
	return st, st.at > 0
}

// liveIn answers for a sorted list of batches whether any lies in a range.
func liveIn(batches []place.Index) func(first, last place.Index) bool {
	return func(first, last place.Index) bool {
		i, _ := slices.BinarySearch(batches, first)
		return i < len(batches) && batches[i] <= last
	}
}

// dueBy lets what is due happen, and tells whether that has led to more.
func (r *runner) dueBy(now deadline.Instant, more *bool) func(*vhost.VHost) {
	return func(v *vhost.VHost) {
		at, ok := v.Due()
		*more = ok && at <= now
	}
}

// shutDown ends a runner whose goroutine has ended: whoever still waits is told.
func (r *runner) shutDown() {
	r.own()
	r.run(1)
	r.fail(amqp.ConnectionForced("broker forced connection closure with reason 'shutdown'"))
	r.finish()
	r.abandon()
	r.failure.Store(nil) // its state is still good for a checkpoint
	r.begin()
	r.release()
}
