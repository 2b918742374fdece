package filter

import (
	"unicode"
	"unicode/utf8"

	"github.com/bartleby-mq/bartleby/internal/amqp"
)

const (
	// WordMax is how long a word is, in bytes: longer ones are cut there, in texts and in filters alike.
	WordMax = 64
	// phraseMax is how many words a phrase may have.
	phraseMax = 64
)

// Words visits the words of a text in order until visit returns false: runs of letters, marks and digits, in lower
// case; all else separates them. A character of a script without spaces, such as Chinese, is a word. In a text that
// begins like JSON, what is escaped separates, too, but \u names the character that it stands for. A word is lent.
func Words(text []byte, visit func(word []byte) bool) {
	r := wordReader{rest: text, json: likeJSON(text)}
	for {
		w, ok := r.next()
		if !ok || !visit(w) {
			return
		}
	}
}

// Texts visits the texts that words without a field are looked for in, until visit returns false: message ID,
// correlation ID, type, application and user ID, the values of headers, and the body, each up to a limit. They are
// lent.
func Texts(properties, body []byte, visit func(text []byte) bool) {
	r := readTexts(properties)
	for text, ok := r.next(); ok; text, ok = r.next() {
		if !visit(text[:min(len(text), bodyMax)]) {
			return
		}
	}
	if len(body) > 0 {
		visit(body[:min(len(body), bodyMax)])
	}
}

// searched are the properties that are looked through.
const searched = amqp.FlagMessageID | amqp.FlagCorrelationID | amqp.FlagType | amqp.FlagAppID | amqp.FlagUserID | amqp.FlagHeaders

// textReader takes the texts off properties and headers, without a callback, which would make what it lends escape.
type textReader struct {
	properties propertyReader
	inner      [nestingMax]nest // the tables and arrays that it is in
	depth      int
	buf        [64]byte
}

// A nest is what is left of a table or an array.
type nest struct {
	rest  []byte
	table bool
}

func readTexts(properties []byte) textReader {
	return textReader{properties: readProperties(properties)}
}

// next returns the next text, lent until the call after; ok is false at the end.
func (r *textReader) next() (text []byte, ok bool) {
	for {
		if r.depth == 0 {
			flag, v := r.properties.take()
			switch {
			case flag == 0:
				return nil, false
			case flag == amqp.FlagHeaders:
				r.enter(value{amqp.KindTable, v})
			case flag&searched != 0:
				return v, true
			}
			continue
		}
		in := &r.inner[r.depth-1]
		var v value
		if ok = len(in.rest) > 0; ok && in.table {
			_, v, in.rest, ok = cutNamed(in.rest)
		} else if ok {
			v, in.rest, ok = cutTagged(in.rest)
		}
		switch {
		case !ok:
			r.depth--
		case v.kind == amqp.KindTable || v.kind == amqp.KindArray:
			r.enter(v)
		default:
			return v.text(r.buf[:0]), true
		}
	}
}

// enter goes into a table or an array, unless it is too deep.
func (r *textReader) enter(v value) {
	if r.depth < nestingMax {
		r.inner[r.depth] = nest{v.data, v.kind == amqp.KindTable}
		r.depth++
	}
}

// likeJSON reports whether a text begins as an object, an array or a string of JSON does.
func likeJSON(text []byte) bool {
	for _, c := range text {
		switch c {
		case ' ', '\t', '\r', '\n':
		default:
			return c == '{' || c == '[' || c == '"'
		}
	}
	return false
}

// wordReader takes words off a text.
type wordReader struct {
	rest []byte
	json bool
	buf  [WordMax]byte
}

// next returns the next word, which is lent until the call after; ok is false at the end.
func (r *wordReader) next() (word []byte, ok bool) {
	n := 0
	full := false // the rest of the word is passed over
	for len(r.rest) > 0 {
		c := r.rest[0]
		if c < utf8.RuneSelf && (c != '\\' || !r.json) {
			r.rest = r.rest[1:]
			if !isAlnum(c) {
				if n > 0 {
					return r.buf[:n], true
				}
				continue
			}
			if full = full || n == WordMax; !full {
				r.buf[n] = lower(c)
				n++
			}
			continue
		}
		ch, size := r.character()
		switch {
		case !unicode.In(ch, unicode.L, unicode.M, unicode.N):
			if r.rest = r.rest[size:]; n > 0 {
				return r.buf[:n], true
			}
		case alone(ch):
			if n == 0 {
				r.rest = r.rest[size:]
				n = utf8.EncodeRune(r.buf[:], ch)
			}
			return r.buf[:n], true
		default:
			r.rest = r.rest[size:]
			if low := unicode.ToLower(ch); low >= utf8.RuneSelf { // so that ASCII stands for nothing but itself
				ch = low
			}
			if full = full || n+utf8.RuneLen(ch) > WordMax; !full {
				n += utf8.EncodeRune(r.buf[n:], ch)
			}
		}
	}
	return r.buf[:n], n > 0
}

// character is what stands at the start of rest, decoded; it is not taken.
func (r *wordReader) character() (ch rune, size int) {
	if r.rest[0] != '\\' {
		ch, size = utf8.DecodeRune(r.rest)
		if ch == utf8.RuneError {
			ch = ' '
		}
		return ch, size
	}
	if len(r.rest) < 6 || r.rest[1] != 'u' {
		return ' ', min(2, len(r.rest))
	}
	for _, c := range r.rest[2:6] {
		d := hexDigit(c)
		if d < 0 {
			return ' ', 2
		}
		ch = ch<<4 | rune(d)
	}
	if ch < utf8.RuneSelf || !utf8.ValidRune(ch) {
		ch = ' '
	}
	return ch, 6
}

// alone reports whether a character is a word by itself.
func alone(ch rune) bool {
	return ch >= 0x0E00 && unicode.In(ch, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai)
}

// A phrase is words that follow each other, in this order.
type phrase struct {
	words  []string
	prefix bool // the last one is the beginning of a word
	rare   needle
}

// newPhrase makes the phrase of one alternative; ok is false if it is no phrase: it has wildcards that no list of words
// can answer, or no words.
func newPhrase(chunks []chunk) (p phrase, ok bool) {
	var text []byte
	for i, c := range chunks {
		s := c.text
		if !c.hard {
			for j := range len(s) {
				if s[j] != '*' {
					continue
				}
				if i+1 < len(chunks) || j+1 < len(s) {
					return p, false
				}
				s, p.prefix = s[:j], true
			}
		}
		text = append(text, s...)
	}
	Words(text, func(w []byte) bool {
		p.words = append(p.words, string(w))
		return true
	})
	if p.prefix && len(text) > 0 {
		last, _ := utf8.DecodeLastRune(text)
		p.prefix = unicode.In(last, unicode.L, unicode.M, unicode.N)
	}
	longest := ""
	for _, w := range p.words {
		if len(w) > len(longest) && len(w) < WordMax && ascii(w) {
			longest = w
		}
	}
	if longest != "" {
		p.rare = newNeedle(longest)
	}
	return p, len(p.words) > 0
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// in reports whether a text has the phrase. It looks at the words only if the longest one is there at all.
func (p *phrase) in(text []byte) bool {
	if p.rare.text != "" && p.rare.end(text) < 0 {
		return false
	}
	// Bit i is set while the words up to the one at i have been the last ones.
	var fits uint64
	last := uint64(1) << (len(p.words) - 1)
	r := wordReader{rest: text, json: likeJSON(text)}
	for {
		w, ok := r.next()
		if !ok {
			return false
		}
		may := fits<<1 | 1
		fits = 0
		for i := 0; may>>i != 0 && i < len(p.words); i++ {
			if may>>i&1 != 0 && p.is(w, i) {
				fits |= 1 << i
			}
		}
		if fits&last != 0 {
			return true
		}
	}
}

// is reports whether w is the word at i.
func (p *phrase) is(w []byte, i int) bool {
	s := p.words[i]
	if p.prefix && i == len(p.words)-1 {
		return len(w) >= len(s) && string(w[:len(s)]) == s
	}
	return string(w) == s
}
