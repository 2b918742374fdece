package tidy

import (
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// columnsMax is how many columns a line of Go, or of a page, may have; a tab counts as four. Rows of tables in pages
// may be longer.
const columnsMax = 120

// longLines is how many lines of each kind may be longer: what is left from before the rule. Who mends some lowers the
// number; it never rises.
var longLines = map[string]int{
	"Go, code":           1890,
	"Go, code of a test": 2620,
	"Go, comment":        12,
	"a page":             60,
	"a page, code":       64,
}

// TestLinesAreNotLong fails if there are more long lines than there were.
func TestLinesAreNotLong(t *testing.T) {
	t.Parallel()
	count := map[string]int{}
	for _, f := range files(t) {
		if generated.Match(f.text) {
			continue
		}
		code := false
		for line := range strings.Lines(string(f.text)) {
			if strings.HasPrefix(strings.TrimSpace(line), "```") {
				code = !code
			}
			if kind := kindOf(f.path, line, code); kind != "" && columns(line) > columnsMax {
				count[kind]++
			}
		}
	}
	for kind, n := range count {
		t.Logf("%s: %d", kind, n)
		if most := longLines[kind]; n > most {
			t.Errorf("%s: %d lines have more than %d columns, %d may; those that your change adds have to be shorter (git diff -U0 shows them)",
				kind, n, columnsMax, most)
		}
	}
}

// columns is how wide a line is.
func columns(line string) int {
	line = strings.TrimRight(line, "\n")
	return utf8.RuneCountInString(line) + 3*strings.Count(line, "\t")
}

// kindOf is the kind of a line that the rule is about, or nothing. code says that it is in a block of code of a page.
func kindOf(path, line string, code bool) string {
	text := strings.TrimSpace(line)
	switch {
	case strings.HasPrefix(path, "docs/zh-CN/") && code:
		return "" // it is that of the English page
	case filepath.Ext(path) == ".md" && code:
		return "a page, code"
	case filepath.Ext(path) == ".md" && !strings.HasPrefix(text, "|"):
		return "a page"
	case filepath.Ext(path) != ".go":
		return ""
	case strings.HasPrefix(text, "//"):
		return "Go, comment"
	case strings.HasSuffix(path, "_test.go"):
		return "Go, code of a test"
	}
	return "Go, code"
}
