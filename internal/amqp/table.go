package amqp

import (
	"encoding/binary"
	"slices"
)

// Field is a name and its value.
type Field struct {
	Name  string // at most ShortStringMax octets
	Value Value
}

// Table is a field table: ordered, and names may repeat. A nil Table is empty.
type Table []Field

// Get returns the value of the first field of that name.
// Source: RabbitMQ, duplicate keys.
func (t Table) Get(name string) (v Value, ok bool) {
	for i := range t {
		if t[i].Name == name {
			return t[i].Value, true
		}
	}
	return Value{}, false
}

// Equal reports whether t and o have equal fields in the same order.
func (t Table) Equal(o Table) bool {
	return slices.EqualFunc(t, o, func(a, b Field) bool { return a.Name == b.Name && a.Value.Equal(b.Value) })
}

// Check reports what keeps t from being encoded faithfully: a name that is too long, a kind that does not exist, or
// too deep a nesting. Tables from ParseTable pass; it is meant for those made from other input, such as JSON.
func (t Table) Check() error { return checkFields(t, 0) }

func checkFields(t Table, depth int) error {
	if depth > depthMax {
		return malformed("field table: nested deeper than %d", depthMax)
	}
	for i := range t {
		if len(t[i].Name) > ShortStringMax {
			return malformed("field table: name of %d octets, at most %d allowed", len(t[i].Name), ShortStringMax)
		}
		if err := checkValue(t[i].Value, depth); err != nil {
			return err
		}
	}
	return nil
}

func checkValue(v Value, depth int) error {
	switch kind := v.kind(); kind {
	case KindTable:
		return checkFields(v.Table, depth+1)
	case KindArray:
		if depth+1 > depthMax {
			return malformed("field table: nested deeper than %d", depthMax)
		}
		for i := range v.Array {
			if err := checkValue(v.Array[i], depth+1); err != nil {
				return err
			}
		}
	case KindString, KindBinary:
	default:
		if _, known := fixedSize(kind); !known {
			return malformed("field table: unknown type tag %d", kind)
		}
	}
	return nil
}

// Size is the size in octets of t as AppendTable encodes it, and how many values it has, those within arrays and nested
// tables included.
func (t Table) Size() (octets, values int) {
	octets = 4
	for i := range t {
		o, n := t[i].Value.size()
		octets += 1 + min(len(t[i].Name), ShortStringMax) + o
		values += n
	}
	return octets, values
}

// valueBytes is about what a value takes in memory besides its octets.
const valueBytes = 100

// Memory is about how many bytes of memory t takes; a table without fields takes none.
func (t Table) Memory() int {
	if len(t) == 0 {
		return 0
	}
	octets, values := t.Size()
	return octets + values*valueBytes
}

// size is that of one value, its tag included.
func (v *Value) size() (octets, values int) {
	kind := v.kind()
	fixed, known := fixedSize(kind)
	switch {
	case kind == KindString || kind == KindBinary:
		return 1 + 4 + len(v.Str), 1
	case kind == KindTable:
		octets, values = v.Table.Size()
		return 1 + octets, 1 + values
	case kind == KindArray:
		octets, values = 1+4, 1
		for i := range v.Array {
			o, n := v.Array[i].size()
			octets, values = octets+o, values+n
		}
		return octets, values
	case !known:
		return 1, 1
	}
	return 1 + fixed, 1
}

// AppendTable appends t with its 4-octet length. A name over ShortStringMax octets is cut there, a value of unknown
// kind becomes void: see Check.
//
//	table: size(4) { length(1) name tag(1) value } *
//	array: size(4) { tag(1) value } *
func AppendTable(b []byte, t Table) []byte {
	b, start := beginSized(b)
	for i := range t {
		b = AppendShortString(b, t[i].Name)
		b = appendValue(b, t[i].Value)
	}
	return endSized(b, start)
}

// AppendShortString appends a length octet and s, cut to ShortStringMax octets: who must not lose the rest checks
// before.
func AppendShortString[S string | []byte](b []byte, s S) []byte {
	n := min(len(s), ShortStringMax)
	b = append(b, byte(n))
	return append(b, s[:n]...)
}

// AppendLongString appends a 4-octet length and s.
func AppendLongString[S string | []byte](b []byte, s S) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(len(s)))
	return append(b, s...)
}

func appendValue(b []byte, v Value) []byte {
	kind := v.kind()
	size, fixed := fixedSize(kind)
	switch {
	case kind == KindString || kind == KindBinary:
		return AppendLongString(append(b, kind), v.Str)
	case kind == KindTable:
		return AppendTable(append(b, kind), v.Table)
	case kind == KindArray:
		b, start := beginSized(append(b, kind))
		for i := range v.Array {
			b = appendValue(b, v.Array[i])
		}
		return endSized(b, start)
	case !fixed:
		return append(b, KindVoid)
	}
	b = append(b, kind)
	if kind == KindDecimal {
		b = append(b, v.Scale)
		size--
	}
	for shift := 8 * (size - 1); shift >= 0; shift -= 8 {
		b = append(b, byte(v.Int>>shift))
	}
	return b
}

// beginSized appends space for a 4-octet length; endSized fills it with what was appended since.
func beginSized(b []byte) (_ []byte, start int) { return append(b, 0, 0, 0, 0), len(b) + 4 }

func endSized(b []byte, start int) []byte {
	binary.BigEndian.PutUint32(b[start-4:], uint32(len(b)-start))
	return b
}
