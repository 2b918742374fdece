package recordcache

import (
	"slices"

	"github.com/bartleby-mq/bartleby/internal/storage"
)

const (
	// aheadMax is how many stretches of a stream are read ahead at once: a megabyte.
	aheadMax = 16
	// streamsMax is how many streams of a cache are being read ahead at the same time.
	streamsMax = 4
)

// stream is a part of a log that is read forwards. While its stretches are used, the next ones are read by a goroutine:
// at first a few, then more and more, fewer when some are pushed out before anybody needs them.
//
//	used ... | waiting to be used | index, offset: inFlight |
type stream struct {
	log      storage.LogID
	index    storage.Index // behind what has come
	offset   uint32
	batches  int  // of the stretch that came last
	window   int  // how many to read next
	waiting  int  // have come and were not used yet
	inFlight int  // being read
	over     bool // the log cannot be read on from there: its end, a gap, damage
	arrived  chan *stretch
}

// newStream is what goes on behind s.
func newStream(s *stretch) *stream {
	st := &stream{log: s.Log, batches: s.Batches(), window: 2}
	st.index, st.offset = s.Next()
	return st
}

// readOn has the next stretches of st read, if it is time.
func (c *coldCache) readOn(st *stream) {
	if st.over || st.inFlight > 0 || st.waiting > st.window/2 || len(c.inFlight) == streamsMax || !c.in.mayRead(st.log, st.index) {
		return
	}
	if _, found := c.search(st.log, st.index, st.offset); found {
		return
	}
	n := min(st.window, 1+c.have/4)
	st.window = min(2*st.window, aheadMax)
	free := make([]*stretch, n)
	for i := range free {
		free[i] = c.take()
	}
	st.inFlight, st.arrived = n, make(chan *stretch, n)
	c.inFlight = append(c.inFlight, st)
	from, arrived, log, index, offset := c.in.from, st.arrived, st.log, st.index, st.offset
	c.in.run(func() {
		over := false
		for _, s := range free {
			over = over || from.ReadStretch(&s.Stretch, log, index, offset) != nil
			if !over {
				index, offset = s.Next()
			}
			arrived <- s
		}
	})
}

// collect takes in what was read ahead, and waits for what r is likely to be in.
func (c *coldCache) collect(r storage.Ref) {
	c.inFlight = slices.DeleteFunc(c.inFlight, func(st *stream) bool {
		for st.inFlight > 0 {
			if st.brings(r) {
				c.arrive(st, <-st.arrived)
				continue
			}
			select {
			case s := <-st.arrived:
				c.arrive(st, s)
			default:
				return false
			}
		}
		return true
	})
}

// brings reports whether r lies so close behind what has come that it will soon have come too.
func (st *stream) brings(r storage.Ref) bool {
	return r.Log == st.log && r.Index >= st.index && (r.Index > st.index || r.Offset >= st.offset) &&
		r.Index-st.index <= storage.Index((1+st.batches)*st.inFlight)
}

// arrive takes in a stretch that was read ahead; it is empty if it could not be read.
func (c *coldCache) arrive(st *stream, s *stretch) {
	st.inFlight--
	if s.Batches() == 0 {
		st.over = true
		c.spare = append(c.spare, s)
		return
	}
	st.index, st.offset = s.Next()
	st.batches = s.Batches()
	if !c.insert(s) { // somebody else reads there
		st.over = true
		return
	}
	st.waiting++
	s.stream = st
}
