package filter

import (
	"bytes"
	"unicode/utf8"
)

const (
	// normalMax is how long the normal form of an exception is, in bytes; it fits the value of a group.
	normalMax = 400
	// lineMax is how much of an exception's line is read, in bytes.
	lineMax = 2048
	// quoteMax is how far away quotes are closed at most, in bytes.
	quoteMax = 512
)

// normal replaces in a text what differs from one time to the next, so that exceptions with one cause read alike:
//
//	Order 4711 of 'acme' at 2026-11-21T10:00:00Z   Order <n> of <text> at <time>
//	7f3a0c1e-…-9d  0x7ffe  Job@1b2c3d  9f86d081884c7d65   <uuid>  <hex>  Job@<hex>  <hex>
type normal struct {
	out []byte
}

// line appends the normal form of one line.
func (n *normal) line(s []byte) {
	s = s[:min(len(s), lineMax)]
	for i := 0; i < len(s) && len(n.out) < normalMax; {
		start := i == 0 || !isAlnum(s[i-1])
		size, mark := 0, ""
		switch c := s[i]; {
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
			if len(n.out) > 0 && n.out[len(n.out)-1] != ' ' {
				n.out = append(n.out, ' ')
			}
			i++
			continue
		case c == '"' || c == '\'' || c == '`':
			if start {
				size, mark = quotedAt(s[i:]), "<text>"
			}
		case isHex(c) && start:
			if size, mark = uuidAt(s[i:]), "<uuid>"; size > 0 {
				break
			}
			if size, mark = timeAt(s[i:]), "<time>"; size > 0 {
				break
			}
			size, mark = hexAt(s[i:], i > 0 && s[i-1] == '@'), "<hex>"
		}
		if size == 0 && isDigit(s[i]) {
			size, mark = numberAt(s[i:]), "<n>"
		}
		if size == 0 {
			n.out = append(n.out, s[i])
			i++
			continue
		}
		n.out = append(n.out, mark...)
		i += size
	}
}

// done cuts what is too long, between characters.
func (n *normal) done() []byte {
	b := bytes.TrimRight(n.out, " ")
	if len(b) <= normalMax {
		return b
	}
	end := normalMax
	for end > normalMax-utf8.UTFMax && !utf8.RuneStart(b[end]) {
		end--
	}
	return b[:end]
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
func isHex(c byte) bool   { return hexDigit(c) >= 0 }
func isAlnum(c byte) bool { return isDigit(c) || lower(c) >= 'a' && lower(c) <= 'z' }

// quotedAt is how long the quoted text at the start of s is. An apostrophe in a word closes nothing.
func quotedAt(s []byte) int {
	for i := 1; i < min(len(s), quoteMax); i++ {
		if s[i] == s[0] && (i+1 == len(s) || !isAlnum(s[i+1])) {
			return i + 1
		}
	}
	return 0
}

// shape is how many bytes of s are as drawn: x a hexadecimal digit, 9 a decimal one, anything else itself.
func shape(s []byte, drawn string) int {
	if len(s) < len(drawn) {
		return 0
	}
	for i := range len(drawn) {
		switch d := drawn[i]; {
		case d == 'x' && isHex(s[i]), d == '9' && isDigit(s[i]), d == s[i]:
		default:
			return 0
		}
	}
	return len(drawn)
}

// endsWord is n, or 0 if the word goes on there.
func endsWord(s []byte, n int) int {
	if n < len(s) && isAlnum(s[n]) {
		return 0
	}
	return n
}

func uuidAt(s []byte) int { return endsWord(s, shape(s, "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx")) }

// timeAt is how long the date, the date with a time, or the time of day at the start of s is.
func timeAt(s []byte) int {
	n := shape(s, "9999-99-99")
	if n == 0 {
		n = shape(s, "9999/99/99")
	}
	if n > 0 && n+1 < len(s) && (s[n] == 'T' || s[n] == ' ') {
		if t := clockAt(s[n+1:]); t > 0 {
			return n + 1 + t
		}
	}
	if n > 0 {
		return endsWord(s, n)
	}
	return clockAt(s)
}

// clockAt is how long the time of day is, with its fraction and offset.
func clockAt(s []byte) int {
	n := shape(s, "99:99:99")
	if n == 0 {
		return 0
	}
	if n+1 < len(s) && (s[n] == '.' || s[n] == ',') && isDigit(s[n+1]) {
		for n++; n < len(s) && isDigit(s[n]); n++ {
		}
	}
	switch {
	case n < len(s) && s[n] == 'Z':
		n++
	case shape(s[n:], "+99:99") > 0, shape(s[n:], "-99:99") > 0:
		n += len("+99:99")
	case shape(s[n:], "+9999") > 0, shape(s[n:], "-9999") > 0:
		n += len("+9999")
	}
	return endsWord(s, n)
}

// hexAt is how long the number in hexadecimal at the start of s is: after 0x or an @, or of eight digits of both kinds.
func hexAt(s []byte, sure bool) int {
	if len(s) > 2 && s[0] == '0' && s[1]|0x20 == 'x' && isHex(s[2]) {
		n := 2
		for n < len(s) && isHex(s[n]) {
			n++
		}
		return endsWord(s, n)
	}
	n, decimals := 0, 0
	for n < len(s) && isHex(s[n]) {
		if isDigit(s[n]) {
			decimals++
		}
		n++
	}
	if decimals == 0 || !sure && (decimals == n || n < 8) {
		return 0
	}
	return endsWord(s, n)
}

// numberAt is how long the number at the start of s is, with all its points and commas: versions and addresses, too.
func numberAt(s []byte) int {
	n := 0
	for n < len(s) && (isDigit(s[n]) || (s[n] == '.' || s[n] == ',') && n+1 < len(s) && isDigit(s[n+1])) {
		n++
	}
	return n
}
