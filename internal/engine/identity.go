package engine

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/bartleby-mq/bartleby/internal/access"
	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/journal"
	"github.com/bartleby-mq/bartleby/internal/storage"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// accessLog is the machine of users and vhosts with its log. Changes hold Engine.change until they are in force; mu is
// held for the moment of deciding alone, so that a checkpoint sees no half of a change and waits for no disk.
type accessLog struct {
	engine  *Engine
	mu      sync.Mutex
	machine *access.Machine
	next    storage.Index
	stored  atomic.Uint64 // batch that the newest checkpoint covers
	waiting struct {
		sync.Mutex
		safe   storage.Index
		failed error
		change chan struct{} // closed at every change of the above
	}
}

// furnish adds what a vhost that was just made begins with.
func (a *accessLog) furnish(name string, out *access.Outcome) error {
	for _, c := range a.engine.newVHosts.commands(name, a.machine.View()) {
		if c.Kind == access.PutUser {
			c.Salt = newSalt()
		}
		if err := a.machine.Step(c, out); err != nil {
			return err
		}
	}
	out.Created = true
	return nil
}

func (e *Engine) openAccess() error {
	a := &accessLog{engine: e, machine: access.New()}
	a.waiting.change = make(chan struct{})
	log := &diskLog{writer: e.writer, id: storage.LogID(access.OwnLogID)}
	fold := func(_ storage.Index, facts []byte) error {
		list, err := access.ParseFacts(nil, facts)
		for _, f := range list {
			a.machine.Apply(f)
		}
		return err
	}
	checkpoint := func(at storage.Index, facts []byte) error {
		a.stored.Store(uint64(at))
		return fold(at, facts)
	}
	if err := log.Restore(checkpoint, fold); err != nil {
		return fmt.Errorf("users and vhosts: %w", err)
	}
	a.next = log.next
	a.waiting.safe = a.next - 1
	e.access.Store(a)
	e.view.Store(a.machine.View())
	e.writer.listen(log.id, a, vhost.SyncAlways)
	return nil
}

func (a *accessLog) becameSafe(i storage.Index) { a.tell(i, nil) }

// lost refuses the changes under way: what they built on is gone. The machine is opened anew at what is safe.
func (a *accessLog) lost(err error) {
	a.tell(0, err)
	e := a.engine
	e.mu.RLock()
	defer e.mu.RUnlock()
	if e.mu.closed {
		return
	}
	e.jobs.Go(func() {
		e.change.Lock()
		defer e.change.Unlock()
		e.writer.settle()
		if err := e.openAccess(); err != nil {
			e.slog.Error("cannot reopen users and vhosts", "error", err)
		}
	})
}

func (a *accessLog) tell(i storage.Index, err error) {
	w := &a.waiting
	w.Lock()
	defer w.Unlock()
	w.safe, w.failed = max(w.safe, i), err
	close(w.change)
	w.change = make(chan struct{})
}

// await waits until batch i is safe.
func (a *accessLog) await(ctx context.Context, i storage.Index) error {
	for {
		a.waiting.Lock()
		safe, failed, change := a.waiting.safe, a.waiting.failed, a.waiting.change
		a.waiting.Unlock()
		switch {
		case failed != nil:
			return amqp.InternalError("users and vhosts lost their log: %v", failed)
		case safe >= i:
			return nil
		}
		select {
		case <-change:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (a *accessLog) freeze() (machineState, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	st := machineState{log: storage.LogID(access.OwnLogID), at: a.next - 1}
	if uint64(st.at) != a.stored.Load() { // the audit log makes it large
		st.pieces = [][]byte{a.machine.Snapshot(nil)}
	}
	st.stored = func(done bool) {
		if done {
			a.stored.Store(uint64(st.at))
		}
	}
	st.sound = a.sound
	return st, st.at > 0
}

// sound tells that nothing that was decided has been lost.
func (a *accessLog) sound() bool {
	a.waiting.Lock()
	defer a.waiting.Unlock()
	return a.waiting.failed == nil
}

// decide takes the steps that commands ask for, up to one that is refused, and appends them; last is their batch, or
// the one before if nothing changed.
func (a *accessLog) decide(commands []access.Command) (out access.Outcome, last storage.Index, refused error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, c := range commands {
		if c.Kind == access.PutUser && c.Password != "" {
			c.Salt = newSalt()
		}
		if refused = a.engine.newVHosts.refuse(a.machine, &c); refused != nil {
			break
		}
		if refused = a.machine.Step(c, &out); refused != nil {
			break
		}
		if c.Kind == access.PutVHost && out.Created {
			if refused = a.furnish(c.VHost, &out); refused != nil {
				break
			}
		}
	}
	if len(out.Batch) > 0 {
		a.engine.writer.append(journal.Batch{Log: storage.LogID(access.OwnLogID), Index: a.next, Data: out.Batch}, true)
		a.next++
	}
	return out, a.next - 1, refused
}

// ChangeAccess decides changes of users, vhosts and permissions, and answers when they are safe and in force:
// vhosts that were made can be entered, those that were deleted are gone. Created reports whether the last
// command made something new. A refusal is an *amqp.Error; the commands before it stand.
//
// While the log waits for room on the disk it is ErrNoRoom, and nothing is decided.
func (e *Engine) ChangeAccess(ctx context.Context, commands ...access.Command) (created bool, err error) {
	if e.Waiting() != nil {
		return false, fmt.Errorf("%w: %s", ErrNoRoom, e.diskAdvice())
	}
	e.change.Lock()
	defer e.change.Unlock()
	a := e.access.Load()
	out, last, refused := a.decide(commands)
	// Decided is decided: the caller may be gone, the view still has to follow.
	if err := a.await(context.WithoutCancel(ctx), last); err != nil {
		return false, err
	}
	before := e.Access()
	e.view.Store(a.machine.View())
	if e.Access().Version() != before.Version() { // not for a record of the audit log alone
		e.follow(before)
	}
	return out.Created, refused
}

// follow starts the vhosts that are new since before, and ends those that are gone.
func (e *Engine) follow(before *access.View) {
	now := e.Access()
	for _, h := range now.VHosts() {
		if old, ok := before.VHost(h.Name); !ok || old.LogID != h.LogID {
			e.openVHost(h.Name, storage.LogID(h.LogID))
			e.furnish(h.Name)
		}
	}
	for _, r := range e.allRunners() {
		r.kick() // for withdraw
	}
	for _, h := range before.VHosts() {
		if now, ok := now.VHost(h.Name); !ok || now.LogID != h.LogID {
			e.endVHost(h.Name, storage.LogID(h.LogID))
		}
	}
}

// endVHost ends a deleted vhost: its connections close, its log is dropped.
func (e *Engine) endVHost(name string, log storage.LogID) {
	e.mu.Lock()
	r, o := e.mu.runners[name], e.mu.openings[name]
	if o != nil && o.log == log {
		o.givenUp.Store(true)
	} else {
		o = nil
	}
	delete(e.mu.runners, name)
	delete(e.mu.faults, name)
	e.mu.Unlock()
	if o != nil {
		<-o.ended // it reads the log
	}
	defer e.forgetStops(name)
	if r != nil {
		e.writer.listen(log, nil, vhost.SyncDefault)
		close(r.stop)
		<-r.stopped
		r.own()
		r.fail(amqp.ConnectionForced("vhost '%s' is deleted", name))
		r.abandon()
		e.closed.keep(r.vhost)
		r.pages.spill.Close()
		r.release()
	}
	e.writer.settle() // nothing of it is under way
	if err := e.maintain(func(j *journal.Journal) error { return j.Drop(log) }); err != nil {
		e.slog.Error("cannot delete the log of a deleted vhost; the next start tries again", "vhost", name, "error", err)
	}
}

// bootDefaults makes the first vhost and user of a node that has none, and the ID by which tools tell its cluster from
// others. A node that was made before there were such IDs gets its own beside the start, which may not wait for a full
// disk.
func (e *Engine) bootDefaults() error {
	var commands []access.Command
	fresh := len(e.Access().VHosts()) == 0 && len(e.Access().Users()) == 0
	if fresh {
		commands = e.defaults.Commands(newSalt())
	}
	if _, there := e.Access().GlobalParameter(access.ClusterIDParameter); !there {
		commands = append(commands, access.Command{Kind: access.SetGlobalParameter, Name: access.ClusterIDParameter, Value: newClusterID()})
	}
	switch {
	case fresh:
		_, err := e.ChangeAccess(context.Background(), commands...)
		return err
	case commands != nil:
		e.jobs.Go(func() {
			if _, err := e.ChangeAccess(context.Background(), commands...); err != nil {
				e.slog.Warn("cannot save the cluster ID; the next start tries again", "error", err)
			}
		})
	}
	return nil
}

// newClusterID is the JSON of a cluster's ID. Source: RabbitMQ internal_cluster_id.
func newClusterID() []byte {
	var id [16]byte
	rand.Read(id[:])
	return fmt.Appendf(nil, "%q", "rabbitmq-cluster-id-"+base64.RawURLEncoding.EncodeToString(id[:]))
}

func newSalt() (s access.Salt) {
	rand.Read(s[:])
	return s
}
