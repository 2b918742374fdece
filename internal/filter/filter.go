package filter

import (
	"strconv"

	"github.com/bartleby-mq/bartleby/internal/amqp"
)

// A Filter tells which messages are meant: those that pass all of its terms. It is not changed once made, and may be
// used from many goroutines.
type Filter struct {
	terms []term // those that need less come first
	shown []Term // as they were written
	needs Need
	text  string
}

// A Term is one term of a filter, for those who show it or look for messages that pass it in an index.
type Term struct {
	Text   string   `json:"text"`  // as String writes it
	Field  string   `json:"field"` // as in Fields; "" of free text
	Name   string   `json:"name"`  // of the header; of a path what follows body.
	Not    bool     `json:"not"`
	Values []string `json:"values"` // the alternatives as they were written, without quotes

	Alternatives []Alternative `json:"-"` // what they mean, in no order; one has to be met, or none if Not
}

// An Alternative is a condition that an index may answer.
type Alternative struct {
	Op       Op
	Text     string   // of Is and Like
	Words    []string // of Has, as Words cuts them
	Prefix   bool     // of Has: the last one is the beginning of a word
	Min, Max int64    // of Within: both are in it; of ages and times ms since the Unix epoch, in which 0 never is
}

// Op says what an Alternative asks.
type Op uint8

const (
	Other  Op = iota // only Match can tell
	Is               // the value is Text
	Like             // the value begins with Text, which may be empty; all else only Match can tell
	Within           // the number is from Min to Max
	Has              // a text that the field means has Words, one after the other
)

// String writes the filter so that Parse reads the same one, in at most TextMax bytes.
func (f *Filter) String() string { return f.text }

// Needs tells which parts of a message Match reads.
func (f *Filter) Needs() Need { return f.needs }

// All reports whether every message passes.
func (f *Filter) All() bool { return len(f.terms) == 0 }

// Terms lists the terms in the order in which they were written. The slice is lent.
func (f *Filter) Terms() []Term { return f.shown }

// Match reports whether m is meant. What Needs names must be there.
func (f *Filter) Match(m *Message) bool {
	for i := range f.terms {
		if t := &f.terms[i]; t.match(m) == t.not {
			return false
		}
	}
	return true
}

// Refuses reports whether m is not meant, whatever is in the parts of it that are not there yet: have names those that
// are. So a caller reads no body for a message of the wrong queue.
func (f *Filter) Refuses(m *Message, have Need) bool {
	for i := range f.terms {
		if t := &f.terms[i]; t.need&^have == 0 && t.match(m) == t.not {
			return true
		}
	}
	return false
}

// A term is one condition: one of its alternatives has to be met.
type term struct {
	field    *field
	need     Need
	not      bool
	arg      string // the header's name
	path     []pathStep
	patterns []pattern
	spans    []span
	bounds   []bounds
	finders  []finder
	present  bool // any value will do
}

func (t *term) show(w *written, s string) Term {
	shown := Term{Text: s, Field: t.field.Name, Name: t.arg, Not: t.not}
	if t.field.kind == path {
		shown.Name = string(appendPath(nil, t.path)[len("body."):])
	}
	for _, v := range w.values {
		shown.Values = append(shown.Values, joined(v))
	}
	for i := range t.patterns {
		shown.Alternatives = append(shown.Alternatives, t.patterns[i].alternative())
	}
	for _, s := range t.spans {
		shown.Alternatives = append(shown.Alternatives, Alternative{Op: Within, Min: s.min, Max: s.max})
	}
	for i := range t.finders {
		a := Alternative{Words: t.finders[i].phrase.words, Prefix: t.finders[i].phrase.prefix}
		if len(a.Words) > 0 {
			a.Op = Has
		}
		shown.Alternatives = append(shown.Alternatives, a)
	}
	if len(t.bounds) > 0 || t.present {
		shown.Alternatives = append(shown.Alternatives, Alternative{})
	}
	return shown
}

// alternative is what an index may know of a pattern.
func (p *pattern) alternative() Alternative {
	switch {
	case p.exact:
		return Alternative{Op: Is, Text: p.lit}
	case len(p.steps) > 0 && p.steps[0].op == stepLit:
		return Alternative{Op: Like, Text: p.steps[0].lit}
	}
	return Alternative{Op: Like}
}

func (t *term) match(m *Message) bool {
	switch t.field.kind {
	case text, name, word:
		return t.matchText(m)
	case number, size, age, clock:
		n := t.field.count(m)
		if n == 0 && (t.field.kind == age || t.field.kind == clock) {
			return false
		}
		for i := range t.spans {
			if t.spans[i].has(n) {
				return true
			}
		}
		return false
	case header:
		return t.matchHeader(m)
	case path:
		return t.matchPath(m.Body)
	}
	if t.need&Properties != 0 {
		r := readTexts(m.Properties)
		for text, ok := r.next(); ok; text, ok = r.next() {
			if t.find(text) {
				return true
			}
		}
	}
	return t.need&Body != 0 && t.find(m.Body)
}

func (t *term) matchText(m *Message) bool {
	switch f := t.field; {
	case f.text != nil:
		return t.string(f.text(m))
	case f.flag != 0:
		if t.bytes(property(m.Properties, f.flag)) {
			return true
		}
		if f.Name != "id" {
			return false
		}
		var digits [20]byte
		return t.bytes(strconv.AppendUint(digits[:0], m.ID, 10))
	case f.head != "":
		v, ok := lookup(headers(m.Properties), f.head)
		if !ok || v.kind != amqp.KindString {
			return t.bytes(nil)
		}
		return t.bytes(v.data)
	case f.Name == "key":
		for _, k := range m.Keys {
			if t.string(k) {
				return true
			}
		}
		return false
	}
	var buf [normalMax]byte
	e := appendException(buf[:0], m.Properties, m.Body)
	if t.field.Name == "fingerprint" && len(e) > 0 {
		e = appendFingerprint(buf[:0], e)
	}
	return t.bytes(e)
}

func (t *term) string(s string) bool {
	for i := range t.patterns {
		if t.patterns[i].matchString(s) {
			return true
		}
	}
	return false
}

func (t *term) bytes(b []byte) bool {
	for i := range t.patterns {
		if t.patterns[i].matchBytes(b) {
			return true
		}
	}
	return false
}
