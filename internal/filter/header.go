package filter

import (
	"strings"

	"github.com/bartleby-mq/bartleby/internal/amqp"
)

// headers are the fields of the headers, lent.
func headers(properties []byte) []byte { return property(properties, amqp.FlagHeaders) }

// headerNamed finds a header. A name with dots that no header has leads into tables: a.b is b in a.
func headerNamed(fields []byte, name string) (v value, ok bool) {
	for range nestingMax {
		if v, ok := lookup(fields, name); ok {
			return v, true
		}
		found := false
		for dot := strings.IndexByte(name, '.'); dot >= 0 && !found; {
			if v, ok := lookup(fields, name[:dot]); ok && v.kind == amqp.KindTable {
				fields, name, found = v.data, name[dot+1:], true
				break
			}
			next := strings.IndexByte(name[dot+1:], '.')
			if next < 0 {
				break
			}
			dot += 1 + next
		}
		if !found {
			return value{}, false
		}
	}
	return value{}, false
}

// told returns what a consumer would see in a header that is made at its delivery.
func told(m *Message, name string) string {
	switch name {
	case "x-first-death-queue":
		return m.Source
	case "x-first-death-reason":
		return m.FirstReason
	case "x-last-death-queue":
		return m.LastQueue
	case "x-last-death-reason":
		return m.Reason
	}
	return ""
}

func (t *term) matchHeader(m *Message) bool {
	v, ok := headerNamed(headers(m.Properties), t.arg)
	if !ok {
		s := told(m, t.arg)
		return s != "" && (t.present || t.string(s))
	}
	if t.present {
		return true
	}
	if len(t.bounds) > 0 {
		if r, ok := v.real(); ok && t.inBounds(r) {
			return true
		}
	}
	if len(t.patterns) == 0 {
		return false
	}
	var buf [64]byte
	return t.bytes(v.text(buf[:0]))
}

func (t *term) inBounds(r real) bool {
	for i := range t.bounds {
		if t.bounds[i].has(r) {
			return true
		}
	}
	return false
}

// find looks for free text.
func (t *term) find(b []byte) bool {
	b = b[:min(len(b), bodyMax)]
	for i := range t.finders {
		if t.finders[i].in(b) {
			return true
		}
	}
	return false
}
