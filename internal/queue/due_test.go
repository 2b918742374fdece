package queue

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/deadline"
)

// standing is a chunk as Due shows it.
type standing struct {
	chunk Seq
	at    deadline.Instant
}

func (m *Messages) standings(at deadline.Instant, chunk Seq, most int) (all []standing) {
	m.Due(at, chunk, func(chunk Seq, at deadline.Instant) bool {
		all = append(all, standing{chunk, at})
		return len(all) < most
	})
	return all
}

// TestDueAgainstArmed says that chunks do not stand in the order of their instants, that some are missing or stay when
// they are gone, that a walk from the middle begins elsewhere, that those of another queue of the pool come among them,
// that a move leaves no trace in Stands, or that a restart does.
func TestDueAgainstArmed(t *testing.T) {
	t.Parallel()
	for _, seed := range []uint64{1, 2, rand.Uint64()} {
		t.Log("seed", seed)
		dice := rand.New(rand.NewPCG(seed, 0))
		pool := NewPool(&memoryPages{}, testLog, 1000, ignoreDisarmed)
		queues := [2]*Messages{NewMessages(pool, 7, true, 3), NewMessages(pool, 8, true, 3)}
		var live [2][]Seq
		for step := range 20_000 {
			k := dice.IntN(2)
			m := queues[k]
			before, stands := m.NextDue(), m.Stands()
			switch n := len(live[k]); {
			case n == 0 || dice.IntN(9) < 4:
				s := m.Next(uint8(dice.IntN(4)))
				m.Push(s, Entry{Flags: Persistent, BodyBytes: 1})
				live[k] = append(live[k], s)
			case dice.IntN(8) < 4:
				m.Arm(live[k][dice.IntN(n)], deadline.Instant(1+dice.IntN(500)))
			case dice.IntN(4) == 0:
				s := live[k][dice.IntN(n)]
				m.Disarm(s.chunk(), func(Seq, *Entry, *Side) {})
				if at := deadline.Instant(1 + dice.IntN(500)); dice.IntN(2) == 0 {
					m.Near(at, at+10, s)
					m.Passed(s, at+9+deadline.Instant(dice.IntN(3)))
				}
				m.Rearm(s.chunk(), deadline.Instant(1+dice.IntN(500)))
			default: // mostly the oldest: chunks go
				i := dice.IntN(1 + dice.IntN(n))
				m.Remove(live[k][i])
				live[k] = slices.Delete(live[k], i, i+1)
			}
			if next := m.NextDue(); next != before && next != 0 && (before == 0 || next < before) && m.Stands() == stands {
				t.Fatalf("step %d: a chunk came to stand first, and Stands tells of nothing", step)
			}
			if step%100 != 0 {
				continue
			}
			var want []standing
			m.Armed(func(chunk Seq, at deadline.Instant) { want = append(want, standing{chunk, at}) })
			slices.SortFunc(want, func(a, b standing) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.chunk, b.chunk)) })
			if got := m.standings(0, 0, 1<<30); !slices.Equal(got, want) {
				t.Fatalf("step %d: %v stand, want %v", step, got, want)
			}
			if len(want) > 0 {
				i := dice.IntN(len(want))
				if got := m.standings(want[i].at, want[i].chunk, 3); !slices.Equal(got, want[i:min(i+3, len(want))]) {
					t.Fatalf("step %d: %v stand from %v on", step, got, want[i])
				}
			}
			if err := m.Check(); err != nil {
				t.Fatalf("step %d: %v", step, err)
			}
			pool.Trim(0)
		}
		for _, m := range queues {
			m.Lanes(func(first Seq) {
				m.Clear(first, 1<<50, func(Seq, uint64, PendingFree) {}, func(s Seq, _ *Entry) { m.Remove(s) })
			})
		}
		if n := pool.due.Len(); n != 0 {
			t.Errorf("%d chunks stand, and no message is left", n)
		}
	}
}

// TestNearUntilPassed says that a chunk stands where its crowd was when the last of that is gone, or no longer there
// before.
func TestNearUntilPassed(t *testing.T) {
	t.Parallel()
	m := newQueue(0)
	for n := range uint64(20) {
		m.Push(Seq(n), Entry{Flags: Persistent})
	}
	m.Arm(3, 100)
	m.Disarm(0, func(Seq, *Entry, *Side) {})
	m.Near(100, 120, 8)
	m.Rearm(0, 900)
	for _, step := range []struct {
		passed Seq
		at     deadline.Instant
		next   deadline.Instant
	}{{3, 100, 100}, {9, 119, 100}, {7, 120, 100}, {8, 120, 900}, {9, 300, 900}} {
		if m.Passed(step.passed, step.at); m.NextDue() != step.next {
			t.Fatalf("after %d at %d: the next at %d, want %d", step.passed, step.at, m.NextDue(), step.next)
		}
	}
}

// TestChunkFrom says that a walk from chunk to chunk leaves out messages that are there all the while, comes to one
// twice, tells another number of messages or another instant than the chunk has, or does not end.
func TestChunkFrom(t *testing.T) {
	t.Parallel()
	for _, seed := range []uint64{1, 2, rand.Uint64()} {
		t.Log("seed", seed)
		dice := rand.New(rand.NewPCG(seed, 0))
		m := NewMessages(NewPool(&memoryPages{}, testLog, 1000, ignoreDisarmed), 7, true, 3)
		live := map[Seq]bool{}
		var all []Seq
		push := func() {
			s := m.Next(uint8(dice.IntN(4)))
			m.Push(s, Entry{Flags: Persistent, BodyBytes: 1})
			m.Arm(s, deadline.Instant(1+dice.IntN(500)))
			live[s] = true
			all = append(all, s)
		}
		remove := func() {
			i := dice.IntN(1 + dice.IntN(len(all)))
			m.Remove(all[i])
			delete(live, all[i])
			all = slices.Delete(all, i, i+1)
		}
		for range 6000 {
			push()
		}
		for range 2500 {
			remove()
		}
		stay, seen := map[Seq]bool{}, map[Seq]int{}
		for s := range live {
			stay[s] = true
		}
		for at := Seq(0); ; {
			chunk, n, due, ok := m.ChunkFrom(at)
			if !ok {
				break
			}
			if due != m.ArmedFor(chunk) {
				t.Fatalf("chunk %x: due at %d, armed for %d", uint64(chunk), due, m.ArmedFor(chunk))
			}
			m.Look(chunk, func(s Seq, _ *Entry, _ *Side) {
				n--
				seen[s]++
			})
			if n != 0 {
				t.Fatalf("chunk %x: %d more messages are told than there are", uint64(chunk), n)
			}
			at = chunk + ChunkLen
			for range dice.IntN(60) {
				push()
			}
			for range min(dice.IntN(60), len(all)) {
				remove()
			}
		}
		for s := range stay {
			if n := seen[s]; n > 1 || n == 0 && live[s] {
				t.Fatalf("message %x was come to %d times", uint64(s), n)
			}
		}
	}
}
