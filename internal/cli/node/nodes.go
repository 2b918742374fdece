package node

import (
	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/cli/command"
)

// overview also learns what the node is called.
func overview(c *command.Call) (api.Overview, error) {
	var o api.Overview
	err := c.Client.Get(c.Ctx, &o, "overview")
	if err == nil && o.Node != "" {
		c.Node = o.Node
	}
	return o, err
}

// thisNode is the overview, and the node that it is of.
func thisNode(c *command.Call) (o api.Overview, n api.Node, err error) {
	if o, err = overview(c); err == nil {
		err = c.Client.Get(c.Ctx, &n, "nodes", o.Node)
	}
	return o, n, err
}
