package web

import (
	"bytes"
	"encoding/json"
	"strings"
)

// What an answer shows of an object is cut out of the object's JSON, as our own encoder wrote it: valid, and without
// blanks between its parts. To decode ten thousand queues only to leave most of it away takes longer than to make them.

// columnsOf reads names with commas between, each a way down with dots; nil for none.
func columnsOf(names string) [][]string {
	if names == "" {
		return nil
	}
	var columns [][]string
	for c := range strings.SplitSeq(names, ",") {
		columns = append(columns, strings.Split(c, "."))
	}
	return columns
}

// appendFields appends the columns of value to b: of an object, or of each object of a list. What is neither is
// appended as it is. Source: RabbitMQ management API, columns.
func appendFields(b, value []byte, columns [][]string) []byte {
	switch value[0] {
	case '[':
		b = append(b, '[')
		for element := range elements(value) {
			if b[len(b)-1] != '[' {
				b = append(b, ',')
			}
			b = appendFields(b, element, columns)
		}
		return append(b, ']')
	case '{':
		b = append(b, '{')
		for name, inner := range members(value) {
			wanted, below := descendColumns(columns, name)
			if !wanted {
				continue
			}
			if b[len(b)-1] != '{' {
				b = append(b, ',')
			}
			b = append(append(b, name...), ':')
			if below == nil {
				b = append(b, inner...)
			} else {
				b = appendFields(b, inner, below)
			}
		}
		return append(b, '}')
	}
	return append(b, value...)
}

// descendColumns finds the columns that lead through a member: whether there is one, and what they want below it, nil
// for all.
func descendColumns(columns [][]string, name []byte) (wanted bool, below [][]string) {
	for _, path := range columns {
		if !isNamed(name, path[0]) {
			continue
		}
		if len(path) == 1 {
			return true, nil
		}
		wanted, below = true, append(below, path[1:])
	}
	return wanted, below
}

// FieldOf follows a path into an object; nil if it leads nowhere.
func FieldOf(value []byte, path []string) []byte {
	for _, step := range path {
		if value[0] != '{' {
			return nil
		}
		var found []byte
		for name, inner := range members(value) {
			if isNamed(name, step) {
				found = inner
				break
			}
		}
		if found == nil {
			return nil
		}
		value = found
	}
	return value
}

// isNamed compares a quoted name with a plain one.
func isNamed(quoted []byte, name string) bool {
	if bytes.IndexByte(quoted, '\\') >= 0 {
		var plain string
		return json.Unmarshal(quoted, &plain) == nil && plain == name
	}
	return len(quoted) == len(name)+2 && string(quoted[1:len(quoted)-1]) == name
}

// members visits the members of an object: the name with its quotes, and the value.
func members(object []byte) func(yield func(name, value []byte) bool) {
	return func(yield func(name, value []byte) bool) {
		for at := 1; object[at] != '}'; {
			if object[at] == ',' {
				at++
			}
			colon := endOf(object, at)
			end := endOf(object, colon+1)
			if !yield(object[at:colon], object[colon+1:end]) {
				return
			}
			at = end
		}
	}
}

// elements visits the elements of a list.
func elements(list []byte) func(yield func([]byte) bool) {
	return func(yield func([]byte) bool) {
		for at := 1; list[at] != ']'; {
			if list[at] == ',' {
				at++
			}
			end := endOf(list, at)
			if !yield(list[at:end]) {
				return
			}
			at = end
		}
	}
}

// endOf is where the value ends that begins at from.
func endOf(text []byte, from int) int {
	depth := 0
	for at := from; at < len(text); at++ {
		switch text[at] {
		case '"':
			if at = endOfString(text, at); depth == 0 {
				return at + 1
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return at + 1
			} else if depth < 0 {
				return at // of a number or a word, the last in what holds it
			}
		case ',':
			if depth == 0 {
				return at
			}
		}
	}
	return len(text)
}

// endOfString is where the closing quote is of the string whose opening one is at from.
func endOfString(text []byte, from int) int {
	at := from + 1
	for {
		next := bytes.IndexByte(text[at:], '"')
		at += next
		escapes := 0
		for text[at-1-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return at
		}
		at++
	}
}
