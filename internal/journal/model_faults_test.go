package journal

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/vfs"
)

// failAt runs a walk in which call n fails, once; the journal recovers or is opened again, the walk goes on.
func failAt(seed uint64, n int, o Options) (reached bool, err error) {
	mem := vfs.NewMem(seed)
	fs := vfs.NewFaulty(mem)
	broken := errors.New("broken")
	calls := 0
	fs.Before(func(vfs.Call) error {
		if calls++; calls == n {
			return broken
		}
		return nil
	})
	m := newModel()
	j, err := walk(fs, m, seed, o)
	reached = calls >= n
	if err != nil && !errors.Is(err, broken) {
		return true, err
	}
	dice := rand.New(rand.NewPCG(seed, 2))
	if j != nil && err != nil {
		if errors.Is(err, ErrFailed) {
			if again := j.Sync(); !errors.Is(again, ErrFailed) {
				return true, fmt.Errorf("sync after a failure: %w", again)
			}
		}
		if again := j.Recover(); errors.Is(again, ErrClosed) {
			mem.Crash() // the call that failed was Close's
			_, err = walk(mem, m, seed+1, o)
			return true, err
		} else if again != nil {
			return true, fmt.Errorf("recover: %w", again)
		}
		if errors.Is(err, ErrFailed) {
			if err := m.check(j); err != nil {
				return true, fmt.Errorf("after recovering: %w", err)
			}
		}
		for range 40 {
			if err := m.step(j, dice); err != nil {
				return true, fmt.Errorf("after a failure: %w", err)
			}
		}
		if dice.IntN(2) == 0 {
			if err := j.Close(); err != nil {
				return true, err
			}
		}
	}
	mem.Crash()
	o.Entropy++
	if _, err := walk(mem, m, seed+1, o); err != nil {
		return true, fmt.Errorf("after a failure and a crash: %w", err)
	}
	return reached, nil
}

func TestFailEachCallOnce(t *testing.T) {
	t.Parallel()
	// One error of the disk would lose what was safe, or something not safe would be trusted.
	for seed := range *seeds {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			t.Parallel()
			for n, reached := 1, true; reached; n++ {
				var err error
				if reached, err = failAt(seed, n, small()); err != nil {
					t.Fatalf("seed %d, call %d fails: %v", seed, n, err)
				}
			}
		})
	}
}

func TestWalksOnAFullDisk(t *testing.T) {
	t.Parallel()
	// A disk that is full at the wrong moment would lose what was safe, or never be drained.
	refused := 0
	for seed := range 20 * *seeds {
		mem := vfs.NewMem(seed)
		fs := vfs.NewFaulty(mem)
		m := newModel()
		o := small()
		_, err := walk(fs, m, seed, o)
		must(t, err)
		dice := rand.New(rand.NewPCG(seed, 4))
		for round := range 4 {
			o.Entropy++
			j, _, err := Open(fs, o)
			if err != nil {
				t.Fatalf("seed %d, round %d: open: %v", seed, round, err)
			}
			if err := m.check(j); err != nil {
				t.Fatalf("seed %d, round %d: %v", seed, round, err)
			}
			for range walkSteps {
				if dice.IntN(20) == 0 {
					fs.Budget(int64(dice.IntN(300 << 10)))
				}
				err := m.step(j, dice)
				if err != nil && !errors.Is(err, ErrNoSpace) {
					t.Fatalf("seed %d, round %d: %v", seed, round, err)
				}
				if err != nil {
					refused++
				}
				if errors.Is(err, ErrFailed) { // a group without a reservation, written in part
					if j.Recover() != nil {
						break
					}
					if err := m.check(j); err != nil {
						t.Fatalf("seed %d, round %d: recovered: %v", seed, round, err)
					}
				}
			}
			mem.Crash()
		}
		fs.Budget(-1)
		o.Entropy++
		if _, err := walk(fs, m, seed+1, o); err != nil {
			t.Fatalf("seed %d: with space again: %v", seed, err)
		}
	}
	if refused == 0 {
		t.Error("the disk was never full")
	}
}
