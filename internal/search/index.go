package search

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bartleby-mq/bartleby/internal/accounts"
	"github.com/bartleby-mq/bartleby/internal/fairshare"
	"github.com/bartleby-mq/bartleby/internal/filter"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// A Broker is what the index looks at.
type Broker interface {
	// Query runs fn on a virtual host as it is; it must be short, and keep no more than copies.
	Query(ctx context.Context, vhostName string, fn func(vhost.Reader)) error
	Accounts() *accounts.View
	// Changed is a number that changes with all that happens in a virtual host, 0 if it is down.
	Changed(vhostName string) uint64
	Now() time.Time
	// LowOnDisk reports whether publishers are held back for want of disk: then nothing is written.
	LowOnDisk() bool
}

// Options say what an index has.
type Options struct {
	Broker   Broker
	Dir      string // where it is kept; "": there is none, and every question is answered by a scan
	MaxBytes int64  // on the disk, about; 0: MaxBytes
	Log      *slog.Logger
}

// A Ref names a message.
type Ref struct {
	vhost.Where
	ID uint64
}

// Order is which messages come first.
type Order uint8

// The orders, by the time of the newest death.
const (
	Newest Order = iota
	Oldest
)

// A Query asks for messages.
type Query struct {
	VHost  string
	Filter *filter.Filter // nil: all
	Order  Order
	After  string // Answer.Next of the portion before; "": from the beginning
	Limit  int    // 0: LimitUsual
	// May says whether the caller may see messages of a place; lastQueue is where a lost letter died, else
	// "". nil: all.
	May func(at vhost.Where, lastQueue string) bool
}

// Visit is shown a message in the loop of its virtual host: it must be short, and all is lent. m has what
// Filter.Needs of the question names, and the deaths.
type Visit func(x *vhost.Seen, m *filter.Message)

// An Answer says what there is to know beside the messages.
type Answer struct {
	Next    string // what Query.After has to be for the next portion, "" at the end
	Scanned int    // messages that were looked at
	// the budget ended before the portion was full, or the index has forgotten old messages: go on with Next,
	// if there is one
	Partial bool
	Index   *State // nil: answered without the index
}

// State says how complete the index is.
type State struct {
	CompleteUntil time.Time // what came before is known
	Behind        int64     // messages that came since, about
	Forgotten     bool      // it has no space for the oldest messages
}

// A GroupQuery asks for groups of messages.
type GroupQuery struct {
	VHost  string
	By     filter.Grouping
	Filter *filter.Filter // nil: all
	Most   int            // groups, the largest; 0: GroupsUsual
	May    func(at vhost.Where, lastQueue string) bool
}

// Groups are the answer: the largest first.
type Groups struct {
	Groups []Group
	Total  int64 // messages in all groups, shown or not
	// Without is how many pass the filter and are in no group: they have no such value. Who groups by what
	// only messages have (the reason, the source, the queue that they died in last) does not have those
	// counted that wait in schedules and have not died.
	Without int64
	Others  int64 // groups that are not shown
	Answer
}

// A Group is messages that have something in common.
type Group struct {
	Value       string
	Filter      string            // of this group alone, as package filter reads it
	Count, Lost int64             // messages; those of them that are lost letters
	First, Last int64             // ms since the Unix epoch: the deaths of the oldest and the newest; 0: unknown
	Spark       [SparkParts]int64 // messages in equal stretches from First to Last
	Sample      Ref               // one of the newest
}

// SparkParts is into how many stretches the time of a group is divided.
const SparkParts = 24

// Errors.
var (
	// ErrCursor says that Query.After was not made by an answer to the same question.
	ErrCursor = errors.New("search: after must be the 'next' of an earlier response to the same query")
	// ErrOff says that there is no index to be rebuilt.
	ErrOff = errors.New("search: no index: index.enabled is false, or the broker runs in memory")
)

// An Index finds messages.
type Index struct {
	options Options
	store   *store // nil: there is none

	mu struct {
		sync.Mutex
		vhosts map[string]*vhostIndex
		broken error // the store cannot be used: it is made anew
	}
	sealAt   int           // messages that are sealed as one segment
	segments atomic.Uint64 // the greatest number of one
	indexed  atomic.Uint64 // messages, since Open
	worked   atomic.Int64  // ns, by the crawler
	stored   atomic.Int64  // bytes
	wake     chan struct{}
	stop     chan struct{}
	close    sync.Once // of stop
	stopped  chan struct{}
}

// Open begins to keep an index. It does not fail: one that cannot be read is deleted and made anew, and where none can
// be kept the log says so and questions are answered by scans.
func Open(o Options) *Index {
	x := prepare(o)
	if x.store == nil {
		close(x.stopped)
		return x
	}
	go x.crawl()
	return x
}

// prepare does what Open does, but for the goroutine.
func prepare(o Options) *Index {
	if o.MaxBytes == 0 {
		o.MaxBytes = MaxBytes
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	x := &Index{options: o, sealAt: tailMessages, wake: make(chan struct{}, 1), stop: make(chan struct{}), stopped: make(chan struct{})}
	x.mu.vhosts = map[string]*vhostIndex{}
	if o.Dir != "" {
		x.open()
	}
	return x
}

// open opens the store and takes what it has.
func (x *Index) open() {
	s, err := openStore(x.options.Dir, x.options.Log)
	if err != nil {
		x.options.Log.Error("dead letters are not indexed: each search reads all of them", "error", err)
		return
	}
	if err = x.load(s); err == nil {
		x.store = s
		return
	}
	x.options.Log.Warn("the dead-letter index is damaged: rebuilding it", "error", err)
	err = errors.Join(s.close(), removeStore(filepath.Join(x.options.Dir, storeFile)))
	if err == nil {
		s, err = openStore(x.options.Dir, x.options.Log)
	}
	if err != nil {
		x.options.Log.Error("dead letters are not indexed: each search reads all of them", "error", err)
		return
	}
	x.store = s
}

func (x *Index) load(s *store) error {
	byNumber := map[uint32]*vhostIndex{}
	err := s.load(func(number uint32, r *record) {
		k := newKnown(r.Name, number, nil)
		k.record = *r
		k.loaded()
		byNumber[number] = k
	}, func(number uint32, one *segment) {
		if k := byNumber[number]; k != nil {
			k.segments = append(k.segments, one)
		}
		x.segments.Store(max(x.segments.Load(), one.number))
	})
	if err != nil {
		return err
	}
	for _, k := range byNumber {
		k.tail = x.newTail()
		if err := k.dropTransient(s); err != nil {
			return err
		}
		x.mu.vhosts[k.name] = k
	}
	return nil
}

func (x *Index) newTail() *tail { return newTail(x.segments.Add(1), x.sealAt) }

// Close ends what Open began. Questions that come later are answered by scans.
func (x *Index) Close() error {
	if x.store == nil {
		return nil
	}
	x.close.Do(func() { close(x.stop) })
	<-x.stopped
	x.mu.Lock()
	clear(x.mu.vhosts)
	x.mu.Unlock()
	return x.store.close()
}

// knownOf is what is known of a virtual host, nil if not all of it was read yet.
func (x *Index) knownOf(name string) *vhostIndex {
	x.mu.Lock()
	k := x.mu.vhosts[name]
	if x.mu.broken != nil {
		k = nil
	}
	x.mu.Unlock()
	if k == nil {
		return nil
	}
	k.Lock()
	defer k.Unlock()
	if !k.ready {
		return nil
	}
	return k
}

// damaged has the store made anew.
func (x *Index) damaged(err error) {
	x.mu.Lock()
	if x.mu.broken == nil {
		x.mu.broken = err
	}
	x.mu.Unlock()
	x.kick()
}

// Rebuild forgets what is known of a virtual host, which is read anew.
func (x *Index) Rebuild(name string) error {
	if x.store == nil {
		return ErrOff
	}
	x.mu.Lock()
	k := x.mu.vhosts[name]
	x.mu.Unlock()
	if k != nil {
		k.Lock()
		k.rebuild, k.ready = true, false
		k.Unlock()
	}
	x.kick()
	return nil
}

func (x *Index) kick() {
	select {
	case x.wake <- struct{}{}:
	default:
	}
}

// look runs fn in the loop of a virtual host. On return it has ended, or will never begin: fn may write to what the
// caller goes on with, and what it has seen is safe.
func (x *Index) look(ctx context.Context, name string, fn func(vhost.Reader)) error {
	var taken atomic.Bool // by fn, or by who does not want it any more
	ended := make(chan struct{})
	err := x.options.Broker.Query(ctx, name, func(v vhost.Reader) {
		if taken.CompareAndSwap(false, true) {
			defer close(ended)
			fn(v)
		}
	})
	if err != nil && !taken.CompareAndSwap(false, true) {
		<-ended
	}
	return err
}

// Show visits messages by their names, in order; those that are gone are left out. needs is what m has.
func (x *Index) Show(ctx context.Context, name string, refs []Ref, needs filter.Need, visit Visit) error {
	for len(refs) > 0 {
		slice := fairshare.From(ctx).Slice(portion)
		err := x.look(ctx, name, func(v vhost.Reader) {
			began := time.Now()
			for len(refs) > 0 && time.Since(began) < slice {
				if seen, ok := v.Find(refs[0].Where, refs[0].ID); ok {
					m := seen.ForFilter(needs)
					visit(&seen, &m)
				}
				refs = refs[1:]
			}
		})
		if err := errors.Join(err, fairshare.From(ctx).Rest(ctx)); err != nil {
			return err
		}
	}
	return nil
}
