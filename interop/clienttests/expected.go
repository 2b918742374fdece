package main

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
)

//go:embed expected
var expectedFiles embed.FS

// An expectation says which tests of a suite fail, and why.
type expectation struct {
	reasons   map[string]string // by test
	sometimes map[string]bool   // these may pass, too
}

// expect reads the list of a suite. A line that begins with # is the reason for the tests whose names follow, one a
// line. A reason that begins with "sometimes: " is for tests whose outcome depends on timing.
func expect(name string) (expectation, error) {
	text, err := expectedFiles.ReadFile("expected/" + name)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err != nil {
		return expectation{}, err
	}
	return parseExpectation(string(text))
}

func parseExpectation(text string) (expectation, error) {
	e := expectation{map[string]string{}, map[string]bool{}}
	reason := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if after, ok := strings.CutPrefix(line, "#"); ok {
			reason = strings.TrimSpace(after)
			continue
		}
		if line == "" {
			continue
		}
		if reason == "" {
			return e, fmt.Errorf("%q has no reason", line)
		}
		if _, ok := e.reasons[line]; ok {
			return e, fmt.Errorf("%q is there twice", line)
		}
		e.reasons[line] = reason
		if strings.HasPrefix(reason, "sometimes: ") {
			e.sometimes[line] = true
		}
	}
	return e, nil
}

// A verdict is how the results of a suite compare with what is expected.
type verdict struct {
	passed, expected, skipped int      // tests; expected are those that failed and may
	complaints                []string // each is a failure of the suite
}

func (e expectation) judge(r results) verdict {
	var v verdict
	for _, name := range slices.Sorted(maps.Keys(r)) {
		reason, listed := e.reasons[name]
		switch o := r[name]; {
		case o == skipped:
			v.skipped++
			if listed {
				v.complaints = append(v.complaints, fmt.Sprintf("is skipped, but listed as failing: %s", name))
			}
		case o == passed && listed && !e.sometimes[name]:
			v.complaints = append(v.complaints, fmt.Sprintf("passes, but is listed as failing (%s): %s", reason, name))
		case o == failed && !listed:
			v.complaints = append(v.complaints, "fails: "+name)
		case o == failed:
			v.expected++
		default:
			v.passed++
		}
	}
	for _, name := range slices.Sorted(maps.Keys(e.reasons)) {
		if _, ran := r[name]; !ran {
			v.complaints = append(v.complaints, "is listed as failing, but does not exist: "+name)
		}
	}
	if len(r) == 0 {
		v.complaints = append(v.complaints, "no test ran")
	}
	return v
}
