// Package output shows what the command line has to show: values and tables, in the forms that RabbitMQ's tools have,
// for people and for programs. A value is JSON, as the management API gives it. What would control a terminal is
// escaped.
package output

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text shows a cell to people, as rabbitmqctl does: a string bare, what is absent as nothing, a table as an Erlang
// term such as [{"x-message-ttl",60000}], and what would break a line in octal.
// Source: RabbitMQ rabbitmqctl, table formatter.
func Text(v Cell) string {
	var s string
	switch {
	case len(v) == 0 || string(v) == "null":
		return ""
	case v[0] == '"':
		if err := json.Unmarshal(v, &s); err != nil {
			s = string(v)
		}
	case v[0] == '{' || v[0] == '[':
		s = term(v)
	default:
		s = string(v)
	}
	return Escape(s)
}

// Controls reports whether a terminal might do something with r but show it: end a line, change its colours, or turn
// its direction.
func Controls(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029'
}

// Escape shows what would control a terminal, or break a line, in octal.
func Escape(s string) string {
	if strings.IndexFunc(s, Controls) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if Controls(r) {
			fmt.Fprintf(&b, "\\%03o", r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// TerminalSafe writes text on, with what controls a terminal escaped: all but the ends of lines and tabs, which are the
// writer's own. Names are escaped with Escape before they are written.
type TerminalSafe struct{ io.Writer }

// Write implements io.Writer. It is given whole characters.
func (w TerminalSafe) Write(p []byte) (int, error) {
	own := func(r rune) bool { return r == '\n' || r == '\t' }
	if utf8.Valid(p) && bytes.IndexFunc(p, func(r rune) bool { return Controls(r) && !own(r) }) < 0 {
		return w.Writer.Write(p)
	}
	var safe strings.Builder
	for _, r := range string(p) { // half a character becomes one that says so
		if own(r) {
			safe.WriteRune(r)
			continue
		}
		safe.WriteString(Escape(string(r)))
	}
	_, err := io.WriteString(w.Writer, safe.String())
	return len(p), err
}

// JSONSafe writes JSON on, with what controls a terminal escaped: outside of strings JSON has none of it but the end of
// a line.
type JSONSafe struct{ io.Writer }

// Write implements io.Writer. It is given whole characters.
func (w JSONSafe) Write(p []byte) (int, error) {
	if bytes.IndexFunc(p, func(r rune) bool { return r >= utf8.RuneSelf && Controls(r) }) < 0 {
		return w.Writer.Write(p)
	}
	safe := make([]byte, 0, len(p)+len(p)/4)
	for _, r := range string(p) {
		if r >= utf8.RuneSelf && Controls(r) {
			safe = fmt.Appendf(safe, "\\u%04x", r)
			continue
		}
		safe = utf8.AppendRune(safe, r)
	}
	_, err := w.Writer.Write(safe)
	return len(p), err
}

// Erlang writes a cell as an Erlang term: strings are binaries.
func Erlang(v Cell) string {
	if len(v) == 0 || string(v) == "null" {
		return ""
	}
	var s string
	if v[0] == '"' && json.Unmarshal(v, &s) == nil {
		return fmt.Sprintf("<<%q>>", s)
	}
	return term(v)
}

// atom writes a name as an Erlang atom.
func atom(name string) string {
	for i, r := range name {
		if !('a' <= r && r <= 'z' || i > 0 && ('0' <= r && r <= '9' || r == '_')) {
			return "'" + strings.ReplaceAll(name, "'", `\'`) + "'"
		}
	}
	return name
}

// term writes the outermost object as a property list, those inside as maps.
func term(v Cell) string {
	d := json.NewDecoder(bytes.NewReader(v))
	d.UseNumber()
	var b strings.Builder
	if err := writeTerm(&b, d, true); err != nil {
		return string(v)
	}
	return b.String()
}

func writeTerm(b *strings.Builder, d *json.Decoder, outermost bool) error {
	token, err := d.Token()
	if err != nil {
		return err
	}
	switch token := token.(type) {
	case string:
		fmt.Fprintf(b, "%q", token)
	case json.Number:
		b.WriteString(token.String())
	case bool:
		fmt.Fprint(b, token)
	case nil:
		b.WriteString("undefined")
	case json.Delim:
		if token == '[' {
			return writeItems(b, d, "[", "]", func() error { return writeTerm(b, d, false) })
		}
		return writeTable(b, d, outermost)
	}
	return nil
}

func writeTable(b *strings.Builder, d *json.Decoder, list bool) error {
	left, right, before, between, after := "#{", "}", "", " => ", ""
	if list {
		left, right, before, between, after = "[", "]", "{", ",", "}"
	}
	return writeItems(b, d, left, right, func() error {
		key, err := d.Token()
		if err != nil {
			return err
		}
		fmt.Fprintf(b, "%s%q%s", before, key, between)
		err = writeTerm(b, d, false)
		b.WriteString(after)
		return err
	})
}

func writeItems(b *strings.Builder, d *json.Decoder, left, right string, item func() error) error {
	b.WriteString(left)
	for first := true; d.More(); first = false {
		if !first {
			b.WriteByte(',')
		}
		if err := item(); err != nil {
			return err
		}
	}
	b.WriteString(right)
	_, err := d.Token()
	return err
}
