//go:build linux

package crashtest

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

var (
	program = flag.String("binary", "", "the broker under test; empty: built from this source")
	seed    = flag.Uint64("seed", 0, "of all dice; zero: a new one, printed")
	extra   = flag.String("options", "", "more options of serve for the brokers of sieges, with blanks between")
	rounds  = flag.Int("rounds", 0, "how often the broker is killed under load on the same data; zero: no broker is started, the judge alone is tested")
)

// TestMain leaves the quick inner loop, which names no rounds, with the test of the judge.
func TestMain(m *testing.M) {
	flag.Parse()
	if *rounds == 0 {
		if err := flag.Set("test.run", "^TestKill(Ledger|Books)"); err != nil {
			panic(err)
		}
	}
	os.Exit(run(m))
}

// run builds the binary if none is given.
func run(m *testing.M) int {
	if *seed == 0 {
		*seed = rand.Uint64()
	}
	fmt.Printf("seed %d\n", *seed)
	if *rounds == 0 {
		return m.Run()
	}
	if *program != "" {
		path, err := filepath.Abs(*program)
		if err == nil {
			_, err = os.Stat(path)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "no binary:", err)
			return 2
		}
		*program = path
		return m.Run()
	}
	dir, err := os.MkdirTemp("", "bartleby-crashtest")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	defer os.RemoveAll(dir)
	*program = filepath.Join(dir, "bartleby")
	build := exec.Command("go", "build", "-o", *program, "../cmd/bartleby")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "cannot build the broker: %v\n%s", err, out)
		return 2
	}
	return m.Run()
}

// dice returns random numbers of a test's own, the same for the same seed.
func dice(t testing.TB) *rand.Rand {
	own := uint64(0)
	for _, c := range t.Name() {
		own = own*31 + uint64(c)
	}
	return rand.New(rand.NewPCG(*seed, own))
}
