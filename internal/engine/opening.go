package engine

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/journal"
	"github.com/bartleby-mq/bartleby/internal/storage"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

const (
	// openPatience is how long a start waits for its vhosts: most starts take less, and then all can be entered as soon
	// as clients can connect. A vhost that takes longer is opened beside the others' traffic.
	openPatience = 5 * time.Second
	// openPlacesMin and openPlacesMax bound how many vhosts are opened at a time: one per processor, but each has its
	// checkpoint in memory meanwhile.
	openPlacesMin, openPlacesMax = 2, 8
	// openTurn is how long a vhost that is being opened keeps another from beginning: a few that take minutes do not
	// keep all others closed.
	openTurn = time.Second
)

// errGivenUp ends the opening of a vhost that is deleted, or whose broker stops.
var errGivenUp = errors.New("nobody waits for it any more")

// opening is a vhost that is being opened.
type opening struct {
	name    string
	log     storage.LogID
	givenUp atomic.Bool
	ended   chan struct{} // closed when nothing of it is left but the runner
}

// announce makes known that a vhost is being opened, and until then why nobody can enter it; what says it.
func (e *Engine) announce(name string, log storage.LogID, what string) *opening {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.announceLocked(name, log, what)
}

func (e *Engine) announceLocked(name string, log storage.LogID, what string) *opening {
	o := &opening{name: name, log: log, ended: make(chan struct{})}
	o.givenUp.Store(e.mu.closed)
	why := amqp.InternalError("vhost '%s' is being %s: try again later", name, what)
	why.Later = true
	e.mu.faults[name], e.mu.openings[name] = why, o
	return o
}

// openAll opens the vhosts that there are, side by side, and waits for them a while. It reports whether that is done;
// if not, the channel opened says when it is. damage is that of the journal which may have held all of a vhost.
func (e *Engine) openAll(damage *journal.Fault) (inTime bool) {
	var all []*opening
	for _, h := range e.Accounts().VHosts() {
		all = append(all, e.announce(h.Name, storage.LogID(h.LogID), "opened"))
	}
	e.jobs.Go(func() {
		defer close(e.opened)
		var opened sync.WaitGroup
		places := make(chan struct{}, min(max(runtime.GOMAXPROCS(0), openPlacesMin), openPlacesMax))
		for _, o := range all {
			places <- struct{}{}
			leave := sync.OnceFunc(func() { <-places })
			turn := time.AfterFunc(openTurn, leave)
			opened.Go(func() {
				began := time.Now()
				e.open(o, e.missing(o.log, damage))
				if turn.Stop(); time.Since(began) > openPatience {
					e.slog.Info("vhost has been opened", "vhost", o.name, "took", time.Since(began).Round(time.Millisecond))
				}
				leave()
			})
		}
		opened.Wait()
	})
	patience := time.NewTimer(openPatience)
	defer patience.Stop()
	select {
	case <-e.opened:
		return true
	case <-patience.C:
		e.slog.Warn("some vhosts are still being opened: the others can be used", "vhosts", e.beingOpened())
		return false
	}
}

// allOpened does what comes when the vhosts that were there at the start are open.
func (e *Engine) allOpened(began time.Time) error {
	e.mu.RLock()
	closed, replayed := e.mu.closed, e.replayed
	e.mu.RUnlock()
	if closed {
		return nil
	}
	e.recovery.Store(int64(time.Since(began)))
	if replayed || e.writer.short() {
		e.checkpointSoon() // else what each of many short lives adds would be read again by the next
	}
	return e.putTimeout()
}

// Opened waits until each vhost that was there at the start is open, or cannot be opened.
func (e *Engine) Opened(ctx context.Context) error {
	select {
	case <-e.opened:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// BeingOpened reports whether a vhost is down because it is not open yet.
func (e *Engine) BeingOpened(vhost string) bool {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return e.mu.openings[vhost] != nil
}

// beingOpened lists the vhosts that are, some of them: a line of the log says it.
func (e *Engine) beingOpened() []string {
	const most = 10
	e.mu.RLock()
	defer e.mu.RUnlock()
	var names []string
	for name := range e.mu.openings {
		names = append(names, name)
	}
	slices.Sort(names)
	return names[:min(len(names), most)]
}

// openVHost opens a vhost that is new.
func (e *Engine) openVHost(name string, log storage.LogID) {
	e.open(e.announce(name, log, "opened"), nil)
}

// open replays a vhost's log, of which nothing is under way, and starts its runner, unless damage says that the log is
// lost. A fault of its log stops this vhost alone.
func (e *Engine) open(o *opening, damage error) {
	defer close(o.ended)
	var r *runner
	err := damage
	if err == nil {
		r, err = e.newRunner(o)
	}
	if err == nil {
		r.own()
	}
	if !e.enter(o, r, err) {
		if err == nil {
			r.drop()
		}
		return
	}
	r.finish() // what Recovered led to
	r.begin()
	r.release()
}

// goesOn is called while the log of a vhost is replayed.
func (e *Engine) goesOn(o *opening) error {
	if e.replaying != nil {
		e.replaying(o.name)
	}
	if o.givenUp.Load() {
		return errGivenUp
	}
	return nil
}

// enter makes a runner known, or why there is none.
func (e *Engine) enter(o *opening, r *runner, err error) (entered bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.mu.openings[o.name] == o {
		delete(e.mu.openings, o.name)
	}
	if o.givenUp.Load() {
		return false
	}
	if err != nil {
		e.mu.faults[o.name] = e.stopped(o.name, "cannot be opened", err)
		return false
	}
	delete(e.mu.faults, o.name)
	e.mu.runners[o.name] = r
	e.writer.listen(r.log.ID(), r, r.wants())
	r.pages.hear()
	e.replayed = e.replayed || r.replayed
	e.jobs.Go(r.serve)
	return true
}

// reopen opens a vhost anew after its runner has ended.
func (e *Engine) reopen(old *runner) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.mu.closed || e.writer.ending.Load() || e.mu.runners[old.name] != old {
		return
	}
	delete(e.mu.runners, old.name)
	o := e.announceLocked(old.name, old.log.ID(), "reopened")
	e.writer.listen(old.log.ID(), nil, vhost.SyncDefault)
	e.jobs.Go(func() {
		close(old.stop)
		<-old.stopped
		old.own()
		old.abandon()
		e.closed.keep(old.vhost)
		old.pages.spill.Close()
		old.release()
		e.writer.settle()
		e.open(o, nil)
	})
}
