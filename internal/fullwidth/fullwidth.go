// Package fullwidth knows the full-width forms of ASCII characters, which Chinese and Japanese keyboards write.
package fullwidth

import "strings"

// Fold is the ASCII character of a full-width one, U+FF01 to U+FF5E; others stay what they are.
func Fold(r rune) rune {
	if r >= '！' && r <= '～' {
		return r - '！' + '!'
	}
	return r
}

// FoldText folds all characters of a text.
func FoldText(s string) string { return strings.Map(Fold, s) }
