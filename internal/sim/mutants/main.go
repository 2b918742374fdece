// Command mutants plants known faults in the machine, the journal and the simulation, one at a time, and fails
// unless the checkers and tests named for it notice: a check that cannot fail proves nothing.
//
// The product has no faults in it. The command builds itself, and the tests, once more from changed copies of the
// product's files: there each fault is a branch, and a simulation or a process is told which one to take.
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"
)

func main() {
	only := flag.String("only", "", "plant only those whose names contain this")
	seeds := flag.Uint64("seeds", 4000, "how many seeds a mutant may survive")
	verbose := flag.Bool("v", false, "tell what the checkers said")
	built := flag.String("built", "", "where the builds with faults are; set by the command itself")
	flag.Parse()
	faults := slices.DeleteFunc(all(), func(f fault) bool { return !strings.Contains(f.name, *only) })
	if *built == "" {
		exit, err := again(faults)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			exit = 1
		}
		os.Exit(exit)
	}
	debug.SetGCPercent(1000) // lives are short and leave much behind
	debug.SetMemoryLimit(1 << 30)
	passed, failed := huntAll(faults, hunt{seeds: *seeds, verbose: *verbose, built: *built})
	if failed > 0 || passed == 0 {
		os.Exit(1)
	}
}

// huntAll has all checks hunt all faults, on all processors, and prints what came of each when it ends: a fault that
// is hunted for long is the one that is missing.
func huntAll(faults []fault, h hunt) (passed, failed int) {
	var results sync.Mutex // guards the counts and the order of lines
	var work sync.WaitGroup
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	for _, f := range faults {
		for _, c := range f.checks {
			work.Go(func() {
				slots <- struct{}{}
				defer func() { <-slots }()
				start := time.Now()
				line, caught := h.run(f.name, &c)
				results.Lock()
				defer results.Unlock()
				fmt.Printf("%6.1f s  %s\n", time.Since(start).Seconds(), line)
				if caught {
					passed++
				} else {
					failed++
				}
			})
		}
	}
	work.Wait()
	fmt.Printf("%d passed, %d failed\n", passed, failed)
	return passed, failed
}
