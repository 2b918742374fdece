package lint

import (
	"os"
	"strings"
	"testing"
)

// What lint finds in a topology, and that the machine does what a path says, is tested beside the machine: see
// internal/vhost/lint_test.go and lint_paths_test.go.

func TestKeysMeet(t *testing.T) {
	// If this fails, dead letters are said to find no queue that find one, or the other way round.
	t.Parallel()
	for _, c := range []struct {
		a, b string
		meet bool
	}{
		{"a", "a", true}, {"a", "b", false}, {"a.*", "*.b", true}, {"a.*", "b.*", false}, {"#", "", true}, {"#", "a.b.c", true},
		{"*", "", true}, {"*", "a.b", false}, {"a.#", "a", true}, {"a.#.z", "a.*.*.z", true}, {"a.#.z", "a.b.*", true}, {"a.#.z", "b.#", false},
		{"#.a", "#.b", false}, {"#.a", "b.#", true}, {"#", "#", true}, {"*.*", "#.a", true}, {"*.*", "a.b.#.c", false}, {"a.*.#", "a", false},
	} {
		for _, s := range [][2]string{{c.a, c.b}, {c.b, c.a}} {
			if overlap(strings.Split(s[0], "."), strings.Split(s[1], ".")) != c.meet {
				t.Errorf("%q and %q: want %v", s[0], s[1], c.meet)
			}
		}
	}
}

func TestCodesAreExplained(t *testing.T) {
	// If this fails, a code comes up that docs/lint.md says nothing about.
	t.Parallel()
	b, err := os.ReadFile("../../docs/lint.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, code := range append(FindingCodes(), PathCodes()...) {
		if !strings.Contains(string(b), "`"+code+"`") {
			t.Errorf("docs/lint.md does not explain `%s`", code)
		}
	}
}

func TestTextsHaveDurationsAndSizes(t *testing.T) {
	for _, c := range []struct {
		text string
		with Param
		want string
	}{
		{"for {ms}.", Param{"ms", "604800000"}, "for 7 days."},
		{"take {ladder}.", Param{"ladder", "5400000"}, "take 1 hour 30 minutes."},
		{"up to {bytes}.", Param{"bytes", "67108864"}, "up to 64 MiB."},
		{"up to {bytes}.", Param{"bytes", "1000"}, "up to 1000 bytes."},
		{"up to {bytes}.", Param{"bytes", "0"}, "up to 0 bytes."},
		{"more than {limit} times.", Param{"limit", "3"}, "more than 3 times."},
	} {
		if got := fill(c.text, []Param{c.with}); got != c.want {
			t.Errorf("%s with %v: %q, want %q", c.text, c.with, got, c.want)
		}
	}
}
