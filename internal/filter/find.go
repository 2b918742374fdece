package filter

import (
	"bytes"
	"fmt"
)

// A finder looks for free text: for words or, if a * stands elsewhere than at the end of one, for its parts in their
// order, with anything between them. ASCII letters are the same in both cases. It reads each byte a bounded number of
// times, whatever the text and what it looks through.
type finder struct {
	phrase phrase // unless it has no words
	parts  []needle
}

type needle struct {
	text string // in lower case
	// back is, of each length of a beginning that fits, the longest shorter one that fits there, too.
	// Source: Knuth, Morris, Pratt.
	back []uint16
}

// newFinder makes the finder of one alternative.
func newFinder(chunks []chunk) (finder, error) {
	var f finder
	if p, ok := newPhrase(chunks); ok {
		if len(p.words) > phraseMax {
			return f, fmt.Errorf("a phrase of %d words, at most %d are allowed", len(p.words), phraseMax)
		}
		f.phrase = p
		return f, nil
	}
	var part []byte
	end := func() {
		if len(part) > 0 {
			f.parts = append(f.parts, newNeedle(string(part)))
			part = part[:0]
		}
	}
	for _, c := range chunks {
		for i := range len(c.text) {
			if c.text[i] == '*' && !c.hard {
				end()
			} else {
				part = append(part, lower(c.text[i]))
			}
		}
	}
	end()
	return f, nil
}

func newNeedle(s string) needle {
	n := needle{text: s, back: make([]uint16, len(s)+1)}
	for i, k := 1, 0; i < len(s); i++ {
		for k > 0 && s[i] != s[k] {
			k = int(n.back[k])
		}
		if s[i] == s[k] {
			k++
		}
		n.back[i+1] = uint16(k)
	}
	return n
}

func lower(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c | 0x20
	}
	return c
}

// in reports whether b has the text.
func (f *finder) in(b []byte) bool {
	if len(f.phrase.words) > 0 {
		return f.phrase.in(b)
	}
	for i := range f.parts {
		end := f.parts[i].end(b)
		if end < 0 {
			return false
		}
		b = b[end:]
	}
	return true
}

// end returns where the first occurrence ends, -1 if there is none.
func (n *needle) end(b []byte) int {
	low := candidates{b: b, c: n.text[0]}
	up := low
	if low.c >= 'a' && low.c <= 'z' {
		up.c -= 0x20
	}
	for i := 0; ; {
		at := min(low.from(i), up.from(i))
		if len(b)-at < len(n.text) {
			return -1
		}
		i = at + 1
		for k := 1; k > 0; i++ {
			if k == len(n.text) {
				return i
			}
			if i == len(b) {
				return -1
			}
			c := lower(b[i])
			for k > 0 && c != n.text[k] {
				k = int(n.back[k])
			}
			if c == n.text[k] {
				k++
			}
		}
	}
}

// candidates are where a byte is.
type candidates struct {
	b    []byte
	c    byte
	next int // the first at or after the last from, counted from 1; 0: not looked for yet
}

// from is the first one at i or after it, len(b) if there is none. Successive i do not fall.
func (c *candidates) from(i int) int {
	if c.next == 0 || c.next-1 < i {
		at := bytes.IndexByte(c.b[i:], c.c)
		if at < 0 {
			at = len(c.b) - i
		}
		c.next = i + at + 1
	}
	return c.next - 1
}
