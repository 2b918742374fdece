package filter

import (
	"bytes"
	"encoding/json"
)

// matchPath looks for a value at the path that the term means.
func (t *term) matchPath(body []byte) bool {
	w := walker{rest: body[:min(len(body), bodyMax)], visit: t}
	if len(w.rest) >= 3 && string(w.rest[:3]) == "\xEF\xBB\xBF" {
		w.rest = w.rest[3:]
	}
	return w.at(t.path)
}

// A walker goes through a JSON text once, without building it. It is lenient: where the text is not JSON it stops, and
// what it saw before counts.
type walker struct {
	rest   []byte
	failed bool
	visit  *term
}

// at goes through the value that begins here and reports whether one that the path leads to is meant. After true, rest
// is of no use.
func (w *walker) at(path []pathStep) bool {
	if len(path) == 0 {
		return w.value(true)
	}
	s := &path[0]
	switch c := w.peek(); {
	case c == '{' && !s.item:
		return w.members(func(name []byte) bool {
			if s.each || string(unquoted(name)) == s.name {
				return w.at(path[1:])
			}
			w.skip()
			return false
		})
	case c == '[' && (s.item || s.each):
		i := -1
		return w.elements(func() bool {
			if i++; s.each || i == s.index {
				return w.at(path[1:])
			}
			w.skip()
			return false
		})
	}
	w.skip()
	return false
}

// value goes through a value at the end of the path. Of an array each element is asked, too.
func (w *walker) value(elements bool) bool {
	t := w.visit
	switch c := w.peek(); {
	case c == 0:
		return false
	case t.present:
		return true
	case c == '[' && elements:
		return w.elements(func() bool { return w.value(false) })
	case c == '"':
		s := w.take()
		if w.failed {
			return false
		}
		return t.jsonText(s)
	case c == '{' || c == '[':
		w.skip()
		return false
	}
	s := w.take()
	if r, ok := parseReal(s); ok && t.inBounds(r) {
		return true
	}
	return t.bytes(s)
}

// jsonText compares a string in its quotes.
func (t *term) jsonText(quoted []byte) bool {
	s := unquoted(quoted)
	if r, ok := parseReal(s); ok && t.inBounds(r) {
		return true
	}
	return t.bytes(s)
}

// unquoted is the text of a JSON string; lent if there is nothing escaped in it.
func unquoted(quoted []byte) []byte {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return quoted[1 : len(quoted)-1]
	}
	var s string
	if json.Unmarshal(quoted, &s) != nil {
		return nil
	}
	return []byte(s)
}

// members goes through an object; each takes the value.
func (w *walker) members(each func(name []byte) bool) bool {
	for w.rest = w.rest[1:]; w.peek() == '"'; w.rest = w.rest[1:] {
		name := w.take()
		if w.failed || w.peek() != ':' {
			break
		}
		w.rest = w.rest[1:]
		if each(name) {
			return true
		}
		if c := w.peek(); c == '}' {
			w.rest = w.rest[1:]
			return false
		} else if c != ',' {
			break
		}
	}
	return w.closed('}')
}

// elements goes through an array; each takes the value.
func (w *walker) elements(each func() bool) bool {
	for w.rest = w.rest[1:]; w.peek() != 0 && w.peek() != ']'; w.rest = w.rest[1:] {
		if each() {
			return true
		}
		if c := w.peek(); c == ']' {
			w.rest = w.rest[1:]
			return false
		} else if c != ',' {
			break
		}
	}
	return w.closed(']')
}

// closed ends an empty object or array; anything else is not JSON.
func (w *walker) closed(end byte) bool {
	if w.peek() == end {
		w.rest = w.rest[1:]
		return false
	}
	w.failed = true
	return false
}

// peek returns the first byte that is not white, 0 at the end and after a failure.
func (w *walker) peek() byte {
	for len(w.rest) > 0 && !w.failed {
		switch c := w.rest[0]; c {
		case ' ', '\t', '\n', '\r':
			w.rest = w.rest[1:]
		default:
			return c
		}
	}
	return 0
}

// take takes a string with its quotes, or a number or word.
func (w *walker) take() []byte {
	begin := w.rest
	if w.rest[0] == '"' {
		for i := 1; i < len(begin); i++ {
			switch begin[i] {
			case '\\':
				i++
			case '"':
				w.rest = begin[i+1:]
				return begin[:i+1]
			}
		}
		w.failed = true
		return nil
	}
	n := 0
	for n < len(begin) && !isJSONEnd(begin[n]) {
		n++
	}
	if n == 0 {
		w.failed = true
	}
	w.rest = begin[n:]
	return begin[:n]
}

func isJSONEnd(c byte) bool {
	switch c {
	case ' ', '\t', '\n', '\r', ',', ':', ']', '}', '[', '{', '"':
		return true
	}
	return false
}

// skip goes past a value: of an object or array it only counts what opens and closes, so that no nesting is too deep.
func (w *walker) skip() {
	for depth := 0; ; {
		switch c := w.peek(); c {
		case 0:
			w.failed = true
			return
		case '{', '[':
			depth++
			w.rest = w.rest[1:]
		case '}', ']', ',', ':':
			if depth == 0 {
				w.failed = true
				return
			}
			if c == '}' || c == ']' {
				depth--
			}
			w.rest = w.rest[1:]
		default:
			if w.take(); w.failed {
				return
			}
		}
		if depth == 0 {
			return
		}
	}
}
