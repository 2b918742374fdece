package cli

import (
	"fmt"
	"strings"
)

// refuse says why there is no such thing here.
func refuse(why string) func(*call) error {
	return func(c *call) error { return failf(exitUnavailable, "%s: %s", c.command.name, why) }
}

// already succeeds: what is wanted is so.
func already(message string) func(*call) error {
	return func(c *call) error { return c.done(message, nil) }
}

// reset says what RabbitMQ says to a node that runs. Source: RabbitMQ rabbitmqctl reset.
func reset(c *call) error {
	return &failure{exitUsage, "Error: this command requires the 'rabbit' app to be stopped on the target node. " +
		"With Bartleby, stop the broker and remove its data directory"}
}

func traceOff(c *call) error {
	c.banner(`Stopping tracing for vhost "%s" ...`, c.vhost())
	return c.done("Trace disabled for vhost "+c.vhost(), nil)
}

func printTrue(c *call) error {
	fmt.Fprintln(c.stdout, "true")
	return nil
}

// eval answers the one expression that operators of Kubernetes send as a probe. Source: RabbitMQ cluster operator.
func eval(c *call) error {
	expression := strings.Join(strings.Fields(strings.Join(c.args, " ")), "")
	if strings.TrimSuffix(expression, ".") == "rabbit_nodes:reached_target_cluster_size()" {
		return printTrue(c)
	}
	return failf(exitUnavailable, "eval is not supported: this broker does not run Erlang. "+
		"Use the other commands ('%s help') or the management API", c.program)
}
