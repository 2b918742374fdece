package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bartleby-mq/bartleby/internal/accounts"
	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/engine/recordcache"
	"github.com/bartleby-mq/bartleby/internal/engine/resource"
	"github.com/bartleby-mq/bartleby/internal/journal"
	"github.com/bartleby-mq/bartleby/internal/storage"
	"github.com/bartleby-mq/bartleby/internal/vfs"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// Options say how an engine runs. FS is needed, the rest has defaults.
type Options struct {
	// StrictRights asks for tags besides permissions of who works with dead letters. See
	// authz.DeadLetterRight.
	StrictRights bool
	// HotMessages is of how many messages a vhost keeps the entries in memory, about; 0: what a vhost does by itself.
	HotMessages int
	// SparseShare is the live share, 0 to 1, above which no segment is rewritten to give its space
	// back; 0: SparseShare.
	SparseShare float64
	// RewriteRatio is how many bytes are rewritten at most for each that traffic appends; 0: RewriteRatio.
	RewriteRatio float64
	FS           vfs.FS
	Data         string          // the directory of this machine that FS is, "" if it is none: no backup goes into it
	Journal      journal.Options // Entropy is filled in
	Clock        Clock           // nil: SystemClock
	Log          *slog.Logger    // nil: slog.Default
	Defaults     *accounts.Defaults
	Machine      resource.Machine // nil: memory and free disk space are not watched
	Limits       *resource.Limits // nil: resource.DefaultLimits
	// LoginFailures of one user from one address are heard at once; then they are for who waits. Zero: 20, negative:
	// all.
	LoginFailures int
	Node          string // its name, for the log; may be empty
	Uncommitted   Budget // of what transactions hold that are not committed
	Subscribed    Budget // of what channels and consumers take
	ObjectsMax    int64  // bytes that queues, exchanges and bindings may take; zero: half of the memory watermark
	QueueType     string // of queues that are declared without one where the vhost says nothing; empty: classic
	NewVHosts     NewVHosts
	// Sync holds for vhosts that choose nothing else. SyncDefault: SyncAlways. What users and vhosts are is always
	// synced.
	Sync vhost.Sync
	// SyncInterval is how long what was told to be safe may be lost by a loss of power, with vhost.SyncInterval. Zero:
	// 200 ms.
	SyncInterval time.Duration

	replaying func(vhost string) // of tests: called as often as a vhost that is being opened asks whether to go on
}

// syncInterval is how long SyncInterval puts off a sync where nothing else is said: five a second are nothing to a
// disk.
const syncInterval = 200 * time.Millisecond

// Engine runs every vhost of a node.
type Engine struct {
	fs               vfs.FS
	data             string // of Options
	windows          windows
	clock            Clock
	slog             *slog.Logger
	writer           *logWriter
	sync             vhost.Sync // of vhosts that choose nothing else
	strictRights     bool
	resources        *resource.Monitor
	clocks           *clockMonitor
	defaults         accounts.Defaults
	ids              atomic.Uint64 // of connections and channels
	commands         atomic.Uint64 // that sessions have submitted
	connectionLimits connectionLimits
	closed           closedStatistics
	logins           logins
	recovery         atomic.Int64       // ns that opening took, of all vhosts
	opened           chan struct{}      // closed when each vhost that was there at the start is open, or cannot be
	replaying        func(vhost string) // of Options
	throttle         *throttle
	queueType        string    // of Options
	newVHosts        NewVHosts // of Options
	cached           recordcache.Shared
	storing          atomic.Bool // checkpoints are under way
	live             atomic.Pointer[liveLogs]
	backups          backups
	uncommitted      budgeted
	paced            paced
	subscribed       budgeted
	objects          objects

	grain                     int64 // bytes of a log that are counted together
	batchMax                  int   // bytes, see batchBytesMax
	compactor                 *compactor
	hotMessages               int
	replayed                  bool // logs had batches behind their checkpoints
	rewriting                 atomic.Bool
	hurried                   atomic.Bool // closing has no more time: no checkpoint is made
	sparseShare, rewriteRatio float64     // of Options
	failed                    chan error  // the journal cannot go on

	view     atomic.Pointer[accounts.View]
	change   sync.Mutex // one change of accounts at a time
	accounts atomic.Pointer[accountsLog]

	mu struct {
		sync.RWMutex
		runners  map[string]*runner
		faults   map[string]*amqp.Error // vhosts that are not open
		openings map[string]*opening    // of those that are being opened
		closed   bool
	}
	damage struct {
		sync.Mutex
		stops map[string]Stops
	}
	jobs sync.WaitGroup
}

// Open starts an engine on what its file system holds, or with the defaults if that is nothing. The data is
// locked: a second engine on it is refused.
func Open(o Options) (*Engine, error) {
	began := time.Now()
	if err := o.complete(); err != nil {
		return nil, err
	}
	j, report, err := openJournal(&o)
	if err != nil {
		return nil, err
	}
	e := newEngine(&o, j)
	e.writer.makeReserve()
	e.writer.start()
	if err := e.openOwn(&o, report.Unnamed); err != nil {
		return nil, errors.Join(err, e.writer.close())
	}
	inTime := e.openAll(report.Unnamed)
	go e.resources.Run()
	go e.clocks.run()
	go e.compactor.run()
	e.storing.Store(false)
	if err := e.bootDefaults(); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	if !inTime {
		e.jobs.Go(func() {
			<-e.opened
			if err := e.allOpened(began); err != nil {
				e.slog.Error("cannot apply all that is configured for virtual hosts", "error", err)
			}
		})
	} else if err := e.allOpened(began); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

// complete gives the options that are not set their defaults. An error says which limit is wrong.
func (o *Options) complete() error {
	if o.Clock == nil {
		o.Clock = SystemClock()
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Defaults == nil {
		d := accounts.StandardDefaults()
		o.Defaults = &d
	}
	if o.Limits == nil {
		l := resource.DefaultLimits()
		o.Limits = &l
	}
	if o.Sync == vhost.SyncDefault {
		o.Sync = vhost.SyncAlways
	}
	if o.SyncInterval == 0 {
		o.SyncInterval = syncInterval
	}
	o.sizeJournal()
	o.Journal.InFlight = inFlight(&o.Journal)
	o.Journal.Entropy = rand.Uint64()
	return o.Limits.Validate()
}

// openJournal opens the journal and logs what is damaged in it.
func openJournal(o *Options) (*journal.Journal, journal.Report, error) {
	j, report, err := journal.Open(o.FS, o.Journal)
	if c := report.Cut; c != nil {
		o.Log.Warn("incomplete record at the end of the log removed", "file", c.File, "offset", c.Offset, "bytes", c.Bytes)
	}
	if err != nil {
		return nil, report, err
	}
	for _, f := range report.Faults {
		o.Log.Error("damaged log", "error", &f)
	}
	return j, report, nil
}

// newEngine returns an engine on a journal. Nothing of it runs yet.
func newEngine(o *Options, j *journal.Journal) *Engine {
	guard := new(tables)
	e := &Engine{
		fs: o.FS, data: o.Data, clock: o.Clock, slog: o.Log, defaults: *o.Defaults, sync: o.Sync, strictRights: o.StrictRights,
		failed: make(chan error, 1), throttle: newThrottle(o.LoginFailures),
		queueType: o.QueueType, newVHosts: o.NewVHosts, opened: make(chan struct{}), replaying: o.replaying,
		sparseShare: cmp.Or(o.SparseShare, SparseShare), rewriteRatio: cmp.Or(o.RewriteRatio, RewriteRatio),
		grain: o.Journal.SegmentBytes / grainsPerSegment, hotMessages: o.HotMessages,
	}
	if e.batchMax = batchBytesMax; o.Journal.SegmentBytes > 0 {
		e.batchMax = int(min(batchBytesMax, o.Journal.SegmentBytes/batchesPerSegment))
	}
	e.mu.runners, e.mu.faults, e.mu.openings = map[string]*runner{}, map[string]*amqp.Error{}, map[string]*opening{}
	e.damage.stops = map[string]Stops{}
	e.resources = resource.NewMonitor(resource.Options{
		Node: o.Node, Machine: o.Machine, Limits: *o.Limits, Log: o.Log, Changed: e.kickAll, Spare: spareBytes(j, guard),
		Detail: func() []any { return e.diskUse().shown() },
	})
	e.uncommitted.most, e.uncommitted.text = o.Uncommitted.Or(e.Resources(), uncommittedShare), uncommittedText
	e.subscribed.most, e.subscribed.text = o.Subscribed.Or(e.Resources(), subscribedShare), subscribedText
	e.subscribed.small = subscribedSmall
	e.objects.most = o.ObjectsMax
	e.clocks = newClockMonitor(e)
	e.writer = newLogWriter(j, guard, o, e.checkpointSoon, e.spaceChanged, e.end)
	e.compactor = newCompactor(e)
	e.storing.Store(true) // a checkpoint takes all that there is: none before all is open
	return e
}

// openOwn opens the log of users and vhosts, and removes what the last process has left behind.
func (e *Engine) openOwn(o *Options, damage *journal.Fault) error {
	if err := e.missing(storage.LogID(accounts.OwnLogID), damage); err != nil {
		return fmt.Errorf("users and vhosts: %w", err)
	}
	if err := errors.Join(recordcache.RemoveSpilled(o.FS, o.Log), e.openAccounts()); err != nil {
		return err
	}
	return e.dropDeleted()
}

// missing reports damage that may have held all there was of a log, if the journal does not know that any more.
func (e *Engine) missing(log storage.LogID, damage *journal.Fault) error {
	if damage == nil {
		return nil
	}
	if slices.ContainsFunc(e.logs(), func(l journal.LogStat) bool { return l.Log == log }) {
		return nil
	}
	lost := *damage
	lost.Log = log
	return &lost
}

// logs lists the logs that the journal has.
func (e *Engine) logs() []journal.LogStat {
	e.writer.tables.RLock()
	defer e.writer.tables.RUnlock()
	return e.writer.journal.Logs()
}

// dropDeleted forgets logs of vhosts that were deleted when the process ended. If there are none, it does not wait for
// the maintenance, which makes the first segments ready.
func (e *Engine) dropDeleted() error {
	known := map[storage.LogID]bool{storage.LogID(accounts.OwnLogID): true}
	for _, h := range e.Accounts().VHosts() {
		known[storage.LogID(h.LogID)] = true
	}
	deleted := slices.DeleteFunc(e.logs(), func(l journal.LogStat) bool { return known[l.Log.Owner()] })
	if len(deleted) == 0 {
		return nil
	}
	return e.writer.maintenance.change(func(j *journal.Journal) error {
		for _, l := range deleted {
			if err := j.Drop(l.Log); err != nil {
				return err
			}
		}
		return nil
	})
}

func (e *Engine) runnerOf(name string) (*runner, error) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	if r := e.mu.runners[name]; r != nil {
		return r, nil
	}
	if err := e.mu.faults[name]; err != nil {
		return nil, err
	}
	return nil, accessUnknown(name)
}

// Changed is a number that is another one after each command that a vhost has decided, and after it was opened again; 0
// if it is down. It does not wait for the vhost.
func (e *Engine) Changed(name string) uint64 {
	r, err := e.runnerOf(name)
	if err != nil {
		return 0
	}
	return r.changed.Load()
}

func (e *Engine) allRunners() []*runner {
	e.mu.RLock()
	defer e.mu.RUnlock()
	all := make([]*runner, 0, len(e.mu.runners))
	for _, r := range e.mu.runners {
		all = append(all, r)
	}
	return all
}

// Accounts returns the users, permissions and virtual hosts of now.
func (e *Engine) Accounts() *accounts.View { return e.view.Load() }

// Now is the wall clock.
func (e *Engine) Now() time.Time {
	wall, _ := e.clock.Read()
	return time.Unix(0, wall)
}

// Alarms are those that hold publishers back.
func (e *Engine) Alarms() resource.Alarms { return e.resources.Alarms() }

// LowOnDisk reports whether publishers are held back for want of disk: others should not write then, either.
func (e *Engine) LowOnDisk() bool { return e.Alarms()&(resource.LowDisk|resource.JournalFull) != 0 }

// Resources tells what there is of memory and disk, and what is allowed.
func (e *Engine) Resources() resource.Status { return e.resources.Status() }

// SetLimits changes the limits, until the engine is closed; on return the alarms that follow are raised or cleared.
// Source: RabbitMQ rabbitmqctl set_vm_memory_high_watermark, set_disk_free_limit.
func (e *Engine) SetLimits(change func(*resource.Limits)) error { return e.resources.SetLimits(change) }

// Down tells why a vhost cannot be used; nil if it can.
func (e *Engine) Down(vhost string) error {
	e.mu.RLock()
	defer e.mu.RUnlock()
	if err := e.mu.faults[vhost]; err != nil {
		return err
	}
	return nil
}

// kickAll has every vhost look around: alarms were raised or cleared.
func (e *Engine) kickAll() {
	for _, r := range e.allRunners() {
		r.kick()
	}
}

// Failed yields why the disk cannot be trusted with anything more, if that happens: nothing can be confirmed any
// more, and whoever runs the engine has to end it.
func (e *Engine) Failed() <-chan error { return e.failed }

// end is told by the log writer that the journal cannot go on.
func (e *Engine) end(err error) {
	select {
	case e.failed <- err:
	default: // it has been said
	}
}

// closeGrace is how long closing may go on when its time is over: what it does then is small.
const closeGrace = 2 * time.Second

// EndWaiting has nothing wait for space on the disk any more: who is about to close the engine calls it before
// connections are closed, for these wait with the log. What cannot be written now was not confirmed, and is lost.
func (e *Engine) EndWaiting() { e.writer.endWaiting() }

// Close ends every vhost cleanly: what is under way is written, a checkpoint is made, the data is released. On a disk
// that is full, what is under way and was not confirmed is lost. Frontends must have been closed before.
func (e *Engine) Close() error { return e.CloseBy(context.Background()) }

// CloseBy is Close that does not last longer than ctx and closeGrace. When ctx ends, no more checkpoint is begun: the
// next start has more of the log to read. If the disk does not answer even then, an error says so, and goroutines are
// left that wait for it; nothing that was confirmed is lost, but the data stays locked until the process ends.
func (e *Engine) CloseBy(ctx context.Context) error {
	e.hurried.Store(ctx.Err() != nil)
	defer context.AfterFunc(ctx, func() { e.hurried.Store(true) })()
	e.EndWaiting()
	closed := make(chan error, 1)
	go func() { closed <- e.close() }()
	select {
	case err := <-closed:
		return err
	case <-ctx.Done():
	}
	grace := time.NewTimer(closeGrace)
	defer grace.Stop()
	select {
	case err := <-closed:
		return err
	case <-grace.C:
		return fmt.Errorf("cannot close the log in time (%w): unconfirmed messages may be lost", context.Cause(ctx))
	}
}

func (e *Engine) close() error {
	e.mu.Lock()
	if e.mu.closed {
		e.mu.Unlock()
		return nil
	}
	e.mu.closed = true
	for _, o := range e.mu.openings {
		o.givenUp.Store(true)
	}
	runners := e.mu.runners
	e.mu.runners = map[string]*runner{}
	e.mu.Unlock()
	e.EndBackups()
	e.resources.Close()
	e.clocks.close()
	e.compactor.close()
	for _, r := range runners {
		close(r.stop)
		<-r.stopped
	}
	sound := maps.Clone(runners)
	for name, r := range runners {
		if !r.shutDown() {
			delete(sound, name)
		}
	}
	e.jobs.Wait()
	var err error
	if e.hurried.Load() {
		e.slog.Warn("stopped before the last checkpoint was complete: the next start takes longer")
	} else {
		err = e.checkpointAll(sound)
	}
	for _, r := range runners {
		r.pages.spill.Close()
	}
	return errors.Join(err, e.writer.close())
}

// spaceChanged is told by the log writer for what there is space.
func (e *Engine) spaceChanged(use journal.Use) {
	e.resources.SetJournalFull(use != journal.Growing)
	e.kickAll()
}

// Waiting tells since when nothing can be written for lack of space; nil if that is not so.
func (e *Engine) Waiting() *Waiting { return e.writer.waiting.Load() }
