package cli

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// A cell is a value as JSON; nil is absent.
type cell = json.RawMessage

func textCell(s string) cell {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		return nil
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

func (c *call) formatter() string { return c.words.or("formatter", "table") }

// formatters lists the forms of output. Source: RabbitMQ rabbitmqctl(8), OUTPUT ESCAPING.
func formatters() []string {
	return []string{"table", "pretty_table", "string", "csv", "json", "json_stream", "erlang"}
}

func (c *call) checkFormatter() error {
	known := formatters()
	if !slices.Contains(known, c.formatter()) {
		return c.invalid(fmt.Sprintf("unknown formatter '%s'; known are %s", c.formatter(), strings.Join(known, ", ")))
	}
	return nil
}

// machine reports whether the output is for a program.
func (c *call) machine() bool {
	return slices.Contains([]string{"csv", "json", "json_stream"}, c.formatter())
}

func (c *call) quiet() bool { return c.words.on("quiet") || c.words.on("silent") || c.machine() }

// banner says what is being done, unless nobody wants to know.
func (c *call) banner(format string, args ...any) {
	if !c.quiet() {
		fmt.Fprintf(c.stdout, format+"\n", args...)
	}
}

// done ends a command that changed something. The message is for people; value may be nil.
func (c *call) done(message string, value cell) error {
	switch c.formatter() {
	case "json", "json_stream":
		o := []field{{"result", textCell("ok")}, {"node", textCell(c.node)}}
		if value == nil && message != "" {
			value = textCell(message)
		}
		if value != nil {
			o = append(o, field{"value", value})
		}
		fmt.Fprintf(c.stdout, "%s\n", object(o))
	case "erlang":
		if value != nil {
			fmt.Fprintf(c.stdout, "{ok,%s}\n", erlang(value))
			return nil
		}
		fmt.Fprintln(c.stdout, "ok")
	case "csv":
	default:
		if message != "" && !c.words.on("silent") {
			fmt.Fprintln(c.stdout, message)
		}
	}
	return nil
}

type field struct {
	name  string
	value cell
}

func object(fields []field) []byte {
	b := []byte{'{'}
	for i, f := range fields {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(b, textCell(f.name)...), ':')
		if f.value == nil {
			b = append(b, `""`...)
			continue
		}
		b = append(b, f.value...)
	}
	return append(b, '}')
}

// table shows rows, each with a cell per column, in the wanted format.
func (c *call) table(columns []string, rows [][]cell) error {
	switch c.formatter() {
	case "json", "json_stream":
		c.jsonRows(columns, rows)
		return nil
	case "csv":
		c.csvRows(columns, rows)
		return nil
	case "erlang":
		c.erlangRows(columns, rows)
		return nil
	case "pretty_table":
		c.prettyRows(columns, rows)
		return nil
	}
	if len(rows) > 0 && c.headers() {
		fmt.Fprintln(c.stdout, strings.Join(columns, "\t"))
	}
	for _, line := range texts(rows) {
		fmt.Fprintln(c.stdout, strings.Join(line, "\t"))
	}
	return nil
}

func (c *call) headers() bool { return !c.words.on("silent") && !c.words.on("no-table-headers") }

// jsonRows writes one list, an object per line, or with json_stream objects only.
func (c *call) jsonRows(columns []string, rows [][]cell) {
	list := c.formatter() == "json"
	if list {
		fmt.Fprintln(c.stdout, "[")
	}
	for i, row := range rows {
		fields := make([]field, len(columns))
		for j, name := range columns {
			fields[j] = field{name, row[j]}
		}
		if list && i > 0 {
			fmt.Fprint(c.stdout, ",")
		}
		fmt.Fprintf(c.stdout, "%s\n", object(fields))
	}
	if list {
		fmt.Fprintln(c.stdout, "]")
	}
}

// erlangRows writes a list of property lists, as Erlang's own tools read it.
func (c *call) erlangRows(columns []string, rows [][]cell) {
	lists := make([]string, len(rows))
	for i, row := range rows {
		pairs := make([]string, len(columns))
		for j, name := range columns {
			pairs[j] = "{" + atom(name) + "," + cmp.Or(erlang(row[j]), `<<>>`) + "}"
		}
		lists[i] = "[" + strings.Join(pairs, ",") + "]"
	}
	fmt.Fprintf(c.stdout, "[%s]\n", strings.Join(lists, ","))
}

// csvRows puts every value in quotation marks. Source: RabbitMQ rabbitmqctl, csv formatter.
func (c *call) csvRows(columns []string, rows [][]cell) {
	lines := texts(rows)
	if c.headers() {
		lines = append([][]string{columns}, lines...)
	}
	for _, line := range lines {
		quoted := make([]string, len(line))
		for i, text := range line {
			quoted[i] = `"` + strings.ReplaceAll(text, `"`, `""`) + `"`
		}
		fmt.Fprintln(c.stdout, strings.Join(quoted, ","))
	}
}

func (c *call) prettyRows(columns []string, rows [][]cell) {
	lines := append([][]string{columns}, texts(rows)...)
	widths := make([]int, len(columns))
	for _, line := range lines {
		for i, text := range line {
			widths[i] = max(widths[i], utf8.RuneCountInString(text))
		}
	}
	rule := func(left, middle, right string) {
		parts := make([]string, len(widths))
		for i, n := range widths {
			parts[i] = strings.Repeat("─", n+2)
		}
		fmt.Fprintln(c.stdout, left+strings.Join(parts, middle)+right)
	}
	rule("┌", "┬", "┐")
	for i, line := range lines {
		if i > 0 {
			rule("├", "┼", "┤")
		}
		for j, text := range line {
			fmt.Fprintf(c.stdout, "│ %s%s ", text, strings.Repeat(" ", widths[j]-utf8.RuneCountInString(text)))
		}
		fmt.Fprintln(c.stdout, "│")
	}
	rule("└", "┴", "┘")
}

func texts(rows [][]cell) [][]string {
	lines := make([][]string, len(rows))
	for i, row := range rows {
		lines[i] = make([]string, len(row))
		for j, v := range row {
			lines[i][j] = text(v)
		}
	}
	return lines
}
