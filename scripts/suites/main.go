package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// totalMax bounds a run without long suites.
const totalMax = 36 * time.Minute

// heartbeat is how often a suite that says nothing is reported to be alive.
const heartbeat = 30 * time.Second

// explainedMax is how many failures of a suite are explained on the terminal; one cause often fails a hundred tests.
const explainedMax = 10

func main() {
	list := flag.Bool("list", false, "print the suites and end")
	flag.Parse()
	if *list {
		for _, s := range suites() {
			fmt.Printf("%-21s %s%s\n", s.name, s.about, map[bool]string{true: " (only when named)"}[s.long])
		}
		return
	}
	chosen, err := choose(suites(), flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "suites:", err)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	if !slices.ContainsFunc(chosen, func(s suite) bool { return s.long }) {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, totalMax, fmt.Errorf("the run took more than %v in all", totalMax))
		defer cancel()
	}
	if !runAll(ctx, chosen, os.Stdout) {
		os.Exit(1)
	}
}

// choose returns the suites that are named, in the table's order; with no names, or only names to leave out (-name),
// all but the long ones.
func choose(all []suite, names []string) ([]suite, error) {
	var in, out []string
	for _, n := range names {
		name, leave := strings.CutPrefix(n, "-")
		if !slices.ContainsFunc(all, func(s suite) bool { return s.name == name }) {
			return nil, fmt.Errorf("no suite is called %q; -list prints their names", name)
		}
		if leave {
			out = append(out, name)
		} else {
			in = append(in, name)
		}
	}
	var chosen []suite
	for _, s := range all {
		wanted := slices.Contains(in, s.name) || len(in) == 0 && !s.long
		if wanted && !slices.Contains(out, s.name) {
			chosen = append(chosen, s)
		}
	}
	if len(chosen) == 0 {
		return nil, errors.New("no suite is left to run")
	}
	return chosen, nil
}

// A result is one line of the summary.
type result struct {
	name string
	tally
	took time.Duration
}

// runAll installs what the suites need, runs them, prints the summary and reports whether nothing failed.
func runAll(ctx context.Context, chosen []suite, out io.Writer) bool {
	var results []result
	if deps := runMake(ctx, out, "deps", "SUITES="+names(chosen)); len(deps.failures) > 0 {
		results = append(results, deps) // what does not need the missing runs all the same
	}
	build := sync.OnceValue(func() result { return runMake(ctx, out, "build") })
	for _, s := range chosen {
		if s.binary {
			if b := build(); len(b.failures) > 0 {
				results = append(results, result{name: s.name, tally: b.tally})
				continue
			}
		}
		results = append(results, runLogged(ctx, s, out))
	}
	return summarize(results, out)
}

// names lists suites with blanks between.
func names(list []suite) string {
	var all []string
	for _, s := range list {
		all = append(all, s.name)
	}
	return strings.Join(all, " ")
}

// runMake makes a target that is not a suite.
func runMake(ctx context.Context, out io.Writer, target string, args ...string) result {
	args = append([]string{"make", "--no-print-directory", target}, args...)
	return runLogged(ctx, suite{name: target, about: "make " + target, steps: []step{{args: args, count: countExit}}}, out)
}

// runLogged runs a suite with its log file, within its limit, and shows that it lives.
func runLogged(ctx context.Context, s suite, out io.Writer) result {
	began := time.Now()
	fmt.Fprintf(out, "== %s: %s\n", s.name, s.about)
	if s.limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, s.limit, fmt.Errorf("%s took more than %v", s.name, s.limit))
		defer cancel()
	}
	var t tally
	if file, err := createLog(s.name); err != nil {
		t.fail(s.name, err.Error()+"\n")
	} else {
		defer file.Close()
		screen := &shared{w: out}
		defer screen.beat(s.name)()
		t = s.run(ctx, screen, &shared{w: file})
	}
	return result{s.name, t, time.Since(began)}
}

// createLog creates the file that keeps a suite's output.
func createLog(name string) (*os.File, error) {
	path := filepath.Join("build", "logs", name+".log")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	return os.Create(path)
}

// run runs the suite's steps against its broker.
func (s suite) run(ctx context.Context, progress, log io.Writer) tally {
	var b broker
	var all tally
	if s.broker != nil {
		var err error
		if b, err = s.broker(ctx, log); err != nil {
			all.fail(s.name+": start its broker", err.Error()+"\n")
			return all
		}
		defer b.stop()
	}
	for _, step := range s.steps {
		step.args = b.expand(step.args)
		t := step.run(ctx, progress, log)
		all.passed += t.passed
		all.failures = append(all.failures, t.failures...)
		all.skipped = append(all.skipped, t.skipped...)
	}
	if !s.skips {
		for _, name := range all.skipped {
			all.fail(name, "skipped, which this suite may not do\n")
		}
	}
	return all
}

// summarize prints what failed, what was skipped, a line per suite and the total, and reports whether nothing failed.
func summarize(results []result, out io.Writer) bool {
	for _, r := range results {
		for _, f := range r.failures[:min(len(r.failures), explainedMax)] {
			fmt.Fprintf(out, "\n-- %s: %s\n%s", r.name, f.name, lastOf(f.output))
		}
	}
	for _, r := range results {
		if len(r.skipped) > 0 {
			fmt.Fprintf(out, "\n-- %s: skipped\n%s\n", r.name, strings.Join(r.skipped, "\n"))
		}
		if len(r.failures) > 0 {
			fmt.Fprintf(out, "\n-- %s: failed; all of its output is in build/logs/%s.log\n", r.name, r.name)
			for _, f := range r.failures {
				fmt.Fprintln(out, f.name)
			}
		}
	}
	fmt.Fprintln(out)
	var passed, failed int
	for _, r := range results {
		fmt.Fprintf(out, "%s: %d passed, %d failed (%.1fs)\n", r.name, r.passed, len(r.failures), r.took.Seconds())
		passed += r.passed
		failed += len(r.failures)
	}
	fmt.Fprintf(out, "%d passed, %d failed\n", passed, failed)
	return failed == 0
}

// lastOf cuts an explanation to what a person reads.
func lastOf(text string) string {
	if text == "" {
		return ""
	}
	var tail lastLines
	io.WriteString(&tail, text)
	return cmp.Or(strings.TrimRight(tail.String(), "\n"), "no output") + "\n"
}

// A shared writer may be written to by several goroutines.
type shared struct {
	mu sync.Mutex
	w  io.Writer
}

func (s *shared) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.w.Write(p)
}

// beat reports from time to time that a suite runs, until the returned function is called.
func (s *shared) beat(name string) func() {
	began, end, ended := time.Now(), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(heartbeat)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				fmt.Fprintf(s, "...   %s: %.0fs\n", name, time.Since(began).Seconds())
			case <-end:
				return
			}
		}
	}()
	return func() { close(end); <-ended }
}
