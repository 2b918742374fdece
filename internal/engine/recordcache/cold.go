package recordcache

import (
	"cmp"
	"slices"

	"github.com/bartleby-mq/bartleby/internal/journal"
	"github.com/bartleby-mq/bartleby/internal/storage"
)

const (
	// stretchMemory is what a stretch takes: enough that a backlog read in order costs one read in hundreds of
	// messages, little enough that a thousand queues' fronts do not need more than there is.
	stretchMemory = 64 << 10
	// stretchesMax is how many a node has, but for what each cache may have anyway.
	stretchesMax = coldBytesMax / stretchMemory
	// stretchesLeast is how many a cache may have when others have taken the space.
	stretchesLeast = 8
	// scratchesMax is how many pieces of stretchMemory for single records are used again.
	scratchesMax = 8
	// missesKept is in how many places misses are counted.
	missesKept = 1024
	// missesLeast and missesMost bound how many misses close to each other make it worth reading a stretch.
	missesLeast, missesMost = 2, 128
	// hintsKept is of how many batches is remembered where they lie: a thousand queues' messages, read queue by queue,
	// are in thousands of batches.
	hintsKept = 4096
	// hitsWorth is how many records out of a stretch pay for reading it. A stretch costs some 15 µs, a record 2.
	hitsWorth = 8
)

// stretchBytes is what a stretch holds of one batch, and the grid on which stretches of a batch begin.
var stretchBytes = journal.StretchBytes(stretchMemory)

// assembleMax is the largest record that is put together from stretches, bytes. A larger one is read alone, unless one
// stretch holds it.
var assembleMax = 2 * stretchBytes

// isReadAlone reports whether a record is too large for its neighbours to be read with it.
func isReadAlone(r storage.Ref) bool { return r.Size > stretchBytes/2 }

// coldCache holds stretches of what was read, and decides what to read: single records where they are far apart,
// stretches where records close to each other are asked for, and on from there when that goes forward.
type coldCache struct {
	in        *Cache
	stretches []*stretch // in order of where they begin
	spare     []*stretch // empty
	have      int        // stretches, those in flight included
	last      *stretch   // found last
	turn      uint64     // counts the ends of loans: what was lent in this turn is not read over
	clock     uint64     // counts changes from stretch to stretch, and misses
	rested    uint64     // the clock when idle was asked last
	inFlight  []*stream
	misses    [missesKept]nearMisses
	hints     [hintsKept]journal.Hint
	need      int // misses that make a stretch worth reading
	singles   int // records read alone, since need changed
	scratches [][]byte
	scratch   int // those in use, the last up to its length
}

// stretch is a stretch in the cache.
type stretch struct {
	journal.Stretch
	lent    uint64  // turn in which it was used last
	used    uint64  // clock then, or when it came
	hits    int     // records found in it,
	bytes   int     // and theirs
	guessed bool    // it was read because of misses close to each other
	stream  *stream // that brought it, until it is used
}

// nearMisses counts misses close to each other.
type nearMisses struct {
	log   storage.LogID
	piece uint32        // of stretchBytes, in the data of a batch
	group storage.Index // of batches
	count int           // negative: stretches cannot be read here
}

func newColdCache(in *Cache) *coldCache { return &coldCache{in: in, turn: 1, need: missesLeast} }

// get returns the bytes that r names.
func (c *coldCache) get(r storage.Ref) ([]byte, error) {
	if p := c.find(r); p != nil {
		return p, nil
	}
	c.clock++
	c.collect(r)
	s := c.before(r)
	if s != nil {
		switch p := s.Find(r); {
		case len(p) == int(r.Size):
			c.touch(s, len(p))
			return p, nil
		case len(p) > 0 && r.Size <= assembleMax:
			c.touch(s, len(p))
			return c.assemble(p, r)
		}
	}
	return c.read(r, s)
}

// head returns the first n bytes that r names. A record that would be read alone is not worth a stretch for its head.
func (c *coldCache) head(r storage.Ref, n int) ([]byte, error) {
	if !isReadAlone(r) {
		return c.get(r.First(n))
	}
	c.clock++
	if p := c.find(r.First(n)); p != nil {
		return p, nil
	}
	return c.single(r.First(n))
}

// find returns the bytes that r names if a stretch holds them all.
func (c *coldCache) find(r storage.Ref) []byte {
	if s := c.last; s != nil && s.Log == r.Log {
		if p := s.Find(r); len(p) == int(r.Size) {
			c.touch(s, len(p))
			return p
		}
	}
	if s := c.before(r); s != nil {
		if p := s.Find(r); len(p) == int(r.Size) {
			c.touch(s, len(p))
			return p
		}
	}
	return nil
}

// before returns the last stretch that begins where r does, or before it in its log; nil if there is none.
func (c *coldCache) before(r storage.Ref) *stretch {
	i, found := c.search(r.Log, r.Index, r.Offset)
	if !found {
		i--
	}
	if i < 0 || c.stretches[i].Log != r.Log {
		return nil
	}
	return c.stretches[i]
}

func (c *coldCache) search(log storage.LogID, index storage.Index, offset uint32) (i int, found bool) {
	return slices.BinarySearchFunc(c.stretches, log, func(s *stretch, log storage.LogID) int {
		return cmp.Or(cmp.Compare(s.Log, log), cmp.Compare(s.First, index), cmp.Compare(s.Offset, offset))
	})
}

// touch notes that n bytes of a record were found in s.
func (c *coldCache) touch(s *stretch, n int) {
	s.hits++
	s.bytes += n
	if s == c.last {
		s.lent = c.turn
		return
	}
	c.clock++
	s.used, s.lent, c.last = c.clock, c.turn, s
	if st := s.stream; st != nil {
		s.stream = nil
		st.waiting--
		c.readOn(st)
	}
}

// assemble is for a record, of assembleMax bytes at the most, of which a stretch holds the beginning. Each piece that
// it consists of takes space for all that is left of it.
func (c *coldCache) assemble(beginning []byte, r storage.Ref) ([]byte, error) {
	p := c.memory(int(r.Size))
	p = append(p, beginning...)
	n := uint32(len(beginning))
	rest, err := c.get(storage.Ref{Log: r.Log, Index: r.Index, Offset: r.Offset + n, Size: r.Size - n})
	return append(p, rest...), err
}

// read reads what no stretch has; s is the one before it. What cannot be read with its neighbours, because they
// are damaged or given back, is read alone.
func (c *coldCache) read(r storage.Ref, s *stretch) ([]byte, error) {
	if isReadAlone(r) {
		return c.single(r)
	}
	m := c.missed(r)
	if m.count < 0 {
		return c.single(r)
	}
	index, offset := r.Index, r.Offset/stretchBytes*stretchBytes
	follows := s != nil && s.worth() && s.leadsTo(r)
	if next, at := s.behind(); follows && next == index {
		offset = at
	}
	m.count++
	if !follows && m.count < c.need {
		return c.single(r)
	}
	m.count = 0
	s, err := c.load(r.Log, index, offset)
	if err != nil {
		m.count = -1
		return c.single(r)
	}
	s.guessed = !follows
	p := s.Find(r)
	if len(p) > 0 {
		c.touch(s, len(p))
	}
	if follows {
		c.readOn(newStream(s))
	}
	switch len(p) {
	case 0:
		return c.single(r)
	case int(r.Size):
		return p, nil
	}
	return c.assemble(p, r)
}

// worth reports whether what was found in s pays for reading it.
func (s *stretch) worth() bool { return s.hits >= hitsWorth || s.bytes >= int(stretchBytes)/8 }

// behind is where the log goes on behind s, which may be nil.
func (s *stretch) behind() (index storage.Index, offset uint32) {
	if s == nil {
		return 0, 0
	}
	return s.Next()
}

// leadsTo reports whether r lies in what would be read next behind s, or nearly so.
func (s *stretch) leadsTo(r storage.Ref) bool {
	index, offset := s.Next()
	if index == r.Index {
		return r.Offset >= offset && r.Offset-offset < stretchBytes
	}
	return r.Index > index && r.Index-index <= storage.Index(s.Batches()) && r.Offset < stretchBytes
}

// missed finds where misses near r are counted.
func (c *coldCache) missed(r storage.Ref) *nearMisses {
	const groupBits = 4 // some batches are small: those next to each other count as one place
	at := nearMisses{log: r.Log, piece: r.Offset / stretchBytes, group: r.Index >> groupBits}
	h := (uint64(at.log)<<40 ^ uint64(at.group)<<12 ^ uint64(at.piece)) * 0x9e3779b97f4a7c15
	m := &c.misses[h>>32%missesKept]
	if m.log != at.log || m.piece != at.piece || m.group != at.group {
		*m = at
	}
	return m
}

// single reads one record.
func (c *coldCache) single(r storage.Ref) ([]byte, error) {
	if c.singles++; c.singles >= missesKept && c.need > missesLeast { // times may have changed
		c.singles, c.need = 0, c.need-1
	}
	n := journal.ReadBytes(r)
	return c.in.from.Read(c.memory(n), r, &c.hints[r.Index%hintsKept])
}

// space returns memory for n bytes that serves until the end of the loan.
func (c *coldCache) memory(n int) []byte {
	if n > stretchMemory/4 {
		return make([]byte, 0, n)
	}
	if c.scratch == 0 || len(c.scratches[c.scratch-1])+n > stretchMemory {
		switch {
		case c.scratch == scratchesMax: // a long loan: those who have it keep it alive
			c.scratches[c.scratch-1] = make([]byte, 0, stretchMemory)
		case c.scratch == len(c.scratches):
			c.scratches = append(c.scratches, make([]byte, 0, stretchMemory))
			c.scratch++
		default:
			c.scratch++
		}
	}
	p := &c.scratches[c.scratch-1]
	at := len(*p)
	*p = (*p)[:at+n]
	return (*p)[at : at : at+n]
}

// load reads a stretch.
func (c *coldCache) load(log storage.LogID, index storage.Index, offset uint32) (*stretch, error) {
	s := c.take()
	if err := c.in.from.ReadStretch(&s.Stretch, log, index, offset); err != nil {
		c.spare = append(c.spare, s)
		return nil, err
	}
	log, index, offset = s.Log, s.First, s.Offset // it may begin elsewhere, where a segment was rewritten
	if !c.insert(s) {
		i, _ := c.search(log, index, offset)
		return c.stretches[i], nil
	}
	return s, nil
}

// insert puts a stretch that was read in its place. If one that is as long begins there, it is a spare one.
func (c *coldCache) insert(s *stretch) (fresh bool) {
	s.used = c.clock
	i, found := c.search(s.Log, s.First, s.Offset)
	if found {
		if old := c.stretches[i]; old.Len() >= s.Len() {
			s.Reset()
			c.spare = append(c.spare, s)
			return false
		}
		c.remove(i) // the log has grown since
	}
	c.stretches = slices.Insert(c.stretches, i, s)
	return true
}

// take returns an empty stretch: a new one while there is space, else the one that has not been used for the longest
// time.
func (c *coldCache) take() *stretch {
	if len(c.spare) == 0 {
		if c.have < stretchesLeast || len(c.stretches) == 0 || c.in.shared.cold.Load() < stretchesMax {
			c.have++
			c.in.shared.cold.Add(1)
			return newStretch()
		}
		oldest := slices.MinFunc(c.stretches, func(a, b *stretch) int { return cmp.Compare(a.used, b.used) })
		i, _ := c.search(oldest.Log, oldest.First, oldest.Offset)
		c.remove(i)
	}
	s := c.spare[len(c.spare)-1]
	c.spare = c.spare[:len(c.spare)-1]
	return s
}

// remove makes a stretch a spare one.
func (c *coldCache) remove(i int) {
	s := c.stretches[i]
	c.stretches = slices.Delete(c.stretches, i, i+1)
	if c.last == s {
		c.last = nil
	}
	if s.guessed {
		c.judge(s.worth())
	}
	if st := s.stream; st != nil { // it was read in vain
		st.waiting--
		st.window = max(1, st.window/2)
	}
	if s.lent == c.turn { // its bytes are still being read
		s = newStretch()
	}
	s.Reset()
	*s = stretch{Stretch: s.Stretch}
	c.spare = append(c.spare, s)
}

func newStretch() *stretch { return &stretch{Stretch: *journal.NewStretch(stretchMemory)} }

// judge learns from what a guess was good for.
func (c *coldCache) judge(worth bool) {
	c.singles = 0
	if worth {
		c.need = max(c.need-1, missesLeast)
	} else {
		c.need = min(2*c.need, missesMost)
	}
}

// release ends all loans.
func (c *coldCache) release() {
	c.turn++
	for i := range c.scratch {
		c.scratches[i] = c.scratches[i][:0]
	}
	c.scratch = 0
}

// idle reports whether nothing was read since it was asked last.
func (c *coldCache) idle() bool {
	was := c.rested
	c.rested = c.clock
	return was == c.clock
}

// close gives everything back, when what is being read ahead has come.
func (c *coldCache) close() {
	for _, st := range c.inFlight {
		for ; st.inFlight > 0; st.inFlight-- {
			<-st.arrived
		}
	}
	c.in.shared.cold.Add(-int64(c.have))
	*c = coldCache{in: c.in, turn: c.turn + 1, need: missesLeast}
}
