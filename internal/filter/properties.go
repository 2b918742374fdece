package filter

import (
	"encoding/binary"
	"math"
	"strconv"

	"github.com/bartleby-mq/bartleby/internal/amqp"
)

// timestampMax is the last second of the year 9999.
const timestampMax = 253402300799

// propertyReader takes the short strings and the headers off the basic properties as on the wire. Of what is malformed
// it takes what comes before.
type propertyReader struct {
	has  amqp.Flags // what is still to come
	next amqp.Flags
	rest []byte

	timestamp int64 // seconds since the Unix epoch, 0: none was come by, or it is no year of four digits
}

func readProperties(raw []byte) (r propertyReader) {
	for more := true; more; {
		if len(raw) < 2 {
			return propertyReader{}
		}
		flags := amqp.Flags(binary.BigEndian.Uint16(raw))
		if raw = raw[2:]; r.next == 0 {
			r.has, r.next = flags, amqp.FlagContentType
		}
		more = flags&1 != 0
	}
	r.rest = raw
	return r
}

// take returns the next property, of the headers the fields without their length; flag is 0 at the end.
func (r *propertyReader) take() (flag amqp.Flags, v []byte) {
	for ; r.next >= amqp.FlagClusterID; r.next >>= 1 {
		if r.has&r.next == 0 {
			continue
		}
		skip, n := 1, 0
		switch r.next {
		case amqp.FlagDeliveryMode, amqp.FlagPriority:
		case amqp.FlagTimestamp:
			skip = 8
		case amqp.FlagHeaders:
			if skip = 4; len(r.rest) >= skip {
				n = int(binary.BigEndian.Uint32(r.rest))
			}
		default:
			if len(r.rest) >= skip {
				n = int(r.rest[0])
			}
		}
		if n < 0 || len(r.rest) < skip || n > len(r.rest)-skip {
			r.next = 0
			return 0, nil
		}
		if r.next == amqp.FlagTimestamp {
			if at := binary.BigEndian.Uint64(r.rest); at <= timestampMax {
				r.timestamp = int64(at)
			}
		}
		flag, v, r.rest = r.next, r.rest[skip:skip+n], r.rest[skip+n:]
		if flag != amqp.FlagDeliveryMode && flag != amqp.FlagPriority && flag != amqp.FlagTimestamp {
			r.next >>= 1
			return flag, v
		}
	}
	return 0, nil
}

// property returns the text of a short string, or the fields of the headers, lent.
func property(raw []byte, flag amqp.Flags) []byte {
	r := readProperties(raw)
	for {
		switch f, v := r.take(); f {
		case flag:
			return v
		case 0:
			return nil
		}
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

// text returns the value as text: lent, in buf if that is large enough, or of tables and arrays as JSON.
func (v value) text(buf []byte) []byte {
	switch v.kind {
	case amqp.KindString, amqp.KindBinary:
		return v.data
	case amqp.KindTable, amqp.KindArray:
		return v.appendNested(nil, 0)
	}
	return v.appendScalar(buf)
}

// appendScalar writes what is neither a string nor made of values. Void is nothing.
func (v value) appendScalar(b []byte) []byte {
	switch v.kind {
	case amqp.KindVoid:
		return b
	case amqp.KindBool:
		return strconv.AppendBool(b, v.data[0] != 0)
	case amqp.KindDecimal:
		return appendDecimal(b, v.data)
	case amqp.KindFloat32, amqp.KindFloat64:
		r, _ := v.real()
		bits := 64
		if v.kind == amqp.KindFloat32 {
			bits = 32
		}
		return strconv.AppendFloat(b, r.f, 'g', -1, bits)
	}
	r, _ := v.real()
	return strconv.AppendInt(b, r.n, 10)
}

// appendJSON writes any value within a table or an array.
func (v value) appendJSON(b []byte, depth int) []byte {
	switch v.kind {
	case amqp.KindVoid:
		return append(b, "null"...)
	case amqp.KindString, amqp.KindBinary:
		return appendQuoted(b, string(v.data))
	case amqp.KindTable, amqp.KindArray:
		return v.appendNested(b, depth)
	}
	return v.appendScalar(b)
}

// appendNested writes a table or an array. Of what is malformed or too deep it writes what comes before.
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
		b = inner.appendJSON(b, depth+1)
	}
	return append(b, end)
}

// appendDecimal writes digits with a point among them.
func appendDecimal(b, data []byte) []byte {
	n, scale := int64(int32(binary.BigEndian.Uint32(data[1:]))), int(data[0])
	if n < 0 {
		b, n = append(b, '-'), -n
	}
	var buf [24]byte
	digits := strconv.AppendInt(buf[:0], n, 10)
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
