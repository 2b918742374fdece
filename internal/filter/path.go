package filter

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// A pathStep leads into a JSON value.
type pathStep struct {
	name  string // of a member
	index int    // of an element, if there is no name
	each  bool   // all members, or all elements
	item  bool   // an element, or all of them
}

var errPath = errors.New("a path is expected, such as body.$.order.items[0].sku, with [*] for each element and quotes " +
	"around names with dots")

// newPath reads what follows body. in the name of a field; a $ at its beginning may be absent.
func newPath(parts []chunk) ([]pathStep, error) {
	var r pathReader
	for i, part := range parts {
		s := part.text
		if i == 0 {
			s = strings.TrimPrefix(s[len("body"):], ".$")
		}
		if part.hard {
			r.addName(s)
			continue
		}
		for s != "" {
			var ok bool
			switch s[0] {
			case '.':
				s, ok = r.dot(s[1:], i+1 == len(parts))
			case '[':
				s, ok = r.element(s[1:])
			default:
				n := strings.IndexAny(s, ".[")
				if n < 0 {
					n = len(s)
				}
				r.addName(s[:n])
				s, ok = s[n:], true
			}
			if !ok {
				return nil, errPath
			}
		}
	}
	r.endName()
	if len(r.steps) == 0 {
		return nil, errPath
	}
	if len(r.steps) > pathMax {
		return nil, fmt.Errorf("the path has more than %d steps", pathMax)
	}
	return r.steps, nil
}

// A pathReader has the steps that were read, and the name of the next one as far as it was read.
type pathReader struct {
	steps []pathStep
	name  []byte
	named bool
}

// addName reads more of a name.
func (r *pathReader) addName(s string) { r.name, r.named = append(r.name, s...), true }

// endName makes a step of a name.
func (r *pathReader) endName() {
	if r.named {
		r.steps = append(r.steps, pathStep{name: string(r.name)})
		r.name, r.named = nil, false
	}
}

// dot reads what follows a dot: the beginning of a name, or a * for all members. It returns the rest.
func (r *pathReader) dot(s string, last bool) (rest string, ok bool) {
	r.endName()
	if s == "" && last || s != "" && (s[0] == '.' || s[0] == '[') {
		return "", false
	}
	if s == "*" || strings.HasPrefix(s, "*.") || strings.HasPrefix(s, "*[") {
		r.steps = append(r.steps, pathStep{each: true})
		return s[1:], true
	}
	return s, true
}

// element reads what follows a bracket: an index, or a * for all elements. It returns the rest.
func (r *pathReader) element(s string) (rest string, ok bool) {
	r.endName()
	inner, rest, ok := strings.Cut(s, "]")
	step := pathStep{item: true, each: inner == "*"}
	if !step.each {
		var err error
		step.index, err = strconv.Atoi(inner)
		ok = ok && err == nil && step.index >= 0
	}
	if !ok || rest != "" && rest[0] != '.' && rest[0] != '[' {
		return "", false
	}
	r.steps = append(r.steps, step)
	return rest, true
}

// appendPath writes the field of a path.
func appendPath(b []byte, steps []pathStep) []byte {
	b = append(b, "body.$"...)
	for _, s := range steps {
		switch {
		case s.item && s.each:
			b = append(b, "[*]"...)
		case s.item:
			b = append(strconv.AppendInt(append(b, '['), int64(s.index), 10), ']')
		case s.each:
			b = append(b, ".*"...)
		case s.name == "*" || !plainName(s.name):
			b = appendQuoted(append(b, '.'), s.name)
		default:
			b = append(append(b, '.'), s.name...)
		}
	}
	return b
}

// plainName reports whether a member's name needs no quotes.
func plainName(s string) bool {
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c >= 0x7F || strings.IndexByte(`.[:<>=|"\`, c) >= 0 {
			return false
		}
	}
	return s != ""
}
