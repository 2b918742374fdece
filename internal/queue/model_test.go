package queue

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/deadline"
	"github.com/bartleby-mq/bartleby/internal/storage"
)

// model is a slow and obvious queue: every copy in a list, in order of Seq.
type model struct {
	lanes   int
	entries []modelEntry
	next    []uint64
	logged  []uint64
}

type modelEntry struct {
	seq         Seq
	state       State
	bytes       uint32
	expireAt    deadline.Instant
	redelivered bool
	persistent  bool
	index       storage.Index
	side        Side
}

func (m *model) at(s Seq) *modelEntry {
	for i := range m.entries {
		if m.entries[i].seq == s {
			return &m.entries[i]
		}
	}
	return nil
}

func (m *model) remove(s Seq) {
	m.entries = slices.DeleteFunc(m.entries, func(e modelEntry) bool { return e.seq == s })
}

// head is the oldest ready entry of the highest lane that has one.
func (m *model) head() *modelEntry {
	var best *modelEntry
	for i := range m.entries {
		if e := &m.entries[i]; e.state == Ready && (best == nil || e.seq.lane() > best.seq.lane()) {
			best = e
		}
	}
	return best
}

func (m *model) count(s State) (n int, bytes int64) {
	for _, e := range m.entries {
		if e.state == s {
			n++
			bytes += int64(e.bytes)
		}
	}
	return n, bytes
}

// lowest is the oldest ready entry of the lowest lane that has one.
func (m *model) lowest() *modelEntry {
	for i := range m.entries {
		if m.entries[i].state == Ready {
			return &m.entries[i]
		}
	}
	return nil
}

// compare reports the first thing in which the queue differs from the model.
func (m *model) compare(q *Messages) error {
	if err := q.Check(); err != nil {
		return err
	}
	for _, state := range []State{Ready, Unacked, Waiting, Held} {
		if n, bytes := m.count(state); q.Count(state) != n || q.Bytes(state) != bytes {
			return fmt.Errorf("state %d: %d entries of %d bytes, not %d of %d", state, q.Count(state), q.Bytes(state), n, bytes)
		}
	}
	if s, _, ok := q.LowestHead(); ok != (m.lowest() != nil) || ok && s != m.lowest().seq {
		return fmt.Errorf("lowest head %x %v, not %+v", s, ok, m.lowest())
	}
	s, e, ok := q.Head()
	if want := m.head(); ok != (want != nil) || ok && (s != want.seq || e.State != Ready || e.BodyBytes != want.bytes) {
		return fmt.Errorf("head %x %v, not %+v", s, ok, want)
	}
	var all []Seq
	q.Each(0, func(s Seq, e *Entry) bool {
		all = append(all, s)
		return true
	})
	if len(all) != len(m.entries) {
		return fmt.Errorf("%d entries, not %d", len(all), len(m.entries))
	}
	for i, want := range m.entries {
		e := q.Entry(want.seq)
		switch {
		case all[i] != want.seq:
			return fmt.Errorf("entry %d is %x, not %x", i, all[i], want.seq)
		case e == nil || e.State != want.state || e.BodyBytes != want.bytes || e.ExpireAt != want.expireAt:
			return fmt.Errorf("entry %x is %+v, not %+v", want.seq, e, want)
		case e.Index != want.index || e.Flags&Persistent != 0 != want.persistent:
			return fmt.Errorf("entry %x is %+v, not %+v", want.seq, e, want)
		case (e.Flags&Redelivered != 0) != want.redelivered:
			return fmt.Errorf("entry %x: redelivered is not %t", want.seq, want.redelivered)
		case q.Side(want.seq) != want.side:
			return fmt.Errorf("entry %x has side %+v, not %+v", want.seq, q.Side(want.seq), want.side)
		}
	}
	return m.compareEdges(q)
}

// compareEdges compares what is not in the entries: numbers to come, numbers that are gone.
func (m *model) compareEdges(q *Messages) error {
	var skipped []Seq
	q.Skipped(func(s Seq) { skipped = append(skipped, s) })
	var want []Seq
	for lane := range m.lanes {
		if q.Next(uint8(lane)) != seqOf(lane, m.next[lane]) {
			return fmt.Errorf("next of lane %d is %x, not %x", lane, q.Next(uint8(lane)), m.next[lane])
		}
		if n := m.logged[lane]; n > 0 && m.at(seqOf(lane, n-1)) == nil {
			want = append(want, seqOf(lane, n))
		}
	}
	if !slices.Equal(skipped, want) {
		return fmt.Errorf("skipped %x, not %x", skipped, want)
	}
	return nil
}

// step does one thing at random to both, and tells what.
func (m *model) step(q *Messages, dice *rand.Rand, phase int) string {
	any := func() *modelEntry {
		if len(m.entries) == 0 {
			return nil
		}
		return &m.entries[dice.IntN(len(m.entries))]
	}
	if dice.IntN(400) == 0 { // many at once: several chunks
		lane := dice.IntN(m.lanes)
		for range dice.IntN(3 * chunkLen) {
			s := seqOf(lane, m.next[lane])
			q.Push(s, Entry{BodyBytes: 1, Flags: Persistent, Index: 1000, Size: 10})
			m.next[lane], m.logged[lane] = s.n()+1, s.n()+1
			m.entries = append(m.entries, modelEntry{seq: s, state: Ready, bytes: 1, persistent: true, index: 1000})
		}
		slices.SortFunc(m.entries, func(a, b modelEntry) int { return int(int64(a.seq) - int64(b.seq)) })
		return "push"
	}
	if dice.IntN(100) == 0 && len(m.entries) > 0 {
		m.clear(q, dice)
		return "clear"
	}
	// Phases let the queue grow, shrink and lie with holes in turn.
	n := dice.IntN(100)
	switch push := [3]int{60, 25, 40}[phase]; {
	case n < push:
		lane := dice.IntN(m.lanes)
		s := seqOf(lane, m.next[lane])
		if dice.IntN(40) == 0 {
			s += Seq(dice.IntN(3 * chunkLen))
		}
		e := Entry{BodyBytes: uint32(dice.IntN(100)), Index: storage.Index(1 + len(m.entries)), Offset: dice.Uint32N(1000), Size: 100 + dice.Uint32N(3)}
		if dice.IntN(2) == 0 {
			e.ExpireAt = deadline.Instant(1000 + len(m.entries)*dice.IntN(20))
		}
		if dice.IntN(3) == 0 {
			e.Flags = Persistent
			m.logged[lane] = s.n() + 1
		}
		e.Flags |= [...]Flags{0, 0, HasHistory, ReportsFailure, HasHistory | AtWork}[dice.IntN(5)]
		q.Push(s, e)
		m.next[lane] = s.n() + 1
		m.entries = append(m.entries, modelEntry{seq: s, state: Ready, bytes: e.BodyBytes, expireAt: e.ExpireAt, persistent: e.Flags&Persistent != 0, index: e.Index})
		slices.SortFunc(m.entries, func(a, b modelEntry) int { return int(int64(a.seq) - int64(b.seq)) })
		return "push"
	case n < push+15:
		if e := m.head(); e != nil {
			q.Take(e.seq)
			e.state = Unacked
			return "take"
		}
	case n < push+22:
		if e := any(); e != nil && (e.state == Unacked || e.state == Waiting) {
			q.Return(e.seq)
			e.state, e.redelivered = Ready, true
			return "return"
		}
	case n < push+25:
		if e := any(); e != nil && (e.state == Unacked || e.state == Ready) {
			q.Wait(e.seq)
			e.state = Waiting
			return "wait"
		}
	case n < push+26:
		if e := any(); e != nil {
			q.Hold(e.seq)
			e.state, e.expireAt = Held, 0
			return "hold"
		}
	case n < push+36:
		if e := any(); e != nil {
			s := e.seq
			q.Remove(s)
			m.remove(s)
			return "remove"
		}
	case n < push+37:
		lane := dice.IntN(m.lanes)
		s := seqOf(lane, m.next[lane]+uint64(dice.IntN(2*chunkLen)))
		if q.Skip(s); s.n() > m.next[lane] {
			m.next[lane], m.logged[lane] = s.n(), s.n()
			return "skip"
		}
	default:
		if e := any(); e != nil {
			e.side = Side{Acquired: dice.Uint32N(5), Failed: dice.Uint32N(3)}
			if dice.IntN(3) == 0 {
				e.side.History = storage.Ref{Log: testLog, Index: storage.Index(1 + dice.IntN(900)), Offset: 3, Size: 100}
			}
			q.SetSide(e.seq, e.side)
			return "side"
		}
	}
	return ""
}

// TestRandomWalk finds sequences of changes after which a queue is not what an obvious one is.
func TestRandomWalk(t *testing.T) {
	t.Parallel()
	first, seeds := uint64(0), uint64(20)
	if s := os.Getenv("QUEUE_SEED"); s != "" {
		n, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		first, seeds = n, 1
	}
	done := map[string]int{}
	for seed := first; seed < first+seeds; seed++ {
		dice := rand.New(rand.NewPCG(seed, 2))
		m := &model{lanes: 1 + dice.IntN(4)}
		m.next, m.logged = make([]uint64, m.lanes), make([]uint64, m.lanes)
		store := &memoryPages{dice: dice}
		q := NewMessages(NewPool(store, testLog, dice.IntN(1000), ignoreDisarmed), 7, true, uint8(m.lanes-1))
		var c *checkpointTest
		for i := range 1500 {
			did := m.step(q, dice, i/250%3)
			done[did]++
			if dice.IntN(10) == 0 {
				q.pool.Trim(math.MaxInt64)
			}
			if c == nil && dice.IntN(100) == 0 {
				c = beginCheckpoint(m, q)
			} else if c != nil {
				over, err := c.step(q, store, dice)
				if err != nil {
					t.Fatalf("QUEUE_SEED=%d: step %d: checkpoint: %v", seed, i, err)
				}
				if over {
					c = nil
					done["checkpoint"]++
				}
			}
			if err := m.compare(q); err != nil {
				t.Fatalf("QUEUE_SEED=%d: step %d, %s: %v", seed, i, did, err)
			}
		}
	}
	for _, verb := range []string{"push", "take", "return", "wait", "hold", "remove", "skip", "side", "checkpoint", "clear"} {
		if done[verb] == 0 {
			t.Errorf("no walk has done %q", verb)
		}
	}
}
