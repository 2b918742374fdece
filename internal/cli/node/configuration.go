package node

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/cli/command"
	"github.com/bartleby-mq/bartleby/internal/cli/output"
)

// environment shows the configuration in force: lines of 'key = value  # source', as a file of configuration has them.
func environment(c *command.Call) error {
	c.Banner("Application environment of node %s ...", c.Node)
	text, err := c.Client.Text(c.Ctx, "config", "effective")
	if command.Status(err) == http.StatusNotFound {
		return command.Failf(command.ExitUnavailable, "this broker does not provide its configuration")
	}
	if err != nil {
		return err
	}
	if !c.Machine() {
		fmt.Fprintln(c.Stdout, strings.TrimSuffix(string(text), "\n"))
		return nil
	}
	var rows [][]output.Cell
	for line := range strings.Lines(string(text)) {
		key, value, ok := strings.Cut(line, "=")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		source := ""
		if at := strings.LastIndex(value, " # "); at >= 0 {
			value, source = value[:at], value[at+3:]
		}
		rows = append(rows, []output.Cell{output.StringCell(strings.TrimSpace(key)), output.StringCell(strings.TrimSpace(value)), output.StringCell(strings.TrimSpace(source))})
	}
	return c.Table([]string{"key", "value", "source"}, rows)
}
