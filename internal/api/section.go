package api

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// A Section is a List of definitions; what is wrong with an element is told with its name.
type Section[T any] []T

// MarshalJSON renders [] for no element.
func (s Section[T]) MarshalJSON() ([]byte, error) { return List[T](s).MarshalJSON() }

// UnmarshalJSON takes a list. An error names the first element that cannot be read.
func (s *Section[T]) UnmarshalJSON(b []byte) error {
	var all []T
	err := json.Unmarshal(b, &all)
	if err == nil {
		*s = all
		return nil
	}
	noun := nounOf(reflect.TypeFor[T]().Name())
	var each []json.RawMessage
	if json.Unmarshal(b, &each) != nil {
		return fmt.Errorf("the definitions of each %s must be a list", noun)
	}
	for i, raw := range each {
		if err := json.Unmarshal(raw, new(T)); err != nil {
			return fmt.Errorf("%s: %s", called(noun, i, raw), Wording(err))
		}
	}
	return err
}

// held implements holder.
func (Section[T]) held() reflect.Type { return reflect.TypeFor[[]T]() }

// nounOf makes words of the name of a shape: "topic permission" of TopicPermission.
func nounOf(shape string) string {
	shape = strings.TrimPrefix(shape, "Defined")
	if shape == "VHost" {
		return "vhost"
	}
	var b strings.Builder
	for i, r := range shape {
		if r >= 'A' && r <= 'Z' && i > 0 {
			b.WriteByte(' ')
		}
		b.WriteRune(r)
	}
	return strings.ToLower(b.String())
}

// called names an element of a section as far as it can be read.
func called(noun string, at int, raw json.RawMessage) string {
	var names map[string]json.RawMessage
	if json.Unmarshal(raw, &names) != nil {
		return fmt.Sprintf("%s number %d", noun, at+1)
	}
	name := func(key string) string {
		var name string
		_ = json.Unmarshal(names[key], &name) // what is no string names nothing
		return name
	}
	text := fmt.Sprintf("%s number %d", noun, at+1)
	if own := cmp.Or(name("name"), name("user"), name("source")); own != "" {
		text = fmt.Sprintf("%s '%s'", noun, own)
	}
	if component := name("component"); component != "" {
		text += " of component '" + component + "'"
	}
	if vhost := name("vhost"); vhost != "" {
		text += " in vhost '" + vhost + "'"
	}
	return text
}

// Wording is what is wrong with a document in JSON in words for whoever wrote it.
func Wording(err error) string {
	var wrong *json.UnmarshalTypeError
	switch {
	case !errors.As(err, &wrong):
		return strings.TrimPrefix(err.Error(), "json: ") // unknown field "…"
	case wrong.Field == "":
		return "it must not be a JSON " + wrong.Value
	}
	return fmt.Sprintf("the value of '%s' must not be a JSON %s", fieldOf(wrong.Field), wrong.Value)
}

// fieldOf is a path without the shapes that others have embedded.
func fieldOf(path string) string {
	at := strings.Split(path, ".")
	last := len(at) - 1
	shapes := func(name string) bool { return name != "" && name[0] >= 'A' && name[0] <= 'Z' }
	return strings.Join(append(slices.DeleteFunc(at[:last:last], shapes), at[last]), ".")
}
