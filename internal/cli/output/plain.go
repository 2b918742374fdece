package output

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// Plain shows a cell to people, in commands that RabbitMQ does not have: a string bare, a list as "a, b", a table as
// "key: value, key: value", and what is inside of another list or table in brackets: [a, b], {key: value}.
func Plain(v Cell) string {
	if len(v) == 0 || v[0] != '{' && v[0] != '[' {
		return Text(v)
	}
	d := json.NewDecoder(bytes.NewReader(v))
	d.UseNumber()
	var b strings.Builder
	if err := writePlain(&b, d, true); err != nil {
		return Escape(string(v))
	}
	return Escape(b.String())
}

func writePlain(b *strings.Builder, d *json.Decoder, outermost bool) error {
	token, err := d.Token()
	if err != nil {
		return err
	}
	delim, nested := token.(json.Delim)
	if !nested {
		b.WriteString(word(token))
		return nil
	}
	left, right := delim.String(), (delim + 2).String() // [ and ], { and } are two apart
	if outermost {
		left, right = "", ""
	}
	b.WriteString(left)
	for first := true; d.More(); first = false {
		if !first {
			b.WriteString(", ")
		}
		if delim == '{' {
			key, err := d.Token()
			if err != nil {
				return err
			}
			b.WriteString(word(key) + ": ")
		}
		if err := writePlain(b, d, false); err != nil {
			return err
		}
	}
	b.WriteString(right)
	_, err = d.Token()
	return err
}

// word shows a value that is no list and no table. A string is in quotation marks if it could be taken for more than
// one, or for something else.
func word(token json.Token) string {
	switch token := token.(type) {
	case nil:
		return "none"
	case string:
		if token == "" || token != strings.TrimSpace(token) || strings.ContainsAny(token, `,:[]{}"`) {
			return fmt.Sprintf("%q", token)
		}
		return token
	}
	return fmt.Sprint(token)
}
