package cli

import "time"

const startPatience = 5 * time.Minute

// nodeTable is about the broker itself.
func nodeTable() []group {
	return []group{
		{"Node", []command{
			{name: "status", tools: both, usage: "[--unit <unit>]", about: "Shows what runs where, with which limits.", options: "unit", run: nodeStatus},
			{name: "cluster_status", tools: both, about: "Shows the nodes of the cluster: this one.", run: clusterStatus},
			{name: "environment", tools: both, about: "Shows the configuration in force.", run: environment},
			{name: "report", tools: both, about: "Shows everything that a question to others should come with.", run: report},
			{name: "ping", tools: everyTool, about: "Says whether a broker answers; with --timeout, asks until then.", run: ping},
			{name: "await_startup", tools: both, about: "Waits until the broker serves clients.", patience: startPatience, run: awaitStartup, example: "await_startup --timeout 60"},
			{name: "await_online_nodes", tools: ctl, usage: "<number>", about: "Waits until the broker serves clients; there is one node.", least: 1, most: 1, patience: startPatience, run: awaitOnlineNodes},
			{name: "wait", tools: ctl, usage: "[<pid file>] | --pid <pid>", about: "Waits until the broker serves clients; fails once the process has gone.", most: 1, options: "pid", patience: startPatience, run: wait, example: "wait /run/bartleby/pid --timeout 60"},
			{name: "stop", tools: ctl, usage: "[<pid file>]", about: "Stops a broker of this machine, and waits for its end.", most: 1, options: "idempotent", run: stopNode},
			{name: "shutdown", tools: ctl, usage: "[--no-wait]", about: "Stops a broker of this machine, and waits for its end.", options: "no-wait", run: stopNode},
			{name: "start_app", tools: ctl, about: "Lets clients in again, after stop_app.", run: startApp},
			{name: "stop_app", tools: ctl, about: "Lets no client in until start_app, and closes the connections that there are.", run: stopApp},
			{name: "reset", tools: ctl, about: "Is refused: stop the broker and remove its data directory.", run: reset},
			{name: "force_reset", tools: ctl, about: "Is refused, as reset.", run: reset},
			{name: "set_cluster_name", tools: ctl, usage: "<name>", about: "Gives the cluster a name, which clients are told.", least: 1, most: 1, run: setClusterName},
			{name: "set_vm_memory_high_watermark", tools: ctl, usage: "<fraction> | absolute <bytes>", about: "Sets, until the broker stops, how much memory it may have before publishers wait.", least: 1, most: 2, run: setMemoryHighWatermark},
			{name: "set_disk_free_limit", tools: ctl, usage: "<bytes> | mem_relative <multiple>", about: "Sets, until the broker stops, how much disk has to be free before publishers wait.", least: 1, most: 2, run: setDiskFreeLimit},
			{name: "list_audit", tools: both, usage: "[--user <username>] [--limit <number>] " + anyColumn, about: "Lists who changed what, the newest first.", most: unbounded, options: "user limit", run: listAudit, more: columnsOf(auditColumns)},
			{name: "set_log_level", tools: ctl, usage: "<level>", about: "Sets, until the broker stops, what is logged: debug, info, warning, error, critical, none.", least: 1, most: 1, run: setLogLevel},
			{name: "rotate_logs", tools: ctl, about: "Puts the log's file aside as log.file.rotation.* say, or else opens it anew.", run: rotateLogs},
			{name: "list_feature_flags", tools: both, usage: anyColumn, about: "Lists feature flags, all of which are enabled.", most: unbounded, run: listFeatureFlags, more: columnsOf(flagColumns)},
			{name: "enable_feature_flag", tools: ctl, usage: "<name> | all", about: "Succeeds for flags that there are: they are enabled.", least: 1, most: 1, options: "opt-in experimental", run: enableFeatureFlag},
			{name: "list_deprecated_features", tools: both, usage: "[--used]", about: "Lists deprecated features: none.", options: "used", run: listDeprecated},
			{name: "clock", tools: ctl, usage: clockUsage, about: "Shows the clocks, or changes them.", most: 2, patience: clockPatience, run: clock, more: clockHelp},
			{name: "backup", tools: ctl, usage: "<directory> | --tar <file>", about: "Copies all that a running broker keeps.", most: 1, options: "tar", patience: backupPatience, run: backup},
			{name: "storage", tools: both, about: "Shows what the journal holds, and what damage has stopped virtual hosts.", run: storage},
			{name: "eval", tools: ctl, usage: "<expression>", about: "Is refused, but for the probe that operators send: there is no Erlang here.", least: 1, most: unbounded, offline: true, run: eval},
			{name: "version", tools: everyTool, about: "Prints the version of RabbitMQ whose commands these are.", offline: true, run: version},
			{name: "autocomplete", tools: everyTool, usage: "[<prefix>]", about: "Lists the commands that begin so, for RabbitMQ's own scripts of shells.", most: 1, offline: true, run: autocomplete},
			{name: "completion", tools: everyTool, usage: "<shell>", about: "Prints a script that lets a shell, bash, zsh or fish, complete commands, options and names.", least: 1, most: 1, offline: true, run: completion, more: completionHelp},
		}},
		{"For scripts written for clusters of RabbitMQ", []command{
			{name: "join_cluster", tools: ctl, usage: "<node>", about: "Is refused: a broker is one node.", least: 1, most: 1, options: "disc ram", run: refuse("clusters are not offered: a broker is one node")},
			{name: "forget_cluster_node", tools: ctl, usage: "<node>", about: "Is refused: a broker is one node.", least: 1, most: 1, options: "offline", run: refuse("there is no other node to forget: a broker is one node")},
			{name: "force_boot", tools: ctl, about: "Does nothing: the broker waits for no other node.", offline: true, run: already("The broker starts without waiting for others.")},
			{name: "force_gc", tools: both, about: "Does nothing: memory is given back by itself.", run: already("Memory is given back by itself.")},
			{name: "update_cluster_nodes", tools: ctl, usage: "<node>", about: "Does nothing: a broker is one node.", least: 1, most: 1, run: already("A broker is one node.")},
			{name: "rename_cluster_node", tools: ctl, usage: "<old> <new> ...", about: "Does nothing: data is bound to no name.", least: 2, most: unbounded, offline: true, run: already("Data is bound to no name of a node.")},
			{name: "reconcile_vhosts", tools: ctl, about: "Does nothing: virtual hosts are where the node is.", run: already("Virtual hosts are where the node is.")},
			{name: "suspend_listeners", tools: ctl, about: "Lets no further client in, until resume_listeners or a restart.", run: suspendListeners},
			{name: "resume_listeners", tools: ctl, about: "Lets clients in again.", run: resumeListeners},
			{name: "node_health_check", tools: both, about: "Says whether the broker runs; use the checks of rabbitmq-diagnostics instead.", run: nodeHealth},
			{name: "list_hashes", tools: ctl, about: "Lists the hashes in which passwords are kept.", offline: true, run: listHashes},
			{name: "list_ciphers", tools: ctl, about: "Is refused: configuration values are not encrypted.", offline: true, run: refuse(noEncryption)},
			{name: "encode", tools: ctl, usage: "<value> <passphrase>", about: "Is refused: configuration values are not encrypted.", most: unbounded, offline: true, run: refuse(noEncryption)},
			{name: "decode", tools: ctl, usage: "<value> <passphrase>", about: "Is refused: configuration values are not encrypted.", most: unbounded, offline: true, run: refuse(noEncryption)},
			{name: "encrypt_conf_value", tools: ctl, usage: "<value> <passphrase>", about: "Is refused: configuration values are not encrypted.", most: unbounded, offline: true, run: refuse(noEncryption)},
		}},
	}
}

const noEncryption = "values in configuration files are not encrypted here: keep them in a file that only the broker reads"
