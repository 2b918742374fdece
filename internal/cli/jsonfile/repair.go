package jsonfile

import (
	"encoding/json"
	"regexp"
	"strings"
)

// A remedy undoes what a shell, an editor or a web page does to JSON on its way here.
type remedy struct {
	cause string
	apply func(string) string
}

// wide makes the full-width signs of JSON those of ASCII.
var wide = strings.NewReplacer("：", ":", "，", ",", "｛", "{", "｝", "}", "［", "[", "］", "]", "＂", `"`)

// narrow applies wide outside of strings.
func narrow(s string) string {
	parts := regexp.MustCompile(`"(?:[^"\\]|\\.)*"|[^"]+|"`).FindAllString(strings.ReplaceAll(s, "＂", `"`), -1)
	for i, part := range parts {
		if part[0] != '"' {
			parts[i] = wide.Replace(part)
		}
	}
	return strings.Join(parts, "")
}

// remedies are tried one after the other, each on what the former left.
func remedies() []remedy {
	smart := strings.NewReplacer("“", `"`, "”", `"`, "„", `"`, "«", `"`, "»", `"`, "‘", "'", "’", "'")
	blanks := strings.NewReplacer("\ufeff", "", "\u00a0", " ")
	return []remedy{
		{"it contains a byte order mark or a no-break space", blanks.Replace},
		{"its quotation marks are typographic", smart.Replace},
		{"its colons, commas or brackets are full-width", narrow},
		{"its quotation marks are escaped with backslashes, which this shell passes on", func(s string) string { return strings.ReplaceAll(s, `\"`, `"`) }},
		{"it is in quotation marks that this shell passes on", func(s string) string { return TrimPair(s, `'`) }},
		{"its strings are in single quotation marks", func(s string) string { return strings.ReplaceAll(s, "'", `"`) }},
		{"the shell removed its quotation marks", quoteBarewords},
	}
}

// TrimPair takes a pair of marks off a text that is between them.
func TrimPair(s, mark string) string {
	if len(s) >= 2 && strings.HasPrefix(s, mark) && strings.HasSuffix(s, mark) {
		return s[1 : len(s)-1]
	}
	return s
}

// quoteBarewords puts quotation marks around every word of {key:value,…} that has none and is no number or literal.
func quoteBarewords(s string) string {
	if strings.Contains(s, `"`) {
		return s
	}
	return regexp.MustCompile(`[^{}\[\]:,\s]+`).ReplaceAllStringFunc(s, func(word string) string {
		if json.Valid([]byte(word)) {
			return word
		}
		return `"` + word + `"`
	})
}

// Repair makes an object of what was one once; cause says what had happened to it.
func Repair(s string) (repaired, cause string, ok bool) {
	for _, r := range remedies() {
		if next := r.apply(s); next != s {
			s, cause = next, r.cause
		}
		if IsObject(s) && cause != "" {
			return s, cause, true
		}
	}
	return "", "", false
}
