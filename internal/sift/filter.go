package sift

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

// A Term is one term of a filter, for those who show or plan it.
type Term struct {
	Text   string   `json:"text"`  // as String writes it
	Field  string   `json:"field"` // as in Fields; "" of free text
	Name   string   `json:"name"`  // of the header, or the path
	Not    bool     `json:"not"`
	Values []string `json:"values"` // the alternatives as they were written, without quotes

	// What an index can answer. Exact are all values that pass, if they are few and known; else nil. Min and Max bound
	// numbers, bytes, and of age and time the instant in ms, both included, unless Ranged is false.
	Exact    []string `json:"-"`
	Ranged   bool     `json:"-"`
	Min, Max int64    `json:"-"`
}

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
	for _, s := range t.spans {
		if !shown.Ranged {
			shown.Ranged, shown.Min, shown.Max = true, s.min, s.max
		}
		shown.Min, shown.Max = min(shown.Min, s.min), max(shown.Max, s.max)
	}
	for i := range t.patterns {
		if !t.patterns[i].exact || t.bounds != nil || t.present {
			shown.Exact = nil
			break
		}
		shown.Exact = append(shown.Exact, t.patterns[i].lit)
	}
	return shown
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
	return t.need&Properties != 0 && t.findProperties(m.Properties) || t.need&Body != 0 && t.find(m.Body)
}

func (t *term) matchText(m *Message) bool {
	switch f := t.field; {
	case f.text != nil:
		return t.string(f.text(m))
	case f.flag != 0:
		v, _ := property(m.Properties, f.flag)
		if t.bytes(v) {
			return true
		}
		if f.Name != "id" {
			return false
		}
		var digits [20]byte
		return t.bytes(strconv.AppendUint(digits[:0], m.ID, 10))
	case f.Name == "key":
		for _, k := range m.Keys {
			if t.string(k) {
				return true
			}
		}
		return false
	}
	var room [normalMax]byte
	e := appendException(room[:0], m.Properties, m.Body)
	if t.field.Name == "fingerprint" && len(e) > 0 {
		e = appendFingerprint(room[:0], e)
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

// property returns the text of a short string among the properties, lent.
func property(raw []byte, flag amqp.Flags) (v []byte, ok bool) {
	s := scan{flags: flag}
	s.properties(raw)
	return s.found, s.ok
}
