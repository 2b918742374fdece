package repair_test

import (
	"flag"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/repair"
	"github.com/bartleby-mq/bartleby/internal/vfs"
)

var seeds = flag.Int("seeds", 40, "how many random damages are repaired")

// harmAnywhere damages files of the journal: bits, sectors, ends, all of one. It tells whether one is gone that holds
// something.
func harmAnywhere(t *testing.T, mem *vfs.Mem, dice *rand.Rand) (removed bool) {
	t.Helper()
	names, err := mem.List("journal")
	must(t, err)
	names = slices.DeleteFunc(names, func(n string) bool { return n == "lock" })
	for range 1 + dice.IntN(3) {
		name := "journal/" + names[dice.IntN(len(names))]
		f, err := mem.Open(name)
		if err != nil {
			continue // removed before
		}
		size, err := f.Size()
		must(t, err)
		at := int64(0)
		if size > 0 {
			at = dice.Int64N(size)
		}
		switch p := []byte{0}; dice.IntN(12) {
		case 0:
			must(t, mem.Remove(name))
			removed = removed || name != "journal/manifest"
		case 1:
			must(t, f.Truncate(at))
		case 2, 3, 4:
			_, err = f.WriteAt(make([]byte, vfs.SectorBytes*(1+dice.IntN(8))), at/vfs.SectorBytes*vfs.SectorBytes)
			must(t, err)
		default:
			if size > 0 {
				_, err = f.ReadAt(p, at)
				must(t, err)
			}
			p[0] ^= 1 << dice.IntN(8)
			_, err = f.WriteAt(p, at)
			must(t, err)
		}
		must(t, f.Sync())
		must(t, f.Close())
	}
	return removed
}

// count sums up the messages of a report, those in the lost store among them.
func count(r *repair.Report) (n uint64) {
	for _, h := range r.VHosts {
		n += uint64(h.Messages + h.LostLetters)
	}
	return n
}

func TestAnyDamageIsRepaired(t *testing.T) {
	t.Parallel()
	// Some disk would leave data that no repair can read, or that loses messages without a word.
	first := rand.Uint64()
	for _, killed := range []bool{true, false} {
		dir := image(t, killed)
		whole, err := repair.Check(load(t, dir))
		must(t, err)
		for seed := first; seed < first+uint64(*seeds); seed++ {
			mem := load(t, dir)
			removed := harmAnywhere(t, mem, rand.New(rand.NewPCG(seed, 1)))
			r, err := repair.Repair(mem, seed)
			if err != nil {
				if !strings.Contains(err.Error(), "this version of Bartleby reads formats") {
					t.Fatalf("killed %t, seed %d: %v", killed, seed, err)
				}
				continue
			}
			if r.State == repair.Damaged {
				t.Fatalf("killed %t, seed %d: %+v", killed, seed, r)
			}
			if r.Before == nil {
				// The last group of a killed broker was not recorded as safe yet: where a whole sector of it is lost,
				// nothing was there.
				if missing := count(whole) - count(r); missing > 0 && !(killed && missing <= 25) {
					t.Fatalf("killed %t, seed %d: sound, %d messages of %d", killed, seed, count(r), count(whole))
				}
				continue
			}
			lost, unknown := uint64(0), len(r.Before.Users.Lost) > 0 || removed && r.Before.Journal.Rebuilt
			for _, n := range r.Before.Notes { // as after a crash
				unknown = unknown || strings.Contains(n, "unfinished write")
			}
			for _, h := range r.Before.VHosts {
				for _, l := range h.Lost {
					unknown = unknown || l.Kind == "facts"
					if l.Kind == "message" || l.Kind == "page" || l.Kind == "messages" {
						lost += l.Count
					}
				}
			}
			if n := count(r); !unknown && n+lost != count(whole) && !(killed && n+lost < count(whole) && n+lost+25 >= count(whole)) {
				t.Fatalf("killed %t, seed %d: %d messages of %d, %d lost: %v", killed, seed, n, count(whole), lost, r.Before)
			}
		}
	}
}
