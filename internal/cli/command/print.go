package command

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/cli/output"
)

// Formatter is the form of output that is asked for, one of output.Formats.
func (c *Call) Formatter() string { return c.Options.Or("formatter", "table") }

func (c *Call) checkFormatter() error {
	known := output.Formats()
	if !slices.Contains(known, c.Formatter()) {
		return c.Invalid(fmt.Sprintf("unknown formatter '%s'; known are %s", c.Formatter(), strings.Join(known, ", ")))
	}
	return nil
}

// Machine reports whether the output is for a program.
func (c *Call) Machine() bool {
	return slices.Contains([]string{"csv", "json", "json_stream"}, c.Formatter())
}

// Quiet reports whether only results are wanted.
func (c *Call) Quiet() bool { return c.Options.On("quiet") || c.Options.On("silent") || c.Machine() }

// Banner says what is being done, unless nobody wants to know.
func (c *Call) Banner(format string, args ...any) {
	if !c.Quiet() {
		for i, arg := range args {
			if name, ok := arg.(string); ok {
				args[i] = output.Escape(name)
			}
		}
		fmt.Fprintf(c.Stdout, format+"\n", args...)
	}
}

// OneLine is JSON that was given on several lines on one, any other text as it is.
func OneLine(text string) string {
	var b bytes.Buffer
	if !strings.Contains(text, "\n") || json.Compact(&b, []byte(text)) != nil {
		return text
	}
	return b.String()
}

// Done ends a command that changed something. The message is for people; value may be nil.
func (c *Call) Done(message string, value output.Cell) error {
	switch c.Formatter() {
	case "json", "json_stream":
		o := []output.Field{{Name: "result", Value: output.StringCell("ok")}, {Name: "node", Value: output.StringCell(c.Node)}}
		if value == nil && message != "" {
			value = output.StringCell(message)
		}
		if value != nil {
			o = append(o, output.Field{Name: "value", Value: value})
		}
		fmt.Fprintf(c.Stdout, "%s\n", output.Object(o))
	case "erlang":
		if value != nil {
			fmt.Fprintf(c.Stdout, "{ok,%s}\n", output.Erlang(value))
			return nil
		}
		fmt.Fprintln(c.Stdout, "ok")
	case "csv":
	default:
		if message != "" && !c.Options.On("silent") {
			fmt.Fprintln(c.Stdout, message)
		}
	}
	return nil
}

// Table shows rows, each with a cell per column, in the wanted format.
func (c *Call) Table(columns []string, rows [][]output.Cell) error {
	t := output.Table{W: c.Stdout, Format: c.Formatter(), Headers: c.headers(), Text: c.text()}
	t.Write(columns, rows)
	return nil
}

// text is how a cell is shown to people.
func (c *Call) text() func(output.Cell) string {
	if c.Command.Own {
		return output.Plain
	}
	return output.Text
}

// Line shows one value, under its name.
func (c *Call) Line(name string, v output.Cell) {
	fmt.Fprintln(c.Stdout, strings.TrimSpace(name+": "+c.text()(v)))
}

func (c *Call) headers() bool { return !c.Options.On("silent") && !c.Options.On("no-table-headers") }

// ShowRaw prints an answer as it came, on one line.
func (c *Call) ShowRaw(raw json.RawMessage) error {
	var b bytes.Buffer
	if err := json.Compact(&b, raw); err != nil {
		return err
	}
	fmt.Fprintln(output.JSONSafe{Writer: c.Data}, b.String())
	return nil
}

// ShowJSON prints a value as JSON, on one line.
func (c *Call) ShowJSON(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	fmt.Fprintf(output.JSONSafe{Writer: c.Data}, "%s\n", b)
	return nil
}
