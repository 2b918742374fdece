package main

import (
	"slices"
	"strings"
	"testing"
)

// If this fails, a target is not run, or run in the wrong package, or the figures of a run are not told.
func TestOutputOfGo(t *testing.T) {
	t.Parallel()
	all, err := parse(strings.NewReader("ok  \tm/a\t0.01s\nFuzzOne\nFuzzTwo\nok  \tm/b\t0.02s\n?   \tm/c\t[no test files]\nFuzzOne\nok  \tm/d\t(cached)\n"))
	want := []target{{"m/b", "FuzzOne"}, {"m/b", "FuzzTwo"}, {"m/d", "FuzzOne"}}
	if err != nil || !slices.Equal(all, want) {
		t.Errorf("%v, %v instead of %v", all, err, want)
	}
	if _, err := parse(strings.NewReader("ok  \tm/a\t0.01s\n")); err == nil {
		t.Error("a module without targets is taken for one whose targets pass")
	}
	if some, err := choose(all, []string{"FuzzTwo"}); err != nil || !slices.Equal(some, []target{{"m/b", "FuzzTwo"}}) {
		t.Errorf("chosen: %v, %v", some, err)
	}
	if _, err := choose(want, []string{"FuzzTwo", "FuzzThree"}); err == nil {
		t.Error("a target that does not exist is chosen")
	}
	out := "fuzz: elapsed: 0s, gathering baseline coverage: 0/9 completed\n" +
		"fuzz: elapsed: 3s, execs: 100 (33/sec), new interesting: 2 (total: 11)\nfuzz: elapsed: 6s, execs: 250 (50/sec), new interesting: 3 (total: 12)\n"
	if got := progress([]byte(out)); got != "execs: 250, new interesting: 3" {
		t.Errorf("progress is %q", got)
	}
}
