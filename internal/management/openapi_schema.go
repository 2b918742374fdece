package management

import (
	"encoding/json"
	"reflect"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/api"
)

// A schema is a JSON Schema, as far as the shapes of package api need one.
type schema map[string]any

// schemas collects those of named shapes, to which others refer.
type schemas map[string]schema

func ref(name string) schema { return schema{"$ref": "#/components/schemas/" + name} }

func kind(names ...string) schema {
	if len(names) == 1 {
		return schema{"type": names[0]}
	}
	return schema{"type": names}
}

// special are the shapes whose JSON is not what their Go type suggests.
func special(t reflect.Type) schema {
	switch t {
	case reflect.TypeFor[json.RawMessage]():
		return schema{}
	case reflect.TypeFor[api.Arguments](), reflect.TypeFor[api.MessageStats](), reflect.TypeFor[api.Limits]():
		return kind("object")
	case reflect.TypeFor[api.Flag]():
		return schema{"description": "boolean, or a string: true or false", "type": []string{"boolean", "string"}}
	case reflect.TypeFor[api.Number](), reflect.TypeFor[api.Priority]():
		return kind("integer")
	case reflect.TypeFor[api.Pattern]():
		return kind("string")
	case reflect.TypeFor[api.MessageID]():
		return schema{"description": "integer, as a string or a number", "type": []string{"string", "integer"}}
	case reflect.TypeFor[api.Integer]():
		return schema{"description": "integer, or a string of digits", "type": []string{"integer", "string"}}
	case reflect.TypeFor[api.Duration]():
		return schema{"description": "milliseconds, or a string with a unit such as 15m", "type": []string{"integer", "string"}}
	case reflect.TypeFor[api.Tags]():
		return schema{"description": "returned as a list; a comma-separated string is accepted too",
			"type": []string{"array", "string"}, "items": kind("string")}
	case reflect.TypeFor[api.DeliveryLimit]():
		return schema{"description": "a number, or unlimited", "type": []string{"integer", "string"}}
	case reflect.TypeFor[api.Amount]():
		return schema{"description": "bytes, or a string with a unit such as 512MiB",
			"type": []string{"integer", "string"}}
	case reflect.TypeFor[api.Instant]():
		return schema{"description": "ms since the Unix epoch, or RFC 3339", "type": []string{"integer", "string"}}
	}
	return nil
}

// of is the schema of a shape.
func (all schemas) of(t reflect.Type) schema {
	if s := special(t); s != nil {
		return s
	}
	switch t.Kind() {
	case reflect.Pointer:
		inner := all.of(t.Elem())
		if name, ok := inner["type"].(string); ok && len(inner) == 1 {
			return kind(name, "null")
		}
		return schema{"anyOf": []schema{inner, kind("null")}}
	case reflect.String:
		return kind("string")
	case reflect.Bool:
		return kind("boolean")
	case reflect.Float32, reflect.Float64:
		return kind("number")
	case reflect.Slice, reflect.Array:
		return schema{"type": "array", "items": all.of(t.Elem())}
	case reflect.Map:
		return schema{"type": "object", "additionalProperties": all.of(t.Elem())}
	case reflect.Struct:
		if t.Name() == "" || t.NumField() == 0 {
			return all.object(t)
		}
		if _, known := all[t.Name()]; !known {
			all[t.Name()] = nil // for shapes that hold themselves
			all[t.Name()] = all.object(t)
		}
		return ref(t.Name())
	}
	return kind("integer")
}

// object is the schema of a struct; its embedded structs' fields are its own. What is always there in an answer is
// required; in the body of a request nothing is, since most of it may be left out.
func (all schemas) object(t reflect.Type) schema {
	properties, required := schema{}, []string{}
	all.fields(t, properties, &required)
	s := schema{"type": "object", "properties": properties}
	for _, prefix := range []string{"Put", "Post", "Defined", "Definitions", "VHostDefinitions", "Create", "Bulk", "ResourceLimits"} {
		if strings.HasPrefix(t.Name(), prefix) {
			return s
		}
	}
	if len(required) > 0 {
		s["required"] = required
	}
	return s
}

func (all schemas) fields(t reflect.Type, properties schema, required *[]string) {
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-":
			continue
		case f.Anonymous && name == "":
			all.fields(f.Type, properties, required)
			continue
		case name == "":
			name = f.Name
		}
		properties[name] = all.of(f.Type)
		if !strings.Contains(options, "omit") {
			*required = append(*required, name)
		}
	}
}
