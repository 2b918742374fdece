package command

import (
	"fmt"
	"strings"
)

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
