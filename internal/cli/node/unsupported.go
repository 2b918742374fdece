package node

import (
	"strings"

	"github.com/bartleby-mq/bartleby/internal/cli/command"
)

// reset says what RabbitMQ says to a node that runs. Source: RabbitMQ rabbitmqctl reset.
func reset(c *command.Call) error {
	return &command.Failure{Code: command.ExitUsage, Text: "Error: this command requires the 'rabbit' app to be stopped on the target node. " +
		"With Bartleby, stop the broker and remove its data directory"}
}

// eval answers the one expression that operators of Kubernetes send as a probe. Source: RabbitMQ cluster operator.
func eval(c *command.Call) error {
	expression := strings.Join(strings.Fields(strings.Join(c.Args, " ")), "")
	if strings.TrimSuffix(expression, ".") == "rabbit_nodes:reached_target_cluster_size()" {
		return command.PrintTrue(c)
	}
	return command.Failf(command.ExitUnavailable, "eval is not supported: this broker does not run Erlang. "+
		"Use the other commands ('%s help') or the management API", c.Program)
}
