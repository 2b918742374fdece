// Package fullwidth knows the full-width forms of ASCII characters, which Chinese and Japanese keyboards write, and how
// wide texts are.
package fullwidth

import (
	"strings"
	"unicode"
)

// Fold is the ASCII character of a full-width one, U+FF01 to U+FF5E; others stay what they are.
func Fold(r rune) rune {
	if r >= '！' && r <= '～' {
		return r - '！' + '!'
	}
	return r
}

// FoldText folds all characters of a text.
func FoldText(s string) string { return strings.Map(Fold, s) }

// wide are characters that take two columns of a terminal: those of Chinese, Japanese and Korean, and pictures.
var wide = &unicode.RangeTable{R32: []unicode.Range32{
	{Lo: 0x1100, Hi: 0x115f, Stride: 1}, {Lo: 0x2e80, Hi: 0x303e, Stride: 1}, {Lo: 0x3041, Hi: 0xa4cf, Stride: 1},
	{Lo: 0xac00, Hi: 0xd7a3, Stride: 1}, {Lo: 0xf900, Hi: 0xfaff, Stride: 1}, {Lo: 0xfe30, Hi: 0xfe6f, Stride: 1},
	{Lo: 0xff01, Hi: 0xff60, Stride: 1}, {Lo: 0xffe0, Hi: 0xffe6, Stride: 1}, {Lo: 0x1f300, Hi: 0x1faff, Stride: 1},
	{Lo: 0x20000, Hi: 0x3fffd, Stride: 1},
}}

// Columns is how many columns a text takes in a terminal.
func Columns(s string) (n int) {
	for _, r := range s {
		switch {
		case unicode.Is(wide, r):
			n += 2
		case !unicode.Is(unicode.Mn, r): // marks are above the character before
			n++
		}
	}
	return n
}
