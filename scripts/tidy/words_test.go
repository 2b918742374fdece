package tidy

import (
	"encoding/json"
	"go/scanner"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// retired are regular expressions for words that docs/glossary.md replaces. Names such as office.rights stay.
var retired = []string{
	`\b[Oo]ffice([ ,;:]|$)`, `\bcall(s|ed)? off\b`, `\b[Cc]alls? messages off\b`, `as fast as may be`, `\bpassed over\b`,
	`\banew\b`, `\bfind no place\b`, `\bfound no place\b`, `\bunder way\b`, `\bWhat is around\b`, `\bletters are named\b`,
	`\bfor good\b`, `\b[Ss]ends? letters back\b`, `\bas usual\b`, `\b(what|which) holds\b`,
}

// retiredInPages are regular expressions for more words that docs/glossary.md replaces, in the prose of pages.
var retiredInPages = []string{
	`\bshelf\b`, `\binstants?\b`, `\bin words\b`, `\btells?\b`, `\bfor ever\b`, `\bin force\b`, `\b(comes?|came) back\b`,
	`\bsent back\b`, `\bgoes on\b`, `\b[Ww]hoever\b`, `\b(some|any)body\b`, `\blikewise\b`, `\bunasked\b`, `\bheld letters?\b`,
	`(^|[^-\w] ?)[Ll]etters? (that|which|in|of|by|is|are|was|were|has|have|goes|go)\b`,
}

// retiredInCode are regular expressions for words that docs/glossary.md replaces in names and comments.
var retiredInCode = []string{
	`(?i)\bscribes?\b`, `\b(k|K)eeps? house\b`, `\bhouse is kept\b`, `(?i)\btidiers?\b`, `(?i)\bcensus\b`, `\b[dD]oors?\b`,
	`\bshelf\b`, `Shelf`, `\bforesight\b`, `\bforeseen(Kept|Max|Least)\b`,
}

// plainCode are the directories whose names and comments have lost those words.
var plainCode = []string{"internal/engine", "internal/engine/recordcache", "internal/engine/resource", "internal/journal", "internal/listener", "internal/amqpserver"}

// code is what no rule about words reads in a page: blocks, spans and the targets of links.
var code = regexp.MustCompile("(?ms)^```.*?^```$|`[^`]*`|\\]\\([^)]*\\)")

// named are the kinds of letter that are terms of the product.
var named = regexp.MustCompile(`(?i)\b(dead|lost)[-\s]+letters?\b`)

// spokenTexts are the directories, with those below them, whose string literals users read: help, messages, logs.
var spokenTexts = []string{
	"cmd", "internal/accounts", "internal/amqpserver", "internal/api", "internal/authz", "internal/cli",
	"internal/config",
	"internal/engine", "internal/fairshare", "internal/filter", "internal/journal", "internal/lint", "internal/listener",
	"internal/logging", "internal/management", "internal/perf", "internal/regex", "internal/repair", "internal/search",
	"internal/settings",
}

// retiredInTexts are regular expressions for more words that docs/glossary.md replaces, in string literals.
var retiredInTexts = []string{
	`\binstants?\b`, `\bin force\b`, `\bin words\b`, `\btold\b`, `\btells?\b`, `\bfor ever\b`, `\bcomes twice\b`, `\bare possible\b`,
	`\bfrom afar\b`, `\busual place\b`, `\bmended\b`, `\blikewise\b`, `\b(some|any)body\b`,
	`\bcircles?\b`, `\bby turns\b`, `\bcomes? round\b`, `\bwithout a word\b`,
}

// TestRetiredWords fails if a text for users has a word that docs/glossary.md replaces.
func TestRetiredWords(t *testing.T) {
	t.Parallel()
	refused := regexp.MustCompile(strings.Join(slices.Concat(retired, retiredInTexts), "|"))
	looked := 0
	for _, f := range files(t) {
		for _, text := range spoken(t, f) {
			looked++
			if word := refused.FindString(text); word != "" {
				t.Errorf("%s: %q: docs/glossary.md has the word to use: %q", f.path, word, text)
			}
		}
	}
	if looked < 3000 {
		t.Errorf("found %d texts: the rule looks at too little", looked)
	}
}

// TestRetiredWordsInCode fails if a name or a comment has a word that docs/glossary.md replaces.
func TestRetiredWordsInCode(t *testing.T) {
	t.Parallel()
	refused := regexp.MustCompile(strings.Join(retiredInCode, "|"))
	looked := 0
	for _, f := range files(t) {
		if filepath.Ext(f.path) != ".go" || !slices.Contains(plainCode, filepath.ToSlash(filepath.Dir(f.path))) {
			continue
		}
		looked++
		number := 0
		for line := range strings.Lines(string(f.text)) {
			if number++; refused.MatchString(line) {
				t.Errorf("%s:%d: docs/glossary.md has the word to use instead of %q", f.path, number, refused.FindString(line))
			}
		}
	}
	if looked < 100 {
		t.Errorf("found %d files: the rule looks at too little", looked)
	}
}

// TestRetiredWordsInPages fails if a page for users has a word that docs/glossary.md replaces.
func TestRetiredWordsInPages(t *testing.T) {
	t.Parallel()
	refused := regexp.MustCompile(strings.Join(slices.Concat(retired, retiredInPages), "|"))
	looked := 0
	for _, f := range files(t) {
		if filepath.Ext(f.path) != ".md" || f.path == "docs/glossary.md" {
			continue
		}
		looked++
		for number, line := range strings.Split(prose(f), "\n") {
			if word := refused.FindString(line); word != "" {
				t.Errorf("%s:%d: %q: docs/glossary.md has the word to use", f.path, number+1, word)
			}
		}
	}
	if looked < 30 {
		t.Errorf("found %d pages: the rule looks at too little", looked)
	}
}

// prose is the text of a page without code, in the same lines.
func prose(f file) string {
	blank := func(s string) string { return "x" + strings.Repeat("\n", strings.Count(s, "\n")) }
	return named.ReplaceAllStringFunc(code.ReplaceAllStringFunc(string(f.text), blank), blank)
}

// spoken are the texts of a file that users read: the English dictionaries of the console, and string literals.
func spoken(t *testing.T, f file) []string {
	t.Helper()
	if strings.HasPrefix(f.path, "internal/management/console/ui/i18n/en/") {
		words := map[string]string{}
		if err := json.Unmarshal(f.text, &words); err != nil {
			t.Fatalf("%s: %v", f.path, err)
		}
		texts := make([]string, 0, len(words))
		for _, text := range words {
			texts = append(texts, text)
		}
		return texts
	}
	below := func(dir string) bool { return strings.HasPrefix(filepath.ToSlash(f.path), dir+"/") }
	rules := strings.HasPrefix(f.path, "conformance/") // they are in the README
	if filepath.Ext(f.path) != ".go" || !rules && (strings.HasSuffix(f.path, "_test.go") || !slices.ContainsFunc(spokenTexts, below)) {
		return nil
	}
	var texts []string
	var s scanner.Scanner
	set := token.NewFileSet()
	s.Init(set.AddFile(f.path, set.Base(), len(f.text)), f.text, nil, 0)
	for {
		_, tok, literal := s.Scan()
		if tok == token.EOF {
			return texts
		}
		if tok != token.STRING {
			continue
		}
		text, err := strconv.Unquote(literal)
		if err != nil {
			t.Fatalf("%s: %v", f.path, err)
		}
		if strings.Contains(text, " ") { // else it is a name
			texts = append(texts, text)
		}
	}
}
