// Command fuzz runs every fuzz target of the module, one after the other.
//
//	fuzz [-time 1m] [-parallel N] [TARGET...]
//
// It finds the targets itself: a new one needs no entry anywhere. Each runs for the given time, from its seeds and from
// what earlier runs found interesting, which go keeps in its build cache. A target that fails is named, with what it
// printed; go writes the input to testdata/fuzz/TARGET beside the test, where every later `go test` tries it. The last
// line is "N passed, N failed", of targets. The exit code is 0 if none failed.
//
// It is started in the repository's root; `make fuzz TIME=1m` does so.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	each := flag.Duration("time", time.Minute, "how long each target runs")
	parallel := flag.Int("parallel", 0, "how many workers a target has; 0: as many as there are processors")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	all, err := list(ctx)
	if err == nil {
		all, err = choose(all, flag.Args())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "fuzz:", err)
		os.Exit(1)
	}
	var failed []target
	for _, t := range all {
		begun := time.Now()
		out, err := t.run(ctx, *each, *parallel)
		if ctx.Err() != nil {
			fmt.Fprintln(os.Stderr, "fuzz: ended in", t)
			os.Exit(1)
		}
		if err != nil {
			failed = append(failed, t)
			fmt.Printf("FAIL  %s\n%s\n%v\n", t, out, err)
			continue
		}
		fmt.Printf("ok    %s: %s (%.0fs)\n", t, progress(out), time.Since(begun).Seconds())
	}
	for _, t := range failed {
		fmt.Println("FAIL ", t)
	}
	fmt.Printf("%d passed, %d failed\n", len(all)-len(failed), len(failed))
	if len(failed) > 0 {
		os.Exit(1)
	}
}

// A target is one fuzz function.
type target struct{ dir, name string }

func (t target) String() string { return t.name + " in " + t.dir }

// list asks go for the targets of every package below the working directory.
func list(ctx context.Context) ([]target, error) {
	cmd := exec.CommandContext(ctx, "go", "test", "-list", "^Fuzz", "./...")
	var out, complaints bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaints
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("list the targets: %w\n%s%s", err, out.Bytes(), complaints.Bytes())
	}
	return parse(&out)
}

// parse reads what `go test -list` prints: the names in a package, one a line, then "ok", the package and a time.
func parse(in io.Reader) ([]target, error) {
	text, err := io.ReadAll(in)
	if err != nil {
		return nil, err
	}
	var all []target
	var names []string
	for line := range strings.Lines(string(text)) {
		switch words := strings.Fields(line); {
		case len(words) == 1 && strings.HasPrefix(words[0], "Fuzz"):
			names = append(names, words[0])
		case len(words) > 1 && words[0] == "ok":
			for _, name := range names {
				all = append(all, target{words[1], name})
			}
			names = nil
		}
	}
	if len(all) == 0 {
		return nil, errors.New("there is no fuzz target")
	}
	return all, nil
}

// choose returns the targets with these names, or all if there are none.
func choose(all []target, names []string) ([]target, error) {
	if len(names) == 0 {
		return all, nil
	}
	for _, name := range names {
		if !slices.ContainsFunc(all, func(t target) bool { return t.name == name }) {
			return nil, fmt.Errorf("there is no fuzz target %s", name)
		}
	}
	return slices.DeleteFunc(all, func(t target) bool { return !slices.Contains(names, t.name) }), nil
}

// run runs a target for a time. Its processes end with ctx.
func (t target) run(ctx context.Context, each time.Duration, parallel int) ([]byte, error) {
	args := []string{
		"test", "-run=^$", "-fuzz=^" + t.name + "$", "-fuzztime=" + each.String(),
		"-fuzzminimizetime=10x", // go would spend a minute on each input that is new to it, and try little else
	}
	if parallel > 0 {
		args = append(args, fmt.Sprintf("-parallel=%d", parallel))
	}
	cmd := exec.CommandContext(ctx, "go", append(args, t.dir)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	return cmd.CombinedOutput()
}

var progressLine = regexp.MustCompile(`(?m)^fuzz: elapsed: .*, (execs: \d+) \(.*\), (new interesting: \d+)`)

// progress returns the last figures that a target printed.
func progress(out []byte) string {
	all := progressLine.FindAllSubmatch(out, -1)
	if all == nil {
		return "no figures"
	}
	last := all[len(all)-1]
	return fmt.Sprintf("%s, %s", last[1], last[2])
}
