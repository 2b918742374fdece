package queue

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/deadline"
	"github.com/bartleby-mq/bartleby/internal/storage"
)

const testLog storage.LogID = 5

// memoryPages keeps pages in memory. Now and then it has no space for transient ones.
type memoryPages struct {
	dice  *rand.Rand // nil: always space
	last  storage.Index
	pages map[storage.Ref][]byte
}

func (p *memoryPages) Put(b []byte, transient bool) storage.Ref {
	if p.pages == nil {
		p.pages = map[storage.Ref][]byte{}
	}
	log := testLog.Pages()
	if transient {
		if p.dice != nil && p.dice.IntN(4) == 0 {
			return storage.Ref{}
		}
		log = storage.Volatile.Pages()
	}
	p.last++
	r := storage.Ref{Log: log, Index: p.last, Size: uint32(len(b))}
	p.pages[r] = slices.Clone(b)
	return r
}

func (p *memoryPages) Get(r storage.Ref) []byte {
	b, ok := p.pages[r]
	if !ok {
		panic(storage.Fault{Err: fmt.Errorf("no page %+v", r)})
	}
	return b
}

func (p *memoryPages) Drop(r storage.Ref) {
	if _, ok := p.pages[r]; !ok || r.Log != storage.Volatile.Pages() {
		panic(fmt.Sprintf("page %+v is dropped twice, or is not transient", r))
	}
	delete(p.pages, r)
}

func ignoreDisarmed(*Messages, Seq, deadline.Instant) {}

func newQueue(priorityMax uint8) *Messages {
	return NewMessages(NewPool(&memoryPages{}, testLog, 1<<30, ignoreDisarmed), 7, true, priorityMax)
}

// checkpointTest is a checkpoint in the making and what it must lead to.
type checkpointTest struct {
	want   model
	saving *Checkpoint
	slots  map[Seq][]byte
	skips  []Seq
	begun  bool
}

func beginCheckpoint(m *model, q *Messages) *checkpointTest {
	c := &checkpointTest{slots: map[Seq][]byte{}}
	c.want = model{lanes: m.lanes, next: slices.Clone(m.logged), logged: slices.Clone(m.logged)}
	for _, e := range m.entries {
		if e.persistent {
			if e.state == Unacked {
				e.state, e.redelivered = Ready, true
			}
			c.want.entries = append(c.want.entries, e)
		}
	}
	c.saving = q.pool.BeginCheckpoint(func(q *Messages) { q.Logged(func(s Seq) { c.skips = append(c.skips, s) }) },
		func(_ *Messages, s Seq, b []byte) { c.slots[s] = slices.Clone(b) })
	return c
}

// step goes on, and compares what was saved with what was to be, once all is.
func (c *checkpointTest) step(q *Messages, store *memoryPages, dice *rand.Rand) (over bool, err error) {
	switch dice.IntN(6) {
	case 0:
		c.saving.Queue(q)
		c.begun = true
	case 1:
		if c.begun && !c.saving.Some(1+dice.IntN(3)) {
			c.saving.End()
			c.saving.Stored(dice.IntN(2) == 0)
			return true, c.compare(store, dice)
		}
	}
	return false, nil
}

func (c *checkpointTest) compare(store *memoryPages, dice *rand.Rand) error {
	q := NewMessages(NewPool(store, testLog, 1000, ignoreDisarmed), 7, true, uint8(c.want.lanes-1))
	for s, b := range c.slots {
		if _, err := q.Restore(s, b); err != nil {
			return err
		}
	}
	for _, s := range c.skips {
		q.Skip(s)
	}
	if err := c.want.compare(q); err != nil {
		return err
	}
	handed, counted := 0, 0
	q.EachHanded(func(Seq, *Entry) bool { handed++; return true })
	q.Each(0, func(_ Seq, e *Entry) bool {
		if e.Flags&Handed != 0 {
			counted++
		}
		return true
	})
	if handed != counted {
		return fmt.Errorf("%d entries of %d that were handed over are found", handed, counted)
	}
	return c.marks(q, dice)
}

// marks compares what a marker finds with what a walk does.
func (c *checkpointTest) marks(q *Messages, dice *rand.Rand) error {
	in := storage.Span{Log: testLog, First: storage.Index(dice.IntN(1000)), Last: storage.Index(dice.IntN(1200))}
	k := q.pool.NewMarker([]storage.Span{in}, []*Messages{q})
	for k.Some(1 + dice.IntN(20)) {
	}
	found := map[storage.Ref]bool{}
	for _, r := range k.Refs() {
		found[r] = true
	}
	n := map[storage.Ref]bool{}
	q.Each(0, func(s Seq, e *Entry) bool {
		for _, r := range [2]storage.Ref{e.Ref(testLog), q.Side(s).History} {
			if in.Holds(r) {
				n[r] = true
			}
		}
		return true
	})
	for r := range n {
		if !found[r] {
			return fmt.Errorf("%+v in %+v is not marked", r, in)
		}
	}
	if len(found) != len(n) {
		return fmt.Errorf("%d refs marked, %d are there", len(found), len(n))
	}
	return nil
}

// clear ends what is in a range and not unacked, cold chunks in whole.
func (m *model) clear(q *Messages, dice *rand.Rand) {
	e := m.entries[dice.IntN(len(m.entries))]
	n := uint64(dice.IntN(4 * chunkLen))
	var gone []Seq
	q.Clear(e.seq, n, func(first Seq, span uint64, g PendingFree) {
		live := 0
		q.pool.Exhume(g, func(*Entry, Side) { live++ })
		for i := range span {
			gone = append(gone, first+Seq(i))
		}
		if live != g.Live {
			panic(fmt.Sprintf("a grave of %d has %d", g.Live, live))
		}
	}, func(s Seq, e *Entry) {
		if e.State != Unacked {
			q.Remove(s)
			gone = append(gone, s)
		}
	})
	for _, s := range gone {
		m.remove(s)
	}
	for _, x := range m.entries {
		if x.seq >= e.seq && uint64(x.seq-e.seq) < n && x.state != Unacked && x.seq.lane() == e.seq.lane() {
			panic(fmt.Sprintf("%x is left", x.seq))
		}
	}
}

// If this fails, the dead letters of a checkpoint are not counted as they are: of one that an earlier version has made,
// or of one that counts them, though its pages are not read.
func TestDeadLettersOfACheckpointAreCounted(t *testing.T) {
	t.Parallel()
	q := newQueue(0)
	for i := range 3 * chunkLen {
		flags := Persistent
		switch i % 3 {
		case 0:
			flags |= HasHistory
		case 1:
			flags |= HasHistory | AtWork
		}
		push(q, 0, Entry{Flags: flags, Index: 4})
	}
	slots := map[Seq][]byte{}
	s := q.pool.BeginCheckpoint(func(*Messages) {}, func(_ *Messages, first Seq, b []byte) { slots[first] = slices.Clone(b) })
	s.Queue(q)
	for s.Some(1) {
	}
	for name, earlier := range map[string]bool{"this": false, "an earlier": true} {
		store := &countingPages{memoryPages: q.pool.pages.(*memoryPages)}
		to := NewMessages(NewPool(store, testLog, 1000, ignoreDisarmed), 7, true, 0)
		for first, b := range slots {
			if earlier { // the count was the last number, of one octet
				b = slices.Clone(b[:len(b)-1])
				b[0] &^= savedDeadLetters
			}
			if _, err := to.Restore(first, b); err != nil {
				t.Fatal(err)
			}
		}
		if reads := store.reads; to.DeadLetters() != chunkLen || (reads > 0) != earlier {
			t.Errorf("a checkpoint of %s version: %d dead letters, %d pages were read", name, to.DeadLetters(), reads)
		}
		if err := to.Check(); err != nil {
			t.Error(err)
		}
	}
}

// countingPages counts how often a page is read.
type countingPages struct {
	*memoryPages
	reads int
}

func (p *countingPages) Get(r storage.Ref) []byte {
	p.reads++
	return p.memoryPages.Get(r)
}
