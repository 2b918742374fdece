package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/duration"
)

// A Flag is a boolean that may also arrive as the string "true" or "false".
// Source: RabbitMQ management API; rabbitmqadmin sends such strings.
type Flag bool

// UnmarshalJSON takes a boolean or its string.
func (f *Flag) UnmarshalJSON(b []byte) error {
	switch string(b) {
	case "true", `"true"`:
		*f = true
	case "false", `"false"`:
		*f = false
	case "null":
	default:
		return fmt.Errorf("%s is not a boolean", b)
	}
	return nil
}

// An Integer may also arrive as a string of digits, or as a number whose fraction is zero.
// Source: RabbitMQ management API; rabbitmqadmin sends such strings.
type Integer int64

// UnmarshalJSON takes a number or a string that holds one.
func (n *Integer) UnmarshalJSON(b []byte) error {
	text := string(b)
	if text == "null" {
		return nil
	}
	if unquoted, err := strconv.Unquote(text); err == nil {
		text = unquoted
	}
	if i, err := strconv.ParseInt(text, 10, 64); err == nil {
		*n = Integer(i)
		return nil
	}
	f, err := strconv.ParseFloat(text, 64)
	const exact = 1 << 53
	if err != nil || f != float64(int64(f)) || f > exact || f < -exact {
		return fmt.Errorf("%s is not an integer", b)
	}
	*n = Integer(f)
	return nil
}

// A Duration is a number of milliseconds. It may arrive as text with a unit, too, such as 15m.
type Duration int64

// UnmarshalJSON takes a number, or text with a unit.
func (d *Duration) UnmarshalJSON(b []byte) error {
	if b[0] != '"' {
		return (*Integer)(d).UnmarshalJSON(b)
	}
	var text string
	if err := json.Unmarshal(b, &text); err != nil {
		return err
	}
	ms, err := duration.Milliseconds(text)
	if err == nil {
		*d = Duration(ms)
	}
	return err
}

// A MessageID names a message: digits as a string. It may also arrive as a number, as lists of lost letters
// show it.
type MessageID string

// UnmarshalJSON takes a string, or a number without a fraction.
func (id *MessageID) UnmarshalJSON(b []byte) error {
	if n, err := strconv.ParseUint(string(b), 10, 64); err == nil {
		*id = MessageID(strconv.FormatUint(n, 10))
		return nil
	}
	return json.Unmarshal(b, (*string)(id))
}

// A Number is an integer that does not arrive as a string. What is none is refused as RabbitMQ words it; the name of
// what should be one goes before that.
type Number int64

// UnmarshalJSON takes a number whose fraction is zero.
func (n *Number) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && (b[0] == '-' || b[0] >= '0' && b[0] <= '9') && (*Integer)(n).UnmarshalJSON(b) == nil {
		return nil
	}
	return NumberError(term(b))
}

// A NumberError refuses what is no number: the value, as RabbitMQ shows it.
type NumberError string

func (e NumberError) Error() string { return "should be a number, actually was " + string(e) }

// term is a value in JSON as RabbitMQ shows it in refusals.
func term(b []byte) string {
	if len(b) > 0 && b[0] == '"' {
		return "<<" + string(b) + ">>"
	}
	return string(b)
}

// Tags are shown as a list; they may also arrive as one string with commas. Blanks around a tag and empty tags fall
// away. Source: RabbitMQ management API, users.
type Tags []string

// MarshalJSON renders a list, [] if there is no tag.
func (t Tags) MarshalJSON() ([]byte, error) { return marshal(append([]string{}, t...)) }

// UnmarshalJSON takes a list or a string. Present but empty, t is empty and not nil.
func (t *Tags) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		return nil
	}
	var list []string
	var line string
	if err := json.Unmarshal(b, &line); err == nil {
		list = strings.Split(line, ",")
	} else if err := json.Unmarshal(b, &list); err != nil {
		return fmt.Errorf("tags must be a list of strings, or a comma-separated string")
	}
	*t = Tags{}
	for _, tag := range list {
		if tag = strings.TrimSpace(tag); tag != "" {
			*t = append(*t, tag)
		}
	}
	return nil
}

// A List is never null in JSON.
type List[T any] []T

// MarshalJSON renders [] for no element.
func (l List[T]) MarshalJSON() ([]byte, error) { return marshal(append([]T{}, l...)) }

// An Object is a JSON object with keys of any name, never null.
type Object[V any] map[string]V

// MarshalJSON renders {} for no key.
func (o Object[V]) MarshalJSON() ([]byte, error) {
	if o == nil {
		return []byte("{}"), nil
	}
	return marshal(map[string]V(o))
}

// marshal renders v with <, > and & as they are: they stand in the names of connections, and nothing here is HTML.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
