package deadletter

import "github.com/bartleby-mq/bartleby/internal/cli/command"

const republishUsage = command.InVHost + "[--exchange <exchange> [--routing-key <key>]] <id> ... | --all [--cause <cause>]"

// LostLetters are the commands under the title "Dead letters".
func LostLetters() []command.Command {
	return []command.Command{
		{Name: "list_lost_letters", Tools: command.Both, Usage: command.InVHost + "[--cause <cause>] [--limit <number>] " + command.AnyColumn, About: "Lists lost letters: dead letters that could not be delivered.", Most: command.Unbounded, Options: "cause limit", Run: listLostLetters},
		{Name: "show_lost_letter", Tools: command.Both, Usage: command.InVHost + "<id>", About: "Shows a lost letter and its payload.", Least: 1, Most: 1, Run: showLostLetter},
		{Name: "republish_lost_letters", Tools: command.Ctl, Usage: republishUsage, About: "Publishes lost letters again, to their original destination or elsewhere.", Most: command.Unbounded, Options: "all cause exchange routing-key", Run: republishLostLetters},
		{Name: "purge_lost_letters", Tools: command.Ctl, Usage: command.InVHost + "[--cause <cause>] [<id> ...]", About: "Deletes lost letters: those with the given ids or cause, or all.", Most: command.Unbounded, Options: "cause", Run: purgeLostLetters},
		{Name: "reindex", Tools: command.Ctl, Usage: command.InVHost, About: "Rebuilds the search index of a virtual host in the background.", Run: reindex},
		{Name: "list_held_letters", Tools: command.Both, Usage: command.InVHost + "[--limit <number>] <queue> " + command.AnyColumn, About: "Lists dead letters that a queue holds because their targets cannot accept them.", Least: 1, Most: command.Unbounded, Options: "limit", Run: listHeld},
	}
}

// How dead letters are selected, and how a job runs.
const (
	sourceUsage   = "<queue> | --lost"
	selectUsage   = "[--where <filter>] [--max <number>] [--newest] "
	selectOptions = "lost where max newest dry-run wait yes "
	redriveUsage  = command.InVHost + "[--to <target> | --exchange <exchange> [--routing-key <key>]] [--force] " + selectUsage +
		"[--rate <number>] [--canary <number> [--ramp]] [--watch <duration>] [--stop-percent <number>] " +
		"[--stop-without-consumer] [--strip-deaths] [--drop-expiration] [--dry-run] [--wait] (" + sourceUsage + ") [<id> ...]"
	resendUsage = command.InVHost + "[--payload <file> | --payload-text <text>] [--properties <properties>] " +
		"[--to <target> | [--exchange <exchange>] [--routing-key <key>]] [--force] [--keep] [--dry-run] (" + sourceUsage + ") <id>"
	redriveOptions = selectOptions + "to exchange routing-key force rate canary ramp watch stop-percent stop-without-consumer " +
		"strip-deaths drop-expiration"
	redriveSample = `redrive_dlq orders.dlq --where 'reason:expired age:>1h' --dry-run
redrive_dlq orders.dlq --where 'header.tenant:acme' --rate 100 --canary 10 --ramp --stop-percent 20 --wait
redrive_dlq orders.dlq --to origin --dry-run
redrive_dlq orders.dlq --to queue:orders 4711 4712
redrive_dlq --lost --where cause:discarded`
)

// Commands are the commands under the title "Dead-letter queues".
func Commands() []command.Command {
	return []command.Command{
		{Name: "list_dlq", Tools: command.Both, Usage: command.InVHost + command.AnyColumn, About: "Lists the queues that receive or have dead letters.", Most: command.Unbounded, Run: listDLQs, More: command.FixedColumns(dlqColumns)},
		{Name: "mark_dlq", Tools: command.Ctl, Usage: command.InVHost + "[--not] <queue>", About: "Marks a queue as a dead-letter queue: all its messages are dead letters. With --not, marks it as none.", Least: 1, Most: 1, Options: "not", Run: markDLQ, Example: "mark_dlq orders.failed\nmark_dlq --not orders.expired"},
		{Name: "unmark_dlq", Tools: command.Ctl, Usage: command.InVHost + "<queue>", About: "Undoes mark_dlq: the settings of the queue decide again whether it is a dead-letter queue.", Least: 1, Most: 1, Run: unmarkDLQ},
		{Name: "list_deaths", Tools: command.Both, Usage: command.InVHost + "[--range <range>] " + command.AnyColumn, About: "Lists the queues with the most recent deaths, by reason.", Most: command.Unbounded, Options: "range", Run: listDeaths, More: command.FixedColumns(deathColumns), Example: "list_deaths --range 10m"},
		{Name: "show_dlq", Tools: command.Both, Usage: command.InVHost + "[--by <field>] [--where <filter>] [--limit <number>] <queue> " + command.AnyColumn, About: "Groups the dead letters of a queue and counts them.", Least: 1, Most: command.Unbounded, Options: "by where limit", Run: showDLQ, More: command.FixedColumns(groupColumns), Example: "show_dlq orders.dlq\nshow_dlq orders.dlq --by exception"},
		{Name: "peek_dlq", Tools: command.Both, Usage: command.InVHost + "[--where <filter>] [--limit <number>] [--newest] [--id <id>] (" + sourceUsage + ") " + command.AnyColumn, About: "Lists the messages of a queue in any state, or shows one, without changing them.", Most: command.Unbounded, Options: "lost where limit newest id", Run: peekDLQ, More: command.FixedColumns(messageColumns), Example: "peek_dlq orders.dlq --newest --limit 10 id at message_id payload\npeek_dlq orders.dlq --id 4711"},
		{Name: "search_letters", Tools: command.Both, Usage: command.InVHost + "[--where <filter>] [--limit <number>] [--newest] " + command.AnyColumn, About: "Searches the dead letters of a virtual host in all queues.", Most: command.Unbounded, Options: "where limit newest", Run: search, More: command.FixedColumns(messageColumns), Example: "search_letters --where 'header.tenant:acme timeout' id place queue at"},
		{Name: "group_letters", Tools: command.Both, Usage: command.InVHost + "[--by <field>] [--where <filter>] [--limit <number>] " + command.AnyColumn, About: "Groups the dead letters of a virtual host and counts them.", Most: command.Unbounded, Options: "by where limit", Run: groupMessages, More: command.FixedColumns(groupColumns), Example: "group_letters --by source\ngroup_letters --by header:x-exception-fqcn"},
		{Name: "redrive_dlq", Tools: command.Ctl, Usage: redriveUsage, About: "Starts a job in the broker that redrives dead letters.", Most: command.Unbounded, Options: redriveOptions, Patience: patience, Run: redriveDLQ, More: redriveHelp, Example: redriveSample},
		{Name: "discard_dlq", Tools: command.Ctl, Usage: command.InVHost + selectUsage + "[--dry-run] [--wait] [--yes] (" + sourceUsage + ") [<id> ...]", About: "Starts a job that discards dead letters. They become lost letters; discarded lost letters are deleted.", Most: command.Unbounded, Options: selectOptions, Patience: patience, Run: discardDLQ, More: redriveHelp, Example: "discard_dlq orders.dlq --where 'age:>30d' --wait"},
		{Name: "resend_letter", Tools: command.Ctl, Usage: resendUsage, About: "Publishes a message again with another payload or other properties, replacing the original.", Least: 1, Most: 2, Options: "lost payload payload-text properties to exchange routing-key force keep dry-run", Run: resend, Example: "resend_letter orders.dlq 4711 --payload corrected.json"},
		{Name: "export_dlq", Tools: command.Ctl, Usage: command.InVHost + "[--queue <queue> | --lost] [--where <filter>] [--newest] <file> | -", About: "Exports dead letters to a file in JSON Lines format; from all queues if none is given.", Least: 1, Most: 1, Options: "queue lost where newest", Patience: patience, Run: exportDLQ, Example: "export_dlq --queue orders.dlq orders.ndjson"},
		{Name: "import_dlq", Tools: command.Ctl, Usage: command.InVHost + "(--queue <queue> [--once] | --exchange <exchange> [--routing-key <key>] | --origin) <file> | -", About: "Imports an exported file and publishes its messages.", Least: 1, Most: 1, Options: "queue once exchange routing-key origin", Patience: patience, Run: importDLQ, Example: "import_dlq --queue orders.dlq --once orders.ndjson"},
		{Name: "list_redrives", Tools: command.Both, Usage: command.InVHost + command.AnyColumn, About: "Lists redrive and discard jobs, newest first.", Most: command.Unbounded, Run: listRedrives, More: command.FixedColumns(redriveColumns)},
		{Name: "show_redrive", Tools: command.Both, Usage: command.InVHost + "[--wait] <job>", About: "Shows a job.", Least: 1, Most: 1, Options: "wait", Patience: patience, Run: showRedrive},
		{Name: "pause_redrive", Tools: command.Ctl, Usage: command.InVHost + "<job>", About: "Pauses a job.", Least: 1, Most: 1, Run: changeRedrive("pause")},
		{Name: "resume_redrive", Tools: command.Ctl, Usage: command.InVHost + "<job>", About: "Resumes a paused or stopped job.", Least: 1, Most: 1, Run: changeRedrive("resume")},
		{Name: "cancel_redrive", Tools: command.Ctl, Usage: command.InVHost + "<job>", About: "Cancels a job.", Least: 1, Most: 1, Run: changeRedrive("cancel")},
		{Name: "rate_redrive", Tools: command.Ctl, Usage: command.InVHost + "<job> <number>", About: "Sets the rate of a job in messages per second; 0 means as fast as possible.", Least: 2, Most: 2, Run: rateRedrive},
		{Name: "forget_redrive", Tools: command.Ctl, Usage: command.InVHost + "<job>", About: "Deletes a finished job from the list.", Least: 1, Most: 1, Run: forgetRedrive},
		{Name: "list_notes", Tools: command.Both, Usage: command.InVHost + command.AnyColumn, About: "Lists the notes on groups of dead letters.", Most: command.Unbounded, Run: listNotes},
		{Name: "set_note", Tools: command.Ctl, Usage: command.InVHost + "[--by <field>] <value> <text>", About: "Sets the note on a group of dead letters; an empty text deletes it.", Least: 2, Most: 2, Options: "by", Run: setNote, Example: "set_note --by exception 'java.net.SocketTimeoutException' 'card network was down'"},
	}
}
