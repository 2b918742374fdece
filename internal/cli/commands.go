package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// A command is a row of the table that follows.
type command struct {
	name        string
	tools       tool
	usage       string // its own options and its arguments
	least, most int    // number of arguments; most < 0 is any
	options     string // the options of its own, with blanks between
	patience    time.Duration
	run         func(*call) error
	fewHint     func(*call) string // what to add when there are not enough arguments, or nil
	more        func() string      // what help has to say besides, or nil
}

func (c command) takes(option string) bool { return slices.Contains(strings.Fields(c.options), option) }

// unbounded is the most arguments of a command that takes any number.
const unbounded = -1

// commands lists what can be done. Source: RabbitMQ rabbitmqctl(8), rabbitmq-diagnostics(8), rabbitmq-plugins(8).
func commands() []command {
	both := ctl | diagnostics
	return []command{
		{name: "add_user", tools: ctl, usage: "[--pre-hashed-password] <username> [<password>]", least: 1, most: 2, options: "pre-hashed-password", run: addUser},
		{name: "delete_user", tools: ctl, usage: "<username>", least: 1, most: 1, run: deleteUser},
		{name: "change_password", tools: ctl, usage: "<username> [<password>]", least: 1, most: 2, run: changePassword},
		{name: "clear_password", tools: ctl, usage: "<username>", least: 1, most: 1, run: clearPassword},
		{name: "authenticate_user", tools: ctl, usage: "<username> [<password>]", least: 1, most: 2, run: authenticateUser},
		{name: "set_user_tags", tools: ctl, usage: "<username> [<tag> ...]", least: 1, most: unbounded, run: setUserTags},
		{name: "list_users", tools: both, run: listUsers},

		{name: "set_permissions", tools: ctl, usage: "[--vhost <vhost>] <username> <conf> <write> <read>", least: 4, most: 4, run: setPermissions},
		{name: "clear_permissions", tools: ctl, usage: "[--vhost <vhost>] <username>", least: 1, most: 1, run: clearPermissions},
		{name: "list_permissions", tools: both, usage: "[--vhost <vhost>]", run: listPermissions},
		{name: "list_user_permissions", tools: both, usage: "<username>", least: 1, most: 1, run: listUserPermissions},
		{name: "set_topic_permissions", tools: ctl, usage: "[--vhost <vhost>] <username> <exchange> <write> <read>", least: 4, most: 4, run: setTopicPermissions},
		{name: "clear_topic_permissions", tools: ctl, usage: "[--vhost <vhost>] <username> [<exchange>]", least: 1, most: 2, run: clearTopicPermissions},
		{name: "list_topic_permissions", tools: both, usage: "[--vhost <vhost>]", run: listTopicPermissions},
		{name: "list_user_topic_permissions", tools: both, usage: "<username>", least: 1, most: 1, run: listUserTopicPermissions},

		{name: "add_vhost", tools: ctl, usage: "<vhost> [--description <description>] [--tags <tag>,...] [--default-queue-type <type>]", least: 1, most: 1, options: "description tags default-queue-type", run: addVHost},
		{name: "delete_vhost", tools: ctl, usage: "<vhost>", least: 1, most: 1, run: deleteVHost},
		{name: "list_vhosts", tools: both, usage: "[<column> ...]", most: unbounded, run: listVHosts},

		{name: "set_policy", tools: ctl, usage: policyUsage, least: 3, most: 3, options: "priority apply-to", run: setPolicy, fewHint: gluedPolicy},
		{name: "clear_policy", tools: ctl, usage: "[--vhost <vhost>] <name>", least: 1, most: 1, run: clearPolicy},
		{name: "list_policies", tools: both, usage: "[--vhost <vhost>]", run: listPolicies},
		{name: "set_operator_policy", tools: ctl, usage: policyUsage, least: 3, most: 3, options: "priority apply-to", run: setPolicy, fewHint: gluedPolicy},
		{name: "clear_operator_policy", tools: ctl, usage: "[--vhost <vhost>] <name>", least: 1, most: 1, run: clearPolicy},
		{name: "list_operator_policies", tools: both, usage: "[--vhost <vhost>]", run: listPolicies},
		{name: "list_parameters", tools: both, usage: "[--vhost <vhost>]", run: listParameters},

		{name: "list_queues", tools: both, usage: "[--vhost <vhost>] [--online] [--offline] [--local] [<column> ...]", most: unbounded, options: "online offline local", run: listQueues},
		{name: "list_exchanges", tools: both, usage: "[--vhost <vhost>] [<column> ...]", most: unbounded, run: listExchanges},
		{name: "list_bindings", tools: both, usage: "[--vhost <vhost>] [<column> ...]", most: unbounded, run: listBindings},
		{name: "list_connections", tools: both, usage: "[<column> ...]", most: unbounded, run: listConnections},
		{name: "list_channels", tools: both, usage: "[<column> ...]", most: unbounded, run: listChannels},
		{name: "list_consumers", tools: both, usage: "[--vhost <vhost>] [<column> ...]", most: unbounded, run: listConsumers},
		{name: "purge_queue", tools: ctl, usage: "[--vhost <vhost>] <queue>", least: 1, most: 1, run: purgeQueue},
		{name: "delete_queue", tools: ctl, usage: "[--vhost <vhost>] <queue> [--if-empty] [--if-unused]", least: 1, most: 1, options: "if-empty if-unused force", run: deleteQueue},
		{name: "delete_exchange", tools: ctl, usage: "[--vhost <vhost>] <exchange> [--if-unused]", least: 1, most: 1, options: "if-unused", run: deleteExchange},

		{name: "list_vhost_options", tools: both, usage: "[--vhost <vhost>]", run: listVHostOptions},
		{name: "set_vhost_option", tools: ctl, usage: "[--vhost <vhost>] <name> <value>", least: 2, most: 2, run: setVHostOption, more: optionsHelp},
		{name: "clear_vhost_option", tools: ctl, usage: "[--vhost <vhost>] <name>", least: 1, most: 1, run: clearVHostOption},
		{name: "list_lost_letters", tools: both, usage: "[--vhost <vhost>] [--cause <cause>] [--limit <number>] [<column> ...]", most: unbounded, options: "cause limit", run: listLostLetters},
		{name: "show_lost_letter", tools: both, usage: "[--vhost <vhost>] <id>", least: 1, most: 1, run: showLostLetter},
		{name: "republish_lost_letters", tools: ctl, usage: republishUsage, most: unbounded, options: "all cause exchange routing-key", run: republishLostLetters},
		{name: "purge_lost_letters", tools: ctl, usage: "[--vhost <vhost>] [--cause <cause>] [<id> ...]", most: unbounded, options: "cause", run: purgeLostLetters},
		{name: "list_held_letters", tools: both, usage: "[--vhost <vhost>] [--limit <number>] <queue> [<column> ...]", least: 1, most: unbounded, options: "limit", run: listHeldLetters},

		{name: "list_scheduled", tools: both, usage: "[--vhost <vhost>] [--limit <number>] [" + filterUsage + "] <exchange> [<column> ...]", least: 1, most: unbounded, options: "limit " + filterOptions, run: listScheduled, more: listScheduledHelp},
		{name: "count_scheduled", tools: both, usage: "[--vhost <vhost>] [<column> ...]", most: unbounded, run: countScheduled},
		{name: "show_scheduled", tools: both, usage: "[--vhost <vhost>] <exchange> (<id> | --key <key>)", least: 1, most: 2, options: "key", run: showScheduled, more: keyHelp},
		{name: "cancel_scheduled", tools: ctl, usage: "[--vhost <vhost>] <exchange> <id> ... | --key <key> | " + filterUsage, least: 1, most: unbounded, options: "key " + filterOptions, run: cancelScheduled, more: changeHelp},
		{name: "reschedule_scheduled", tools: ctl, usage: "[--vhost <vhost>] (--in <time> | --at <instant>) <exchange> <id> ... | --key <key> | " + filterUsage, least: 1, most: unbounded, options: "in at key " + filterOptions, run: rescheduleScheduled, more: rescheduleHelp},
		{name: "fire_scheduled", tools: ctl, usage: "[--vhost <vhost>] <exchange> <id> ... | --key <key> | " + filterUsage, least: 1, most: unbounded, options: "key " + filterOptions, run: fireScheduled, more: changeHelp},
		{name: "purge_scheduled", tools: ctl, usage: "[--vhost <vhost>] <exchange>", least: 1, most: 1, run: purgeScheduled},
		{name: "list_waiting", tools: both, usage: "[--vhost <vhost>] [--limit <number>] [" + filterUsage + "] <queue> [<column> ...]", least: 1, most: unbounded, options: "limit " + filterOptions, run: listWaiting, more: listWaitingHelp},
		{name: "retry_waiting", tools: ctl, usage: "[--vhost <vhost>] <queue> <id> ... | --all | " + filterUsage, least: 1, most: unbounded, options: "all " + filterOptions, run: retryWaiting, more: filterHelp},

		{name: "set_vm_memory_high_watermark", tools: ctl, usage: "<fraction> | absolute <bytes>", least: 1, most: 2, run: setMemoryHighWatermark},
		{name: "set_disk_free_limit", tools: ctl, usage: "<bytes> | mem_relative <multiple>", least: 1, most: 2, run: setDiskFreeLimit},

		{name: "clock", tools: ctl, usage: clockUsage, most: 2, patience: clockPatience, run: clock, more: clockHelp},
		{name: "backup", tools: ctl, usage: "<directory> | --tar <file>", most: 1, options: "tar", patience: backupPatience, run: backup},
		{name: "storage", tools: both, run: storage},

		{name: "status", tools: both, usage: "[--unit <unit>]", options: "unit", run: nodeStatus},
		{name: "ping", tools: both, run: ping},
		{name: "await_startup", tools: both, patience: 5 * time.Minute, run: awaitStartup},
		{name: "version", tools: both | plugins, run: version},

		{name: "check_running", tools: diagnostics, run: checkRunning},
		{name: "is_running", tools: diagnostics, run: checkRunning},
		{name: "alarms", tools: diagnostics, run: listAlarms},
		{name: "check_alarms", tools: diagnostics, run: checkAlarms},
		{name: "check_local_alarms", tools: diagnostics, run: checkAlarms},
		{name: "check_virtual_hosts", tools: diagnostics, run: checkVirtualHosts},
		{name: "check_storage", tools: both, run: checkStorage},
		{name: "check_port_connectivity", tools: diagnostics, usage: "[--address <address>]", options: "address", run: checkPortConnectivity},
		{name: "check_port_listener", tools: diagnostics, usage: "<port>", least: 1, most: 1, run: checkPortListener},
		{name: "check_protocol_listener", tools: diagnostics, usage: "<protocol>", least: 1, most: 1, run: checkProtocolListener},
		{name: "listeners", tools: diagnostics, run: listListeners},
		{name: "server_version", tools: diagnostics, run: serverVersion},

		{name: "list", tools: plugins, usage: "[--verbose] [--minimal] [--enabled] [--implicitly-enabled] [<pattern>]", most: 1, options: "verbose minimal enabled implicitly-enabled", run: listPlugins},
		{name: "enable", tools: plugins, usage: "[--offline] [--online] <plugin> ... | --all", most: unbounded, options: "offline online all", run: enablePlugins},
		{name: "disable", tools: plugins, usage: "[--offline] [--online] <plugin> ... | --all", most: unbounded, options: "offline online all", run: disablePlugins},
		{name: "is_enabled", tools: plugins, usage: "<plugin> ...", least: 1, most: unbounded, options: "offline online", run: pluginsEnabled},
	}
}

const policyUsage = "[--vhost <vhost>] [--priority <priority>] [--apply-to <apply-to>] <name> <pattern> <definition>"

const republishUsage = "[--vhost <vhost>] [--exchange <exchange> [--routing-key <key>]] <id> ... | --all [--cause <cause>]"

// find looks a command up among those of the tool.
func (c *call) find(name string) (command, bool) {
	for _, cmd := range commands() {
		if cmd.name == name && cmd.tools&c.tool != 0 {
			return cmd, true
		}
	}
	return command{}, false
}

// findTyped finds the command that words begin with. "scheduled list" and "list scheduled" are list_scheduled.
func (c *call) findTyped(words []string) (cmd command, rest []string, ok bool) {
	first := strings.ReplaceAll(words[0], "-", "_")
	if cmd, ok = c.find(first); ok || len(words) == 1 {
		return cmd, words[1:], ok
	}
	for _, name := range []string{words[1] + "_" + first, first + "_" + words[1]} {
		if cmd, ok = c.find(name); ok {
			return cmd, words[2:], true
		}
	}
	return cmd, words[1:], false
}

func (c *call) help(names []string) error {
	if len(names) == 0 {
		fmt.Fprint(c.stdout, c.usage())
		return nil
	}
	cmd, _, ok := c.findTyped(names)
	if !ok {
		if about := c.about(names[0]); about != "" {
			fmt.Fprint(c.stdout, about)
			return nil
		}
		return c.unknownCommand(names[0])
	}
	fmt.Fprintln(c.stdout, c.commandUsage(cmd))
	if cmd.more != nil {
		fmt.Fprintf(c.stdout, "\n%s\n", cmd.more())
	}
	return nil
}

func (c *call) commandUsage(cmd command) string {
	line := fmt.Sprintf("%s [--node <node>] [--timeout <timeout>] [--quiet] %s %s", c.program, cmd.name, cmd.usage)
	return "Usage\n\n" + strings.TrimSpace(line)
}

func (c *call) usage() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Usage\n\n%s [--node <node>] [--timeout <timeout>] [--quiet] <command> [<command options>]\n\nCommands\n\n", c.program)
	for _, cmd := range commands() {
		if cmd.tools&c.tool != 0 {
			fmt.Fprintf(&b, "   %s\n", strings.TrimSpace(cmd.name+" "+cmd.usage))
		}
	}
	fmt.Fprintf(&b, "\nUse '%s help <command>' to learn more about a command.\n", c.program)
	return b.String()
}

// about lists the commands that are about one thing, as in "scheduled"; "" if there is none.
func (c *call) about(thing string) string {
	var b strings.Builder
	for _, cmd := range commands() {
		if verb, ok := strings.CutSuffix(cmd.name, "_"+thing); ok && cmd.tools&c.tool != 0 {
			fmt.Fprintf(&b, "   %s %s %s\n", thing, verb, cmd.usage)
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return "Commands\n\n" + b.String() + fmt.Sprintf("\nUse '%s help %s <verb>' to learn more about one.\n", c.program, thing)
}

func (c *call) unknownCommand(name string) error {
	if about := c.about(name); about != "" {
		return &failure{exitUsage, strings.TrimSpace(about)}
	}
	text := fmt.Sprintf("Command '%s' not found.", name)
	best, bestName := 4, "" // further away than this is no help
	for _, cmd := range commands() {
		if n := distance(name, cmd.name); cmd.tools&c.tool != 0 && n < best {
			best, bestName = n, cmd.name
		}
	}
	if bestName != "" {
		text += fmt.Sprintf("\nDid you mean '%s'?", bestName)
	}
	return &failure{exitUsage, text + fmt.Sprintf("\n\nUse '%s help' for the list of commands.", c.program)}
}

// distance is the number of letters to insert, drop or change to make b of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
