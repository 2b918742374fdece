package main

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"slices"
	"strings"
)

// spec is the part of the protocol description that methods are made of.
type spec struct {
	Constants []constant `xml:"constant"`
	Domains   []domain   `xml:"domain"`
	Classes   []class    `xml:"class"`
}

type constant struct {
	Name  string `xml:"name,attr"`
	Value uint16 `xml:"value,attr"`
	Class string `xml:"class,attr"` // soft-error, hard-error or nothing
}

type domain struct {
	Name string `xml:"name,attr"`
	Type string `xml:"type,attr"`
}

type class struct {
	Name    string   `xml:"name,attr"`
	Index   uint16   `xml:"index,attr"`
	Methods []method `xml:"method"`
}

type method struct {
	Name    string    `xml:"name,attr"`
	Index   uint16    `xml:"index,attr"`
	Content bool      `xml:"content,attr"`
	Chassis []chassis `xml:"chassis"`
	Fields  []field   `xml:"field"`
}

type chassis struct {
	Name string `xml:"name,attr"` // server or client: who receives the method
}

type field struct {
	Name     string `xml:"name,attr"`
	Domain   string `xml:"domain,attr"`
	Type     string `xml:"type,attr"` // resolved from Domain by parseSpec
	Reserved bool   `xml:"reserved,attr"`
}

// parseSpec reads the base description and merges the classes of extra into it. Classes and methods come out sorted
// by index, every field with its type.
func parseSpec(base, extra []byte) (*spec, error) {
	var s, more spec
	if err := xml.Unmarshal(base, &s); err != nil {
		return nil, fmt.Errorf("protocol description: %w", err)
	}
	if err := xml.Unmarshal(extra, &more); err != nil {
		return nil, fmt.Errorf("additions: %w", err)
	}
	for _, add := range more.Classes {
		i := slices.IndexFunc(s.Classes, func(c class) bool { return c.Index == add.Index })
		if i < 0 {
			s.Classes = append(s.Classes, add)
			continue
		}
		s.Classes[i].Methods = append(s.Classes[i].Methods, add.Methods...)
	}
	slices.SortFunc(s.Classes, func(a, b class) int { return cmp.Compare(a.Index, b.Index) })

	types := make(map[string]string, len(s.Domains))
	for _, d := range s.Domains {
		types[d.Name] = d.Type
	}
	for _, c := range s.Classes {
		slices.SortFunc(c.Methods, func(a, b method) int { return cmp.Compare(a.Index, b.Index) })
		for _, m := range c.Methods {
			for i := range m.Fields {
				f := &m.Fields[i]
				if f.Type == "" {
					f.Type = types[f.Domain]
				}
				if goTypes[f.Type] == "" {
					return nil, fmt.Errorf("%s.%s: field %s has unknown type %q", c.Name, m.Name, f.Name, f.Type)
				}
			}
		}
	}
	return &s, nil
}

// goTypes maps the protocol's types to those of the structs.
var goTypes = map[string]string{
	"bit": "bool", "octet": "uint8", "short": "uint16", "long": "uint32", "longlong": "uint64",
	"shortstr": "string", "longstr": "string", "timestamp": "uint64", "table": "amqp.Table",
}

// goName turns a name of the protocol, such as delivery-tag, into one of Go.
func goName(name string) string {
	if name == "nowait" { // confirm.select writes it so, all others no-wait
		name = "no-wait"
	}
	var b strings.Builder
	for word := range strings.SplitSeq(name, "-") {
		if word == "id" {
			b.WriteString("ID")
			continue
		}
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return b.String()
}
