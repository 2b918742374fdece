package filter

import (
	"fmt"
	"strings"
)

// A Grouping tells what messages have in common. It is not changed once made.
type Grouping struct {
	by    string
	field *field
	name  string // of the header
}

// groupings are the fields that messages are grouped by, with the name that the grouping has.
var groupings = []struct{ by, field string }{{"reason", "reason"}, {"source", "source"}, {"queue", "queue"}, {"exchange", "exchange"},
	{"key", "routing-key"}, {"cause", "cause"}, {"state", "state"}, {"exception", "exception"}, {"fingerprint", "fingerprint"},
	{"first-reason", "first-reason"}, {"last-queue", "last-queue"}, {"type", "type"}, {"app", "app"}, {"user", "user"}}

// GroupBy reads a grouping: reason, source, queue, exchange, key, cause, state, exception, fingerprint, first-reason,
// last-queue, type, app, user or header:NAME. Errors are *Error.
func GroupBy(by string) (Grouping, error) {
	if name, ok := strings.CutPrefix(by, "header:"); ok || strings.HasPrefix(by, "header.") {
		if !ok {
			name = by[len("header."):]
		}
		if name == "" || len(name) > 255 {
			return Grouping{}, &Error{Code: "field", Term: by, Position: 1, Text: "the header name is missing or too long"}
		}
		return Grouping{by: "header:" + name, field: plainField("header.NAME"), name: name}, nil
	}
	known := make([]string, len(groupings))
	for i, g := range groupings {
		if g.by == by {
			return Grouping{by: by, field: plainField(g.field)}, nil
		}
		known[i] = g.by
	}
	return Grouping{}, &Error{Code: "field", Term: by, Position: 1, Text: fmt.Sprintf("dead letters cannot be grouped by %q", by), Known: append(known, "header:NAME")}
}

// String is what GroupBy reads.
func (g Grouping) String() string { return g.by }

// Needs tells which parts of a message Key reads.
func (g Grouping) Needs() Need { return g.field.need }

// Key returns the value that m shares with its group, of at most some 500 bytes; ok is false if it is in none, because
// it has no such value. The value may be any bytes.
func (g Grouping) Key(m *Message) (value string, ok bool) {
	switch f := g.field; {
	case f.kind == header:
		v, ok := headerNamed(headers(m.Properties), g.name)
		if !ok {
			s := told(m, g.name)
			return s, s != ""
		}
		var buf [64]byte
		return shortened(v.text(buf[:0])), true
	case f.text != nil:
		s := f.text(m)
		// The nameless exchange and the empty routing key are values like any other.
		return s, s != "" || g.by == "exchange" || g.by == "key"
	case f.flag != 0:
		v := property(m.Properties, f.flag)
		return string(v), len(v) > 0
	}
	var buf [normalMax]byte
	e := appendException(buf[:0], m.Properties, m.Body)
	if len(e) > 0 && g.by == "fingerprint" {
		e = appendFingerprint(buf[:0], e)
	}
	return string(e), len(e) > 0
}

// cutMark ends a value that was cut at valueMax.
const cutMark = "…"

func shortened(b []byte) string {
	if len(b) <= valueMax {
		return string(b)
	}
	return string(b[:valueMax]) + cutMark
}

// FilterFor returns the filter that finds the group with that value, and nothing else.
func (g Grouping) FilterFor(value string) string {
	b := g.appendField(nil)
	switch {
	case len(value) > valueMax:
		b = append(appendQuoted(b, value[:valueMax]), "?*"...)
	case plain(value) && g.field.kind != header || g.field.kind == header && plain(value) && !strings.ContainsAny(value, ".0123456789"):
		b = append(b, value...)
	default:
		b = appendQuoted(b, value)
	}
	return string(b)
}

// Without returns the filter that finds the messages that are in no group.
func (g Grouping) Without() string { return "-" + string(append(g.appendField(nil), '*')) }

func (g Grouping) appendField(b []byte) []byte {
	if g.field.kind == header {
		b = appendHeaderName(b, g.name)
	} else {
		b = append(b, g.field.Name...)
	}
	return append(b, ':')
}
