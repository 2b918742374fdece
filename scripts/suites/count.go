package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A tally is what a step's output says.
type tally struct {
	passed   int
	failures []failure
	skipped  []string
	whole    bool // the one thing counted is that the command succeeds
}

// A failure is one thing that failed, with the output that explains it.
type failure struct {
	name   string
	output string
}

func (t *tally) fail(name, output string) {
	t.failures = append(t.failures, failure{name, output})
}

// A counter reads a step's standard output to its end and counts. A line a person waiting wants to see goes to
// progress, all that is worth keeping to log. It does not see the exit code; see settle.
type counter func(name string, stdout io.Reader, progress, log io.Writer) tally

// settle adds what only the exit code tells: a command that failed without a failure in its output, or that ran
// nothing.
func (t *tally) settle(name string, exit error, tail string) {
	if t.whole && exit != nil {
		t.passed = 0
	}
	switch {
	case len(t.failures) > 0:
	case exit != nil:
		t.fail(name, fmt.Sprintf("%s\n%v\n", tail, exit))
	case t.passed == 0:
		t.fail(name, tail+"\nran no test\n")
	}
}

// countSilent counts one: passed unless there was output.
func countSilent(name string, stdout io.Reader, progress, log io.Writer) tally {
	var t tally
	if out, err := io.ReadAll(io.TeeReader(stdout, log)); len(out) > 0 || err != nil {
		t.fail(name, string(out))
		return t
	}
	return tally{passed: 1, whole: true}
}

// countExit counts one: passed unless the exit code says otherwise, which settle sees to.
func countExit(name string, stdout io.Reader, progress, log io.Writer) tally {
	io.Copy(io.MultiWriter(progress, log), stdout)
	return tally{passed: 1, whole: true}
}

// totalLine is what a suite that is not a go test ends with; verdictLine is what is worth showing meanwhile.
var (
	totalLine   = regexp.MustCompile(`^(\d+) passed, (\d+) failed$`)
	verdictLine = regexp.MustCompile(`^(ok|not ok|PASS|FAIL)\b|\b\d+ passed, \d+ failed\b`)
)

// countTotals believes the last total line of a command. The names of what failed are in its output.
func countTotals(name string, stdout io.Reader, progress, log io.Writer) tally {
	var t tally
	var failed int
	var tail lastLines
	for line := range lines(stdout) {
		log.Write(line)
		tail.Write(line)
		text := strings.TrimRight(string(line), "\r\n")
		if m := totalLine.FindStringSubmatch(text); m != nil {
			t.passed, _ = strconv.Atoi(m[1])
			failed, _ = strconv.Atoi(m[2])
		} else if verdictLine.MatchString(text) {
			fmt.Fprintln(progress, text)
		}
	}
	for i := range failed {
		output := ""
		if i == 0 {
			output = tail.String()
		}
		t.fail(fmt.Sprintf("%s (%d of %d)", name, i+1, failed), output)
	}
	return t
}

// event is one line of `go test -json`. Source: go doc test2json.
type event struct {
	Action     string
	Package    string
	ImportPath string // of build-output, instead of Package
	Test       string
	Output     string
	Elapsed    float64
}

// goPackage is what is known of one package under test.
type goPackage struct {
	tests  map[string]*goTestRun
	order  []string
	output strings.Builder // everything, for the log
	own    strings.Builder // what no test said
}

type goTestRun struct {
	outcome string // pass, fail, skip; empty while it runs
	output  strings.Builder
}

// goRun is the state of countGoTest.
type goRun struct {
	tally    tally
	packages map[string]*goPackage
	builds   strings.Builder // what the compiler said
	progress io.Writer
	log      io.Writer
}

// countGoTest counts the tests in the output of `go test -json`: those without subtests, and those that failed though
// none of their subtests did. A package that failed with no failed test counts as one failure.
func countGoTest(_ string, stdout io.Reader, progress, log io.Writer) tally {
	r := goRun{packages: map[string]*goPackage{}, progress: progress, log: log}
	for line := range lines(stdout) {
		var e event
		if json.Unmarshal(line, &e) != nil {
			log.Write(line)
			continue
		}
		r.take(e)
	}
	for name := range r.packages { // the run was cut off
		r.end(name, "fail", 0)
	}
	slices.SortFunc(r.tally.failures, func(a, b failure) int { return strings.Compare(a.name, b.name) })
	return r.tally
}

func (r *goRun) take(e event) {
	if e.Action == "build-output" {
		r.builds.WriteString(e.Output)
		io.WriteString(r.log, e.Output)
		return
	}
	if e.Package == "" {
		return
	}
	p := r.packages[e.Package]
	if p == nil {
		p = &goPackage{tests: map[string]*goTestRun{}}
		r.packages[e.Package] = p
	}
	if e.Test == "" {
		switch e.Action {
		case "output":
			p.output.WriteString(e.Output)
			p.own.WriteString(e.Output)
		case "pass", "fail", "skip":
			r.end(e.Package, e.Action, e.Elapsed)
		}
		return
	}
	t := p.tests[e.Test]
	if t == nil {
		t = &goTestRun{}
		p.tests[e.Test] = t
		p.order = append(p.order, e.Test)
	}
	switch e.Action {
	case "output":
		p.output.WriteString(e.Output)
		t.output.WriteString(e.Output)
	case "pass", "fail", "skip":
		t.outcome = e.Action
	}
}

// end counts a package that is through, and forgets it.
func (r *goRun) end(name, outcome string, elapsed float64) {
	p := r.packages[name]
	delete(r.packages, name)
	io.WriteString(r.log, p.output.String())
	passed, failed := r.tally.passed, len(r.tally.failures)
	for _, test := range p.order {
		t := p.tests[test]
		full := name + " " + test
		switch parent, failing := p.children(test); {
		case parent && (t.outcome != "fail" || failing):
		case t.outcome == "pass":
			r.tally.passed++
		case t.outcome == "skip":
			r.tally.skipped = append(r.tally.skipped, full)
		case t.outcome == "fail":
			r.tally.fail(full, t.output.String())
		default:
			r.tally.fail(full, t.output.String()+"did not end\n")
		}
	}
	if outcome == "fail" && len(r.tally.failures) == failed {
		r.tally.fail(name, r.builds.String()+p.own.String())
		r.builds.Reset()
	}
	passed, failed = r.tally.passed-passed, len(r.tally.failures)-failed
	if passed+failed > 0 {
		fmt.Fprintf(r.progress, "%-5s %s: %d passed, %d failed (%.1fs)\n", verdict(failed), name, passed, failed, elapsed)
	}
}

// children reports whether a test has subtests, and whether one of them failed or did not end.
func (p *goPackage) children(test string) (any, failing bool) {
	for _, other := range p.order {
		if strings.HasPrefix(other, test+"/") {
			any = true
			outcome := p.tests[other].outcome
			failing = failing || outcome == "fail" || outcome == ""
		}
	}
	return any, failing
}

func verdict(failed int) string {
	if failed > 0 {
		return "FAIL"
	}
	return "ok"
}

// tailLines bounds how much of an explanation the terminal shows; the log has all of it.
const tailLines = 80

// lastLines keeps the last tailLines lines that were written to it.
type lastLines struct {
	kept [][]byte
	rest []byte // of a line not yet ended
}

func (l *lastLines) Write(p []byte) (int, error) {
	for line := range bytes.Lines(p) {
		l.rest = append(l.rest, line...)
		if line[len(line)-1] != '\n' {
			break
		}
		l.kept = append(l.kept, l.rest)
		l.rest = nil
		if len(l.kept) > tailLines {
			l.kept = l.kept[1:]
		}
	}
	return len(p), nil
}

func (l *lastLines) String() string {
	return string(bytes.Join(l.kept, nil)) + string(l.rest)
}
