package cli

import (
	"slices"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/cli/command"
	"github.com/bartleby-mq/bartleby/internal/cli/deadletter"
	"github.com/bartleby-mq/bartleby/internal/cli/node"
	"github.com/bartleby-mq/bartleby/internal/cli/policies"
	"github.com/bartleby-mq/bartleby/internal/cli/resources"
	"github.com/bartleby-mq/bartleby/internal/cli/schedule"
)

// A group is commands that help shows together.
type group struct {
	title    string
	commands []command.Command
	own      bool // none of them is RabbitMQ's
}

// groups lists what can be done. Source: RabbitMQ rabbitmqctl(8), rabbitmq-diagnostics(8), rabbitmq-plugins(8),
// rabbitmq-queues(8), rabbitmq-upgrade(8).
func groups() []group {
	return []group{
		{title: "Users", commands: resources.Users()},
		{title: "Permissions", commands: resources.Permissions()},
		{title: "Virtual hosts", commands: resources.VirtualHosts()},
		{title: "Policies", commands: policies.Commands()},
		{title: "Queues, exchanges, bindings", commands: resources.Queues()},
		{title: "Connections", commands: resources.Connections()},
		{title: "Definitions", commands: resources.Definitions()},
		{title: "Dead letters", commands: deadletter.LostLetters(), own: true},
		{title: "Scheduled messages", commands: schedule.Commands(), own: true},
		{title: "Dead-letter queues", commands: deadletter.Commands(), own: true},
		{title: "Node", commands: slices.Concat(node.Commands(), ownCommands())},
		{title: "Compatibility with RabbitMQ clusters", commands: node.Clusters()},
		{title: "Checks", commands: node.Checks()},
		{title: "Diagnostics", commands: node.Diagnostics()},
		{title: "Plugins", commands: node.Plugins()},
		{title: "Quorum queues", commands: resources.QuorumQueues()},
		{title: "Upgrades", commands: node.Upgrades()},
	}
}

// ownCommands are about the command line itself.
func ownCommands() []command.Command {
	return []command.Command{
		{Name: "version", Tools: command.EveryTool, About: "Prints the RabbitMQ version of this command line tool.", Offline: true, Run: node.Version},
		{Name: "autocomplete", Tools: command.EveryTool, Usage: "[<prefix>]", About: "Lists commands with a prefix, for RabbitMQ's shell completion scripts.", Most: 1, Offline: true, Run: autocomplete},
		{Name: "completion", Tools: command.EveryTool, Usage: "<shell>", About: "Prints a completion script for bash, zsh or fish.", Least: 1, Most: 1, Offline: true, Run: completion, More: completionHelp},
	}
}

// commands lists the commands of all groups.
func commands() []command.Command {
	var all []command.Command
	for _, g := range groups() {
		for _, cmd := range g.commands {
			cmd.Own = cmd.Own || g.own
			all = append(all, cmd)
		}
	}
	return all
}

// find looks a command up among those of the tool.
func find(c *command.Call, name string) (command.Command, bool) {
	for _, cmd := range commands() {
		if cmd.Name == name && cmd.Tools&c.Tool != 0 {
			return cmd, true
		}
	}
	return command.Command{}, false
}

// findTyped finds the command that words begin with. "scheduled list" and "list scheduled" are list_scheduled; "queue
// list" is list_queues.
func findTyped(c *command.Call, words []string) (cmd command.Command, rest []string, ok bool) {
	first := strings.ReplaceAll(words[0], "-", "_")
	if cmd, ok = find(c, first); ok || len(words) == 1 {
		return cmd, words[1:], ok
	}
	one := strings.TrimSuffix(first, "s")
	for _, name := range []string{words[1] + "_" + first, first + "_" + words[1], words[1] + "_" + one + "s", words[1] + "_" + one} {
		if cmd, ok = find(c, name); ok {
			return cmd, words[2:], true
		}
	}
	return cmd, words[1:], false
}
