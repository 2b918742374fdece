package node

import (
	"net/http"
	"slices"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/cli/command"
)

// setLogLevel sets what is logged, by RabbitMQ's names.
func setLogLevel(c *command.Call) error {
	level := c.Args[0]
	if levels := []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency", "none"}; !slices.Contains(levels, level) {
		return command.Failf(command.ExitData, "unknown log level '%s'; known are %s", level, strings.Join(levels, ", "))
	}
	c.Banner("Setting log level to \"%s\" ...", level)
	_, err := c.Client.Put(c.Ctx, map[string]string{"level": level}, "x", "log-level")
	if s := command.Status(err); s == http.StatusNotFound || s == http.StatusMethodNotAllowed {
		return command.Failf(command.ExitUnavailable, "this broker sets its log level at startup only: use log.console.level in its configuration")
	}
	if err != nil {
		return command.RefusedValue(err)
	}
	return c.Done("", nil)
}

// rotateLogs begins another file of the log. Source: RabbitMQ rabbitmqctl rotate_logs.
func rotateLogs(c *command.Call) error {
	c.Banner("Rotating logs for node %s ...", c.Node)
	err := c.Client.Post(c.Ctx, nil, nil, "x", "rotate-logs")
	if s := command.Status(err); s == http.StatusNotFound || s == http.StatusMethodNotAllowed {
		return c.Done("Nothing to do: this broker does not write its log to a file.", nil)
	}
	if err != nil {
		return err
	}
	return c.Done("", nil)
}

func logLocation(c *command.Call) error {
	_, n, err := thisNode(c)
	if err != nil {
		return err
	}
	c.Banner("Log file location(s) on node %s ...", c.Node)
	if len(n.LogFiles) == 0 {
		return c.Done("<stderr>", nil)
	}
	return c.Done(strings.Join(n.LogFiles, "\n"), nil)
}

const logNotRemote = "logs are not available over HTTP: 'log_location' shows where the log is; read it there, such as with 'journalctl -u bartleby', 'docker logs' or 'kubectl logs'"
