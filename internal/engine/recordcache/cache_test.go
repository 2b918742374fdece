package recordcache

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/journal"
	"github.com/bartleby-mq/bartleby/internal/storage"
	"github.com/bartleby-mq/bartleby/internal/vfs"
)

// watched is a backlog whose reads are counted, and some of whose batches cannot be read but record by record.
type watched struct {
	*backlog
	partial           func(storage.Index) bool
	singles, stretchs atomic.Int64
}

func (w *watched) Read(buf []byte, r storage.Ref, hint *journal.Hint) ([]byte, error) {
	w.singles.Add(1)
	return w.backlog.Read(buf, r, hint)
}

func (w *watched) ReadStretch(s *journal.Stretch, log storage.LogID, i storage.Index, offset uint32) error {
	w.stretchs.Add(1)
	if w.partial != nil && w.partial(i) {
		s.Reset()
		return fmt.Errorf("batch %d is not whole: %w", i, journal.ErrGone)
	}
	return w.backlog.ReadStretch(s, log, i, offset)
}

func (w *watched) cache(shared *Shared) *Cache { return New(w, shared, w.jobs.Go) }

// reader gets records by their numbers, and checks when a loan ends that none of what it was lent has changed.
type reader struct {
	t    *testing.T
	c    *Cache
	log  *backlog
	size int
	lent map[int][]byte
}

func (r *reader) get(k int) {
	r.t.Helper()
	p, err := r.c.Get(r.log.refs[k])
	if err != nil {
		r.t.Fatal(err)
	}
	r.lent[k] = p
}

func (r *reader) release() {
	r.t.Helper()
	for k, p := range r.lent {
		if !bytes.Equal(p, record(k, r.size)) {
			r.t.Fatalf("record %d of %d bytes is wrong", k, r.size)
		}
	}
	clear(r.lent)
	r.c.Release()
}

func TestColdRecords(t *testing.T) {
	// If this fails, a backlog is delivered with other bytes than were published.
	t.Parallel()
	const seed = 3
	for _, c := range []struct{ n, size, batch int }{
		{20_000, 160, 200 << 10}, {8000, 160, 160}, {600, 5000, 1 << 20}, {60, 50_000, 1 << 20}, {16, 200_000, 1},
	} {
		log := newBacklog(t, vfs.NewMem(1), c.n, c.size, c.batch)
		for _, taken := range []int64{0, stretchesMax} { // with all the space, and with hardly any
			rng := rand.New(rand.NewPCG(seed, uint64(c.size)))
			shared := new(Shared)
			shared.cold.Store(taken)
			r := &reader{t, New(log, shared, log.jobs.Go), log, c.size, map[int][]byte{}}
			at := 0
			for range 2 * c.n {
				switch rng.IntN(1000) {
				case 0:
					at = rng.IntN(c.n) // another queue
				case 1, 2, 3:
					r.release()
				case 4:
					r.c.Trim()
				}
				k := at % c.n
				if rng.IntN(8) == 0 {
					k = (at + rng.IntN(c.n/8)) % c.n
				}
				r.get(k)
				at += 1 + rng.IntN(2)
			}
			r.release()
			r.c.Close()
			if n := shared.cold.Load(); n != taken {
				t.Errorf("seed %d: %d stretches were not given back", seed, n-taken)
			}
		}
	}
}

func TestReadsOfABacklog(t *testing.T) {
	// If this fails, draining in order costs a read per record, or a record at random costs megabytes.
	t.Parallel()
	const n, size = 200_000, 160
	w := &watched{backlog: newBacklog(t, vfs.NewMem(1), n, size, 1<<20)}
	whole := int64(n * size / int(stretchBytes))
	count := func(order func(i int) int, reads int, taken int64) (singles, stretches int64) {
		w.singles.Store(0)
		w.stretchs.Store(0)
		shared := new(Shared)
		shared.cold.Store(taken)
		r := &reader{t, w.cache(shared), w.backlog, size, map[int][]byte{}}
		for i := range reads {
			r.get(order(i))
			if i%1000 == 0 {
				r.release()
			}
		}
		r.c.Close()
		return w.singles.Load(), w.stretchs.Load()
	}
	if a, b := count(func(i int) int { return i }, n, 0); a > 10 || b > whole*11/10+10 {
		t.Errorf("in order: %d single reads, %d stretches of %d", a, b, whole)
	}
	// A thousand queues that were filled in turn, drained in turn by ten.
	turns := func(i int) int { return i/10_000*10_000 + i%10*1000 + i/10%1000 }
	if a, b := count(turns, n, 0); a > 3*whole || b > whole*3/2 {
		t.Errorf("a thousand queues: %d single reads, %d stretches of %d", a, b, whole)
	}
	any := rand.New(rand.NewPCG(1, 1)).Perm(n)
	// With little space, so that the log is many times what can be kept.
	if a, b := count(func(i int) int { return any[i] }, 20_000, stretchesMax); b > 20_000/16 {
		t.Errorf("any order: %d single reads, %d stretches", a, b)
	}
}

func TestLargeRecordsAllocateOnce(t *testing.T) {
	// If this fails, reading a large message takes many times its size in memory, and stalls its virtual host.
	const n, size = 6, 4 << 20
	log := newBacklog(t, vfs.NewMem(1), n, size, 1<<20)
	c := log.cache()
	defer c.Close()
	r := &reader{t, c, log, size, map[int][]byte{}}
	for _, ref := range log.refs { // stretches come to hold all of it, as reading on from small records would have it
		for at := uint32(0); at < ref.Size; at += stretchBytes / 4 {
			ref := storage.Ref{Log: ref.Log, Index: ref.Index, Offset: ref.Offset + at, Size: min(stretchBytes/4, ref.Size-at)}
			if _, err := c.Get(ref); err != nil {
				t.Fatal(err)
			}
		}
	}
	c.Release()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for k := range n {
		r.get(k)
	}
	runtime.ReadMemStats(&after)
	r.release()
	if got := after.TotalAlloc - before.TotalAlloc; got > 2*n*size {
		t.Errorf("reading %d records of %d bytes allocated %d bytes", n, size, got)
	}
}

func TestPartialBatches(t *testing.T) {
	// If this fails, what survived in a rewritten segment cannot be read, or each record of it is tried in vain again.
	t.Parallel()
	const n, size = 40_000, 160
	w := &watched{backlog: newBacklog(t, vfs.NewMem(1), n, size, 100<<10)}
	w.partial = func(i storage.Index) bool { return i%64 >= 32 }
	r := &reader{t, w.cache(new(Shared)), w.backlog, size, map[int][]byte{}}
	for k := range n {
		r.get(k)
	}
	r.release()
	r.c.Close()
	if s := w.singles.Load(); s > n*6/10 || w.stretchs.Load() > n/100 {
		t.Errorf("%d single reads and %d stretches for %d records, half of them in partial batches", s, w.stretchs.Load(), n)
	}
}

func TestDamagedNeighbour(t *testing.T) {
	// If this fails, one bad sector takes its whole neighbourhood with it, or is served as a message.
	t.Parallel()
	const n, size = 10_000, 160
	fs := vfs.NewFaulty(vfs.NewMem(1))
	log := newBacklog(t, fs, n, size, 1<<20)
	fs.Flip("journal/00000001.segment", 300_000, 1)
	c := New(log, new(Shared), log.jobs.Go)
	bad := 0
	for range 2 {
		for k, ref := range log.refs {
			p, err := c.Get(ref)
			var fault *journal.Fault
			switch {
			case errors.As(err, &fault):
				if bad++; fault.File != "00000001.segment" || fault.Offset > 300_000 || fault.Offset < 300_000-4096 {
					t.Fatalf("record %d: %v", k, fault)
				}
			case err != nil:
				t.Fatal(err)
			case !bytes.Equal(p, record(k, size)):
				t.Fatalf("record %d is wrong", k)
			}
			c.Release()
		}
	}
	if most := 2 * (journal.ChunkBytes/size + 2); bad == 0 || bad > most {
		t.Errorf("%d records cannot be read, at most %d lie in the damaged chunk", bad, most)
	}
	c.Close()
}

func TestHotBatches(t *testing.T) {
	// If this fails, a batch that is not written yet is looked for on the disk, or memory grows with the number of
	// vhosts.
	t.Parallel()
	s := &backlog{written: map[storage.LogID]storage.Index{}}
	shared := new(Shared)
	a, b := New(s, shared, nil), New(s, shared, nil)
	const size = 1 << 20
	held := func(c *Cache) (n int) {
		for _, h := range c.own.batches[c.own.head:] {
			n += len(h.data)
		}
		return n
	}
	for i := range storage.Index(40) {
		a.Add(1, i+1, bytes.Repeat([]byte{byte(i)}, size))
	}
	if held(a) != 40*size {
		t.Errorf("%d bytes of batches that are not written are left", held(a))
	}
	s.written[1] = 40
	a.Trim()
	if held(a) != hotBytesMax {
		t.Errorf("%d bytes are hot", held(a))
	}
	if p, err := a.Get(storage.Ref{Log: 1, Index: 40, Offset: 7, Size: 3}); err != nil || !bytes.Equal(p, []byte{39, 39, 39}) {
		t.Errorf("the newest batch: %v, %v", p, err)
	}
	s.written[2] = 100
	for i := range storage.Index(10) {
		b.Add(2, i+1, make([]byte, size))
	}
	a.Add(1, 41, make([]byte, size))
	s.written[1] = 41
	a.Trim()
	if held(a)+held(b) != hotBytesMax || held(b) != 10*size {
		t.Errorf("%d and %d bytes are hot", held(a), held(b))
	}
	a.Add(1, 42, make([]byte, size))
	for range 2 { // nothing comes any more
		a.Trim()
	}
	if held(a) != size {
		t.Errorf("%d bytes are hot of a log at rest, of which one batch is not written", held(a))
	}
	b.Add(storage.LogID(2).Pages(), 9, []byte("page")) // pages are a log of their own
	if p, err := b.Get(storage.Ref{Log: storage.LogID(2).Pages(), Index: 9, Size: 4}); err != nil || string(p) != "page" {
		t.Errorf("page: %q, %v", p, err)
	}
}
