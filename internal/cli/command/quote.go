package command

import (
	"fmt"
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

// Quote writes a word so that the user's shell hands it over unchanged.
func Quote(word string, windows bool) string {
	plain := word != ""
	for _, r := range word {
		if !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("-_./:=@,", r)) {
			plain = false
		}
	}
	switch {
	case plain:
		return word
	case windows:
		return `"` + strings.ReplaceAll(word, `"`, `""`) + `"`
	}
	return fmt.Sprintf("'%s'", strings.ReplaceAll(word, "'", `'\''`))
}
