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
	var steps []pathStep
	name, named := []byte(nil), false
	end := func() {
		if named {
			s := pathStep{name: string(name)}
			name, named = nil, false
			steps = append(steps, s)
		}
	}
	for i, part := range parts {
		s := part.text
		if i == 0 {
			s = strings.TrimPrefix(s[len("body"):], ".$")
		}
		if part.hard {
			name, named = append(name, s...), true
			continue
		}
		for s != "" {
			switch c := s[0]; {
			case c == '.':
				end()
				s = s[1:]
				if s == "" && i+1 == len(parts) || s != "" && (s[0] == '.' || s[0] == '[') {
					return nil, errPath
				}
				if s == "*" || strings.HasPrefix(s, "*.") || strings.HasPrefix(s, "*[") {
					steps, s = append(steps, pathStep{each: true}), s[1:]
				}
			case c == '[':
				end()
				inner, rest, ok := strings.Cut(s[1:], "]")
				step := pathStep{item: true, each: inner == "*"}
				if !step.each {
					var err error
					step.index, err = strconv.Atoi(inner)
					ok = ok && err == nil && step.index >= 0
				}
				if !ok || rest != "" && rest[0] != '.' && rest[0] != '[' {
					return nil, errPath
				}
				steps, s = append(steps, step), rest
			default:
				n := strings.IndexAny(s, ".[")
				if n < 0 {
					n = len(s)
				}
				name, named, s = append(name, s[:n]...), true, s[n:]
			}
		}
	}
	end()
	if len(steps) == 0 {
		return nil, errPath
	}
	if len(steps) > pathMax {
		return nil, fmt.Errorf("the path has more than %d steps", pathMax)
	}
	return steps, nil
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
