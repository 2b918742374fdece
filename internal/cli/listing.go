package cli

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// A row is one object of a list as the management API shows it.
type row map[string]json.RawMessage

// A column shows one value of a row. Columns that RabbitMQ has and we have nothing to say about have no path and
// stay empty.
type column struct {
	name string
	path string          // keys with dots between
	as   func(cell) cell // how the value is shown, nil: as it is
}

// at descends to the value at the path, nil if there is none.
func (r row) at(path string) cell {
	key, rest, nested := strings.Cut(path, ".")
	v := r[key]
	if !nested || v == nil {
		return v
	}
	var inner row
	if err := json.Unmarshal(v, &inner); err != nil {
		return nil
	}
	return inner.at(rest)
}

// same makes columns that are called as the API calls them.
func same(names string) []column {
	var cs []column
	for _, name := range strings.Fields(names) {
		cs = append(cs, column{name: name, path: name})
	}
	return cs
}

// absent makes columns that are always empty.
func absent(names string) []column {
	cs := same(names)
	for i := range cs {
		cs[i].path = ""
	}
	return cs
}

// choose picks the columns named by the arguments, or the default ones.
func (c *call) choose(known []column, usual string) ([]column, error) {
	return c.pick(c.args, known, usual)
}

func (c *call) pick(wanted []string, known []column, usual string) ([]column, error) {
	if len(wanted) == 0 {
		wanted = strings.Fields(usual)
	}
	var chosen []column
	var unknown []string
	for _, words := range wanted {
		for _, name := range strings.Fields(strings.ReplaceAll(words, ",", " ")) {
			i := slices.IndexFunc(known, func(k column) bool { return k.name == name })
			if i < 0 {
				unknown = append(unknown, name)
				continue
			}
			chosen = append(chosen, known[i])
		}
	}
	if unknown != nil {
		return nil, c.invalid("Info key(s) " + strings.Join(unknown, ",") + " are not supported")
	}
	return chosen, nil
}

// show prints the rows' values in these columns.
func (c *call) show(columns []column, rows []row) error {
	names := make([]string, len(columns))
	for i, k := range columns {
		names[i] = k.name
	}
	cells := make([][]cell, len(rows))
	for i, r := range rows {
		cells[i] = make([]cell, len(columns))
		for j, k := range columns {
			v := r.at(k.path)
			if k.as != nil && v != nil {
				v = k.as(v)
			}
			cells[i][j] = v
		}
	}
	return c.table(names, cells)
}

// rows asks for a list.
func (c *call) rows(segments ...string) ([]row, error) {
	var rows []row
	err := c.client.Get(c.ctx, &rows, segments...)
	return rows, err
}

// vhostRows asks for a list of a virtual host.
func (c *call) vhostRows(segments ...string) ([]row, error) {
	rows, err := c.rows(segments...)
	if status(err) == 404 {
		return nil, c.noVHost(c.vhost())
	}
	return rows, err
}

// asJSON shows an object as its text.
func asJSON(v cell) cell {
	var b bytes.Buffer
	if err := json.Compact(&b, v); err != nil {
		return v
	}
	return textCell(b.String())
}

// asAtoms shows a list of words as Erlang shows atoms, without quotation marks.
func asAtoms(v cell) cell {
	var list []string
	if err := json.Unmarshal(v, &list); err != nil {
		return v
	}
	return textCell("[" + strings.Join(list, ", ") + "]")
}

// forPeople applies a way of showing a value unless the output is JSON.
func (c *call) forPeople(as func(cell) cell) func(cell) cell {
	if strings.HasPrefix(c.formatter(), "json") {
		return nil
	}
	return as
}

// columnsOf is help that lists the columns that have something in them.
func columnsOf(known func(*call) []column) func() string {
	return func() string {
		var names []string
		for _, k := range known(&call{}) {
			if k.path != "" {
				names = append(names, k.name)
			}
		}
		return "Columns: " + strings.Join(names, " ")
	}
}

// listNothing lists what there never is.
func listNothing(banner string) func(*call) error {
	return func(c *call) error {
		c.banner(banner, c.vhost())
		return c.table(nil, nil)
	}
}
