// Package recordcache keeps in memory what a virtual host is likely to read of its log: the newest batches, stretches
// of the log around what was read, and the records of messages that are due soon. It also keeps the pages of long
// backlogs of transient messages in files (spill.go). A Cache and a Spill belong to one virtual host and are used by
// one goroutine at a time; what the caches of a node share is in Shared.
//
// Begin reading at Cache.Get: cache.go (the newest batches), then cold.go (stretches), readahead.go (the stretches that
// come next) and prefetch.go (the records of a crowd of deadlines).
package recordcache

import (
	"bytes"
	"math"
	"slices"
	"sync/atomic"

	"github.com/bartleby-mq/bartleby/internal/journal"
	"github.com/bartleby-mq/bartleby/internal/storage"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

const (
	// hotBytesMax is how much of the newest batches, of all vhosts together, is kept in memory: a message that is
	// taken soon is never read from the disk.
	hotBytesMax = 12 << 20
	// coldBytesMax is how much of what was read from the disk is kept, of all vhosts together.
	coldBytesMax = 8 << 20
)

// Shared is the memory that the caches of a node share. The zero value is ready for use.
type Shared struct {
	added      atomic.Uint64 // bytes of batches, ever: what was added hotBytesMax ago is not hot
	cold       atomic.Int64  // stretches that caches have
	prefetched atomic.Int64  // bytes of records that were read beforehand
}

// Prefetched is how many bytes of records that were read beforehand are kept.
func (s *Shared) Prefetched() int64 { return s.prefetched.Load() }

// Source is where a cache reads what it does not hold.
type Source interface {
	// Read returns the bytes that r names, in buf if it has the space that journal.ReadBytes reports.
	Read(buf []byte, r storage.Ref, hint *journal.Hint) ([]byte, error)
	// ReadStretch fills s with what lies in a log from there on.
	ReadStretch(s *journal.Stretch, log storage.LogID, index storage.Index, offset uint32) error
	// Written is the batch of log up to which all can be read.
	Written(log storage.LogID) storage.Index
}

// Cache holds records of a virtual host's log, and of its log of pages: the newest batches whole, and stretches of what
// was read.
type Cache struct {
	from   Source
	shared *Shared
	run    func(func()) // starts a goroutine that reads ahead; whoever closes the source waits for its end
	own    hotBatches
	pages  hotBatches
	cold   *coldCache // nil while nothing is
	ahead  *prefetcher
	shut   bool // nothing is read ahead any more
}

// New returns an empty cache of what from has. It runs functions that read ahead with run.
func New(from Source, shared *Shared, run func(func())) *Cache {
	c := &Cache{from: from, shared: shared, run: run}
	c.ahead = &prefetcher{from: from, shared: &shared.prefetched, run: run, hot: func(r storage.Ref) bool { return c.own.batch(r.Index) != nil }}
	return c
}

// Add keeps a batch that was just made; indexes ascend. It drops what is no longer hot.
func (c *Cache) Add(log storage.LogID, i storage.Index, data []byte) {
	c.hot(log).add(log, i, data, c.shared.added.Add(uint64(cap(data))))
	c.trimHot(log)
}

// Get returns the bytes that r names, which are lent until Release. It may wait for the disk.
func (c *Cache) Get(r storage.Ref) ([]byte, error) {
	if p := c.inMemory(r); p != nil {
		return p, nil
	}
	return c.colder().get(r)
}

// Head is Get of the first n bytes that r names, all if they are less. Of a large record no more is read.
func (c *Cache) Head(r storage.Ref, n int) ([]byte, error) {
	if p := c.inMemory(r.First(n)); p != nil {
		return p, nil
	}
	return c.colder().head(r, n)
}

// Keep is Get for bytes that stay valid after Release.
func (c *Cache) Keep(r storage.Ref) ([]byte, error) {
	if p := c.inMemory(r); p != nil {
		return p, nil
	}
	if r.Size > assembleMax {
		return c.colder().single(r) // into memory of its own
	}
	p, err := c.colder().get(r)
	return bytes.Clone(p), err
}

// inMemory returns the bytes that r names if they are hot or were read beforehand, else nil. They stay valid.
func (c *Cache) inMemory(r storage.Ref) []byte {
	if data := c.hot(r.Log).batch(r.Index); data != nil {
		return data[r.Offset : r.Offset+r.Size : r.Offset+r.Size]
	}
	return c.ahead.find(r)
}

// colder is the cache of what was read, which is made if need be.
func (c *Cache) colder() *coldCache {
	if c.cold == nil {
		c.cold = newColdCache(c)
	}
	return c.cold
}

// mayRead reports whether log may be read ahead at a batch: what is hot need not be.
func (c *Cache) mayRead(log storage.LogID, i storage.Index) bool {
	hot := c.hot(log)
	return !c.shut && (hot.empty() || i < hot.first)
}

// Prefetch reads the records beforehand that a crowd of messages will need soon. It looks at a portion of the
// deadlines, and does not wait for the disk.
func (c *Cache) Prefetch(v *vhost.VHost) {
	if !c.shut {
		c.ahead.look(v)
	}
}

// Release ends all loans.
func (c *Cache) Release() {
	if c.cold != nil {
		c.cold.release()
	}
}

// Busy reports whether the cache keeps anything that Trim could drop later.
func (c *Cache) Busy() bool { return !c.own.empty() || !c.pages.empty() || c.cold != nil }

// Trim drops what is no longer hot, all that is written if nothing was added since the last Trim, and what was read if
// none of it was used since then. It is called now and then in a pause.
func (c *Cache) Trim() {
	for _, h := range []*hotBatches{&c.own, &c.pages} {
		newest := h.newest()
		quiet := newest == h.trimmedAt
		h.trimmedAt = newest
		added := c.shared.added.Load()
		if quiet {
			added = math.MaxUint64
		}
		h.trim(added, c.from)
	}
	if c.cold != nil && c.cold.idle() {
		c.cold.close()
		c.cold = nil
	}
}

// Close gives back what the node shares, and waits for what is being read ahead. Reading is still possible.
func (c *Cache) Close() {
	c.shut = true
	c.ahead.close()
	if c.cold != nil {
		c.cold.close()
		c.cold = nil
	}
}

func (c *Cache) hot(log storage.LogID) *hotBatches {
	if log.IsPages() {
		return &c.pages
	}
	return &c.own
}

func (c *Cache) trimHot(log storage.LogID) { c.hot(log).trim(c.shared.added.Load(), c.from) }

// hotBatches are the newest batches of one log.
type hotBatches struct {
	log     storage.LogID
	batches []hotBatch    // oldest first, from head, without gaps
	head    int           // below it: gone
	first   storage.Index // of batches[head]
	written storage.Index // as last told

	trimmedAt uint64 // newest at the last Trim
}

type hotBatch struct {
	data  []byte
	added uint64 // of Shared, this one included
}

// newest is what had been added when the newest batch was, 0 if there is none.
func (h *hotBatches) newest() uint64 {
	if h.empty() {
		return 0
	}
	return h.batches[len(h.batches)-1].added
}

func (h *hotBatches) empty() bool { return h.head == len(h.batches) }

func (h *hotBatches) add(log storage.LogID, i storage.Index, data []byte, added uint64) {
	if h.empty() {
		h.log, h.first = log, i
	}
	for h.first+storage.Index(len(h.batches)-h.head) < i { // one that was not kept
		h.batches = append(h.batches, hotBatch{added: added})
	}
	h.batches = append(h.batches, hotBatch{data, added})
}

// batch returns a batch, or nil.
func (h *hotBatches) batch(i storage.Index) []byte {
	if k := i - h.first; i >= h.first && k < storage.Index(len(h.batches)-h.head) {
		return h.batches[h.head+int(k)].data
	}
	return nil
}

// trim forgets the oldest batches that are not hot when so many bytes were added. One that is not written yet stays: it
// can be read nowhere else, and who is to write it holds it as well.
func (h *hotBatches) trim(added uint64, from Source) {
	asked := false
	for !h.empty() && added-h.batches[h.head].added >= hotBytesMax {
		if h.first > h.written && !asked {
			h.written, asked = from.Written(h.log), true
		}
		if h.first > h.written {
			break
		}
		h.batches[h.head] = hotBatch{}
		h.head++
		h.first++
	}
	if h.head > 64 && 2*h.head > len(h.batches) {
		h.batches = slices.Delete(h.batches, 0, h.head)
		h.head = 0
	}
}
