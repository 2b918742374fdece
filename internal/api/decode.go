package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// ErrNotJSON refuses what is no JSON, or none in UTF-8.
var ErrNotJSON = errors.New("not_json")

const (
	// nestingMax bounds how deep a document nests: arguments, which nest 32 deep, have space in definitions.
	nestingMax = 64
	// keysMax bounds the keys of one object, which are all remembered while it is read.
	keysMax = 1 << 16
	// valueBytes and fieldBytes are about what a value takes, and what it takes in an object besides, where the type
	// that it is read into is not known: that of an amqp.Value, and the name with its place in a table and in an index.
	valueBytes, fieldBytes = 96, 80
)

// Decode reads a document that somebody sent into what a pointer points at. It is stricter than encoding/json, which
// would let one document say different things to different readers: a key is known by its very characters,
// none comes twice in one object, and no character is replaced by another. What is wrong is said in words for
// whoever wrote the document. Keys that are not known are passed over.
func Decode(text []byte, into any) error { return DecodeWithin(text, into, Bounds{}) }

// Bounds say what Decode asks for besides.
type Bounds struct {
	// Known is for bodies of our own: a key that is not known is refused, and so is null for a value that cannot be
	// null, which would be read as if the key were absent.
	Known bool
	// Admit is told about how many bytes will be taken by what is made from the document, before any of it is made; an
	// error refuses the document. nil: any number will do.
	Admit func(bytes int64) error
}

// DecodeWithin is Decode with bounds. Without Admit a short document may take a hundred times its size: a list of zeros
// does.
func DecodeWithin(text []byte, into any, b Bounds) error {
	if !utf8.Valid(text) || !json.Valid(text) {
		return ErrNotJSON
	}
	s := sieve{text: text, kept: make([]byte, 0, len(text)), known: b.Known, fields: map[reflect.Type]map[string]reflect.Type{}}
	if err := s.value(reflect.TypeOf(into), 0); err != nil {
		return err
	}
	if b.Admit != nil {
		if err := b.Admit(s.takes); err != nil {
			return err
		}
	}
	if err := json.Unmarshal(s.kept, into); err != nil {
		return errors.New(Wording(err))
	}
	return nil
}

// A sieve takes out of a valid document the keys that the type it is read into does not have.
type sieve struct {
	text   []byte // what is ahead
	kept   []byte
	takes  int64 // about how many bytes are made from what was kept
	known  bool  // see Bounds.Known
	fields map[reflect.Type]map[string]reflect.Type
}

// A holder reads its elements itself.
type holder interface{ held() reflect.Type }

// value takes a value into a t, nil: into something that knows its keys itself.
func (s *sieve) value(t reflect.Type, deep int) error {
	if deep > nestingMax {
		return fmt.Errorf("the document is nested deeper than %d", nestingMax)
	}
	if t != nil && t.Kind() == reflect.Pointer {
		s.takes += int64(t.Elem().Size())
	}
	t = seen(t)
	s.text = bytes.TrimLeft(s.text, " \t\r\n")
	switch s.text[0] {
	case '{':
		return s.object(t, deep)
	case '[':
		var of reflect.Type
		element := int64(valueBytes)
		if t != nil && (t.Kind() == reflect.Slice || t.Kind() == reflect.Array) {
			of = t.Elem()
			element = int64(of.Size())
		}
		return s.list(']', func() error {
			s.takes += 2 * element // the list that grows is copied
			return s.value(of, deep+1)
		})
	case '"':
		quoted, err := s.quoted()
		s.kept = append(s.kept, quoted...)
		s.takes += int64(len(quoted))
		return err
	}
	n := bytes.IndexAny(s.text, ",]} \t\r\n")
	if n < 0 {
		n = len(s.text)
	}
	s.keep(n)
	return nil
}

// seen is the type whose keys are looked at where a t is read: what t points at, or nil if t looks at them itself.
func seen(t reflect.Type) reflect.Type {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == nil {
		return nil
	}
	if h, ok := reflect.Zero(t).Interface().(holder); ok {
		return h.held()
	}
	if reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		return nil
	}
	return t
}

// nullable reports whether null is a value of a t, as the OpenAPI document shows it.
func nullable(t reflect.Type) bool {
	return t.Kind() == reflect.Pointer || t.Kind() == reflect.Interface || t == reflect.TypeFor[json.RawMessage]()
}

func nullError(key string, t reflect.Type) error {
	if t.Kind() == reflect.Bool {
		return fmt.Errorf("the value of '%s' must be true or false, not null", key)
	}
	return fmt.Errorf("the value of '%s' must not be null: omit the key instead", key)
}

// keep takes n bytes as they are.
func (s *sieve) keep(n int) {
	s.kept, s.text = append(s.kept, s.text[:n]...), s.text[n:]
}

// list takes what is between brackets, the elements with one. An element that keeps nothing loses its comma.
func (s *sieve) list(end byte, one func() error) error {
	s.keep(1)
	first := len(s.kept)
	for {
		s.text = bytes.TrimLeft(s.text, " \t\r\n,")
		if s.text[0] == end {
			s.keep(1)
			return nil
		}
		before := len(s.kept)
		if before > first {
			s.kept = append(s.kept, ',')
		}
		from := len(s.kept)
		if err := one(); err != nil {
			return err
		}
		if len(s.kept) == from {
			s.kept = s.kept[:before]
		}
	}
}

func (s *sieve) object(t reflect.Type, deep int) error {
	var fields map[string]reflect.Type
	var of reflect.Type
	var field int64
	switch {
	case t != nil && t.Kind() == reflect.Struct:
		fields = s.fieldsOf(t)
	case t != nil && t.Kind() == reflect.Map:
		of = t.Elem()
		field = int64(of.Size()) + fieldBytes
	default:
		field = 2*valueBytes + fieldBytes
	}
	var keys keySet
	return s.list('}', func() error {
		quoted, err := s.quoted()
		if err != nil {
			return err
		}
		key, err := unquote(quoted)
		if err != nil {
			return err
		}
		if !keys.add(key) {
			return fmt.Errorf("the key '%s' occurs twice in one object", key)
		}
		if len(keys.many) > keysMax {
			return fmt.Errorf("an object has more than %d keys", keysMax)
		}
		to, is := fields[key]
		if fields == nil {
			to, is = of, true
		}
		if !is && s.known {
			return fmt.Errorf("unknown field %s", strconv.Quote(key))
		}
		from, before := len(s.kept), s.takes
		s.takes += field + int64(len(key))
		s.kept = append(append(s.kept, quoted...), ':')
		s.text = bytes.TrimLeft(s.text, " \t\r\n:")
		if s.known && fields != nil && s.text[0] == 'n' && !nullable(to) {
			return nullError(key, to)
		}
		err = s.value(to, deep+1)
		if !is {
			s.kept, s.takes = s.kept[:from], before
		}
		return err
	})
}

// quoted takes a string and leaves it to the caller to keep it. An escaped half of a character alone is none.
func (s *sieve) quoted() ([]byte, error) {
	high := false // half a character was escaped, the other half must follow
	for i := 1; ; {
		switch c := s.text[i]; {
		case c == '\\' && s.text[i+1] == 'u':
			half, err := strconv.ParseUint(string(s.text[i+2:i+6]), 16, 16)
			if low := half >= 0xdc00 && half < 0xe000; err != nil || low != high {
				return nil, ErrNotJSON
			}
			high = half >= 0xd800 && half < 0xdc00
			i += 6
			continue
		case high:
			return nil, ErrNotJSON
		case c == '\\':
			i += 2
		case c == '"':
			text := s.text[:i+1]
			s.text = s.text[i+1:]
			return text, nil
		default:
			i++
		}
	}
}

func unquote(quoted []byte) (string, error) {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return string(quoted[1 : len(quoted)-1]), nil
	}
	var key string
	err := json.Unmarshal(quoted, &key)
	return key, err
}

// fieldsOf are the keys of a structure, with what is below each.
func (s *sieve) fieldsOf(t reflect.Type) map[string]reflect.Type {
	if fields, known := s.fields[t]; known {
		return fields
	}
	fields := map[string]reflect.Type{}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "" || !f.IsExported() || name == "-":
			continue
		case name == "":
			name = f.Name
		}
		fields[name] = f.Type
	}
	s.fields[t] = fields
	return fields
}

// A keySet is the keys of an object.
type keySet struct {
	few  []string
	many map[string]struct{} // when they are no longer few
}

// add reports whether the key is new.
func (k *keySet) add(key string) bool {
	const few = 16
	if k.many == nil {
		if slices.Contains(k.few, key) {
			return false
		}
		if k.few = append(k.few, key); len(k.few) > few {
			k.many = make(map[string]struct{}, 2*few)
			for _, f := range k.few {
				k.many[f] = struct{}{}
			}
		}
		return true
	}
	_, there := k.many[key]
	k.many[key] = struct{}{}
	return !there
}
