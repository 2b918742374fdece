package amqp

import (
	"math"
	"slices"
)

// The kinds of a Value are the tags that stand before it on the wire, with RabbitMQ's meaning of them: 's' is a
// 16 bit integer, 'l' a signed one. 'L' is read as 'l' and never written.
// Source: RabbitMQ field types.
const (
	KindBool           byte = 't'
	KindInt8           byte = 'b'
	KindUint8          byte = 'B'
	KindInt16          byte = 's'
	KindUint16         byte = 'u'
	KindInt32          byte = 'I'
	KindUint32         byte = 'i'
	KindInt64          byte = 'l'
	kindInt64Alternate byte = 'L'
	KindFloat32        byte = 'f'
	KindFloat64        byte = 'd'
	KindDecimal        byte = 'D'
	KindString         byte = 'S'
	KindBinary         byte = 'x'
	KindTimestamp      byte = 'T'
	KindTable          byte = 'F'
	KindArray          byte = 'A'
	KindVoid           byte = 'V'
)

// Value is one value of a field table or an array. The zero Value is void. Values are read by many and changed by
// none once made; a copy shares Table and Array.
type Value struct {
	Kind  byte  // one of the Kind constants; 0 counts as KindVoid
	Scale uint8 // KindDecimal: digits after the point
	// integers; bool as 0 or 1; seconds of a timestamp (unsigned); a decimal's digits; the bits of a float
	Int   int64
	Str   string  // KindString, KindBinary: any octets
	Table Table   // KindTable
	Array []Value // KindArray
}

// Bool returns a bool.
func Bool(b bool) Value {
	if b {
		return Value{Kind: KindBool, Int: 1}
	}
	return Value{Kind: KindBool}
}

// Int32 returns a signedint.
func Int32(n int32) Value { return Value{Kind: KindInt32, Int: int64(n)} }

// Int64 returns a long.
func Int64(n int64) Value { return Value{Kind: KindInt64, Int: n} }

// Float64 returns a double.
func Float64(f float64) Value { return Value{Kind: KindFloat64, Int: int64(math.Float64bits(f))} }

// String returns a longstr, the usual kind of text.
func String(s string) Value { return Value{Kind: KindString, Str: s} }

// Binary returns a byte array.
func Binary(s string) Value { return Value{Kind: KindBinary, Str: s} }

// Timestamp returns an instant in whole seconds since the Unix epoch.
func Timestamp(seconds uint64) Value { return Value{Kind: KindTimestamp, Int: int64(seconds)} }

// Array returns an array that keeps vs.
func Array(vs ...Value) Value { return Value{Kind: KindArray, Array: vs} }

// TableValue returns a nested table that keeps t.
func TableValue(t Table) Value { return Value{Kind: KindTable, Table: t} }

// Void returns the value that is none.
func Void() Value { return Value{Kind: KindVoid} }

// Bool reports the truth of a bool; ok is false for any other kind.
func (v Value) Bool() (b, ok bool) { return v.Int != 0, v.Kind == KindBool }

// Integer returns the value of an integer of any width and sign; ok is false for any other kind, floats, decimals and
// strings of digits among them.
// Source: RabbitMQ, integer arguments.
func (v Value) Integer() (n int64, ok bool) {
	switch v.Kind {
	case KindInt8, KindUint8, KindInt16, KindUint16, KindInt32, KindUint32, KindInt64, kindInt64Alternate:
		return v.Int, true
	}
	return 0, false
}

// Float returns the value of a float or double; ok is false for any other kind.
func (v Value) Float() (f float64, ok bool) {
	switch v.Kind {
	case KindFloat32:
		return float64(math.Float32frombits(uint32(v.Int))), true
	case KindFloat64:
		return math.Float64frombits(uint64(v.Int)), true
	}
	return 0, false
}

// TypeName returns RabbitMQ's name of the kind, as it stands in reply texts.
// Source: RabbitMQ, argument errors.
func (v Value) TypeName() string {
	switch v.Kind {
	case KindBool:
		return "bool"
	case KindInt8:
		return "byte"
	case KindUint8:
		return "unsignedbyte"
	case KindInt16:
		return "short"
	case KindUint16:
		return "unsignedshort"
	case KindInt32:
		return "signedint"
	case KindUint32:
		return "unsignedint"
	case KindInt64, kindInt64Alternate:
		return "long"
	case KindFloat32:
		return "float"
	case KindFloat64:
		return "double"
	case KindDecimal:
		return "decimal"
	case KindString:
		return "longstr"
	case KindBinary:
		return "binary"
	case KindTimestamp:
		return "timestamp"
	case KindTable:
		return "table"
	case KindArray:
		return "array"
	}
	return "void"
}

// Equal reports whether v and o are the same in kind and value, floats bit by bit, tables field by field in order.
func (v Value) Equal(o Value) bool {
	return v.kind() == o.kind() && v.Scale == o.Scale && v.Int == o.Int && v.Str == o.Str &&
		v.Table.Equal(o.Table) && slices.EqualFunc(v.Array, o.Array, Value.Equal)
}

// Equivalent reports whether a redeclaration with o agrees with v, and whether a headers exchange takes o for v:
// integers of any width and sign are compared by value, floats of both widths by value, all else as by Equal. An
// integer is never equivalent to a float, nor to a string of its digits.
// Source: RabbitMQ, argument equivalence.
func (v Value) Equivalent(o Value) bool {
	if a, ok := v.Integer(); ok {
		b, ok := o.Integer()
		return ok && a == b
	}
	if a, ok := v.Float(); ok {
		b, ok := o.Float()
		return ok && (a == b || v.Equal(o))
	}
	return v.Equal(o)
}

// kind returns the tag under which v is written.
func (v Value) kind() byte {
	switch v.Kind {
	case 0:
		return KindVoid
	case kindInt64Alternate:
		return KindInt64
	}
	return v.Kind
}
