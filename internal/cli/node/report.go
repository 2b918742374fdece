package node

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/cli/command"
)

// report shows what a question to others should come with: no passwords, no payloads.
func report(c *command.Call) error {
	if c.Machine() {
		return c.Invalid("report supports text output only.")
	}
	c.Banner("Reporting server status of node %s ...", c.Node)
	var vhosts []api.VHost
	if err := c.Client.Get(c.Ctx, &vhosts, "vhosts"); err != nil {
		return err
	}
	if err := reportParts(c, "status cluster_status environment storage clock list_feature_flags list_users list_vhosts list_connections list_channels"); err != nil {
		return err
	}
	for _, h := range vhosts {
		c.Options.Set("vhost", h.Name)
		if err := reportParts(c, "list_queues list_exchanges list_bindings list_consumers list_permissions list_policies "+
			"list_vhost_limits list_vhost_options list_parameters count_scheduled"); err != nil {
			return err
		}
	}
	return nil
}

// reportParts shows what these commands show.
func reportParts(c *command.Call, names string) error {
	for name := range strings.FieldsSeq(names) {
		i := slices.IndexFunc(c.Commands, func(known command.Command) bool { return known.Name == name })
		if err := reportPart(c, c.Commands[i].Run); err != nil {
			return err
		}
	}
	return nil
}

// reportPart shows a part of a report. What the broker refuses to tell is said in its place.
func reportPart(c *command.Call, part func(*command.Call) error) error {
	err := part(c)
	if command.Status(err) != 0 {
		fmt.Fprintln(c.Stdout, "not available: "+command.ReasonOf(err))
	} else if err != nil && c.Ctx.Err() != nil {
		return err
	} else if err != nil {
		fmt.Fprintln(c.Stdout, "not available: "+err.Error())
	}
	fmt.Fprintln(c.Stdout)
	return nil
}
