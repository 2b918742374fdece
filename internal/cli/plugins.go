package cli

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/api"
)

// builtIn names what RabbitMQ has as plugins and the broker always does, so that images and scripts that enable them
// succeed, with no broker running too. Source: RabbitMQ rabbitmq-plugins(8).
func builtIn() []string { return api.Plugins() }

func listPlugins(c *call) error {
	pattern := ".*"
	if len(c.args) > 0 {
		pattern = c.args[0]
	}
	match, err := regexp.Compile(pattern)
	if err != nil {
		return c.invalid(fmt.Sprintf("the pattern is not a regular expression: %v", err))
	}
	names := slices.DeleteFunc(builtIn(), func(name string) bool { return !match.MatchString(name) })
	if c.machine() {
		rows := make([][]cell, len(names))
		for i, name := range names {
			rows[i] = []cell{textCell(name), textCell(api.RabbitMQVersion), textCell("enabled"), cell("true")}
		}
		return c.table([]string{"name", "version", "enabled", "running"}, rows)
	}
	c.banner("Listing plugins with pattern %q ...", pattern)
	if c.words.on("minimal") {
		for _, name := range names {
			fmt.Fprintln(c.stdout, name)
		}
		return nil
	}
	c.banner(" Configured: E = explicitly enabled; e = implicitly enabled\n | Status: * = running on %s\n |/", c.node)
	for _, name := range names {
		fmt.Fprintf(c.stdout, "[E*] %-33s %s\n", name, api.RabbitMQVersion)
	}
	return nil
}

// unknownPlugins refuses names that are none.
func (c *call) unknownPlugins() error {
	var unknown []string
	for _, name := range c.args {
		if !slices.Contains(builtIn(), name) {
			unknown = append(unknown, name)
		}
	}
	if unknown != nil {
		return failf(exitSoftware, "The following plugins were not found: %s", strings.Join(unknown, ", "))
	}
	if len(c.args) == 0 && !c.words.on("all") {
		return c.tooFew()
	}
	return nil
}

func enablePlugins(c *call) error {
	if err := c.unknownPlugins(); err != nil {
		return err
	}
	c.banner("Enabling plugins on node %s:\n%s", c.node, strings.Join(c.args, "\n"))
	return c.done("Plugin configuration unchanged.", nil)
}

func disablePlugins(c *call) error {
	if err := c.unknownPlugins(); err != nil {
		return err
	}
	c.banner("Disabling plugins on node %s:\n%s", c.node, strings.Join(c.args, "\n"))
	return c.done("Plugin configuration unchanged: these are built in and stay enabled.", nil)
}

func pluginsEnabled(c *call) error {
	if len(c.args) == 1 {
		c.banner("Asking node %s if plugin %s is enabled...", c.node, c.args[0])
	} else {
		c.banner("Asking node %s if plugins %s are enabled...", c.node, strings.Join(c.args, ", "))
	}
	var not []string
	for _, name := range c.args {
		if !slices.Contains(builtIn(), name) {
			not = append(not, name)
		}
	}
	switch {
	case len(not) == 1:
		return failf(exitUnavailable, "Plugin %s is not enabled on node %s", not[0], c.node)
	case not != nil:
		return failf(exitUnavailable, "Plugins %s are not enabled on node %s", strings.Join(not, ", "), c.node)
	case len(c.args) == 1:
		return c.done(fmt.Sprintf("Plugin %s is enabled on node %s", c.args[0], c.node), nil)
	}
	return c.done(fmt.Sprintf("Plugins %s are enabled on node %s", strings.Join(c.args, ", "), c.node), nil)
}
