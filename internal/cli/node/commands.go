package node

import (
	"time"

	"github.com/bartleby-mq/bartleby/internal/cli/command"
)

const portsUsage = "[--offline] [--online] <plugin> ... | --all"

const startPatience = 5 * time.Minute

const noEncryption = "values in configuration files are not encrypted here: keep them in a file that only the broker reads"

// Commands are the commands under the title "Node".
func Commands() []command.Command {
	return []command.Command{
		{Name: "status", Tools: command.Both, Usage: "[--unit <unit>]", About: "Shows the status of the broker: version, uptime, listeners, resources, limits.", Options: "unit", Run: nodeStatus},
		{Name: "cluster_status", Tools: command.Both, About: "Shows the nodes of the cluster: only this one.", Run: clusterStatus},
		{Name: "environment", Tools: command.Both, About: "Shows the effective configuration.", Run: environment},
		{Name: "report", Tools: command.Both, About: "Collects information for a support request.", Run: report},
		{Name: "ping", Tools: command.EveryTool, About: "Checks whether the broker responds; with --timeout, retries until then.", Run: ping},
		{Name: "await_startup", Tools: command.Both, About: "Waits until the broker accepts clients.", Patience: startPatience, Run: awaitStartup, Example: "await_startup --timeout 60"},
		{Name: "await_online_nodes", Tools: command.Ctl, Usage: "<number>", About: "Waits until the broker accepts clients; there is only one node.", Least: 1, Most: 1, Patience: startPatience, Run: awaitOnlineNodes},
		{Name: "wait", Tools: command.Ctl, Usage: "[<pid file>] | --pid <pid>", About: "Waits until the broker accepts clients; fails if its process exits.", Most: 1, Options: "pid", Patience: startPatience, Run: wait, Example: "wait /run/bartleby/pid --timeout 60"},
		{Name: "stop", Tools: command.Ctl, Usage: "[<pid file>]", About: "Stops a broker on this machine and waits until it has stopped.", Most: 1, Options: "idempotent", Run: stopNode},
		{Name: "shutdown", Tools: command.Ctl, Usage: "[--no-wait]", About: "Stops a broker on this machine and waits until it has stopped.", Options: "no-wait", Run: stopNode},
		{Name: "start_app", Tools: command.Ctl, About: "Accepts clients again after stop_app.", Run: startApp},
		{Name: "stop_app", Tools: command.Ctl, About: "Closes all client connections and accepts no clients until start_app.", Run: stopApp},
		{Name: "reset", Tools: command.Ctl, About: "Not supported: stop the broker and remove its data directory.", Run: reset},
		{Name: "force_reset", Tools: command.Ctl, About: "Not supported, like reset.", Run: reset},
		{Name: "set_cluster_name", Tools: command.Ctl, Usage: "<name>", About: "Sets the name of the cluster.", Least: 1, Most: 1, Run: setClusterName},
		{Name: "set_vm_memory_high_watermark", Tools: command.Ctl, Usage: "<fraction> | absolute <bytes>", About: "Sets the memory limit above which publishers are blocked, until the broker restarts.", Least: 1, Most: 2, Run: setMemoryHighWatermark},
		{Name: "set_disk_free_limit", Tools: command.Ctl, Usage: "<bytes> | mem_relative <multiple>", About: "Sets the free disk space below which publishers are blocked, until the broker restarts.", Least: 1, Most: 2, Run: setDiskFreeLimit},
		{Name: "list_audit", Tools: command.Both, Usage: "[--user <username>] [--limit <number>] " + command.AnyColumn, About: "Lists changes and the users who made them, newest first.", Most: command.Unbounded, Options: "user limit", Run: listAudit, More: command.ColumnsOf(auditColumns)},
		{Name: "set_log_level", Tools: command.Ctl, Usage: "<level>", About: "Sets the log level until the broker restarts: debug, info, warning, error, critical, none.", Least: 1, Most: 1, Run: setLogLevel},
		{Name: "rotate_logs", Tools: command.Ctl, About: "Rotates or reopens the log file, as configured with log.file.rotation.*.", Run: rotateLogs},
		{Name: "list_feature_flags", Tools: command.Both, Usage: command.AnyColumn, About: "Lists feature flags; all are enabled.", Most: command.Unbounded, Run: listFeatureFlags, More: command.ColumnsOf(flagColumns)},
		{Name: "enable_feature_flag", Tools: command.Ctl, Usage: "<name> | all", About: "Succeeds for known feature flags, which are enabled.", Least: 1, Most: 1, Options: "opt-in experimental", Run: enableFeatureFlag},
		{Name: "list_deprecated_features", Tools: command.Both, Usage: "[--used]", About: "Lists deprecated features: none.", Options: "used", Run: listDeprecated},
		{Name: "clock", Tools: command.Ctl, Usage: clockUsage, About: "Shows or changes the clocks.", Most: 2, Patience: clockPatience, Run: clock, More: clockHelp},
		{Name: "backup", Tools: command.Ctl, Usage: "<directory> | --tar <file>", About: "Copies all data of a running broker.", Most: 1, Options: "tar", Patience: backupPatience, Run: backup},
		{Name: "storage", Tools: command.Both, About: "Shows the state of the journal and virtual hosts stopped by damaged data.", Run: storage},
		{Name: "eval", Tools: command.Ctl, Usage: "<expression>", About: "Not supported, except for a common health probe: the broker does not run Erlang.", Least: 1, Most: command.Unbounded, Offline: true, Run: eval},
	}
}

// Clusters are the commands under the title "Compatibility with RabbitMQ clusters".
func Clusters() []command.Command {
	return []command.Command{
		{Name: "join_cluster", Tools: command.Ctl, Usage: "<node>", About: "Not supported: the broker is a single node.", Least: 1, Most: 1, Options: "disc ram", Run: command.Refuse("clusters are not supported: the broker is a single node")},
		{Name: "forget_cluster_node", Tools: command.Ctl, Usage: "<node>", About: "Not supported: the broker is a single node.", Least: 1, Most: 1, Options: "offline", Run: command.Refuse("there is no other node to forget: the broker is a single node")},
		{Name: "force_boot", Tools: command.Ctl, About: "Does nothing: the broker does not wait for other nodes.", Offline: true, Run: command.Already("The broker does not wait for other nodes.")},
		{Name: "force_gc", Tools: command.Both, About: "Does nothing: memory is reclaimed automatically.", Run: command.Already("Memory is reclaimed automatically.")},
		{Name: "update_cluster_nodes", Tools: command.Ctl, Usage: "<node>", About: "Does nothing: the broker is a single node.", Least: 1, Most: 1, Run: command.Already("The broker is a single node.")},
		{Name: "rename_cluster_node", Tools: command.Ctl, Usage: "<old> <new> ...", About: "Does nothing: data does not depend on the node name.", Least: 2, Most: command.Unbounded, Offline: true, Run: command.Already("Data does not depend on the node name.")},
		{Name: "reconcile_vhosts", Tools: command.Ctl, About: "Does nothing: the broker is a single node.", Run: command.Already("Nothing to reconcile: the broker is a single node.")},
		{Name: "suspend_listeners", Tools: command.Ctl, About: "Accepts no new clients until resume_listeners or a restart.", Run: suspendListeners},
		{Name: "resume_listeners", Tools: command.Ctl, About: "Accepts new clients again.", Run: resumeListeners},
		{Name: "node_health_check", Tools: command.Both, About: "Reports whether the broker is running. Deprecated: use the checks of rabbitmq-diagnostics.", Run: nodeHealth},
		{Name: "list_hashes", Tools: command.Ctl, About: "Lists supported password hash algorithms.", Offline: true, Run: listHashes},
		{Name: "list_ciphers", Tools: command.Ctl, About: "Not supported: configuration values are not encrypted.", Offline: true, Run: command.Refuse(noEncryption)},
		{Name: "encode", Tools: command.Ctl, Usage: "<value> <passphrase>", About: "Not supported: configuration values are not encrypted.", Most: command.Unbounded, Offline: true, Run: command.Refuse(noEncryption)},
		{Name: "decode", Tools: command.Ctl, Usage: "<value> <passphrase>", About: "Not supported: configuration values are not encrypted.", Most: command.Unbounded, Offline: true, Run: command.Refuse(noEncryption)},
		{Name: "encrypt_conf_value", Tools: command.Ctl, Usage: "<value> <passphrase>", About: "Not supported: configuration values are not encrypted.", Most: command.Unbounded, Offline: true, Run: command.Refuse(noEncryption)},
	}
}
