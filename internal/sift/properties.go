package sift

import (
	"encoding/binary"
	"math"
	"strconv"

	"github.com/bartleby-mq/bartleby/internal/amqp"
)

// scan finds one property without allocating; what it finds is part of what it looks through.
type scan struct {
	flags amqp.Flags // which one
	found []byte     // a short string, or the fields of the headers
	ok    bool
}

// properties looks through raw, which is flags and list as on the wire. Of what is malformed it finds what comes before.
func (s *scan) properties(raw []byte) {
	eachProperty(raw, func(flag amqp.Flags, value []byte) bool {
		if flag == s.flags {
			s.found, s.ok = value, true
		}
		return !s.ok
	})
}

// eachProperty visits the short strings and the headers, those as fields without their length, until visit returns false.
func eachProperty(raw []byte, visit func(amqp.Flags, []byte) bool) {
	if len(raw) < 2 {
		return
	}
	has := amqp.Flags(binary.BigEndian.Uint16(raw))
	rest := raw[2:]
	for more := has; more&1 != 0; rest = rest[2:] {
		if len(rest) < 2 {
			return
		}
		more = amqp.Flags(binary.BigEndian.Uint16(rest))
	}
	for flag := amqp.FlagContentType; flag >= amqp.FlagClusterID; flag >>= 1 {
		if has&flag == 0 {
			continue
		}
		skip, n := 0, 0
		switch flag {
		case amqp.FlagDeliveryMode, amqp.FlagPriority:
			skip = 1
		case amqp.FlagTimestamp:
			skip = 8
		case amqp.FlagHeaders:
			if len(rest) < 4 {
				return
			}
			skip, n = 4, int(binary.BigEndian.Uint32(rest))
		default:
			if len(rest) < 1 {
				return
			}
			skip, n = 1, int(rest[0])
		}
		if n < 0 || len(rest) < skip || n > len(rest)-skip {
			return
		}
		if (skip == 1 || skip == 4) && flag != amqp.FlagDeliveryMode && flag != amqp.FlagPriority && !visit(flag, rest[skip:skip+n]) {
			return
		}
		rest = rest[skip+n:]
	}
}

// A value is one value of a field table, encoded.
type value struct {
	kind byte
	data []byte // without tag and length
}

// cutTagged takes a tag and its value.
func cutTagged(b []byte) (v value, rest []byte, ok bool) {
	if len(b) == 0 {
		return v, nil, false
	}
	v.kind, b = b[0], b[1:]
	n := 0
	switch v.kind {
	case amqp.KindVoid:
	case amqp.KindBool, amqp.KindInt8, amqp.KindUint8:
		n = 1
	case amqp.KindInt16, amqp.KindUint16:
		n = 2
	case amqp.KindInt32, amqp.KindUint32, amqp.KindFloat32:
		n = 4
	case amqp.KindDecimal:
		n = 5
	case amqp.KindInt64, 'L', amqp.KindFloat64, amqp.KindTimestamp:
		n = 8
	case amqp.KindString, amqp.KindBinary, amqp.KindTable, amqp.KindArray:
		if len(b) < 4 {
			return v, nil, false
		}
		n, b = int(binary.BigEndian.Uint32(b)), b[4:]
	default:
		return v, nil, false
	}
	if n < 0 || n > len(b) {
		return v, nil, false
	}
	v.data = b[:n]
	return v, b[n:], true
}

// cutNamed takes a field.
func cutNamed(b []byte) (name []byte, v value, rest []byte, ok bool) {
	if len(b) == 0 || int(b[0]) > len(b)-1 {
		return nil, v, nil, false
	}
	name, b = b[1:1+int(b[0])], b[1+int(b[0]):]
	v, rest, ok = cutTagged(b)
	return name, v, rest, ok
}

// lookup finds the first field of that name.
func lookup(fields []byte, name string) (v value, ok bool) {
	for len(fields) > 0 {
		n, v, rest, ok := cutNamed(fields)
		if !ok {
			return value{}, false
		}
		if string(n) == name {
			return v, true
		}
		fields = rest
	}
	return value{}, false
}

// real returns the value of a number, and of text that is one.
func (v value) real() (real, bool) {
	switch v.kind {
	case amqp.KindInt8:
		return whole(int64(int8(v.data[0]))), true
	case amqp.KindUint8:
		return whole(int64(v.data[0])), true
	case amqp.KindInt16:
		return whole(int64(int16(binary.BigEndian.Uint16(v.data)))), true
	case amqp.KindUint16:
		return whole(int64(binary.BigEndian.Uint16(v.data))), true
	case amqp.KindInt32:
		return whole(int64(int32(binary.BigEndian.Uint32(v.data)))), true
	case amqp.KindUint32:
		return whole(int64(binary.BigEndian.Uint32(v.data))), true
	case amqp.KindInt64, 'L', amqp.KindTimestamp:
		return whole(int64(binary.BigEndian.Uint64(v.data))), true
	case amqp.KindFloat32:
		return real{f: float64(math.Float32frombits(binary.BigEndian.Uint32(v.data)))}, true
	case amqp.KindFloat64:
		return real{f: math.Float64frombits(binary.BigEndian.Uint64(v.data))}, true
	case amqp.KindDecimal:
		f := float64(int32(binary.BigEndian.Uint32(v.data[1:])))
		return real{f: f / math.Pow10(int(v.data[0]))}, true
	case amqp.KindString, amqp.KindBinary:
		return parseReal(v.data)
	}
	return real{}, false
}

// text returns the value as text: lent, or in room if that is large enough.
func (v value) text(room []byte) []byte {
	switch v.kind {
	case amqp.KindString, amqp.KindBinary:
		return v.data
	}
	return v.append(room, 0)
}

// append writes the value as text, tables and arrays as JSON. Of what is malformed or too deep it writes what comes before.
func (v value) append(b []byte, depth int) []byte {
	switch v.kind {
	case amqp.KindVoid:
		if depth > 0 {
			return append(b, "null"...)
		}
		return b
	case amqp.KindBool:
		return strconv.AppendBool(b, v.data[0] != 0)
	case amqp.KindString, amqp.KindBinary:
		return appendQuoted(b, string(v.data))
	case amqp.KindDecimal:
		return appendDecimal(b, v.data)
	case amqp.KindFloat32, amqp.KindFloat64:
		r, _ := v.real()
		bits := 64
		if v.kind == amqp.KindFloat32 {
			bits = 32
		}
		return strconv.AppendFloat(b, r.f, 'g', -1, bits)
	case amqp.KindTable, amqp.KindArray:
		return v.appendNested(b, depth)
	}
	r, _ := v.real()
	return strconv.AppendInt(b, r.n, 10)
}

func (v value) appendNested(b []byte, depth int) []byte {
	if depth == nestingMax {
		return b
	}
	table := v.kind == amqp.KindTable
	open, end := byte('['), byte(']')
	if table {
		open, end = '{', '}'
	}
	b = append(b, open)
	for rest := v.data; len(rest) > 0; {
		var name []byte
		var inner value
		ok := false
		if table {
			name, inner, rest, ok = cutNamed(rest)
		} else {
			inner, rest, ok = cutTagged(rest)
		}
		if !ok {
			break
		}
		if b[len(b)-1] != open {
			b = append(b, ',')
		}
		if table {
			b = append(appendQuoted(b, string(name)), ':')
		}
		b = inner.append(b, depth+1)
	}
	return append(b, end)
}

// appendDecimal writes digits with a point among them.
func appendDecimal(b, data []byte) []byte {
	n, scale := int64(int32(binary.BigEndian.Uint32(data[1:]))), int(data[0])
	if n < 0 {
		b, n = append(b, '-'), -n
	}
	var room [24]byte
	digits := strconv.AppendInt(room[:0], n, 10)
	if scale == 0 {
		return append(b, digits...)
	}
	if scale > 32 {
		return strconv.AppendInt(append(append(b, digits...), "e-"...), int64(scale), 10)
	}
	for i := len(digits); i <= scale; i++ {
		if b = append(b, '0'); i == len(digits) && scale >= len(digits) {
			b = append(b, '.')
		}
	}
	if point := len(digits) - scale; point > 0 {
		return append(append(append(b, digits[:point]...), '.'), digits[point:]...)
	}
	return append(b, digits...)
}
