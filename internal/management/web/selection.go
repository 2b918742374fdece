package web

import (
	"encoding"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
)

// A selection makes the JSON of some members of a struct, as encoding/json would among all others: a row of a list has
// many members, and clients ask for few of them.
type selection struct {
	of      reflect.Type
	whole   bool // it is no struct, or one that cannot be taken apart
	members []selected
}

// A selected member is one that is wanted.
type selected struct {
	index     []int
	name      string     // quoted, and a colon
	below     [][]string // what is wanted of it; nil: all
	omitEmpty bool
	omitZero  bool
}

// selectionOf finds what of a type the columns want.
func selectionOf(of reflect.Type, columns [][]string) *selection {
	whole := &selection{of: of, whole: true}
	if of.Kind() != reflect.Struct || encodesItself(of) {
		return whole
	}
	s, seen := &selection{of: of}, map[string]bool{}
	for _, f := range reflect.VisibleFields(of) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && (f.Type.Kind() != reflect.Struct || f.Tag.Get("json") != ""):
			return whole
		case f.Anonymous, !f.IsExported(), f.Tag.Get("json") == "-":
			continue
		case name == "":
			name = f.Name
		}
		all := strings.Split(options, ",")
		behind := f.Type.Kind() == reflect.Pointer || f.Type.Kind() == reflect.Interface
		if seen[name] || slices.Contains(all, "string") || behind && slices.Contains(all, "omitzero") {
			return whole
		}
		seen[name] = true
		quoted, err := Encode(name)
		if err != nil {
			return whole
		}
		if wanted, below := descendColumns(columns, quoted); wanted {
			s.members = append(s.members, selected{
				index: f.Index, name: string(quoted) + ":", below: below,
				omitEmpty: slices.Contains(all, "omitempty"), omitZero: slices.Contains(all, "omitzero"),
			})
		}
	}
	return s
}

func encodesItself(of reflect.Type) bool {
	p := reflect.PointerTo(of)
	return p.Implements(reflect.TypeFor[json.Marshaler]()) || p.Implements(reflect.TypeFor[encoding.TextMarshaler]())
}

// left reports whether a member is not shown because of what its value is.
func (m *selected) left(v reflect.Value) bool {
	if m.omitZero {
		if z, ok := v.Addr().Interface().(interface{ IsZero() bool }); ok {
			return z.IsZero()
		}
		return v.IsZero()
	}
	if !m.omitEmpty {
		return false
	}
	switch v.Kind() {
	case reflect.Array, reflect.Map, reflect.Slice, reflect.String:
		return v.Len() == 0
	case reflect.Struct:
		return false
	}
	return v.IsZero()
}

// selected makes JSON of the columns of a row; false if the row has to be made whole.
func (l *Stream) selected(row any) (text []byte, ok bool, err error) {
	v := reflect.ValueOf(row)
	if v.Kind() != reflect.Pointer || v.IsNil() {
		return nil, false, nil
	}
	if v = v.Elem(); l.chosen == nil || l.chosen.of != v.Type() {
		l.chosen = selectionOf(v.Type(), l.columns)
	}
	if l.chosen.whole {
		return nil, false, nil
	}
	b := append(l.short[:0], '{')
	for i := range l.chosen.members {
		m := &l.chosen.members[i]
		value := v.FieldByIndex(m.index)
		if m.left(value) {
			continue
		}
		l.row.Reset()
		if err := l.json.Encode(value.Addr().Interface()); err != nil {
			return nil, false, err
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(b, m.name...)
		if inner := l.row.Bytes()[:l.row.Len()-1]; m.below == nil {
			b = append(b, inner...)
		} else {
			b = appendFields(b, inner, m.below)
		}
	}
	l.short = append(b, '}')
	return l.short, true, nil
}
