package cli

import "time"

const startPatience = 5 * time.Minute

// nodeTable is about the broker itself.
func nodeTable() []group {
	return []group{
		{"Node", []command{
			{name: "status", tools: both, usage: "[--unit <unit>]", about: "Shows the status of the broker: version, uptime, listeners, resources, limits.", options: "unit", run: nodeStatus},
			{name: "cluster_status", tools: both, about: "Shows the nodes of the cluster: only this one.", run: clusterStatus},
			{name: "environment", tools: both, about: "Shows the effective configuration.", run: environment},
			{name: "report", tools: both, about: "Collects information for a support request.", run: report},
			{name: "ping", tools: everyTool, about: "Checks whether the broker responds; with --timeout, retries until then.", run: ping},
			{name: "await_startup", tools: both, about: "Waits until the broker accepts clients.", patience: startPatience, run: awaitStartup, example: "await_startup --timeout 60"},
			{name: "await_online_nodes", tools: ctl, usage: "<number>", about: "Waits until the broker accepts clients; there is only one node.", least: 1, most: 1, patience: startPatience, run: awaitOnlineNodes},
			{name: "wait", tools: ctl, usage: "[<pid file>] | --pid <pid>", about: "Waits until the broker accepts clients; fails if its process exits.", most: 1, options: "pid", patience: startPatience, run: wait, example: "wait /run/bartleby/pid --timeout 60"},
			{name: "stop", tools: ctl, usage: "[<pid file>]", about: "Stops a broker on this machine and waits until it has stopped.", most: 1, options: "idempotent", run: stopNode},
			{name: "shutdown", tools: ctl, usage: "[--no-wait]", about: "Stops a broker on this machine and waits until it has stopped.", options: "no-wait", run: stopNode},
			{name: "start_app", tools: ctl, about: "Accepts clients again after stop_app.", run: startApp},
			{name: "stop_app", tools: ctl, about: "Closes all client connections and accepts no clients until start_app.", run: stopApp},
			{name: "reset", tools: ctl, about: "Not supported: stop the broker and remove its data directory.", run: reset},
			{name: "force_reset", tools: ctl, about: "Not supported, like reset.", run: reset},
			{name: "set_cluster_name", tools: ctl, usage: "<name>", about: "Sets the name of the cluster.", least: 1, most: 1, run: setClusterName},
			{name: "set_vm_memory_high_watermark", tools: ctl, usage: "<fraction> | absolute <bytes>", about: "Sets the memory limit above which publishers are blocked, until the broker restarts.", least: 1, most: 2, run: setMemoryHighWatermark},
			{name: "set_disk_free_limit", tools: ctl, usage: "<bytes> | mem_relative <multiple>", about: "Sets the free disk space below which publishers are blocked, until the broker restarts.", least: 1, most: 2, run: setDiskFreeLimit},
			{name: "list_audit", tools: both, usage: "[--user <username>] [--limit <number>] " + anyColumn, about: "Lists changes and the users who made them, newest first.", most: unbounded, options: "user limit", run: listAudit, more: columnsOf(auditColumns)},
			{name: "set_log_level", tools: ctl, usage: "<level>", about: "Sets the log level until the broker restarts: debug, info, warning, error, critical, none.", least: 1, most: 1, run: setLogLevel},
			{name: "rotate_logs", tools: ctl, about: "Rotates or reopens the log file, as configured with log.file.rotation.*.", run: rotateLogs},
			{name: "list_feature_flags", tools: both, usage: anyColumn, about: "Lists feature flags; all are enabled.", most: unbounded, run: listFeatureFlags, more: columnsOf(flagColumns)},
			{name: "enable_feature_flag", tools: ctl, usage: "<name> | all", about: "Succeeds for known feature flags, which are enabled.", least: 1, most: 1, options: "opt-in experimental", run: enableFeatureFlag},
			{name: "list_deprecated_features", tools: both, usage: "[--used]", about: "Lists deprecated features: none.", options: "used", run: listDeprecated},
			{name: "clock", tools: ctl, usage: clockUsage, about: "Shows or changes the clocks.", most: 2, patience: clockPatience, run: clock, more: clockHelp},
			{name: "backup", tools: ctl, usage: "<directory> | --tar <file>", about: "Copies all data of a running broker.", most: 1, options: "tar", patience: backupPatience, run: backup},
			{name: "storage", tools: both, about: "Shows the state of the journal and virtual hosts stopped by damaged data.", run: storage},
			{name: "eval", tools: ctl, usage: "<expression>", about: "Not supported, except for a common health probe: the broker does not run Erlang.", least: 1, most: unbounded, offline: true, run: eval},
			{name: "version", tools: everyTool, about: "Prints the RabbitMQ version of this command line tool.", offline: true, run: version},
			{name: "autocomplete", tools: everyTool, usage: "[<prefix>]", about: "Lists commands with a prefix, for RabbitMQ's shell completion scripts.", most: 1, offline: true, run: autocomplete},
			{name: "completion", tools: everyTool, usage: "<shell>", about: "Prints a completion script for bash, zsh or fish.", least: 1, most: 1, offline: true, run: completion, more: completionHelp},
		}},
		{"Compatibility with RabbitMQ clusters", []command{
			{name: "join_cluster", tools: ctl, usage: "<node>", about: "Not supported: the broker is a single node.", least: 1, most: 1, options: "disc ram", run: refuse("clusters are not supported: the broker is a single node")},
			{name: "forget_cluster_node", tools: ctl, usage: "<node>", about: "Not supported: the broker is a single node.", least: 1, most: 1, options: "offline", run: refuse("there is no other node to forget: the broker is a single node")},
			{name: "force_boot", tools: ctl, about: "Does nothing: the broker does not wait for other nodes.", offline: true, run: already("The broker does not wait for other nodes.")},
			{name: "force_gc", tools: both, about: "Does nothing: memory is reclaimed automatically.", run: already("Memory is reclaimed automatically.")},
			{name: "update_cluster_nodes", tools: ctl, usage: "<node>", about: "Does nothing: the broker is a single node.", least: 1, most: 1, run: already("The broker is a single node.")},
			{name: "rename_cluster_node", tools: ctl, usage: "<old> <new> ...", about: "Does nothing: data does not depend on the node name.", least: 2, most: unbounded, offline: true, run: already("Data does not depend on the node name.")},
			{name: "reconcile_vhosts", tools: ctl, about: "Does nothing: the broker is a single node.", run: already("Nothing to reconcile: the broker is a single node.")},
			{name: "suspend_listeners", tools: ctl, about: "Accepts no new clients until resume_listeners or a restart.", run: suspendListeners},
			{name: "resume_listeners", tools: ctl, about: "Accepts new clients again.", run: resumeListeners},
			{name: "node_health_check", tools: both, about: "Reports whether the broker is running. Deprecated: use the checks of rabbitmq-diagnostics.", run: nodeHealth},
			{name: "list_hashes", tools: ctl, about: "Lists supported password hash algorithms.", offline: true, run: listHashes},
			{name: "list_ciphers", tools: ctl, about: "Not supported: configuration values are not encrypted.", offline: true, run: refuse(noEncryption)},
			{name: "encode", tools: ctl, usage: "<value> <passphrase>", about: "Not supported: configuration values are not encrypted.", most: unbounded, offline: true, run: refuse(noEncryption)},
			{name: "decode", tools: ctl, usage: "<value> <passphrase>", about: "Not supported: configuration values are not encrypted.", most: unbounded, offline: true, run: refuse(noEncryption)},
			{name: "encrypt_conf_value", tools: ctl, usage: "<value> <passphrase>", about: "Not supported: configuration values are not encrypted.", most: unbounded, offline: true, run: refuse(noEncryption)},
		}},
	}
}

const noEncryption = "values in configuration files are not encrypted here: keep them in a file that only the broker reads"
