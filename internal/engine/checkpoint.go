package engine

import (
	"fmt"
	"strconv"
	"time"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/deadline"
	"github.com/bartleby-mq/bartleby/internal/engine/recordcache"
	"github.com/bartleby-mq/bartleby/internal/storage"
	"github.com/bartleby-mq/bartleby/internal/vhost"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// machineState is a machine's state at one index of its log.
type machineState struct {
	log     storage.LogID
	at      storage.Index
	pieces  [][]byte      // of its bytes; nil: nothing has changed since the checkpoint before
	use     vhost.Use     // of the log, a little later
	settled func() bool   // the batches up to at can no longer be replaced
	stored  func(ok bool) // the checkpoint is durable, or never will be
	sound   func() bool   // the log has lost nothing of it
}

// newRunner replays the log of a vhost: its checkpoint, then the batches after it.
func (e *Engine) newRunner(o *opening) (r *runner, err error) {
	r = &runner{
		name: o.name, log: &diskLog{writer: e.writer, id: o.log}, engine: e, slog: e.slog,
		wake: make(chan struct{}, 1), stop: make(chan struct{}), stopped: make(chan struct{}),
		told: map[vhost.Loss]deadline.Instant{}, cache: recordcache.New(e.writer, &e.cached, e.jobs.Go), sessions: map[fact.ConnID]*Session{}, outboxes: map[vhost.ChannelID]*outbox{},
		time: vhostTime{clock: e.clock},
	}
	r.pages = &pageLog{r: r, first: r.log.NextPages(), spill: recordcache.NewSpill(e.fs, func() string { return strconv.FormatUint(e.ids.Add(1), 10) })}
	r.pages.next = r.pages.first
	r.decided = e.ids.Add(1) << 32
	r.vhost = vhost.New(o.name, o.log, r, r.pages)
	r.uncommitted = holdersOf(&e.uncommitted, r.vhost.Uncommitted())
	r.subscribed = holdersOf(&e.subscribed, r.vhost.Subscribed())
	r.jobRights = authz.Jobs{VHost: o.name, Machine: r.vhost.Reader(), Of: e.Rights}
	r.vhost.CountBy(e.grain)
	r.vhost.KeepHot(e.hotMessages, 0)
	made := r
	defer func() {
		if err != nil {
			made.drop()
		}
	}()
	r.vhost.InterruptBy(func() error { return e.goesOn(o) })
	defer recoverFault(&err)
	err = r.log.Restore(func(at storage.Index, state []byte) error {
		r.checkpointed.Store(uint64(at))
		if err := r.vhost.ApplyCheckpoint(state); err != nil {
			return fmt.Errorf("checkpoint: %w", err)
		}
		return nil
	}, func(i storage.Index, batch []byte) error {
		r.replayed = true
		return r.vhost.ApplyBatch(i, batch)
	})
	if err != nil {
		return nil, err
	}
	r.vhost.InterruptBy(nil)
	r.appended = r.log.Next() - 1
	r.safe = r.appended
	r.safeTo.Store(uint64(r.safe))
	r.safeIs.Store(uint64(r.safe))
	if c, ok := e.clock.(*TestClock); ok { // moved ahead before a restart: it stands where it stood
		c.moveTo(int64(r.vhost.Logged()) * nsPerMilli)
	}
	r.time.atLeast(r.vhost.Logged())
	r.begin()
	r.updateSpace()
	r.decide(nil, &vhost.Command{Kind: vhost.Recovered})
	r.countObjects()
	return r, nil
}

// drop gives back what a runner holds that was never entered.
func (r *runner) drop() {
	r.dropObjects()
	r.cache.Close()
	r.pages.spill.Close()
}

// own waits for the ownership of r.
func (r *runner) own() { r.ownership.take(nil) }

// recoverFault makes an error of a read that failed while a vhost was opened.
func recoverFault(err *error) {
	switch p := recover().(type) {
	case nil:
	case storage.Fault:
		*err = p.Err
	default:
		panic(p)
	}
}

// savePortion is how many chunks, or definitions, are saved for a checkpoint while others wait: less than a
// millisecond's work.
const savePortion = 2048

// A checkpoint waits for a change of policies that is not in force on all queues yet, so often and each time so long. A
// change for a million queues takes less, and a virtual host that does not go on does not hold the checkpoints of
// others back.
const (
	rulingTries = 2000
	rulingPause = time.Millisecond
)

// between runs fn between two steps, and reports whether the runner goes on.
func (r *runner) between(fn func()) (alive bool) {
	r.own()
	defer r.release()
	if r.failure.Load() != nil || r.engine.hurried.Load() {
		return false
	}
	defer r.recoverRead()
	fn()
	return r.failure.Load() == nil
}

// takeCheckpoint returns what a vhost's next checkpoint holds; no state, if nothing has changed
// since the last. The vhost goes on meanwhile.
func (r *runner) takeCheckpoint() (machineState, bool) {
	st := machineState{log: r.log.ID()}
	changed, alive := false, true
	for later, tries := true, 0; later && alive; tries++ {
		ruling := false
		alive = r.between(func() {
			later = r.vhost.PrepareCheckpoint(savePortion / 32)
			ruling = tries < rulingTries && (r.vhost.Ruling() || r.vhost.HasOrphans())
			if later || ruling {
				return
			}
			r.finish()
			r.begin()
			st.at = r.appended
			if changed = uint64(st.at) != r.checkpointed.Load() && !r.vhost.InCheckpoint(); changed {
				r.vhost.BeginCheckpoint(st.at)
			}
			st.use = r.vhost.Use()
		})
		if later = later || ruling; ruling {
			time.Sleep(rulingPause) // a tick goes on with it
		}
	}
	for more := changed; more && alive; {
		alive = r.between(func() { more = r.vhost.SaveCheckpoint(savePortion) })
	}
	alive = alive && r.between(func() {
		if changed {
			st.pieces = r.vhost.EndCheckpoint()
			r.pages.flush()
		}
		r.vhost.UsePages(&st.use, r.pages.next)
	})
	pages, wrote := r.pages.next-1, r.pages.next > r.pages.first
	st.settled = func() bool { return r.failure.Load() != nil || r.log.Settled(st.at) }
	st.sound = func() bool {
		return r.failure.Load() == nil && (!wrote || r.engine.writer.journal.Safe(st.log.Pages()) >= pages)
	}
	st.stored = func(ok bool) {
		if ok {
			r.checkpointed.Store(uint64(st.at))
		}
		r.between(func() {
			r.vhost.CheckpointStored(ok)
			r.releaseSafe() // effects of what ended before are the last to read it
			r.flushDoors()
		})
	}
	return st, alive && st.at > 0
}

// shutDown ends a runner whose goroutine has ended: whoever still waits is told. It reports whether its state is good
// for a checkpoint: not if the log has lost some of it.
func (r *runner) shutDown() (sound bool) {
	r.own()
	r.run(1)
	sound = r.failure.Load() == nil
	r.fail(amqp.ConnectionForced("broker forced connection closure with reason 'shutdown'"))
	r.finish()
	r.abandon()
	if sound {
		r.failure.Store(nil)
	}
	r.begin()
	r.release()
	return sound
}
