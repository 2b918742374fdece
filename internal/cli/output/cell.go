package output

import (
	"bytes"
	"encoding/json"
)

// A Cell is a value as JSON; nil is absent.
type Cell = json.RawMessage

// StringCell is a cell with a string.
func StringCell(s string) Cell {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		return nil
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// A Field is a named value of an object.
type Field struct {
	Name  string
	Value Cell
}

// Object is the fields as a JSON object.
func Object(fields []Field) []byte {
	b := []byte{'{'}
	for i, f := range fields {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(b, StringCell(f.Name)...), ':')
		if f.Value == nil {
			b = append(b, `""`...)
			continue
		}
		b = append(b, f.Value...)
	}
	return append(b, '}')
}
