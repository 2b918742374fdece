package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestGoTestCounts(t *testing.T) {
	// If this fails, the summary counts wrongly: a parent twice, a lost test not at all.
	t.Parallel()
	stream := strings.Join([]string{
		`go: downloading something`,
		`{"Action":"run","Package":"p","Test":"TestA"}`,
		`{"Action":"run","Package":"p","Test":"TestA/x"}`,
		`{"Action":"pass","Package":"p","Test":"TestA/x"}`,
		`{"Action":"output","Package":"p","Test":"TestA/y","Output":"y broke\n"}`,
		`{"Action":"fail","Package":"p","Test":"TestA/y"}`,
		`{"Action":"fail","Package":"p","Test":"TestA"}`,
		`{"Action":"run","Package":"p","Test":"TestB"}`,
		`{"Action":"pass","Package":"p","Test":"TestB/z"}`,
		`{"Action":"output","Package":"p","Test":"TestB","Output":"b broke itself\n"}`,
		`{"Action":"fail","Package":"p","Test":"TestB"}`,
		`{"Action":"skip","Package":"p","Test":"TestC"}`,
		`{"Action":"run","Package":"p","Test":"TestHung"}`,
		`{"Action":"fail","Package":"p"}`,
		`{"ImportPath":"q","Action":"build-output","Output":"q.go:1:1: no\n"}`,
		`{"ImportPath":"q","Action":"build-fail"}`,
		`{"Action":"fail","Package":"q","FailedBuild":"q"}`,
		`{"Action":"run","Package":"cut","Test":"TestCut"}`,
	}, "\n")
	got := countGoTest("", strings.NewReader(stream), io.Discard, io.Discard)
	var failed []string
	for _, f := range got.failures {
		failed = append(failed, f.name+": "+strings.TrimSpace(f.output))
	}
	want := []string{
		"cut TestCut: did not end", "p TestA/y: y broke", "p TestB: b broke itself", "p TestHung: did not end",
		"q: q.go:1:1: no",
	}
	if got.passed != 2 || !slices.Equal(failed, want) || !slices.Equal(got.skipped, []string{"p TestC"}) {
		t.Errorf("passed %d, failed %q, skipped %q; want 2, %q, TestC", got.passed, failed, got.skipped, want)
	}
}

func TestStepVerdicts(t *testing.T) {
	// If this fails, a suite that could not run, or ran nothing, may look green.
	t.Parallel()
	sh := func(script string, count counter) step { return step{args: []string{"sh", "-c", script}, count: count} }
	for _, c := range []struct {
		name           string
		step           step
		passed, failed int
	}{
		{"silent and well", sh("exit 0", countSilent), 1, 0},
		{"silent but for stderr", sh("echo downloading >&2", countSilent), 1, 0},
		{"says something", sh("echo main.go", countSilent), 0, 1},
		{"exit code only", sh("exit 3", countSilent), 0, 1},
		{"totals", sh("echo a: 1 passed, 0 failed; echo 5 passed, 0 failed", countTotals), 5, 0},
		{"totals with failures", sh("echo 5 passed, 2 failed; exit 1", countTotals), 5, 2},
		{"totals, then a bad end", sh("echo 5 passed, 0 failed; exit 1", countTotals), 5, 1},
		{"no totals", sh("echo done", countTotals), 0, 1},
		{"nothing ran", sh("echo 0 passed, 0 failed", countTotals), 0, 1},
		{"no such command", step{args: []string{"./no/such/command"}, count: countTotals}, 0, 1},
		{"no test", sh(`echo '{"Action":"pass","Package":"p"}'`, countGoTest), 0, 1},
	} {
		got := c.step.run(t.Context(), io.Discard, io.Discard)
		if got.passed != c.passed || len(got.failures) != c.failed {
			t.Errorf("%s: %d passed, %d failed (%v); want %d, %d", c.name, got.passed, len(got.failures), got.failures, c.passed, c.failed)
		}
	}
}

func TestNothingOutlivesItsSuite(t *testing.T) {
	// If this fails, a suite over its limit leaves brokers behind that hold ports and memory.
	t.Parallel()
	alive, held, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	// The child does not mind SIGTERM, and holds the pipe until it is gone.
	p := prepare(ctx, nil, "sh", "-c", "(trap '' TERM; echo up; exec tail -f /dev/null) & wait")
	p.cmd.WaitDelay = 100 * time.Millisecond
	p.cmd.ExtraFiles = []*os.File{held}
	p.cmd.Stdout = writer(func(b []byte) (int, error) { cancel(); return len(b), nil })
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	held.Close()
	if err := p.wait(); err == nil {
		t.Error("a command that was ended reports success")
	}
	alive.SetReadDeadline(time.Now().Add(time.Minute))
	if _, err := alive.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("waiting for the child's end: %v, want EOF", err)
	}
}

type writer func([]byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }

func TestChoose(t *testing.T) {
	// If this fails, SUITES= selects something else than it says, or `make test` starts a long run.
	t.Parallel()
	all := []suite{{name: "lint"}, {name: "unit"}, {name: "interop"}, {name: "soak", long: true}}
	for _, c := range []struct{ names, want string }{
		{"", "lint unit interop"},
		{"unit lint", "lint unit"},
		{"soak", "soak"},
		{"-interop", "lint unit"},
		{"-soak", "lint unit interop"},
		{"unit -unit", "no suite is left to run"},
		{"uint", `no suite is called "uint"; -list prints their names`},
	} {
		chosen, err := choose(all, strings.Fields(c.names))
		var got []string
		for _, s := range chosen {
			got = append(got, s.name)
		}
		if err != nil {
			got = []string{err.Error()}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("choose %q: %q, want %q", c.names, got, c.want)
		}
	}
}

func TestSummary(t *testing.T) {
	// If this fails, whoever reads the last lines of `make test`, person or machine, reads something else.
	t.Parallel()
	var out bytes.Buffer
	bad := tally{passed: 3}
	bad.fail("p TestX", "x broke\n")
	green := summarize([]result{{"lint", tally{passed: 3}, time.Second}, {"unit", bad, 12340 * time.Millisecond}}, &out)
	end := regexp.MustCompile(`(?s)x broke\n.*unit\.log\np TestX\n\nlint: 3 passed, 0 failed \(1\.0s\)\nunit: 3 passed, 1 failed \(12\.3s\)\n6 passed, 1 failed\n$`)
	if green || !end.MatchString(out.String()) {
		t.Errorf("green %v, printed:\n%s", green, out.String())
	}
	if !summarize([]result{{"lint", tally{passed: 3}, time.Second}}, io.Discard) {
		t.Error("a run without failures is not green")
	}
}

func TestSkipFails(t *testing.T) {
	// If this fails, a suite whose tests all stood aside looks green.
	t.Parallel()
	one := step{
		args:  []string{"printf", `{"Action":"skip","Package":"p","Test":"T"}\n{"Action":"pass","Package":"p","Test":"U"}\n{"Action":"pass","Package":"p"}\n`},
		count: countGoTest,
	}
	if got := (suite{name: "s", steps: []step{one}}).run(t.Context(), io.Discard, io.Discard); len(got.failures) != 1 {
		t.Errorf("a skipped test left %d failures, want 1", len(got.failures))
	}
	if got := (suite{name: "s", skips: true, steps: []step{one}}).run(t.Context(), io.Discard, io.Discard); len(got.failures) != 0 {
		t.Errorf("a suite that may skip has %d failures, want none", len(got.failures))
	}
}

func TestBrokerAddresses(t *testing.T) {
	// If this fails, a suite talks to another broker than its own.
	t.Parallel()
	b := broker{amqp: "amqp://h:1/", http: "http://h:2", series: "3.10"}
	got := strings.Join(b.expand([]string{"-amqp=$AMQP", "-http=$HTTP", "-series=$SERIES", "x"}), " ")
	if want := "-amqp=amqp://h:1/ -http=http://h:2 -series=3.10 x"; got != want {
		t.Errorf("expanded to %q, want %q", got, want)
	}
	free, err := freeAddresses(3)
	if err != nil || free[0] == free[1] || free[1] == free[2] || free[0] == free[2] {
		t.Errorf("free addresses %v, %v; want three that differ", free, err)
	}
}
