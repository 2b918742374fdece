package engine

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/bartleby-mq/bartleby/internal/accounts"
	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/journal"
	"github.com/bartleby-mq/bartleby/internal/storage"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// accountsLog is the machine of users and vhosts with its log. A change holds Engine.change until
// it applies; mu is held only while the machine decides, so that a checkpoint sees no half of a
// change and waits for no disk.
type accountsLog struct {
	engine  *Engine
	mu      sync.Mutex
	machine *accounts.Machine
	next    storage.Index
	stored  atomic.Uint64 // batch that the newest checkpoint covers
	waiting struct {
		sync.Mutex
		safe   storage.Index
		failed error
		change chan struct{} // closed at every change of the above
	}
}

// furnish adds the default limits, users and permissions of a new vhost to a change.
func (a *accountsLog) furnish(name string, out *accounts.Outcome) error {
	for _, c := range a.engine.newVHosts.commands(name, a.machine.View()) {
		if c.Kind == accounts.PutUser {
			c.Salt = newSalt()
		}
		if err := a.machine.Step(c, out); err != nil {
			return err
		}
	}
	out.Created = true
	return nil
}

func (e *Engine) openAccounts() error {
	a := &accountsLog{engine: e, machine: accounts.New()}
	a.waiting.change = make(chan struct{})
	log := &diskLog{writer: e.writer, id: storage.LogID(accounts.OwnLogID)}
	apply := func(_ storage.Index, facts []byte) error {
		list, err := accounts.ParseFacts(nil, facts)
		for _, f := range list {
			a.machine.Apply(f)
		}
		return err
	}
	checkpoint := func(at storage.Index, facts []byte) error {
		a.stored.Store(uint64(at))
		return apply(at, facts)
	}
	if err := log.Restore(checkpoint, apply); err != nil {
		return fmt.Errorf("users and vhosts: %w", err)
	}
	a.next = log.next
	a.waiting.safe = a.next - 1
	e.accounts.Store(a)
	e.view.Store(a.machine.View())
	e.writer.listen(log.id, a, vhost.SyncAlways)
	return nil
}

func (a *accountsLog) becameSafe(i storage.Index) { a.tell(i, nil) }

// lost refuses the changes under way: what they built on is gone. The machine is opened anew at what is safe.
func (a *accountsLog) lost(err error) {
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
		if err := e.openAccounts(); err != nil {
			e.slog.Error("cannot reopen users and vhosts", "error", err)
		}
	})
}

func (a *accountsLog) tell(i storage.Index, err error) {
	w := &a.waiting
	w.Lock()
	defer w.Unlock()
	w.safe, w.failed = max(w.safe, i), err
	close(w.change)
	w.change = make(chan struct{})
}

// await waits until batch i is safe.
func (a *accountsLog) await(ctx context.Context, i storage.Index) error {
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

func (a *accountsLog) takeCheckpoint() (machineState, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	st := machineState{log: storage.LogID(accounts.OwnLogID), at: a.next - 1}
	if uint64(st.at) != a.stored.Load() { // the audit log makes it large
		st.pieces = [][]byte{a.machine.Snapshot(nil)}
	}
	st.stored = func(done bool) {
		if done {
			a.stored.Store(uint64(st.at))
		}
	}
	st.sound, st.settled = a.sound, func() bool { return true } // the log writer has settled it
	return st, st.at > 0
}

// sound tells that nothing that was decided has been lost.
func (a *accountsLog) sound() bool {
	a.waiting.Lock()
	defer a.waiting.Unlock()
	return a.waiting.failed == nil
}

// decide takes the steps that commands ask for, up to one that is refused, and appends them; last is their batch, or
// the one before if nothing changed.
func (a *accountsLog) decide(commands []accounts.Command) (out accounts.Outcome, last storage.Index, refused error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, c := range commands {
		if c.Kind == accounts.PutUser && c.Password != "" {
			c.Salt = newSalt()
		}
		if refused = a.engine.newVHosts.refuse(a.machine, &c); refused != nil {
			break
		}
		if refused = a.machine.Step(c, &out); refused != nil {
			break
		}
		if c.Kind == accounts.PutVHost && out.Created {
			if refused = a.furnish(c.VHost, &out); refused != nil {
				break
			}
		}
	}
	if len(out.Batch) > 0 {
		batch := journal.Batch{Log: storage.LogID(accounts.OwnLogID), Index: a.next, Data: out.Batch}
		a.engine.writer.append(batch, true)
		a.next++
	}
	return out, a.next - 1, refused
}

// ChangeAccounts decides changes of users, vhosts and permissions, and answers when they are safe and in force:
// vhosts that were made can be entered, those that were deleted are gone. Created reports whether the last
// command made something new. A refusal is an *amqp.Error; the commands before it stand.
//
// While the log waits for space on the disk it is ErrNoSpace, and nothing is decided.
func (e *Engine) ChangeAccounts(ctx context.Context, commands ...accounts.Command) (created bool, err error) {
	if e.Waiting() != nil {
		return false, fmt.Errorf("%w: %s", ErrNoSpace, e.diskAdvice())
	}
	e.change.Lock()
	defer e.change.Unlock()
	a := e.accounts.Load()
	out, last, refused := a.decide(commands)
	// Decided is decided: the caller may be gone, the view still has to follow.
	if err := a.await(context.WithoutCancel(ctx), last); err != nil {
		return false, err
	}
	before := e.Accounts()
	e.view.Store(a.machine.View())
	if e.Accounts().Version() != before.Version() { // not for a record of the audit log alone
		e.follow(before)
	}
	return out.Created, refused
}

// follow starts the vhosts that are new since before, and ends those that are gone.
func (e *Engine) follow(before *accounts.View) {
	now := e.Accounts()
	for _, h := range now.VHostsBeside(before) {
		e.openVHost(h.Name, storage.LogID(h.LogID))
		e.furnish(h.Name)
	}
	for _, r := range e.allRunners() {
		if r.attached.Load() > 0 {
			r.kick() // for withdraw
		}
	}
	for _, h := range before.VHostsBeside(now) {
		e.endVHost(h.Name, storage.LogID(h.LogID))
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
	var commands []accounts.Command
	fresh := len(e.Accounts().VHosts()) == 0 && len(e.Accounts().Users()) == 0
	if fresh {
		commands = e.defaults.Commands(newSalt())
	}
	if _, there := e.Accounts().GlobalParameter(accounts.ClusterIDParameter); !there {
		commands = append(commands, accounts.Command{Kind: accounts.SetGlobalParameter,
			Name: accounts.ClusterIDParameter, Value: newClusterID()})
	}
	switch {
	case fresh:
		_, err := e.ChangeAccounts(context.Background(), commands...)
		return err
	case commands != nil:
		e.jobs.Go(func() {
			if _, err := e.ChangeAccounts(context.Background(), commands...); err != nil {
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

func newSalt() (s accounts.Salt) {
	rand.Read(s[:])
	return s
}
