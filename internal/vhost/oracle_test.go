package vhost

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

var (
	duels    = flag.Uint64("seeds", 300, "how many random topologies TestOracle plays to the machine and to the oracle")
	duelFrom = flag.Uint64("first", 0, "the first of these seeds")
	duelSeed = flag.Int64("seed", -1, "play this one seed alone")
	duelSoak = flag.Duration("soak", 0, "go on with further seeds for so long")
)

// duelOps is how many things happen in one duel: a few topologies' worth of deaths, and short enough to read.
const duelOps = 120

// copiesMax ends a duel in which dead letters multiply: the oracle is slow, and nothing new comes of it.
const copiesMax = 400

// TestOracle finds a topology of queues, dead-letter exchanges and policies under way in which the machine breaks a
// rule: it holds, tells or counts something else than the oracle of the rules does.
func TestOracle(t *testing.T) {
	t.Parallel()
	if *duelSeed >= 0 {
		if err := duelOnce(uint64(*duelSeed), newCoverage()); err != nil {
			t.Fatal(err)
		}
		return
	}
	start := time.Now()
	var next atomic.Uint64
	next.Store(*duelFrom)
	var mu sync.Mutex
	var failed error
	all := newCoverage()
	var work sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		work.Go(func() {
			for {
				seed := next.Add(1) - 1
				mu.Lock()
				stop := failed != nil
				mu.Unlock()
				if stop || seed >= *duelFrom+*duels && time.Since(start) >= *duelSoak {
					return
				}
				seen := newCoverage()
				err := duelOnce(seed, seen)
				mu.Lock()
				all.add(seen)
				if failed == nil {
					failed = err
				}
				mu.Unlock()
			}
		})
	}
	work.Wait()
	t.Logf("%d seeds from %d in %v; %s", next.Load()-*duelFrom, *duelFrom, time.Since(start).Round(time.Millisecond), all)
	if failed != nil {
		t.Fatal(failed)
	}
	if *duels >= 100 {
		all.check(t)
	}
}

// duelOnce plays one seed. The error tells what differed, and after which commands, as few as still lead there.
func duelOnce(seed uint64, seen *coverage) error {
	ops, err := newDuel(seen).walk(rand.New(rand.NewPCG(seed, 2)), duelOps)
	if err == nil {
		return nil
	}
	if shorter, why := shrink(ops); why != nil {
		ops, err = shorter, why
	}
	lines := make([]string, len(ops))
	for i := range ops {
		lines[i] = ops[i].String()
	}
	return fmt.Errorf("seed %d (replay: go test ./internal/vhost -run TestOracle -seed=%d)\n%s\n%w", seed, seed, strings.Join(lines, "\n"), err)
}

// shrink leaves out what is not needed for a difference, and tells which difference is left.
func shrink(ops []op) ([]op, error) {
	var last error
	for size := len(ops) / 2; size > 0; size /= 2 {
		for at := 0; at+size <= len(ops); {
			fewer := append(append([]op(nil), ops[:at]...), ops[at+size:]...)
			if err := newDuel(newCoverage()).replay(fewer); err != nil {
				ops, last = fewer, err
			} else {
				at += size
			}
		}
	}
	return ops, last
}

// replay plays what was played before, or part of it.
func (d *duel) replay(ops []op) error {
	for i := range ops {
		if err := d.play(&ops[i]); err != nil {
			return err
		}
	}
	return nil
}

// walk plays n random things, and tells which they were.
func (d *duel) walk(dice *rand.Rand, n int) ([]op, error) {
	w := &rules{dice: dice, duel: d}
	var played []op
	for range n {
		if d.world.v.books.Made > copiesMax {
			break
		}
		for _, o := range w.next() {
			played = append(played, o)
			if err := d.play(&o); err != nil {
				return played, err
			}
		}
	}
	return played, nil
}

var errStuck = errors.New("something is due again and again")
