package amqp

import "encoding/binary"

// ParseTable decodes the table at the start of b, which begins with its 4-octet length, and returns what follows it.
// The table owns its memory. Errors are *Error with code 502: lengths beyond the octets present, an unknown type tag,
// too deep a nesting.
// Source: RabbitMQ field types.
func ParseTable(b []byte) (t Table, rest []byte, err error) {
	body, rest, ok := cutLong(b)
	if !ok {
		return nil, nil, malformed("field table: longer than the octets present")
	}
	t, err = parseFields(body, 0)
	if err != nil {
		return nil, nil, err
	}
	return t, rest, nil
}

// SkipTable validates the table at the start of b as ParseTable does, without allocating, and returns it with its
// length octets, and what follows it. Both are parts of b.
func SkipTable(b []byte) (raw, rest []byte, err error) {
	body, rest, ok := cutLong(b)
	if !ok {
		return nil, nil, malformed("field table: longer than the octets present")
	}
	if err := skipFields(body, 0); err != nil {
		return nil, nil, err
	}
	end := 4 + len(body)
	return b[:end:end], rest, nil
}

// LookupField finds the first field of that name in an encoded table, which begins with its 4-octet length, and
// decodes its value alone. An empty raw is an empty table. It allocates nothing when the field is absent or of fixed
// size. Errors are those of ParseTable, as far as the search went.
func LookupField(raw []byte, name string) (v Value, ok bool, err error) {
	if len(raw) == 0 {
		return Value{}, false, nil
	}
	b, _, ok := cutLong(raw)
	if !ok {
		return Value{}, false, malformed("field table: longer than the octets present")
	}
	for len(b) > 0 {
		field, value, err := cutName(b)
		if err != nil {
			return Value{}, false, err
		}
		if string(field) == name {
			v, _, err = parseValue(value, 0)
			return v, err == nil, err
		}
		if _, _, b, err = cutValue(value); err != nil {
			return Value{}, false, err
		}
	}
	return Value{}, false, nil
}

// CutField splits the octets of a table, without their 4-octet length, after the first field: its name, the whole field
// with name and tag, and the rest. It looks into no nested table or array. Errors are those of ParseTable.
func CutField(b []byte) (name, field, rest []byte, err error) {
	name, value, err := cutName(b)
	if err != nil {
		return nil, nil, nil, err
	}
	if _, _, rest, err = cutValue(value); err != nil {
		return nil, nil, nil, err
	}
	n := len(b) - len(rest)
	return name, b[:n:n], rest, nil
}

// Normalize rewrites an encoded table, which begins with its 4-octet length and passes SkipTable, in place, as
// AppendTable would have written it: 'L' as 'l', true as 1. Nothing changes its size.
func Normalize(raw []byte) {
	if len(raw) > 4 {
		normalizeFields(raw[4:])
	}
}

func normalizeFields(b []byte) {
	for len(b) > 0 {
		_, value, err := cutName(b)
		if err != nil {
			return
		}
		b = normalizeValue(value)
	}
}

// normalizeValue rewrites the tag and value at the start of b and returns what follows them.
func normalizeValue(b []byte) (rest []byte) {
	kind, p, rest, err := cutValue(b)
	switch {
	case err != nil:
		return nil
	case kind == KindTable:
		normalizeFields(p)
	case kind == KindArray:
		for len(p) > 0 {
			p = normalizeValue(p)
		}
	case kind == KindInt64:
		b[0] = KindInt64
	case kind == KindBool:
		p[0] = min(p[0], 1)
	}
	return rest
}

func parseFields(b []byte, depth int) (Table, error) {
	if depth > depthMax {
		return nil, malformed("field table: nested deeper than %d", depthMax)
	}
	n := 0
	for rest := b; len(rest) > 0; n++ {
		_, value, err := cutName(rest)
		if err != nil {
			return nil, err
		}
		if _, _, rest, err = cutValue(value); err != nil {
			return nil, err
		}
	}
	if n == 0 {
		return nil, nil
	}
	t := make(Table, 0, n) // counted before: growing would allocate several times as much
	for len(b) > 0 {
		name, value, err := cutName(b)
		if err != nil {
			return nil, err
		}
		v, rest, err := parseValue(value, depth)
		if err != nil {
			return nil, err
		}
		t = append(t, Field{Name: string(name), Value: v})
		b = rest
	}
	return t, nil
}

func parseArray(b []byte, depth int) ([]Value, error) {
	if depth > depthMax {
		return nil, malformed("field table: nested deeper than %d", depthMax)
	}
	n := 0
	for rest := b; len(rest) > 0; n++ {
		var err error
		if _, _, rest, err = cutValue(rest); err != nil {
			return nil, err
		}
	}
	if n == 0 {
		return nil, nil
	}
	vs := make([]Value, 0, n)
	for len(b) > 0 {
		v, rest, err := parseValue(b, depth)
		if err != nil {
			return nil, err
		}
		vs = append(vs, v)
		b = rest
	}
	return vs, nil
}

// parseValue decodes the tag and value at the start of b, inside a table or array at that depth.
func parseValue(b []byte, depth int) (v Value, rest []byte, err error) {
	kind, p, rest, err := cutValue(b)
	if err != nil {
		return Value{}, nil, err
	}
	switch kind {
	case KindString, KindBinary:
		return Value{Kind: kind, Str: string(p)}, rest, nil
	case KindTable:
		v.Kind = kind
		v.Table, err = parseFields(p, depth+1)
		return v, rest, err
	case KindArray:
		v.Kind = kind
		v.Array, err = parseArray(p, depth+1)
		return v, rest, err
	}
	return fixedValue(kind, p), rest, nil
}

func skipFields(b []byte, depth int) error {
	if depth > depthMax {
		return malformed("field table: nested deeper than %d", depthMax)
	}
	for len(b) > 0 {
		_, value, err := cutName(b)
		if err != nil {
			return err
		}
		if b, err = skipValue(value, depth); err != nil {
			return err
		}
	}
	return nil
}

func skipValue(b []byte, depth int) (rest []byte, err error) {
	kind, p, rest, err := cutValue(b)
	switch {
	case err != nil:
		return nil, err
	case kind == KindTable:
		return rest, skipFields(p, depth+1)
	case kind == KindArray:
		if depth+1 > depthMax {
			return nil, malformed("field table: nested deeper than %d", depthMax)
		}
		for len(p) > 0 {
			if p, err = skipValue(p, depth+1); err != nil {
				return nil, err
			}
		}
	}
	return rest, nil
}

// cutValue splits b after its first value: the tag, the value's octets without their length, and the rest. It looks
// into no table or array.
func cutValue(b []byte) (kind byte, value, rest []byte, err error) {
	if len(b) == 0 {
		return 0, nil, nil, malformed("field table: type tag missing")
	}
	kind, b = b[0], b[1:]
	switch kind {
	case KindString, KindBinary, KindTable, KindArray:
		value, rest, ok := cutLong(b)
		if !ok {
			return 0, nil, nil, malformed("field table: value of type '%c' longer than the octets present", kind)
		}
		return kind, value, rest, nil
	case kindInt64Alternate:
		kind = KindInt64
	}
	n, known := fixedSize(kind)
	if !known {
		return 0, nil, nil, malformed("field table: unknown type tag %d", kind)
	}
	if n > len(b) {
		return 0, nil, nil, malformed("field table: value of type '%c' longer than the octets present", kind)
	}
	return kind, b[:n], b[n:], nil
}

// cutName splits b after the name of its first field.
func cutName(b []byte) (name, rest []byte, err error) {
	name, rest, ok := cutShort(b)
	if !ok {
		return nil, nil, malformed("field table: name longer than the octets present")
	}
	return name, rest, nil
}

// cutShort splits b after the short string it begins with.
func cutShort(b []byte) (s, rest []byte, ok bool) {
	if len(b) == 0 || int(b[0]) > len(b)-1 {
		return nil, nil, false
	}
	n := 1 + int(b[0])
	return b[1:n:n], b[n:], true
}

// cutLong splits b after the 4-octet length and as many octets that it begins with.
func cutLong(b []byte) (s, rest []byte, ok bool) {
	if len(b) < 4 {
		return nil, nil, false
	}
	size := uint64(binary.BigEndian.Uint32(b))
	if size > uint64(len(b)-4) {
		return nil, nil, false
	}
	n := 4 + int(size)
	return b[4:n:n], b[n:], true
}

// fixedSize returns the octets that a value of a kind of fixed size takes after its tag.
func fixedSize(kind byte) (size int, ok bool) {
	switch kind {
	case KindVoid:
		return 0, true
	case KindBool, KindInt8, KindUint8:
		return 1, true
	case KindInt16, KindUint16:
		return 2, true
	case KindInt32, KindUint32, KindFloat32:
		return 4, true
	case KindDecimal:
		return 5, true
	case KindInt64, KindFloat64, KindTimestamp:
		return 8, true
	}
	return 0, false
}

// fixedValue decodes p, whose size is fixedSize(kind).
func fixedValue(kind byte, p []byte) Value {
	v := Value{Kind: kind}
	if kind == KindDecimal {
		v.Scale, p = p[0], p[1:]
	}
	for _, octet := range p {
		v.Int = v.Int<<8 | int64(octet)
	}
	switch kind {
	case KindBool:
		v.Int = min(v.Int, 1)
	case KindInt8:
		v.Int = int64(int8(v.Int))
	case KindInt16:
		v.Int = int64(int16(v.Int))
	case KindInt32:
		v.Int = int64(int32(v.Int))
	}
	return v
}
