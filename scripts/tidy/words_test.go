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

// spokenTexts are the directories whose string literals users read: help, messages, logs.
var spokenTexts = []string{"internal/cli", "internal/config", "internal/perf", "cmd/bartleby"}

// TestRetiredWords fails if a text for users has a word that docs/glossary.md replaces.
func TestRetiredWords(t *testing.T) {
	t.Parallel()
	refused := regexp.MustCompile(strings.Join(retired, "|"))
	looked := 0
	for _, f := range files(t) {
		for _, text := range spoken(t, f) {
			looked++
			if word := refused.FindString(text); word != "" {
				t.Errorf("%s: %q: docs/glossary.md has the word to use: %q", f.path, word, text)
			}
		}
	}
	if looked < 1000 {
		t.Errorf("found %d texts: the rule looks at too little", looked)
	}
}

// spoken are the texts of a file that users read: the English dictionaries of the console, and string literals.
func spoken(t *testing.T, f file) []string {
	t.Helper()
	if strings.HasPrefix(f.path, "internal/management/ui/i18n/en/") {
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
	if filepath.Ext(f.path) != ".go" || strings.HasSuffix(f.path, "_test.go") ||
		!slices.Contains(spokenTexts, strings.TrimSuffix(filepath.ToSlash(filepath.Dir(f.path)), "/")) {
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
