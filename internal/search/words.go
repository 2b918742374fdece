package search

import (
	"encoding/binary"
	"math"
	"strconv"

	"github.com/bartleby-mq/bartleby/internal/filter"
)

// A section is a set of words: each is looked for on its own. Words are cut as package filter cuts them.
type section uint8

const (
	inProperties section = iota // what filter.Texts tells of the properties
	inBody
	inNumbers // whole numbers that a body has with an exponent
	sections
)

// A cutter cuts the texts of one message into words.
type cutter struct {
	add  func(in section, word []byte)
	left int  // octets of text that are still cut for this message
	rest bool // some were not
	long bool // a word may have been cut off
	hint bool // there may be a number with an exponent
}

// text cuts one text.
func (c *cutter) text(in section, b []byte) {
	if len(b) > c.left {
		b, c.rest = b[:max(c.left, 0)], true
	}
	c.left -= len(b)
	filter.Words(b, func(w []byte) bool {
		c.add(in, w)
		if len(w) > filter.WordMax-4 {
			c.long = true
		}
		if in == inBody && isDigit(w[0]) && !c.hint {
			c.hint = isExponent(w)
		}
		return true
	})
}

// properties cuts what free text is looked for in among the properties.
func (c *cutter) properties(raw []byte) {
	c.left = textMax
	filter.Texts(raw, nil, func(text []byte) bool {
		c.text(inProperties, text)
		return true
	})
}

// body cuts a body.
func (c *cutter) body(b []byte) {
	c.left, c.hint = bodyMax, false
	c.text(inBody, b)
	if c.hint {
		c.numbers(b)
	}
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// isExponent reports whether a word is digits, an e, and digits or nothing.
func isExponent(w []byte) bool {
	i := 0
	for i < len(w) && isDigit(w[i]) {
		i++
	}
	if i == len(w) || w[i] != 'e' {
		return false
	}
	for i++; i < len(w); i++ {
		if !isDigit(w[i]) {
			return false
		}
	}
	return true
}

// numbers notes the whole numbers that are written with an exponent, as they are written without.
func (c *cutter) numbers(b []byte) {
	for i := 1; i+1 < len(b); i++ {
		if b[i]|0x20 != 'e' || !isDigit(b[i-1]) || !isDigit(b[i+1]) && b[i+1] != '+' && b[i+1] != '-' {
			continue
		}
		start, end := i, i+2
		for start > 0 && (isDigit(b[start-1]) || b[start-1] == '.') {
			start--
		}
		for end < len(b) && isDigit(b[end]) {
			end++
		}
		if f, err := strconv.ParseFloat(string(b[start:end]), 64); err == nil && f < 1e18 && f == math.Trunc(f) {
			var buf [24]byte
			c.add(inNumbers, strconv.AppendInt(buf[:0], int64(f), 10))
		}
		i = end - 1
	}
}

// A vocabulary is the words of a section of a tail, in one run of octets, and a table of hashes that finds them again.
// There is no pointer in it.
type vocabulary struct {
	octets []byte
	begins []uint32 // of each word in octets
	counts []uint16 // how many messages have it
	newest []uint16 // the last of them
	table  []uint32 // number of the word + 1
}

func newVocabulary() *vocabulary {
	return &vocabulary{table: make([]uint32, 1024)}
}

func hashWord(w []byte) uint64 {
	const prime = 0x9E3779B97F4A7C15
	h := uint64(len(w)) * prime
	for len(w) >= 8 {
		h = (h ^ binary.LittleEndian.Uint64(w)) * prime
		h ^= h >> 29
		w = w[8:]
	}
	var last uint64
	for i, c := range w {
		last |= uint64(c) << (8 * i)
	}
	h = (h ^ last) * prime
	return h ^ h>>32
}

// number returns the number of a word, which is new if need be.
func (v *vocabulary) number(w []byte) uint32 {
	mask := uint64(len(v.table) - 1)
	for i := hashWord(w) & mask; ; i = (i + 1) & mask {
		n := v.table[i]
		if n == 0 {
			v.table[i] = v.enter(w)
			n = v.table[i]
			if 2*len(v.begins) > len(v.table) {
				v.grow()
			}
			return n - 1
		}
		if string(v.word(n-1)) == string(w) {
			return n - 1
		}
	}
}

// word is lent.
func (v *vocabulary) word(n uint32) []byte {
	end := uint32(len(v.octets))
	if int(n)+1 < len(v.begins) {
		end = v.begins[n+1]
	}
	return v.octets[v.begins[n]:end]
}

func (v *vocabulary) enter(w []byte) uint32 {
	v.begins = append(v.begins, uint32(len(v.octets)))
	v.octets = append(v.octets, w...)
	v.counts, v.newest = append(v.counts, 0), append(v.newest, 0)
	return uint32(len(v.begins))
}

func (v *vocabulary) grow() {
	v.table = make([]uint32, 2*len(v.table))
	mask := uint64(len(v.table) - 1)
	for n := range v.begins {
		i := hashWord(v.word(uint32(n))) & mask
		for v.table[i] != 0 {
			i = (i + 1) & mask
		}
		v.table[i] = uint32(n) + 1
	}
}

// note says that a message has a word, and reports whether that is new.
func (v *vocabulary) note(n uint32, message uint16) bool {
	if v.counts[n] > 0 && v.newest[n] == message {
		return false
	}
	v.counts[n]++
	v.newest[n] = message
	return true
}
