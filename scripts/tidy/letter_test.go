package tidy

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// letters are other uses of the word than for a message: terms, an alphabet, and names that programs of users know.
var letters = regexp.MustCompile(strings.Join([]string{
	`\bdead letter letters\b`, `(?i)(dead|lost)[-_\s]*letters?`,
	`(?i)\bletters(,| and| or|, marks| and marks) digits`, `(?i)\bletters, marks and`, `\bASCII letters?\b`,
	`\bLetters such as\b`, `\bexcept letters and\b`, `unicode\.IsLetter`, `\bX-Letters\b`, `json:"Letters"`,
	`\\?"Letters\\?"`, `\bletters or alarms\b`, `\bletters\.(ndjson|sqlite)\b`,
}, "|"))

// bareLetter finds the word in prose, and in names of code.
var (
	bareLetter  = regexp.MustCompile(`(^|[\s(\[*&!|])([Ll]etters?)([\s,;:()\]'?!|]|\.(\s|$)|$)`)
	letterNames = regexp.MustCompile(`\b[A-Za-z0-9]*Letter[A-Za-z0-9]*\b|\bletters?[A-Z]\w*|\bletters?\.[A-Za-z]`)
)

// continued is where a comment goes on in the next line.
var continued = regexp.MustCompile(`\n[\t ]*//[\t ]*`)

// TestMessagesAreNotLetters fails if a message is called a letter: in names, comments and texts of Go, in comments of
// scripts, in pages, and in what the console says. It is a message, or a dead letter.
func TestMessagesAreNotLetters(t *testing.T) {
	t.Parallel()
	looked := map[string]int{}
	for _, f := range files(t) {
		if strings.HasPrefix(f.path, "scripts/tidy/") || f.path == "docs/glossary.md" {
			continue
		}
		ext := filepath.Ext(f.path)
		text, rules := "", []*regexp.Regexp{bareLetter}
		switch {
		case ext == ".go":
			text, rules = continued.ReplaceAllString(string(f.text), " "), append(rules, letterNames)
		case ext == ".md":
			text = prose(f)
		case ext == ".js", ext == ".mjs":
			text = strings.Join(jsComment.FindAllString(string(f.text), -1), "")
			text = continued.ReplaceAllString(text, " ")
		case strings.HasPrefix(f.path, "internal/management/console/ui/i18n/en/"):
			text = strings.Join(spoken(t, f), "\n")
		default:
			continue
		}
		looked[ext]++
		for line := range strings.Lines(text) {
			if word := bare(line, rules); word != "" {
				t.Errorf("%s: docs/glossary.md has the word to use for a letter: %q", f.path, word)
			}
		}
	}
	for ext, least := range map[string]int{".go": 1000, ".md": 30, ".js": 80, ".json": 5} {
		if looked[ext] < least {
			t.Errorf("found %d files *%s: the rule looks at too little", looked[ext], ext)
		}
	}
}

// jsComment is a line that is a comment.
var jsComment = regexp.MustCompile(`(?m)^\s*//.*\n`)

// bare is the text around a letter that is a message, "" if a line has none.
func bare(line string, rules []*regexp.Regexp) string {
	if !strings.Contains(line, "etter") {
		return ""
	}
	line = letters.ReplaceAllString(line, "x")
	for _, rule := range rules {
		if at := rule.FindStringIndex(line); at != nil {
			return strings.TrimSpace(line[max(at[0]-40, 0):min(at[1]+40, len(line))])
		}
	}
	return ""
}
