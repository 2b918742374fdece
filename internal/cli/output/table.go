package output

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/fullwidth"
)

// Formats lists the forms of output. Source: RabbitMQ rabbitmqctl(8), OUTPUT ESCAPING.
func Formats() []string {
	return []string{"table", "pretty_table", "string", "csv", "json", "json_stream", "erlang"}
}

// A Table is where rows go, and in which form.
type Table struct {
	W       io.Writer
	Format  string            // of Formats
	Headers bool              // the names of the columns come first, where the form has a place for them
	Text    func(Cell) string // how a cell is shown to people: Text or Plain
}

// Write shows rows, each with a cell per column.
func (t *Table) Write(columns []string, rows [][]Cell) {
	switch t.Format {
	case "json", "json_stream":
		t.jsonRows(columns, rows)
		return
	case "csv":
		t.csvRows(columns, rows)
		return
	case "erlang":
		t.erlangRows(columns, rows)
		return
	case "pretty_table":
		t.prettyRows(columns, rows)
		return
	}
	if len(rows) > 0 && t.Headers {
		fmt.Fprintln(t.W, strings.Join(columns, "\t"))
	}
	for _, line := range t.texts(rows) {
		fmt.Fprintln(t.W, strings.Join(line, "\t"))
	}
}

// jsonRows writes one list, an object per line, or with json_stream objects only.
func (t *Table) jsonRows(columns []string, rows [][]Cell) {
	list := t.Format == "json"
	if list {
		fmt.Fprintln(t.W, "[")
	}
	for i, row := range rows {
		fields := make([]Field, len(columns))
		for j, name := range columns {
			fields[j] = Field{name, row[j]}
		}
		if list && i > 0 {
			fmt.Fprint(t.W, ",")
		}
		fmt.Fprintf(t.W, "%s\n", Object(fields))
	}
	if list {
		fmt.Fprintln(t.W, "]")
	}
}

// erlangRows writes a list of property lists, as Erlang's own tools read it.
func (t *Table) erlangRows(columns []string, rows [][]Cell) {
	lists := make([]string, len(rows))
	for i, row := range rows {
		pairs := make([]string, len(columns))
		for j, name := range columns {
			pairs[j] = "{" + atom(name) + "," + cmp.Or(Erlang(row[j]), `<<>>`) + "}"
		}
		lists[i] = "[" + strings.Join(pairs, ",") + "]"
	}
	fmt.Fprintf(t.W, "[%s]\n", strings.Join(lists, ","))
}

// csvRows puts every value in quotation marks. Source: RabbitMQ rabbitmqctl, csv formatter.
func (t *Table) csvRows(columns []string, rows [][]Cell) {
	lines := t.texts(rows)
	if t.Headers {
		lines = append([][]string{columns}, lines...)
	}
	for _, line := range lines {
		quoted := make([]string, len(line))
		for i, text := range line {
			quoted[i] = `"` + strings.ReplaceAll(text, `"`, `""`) + `"`
		}
		fmt.Fprintln(t.W, strings.Join(quoted, ","))
	}
}

func (t *Table) prettyRows(columns []string, rows [][]Cell) {
	lines := append([][]string{columns}, t.texts(rows)...)
	widths := make([]int, len(columns))
	for _, line := range lines {
		for i, text := range line {
			widths[i] = max(widths[i], fullwidth.Columns(text))
		}
	}
	rule := func(left, middle, right string) {
		parts := make([]string, len(widths))
		for i, n := range widths {
			parts[i] = strings.Repeat("─", n+2)
		}
		fmt.Fprintln(t.W, left+strings.Join(parts, middle)+right)
	}
	rule("┌", "┬", "┐")
	for i, line := range lines {
		if i > 0 {
			rule("├", "┼", "┤")
		}
		for j, text := range line {
			fmt.Fprintf(t.W, "│ %s%s ", text, strings.Repeat(" ", widths[j]-fullwidth.Columns(text)))
		}
		fmt.Fprintln(t.W, "│")
	}
	rule("└", "┴", "┘")
}

func (t *Table) texts(rows [][]Cell) [][]string {
	lines := make([][]string, len(rows))
	for i, row := range rows {
		lines[i] = make([]string, len(row))
		for j, v := range row {
			lines[i][j] = t.Text(v)
		}
	}
	return lines
}
