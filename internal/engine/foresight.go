package engine

import (
	"cmp"
	"slices"
	"sync/atomic"

	"github.com/bartleby-mq/bartleby/internal/deadline"
	"github.com/bartleby-mq/bartleby/internal/journal"
	"github.com/bartleby-mq/bartleby/internal/place"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

const (
	// foreseenLeast is of how many messages that are due soon the records are read beforehand.
	foreseenLeast = 4096
	// foreseenBytesMax and foreseenMax bound what is read at once, and foreseenWorth is how many records are worth it.
	foreseenBytesMax = 16 << 20
	foreseenMax      = 96 << 10
	foreseenWorth    = 512
	// foreseenKept is how many such readings are kept: one that is being used, one whose messages are still on their way
	// to consumers, and one that comes next.
	foreseenKept = 3
	// foreseenShared bounds what all vhosts of a node have so.
	foreseenShared = 96 << 20
	// foreseenPortion is how many deadlines are looked at between two steps.
	foreseenPortion = 4096
	// closeBy is so many records that a stretch costs as much as reading them one by one.
	closeBy = 8
)

// foresight reads the records of messages beforehand that are due soon. A crowd that is due at many instants of a moment
// lies all over the log: each by itself costs a read of its own, and all of them together, in the order in which they lie
// there, few. It belongs to the owner of the runner.
type foresight struct {
	from   source
	shared *atomic.Int64 // bytes that the vhosts of the node have foreseen
	run    func(func())
	hot    func(place.Ref) bool // in memory anyway

	shown  []*foreseen // oldest first
	flying chan *foreseen
	next   deadline.Entry // where looking ahead goes on
	coming *foreseen      // being put together
	refs   []place.Ref    // of it
}

// foreseen are records that were read beforehand.
type foreseen struct {
	records map[place.Ref]uint32 // where each begins in memory: without pointers the collector has next to nothing to look at
	memory  []byte
	bytes   int64
	middle  deadline.Entry // when that has come, it is time for the next
}

// find returns the bytes that r names, nil if they were not foreseen. They stay good.
func (f *foresight) find(r place.Ref) []byte {
	for i := len(f.shown) - 1; i >= 0; i-- {
		c := f.shown[i]
		if at, ok := c.records[r]; ok {
			return c.memory[at : at+r.Size : at+r.Size]
		}
	}
	return nil
}

// look looks ahead, a portion at a time, and has what it finds read.
func (f *foresight) look(v *vhost.VHost) {
	f.land(false)
	front, due := v.Front()
	if v.Near() < foreseenLeast || !due {
		if v.Near() == 0 {
			f.forget(0)
		}
		return
	}
	if n := len(f.shown); f.flying != nil || n > 0 && front.Compare(f.shown[n-1].middle) < 0 {
		return
	}
	if f.next.Compare(front) < 0 {
		f.next = front
	}
	if f.coming == nil {
		f.coming, f.refs = &foreseen{}, f.refs[:0]
	}
	c := f.coming
	if c.isLarge(len(f.refs)) { // and waits until others have given back what they foresaw
		f.fly()
		return
	}
	next, more := v.Foresee(f.next, foreseenPortion, func(r place.Ref) {
		if !f.hot(r) {
			f.refs = append(f.refs, r)
			c.bytes += int64(r.Size)
		}
	})
	if f.next = next; c.bytes < foreseenBytesMax/2 && len(f.refs) < foreseenMax/2 {
		c.middle = next
	}
	if c.isLarge(len(f.refs)) || !more && len(f.refs) >= foreseenWorth {
		f.fly()
	}
}

// isLarge reports whether that many records are as many as are read at once.
func (c *foreseen) isLarge(records int) bool {
	return c.bytes >= foreseenBytesMax || records >= foreseenMax
}

// fly has what was put together read, if the node has room for it.
func (f *foresight) fly() {
	if f.shared.Load()+f.coming.bytes > foreseenShared {
		return
	}
	c, refs, arrived := f.coming, f.refs, make(chan *foreseen, 1)
	f.shared.Add(c.bytes)
	f.coming, f.refs, f.flying = nil, nil, arrived
	f.run(func() {
		c.read(f.from, refs)
		arrived <- c
	})
}

// land takes in what was read, or waits for it.
func (f *foresight) land(wait bool) {
	if f.flying == nil {
		return
	}
	if !wait && len(f.flying) == 0 {
		return
	}
	f.shown = append(f.shown, <-f.flying)
	f.flying = nil
	f.forget(foreseenKept)
}

// forget gives back all but the newest.
func (f *foresight) forget(kept int) {
	for len(f.shown) > kept {
		f.shared.Add(-f.shown[0].bytes)
		f.shown = slices.Delete(f.shown, 0, 1)
	}
	if kept == 0 {
		f.coming, f.refs = nil, nil
	}
}

// close gives everything back, when what is being read has come.
func (f *foresight) close() {
	f.land(true)
	f.forget(0)
}

// read reads the records in the order in which they lie in the log: those that are close to each other in stretches. What
// cannot be read is left out: who needs it learns why.
func (c *foreseen) read(from source, refs []place.Ref) {
	slices.SortFunc(refs, func(a, b place.Ref) int {
		return cmp.Or(cmp.Compare(a.Index, b.Index), cmp.Compare(a.Offset, b.Offset))
	})
	c.records = make(map[place.Ref]uint32, len(refs))
	c.memory = make([]byte, 0, c.bytes)
	keep := func(r place.Ref, p []byte) {
		c.records[r] = uint32(len(c.memory))
		c.memory = append(c.memory, p...)
	}
	s := journal.NewStretch(stretchMemory)
	var hint journal.Hint
	var buf []byte
	for i := 0; i < len(refs); {
		first := i
		if worthStretch(refs[i:]) && from.readStretch(s, refs[i].Log, refs[i].Index, refs[i].Offset/journal.ChunkBytes*journal.ChunkBytes) == nil {
			for ; i < len(refs); i++ {
				p := s.Find(refs[i])
				if len(p) < int(refs[i].Size) {
					break
				}
				keep(refs[i], p)
			}
		}
		if i > first {
			continue
		}
		r := refs[i]
		i++
		if n := journal.ReadBytes(r); cap(buf) < n {
			buf = make([]byte, 0, n)
		}
		if p, err := from.read(buf[:0], r, &hint); err == nil {
			keep(r, p)
		}
	}
}

// worthStretch reports whether the first of refs, sorted, are so close to each other that a stretch is likely to pay.
func worthStretch(refs []place.Ref) bool {
	if len(refs) < closeBy {
		return false
	}
	a, b := refs[0], refs[closeBy-1]
	return a.Index == b.Index && b.Offset-a.Offset < stretchBytes || b.Index-a.Index < closeBy && a.Index != b.Index && b.Offset < stretchBytes
}
