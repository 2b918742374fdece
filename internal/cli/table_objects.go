package cli

const (
	anyColumn      = "[<column> ...]"
	republishUsage = inVHost + "[--exchange <exchange> [--routing-key <key>]] <id> ... | --all [--cause <cause>]"
)

// objectTable is about what clients declare, and about clients.
func objectTable() []group {
	return []group{
		{"Queues, exchanges, bindings", []command{
			{name: "list_queues", tools: both | queues, usage: inVHost + "[--online] [--offline] [--local] " + anyColumn, about: "Lists queues.", most: unbounded, options: "online offline local", run: listQueues, more: columnsOf(queueColumns), example: "list_queues name messages consumers policy\nlist_queues -p shop -q name messages | awk '$2 > 1000'"},
			{name: "list_exchanges", tools: both, usage: inVHost + anyColumn, about: "Lists exchanges.", most: unbounded, run: listExchanges, more: columnsOf(exchangeColumns)},
			{name: "list_bindings", tools: both, usage: inVHost + anyColumn, about: "Lists bindings.", most: unbounded, run: listBindings, more: columnsOf(bindingColumns)},
			{name: "list_consumers", tools: both, usage: inVHost + anyColumn, about: "Lists consumers.", most: unbounded, run: listConsumers, more: columnsOf(consumerColumns)},
			{name: "list_unresponsive_queues", tools: both, usage: inVHost + anyColumn, about: "Lists unresponsive queues: always none.", most: unbounded, options: "local", run: listNothing("Listing unresponsive queues for vhost %s ...")},
			{name: "purge_queue", tools: ctl, usage: inVHost + "<queue>", about: "Deletes the ready messages of a queue.", least: 1, most: 1, run: purgeQueue},
			{name: "delete_queue", tools: ctl, usage: inVHost + "<queue> [--if-empty] [--if-unused]", about: "Deletes a queue and its messages.", least: 1, most: 1, options: "if-empty if-unused force", run: deleteQueue},
			{name: "delete_exchange", tools: ctl, usage: inVHost + "<exchange> [--if-unused]", about: "Deletes an exchange.", least: 1, most: 1, options: "if-unused", run: deleteExchange},
		}},
		{"Connections", []command{
			{name: "list_connections", tools: both, usage: anyColumn, about: "Lists connections.", most: unbounded, run: listConnections, more: columnsOf(connectionColumns)},
			{name: "list_channels", tools: both, usage: anyColumn, about: "Lists channels.", most: unbounded, run: listChannels, more: columnsOf(channelColumns)},
			{name: "close_connection", tools: ctl, usage: "<connection> <reason>", about: "Closes a connection, given as shown by list_connections pid or name.", least: 2, most: 2, run: closeConnection, example: "close_connection '127.0.0.1:51001 -> 127.0.0.1:5672' 'go away'"},
			{name: "close_all_connections", tools: ctl, usage: "[--vhost <vhost> | --global] [--per-connection-delay <ms>] [--limit <number>] <reason>", about: "Closes all connections, or those of one virtual host.", least: 1, most: 1, options: "global per-connection-delay limit", run: closeAllConnections},
			{name: "close_all_user_connections", tools: ctl, usage: "<username> <reason>", about: "Closes the connections of a user.", least: 2, most: 2, run: closeUserConnections},
		}},
		{"Definitions", []command{
			{name: "export_definitions", tools: ctl, usage: "[--format json] <file> | -", about: "Exports users, virtual hosts, permissions, policies, queues, exchanges and bindings to a file or standard output.", least: 1, most: 1, options: "format", run: exportDefinitions, more: definitionsHelp, example: "export_definitions definitions.json\nexport_definitions - | jq .queues"},
			{name: "import_definitions", tools: ctl, usage: "[--format json] [--skip-if-unchanged] [<file> | -]", about: "Imports definitions from a file or standard input.", most: 1, options: "format skip-if-unchanged", patience: definitionsPatience, run: importDefinitions, more: definitionsHelp, example: "import_definitions definitions.json"},
		}},
	}
}

// letterTable is about messages that died, or that wait.
func letterTable() []group {
	return []group{
		{"Dead letters", []command{
			{name: "list_lost_letters", tools: both, usage: inVHost + "[--cause <cause>] [--limit <number>] " + anyColumn, about: "Lists lost letters: dead letters that could not be delivered.", most: unbounded, options: "cause limit", run: listLostLetters},
			{name: "show_lost_letter", tools: both, usage: inVHost + "<id>", about: "Shows a lost letter and its payload.", least: 1, most: 1, run: showLostLetter},
			{name: "republish_lost_letters", tools: ctl, usage: republishUsage, about: "Publishes lost letters again, to their original destination or elsewhere.", most: unbounded, options: "all cause exchange routing-key", run: republishLostLetters},
			{name: "purge_lost_letters", tools: ctl, usage: inVHost + "[--cause <cause>] [<id> ...]", about: "Deletes lost letters: those with the given ids or cause, or all.", most: unbounded, options: "cause", run: purgeLostLetters},
			{name: "reindex", tools: ctl, usage: inVHost, about: "Rebuilds the search index of a virtual host in the background.", run: reindex},
			{name: "list_held_letters", tools: both, usage: inVHost + "[--limit <number>] <queue> " + anyColumn, about: "Lists dead letters that a queue holds because their targets cannot accept them.", least: 1, most: unbounded, options: "limit", run: listHeldLetters},
		}},
		{"Scheduled messages", []command{
			{name: "list_scheduled", tools: both, usage: inVHost + "[--limit <number>] [" + filterUsage + "] <exchange> " + anyColumn, about: "Lists scheduled messages of a delayed exchange.", least: 1, most: unbounded, options: "limit " + filterOptions, run: listScheduled, more: listScheduledHelp},
			{name: "count_scheduled", tools: both, usage: inVHost + "[--by <time> [--exchange <exchange>] [--from <instant>] [--until <instant>]] " + anyColumn, about: "Counts scheduled messages by exchange or by due time.", most: unbounded, options: "by exchange from until", run: countScheduled, more: countScheduledHelp},
			{name: "show_scheduled", tools: both, usage: inVHost + "<exchange> (<id> | --key <key>)", about: "Shows a scheduled message and its payload.", least: 1, most: 2, options: "key", run: showScheduled, more: filterHelp},
			{name: "put_scheduled", tools: ctl, usage: inVHost + "(--in <time> | --at <instant>) --key <key> <exchange> <routing key> <payload>", about: "Schedules a message under a key, replacing the message already scheduled under it.", least: 3, most: 3, options: "in at key", run: putScheduled},
			{name: "cancel_scheduled", tools: ctl, usage: inVHost + "<exchange> <id> ... | --key <key> | " + filterUsage, about: "Cancels scheduled messages.", least: 1, most: unbounded, options: "key " + filterOptions, run: cancelScheduled, more: filterHelp},
			{name: "reschedule_scheduled", tools: ctl, usage: inVHost + "(--in <time> | --at <instant>) <exchange> <id> ... | --key <key> | " + filterUsage, about: "Changes the due time of scheduled messages.", least: 1, most: unbounded, options: "in at key " + filterOptions, run: rescheduleScheduled, more: filterHelp},
			{name: "fire_scheduled", tools: ctl, usage: inVHost + "<exchange> <id> ... | --key <key> | " + filterUsage, about: "Sends scheduled messages now.", least: 1, most: unbounded, options: "key " + filterOptions, run: fireScheduled, more: filterHelp},
			{name: "purge_scheduled", tools: ctl, usage: inVHost + "<exchange>", about: "Cancels all scheduled messages of a delayed exchange.", least: 1, most: 1, run: purgeScheduled},
			{name: "list_waiting", tools: both, usage: inVHost + "[--limit <number>] [" + filterUsage + "] <queue> " + anyColumn, about: "Lists messages of a queue that wait for a retry or a delivery time.", least: 1, most: unbounded, options: "limit " + filterOptions, run: listWaiting, more: listWaitingHelp},
			{name: "retry_waiting", tools: ctl, usage: inVHost + "<queue> <id> ... | --all | " + filterUsage, about: "Makes waiting messages of a queue ready now.", least: 1, most: unbounded, options: "all " + filterOptions, run: retryWaiting, more: filterHelp},
		}},
	}
}
