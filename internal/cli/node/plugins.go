package node

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/cli/command"
	"github.com/bartleby-mq/bartleby/internal/cli/output"
)

// setPlugins succeeds for what is built in. Source: RabbitMQ rabbitmq-plugins(8).
func setPlugins(c *command.Call) error {
	if err := unknownPlugins(c); err != nil {
		return err
	}
	bannerOfPlugins(c, "Enabling")
	return c.Done("Plugin configuration unchanged: these are built in, and stay enabled with the others.", nil)
}

func pluginDirectories(c *command.Call) error {
	c.Banner("Listing plugin directories used by node %s", c.Node)
	return c.Done("Plugin archives directory: none, plugins are built in", nil)
}

// BuiltIn names what RabbitMQ has as plugins and the broker always does, so that images and scripts that enable them
// succeed, with no broker running too. Source: RabbitMQ rabbitmq-plugins(8).
func BuiltIn() []string { return api.Plugins() }

func listPlugins(c *command.Call) error {
	pattern := ".*"
	if len(c.Args) > 0 {
		pattern = c.Args[0]
	}
	match, err := regexp.Compile(pattern)
	if err != nil {
		return c.Invalid(fmt.Sprintf("the pattern is not a regular expression: %v", err))
	}
	names := slices.DeleteFunc(BuiltIn(), func(name string) bool { return !match.MatchString(name) })
	if c.Machine() {
		rows := make([][]output.Cell, len(names))
		for i, name := range names {
			rows[i] = []output.Cell{output.StringCell(name), output.StringCell(api.RabbitMQVersion), output.StringCell("enabled"), output.Cell("true")}
		}
		return c.Table([]string{"name", "version", "enabled", "running"}, rows)
	}
	c.Banner("Listing plugins with pattern %q ...", pattern)
	if c.Options.On("minimal") {
		for _, name := range names {
			fmt.Fprintln(c.Stdout, name)
		}
		return nil
	}
	c.Banner(" Configured: E = explicitly enabled; e = implicitly enabled\n | Status: * = running on %s\n |/", c.Node)
	for _, name := range names {
		fmt.Fprintf(c.Stdout, "[E*] %-33s %s\n", name, api.RabbitMQVersion)
	}
	return nil
}

// unknownPlugins refuses names that are none.
func unknownPlugins(c *command.Call) error {
	var unknown []string
	for _, name := range c.Args {
		if !slices.Contains(BuiltIn(), name) {
			unknown = append(unknown, name)
		}
	}
	if unknown != nil {
		return command.Failf(command.ExitSoftware, "The following plugins were not found: %s", strings.Join(unknown, ", "))
	}
	if len(c.Args) == 0 && !c.Options.On("all") {
		return c.TooFew()
	}
	return nil
}

func enablePlugins(c *command.Call) error {
	if err := unknownPlugins(c); err != nil {
		return err
	}
	bannerOfPlugins(c, "Enabling")
	return c.Done("Plugin configuration unchanged.", nil)
}

func disablePlugins(c *command.Call) error {
	if err := unknownPlugins(c); err != nil {
		return err
	}
	bannerOfPlugins(c, "Disabling")
	return c.Done("Plugin configuration unchanged: these are built in and stay enabled.", nil)
}

func pluginsEnabled(c *command.Call) error {
	if len(c.Args) == 1 {
		c.Banner("Asking node %s if plugin %s is enabled...", c.Node, c.Args[0])
	} else {
		c.Banner("Asking node %s if plugins %s are enabled...", c.Node, strings.Join(c.Args, ", "))
	}
	var not []string
	for _, name := range c.Args {
		if !slices.Contains(BuiltIn(), name) {
			not = append(not, name)
		}
	}
	switch {
	case len(not) == 1:
		return command.Failf(command.ExitUnavailable, "Plugin %s is not enabled on node %s", not[0], c.Node)
	case not != nil:
		return command.Failf(command.ExitUnavailable, "Plugins %s are not enabled on node %s", strings.Join(not, ", "), c.Node)
	case len(c.Args) == 1:
		return c.Done(fmt.Sprintf("Plugin %s is enabled on node %s", c.Args[0], c.Node), nil)
	}
	return c.Done(fmt.Sprintf("Plugins %s are enabled on node %s", strings.Join(c.Args, ", "), c.Node), nil)
}

// bannerOfPlugins says what is done with the plugins that were typed, each on a line.
func bannerOfPlugins(c *command.Call, doing string) {
	c.Banner("%s plugins on node %s:", doing, c.Node)
	for _, name := range c.Args {
		c.Banner("%s", name)
	}
}
