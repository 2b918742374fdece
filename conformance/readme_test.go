package conformance

import (
	"cmp"
	_ "embed"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the tables in README.md; after a run against RabbitMQ, store the cases that passed")

//go:embed README.md
var readme string

// If this fails, the tables in README.md are not those of the cases; -update writes them anew.
func TestReadme(t *testing.T) {
	records, err := readRecords()
	if err != nil {
		t.Fatal(err)
	}
	cases := slices.Concat(suites...)
	want := section(t, readme, "counts", counts(cases, records))
	want = section(t, want, "differences", differences(cases))
	if *update {
		if err := os.WriteFile("README.md", []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if readme != want {
		t.Error("README.md does not say what the cases say; run with -update")
	}
}

// If this fails, README.md tells of a rule whose case does not exist, or has not passed on each RabbitMQ that ran.
func TestReliedOn(t *testing.T) {
	records, err := readRecords()
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(readme, "<!-- relied on -->\n")
	table, _, ended := strings.Cut(table, "<!-- end of relied on -->")
	rows := strings.Split(strings.TrimSpace(table), "\n")
	if !ended || len(rows) < 3 {
		t.Fatal("README.md has no table of what clients rely on")
	}
	for _, row := range rows[2:] {
		names := strings.Split(strings.Trim(row[strings.LastIndex(row, " | ")+3:], "| "), ", ")
		for _, r := range records {
			for _, name := range names {
				if !r.passed[strings.Trim(name, "`")] {
					t.Errorf("%s has not passed on %s", name, r.version)
				}
			}
		}
	}
}

// section replaces what stands between the marks of a name.
func section(t *testing.T, text, name, table string) string {
	begin, end := "<!-- "+name+" -->\n", "<!-- end of "+name+" -->"
	before, rest, begun := strings.Cut(text, begin)
	_, after, ended := strings.Cut(rest, end)
	if !begun || !ended {
		t.Fatalf("README.md has no place for the table of %s", name)
	}
	return before + begin + table + end + after
}

// counts is the table of how many cases there are, where they passed, and which of them differ.
func counts(cases []Case, records []record) string {
	var b strings.Builder
	row := func(what string, list []Case, which string) {
		fmt.Fprintf(&b, "| %s | %d | %s |\n", what, len(list), which)
	}
	b.WriteString("| cases | number | names |\n|--|--|--|\n")
	row("total", cases, "")
	alone := having(cases, func(c Case) bool { return c.Alone && c.Topic != delayed })
	row("features that only Bartleby has, not run on RabbitMQ", alone, names(alone))
	plugin := having(cases, func(c Case) bool { return c.Alone && c.Topic == delayed })
	row("delayed messages, not run on RabbitMQ: Debian has no package of the plugin", plugin, "all of `"+delayed+"`")
	shared := having(cases, func(c Case) bool { return !c.Alone })
	everywhere := shared
	for _, r := range records {
		passed := func(c Case) bool { return r.passed[c.Name] }
		missing := having(shared, func(c Case) bool { return !passed(c) })
		which := ""
		if len(missing) > 0 {
			which = "not, or not yet: " + names(missing)
		}
		row("passed on RabbitMQ "+r.version, having(shared, passed), which)
		everywhere = having(everywhere, passed)
	}
	if len(records) > 1 {
		row("passed on all of these", everywhere, "")
	}
	row("same rule on every series and on Bartleby", having(shared, func(c Case) bool { return c.Since == "" && c.Differs == "" }), "")

	dated := having(cases, func(c Case) bool { return c.Since != "" })
	row("**different between series of RabbitMQ**", dated, "")
	for _, since := range seriesOf(dated) {
		list := having(dated, func(c Case) bool { return c.Since == since })
		row("– from "+since, list, names(list))
	}
	chosen := having(cases, func(c Case) bool { return c.Differs != "" })
	row("**different on Bartleby on purpose**", chosen, "")
	for _, x := range choices {
		list := having(chosen, func(c Case) bool { return c.Choice == x })
		row("– "+string(x), list, names(list))
	}
	return b.String()
}

func having(cases []Case, holds func(Case) bool) []Case {
	var list []Case
	for _, c := range cases {
		if holds(c) {
			list = append(list, c)
		}
	}
	return list
}

// seriesOf is every series from which on the rule of a case holds, the oldest first.
func seriesOf(cases []Case) []string {
	var all []string
	for _, c := range cases {
		all = append(all, c.Since)
	}
	slices.SortFunc(all, bySeries)
	return slices.Compact(all)
}

// bySeries orders series, and versions of them, by age. What is neither stands first.
func bySeries(a, b string) int {
	v, _ := parseSeries(a)
	w, _ := parseSeries(b)
	return cmp.Or(cmp.Compare(v.major, w.major), cmp.Compare(v.minor, w.minor), strings.Compare(a, b))
}

// A way is how cases differ. Those that differ in the same way are named by the first of them.
type way struct {
	since, before, differs string
	newer                  bool
}

func (c Case) way() way { return way{c.Since, c.Before, c.Differs, c.Newer} }

// firsts is the first case of each way, in order, and how many cases there are of that way.
func firsts(cases []Case) (first []Case, count map[way]int) {
	count = map[way]int{}
	for _, c := range cases {
		if c.way() == (way{}) || count[c.way()] == 0 {
			first = append(first, c)
		}
		count[c.way()]++
	}
	return first, count
}

// nameOf names a case and how many more there are like it.
func nameOf(c Case, count map[way]int) string {
	name := "`" + c.Name + "`"
	if n := count[c.way()]; n > 1 && c.way() != (way{}) {
		name += fmt.Sprintf(" and %d more", n-1)
	}
	return name
}

func names(cases []Case) string {
	first, count := firsts(cases)
	var all []string
	for _, c := range first {
		all = append(all, nameOf(c, count))
	}
	return strings.Join(all, ", ")
}

// differences is the table of the cases that tell sides apart.
func differences(cases []Case) string {
	first, count := firsts(having(cases, func(c Case) bool { return c.way() != (way{}) }))
	var b strings.Builder
	b.WriteString("| case | rule on RabbitMQ | from | before | on Bartleby, if different |\n|--|--|--|--|--|\n")
	for _, c := range first {
		bartleby := c.Differs
		if c.Newer {
			bartleby = either(c.Differs, "as on the later series")
		}
		fmt.Fprintf(&b, "| %s (%s %d) | %s | %s | %s | %s |\n",
			nameOf(c, count), c.Topic, c.Section, c.Rule, c.Since, c.Before, bartleby)
	}
	return b.String()
}
