package web

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

func TestFields(t *testing.T) {
	// If this fails, a tool that asks for columns is shown the wrong ones, or none.
	t.Parallel()
	const text = `{"name":"a,\"}\\","n":-1.5e3,"o":{"p":{"q":[],"r":null},"s":true},"l":[{"x":1,"y":"]"},{"y":2},3],"we\u0009ird":{},"e":[]}`
	for columns, want := range map[string]string{
		"name":         `{"name":"a,\"}\\"}`,
		"n,none":       `{"n":-1.5e3}`,
		"o.p.q":        `{"o":{"p":{"q":[]}}}`,
		"o.s,o.p.r":    `{"o":{"p":{"r":null},"s":true}}`,
		"o.p.r,o":      `{"o":{"p":{"q":[],"r":null},"s":true}}`,
		"l.y":          `{"l":[{"y":"]"},{"y":2},3]}`,
		"n.deeper,e.f": `{"n":-1.5e3,"e":[]}`,
		"we\tird":      `{"we\u0009ird":{}}`,
		".,o..":        `{"o":{}}`,
		"o.x":          `{"o":{}}`,
	} {
		if got := string(appendFields(nil, []byte(text), columnsOf(columns))); got != want {
			t.Errorf("%s: %s, want %s", columns, got, want)
		}
	}
	for path, want := range map[string]string{"o.p.r": "null", "n": "-1.5e3", "l": `[{"x":1,"y":"]"},{"y":2},3]`, "n.x": "", "o.none": "", "e.0": ""} {
		if got := string(FieldOf([]byte(text), strings.Split(path, "."))); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}

func FuzzFields(f *testing.F) {
	// If this fails, an answer with columns is no JSON, or a name or string with odd characters crashes the
	// door.
	f.Add(`{"a":[1,{"b":"\\\""}],"c":{"a":{}}}`, "a.b,c")
	f.Fuzz(func(t *testing.T, text, columns string) {
		var tree any
		if json.Unmarshal([]byte(text), &tree) != nil || columns == "" {
			return
		}
		compact, err := Encode(tree)
		if err != nil {
			t.Fatal(err)
		}
		paths := columnsOf(columns)
		got := appendFields(nil, compact, paths)
		var shown any
		if err := json.Unmarshal(got, &shown); err != nil {
			t.Fatalf("%s of %s: %s: %v", columns, compact, got, err)
		}
		if want := fieldsOfTree(tree, paths); !reflect.DeepEqual(shown, want) {
			t.Errorf("%s of %s: %s", columns, compact, got)
		}
	})
}

// fieldsOfTree is appendFields, slowly.
func fieldsOfTree(tree any, columns [][]string) any {
	switch tree := tree.(type) {
	case []any:
		kept := []any{}
		for _, x := range tree {
			kept = append(kept, fieldsOfTree(x, columns))
		}
		return kept
	case map[string]any:
		kept := map[string]any{}
		for name, inner := range tree {
			var below [][]string
			whole := false
			for _, path := range columns {
				if path[0] == name {
					whole = whole || len(path) == 1
					below = append(below, path[1:])
				}
			}
			switch {
			case whole:
				kept[name] = inner
			case below != nil:
				kept[name] = fieldsOfTree(inner, below)
			}
		}
		return kept
	}
	return tree
}
