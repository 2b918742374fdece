package engine

import (
	"bytes"
	"slices"
	"sync/atomic"

	"github.com/bartleby-mq/bartleby/internal/journal"
	"github.com/bartleby-mq/bartleby/internal/place"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

const (
	// hotBytesMax is how much of the newest batches, of all vhosts together, is kept in memory: a message that is
	// taken soon is never read from the disk.
	hotBytesMax = 12 << 20
	// coldBytesMax is how much of what was read from the disk is kept, of all vhosts together.
	coldBytesMax = 8 << 20
)

// cacheRoom is what the caches of a node share.
type cacheRoom struct {
	added    atomic.Uint64 // bytes of batches, ever: what was added hotBytesMax ago is not hot
	cold     atomic.Int64  // stretches that caches have
	foreseen atomic.Int64  // bytes of records that were read beforehand
}

// source is where a cache reads what it does not hold.
type source interface {
	// read returns the bytes that r names, in buf if it has the room that journal.ReadBytes tells.
	read(buf []byte, r place.Ref, hint *journal.Hint) ([]byte, error)
	// readStretch fills s with what lies in a log from there on.
	readStretch(s *journal.Stretch, log place.LogID, index place.Index, offset uint32) error
	// written is the batch of log up to which all can be read.
	written(log place.LogID) place.Index
}

// recordCache holds records of a vhost's log, and pages of that log's pages, in memory: the newest batches whole, and
// stretches of what was read. It belongs to the owner of the runner.
type recordCache struct {
	from   source
	shared *cacheRoom
	run    func(func()) // starts a goroutine that reads ahead; who closes the source waits for its end
	own    hotBatches
	pages  hotBatches
	cold   *coldCache // nil while nothing is
	ahead  *foresight
	shut   bool // nothing is read ahead any more
}

func newRecordCache(from source, shared *cacheRoom, run func(func())) *recordCache {
	c := &recordCache{from: from, shared: shared, run: run}
	c.ahead = &foresight{from: from, shared: &shared.foreseen, run: run, hot: func(r place.Ref) bool { return c.own.batch(r.Index) != nil }}
	return c
}

// add keeps a batch that was just made; indexes ascend. What is not hot any more goes.
func (c *recordCache) add(log place.LogID, i place.Index, data []byte) {
	c.hot(log).add(log, i, data, c.shared.added.Add(uint64(cap(data))))
	c.trim(log)
}

// get returns the bytes that r names, which are lent until release. It may wait for the disk.
func (c *recordCache) get(r place.Ref) ([]byte, error) {
	if data := c.hot(r.Log).batch(r.Index); data != nil {
		return data[r.Offset : r.Offset+r.Size : r.Offset+r.Size], nil
	}
	if p := c.ahead.find(r); p != nil {
		return p, nil
	}
	if c.cold == nil {
		c.cold = newColdCache(c)
	}
	return c.cold.get(r)
}

// keep is get for bytes that stay good.
func (c *recordCache) keep(r place.Ref) ([]byte, error) {
	if p := c.ahead.find(r); p != nil {
		return p, nil
	}
	p, err := c.get(r)
	if err == nil && c.hot(r.Log).batch(r.Index) == nil {
		p = bytes.Clone(p)
	}
	return p, err
}

// mayRead reports whether log may be read ahead at a batch: what is hot need not be.
func (c *recordCache) mayRead(log place.LogID, i place.Index) bool {
	hot := c.hot(log)
	return !c.shut && (hot.empty() || i < hot.first)
}

// look has the records read beforehand that a crowd of messages will soon need.
func (c *recordCache) look(v *vhost.VHost) {
	if !c.shut {
		c.ahead.look(v)
	}
}

// release ends all loans.
func (c *recordCache) release() {
	if c.cold != nil {
		c.cold.release()
	}
}

// busy reports whether anything is kept that could be given back one day.
func (c *recordCache) busy() bool { return !c.own.empty() || !c.pages.empty() || c.cold != nil }

// rest gives back what is not hot any more, and what was read if none of it was of use since the last rest. It is called
// now and then in a pause.
func (c *recordCache) rest() {
	c.trim(0)
	c.trim(place.LogID(0).Pages())
	if c.cold != nil && c.cold.idle() {
		c.cold.close()
		c.cold = nil
	}
}

// close gives back what the node shares, and waits for what is being read ahead. Reading is still possible.
func (c *recordCache) close() {
	c.shut = true
	c.ahead.close()
	if c.cold != nil {
		c.cold.close()
		c.cold = nil
	}
}

func (c *recordCache) hot(log place.LogID) *hotBatches {
	if log.IsPages() {
		return &c.pages
	}
	return &c.own
}

func (c *recordCache) trim(log place.LogID) { c.hot(log).trim(c.shared.added.Load(), c.from) }

// hotBatches are the newest batches of one log.
type hotBatches struct {
	log     place.LogID
	batches []hotBatch  // oldest first, from head, without gaps
	head    int         // below it: gone
	first   place.Index // of batches[head]
	written place.Index // as last told
}

type hotBatch struct {
	data  []byte
	added uint64 // of cacheRoom, this one included
}

func (h *hotBatches) empty() bool { return h.head == len(h.batches) }

func (h *hotBatches) add(log place.LogID, i place.Index, data []byte, added uint64) {
	if h.empty() {
		h.log, h.first = log, i
	}
	for h.first+place.Index(len(h.batches)-h.head) < i { // one that was not kept
		h.batches = append(h.batches, hotBatch{added: added})
	}
	h.batches = append(h.batches, hotBatch{data, added})
}

// batch returns a batch, or nil.
func (h *hotBatches) batch(i place.Index) []byte {
	if k := i - h.first; i >= h.first && k < place.Index(len(h.batches)-h.head) {
		return h.batches[h.head+int(k)].data
	}
	return nil
}

// trim forgets the oldest batches that are not hot when so many bytes were added. One that is not written yet stays: it
// can be read nowhere else, and who is to write it holds it as well.
func (h *hotBatches) trim(added uint64, from source) {
	asked := false
	for !h.empty() && added-h.batches[h.head].added >= hotBytesMax {
		if h.first > h.written && !asked {
			h.written, asked = from.written(h.log), true
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
