package amqp

import (
	"math"
	"testing"
)

func TestValueInteger(t *testing.T) {
	t.Parallel() // If it fails, x-message-ttl and the like are refused from some clients, or accepted as text.
	integers := map[byte]bool{
		KindInt8: true, KindUint8: true, KindInt16: true, KindUint16: true, KindInt32: true, KindUint32: true, KindInt64: true,
	}
	for _, f := range everyKind() {
		n, ok := f.Value.Integer()
		if ok != integers[f.Value.Kind] || ok && n != f.Value.Int {
			t.Errorf("%s: %d, %v", f.Value.TypeName(), n, ok)
		}
	}
}

func TestValueTypeName(t *testing.T) {
	t.Parallel() // If it fails, reply texts name types as no RabbitMQ does.
	want := []string{
		"bool", "byte", "unsignedbyte", "short", "unsignedshort", "signedint", "unsignedint", "long", "float", "double",
		"decimal", "longstr", "binary", "timestamp", "table", "array", "void",
	}
	for i, f := range everyKind() {
		if got := f.Value.TypeName(); got != want[i] {
			t.Errorf("%c: %s, want %s", f.Value.Kind, got, want[i])
		}
	}
}

func TestValueEqual(t *testing.T) {
	t.Parallel() // If it fails, values that differ are taken for the same.
	all := append(everyKind(), Field{"", Int64(1)}, Field{"", Int32(1)}, Field{"", Array()}, Field{"", TableValue(nil)},
		Field{"", String("")}, Field{"", Binary("")}, Field{"", Array(Int32(1))}, Field{"", Array(Int64(1))},
		Field{"", Value{Kind: KindDecimal, Scale: 1, Int: 314}}, Field{"", Bool(false)})
	for i, a := range all {
		for j, b := range all {
			if got := a.Value.Equal(b.Value); got != (i == j) {
				t.Errorf("%v equal to %v: %v", a.Value, b.Value, got)
			}
		}
	}
	if !(Value{}).Equal(Void()) || !(Value{Kind: 'L', Int: 3}).Equal(Int64(3)) {
		t.Error("what is written alike is not equal")
	}
}

func TestValueEquivalent(t *testing.T) {
	t.Parallel() // If it fails, redeclaring a queue with the same arguments from another client is refused.
	float32Of := func(f float32) Value { return Value{Kind: KindFloat32, Int: int64(math.Float32bits(f))} }
	for _, c := range []struct {
		a, b Value
		want bool
	}{
		{Int32(5), Int64(5), true},
		{Value{Kind: KindUint8, Int: 5}, Value{Kind: KindInt16, Int: 5}, true},
		{Int32(5), Int64(6), false},
		{Int32(5), Float64(5), false},
		{Int32(5), String("5"), false},
		{Int64(1), Bool(true), false},
		{Int64(1), Timestamp(1), false},
		{Int64(5), Value{Kind: KindDecimal, Int: 5}, false},
		{Value{Kind: KindDecimal, Int: 5}, Value{Kind: KindDecimal, Int: 5}, true},
		{Float64(0.5), float32Of(0.5), true},
		{Float64(0), Float64(math.Copysign(0, -1)), true},
		{Float64(math.NaN()), Float64(math.NaN()), true},
		{Float64(0.5), float32Of(0.25), false},
		{String("a"), String("a"), true},
		{String("a"), Binary("a"), false},
		{String("a"), String("b"), false},
		{Void(), Void(), true},
		{Array(String("a")), Array(String("a")), true},
		{Array(String("a")), Array(String("b")), false},
	} {
		if got := c.a.Equivalent(c.b); got != c.want {
			t.Errorf("%v and %v: %v", c.a, c.b, got)
		}
		if got := c.b.Equivalent(c.a); got != c.want {
			t.Errorf("%v and %v: %v", c.b, c.a, got)
		}
	}
}

func TestValueReaders(t *testing.T) {
	t.Parallel() // If it fails, a flag or number is read from a value of another type.
	if b, ok := Bool(true).Bool(); !b || !ok {
		t.Errorf("true: %v, %v", b, ok)
	}
	if _, ok := Int32(1).Bool(); ok {
		t.Error("an integer is no bool")
	}
	if f, ok := Float64(1.5).Float(); f != 1.5 || !ok {
		t.Errorf("1.5: %v, %v", f, ok)
	}
	if _, ok := Int32(1).Float(); ok {
		t.Error("an integer is no float")
	}
}
