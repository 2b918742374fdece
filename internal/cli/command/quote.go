package command

import (
	"regexp"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/cli/jsonfile"
)

// RepairHint says why a text is not JSON and what to type instead, if a shell or an editor has changed it; else "".
func (c *Call) RepairHint(text string) string {
	repaired, cause, ok := jsonfile.Repair(text)
	if !ok {
		return ""
	}
	return "\n\nIt is not JSON because " + cause + ". Type:\n  " + Quote(repaired, c.Windows)
}

// Quote writes a word so that the user's shell hands it over unchanged: a POSIX shell, or cmd.exe.
func Quote(word string, windows bool) string {
	special := func(r rune) bool {
		plain := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
		return !plain && !strings.ContainsRune("-_./:@,", r)
	}
	switch {
	case word != "" && strings.IndexFunc(word, special) < 0:
		return word
	case windows:
		return quoteForCmd(word)
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// quoteForCmd quotes twice. First for the program, which divides the line into words itself: to it \" is a quotation
// mark that is part of the word. Then for cmd.exe, which does not know \": to it each quotation mark begins or ends a
// quotation, and outside of quotations ^ takes the meaning of a character. % has a meaning in quotations too.
func quoteForCmd(word string) string {
	var b strings.Builder
	percents := strings.ContainsRune(word, '%') // then no quotation may begin for cmd.exe
	quoted := false
	before := ' '
	for _, r := range quoteForProgram(word) {
		if !quoted && strings.ContainsRune("^&|<>()%!", r) || percents && (r == '"' || before == '%') {
			b.WriteByte('^')
		}
		b.WriteRune(r)
		quoted = quoted != (r == '"' && !percents)
		before = r
	}
	return b.String()
}

// quoteForProgram quotes a word as the run-time libraries of Windows read it: a backslash has a meaning only in front
// of a quotation mark.
func quoteForProgram(word string) string {
	slashes := regexp.MustCompile(`(\\*)("|$)`)
	escaped := slashes.ReplaceAllStringFunc(word, func(found string) string {
		backslashes, mark := strings.TrimSuffix(found, `"`), strings.HasSuffix(found, `"`)
		if mark {
			return backslashes + backslashes + `\"`
		}
		return backslashes + backslashes
	})
	return `"` + escaped + `"`
}
