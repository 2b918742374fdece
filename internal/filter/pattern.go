package filter

import (
	"slices"
	"strings"
)

// A pattern is what a whole value is compared with, bytes for bytes.
//
//	"a*b"c   quoted is literal           *   any run of characters
//	?        one character
//
// Of names, which dots divide into words, a * that is a whole word stands for one word, and a # for any number of them.
// Source: RabbitMQ, routing: topic.
type pattern struct {
	steps   []step
	exact   bool // it is lit
	present bool // a lone *: any value but the empty one
	lit     string
}

type step struct {
	op  stepOp
	lit string
}

type stepOp uint8

const (
	stepLit     stepOp = iota
	stepAny            // any run
	stepOne            // one character
	stepWord           // up to the next dot, or the end
	stepHashDot        // any number of words, each with the dot behind it; only where a word begins
	stepDotHash        // any number of words, each with the dot before it; only at the end
)

// A chunk is a part of a value as it was written: soft ones may have wildcards.
type chunk struct {
	text string
	hard bool // quoted or escaped
}

// A char is one byte of a value, and whether it may be a wildcard.
type char struct {
	b    byte
	soft bool
}

// compile makes the pattern of one alternative.
func compile(chunks []chunk, k kind) pattern {
	if isSoft(chunks, "*") {
		return pattern{present: true}
	}
	var chars []char
	for _, c := range chunks {
		for i := range len(c.text) {
			chars = append(chars, char{c.text[i], !c.hard})
		}
	}
	var c compiler
	if k == name {
		c.words(chars)
	} else {
		c.run(chars)
	}
	c.flush()
	p := pattern{steps: c.steps}
	switch {
	case len(p.steps) == 0:
		p.exact = true
	case len(p.steps) == 1 && p.steps[0].op == stepLit:
		p.exact, p.lit = true, p.steps[0].lit
	}
	return p
}

// isSoft reports whether the value is this word, without quotes.
func isSoft(chunks []chunk, word string) bool {
	return len(chunks) == 1 && !chunks[0].hard && chunks[0].text == word
}

// compiler gathers steps.
type compiler struct {
	steps []step
	lit   []byte // not among the steps yet
}

func (c *compiler) add(op stepOp) {
	c.flush()
	if n := len(c.steps); op == stepAny && n > 0 && c.steps[n-1].op == stepAny {
		return
	}
	c.steps = append(c.steps, step{op: op})
}

func (c *compiler) flush() {
	if len(c.lit) > 0 {
		c.steps = append(c.steps, step{op: stepLit, lit: string(c.lit)})
		c.lit = c.lit[:0]
	}
}

// run adds characters with their wildcards.
func (c *compiler) run(chars []char) {
	for _, l := range chars {
		switch {
		case l.soft && l.b == '*':
			c.add(stepAny)
		case l.soft && l.b == '?':
			c.add(stepOne)
		default:
			c.lit = append(c.lit, l.b)
		}
	}
}

// words adds the words of a name: a # takes one of the dots around it with it.
func (c *compiler) words(chars []char) {
	words := splitWords(chars)
	if len(words) == 1 && isWild(words[0], '#') {
		c.add(stepAny)
		return
	}
	dot := false // one stands before the next word
	for i, w := range words {
		switch hash := isWild(w, '#'); {
		case hash && i+1 == len(words):
			c.add(stepDotHash)
			return
		case dot:
			c.lit = append(c.lit, '.')
			fallthrough
		default:
			dot = !hash
			switch {
			case hash:
				c.add(stepHashDot)
			case isWild(w, '*'):
				c.add(stepWord)
			default:
				c.run(w)
			}
		}
	}
}

// splitWords divides at dots. Several # in a row are one.
func splitWords(chars []char) [][]char {
	var words [][]char
	for more := true; more; {
		end := slices.IndexFunc(chars, func(l char) bool { return l.b == '.' })
		w := chars
		if more = end >= 0; more {
			w, chars = chars[:end], chars[end+1:]
		}
		if n := len(words); n == 0 || !isWild(w, '#') || !isWild(words[n-1], '#') {
			words = append(words, w)
		}
	}
	return words
}

func isWild(w []char, b byte) bool { return len(w) == 1 && w[0] == char{b, true} }

// matchString reports whether s is meant.
func (p *pattern) matchString(s string) bool {
	switch {
	case p.exact:
		return s == p.lit
	case p.present:
		return s != ""
	}
	return run(p.steps, s[:min(len(s), patternMax)])
}

// matchBytes is matchString.
func (p *pattern) matchBytes(b []byte) bool {
	switch {
	case p.exact:
		return string(b) == p.lit
	case p.present:
		return len(b) > 0
	}
	return run(p.steps, b[:min(len(b), patternMax)])
}

// run walks s with all steps. It goes back to the last step that may take more, and never to one before: whatever that
// takes more of leaves less for what follows. So its cost is at most the product of both lengths.
func run[T string | []byte](steps []step, s T) bool {
	i, k := 0, 0
	back, from := -1, 0
	for {
		if k == len(steps) {
			if i == len(s) {
				return true
			}
		} else {
			switch st := &steps[k]; st.op {
			case stepAny, stepHashDot:
				if k+1 == len(steps) && st.op == stepAny {
					return true
				}
				back, from = k, i
				k++
				continue
			case stepLit:
				if hasAt(s, i, st.lit) {
					i += len(st.lit)
					k++
					continue
				}
			case stepOne:
				if i < len(s) {
					for i++; i < len(s) && s[i]&0xC0 == 0x80; i++ {
					}
					k++
					continue
				}
			case stepWord:
				for i < len(s) && s[i] != '.' {
					i++
				}
				k++
				continue
			case stepDotHash:
				if i == len(s) || s[i] == '.' {
					return true
				}
			}
		}
		if back < 0 {
			return false
		}
		if steps[back].op == stepHashDot {
			for from < len(s) && s[from] != '.' {
				from++
			}
		}
		if from >= len(s) {
			return false
		}
		from++
		i, k = from, back+1
	}
}

func hasAt[T string | []byte](s T, at int, lit string) bool {
	if len(s)-at < len(lit) {
		return false
	}
	for j := range len(lit) {
		if s[at+j] != lit[j] {
			return false
		}
	}
	return true
}

// plain reports whether a value means itself when it is written without quotes.
func plain(s string) bool {
	if s == "" || strings.Contains(s, "..") {
		return false
	}
	for i := range len(s) {
		c := s[i]
		alphabetic := c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_'
		if !alphabetic && (i == 0 || !(c >= '0' && c <= '9' || c == '.' || c == '-' || c == '/')) {
			return false
		}
	}
	return true
}
