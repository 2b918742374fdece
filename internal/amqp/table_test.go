package amqp

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math"
	"strings"
	"testing"
)

// everyKind has a field of each kind; its encoding is everyKindHex.
func everyKind() Table {
	return Table{
		{"t", Bool(true)},
		{"b", Value{Kind: KindInt8, Int: -2}},
		{"B", Value{Kind: KindUint8, Int: 254}},
		{"s", Value{Kind: KindInt16, Int: -3}},
		{"u", Value{Kind: KindUint16, Int: 65533}},
		{"I", Int32(-4)},
		{"i", Value{Kind: KindUint32, Int: math.MaxUint32}},
		{"l", Int64(math.MinInt64)},
		{"f", Value{Kind: KindFloat32, Int: int64(math.Float32bits(1.5))}},
		{"d", Float64(-0.5)},
		{"D", Value{Kind: KindDecimal, Scale: 2, Int: 314}},
		{"S", String("hé\x00")},
		{"x", Binary("\xff\x00")},
		{"T", Timestamp(1 << 63)},
		{"F", TableValue(Table{{"k", String("v")}, {"k", Int64(1)}})},
		{"A", Array(String("a"), Array(), Bool(false))},
		{"V", Void()},
	}
}

var everyKindHex = strings.Join([]string{
	"00000099",
	"0174" + "74" + "01",
	"0162" + "62" + "fe",
	"0142" + "42" + "fe",
	"0173" + "73" + "fffd",
	"0175" + "75" + "fffd",
	"0149" + "49" + "fffffffc",
	"0169" + "69" + "ffffffff",
	"016c" + "6c" + "8000000000000000",
	"0166" + "66" + "3fc00000",
	"0164" + "64" + "bfe0000000000000",
	"0144" + "44" + "02" + "0000013a",
	"0153" + "53" + "00000004" + "68c3a900",
	"0178" + "78" + "00000002" + "ff00",
	"0154" + "54" + "8000000000000000",
	"0146" + "46" + "00000013" + "016b" + "53" + "00000001" + "76" + "016b" + "6c" + "0000000000000001",
	"0141" + "41" + "0000000d" + "53" + "00000001" + "61" + "41" + "00000000" + "74" + "00",
	"0156" + "56",
}, "")

func TestTableGolden(t *testing.T) {
	t.Parallel() // If it fails, headers and arguments reach clients with another type or value.
	want, err := hex.DecodeString(everyKindHex)
	if err != nil {
		t.Fatal(err)
	}
	if got := AppendTable(nil, everyKind()); !bytes.Equal(got, want) {
		t.Errorf("encoded\n%x, want\n%x", got, want)
	}
	got, rest, err := ParseTable(append(want, 0xAB))
	if err != nil {
		t.Fatal(err)
	}
	if !got.Equal(everyKind()) {
		t.Errorf("decoded %v, want %v", got, everyKind())
	}
	if !bytes.Equal(rest, []byte{0xAB}) {
		t.Errorf("rest %x, want ab", rest)
	}
}

func TestTableNormalises(t *testing.T) {
	t.Parallel() // If it fails, clients without the tag 'L' cannot read what others sent with it.
	in := []byte("\x00\x00\x00\x0e\x01aL\xff\xff\xff\xff\xff\xff\xff\xff\x00t\x07")
	table, _, err := ParseTable(in)
	if err != nil {
		t.Fatal(err)
	}
	if want := (Table{{"a", Int64(-1)}, {"", Bool(true)}}); !table.Equal(want) {
		t.Errorf("decoded %v, want %v", table, want)
	}
	normal := []byte("\x00\x00\x00\x0f\x01aL\xff\xff\xff\xff\xff\xff\xff\xff\x00A\x00\x00\x00\x02t\x07")
	binary.BigEndian.PutUint32(normal, uint32(len(normal)-4))
	if Normalize(normal); !bytes.HasSuffix(normal, []byte("\x01al\xff\xff\xff\xff\xff\xff\xff\xff\x00A\x00\x00\x00\x02t\x01")) {
		t.Errorf("normalized %q", normal)
	}
	if got, want := AppendTable(nil, table), "\x00\x00\x00\x0e\x01al\xff\xff\xff\xff\xff\xff\xff\xff\x00t\x01"; string(got) != want {
		t.Errorf("encoded %q, want %q", got, want)
	}
	if got, want := AppendTable(nil, Table{{"", Value{Kind: 'L', Int: 1}}, {"", Value{}}}), "\x00\x00\x00\x0c\x00l\x00\x00\x00\x00\x00\x00\x00\x01\x00V"; string(got) != want {
		t.Errorf("encoded %q, want %q", got, want)
	}
}

func TestTableRefusals(t *testing.T) {
	t.Parallel() // If it fails, a malformed table is accepted and passed on, or takes the broker down.
	cases := map[string]string{
		"no length":              "\x00\x00\x00",
		"longer than present":    "\x00\x00\x00\x05\x01aV",
		"huge length":            "\xff\xff\xff\xff",
		"name too long":          "\x00\x00\x00\x02\x05a",
		"tag missing":            "\x00\x00\x00\x02\x01a",
		"tag unknown":            "\x00\x00\x00\x03\x01aZ",
		"integer cut short":      "\x00\x00\x00\x06\x01aI\x00\x00\x00",
		"string length cut":      "\x00\x00\x00\x06\x01aS\x00\x00\x00",
		"string beyond table":    "\x00\x00\x00\x08\x01aS\x00\x00\x00\x02x",
		"huge string":            "\x00\x00\x00\x08\x01aS\xff\xff\xff\xffx",
		"huge array":             "\x00\x00\x00\x08\x01aA\x7f\xff\xff\xffx",
		"nested table malformed": "\x00\x00\x00\x0a\x01aF\x00\x00\x00\x03\x01bZ",
		"array tag unknown":      "\x00\x00\x00\x08\x01aA\x00\x00\x00\x01Z",
		"nested too deep":        string(nested(depthMax+1, KindTable)),
		"arrays too deep":        string(nested(depthMax+1, KindArray)),
	}
	for name, in := range cases {
		t.Run(name, func(t *testing.T) {
			table, _, err := ParseTable([]byte(in))
			wantSyntaxError(t, err)
			if table != nil {
				t.Errorf("table %v with an error", table)
			}
			_, _, err = SkipTable([]byte(in))
			wantSyntaxError(t, err)
		})
	}
}

func TestTableDepth(t *testing.T) {
	t.Parallel() // If it fails, tables of a legal depth are refused.
	for _, kind := range []byte{KindTable, KindArray} {
		in := nested(depthMax, kind)
		table, _, err := ParseTable(in)
		if err != nil {
			t.Fatal(err)
		}
		if err := table.Check(); err != nil {
			t.Error(err)
		}
		if got := AppendTable(nil, table); !bytes.Equal(got, in) {
			t.Errorf("encoded %x, want %x", got, in)
		}
	}
}

func TestTableAllocatesExactly(t *testing.T) {
	t.Parallel() // If it fails, a frame of tiny values takes several times the memory that it needs.
	var fields Table
	for range 1000 {
		fields = append(fields, Field{"", Void()})
	}
	in := AppendTable(nil, append(fields, Field{"a", Array(make([]Value, 1000)...)}))
	table, _, err := ParseTable(in)
	if err != nil {
		t.Fatal(err)
	}
	array, _ := table.Get("a")
	if cap(table) != 1001 || len(array.Array) != 1000 || cap(array.Array) != 1000 {
		t.Errorf("room for %d fields, %d values", cap(table), cap(array.Array))
	}
}

func TestTableCheck(t *testing.T) {
	t.Parallel() // If it fails, what an operator types is cut silently when encoded.
	deep := func(kind byte) Table {
		v := Void()
		for range depthMax + 1 {
			if kind == KindArray {
				v = Array(v)
			} else {
				v = TableValue(Table{{"", v}})
			}
		}
		return Table{{"", v}}
	}
	for name, table := range map[string]Table{
		"long name":       {{strings.Repeat("n", 256), Void()}},
		"unknown kind":    {{"a", Value{Kind: 'Z'}}},
		"in array":        {{"a", Array(Value{Kind: 1})}},
		"in table":        {{"a", TableValue(Table{{"b", Value{Kind: 1}}})}},
		"tables too deep": deep(KindTable),
		"arrays too deep": deep(KindArray),
	} {
		t.Run(name, func(t *testing.T) { wantSyntaxError(t, table.Check()) })
	}
	if err := everyKind().Check(); err != nil {
		t.Errorf("sound table: %v", err)
	}
}

func TestLookupField(t *testing.T) {
	t.Parallel() // If it fails, the broker misses or misreads x-delay, CC or x-death.
	raw := AppendTable(nil, Table{{"a", Array(Int32(1))}, {"x", Int32(2)}, {"x", String("no")}, {"F", TableValue(Table{{"in", Void()}})}})
	for _, c := range []struct {
		raw, name string
		want      Value
		found     bool
	}{
		{string(raw), "a", Array(Int32(1)), true},
		{string(raw), "x", Int32(2), true},
		{string(raw), "in", Value{}, false},
		{string(raw), "", Value{}, false},
		{"", "a", Value{}, false},
		{"\x00\x00\x00\x00", "a", Value{}, false},
	} {
		v, found, err := LookupField([]byte(c.raw), c.name)
		if err != nil || found != c.found || !v.Equal(c.want) {
			t.Errorf("%q: %v, %v, %v, want %v, %v", c.name, v, found, err, c.want, c.found)
		}
	}
	for _, malformed := range []string{"\x00\x00\x00", "\x00\x00\x00\x01\x01", "\x00\x00\x00\x03\x01bZ", "\x00\x00\x00\x03\x01aZ"} {
		_, found, err := LookupField([]byte(malformed), "a")
		wantSyntaxError(t, err)
		if found {
			t.Errorf("%q: found with an error", malformed)
		}
	}
}

// nested returns a table with that many tables or arrays within one another.
func nested(depth int, kind byte) []byte {
	v := Void()
	for range depth {
		if kind == KindArray {
			v = Array(v)
		} else {
			v = TableValue(Table{{"n", v}})
		}
	}
	return AppendTable(nil, Table{{"n", v}})
}

func wantSyntaxError(t *testing.T, err error) {
	t.Helper()
	if refusal, ok := errors.AsType[*Error](err); !ok || refusal.Code != CodeSyntaxError || !refusal.ClosesConnection() {
		t.Errorf("error %v, want a syntax error", err)
	}
}
