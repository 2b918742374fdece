package command

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/cli/output"
)

// A Row is one object of a list as the management API shows it.
type Row map[string]json.RawMessage

// A Column shows one value of a row. Columns that RabbitMQ has and we have nothing to say about have no path and
// stay empty.
type Column struct {
	Name string
	Path string                        // keys with dots between
	As   func(output.Cell) output.Cell // how the value is shown, nil: as it is
}

// at descends to the value at the path, nil if there is none.
func (r Row) at(path string) output.Cell {
	key, rest, nested := strings.Cut(path, ".")
	v := r[key]
	if !nested || v == nil {
		return v
	}
	var inner Row
	if err := json.Unmarshal(v, &inner); err != nil {
		return nil
	}
	return inner.at(rest)
}

// Same makes columns that are called as the API calls them.
func Same(names string) []Column {
	var cs []Column
	for _, name := range strings.Fields(names) {
		cs = append(cs, Column{Name: name, Path: name})
	}
	return cs
}

// Absent makes columns that are always empty.
func Absent(names string) []Column {
	cs := Same(names)
	for i := range cs {
		cs[i].Path = ""
	}
	return cs
}

// Choose picks the columns named by the arguments, or the default ones.
func (c *Call) Choose(known []Column, usual string) ([]Column, error) {
	return c.Pick(c.Args, known, usual)
}

// Pick picks the columns with these names, or those usual if there are none.
func (c *Call) Pick(wanted []string, known []Column, usual string) ([]Column, error) {
	if len(wanted) == 0 {
		wanted = strings.Fields(usual)
	}
	var chosen []Column
	var unknown []string
	for _, words := range wanted {
		for _, name := range strings.Fields(strings.ReplaceAll(words, ",", " ")) {
			i := slices.IndexFunc(known, func(k Column) bool { return k.Name == name })
			if i < 0 {
				unknown = append(unknown, name)
				continue
			}
			chosen = append(chosen, known[i])
		}
	}
	if unknown != nil {
		return nil, c.Invalid(fmt.Sprintf("Info key(s) %s are not supported\n%s", strings.Join(unknown, ","), listed(known)))
	}
	return chosen, nil
}

// Show prints the rows' values in these columns.
func (c *Call) Show(columns []Column, rows []Row) error {
	names := make([]string, len(columns))
	for i, k := range columns {
		names[i] = k.Name
	}
	cells := make([][]output.Cell, len(rows))
	for i, r := range rows {
		cells[i] = make([]output.Cell, len(columns))
		for j, k := range columns {
			v := r.at(k.Path)
			if k.As != nil && v != nil {
				v = k.As(v)
			}
			cells[i][j] = v
		}
	}
	return c.Table(names, cells)
}

// Rows asks for a list.
func (c *Call) Rows(segments ...string) ([]Row, error) {
	var rows []Row
	err := c.Client.Get(c.Ctx, &rows, segments...)
	return rows, err
}

// VhostRows asks for a list of a virtual host.
func (c *Call) VhostRows(segments ...string) ([]Row, error) {
	rows, err := c.Rows(segments...)
	if Status(err) == 404 {
		return nil, c.NoVHost(c.VHost())
	}
	return rows, err
}

// AsJSON shows an object as its text.
func AsJSON(v output.Cell) output.Cell {
	var b bytes.Buffer
	if err := json.Compact(&b, v); err != nil {
		return v
	}
	return output.StringCell(b.String())
}

// AsAtoms shows a list of words as Erlang shows atoms, without quotation marks.
func AsAtoms(v output.Cell) output.Cell {
	var list []string
	if err := json.Unmarshal(v, &list); err != nil {
		return v
	}
	return output.StringCell("[" + strings.Join(list, ", ") + "]")
}

// ForPeople applies a way of showing a value unless the output is JSON.
func (c *Call) ForPeople(as func(output.Cell) output.Cell) func(output.Cell) output.Cell {
	if strings.HasPrefix(c.Formatter(), "json") {
		return nil
	}
	return as
}

// ColumnsOf is help that lists the columns that have something in them.
func ColumnsOf(known func(*Call) []Column) func() string {
	return func() string {
		return listed(known(&Call{}))
	}
}

// listed names the columns that have something in them.
func listed(known []Column) string {
	var names []string
	for _, k := range known {
		if k.Path != "" {
			names = append(names, k.Name)
		}
	}
	return "Columns: " + strings.Join(names, " ")
}

// ListNothing lists what there never is.
func ListNothing(banner string) func(*Call) error {
	return func(c *Call) error {
		c.Banner(banner, c.VHost())
		return c.Table(nil, nil)
	}
}

// List asks for rows, of which the broker sends no more than the columns chosen, and shows these.
func (c *Call) List(columns []Column, segments ...string) error {
	var paths []string
	for _, k := range columns {
		if k.Path != "" && !slices.Contains(paths, k.Path) {
			paths = append(paths, k.Path)
		}
	}
	path := api.Path(segments...)
	if paths != nil {
		path += "?columns=" + strings.Join(paths, ",")
	}
	var rows []Row
	_, err := c.Client.Do(c.Ctx, http.MethodGet, path, nil, &rows)
	if Status(err) == http.StatusNotFound && len(segments) > 1 {
		return c.NoVHost(c.VHost())
	}
	if err != nil {
		return err
	}
	return c.Show(columns, rows)
}

// TimeoutBanner says how long the command may take.
func (c *Call) TimeoutBanner() { c.Banner("Timeout: %.1f seconds ...", c.Timeout.Seconds()) }

// FixedColumns is help that lists these columns.
func FixedColumns(names string) func() string {
	return func() string { return "Columns: " + names }
}
