package engine

import (
	"cmp"
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/bartleby-mq/bartleby/internal/journal"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// Storage is what there is on the disk, and what was done for it since the engine was opened.
type Storage struct {
	Journal      journal.Stats
	Live         int64      // bytes of records and pages that are referred to, at most
	Sync         vhost.Sync // of vhosts that choose nothing else
	SyncInterval time.Duration
	Syncs        Latency
	Reads        Work          // from the log: records and pages that were not in memory
	Writes       Work          // of groups of batches to the log
	Recovery     time.Duration // that the engine took to open

	Checkpoints, CheckpointsFailed uint64 // each is one of all that has changed
	CheckpointAt                   time.Time
	CheckpointTook                 time.Duration // of that one, beside the traffic

	Reclaimed                    uint64 // segments given back because nothing in them was needed
	Rewritings, RewritingsFailed uint64
	Rewritten                    uint64 // segments given back by them
	Rewriting                    bool   // under way

	Disk    DiskUse  // as it was seen last
	Waiting *Waiting // for space on the disk; nil: not so

	VHosts []VHostStorage // in order of their names
}

// Work counts what the disk was asked for, time and again.
type Work struct {
	Count, Bytes int64
	Took         time.Duration
}

// VHostStorage is where the messages of one vhost are.
type VHostStorage struct {
	Name    string
	Sync    vhost.Sync // that holds
	Stops   Stops      // for damage
	Down    error      // nil: it is up; else there is nothing below
	Hot     int        // messages of which the queue's entries are in memory
	Cold    int        // messages of which they are in pages
	PutOff  int        // messages that died while the disk was full or memory scarce, and wait
	Live    int64      // bytes of its records and pages that are referred to, at most
	Spilled int64      // bytes of the files that pages of transient messages went to
}

// Share is how much of the segments is live, 0 to 1; 1 if there are none.
func (s *Storage) Share() float64 {
	if s.Journal.SegmentBytes == 0 {
		return 1
	}
	return min(1, float64(s.Live)/float64(s.Journal.SegmentBytes))
}

// storageStatistics counts what is done for the storage.
type storageStatistics struct {
	syncs latency

	reads, writes work

	checkpoints, checkpointsFailed atomic.Uint64
	checkpointAt                   atomic.Int64 // ns since the Unix epoch
	checkpointTook                 atomic.Int64 // ns

	reclaimed, rewritings, rewritingsFailed, rewritten atomic.Uint64
}

func (s *storageStatistics) checkpointed(at time.Time, took time.Duration, err error) {
	if err != nil {
		s.checkpointsFailed.Add(1)
		return
	}
	s.checkpoints.Add(1)
	s.checkpointAt.Store(at.UnixNano())
	s.checkpointTook.Store(int64(took))
}

// work counts calls of the disk.
type work struct{ count, bytes, took atomic.Int64 } // took: ns

// note notes a call that began then.
func (w *work) note(bytes int, began time.Time) {
	w.count.Add(1)
	w.bytes.Add(int64(bytes))
	w.took.Add(int64(time.Since(began)))
}

func (w *work) read() Work {
	return Work{w.count.Load(), w.bytes.Load(), time.Duration(w.took.Load())}
}

func (s *storageStatistics) rewrote(segments int, err error) {
	if err != nil {
		s.rewritingsFailed.Add(1)
		return
	}
	s.rewritings.Add(1)
	s.rewritten.Add(uint64(segments))
}

// Storage tells how the storage stands. It asks every vhost; one that has not answered when ctx ends has no figures.
func (e *Engine) Storage(ctx context.Context) Storage {
	d := &e.writer.statistics
	s := Storage{
		Sync: e.sync, SyncInterval: e.writer.interval, Syncs: d.syncs.read(),
		Reads: d.reads.read(), Writes: d.writes.read(), Recovery: time.Duration(e.recovery.Load()),
		Checkpoints: d.checkpoints.Load(), CheckpointsFailed: d.checkpointsFailed.Load(), CheckpointTook: time.Duration(d.checkpointTook.Load()),
		Reclaimed: d.reclaimed.Load(), Rewritings: d.rewritings.Load(), RewritingsFailed: d.rewritingsFailed.Load(),
		Rewritten: d.rewritten.Load(), Rewriting: e.rewriting.Load(),
	}
	if at := d.checkpointAt.Load(); at > 0 {
		s.CheckpointAt = time.Unix(0, at)
	}
	e.writer.tables.RLock()
	s.Journal = e.writer.journal.Stats()
	e.writer.tables.RUnlock()
	for _, h := range e.Accounts().VHosts() {
		v := e.vhostStorage(ctx, h.Name)
		v.Stops = e.Stops(h.Name)
		s.Live += v.Live
		s.VHosts = append(s.VHosts, v)
	}
	s.Disk, s.Waiting = e.diskUse(), e.Waiting()
	slices.SortFunc(s.VHosts, func(a, b VHostStorage) int { return cmp.Compare(a.Name, b.Name) })
	return s
}

// vhostStorage is what a vhost knows.
func (e *Engine) vhostStorage(ctx context.Context, name string) VHostStorage {
	r, err := e.runnerOf(name)
	if err != nil {
		return VHostStorage{Name: name, Sync: e.sync, Down: err}
	}
	found := make(chan VHostStorage, 1)
	done := make(chan error, 1)
	r.put(request{done: done, glance: true, look: func(v *vhost.VHost) {
		s, sync := v.Reader().Storage(), v.Sync()
		if sync == vhost.SyncDefault {
			sync = e.sync
		}
		found <- VHostStorage{Name: name, Sync: sync, Hot: s.Hot, Cold: s.Cold, PutOff: s.PutOff, Live: s.Live, Spilled: r.pages.spill.Bytes()}
	}})
	err = r.await(ctx, done)
	select {
	case s := <-found:
		return s
	default:
	}
	if ctx.Err() != nil {
		err = nil
	}
	return VHostStorage{Name: name, Sync: e.sync, Down: err}
}

// A Latency says how long something took, time and again.
type Latency struct {
	Count uint64
	Sum   time.Duration
	Up    []LatencyBucket // in order; what took longer than the last is in Count alone
}

// A LatencyBucket counts what took no longer than Most.
type LatencyBucket struct {
	Most  time.Duration
	Count uint64
}

// latencyMost are the bounds of the buckets: from a disk with memory of its own to one that is dying.
var latencyMost = [...]time.Duration{
	100 * time.Microsecond, 250 * time.Microsecond, 500 * time.Microsecond, time.Millisecond, 2500 * time.Microsecond, 5 * time.Millisecond,
	10 * time.Millisecond, 25 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond, 250 * time.Millisecond,
	500 * time.Millisecond, time.Second, 2500 * time.Millisecond,
}

// latency is a Latency in the making.
type latency struct {
	buckets [len(latencyMost) + 1]atomic.Uint64
	sum     atomic.Int64
}

func (l *latency) add(took time.Duration) {
	i := 0
	for i < len(latencyMost) && took > latencyMost[i] {
		i++
	}
	l.buckets[i].Add(1)
	l.sum.Add(int64(took))
}

func (l *latency) read() Latency {
	r := Latency{Sum: time.Duration(l.sum.Load())}
	for i := range l.buckets {
		r.Count += l.buckets[i].Load()
		if i < len(latencyMost) {
			r.Up = append(r.Up, LatencyBucket{latencyMost[i], r.Count})
		}
	}
	return r
}
