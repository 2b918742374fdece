package recordcache

import (
	"cmp"
	"slices"
	"sync/atomic"

	"github.com/bartleby-mq/bartleby/internal/deadline"
	"github.com/bartleby-mq/bartleby/internal/journal"
	"github.com/bartleby-mq/bartleby/internal/storage"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

const (
	// prefetchLeast is of how many messages that are due soon the records are read beforehand.
	prefetchLeast = 4096
	// prefetchBytesMax and prefetchMax bound what is read at once, and prefetchWorth is how many records are worth it.
	prefetchBytesMax = 16 << 20
	prefetchMax      = 96 << 10
	prefetchWorth    = 512
	// prefetchKept is how many such readings are kept: one that is being used, one whose messages are still on their
	// way to consumers, and one that comes next.
	prefetchKept = 3
	// prefetchShared bounds what all vhosts of a node have so.
	prefetchShared = 96 << 20
	// prefetchPortion is how many deadlines are looked at between two steps.
	prefetchPortion = 4096
	// closeBy is so many records that a stretch costs as much as reading them one by one.
	closeBy = 8
)

// prefetcher reads the records of messages that are due soon beforehand. A crowd with many due times in a short time
// lies all over the log: one by one, each record costs a read of its own; in the order in which they lie there, all of
// them cost few.
type prefetcher struct {
	from   Source
	shared *atomic.Int64 // bytes that the vhosts of the node have prefetched
	run    func(func())
	hot    func(storage.Ref) bool // in memory anyway

	shown    []*prefetched // oldest first
	inFlight chan *prefetched
	next     deadline.Entry // where looking ahead goes on
	coming   *prefetched    // being put together
	refs     []storage.Ref  // of it
}

// prefetched are records that were read beforehand.
type prefetched struct {
	// by where they begin in the log, which part of memory they are: without pointers the collector has next to nothing
	// to look at
	records map[storage.Ref]part
	memory  []byte
	bytes   int64
	middle  deadline.Entry // when that has come, it is time for the next
}

// part is some bytes of a memory.
type part struct{ at, size uint32 }

// find returns the bytes that r names, the beginning of a record or all of it; nil if they were not prefetched. They
// stay valid.
func (f *prefetcher) find(r storage.Ref) []byte {
	for i := len(f.shown) - 1; i >= 0; i-- {
		c := f.shown[i]
		if p, ok := c.records[r.First(0)]; ok && r.Size <= p.size {
			return c.memory[p.at : p.at+r.Size : p.at+r.Size]
		}
	}
	return nil
}

// prefetchable is what is prefetched of a record: all of it, or the head of one that is read alone.
func prefetchable(r storage.Ref) storage.Ref {
	if isReadAlone(r) {
		return r.First(vhost.HeadBytes)
	}
	return r
}

// look looks ahead, a portion at a time, and starts to read what it finds.
func (f *prefetcher) look(v *vhost.VHost) {
	f.arrive(false)
	front, due := v.Front()
	if v.Near() < prefetchLeast || !due {
		if v.Near() == 0 {
			f.forget(0)
		}
		return
	}
	if n := len(f.shown); f.inFlight != nil || n > 0 && front.Compare(f.shown[n-1].middle) < 0 {
		return
	}
	if f.next.Compare(front) < 0 {
		f.next = front
	}
	if f.coming == nil {
		f.coming, f.refs = &prefetched{}, f.refs[:0]
	}
	c := f.coming
	if c.isLarge(len(f.refs)) { // and waits until others have given back what they foresaw
		f.start()
		return
	}
	next, more := v.Foresee(f.next, prefetchPortion, func(r storage.Ref) {
		if !f.hot(r) {
			f.refs = append(f.refs, r)
			c.bytes += int64(prefetchable(r).Size)
		}
	})
	if f.next = next; c.bytes < prefetchBytesMax/2 && len(f.refs) < prefetchMax/2 {
		c.middle = next
	}
	if c.isLarge(len(f.refs)) || !more && len(f.refs) >= prefetchWorth {
		f.start()
	}
}

// isLarge reports whether no more records are read at once than so many.
func (c *prefetched) isLarge(records int) bool {
	return c.bytes >= prefetchBytesMax || records >= prefetchMax
}

// start reads what was put together, if the node has space for it.
func (f *prefetcher) start() {
	if f.shared.Load()+f.coming.bytes > prefetchShared {
		return
	}
	c, refs, arrived := f.coming, f.refs, make(chan *prefetched, 1)
	f.shared.Add(c.bytes)
	f.coming, f.refs, f.inFlight = nil, nil, arrived
	f.run(func() {
		c.read(f.from, refs)
		arrived <- c
	})
}

// arrive takes in what was read, or waits for it.
func (f *prefetcher) arrive(wait bool) {
	if f.inFlight == nil {
		return
	}
	if !wait && len(f.inFlight) == 0 {
		return
	}
	f.shown = append(f.shown, <-f.inFlight)
	f.inFlight = nil
	f.forget(prefetchKept)
}

// forget gives back all but the newest.
func (f *prefetcher) forget(kept int) {
	for len(f.shown) > kept {
		f.shared.Add(-f.shown[0].bytes)
		f.shown = slices.Delete(f.shown, 0, 1)
	}
	if kept == 0 {
		f.coming, f.refs = nil, nil
	}
}

// close gives everything back, when what is being read has come.
func (f *prefetcher) close() {
	f.arrive(true)
	f.forget(0)
}

// read reads the records in the order in which they lie in the log: those that are close to each other in stretches.
// What cannot be read is left out: who needs it learns why.
func (c *prefetched) read(from Source, refs []storage.Ref) {
	slices.SortFunc(refs, func(a, b storage.Ref) int {
		return cmp.Or(cmp.Compare(a.Index, b.Index), cmp.Compare(a.Offset, b.Offset))
	})
	c.records = make(map[storage.Ref]part, len(refs))
	c.memory = make([]byte, 0, c.bytes)
	keep := func(r storage.Ref, p []byte) {
		c.records[r.First(0)] = part{uint32(len(c.memory)), uint32(len(p))}
		c.memory = append(c.memory, p...)
	}
	s := journal.NewStretch(stretchMemory)
	var hint journal.Hint
	var buf []byte
	for i := 0; i < len(refs); {
		first := i
		if worthStretch(refs[i:]) && from.ReadStretch(s, refs[i].Log, refs[i].Index, refs[i].Offset/journal.ChunkBytes*journal.ChunkBytes) == nil {
			for ; i < len(refs); i++ {
				r := prefetchable(refs[i])
				p := s.Find(r)
				if len(p) < int(r.Size) {
					break
				}
				keep(r, p)
			}
		}
		if i > first {
			continue
		}
		r := prefetchable(refs[i])
		i++
		if n := journal.ReadBytes(r); cap(buf) < n {
			buf = make([]byte, 0, n)
		}
		if p, err := from.Read(buf[:0], r, &hint); err == nil {
			keep(r, p)
		}
	}
}

// worthStretch reports whether the first of refs, sorted, are so close to each other that a stretch is likely to pay.
func worthStretch(refs []storage.Ref) bool {
	if len(refs) < closeBy || isReadAlone(refs[0]) {
		return false
	}
	a, b := refs[0], refs[closeBy-1]
	return a.Index == b.Index && b.Offset-a.Offset < stretchBytes || b.Index-a.Index < closeBy && a.Index != b.Index && b.Offset < stretchBytes
}
