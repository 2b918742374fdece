package schedule

import "github.com/bartleby-mq/bartleby/internal/cli/command"

// Commands are the commands under the title "Scheduled messages".
func Commands() []command.Command {
	return []command.Command{
		{Name: "list_scheduled", Tools: command.Both, Usage: command.InVHost + "[--limit <number>] [" + filterUsage + "] <exchange> " + command.AnyColumn, About: "Lists scheduled messages of a delayed exchange.", Least: 1, Most: command.Unbounded, Options: "limit " + filterOptions, Run: listScheduled, More: listScheduledHelp},
		{Name: "count_scheduled", Tools: command.Both, Usage: command.InVHost + "[--by <duration> [--exchange <exchange>] [--from <time>] [--until <time>]] " + command.AnyColumn, About: "Counts scheduled messages by exchange or by due time.", Most: command.Unbounded, Options: "by exchange from until", Run: countScheduled, More: countScheduledHelp},
		{Name: "show_scheduled", Tools: command.Both, Usage: command.InVHost + "<exchange> (<id> | --key <key>)", About: "Shows a scheduled message and its payload.", Least: 1, Most: 2, Options: "key", Run: showScheduled, More: filterHelp},
		{Name: "put_scheduled", Tools: command.Ctl, Usage: command.InVHost + "(--in <duration> | --at <time>) --key <key> <exchange> <routing key> <payload>", About: "Schedules a message under a key, replacing the message already scheduled under it.", Least: 3, Most: 3, Options: "in at key", Run: putScheduled},
		{Name: "cancel_scheduled", Tools: command.Ctl, Usage: command.InVHost + "<exchange> <id> ... | --key <key> | " + filterUsage, About: "Cancels scheduled messages.", Least: 1, Most: command.Unbounded, Options: "key " + filterOptions, Run: cancelScheduled, More: filterHelp},
		{Name: "reschedule_scheduled", Tools: command.Ctl, Usage: command.InVHost + "(--in <duration> | --at <time>) <exchange> <id> ... | --key <key> | " + filterUsage, About: "Changes the due time of scheduled messages.", Least: 1, Most: command.Unbounded, Options: "in at key " + filterOptions, Run: rescheduleScheduled, More: filterHelp},
		{Name: "fire_scheduled", Tools: command.Ctl, Usage: command.InVHost + "<exchange> <id> ... | --key <key> | " + filterUsage, About: "Sends scheduled messages now.", Least: 1, Most: command.Unbounded, Options: "key " + filterOptions, Run: fireScheduled, More: filterHelp},
		{Name: "purge_scheduled", Tools: command.Ctl, Usage: command.InVHost + "<exchange>", About: "Cancels all scheduled messages of a delayed exchange.", Least: 1, Most: 1, Run: purgeScheduled},
		{Name: "list_waiting", Tools: command.Both, Usage: command.InVHost + "[--limit <number>] [" + filterUsage + "] <queue> " + command.AnyColumn, About: "Lists messages of a queue that wait for a retry or a delivery time.", Least: 1, Most: command.Unbounded, Options: "limit " + filterOptions, Run: listWaiting, More: listWaitingHelp},
		{Name: "retry_waiting", Tools: command.Ctl, Usage: command.InVHost + "<queue> <id> ... | --all | " + filterUsage, About: "Makes waiting messages of a queue ready now.", Least: 1, Most: command.Unbounded, Options: "all " + filterOptions, Run: retryWaiting, More: filterHelp},
		{Name: "reschedule_waiting", Tools: command.Ctl, Usage: command.InVHost + "(--in <duration> | --at <time>) <queue> <id> ... | " + filterUsage, About: "Changes the due time of messages that wait in a queue.", Least: 1, Most: command.Unbounded, Options: "in at " + filterOptions, Run: rescheduleWaiting, More: filterHelp},
		{Name: "cancel_waiting", Tools: command.Ctl, Usage: command.InVHost + "<queue> <id> ... | " + filterUsage, About: "Deletes messages of a queue that wait for their delivery time.", Least: 1, Most: command.Unbounded, Options: filterOptions, Run: cancelWaiting, More: cancelWaitingHelp},
	}
}
