package cli

// What says which letters are meant, and how a job goes on.
const (
	lettersUsage  = "<queue> | --lost"
	meantUsage    = "[--where <filter>] [--max <number>] [--newest] "
	meantOptions  = "lost where max newest dry-run wait yes "
	redriveUsage  = inVHost + "[--to <target>] " + meantUsage + "[--rate <number>] [--canary <number> [--ramp]] [--watch <time>] [--stop-percent <number>] [--stop-without-consumer] [--strip-deaths] [--drop-expiration] [--dry-run] [--wait] (" + lettersUsage + ") [<id> ...]"
	redriveWords  = meantOptions + "to rate canary ramp watch stop-percent stop-without-consumer strip-deaths drop-expiration"
	redriveSample = `redrive_dlq orders.dlq --where 'reason:expired age:>1h' --dry-run
redrive_dlq orders.dlq --where 'header.tenant:acme' --rate 100 --canary 10 --ramp --stop-percent 20 --wait
redrive_dlq orders.dlq --to queue:orders 4711 4712
redrive_dlq --lost --where cause:discarded --to on`
)

// officeTable is about looking after dead letters.
func officeTable() []group {
	return []group{
		{"Dead-letter queues", []command{
			{name: "list_dlq", tools: both, usage: inVHost + anyColumn, about: "Lists the queues that receive dead letters.", most: unbounded, run: listDLQs, more: fixedColumns(dlqColumns)},
			{name: "list_deaths", tools: both, usage: inVHost + "[--range <range>] " + anyColumn, about: "Lists the queues with the most recent deaths, by reason.", most: unbounded, options: "range", run: listDeaths, more: fixedColumns(deathColumns), example: "list_deaths --range 10m"},
			{name: "show_dlq", tools: both, usage: inVHost + "[--by <what>] [--where <filter>] [--limit <number>] <queue> " + anyColumn, about: "Groups the dead letters of a queue and counts them.", least: 1, most: unbounded, options: "by where limit", run: showDLQ, more: fixedColumns(groupColumns), example: "show_dlq orders.dlq\nshow_dlq orders.dlq --by exception"},
			{name: "peek_dlq", tools: both, usage: inVHost + "[--where <filter>] [--limit <number>] [--newest] [--id <id>] (" + lettersUsage + ") " + anyColumn, about: "Lists the messages of a queue in any state, or shows one, without changing them.", most: unbounded, options: "lost where limit newest id", run: peekDLQ, more: fixedColumns(letterColumns), example: "peek_dlq orders.dlq --newest --limit 10 id at message_id payload\npeek_dlq orders.dlq --id 4711"},
			{name: "search_letters", tools: both, usage: inVHost + "[--where <filter>] [--limit <number>] [--newest] " + anyColumn, about: "Searches the dead letters of a virtual host in all queues.", most: unbounded, options: "where limit newest", run: searchLetters, more: fixedColumns(letterColumns), example: "search_letters --where 'header.tenant:acme timeout' id place queue at"},
			{name: "group_letters", tools: both, usage: inVHost + "[--by <what>] [--where <filter>] [--limit <number>] " + anyColumn, about: "Groups the dead letters of a virtual host and counts them.", most: unbounded, options: "by where limit", run: groupLetters, more: fixedColumns(groupColumns), example: "group_letters --by source\ngroup_letters --by header:x-exception-fqcn"},
			{name: "redrive_dlq", tools: ctl, usage: redriveUsage, about: "Starts a job in the broker that redrives dead letters.", most: unbounded, options: redriveWords, patience: officePatience, run: redriveDLQ, more: redriveHelp, example: redriveSample},
			{name: "discard_dlq", tools: ctl, usage: inVHost + meantUsage + "[--dry-run] [--wait] [--yes] (" + lettersUsage + ") [<id> ...]", about: "Starts a job that discards dead letters. They become lost letters; discarded lost letters are deleted.", most: unbounded, options: meantOptions, patience: officePatience, run: discardDLQ, more: redriveHelp, example: "discard_dlq orders.dlq --where 'age:>30d' --wait"},
			{name: "resend_letter", tools: ctl, usage: inVHost + "[--payload <file>] [--properties <file>] [--exchange <exchange>] [--routing-key <key>] [--keep] [--dry-run] (" + lettersUsage + ") <id>", about: "Publishes a message again with another payload or other properties, replacing the original.", least: 1, most: 2, options: "lost payload properties exchange routing-key keep dry-run", run: resendLetter, example: "resend_letter orders.dlq 4711 --payload mended.json"},
			{name: "export_dlq", tools: ctl, usage: inVHost + "[--queue <queue> | --lost] [--where <filter>] [--newest] <file> | -", about: "Exports dead letters to a file in JSON Lines format; from all queues if none is given.", least: 1, most: 1, options: "queue lost where newest", patience: officePatience, run: exportDLQ, example: "export_dlq --queue orders.dlq orders.ndjson"},
			{name: "import_dlq", tools: ctl, usage: inVHost + "(--queue <queue> [--once] | --exchange <exchange> [--routing-key <key>] | --origin) <file> | -", about: "Imports an exported file and publishes its messages.", least: 1, most: 1, options: "queue once exchange routing-key origin", patience: officePatience, run: importDLQ, example: "import_dlq --queue orders.dlq --once orders.ndjson"},
			{name: "list_redrives", tools: both, usage: inVHost + anyColumn, about: "Lists redrive and discard jobs, newest first.", most: unbounded, run: listRedrives, more: fixedColumns(redriveColumns)},
			{name: "show_redrive", tools: both, usage: inVHost + "[--wait] <job>", about: "Shows a job.", least: 1, most: 1, options: "wait", patience: officePatience, run: showRedrive},
			{name: "pause_redrive", tools: ctl, usage: inVHost + "<job>", about: "Pauses a job.", least: 1, most: 1, run: changeRedrive("pause")},
			{name: "resume_redrive", tools: ctl, usage: inVHost + "<job>", about: "Resumes a paused or stopped job.", least: 1, most: 1, run: changeRedrive("resume")},
			{name: "cancel_redrive", tools: ctl, usage: inVHost + "<job>", about: "Cancels a job.", least: 1, most: 1, run: changeRedrive("cancel")},
			{name: "rate_redrive", tools: ctl, usage: inVHost + "<job> <number>", about: "Sets the rate of a job in messages per second; 0 means as fast as possible.", least: 2, most: 2, run: rateRedrive},
			{name: "forget_redrive", tools: ctl, usage: inVHost + "<job>", about: "Deletes a finished job from the list.", least: 1, most: 1, run: forgetRedrive},
			{name: "list_notes", tools: both, usage: inVHost + anyColumn, about: "Lists the notes on groups of dead letters.", most: unbounded, run: listNotes},
			{name: "set_note", tools: ctl, usage: inVHost + "[--by <what>] <value> <text>", about: "Sets the note on a group of dead letters; an empty text deletes it.", least: 2, most: 2, options: "by", run: setNote, example: "set_note --by exception 'java.net.SocketTimeoutException' 'card network was down'"},
		}},
	}
}

func fixedColumns(names string) func() string {
	return func() string { return "Columns: " + names }
}
