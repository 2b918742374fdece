package api

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/bartleby-mq/bartleby/internal/amqp"
)

// Arguments is a field table as a JSON object, in the order of the table.
//
// From JSON: an integer becomes a long, another number a double, a string a longstr, null void; objects and lists
// nest. An integer beyond 64 bits is refused. Of a key that comes twice the last value counts; Decode refuses it.
//
// To JSON: all integers are integers, timestamps in seconds; a double keeps its point (2.0), so that it comes back
// as one; what is not finite is null; void is the text "undefined"; a string or binary that is not UTF-8 is
// base64-encoded. Of a name that comes twice the first value counts.
//
// Source: RabbitMQ management API, arguments.
type Arguments amqp.Table

// MarshalJSON renders an object, {} if there is no argument.
func (a Arguments) MarshalJSON() ([]byte, error) {
	return appendTable(nil, amqp.Table(a), `"undefined"`), nil
}

// With are the arguments and one more, a string.
func (a Arguments) With(name, value string) Arguments {
	return append(slices.Clone(a), amqp.Field{Name: name, Value: amqp.String(value)})
}

// Editable is Arguments in which void is null, from which it is void again: for what people change and send back.
type Editable Arguments

// MarshalJSON renders an object, {} if there is no argument.
func (e Editable) MarshalJSON() ([]byte, error) { return appendTable(nil, amqp.Table(e), "null"), nil }

// UnmarshalJSON is that of Arguments.
func (e *Editable) UnmarshalJSON(b []byte) error { return (*Arguments)(e).UnmarshalJSON(b) }

// UnmarshalJSON takes an object; null and the empty list, which some clients send for it, are an empty one, and so is a
// list of pairs [["name", value]] one of these: RabbitMQ's command line exports definitions of operator policies so.
func (a *Arguments) UnmarshalJSON(b []byte) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	v, err := parseValue(d)
	if err != nil {
		return err
	}
	switch {
	case v.Kind == amqp.KindTable:
	case v.Kind == amqp.KindVoid:
	case v.Kind == amqp.KindArray:
		if v.Table, err = tableOfPairs(v.Array); err != nil {
			return err
		}
	default:
		return errNoTable
	}
	if err := v.Table.Check(); err != nil {
		return err
	}
	*a = Arguments(v.Table)
	return nil
}

var errNoTable = errors.New("a table of arguments must be a JSON object")

func tableOfPairs(pairs []amqp.Value) (t amqp.Table, err error) {
	for _, pair := range pairs {
		if len(pair.Array) != 2 || pair.Array[0].Kind != amqp.KindString {
			return nil, errNoTable
		}
		if _, twice := t.Get(pair.Array[0].Str); twice {
			return nil, fmt.Errorf("'%s' occurs twice in one table", pair.Array[0].Str)
		}
		t = append(t, amqp.Field{Name: pair.Array[0].Str, Value: pair.Array[1]})
	}
	return t, nil
}

// appendTable and appendValue append JSON, with void for what is void.
func appendTable(b []byte, t amqp.Table, void string) []byte {
	b = append(b, '{')
	seen := make(map[string]bool, len(t))
	for _, f := range t {
		if seen[f.Name] {
			continue
		}
		if len(seen) > 0 {
			b = append(b, ',')
		}
		seen[f.Name] = true
		b = appendText(b, f.Name)
		b = append(b, ':')
		b = appendValue(b, f.Value, void)
	}
	return append(b, '}')
}

func appendValue(b []byte, v amqp.Value, void string) []byte {
	switch v.Kind {
	case 0, amqp.KindVoid:
		return append(b, void...)
	case amqp.KindBool:
		return strconv.AppendBool(b, v.Int != 0)
	case amqp.KindString, amqp.KindBinary:
		return appendText(b, v.Str)
	case amqp.KindTimestamp:
		return strconv.AppendUint(b, uint64(v.Int), 10)
	case amqp.KindTable:
		return appendTable(b, v.Table, void)
	case amqp.KindArray:
		b = append(b, '[')
		for i, e := range v.Array {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendValue(b, e, void)
		}
		return append(b, ']')
	case amqp.KindDecimal:
		return appendFloat(b, float64(v.Int)/math.Pow10(int(v.Scale)))
	}
	if n, ok := v.Integer(); ok {
		return strconv.AppendInt(b, n, 10)
	}
	if f, ok := v.Float(); ok {
		return appendFloat(b, f)
	}
	return append(b, "null"...)
}

func appendFloat(b []byte, f float64) []byte {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return append(b, "null"...)
	}
	text := strconv.FormatFloat(f, 'g', -1, 64)
	if !strings.ContainsAny(text, ".e") {
		text += ".0"
	}
	return append(b, text...)
}

func appendText(b []byte, s string) []byte {
	if !utf8.ValidString(s) {
		s = base64.StdEncoding.EncodeToString([]byte(s))
	}
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		return append(b, `""`...)
	}
	return append(b, bytes.TrimSuffix(text.Bytes(), []byte("\n"))...)
}

// parseValue takes the next value from d. How deep it nests was bounded when json.Unmarshal scanned it whole.
func parseValue(d *json.Decoder) (amqp.Value, error) {
	token, err := d.Token()
	if err != nil {
		return amqp.Value{}, unexpectedEnd(err)
	}
	switch token := token.(type) {
	case bool:
		return amqp.Bool(token), nil
	case string:
		return amqp.String(token), nil
	case json.Number:
		return parseNumber(token)
	case json.Delim:
		if token == '{' {
			return parseTable(d)
		}
		return parseArray(d)
	}
	return amqp.Void(), nil
}

func parseTable(d *json.Decoder) (amqp.Value, error) {
	t := amqp.Table{}
	at := map[string]int{}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return amqp.Value{}, unexpectedEnd(err)
		}
		v, err := parseValue(d)
		if err != nil {
			return amqp.Value{}, err
		}
		key := name.(string) // the decoder takes nothing else for a key
		i, ok := at[key]
		if !ok {
			i, at[key] = len(t), len(t)
			t = append(t, amqp.Field{Name: key})
		}
		t[i].Value = v
	}
	_, err := d.Token()
	return amqp.TableValue(t), unexpectedEnd(err)
}

func parseArray(d *json.Decoder) (amqp.Value, error) {
	var vs []amqp.Value
	for d.More() {
		v, err := parseValue(d)
		if err != nil {
			return amqp.Value{}, err
		}
		vs = append(vs, v)
	}
	_, err := d.Token()
	return amqp.Array(vs...), unexpectedEnd(err)
}

func parseNumber(n json.Number) (amqp.Value, error) {
	if i, err := n.Int64(); err == nil {
		return amqp.Int64(i), nil
	}
	if _, ok := new(big.Int).SetString(n.String(), 10); ok {
		return amqp.Value{}, fmt.Errorf("%s is beyond a 64 bit integer", n)
	}
	f, err := n.Float64()
	if err != nil {
		return amqp.Value{}, fmt.Errorf("%s is beyond a 64 bit float", n)
	}
	return amqp.Float64(f), nil
}

func unexpectedEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
