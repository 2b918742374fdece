package node

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/cli/command"
	"github.com/bartleby-mq/bartleby/internal/cli/output"
)

func listListeners(c *command.Call) error {
	o, err := overview(c)
	if err != nil {
		return err
	}
	c.Banner("Asking node %s to report its protocol listeners ...", c.Node)
	if strings.HasPrefix(c.Formatter(), "json") {
		list, err := json.Marshal(api.List[portRow](portRows(o)))
		if err != nil {
			return err
		}
		fmt.Fprintf(c.Stdout, "%s\n", output.Object([]output.Field{{Name: "result", Value: output.StringCell("ok")}, {Name: "node", Value: output.StringCell(c.Node)}, {Name: "listeners", Value: list}}))
		return nil
	}
	for _, line := range listenerLines(o) {
		fmt.Fprintln(c.Stdout, line)
	}
	return nil
}

func portRows(o api.Overview) []portRow {
	var rows []portRow
	for _, l := range o.Listeners {
		host := l.IPAddress
		if strings.Contains(host, ":") {
			host = "[" + host + "]"
		}
		rows = append(rows, portRow{l.Node, host, l.Port, l.Protocol, purposeOf(l.Protocol)})
	}
	return rows
}

func listenerLines(o api.Overview) []string {
	var lines []string
	for _, p := range portRows(o) {
		lines = append(lines, fmt.Sprintf("Interface: %s, port: %d, protocol: %s, purpose: %s", p.Interface, p.Port, p.Protocol, p.Purpose))
	}
	return lines
}

func purposeOf(protocol string) string {
	switch protocol {
	case "amqp":
		return "AMQP 0-9-1"
	case "amqp/ssl":
		return "AMQP 0-9-1 over TLS"
	case "http":
		return "HTTP API"
	case "https":
		return "HTTP API over TLS (HTTPS)"
	case "http/prometheus":
		return "Prometheus exporter API over HTTP"
	case "https/prometheus":
		return "Prometheus exporter API over TLS (HTTPS)"
	case "clustering":
		return "inter-node and CLI tool communication"
	}
	return "?"
}

func suspendListeners(c *command.Call) error {
	c.Banner("Will suspend client connection listeners on node %s. The node will no longer accept client connections.", c.Node)
	if err := setSuspended(c, true); err != nil {
		return err
	}
	return c.Done("", nil)
}

func resumeListeners(c *command.Call) error {
	c.Banner("Will resume client connection listeners on node %s. The node will now accept client connections.", c.Node)
	if err := setSuspended(c, false); err != nil {
		return err
	}
	return c.Done("", nil)
}

// setSuspended shuts the ports of AMQP, or opens them.
func setSuspended(c *command.Call, on bool) error {
	_, err := c.Client.Put(c.Ctx, api.ListenerState{Suspended: api.Flag(on)}, "x", "listeners")
	return err
}
