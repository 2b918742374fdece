package conformance

import (
	_ "embed"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the table of differences in README.md anew")

const tableBegin, tableEnd = "<!-- differences -->\n", "<!-- end of differences -->"

//go:embed README.md
var readme string

// If this fails, the table of differences in README.md is not that of the cases; -update writes it anew.
func TestReadme(t *testing.T) {
	before, rest, begun := strings.Cut(readme, tableBegin)
	_, after, ended := strings.Cut(rest, tableEnd)
	if !begun || !ended {
		t.Fatal("README.md has no place for the table of differences")
	}
	want := before + tableBegin + differences() + tableEnd + after
	if *update {
		if err := os.WriteFile("README.md", []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if readme != want {
		t.Error("README.md does not list the differences that the cases name; run with -update")
	}
}

// differences is the table of the cases that tell sides apart. Cases that differ in the same way share a row.
func differences() string {
	type way struct {
		since, before, differs string
		newer                  bool
	}
	seen := map[way]int{}
	var rows []Case
	for _, c := range slices.Concat(suites...) {
		w := way{c.Since, c.Before, c.Differs, c.Newer}
		if w == (way{}) {
			continue
		}
		if seen[w] == 0 {
			rows = append(rows, c)
		}
		seen[w]++
	}
	var b strings.Builder
	b.WriteString("| case | rule on RabbitMQ | from | before | on Bartleby, if otherwise |\n|--|--|--|--|--|\n")
	for _, c := range rows {
		name := "`" + c.Name + "`"
		if n := seen[way{c.Since, c.Before, c.Differs, c.Newer}]; n > 1 {
			name += fmt.Sprintf(" and %d more", n-1)
		}
		bartleby := c.Differs
		if c.Newer {
			bartleby = either(c.Differs, "as on the later series")
		}
		fmt.Fprintf(&b, "| %s (%s %d) | %s | %s | %s | %s |\n", name, c.Topic, c.Section, c.Rule, c.Since, c.Before, bartleby)
	}
	return b.String()
}
