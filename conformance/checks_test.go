package conformance

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A check is one thing that the rules of a topic ask to be shown, and what shows it.
type check struct {
	section, line int    // of the topic; lines count from 1 in each section
	says          string // in short
	shown         []string
}

// Each element of shown is one of
//
//	name              a case of this suite
//	scenario:name     a scenario of the machine, internal/vhost/testdata/scenarios/name.txt
//	test:dir TestX    a test in Go, in a directory of the repository
const (
	scenarioPrefix = "scenario:"
	testPrefix     = "test:"
)

// checks is every check of a topic, by section and line.
var checks = map[string][]check{
	dead:     deadChecks,
	expiry:   expiryChecks,
	delayed:  delayedChecks,
	surface:  surfaceChecks,
	retry:    retryChecks,
	policies: policiesChecks,
}

// If this fails, something that the rules ask for is shown by nothing, or a check is missing from its section.
func TestChecks(t *testing.T) {
	cases := map[string]bool{}
	for _, c := range slices.Concat(suites...) {
		cases[c.Name] = true
	}
	for topic, list := range checks {
		before := check{}
		for _, c := range list {
			at := fmt.Sprintf("%s %d.%d", topic, c.section, c.line)
			switch next := c.section == before.section; {
			case next && c.line != before.line+1, !next && (c.section <= before.section || c.line != 1):
				t.Errorf("%s follows %d.%d", at, before.section, before.line)
			case len(strings.Fields(c.says)) < 3:
				t.Errorf("%s does not say what is to be shown", at)
			case len(c.shown) == 0:
				t.Errorf("%s is shown by nothing", at)
			}
			for _, by := range c.shown {
				if err := exists(by, cases); err != nil {
					t.Errorf("%s: %v", at, err)
				}
			}
			before = c
		}
	}
}

// exists tells of what shows a check whether it is there.
func exists(by string, cases map[string]bool) error {
	if name, ok := strings.CutPrefix(by, scenarioPrefix); ok {
		_, err := os.Stat(filepath.Join("..", "internal", "vhost", "testdata", "scenarios", name+".txt"))
		return err
	}
	if place, ok := strings.CutPrefix(by, testPrefix); ok {
		return existsTest(place)
	}
	if !cases[by] {
		return fmt.Errorf("there is no case %q", by)
	}
	return nil
}

// existsTest looks for a test in Go, given as directory and name.
func existsTest(place string) error {
	dir, name, ok := strings.Cut(place, " ")
	if !ok {
		return fmt.Errorf("%q is not a directory and a test's name", place)
	}
	files, err := filepath.Glob(filepath.Join("..", filepath.FromSlash(dir), "*_test.go"))
	if err != nil {
		return err
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			return err
		}
		if strings.Contains(string(text), "\nfunc "+name+"(t *testing.T)") {
			return nil
		}
	}
	return fmt.Errorf("there is no test %s in %s", name, dir)
}
