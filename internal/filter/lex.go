package filter

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/bartleby-mq/bartleby/internal/fullwidth"
)

// An Error says what is wrong with a filter, and where.
type Error struct {
	Code     string   `json:"code"`            // syntax, field, value or limit
	Term     string   `json:"term"`            // as it was written
	Position int      `json:"position"`        // of its first character, counted from 1
	Text     string   `json:"text"`            // what is wrong, in words
	Known    []string `json:"known,omitempty"` // what might have been meant
}

// Error names the term, its position and the remedy.
func (e *Error) Error() string {
	s := "filter: " + e.Text
	if e.Term != "" {
		s = fmt.Sprintf("filter: %s at character %d: %s", e.Term, e.Position, e.Text)
	}
	if len(e.Known) > 0 {
		s += "; known: " + strings.Join(e.Known, ", ")
	}
	return s
}

// A written is a term as it was written.
type written struct {
	start, end int
	not        bool
	name       string    // with its quotes resolved; "" for free text
	parts      []chunk   // of the name
	values     [][]chunk // the alternatives
}

// lexer takes terms off a text.
//
//	term  = ["-"] [name ":"] value       name with < > or = for the colon, if a field has that name
//	value = alternative { "|" alternative }
//	alternative = { bare | "\" character | '"' { character | "\" escape } '"' }
//	escape = "n" | "r" | "t" | "x" hex hex | character
//
// Outside quotes the signs may be full-width, as Chinese and Japanese keyboards write them: － ： ＞ ＜ ＝ ｜ ＊ ？.
type lexer struct {
	text string
	at   int
}

// next returns the next term; ok is false at the end.
func (l *lexer) next() (w written, ok bool, err error) {
	for l.at < len(l.text) {
		r, n := utf8.DecodeRuneInString(l.text[l.at:])
		if !unicode.IsSpace(r) {
			break
		}
		l.at += n
	}
	if l.at == len(l.text) {
		return w, false, nil
	}
	w.start = l.at
	if n := l.sign('-'); n > 0 {
		if w.not = true; l.space(l.at + n) {
			return w, false, l.fail(&w, "nothing follows the minus, which negates a term; write a minus itself as \"-\"")
		}
		l.at += n
	}
	if err := l.field(&w); err != nil {
		return w, false, err
	}
	for {
		value, err := l.value(&w)
		if err != nil {
			return w, false, err
		}
		w.values = append(w.values, value)
		n := l.sign('|')
		if n == 0 {
			break
		}
		l.at += n
	}
	w.end = l.at
	for _, v := range w.values {
		if len(v) == 0 {
			return w, false, l.fail(&w, "the value is missing; write an empty value as \"\"")
		}
	}
	return w, true, nil
}

// space reports whether a term ends at i.
func (l *lexer) space(i int) bool {
	if i >= len(l.text) {
		return true
	}
	r, _ := utf8.DecodeRuneInString(l.text[i:])
	return unicode.IsSpace(r)
}

// sign is how many bytes a sign of ASCII, or its full-width form, takes here; 0 if another character stands here.
func (l *lexer) sign(c byte) int {
	if r, n := utf8.DecodeRuneInString(l.text[l.at:]); fullwidth.Fold(r) == rune(c) {
		return n
	}
	return 0
}

// field takes a name and what stands behind it. Without one it takes nothing.
func (l *lexer) field(w *written) error {
	begin := l.at
	for !l.space(l.at) {
		r, n := utf8.DecodeRuneInString(l.text[l.at:])
		switch c := fullwidth.Fold(r); c {
		case ':', '>', '<', '=':
			w.name = l.fieldName(w)
			known := isField(w.name)
			if r != c && !known {
				w.name = ""
				break // a part of the name, or of a text
			}
			if w.name == "" || c != ':' && !known {
				w.name, w.parts, l.at = "", nil, begin
				return nil
			}
			if c == ':' || c == '=' {
				l.at += n
			}
			return nil
		case '|':
			w.parts, l.at = nil, begin
			return nil
		}
		switch r {
		case '"':
			if n := len(w.parts); n == 0 || !w.parts[n-1].hard && !strings.HasSuffix(w.parts[n-1].text, ".") {
				w.parts, l.at = nil, begin
				return nil
			}
			c, err := l.quoted(w)
			if err != nil {
				return err
			}
			w.parts = appendHard(w.parts, c.text)
			continue
		case '\\':
			// Some headers have the names of classes in theirs; anywhere else it is the way to write a colon.
			if n := len(w.parts); n == 0 || !strings.Contains(w.parts[0].text, ".") {
				w.parts, l.at = nil, begin
				return nil
			}
		}
		w.parts = appendSoft(w.parts, l.text[l.at:l.at+n])
		l.at += n
	}
	w.parts, l.at = nil, begin
	return nil
}

// fieldName is the name that was taken. Full-width characters are folded if that makes it one of a field.
func (l *lexer) fieldName(w *written) string {
	name := joined(w.parts)
	if narrow := fullwidth.FoldText(name); narrow != name && !isField(name) && isField(narrow) {
		return narrow
	}
	return name
}

// isField reports whether there is a field with that name.
func isField(name string) bool {
	f, _ := fieldNamed(name)
	return name != "" && f != nil
}

// value takes one alternative.
func (l *lexer) value(w *written) ([]chunk, error) {
	var v []chunk
	f, _ := fieldNamed(w.name)
	for !l.space(l.at) {
		if l.sign('|') > 0 {
			return v, nil
		}
		switch l.text[l.at] {
		case '"':
			c, err := l.quoted(w)
			if err != nil {
				return nil, err
			}
			v = appendHard(v, c.text)
		case '\\':
			_, n := utf8.DecodeRuneInString(l.text[min(l.at+1, len(l.text)):])
			if n == 0 {
				return nil, l.fail(w, "nothing follows the backslash; write a backslash itself as \\\\")
			}
			v = appendHard(v, l.text[l.at+1:l.at+1+n])
			l.at += 1 + n
		default:
			r, n := utf8.DecodeRuneInString(l.text[l.at:])
			part := l.text[l.at : l.at+n]
			if r == '＊' || r == '？' && f != nil && f.kind != free {
				part = string(fullwidth.Fold(r)) // a question mark in words is punctuation
			}
			v = appendSoft(v, part)
			l.at += n
		}
	}
	return v, nil
}

// quoted takes what is between quotes.
func (l *lexer) quoted(w *written) (chunk, error) {
	var b []byte
	l.at++
	for l.at < len(l.text) {
		c := l.text[l.at]
		l.at++
		switch {
		case c == '"':
			return chunk{string(b), true}, nil
		case c != '\\':
			b = append(b, c)
		case l.at == len(l.text):
		case l.text[l.at] == 'x':
			if len(l.text)-l.at < 3 || hexDigit(l.text[l.at+1]) < 0 || hexDigit(l.text[l.at+2]) < 0 {
				return chunk{}, l.fail(w, "two hexadecimal digits must follow \\x")
			}
			b = append(b, byte(hexDigit(l.text[l.at+1])<<4|hexDigit(l.text[l.at+2])))
			l.at += 3
		default:
			b = append(b, unescaped(l.text[l.at]))
			l.at++
		}
	}
	return chunk{}, l.fail(w, "the quotes are not closed")
}

func unescaped(c byte) byte {
	switch c {
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	}
	return c
}

func hexDigit(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return -1
}

// fail makes the error of a term that ends, or goes wrong, here.
func (l *lexer) fail(w *written, text string) *Error {
	end := max(w.end, min(l.at, len(l.text)))
	for !l.space(end) {
		end++
	}
	return &Error{Code: "syntax", Term: l.text[w.start:end], Position: utf8.RuneCountInString(l.text[:w.start]) + 1, Text: text}
}

func appendSoft(v []chunk, s string) []chunk {
	if n := len(v); n > 0 && !v[n-1].hard {
		v[n-1].text += s
		return v
	}
	return append(v, chunk{text: s})
}

func appendHard(v []chunk, s string) []chunk {
	if n := len(v); n > 0 && v[n-1].hard {
		v[n-1].text += s
		return v
	}
	return append(v, chunk{s, true})
}

func joined(chunks []chunk) string {
	if len(chunks) == 1 {
		return chunks[0].text
	}
	var b strings.Builder
	for _, c := range chunks {
		b.WriteString(c.text)
	}
	return b.String()
}

// appendValue writes a value as the lexer reads it.
func appendValue(b []byte, chunks []chunk) []byte {
	for _, c := range chunks {
		if c.hard {
			b = appendQuoted(b, c.text)
		} else {
			b = append(b, c.text...)
		}
	}
	return b
}

// appendQuoted writes any bytes between quotes.
func appendQuoted(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r == '\n':
			b = append(b, `\n`...)
		case r == '\r':
			b = append(b, `\r`...)
		case r == '\t':
			b = append(b, `\t`...)
		case r < ' ' || r == 0x7F || r == utf8.RuneError && n == 1:
			b = append(b, '\\', 'x', hex[s[0]>>4], hex[s[0]&15])
		default:
			b = append(b, s[:n]...)
		}
		s = s[n:]
	}
	return append(b, '"')
}
