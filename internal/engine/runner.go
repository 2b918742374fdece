package engine

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/deadline"
	"github.com/bartleby-mq/bartleby/internal/engine/recordcache"
	"github.com/bartleby-mq/bartleby/internal/engine/resource"
	"github.com/bartleby-mq/bartleby/internal/journal"
	"github.com/bartleby-mq/bartleby/internal/memory"
	"github.com/bartleby-mq/bartleby/internal/storage"
	"github.com/bartleby-mq/bartleby/internal/vhost"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

const (
	// inPlaceMax is how many commands whoever submits them steps on an idle vhost; more wakes its goroutine.
	inPlaceMax = 32
	// batchBytesMax is how large a batch of the log grows before the next is begun; with small segments no larger than
	// a part of one, for a batch is not divided.
	batchBytesMax, batchesPerSegment = 4 << 20, 8
	// batchCommandsMax bounds the commands of one batch likewise, so that effects do not wait for long.
	batchCommandsMax = 4096
	// tendEvery is how often is looked for what the cache could give back.
	tendEvery = 5 * time.Second
)

// runner runs one vhost. What is not in mu, and not atomic, belongs to the owner: whose turn it is.
type runner struct {
	name   string
	log    Log
	engine *Engine
	slog   *slog.Logger

	ownership fifoMutex
	wake      chan struct{}
	stop      chan struct{}
	stopped   chan struct{}
	safeTo    atomic.Uint64 // what the log writer says
	safeIs    atomic.Uint64 // what the owner knows of it
	failure   atomic.Pointer[failure]

	mu struct {
		sync.Mutex
		inbox []request
		spare []request
	}

	vhost        *vhost.VHost
	sync         vhost.Sync // that the log writer knows of
	pages        *pageLog
	replayed     bool // the log had batches behind its checkpoint
	time         vhostTime
	now          reading
	jobRights    authz.Jobs
	timerAt      deadline.Instant // when the goroutine fires its timer; never, for a clock that stands still
	cache        *recordcache.Cache
	history      sharedHistory
	tended       bool      // the goroutine will look after the cache,
	tendAt       time.Time // then
	safe         storage.Index
	out          vhost.Outcome
	buffer       int // capacity that the next batch will want
	sessions     map[fact.ConnID]*Session
	outboxes     map[vhost.ChannelID]*outbox
	last         *outbox
	held         []*outbox // with effects that wait
	looks        []look    // answers that wait
	parked       []request // publishes that wait for the end of alarms, and what comes behind them
	stalled      []request // what waits until anything can be written
	cramped      bool      // the vhost knows that there is no space for dead letters to move,
	lowMemory    bool      // and no memory to hold more of them
	pacing       pacing
	busy         []*Session // that wait for a command of theirs which ticks go on with
	queue        sessionQueue
	blocked      int                             // sessions that were told so
	alarmed      bool                            // those who have published were
	heldBackBy   resource.Alarms                 // the last that held
	decided      uint64                          // grows with each command; no two runners have the same
	changed      atomic.Uint64                   // decided, for all to see
	attached     atomic.Int64                    // how many sessions there are
	permitted    uint64                          // version of the permissions that consumers were checked against
	told         map[vhost.Loss]deadline.Instant // when a loss was logged last
	uncommitted  holders                         // of what transactions hold
	subscribed   holders                         // of what channels and consumers take
	objects      int64                           // bytes that queues, exchanges and bindings take, as they are counted
	flush        []*Session
	narrowedAt   time.Time // when unused windows were looked for
	appended     storage.Index
	next         storage.Index // of the batch that is being decided
	checkpointed atomic.Uint64 // index that the newest checkpoint covers
	urged        storage.Index // a sync was asked for that covers the batches up to here
}

// failure is why a runner has stopped for good.
type failure struct{ err *amqp.Error }

func (r *runner) put(p request) {
	small := p.batch == nil || len(p.batch.Commands) <= inPlaceMax // asked now: then the batch is the owner's
	r.mu.Lock()
	r.mu.inbox = append(r.mu.inbox, p)
	r.mu.Unlock()
	if small {
		r.here()
	} else {
		r.kick()
	}
}

func (r *runner) kick() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// release ends an ownership. What came meanwhile is for the runner's goroutine, and so is a deadline before
// the one that its timer waits for.
func (r *runner) release() {
	at, ok := r.vhost.Due()
	if ok && !r.engine.clock.Running() { // what is due now is left over from a step
		now, _, _ := r.time.read()
		r.timerAt = now + 1
	}
	paced, paces := r.nextPaced()
	sooner := ok && at < r.timerAt || paces && paced < r.timerAt || !r.tended && r.cache.Busy() || r.queue.queued > 0
	r.ownership.pass()
	if sooner || r.pending() {
		r.kick()
	}
}

func (r *runner) pending() bool {
	r.mu.Lock()
	n := len(r.mu.inbox)
	r.mu.Unlock()
	return n > 0 || r.safeTo.Load() > r.safeIs.Load()
}

// becameSafe implements Listener. On the log writer's goroutine effects are let go, but nothing is stepped: a step
// may wait for space in the log, which nobody but the log writer makes.
func (r *runner) becameSafe(i storage.Index) {
	r.safeTo.Store(uint64(i))
	if r.failure.Load() == nil && r.ownership.try() {
		r.releaseSafe()
		r.flushDoors()
		r.release()
		return
	}
	r.kick()
}

// lost implements Listener: the runner ends; the engine opens the vhost anew.
func (r *runner) lost(err error) {
	r.fail(amqp.InternalError("vhost '%s' lost its log: %v", r.name, err))
	r.engine.reopen(r)
}

// fail stops the runner for good.
func (r *runner) fail(err *amqp.Error) {
	r.failure.CompareAndSwap(nil, &failure{err})
	r.kick()
}

// here does what there is to do in place, if nobody else is at it.
func (r *runner) here() {
	if r.ownership.try() {
		r.run(1)
		r.release()
		return
	}
	r.kick()
}

// serve is the runner's goroutine: it takes ownership whenever there is something to do that nobody has done
// in place, and lets time pass.
func (r *runner) serve() {
	defer close(r.stopped)
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		if !r.ownership.take(r.stop) {
			return
		}
		r.run(0)
		wait := min(r.untilDue(), r.tend())
		r.release()
		timer.Reset(wait)
		select {
		case <-r.wake:
		case <-timer.C:
		case <-r.stop:
			return
		}
	}
}

// tend gives back what the cache has no use for, now and then, and tells when to come again.
func (r *runner) tend() time.Duration {
	now := time.Now()
	switch {
	case !r.cache.Busy():
		r.tended = false
		return time.Hour
	case !r.tended:
		r.tended, r.tendAt = true, now.Add(tendEvery)
	case !now.Before(r.tendAt):
		r.cache.Trim()
		r.tendAt = now.Add(tendEvery)
	}
	return r.tendAt.Sub(now)
}

// untilDue is how long nothing is due. A clock that stands still is advanced from outside.
func (r *runner) untilDue() time.Duration {
	const long = time.Hour
	if !r.engine.clock.Running() || r.failure.Load() != nil {
		return long
	}
	now, _, _ := r.time.read()
	r.timerAt = now + deadline.Instant(long/time.Millisecond)
	at, ok := r.vhost.Due()
	ok = ok && r.mayWrite() // who makes space wakes it
	if paced, paces := r.nextPaced(); paces && (!ok || paced < at) {
		at, ok = paced, true
	}
	if !ok {
		return long
	}
	r.timerAt = min(at, r.timerAt)
	return min(r.time.until(at), long)
}

// run does what there is to do: it releases what has become safe, steps what is in the inbox, and lets time
// pass. With rounds it stops after so many, else when nothing is left, or somebody waits for the ownership.
func (r *runner) run(rounds int) {
	defer r.recoverRead()
	for n := 0; rounds == 0 || n < rounds; n++ {
		if r.failure.Load() != nil {
			r.abandon()
			return
		}
		r.releaseSafe()
		r.heedAlarms()
		r.mu.Lock()
		inbox := r.mu.inbox
		r.mu.inbox, r.mu.spare = r.mu.spare[:0], nil
		r.mu.Unlock()
		ticked := r.step(inbox)
		r.unpace()
		clear(inbox)
		r.mu.Lock()
		r.mu.spare = inbox[:0]
		r.mu.Unlock()
		r.flushDoors()
		rests := len(inbox) == 0 && !ticked && r.queue.queued == 0 && storage.Index(r.safeTo.Load()) <= r.safe
		if rests || r.ownership.awaited() {
			return
		}
	}
}

// step decides a round of requests, then what the next session has left from rounds before, in batches of the log.
func (r *runner) step(inbox []request) (ticked bool) {
	if stalled := r.unstall(); stalled != nil {
		inbox = append(stalled, inbox...)
	}
	if parked := r.unpark(); parked != nil {
		inbox = append(parked, inbox...)
	}
	r.begin()
	r.updateSpace()
	r.withdraw()
	r.queue.beginRound(inbox)
	for i := range inbox {
		p := &inbox[i]
		if p.look == nil {
			r.stepBatch(p)
			continue
		}
		r.finish()
		p.look(r.vhost)
		r.answer(p)
		r.begin()
	}
	r.serveQueue()
	if at, ok := r.vhost.Due(); ok && r.queue.mayTick() && r.mayWrite() {
		if s := r.stamp(); at <= s.Now {
			ticked = true
			r.decide(nil, &vhost.Command{Kind: vhost.Tick})
			r.vhost.Overgrown() // what a tick has published is no fault of the next batch
			r.queue.ticked(r.vhost.Work())
			r.resume()
		}
	}
	r.cache.Prefetch(r.vhost)
	r.finish()
	r.countObjects()
	return ticked
}

// decide asks for permission and steps one command.
func (r *runner) decide(session *Session, c *vhost.Command) {
	r.decided++
	s := r.stampOf(c)
	var err error
	if session != nil && !session.info.Local {
		if refused := r.authorize(session, c); refused != nil {
			err = refused
		}
	}
	if err == nil && c.Kind == vhost.DeclareQueue {
		if refused := r.beforeDeclare(c); refused != nil {
			err = refused
		}
	}
	if err == nil {
		if refused := r.refuseObject(c); refused != nil {
			err = refused
		}
	}
	if err == nil {
		err = r.vhost.Step(s, *c, &r.out)
	}
	if refused := r.countHeld(session); refused != nil {
		err = refused
	}
	if err == nil {
		return
	}
	var refused *amqp.Error
	if !errors.As(err, &refused) {
		refused = amqp.InternalError("%v", err)
	}
	r.vhost.Refuse(s, *c, refused, &r.out)
	_ = r.countHeld(session) // the channel that was closed has given back what it held
}

// countHeld follows a change by a command of s, which is nil for a tick, of what connections make the vhost hold. An
// error refuses the command.
func (r *runner) countHeld(s *Session) *amqp.Error {
	refused := r.uncommitted.count(s)
	if other := r.subscribed.count(s); other != nil {
		refused = other
	}
	return refused
}

// wants is when the runner is told what became of batches.
func (r *runner) wants() vhost.Sync {
	if r.sync = r.vhost.Sync(); r.sync != vhost.SyncDefault {
		return r.sync
	}
	return r.engine.sync
}

// begin readies the outcome for the batch to be. A buffer that no batch took serves again.
func (r *runner) begin() {
	buffer := r.out.Batch
	if cap(buffer) == 0 && r.buffer > 0 {
		buffer = memory.Uncleared(r.buffer)[:0]
	}
	r.out.Next(buffer)
	r.now.until = 0
	r.next = r.log.Next()
}

// finish appends what the batch left to the log and lets effects go, or holds them until it is safe.
func (r *runner) finish() {
	if r.changed.Load() != r.decided {
		r.changed.Store(r.decided)
	}
	batch, urgent := r.out.Seal()
	spare := r.out.Batch
	if len(batch) > journal.BatchBytesMax { // only this vhost stops, and forgets what it has just decided
		panic(storage.Fault{Err: fmt.Errorf("%w: a command has made %d bytes, the limit is %d", errBatchSize, len(batch), journal.BatchBytesMax)})
	}
	if batch != nil {
		batch, spare = r.fit(batch)
		r.appended = r.log.Append(batch, urgent)
		r.cache.Add(r.log.ID(), r.appended, batch)
		if urgent {
			r.urged = r.appended
		}
	}
	r.tellLosses()
	for i := range r.out.Effects {
		r.emit(&r.out.Effects[i])
	}
	r.endLoans()
	if r.vhost.Sync() != r.sync {
		r.engine.writer.setSync(r.log.ID(), r.wants())
	}
	r.out.Next(spare) // the batch is the log writer's, and the cache's; an effect leaves once, however often this is called
}

// fit gives a batch a buffer of about its size, for it will be kept: a small one is copied out of a large
// buffer, which serves again. The next buffer is as large as the largest batch of late, so that it need not
// grow while it is filled, which a profile showed at 17 % of a publisher's time.
func (r *runner) fit(batch []byte) (kept, spare []byte) {
	r.buffer = min(max(len(batch)+len(batch)/8, r.buffer-r.buffer/16), batchBytesMax+batchBytesMax/4)
	if 4*len(batch) < cap(batch) {
		return bytes.Clone(batch), batch[:0]
	}
	return batch, nil
}

// Record implements storage.Records: from memory, or from the disk.
func (r *runner) Record(ref storage.Ref) []byte {
	return orFault(r.cache.Get(ref))
}

// Head implements storage.Records.
func (r *runner) Head(ref storage.Ref, n int) []byte {
	return orFault(r.cache.Head(ref, n))
}

// orFault ends the step if a read has failed.
func orFault(data []byte, err error) []byte {
	if err != nil {
		panic(storage.Fault{Err: err})
	}
	return data
}

// recoverRead stops the vhost if a read failed in the middle of a step: what was decided in it is dropped.
func (r *runner) recoverRead() {
	p := recover()
	if p == nil {
		return
	}
	fault, ok := p.(storage.Fault)
	if !ok {
		panic(p)
	}
	r.fail(r.engine.stopped(r.name, "has stopped", fault.Err))
	r.abandon()
	r.engine.reopen(r)
}

// abandon tells everybody that the runner has ended.
func (r *runner) abandon() {
	err := r.failure.Load().err
	for _, s := range r.sessions {
		s.dropWaiting()
		if !s.closed {
			r.shut(s)
			s.frontend.Stopped(err)
		}
	}
	r.uncommitted.drop()
	r.subscribed.drop()
	r.dropObjects()
	clear(r.sessions)
	r.attached.Store(0)
	clear(r.outboxes)
	r.held, r.last = nil, nil
	r.queue.end()
	r.cache.Close()
	r.mu.Lock()
	inbox := slices.Concat(r.parked, r.stalled, r.mu.inbox)
	r.mu.inbox, r.parked, r.stalled = nil, nil, nil
	r.mu.Unlock()
	for _, p := range inbox {
		if p.batch != nil {
			p.batch.free()
		}
		if p.done != nil {
			p.done <- err
		}
	}
	for _, l := range r.looks {
		l.done <- err
	}
	r.looks = nil
}
