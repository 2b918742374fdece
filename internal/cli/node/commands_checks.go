package node

import "github.com/bartleby-mq/bartleby/internal/cli/command"

// Checks are the commands under the title "Checks".
func Checks() []command.Command {
	return []command.Command{
		{Name: "check_running", Tools: command.Diagnostics, About: "Fails if the broker is not running.", Run: checkRunning},
		{Name: "is_running", Tools: command.Diagnostics, About: "Fails if the broker is not running.", Run: checkRunning},
		{Name: "is_booting", Tools: command.Diagnostics, About: "Reports whether the broker is starting.", Run: isBooting},
		{Name: "alarms", Tools: command.Diagnostics, About: "Lists active alarms.", Run: listAlarms},
		{Name: "check_alarms", Tools: command.Diagnostics, About: "Fails if there is an active alarm.", Run: checkAlarms},
		{Name: "check_local_alarms", Tools: command.Diagnostics, About: "Fails if there is an active alarm.", Run: checkAlarms},
		{Name: "check_virtual_hosts", Tools: command.Diagnostics, About: "Fails if a virtual host is down.", Run: checkVirtualHosts},
		{Name: "check_storage", Tools: command.Both, About: "Fails if damaged data stopped a virtual host since the broker started.", Run: checkStorage},
		{Name: "check_port_connectivity", Tools: command.Diagnostics, Usage: "[--address <address>]", About: "Fails if a listener does not accept connections.", Options: "address", Run: checkPortConnectivity},
		{Name: "check_port_listener", Tools: command.Diagnostics, Usage: "<port>", About: "Fails if nothing listens on a port.", Least: 1, Most: 1, Run: checkPortListener},
		{Name: "check_protocol_listener", Tools: command.Diagnostics, Usage: "<protocol>", About: "Fails if nothing listens for a protocol, such as amqp, amqp/ssl, http or https.", Least: 1, Most: 1, Run: checkProtocolListener},
		{Name: "check_certificate_expiration", Tools: command.Diagnostics, Usage: "[--within <number>] [--unit <unit>]", About: "Fails if a certificate expires within a time; default 4 weeks.", Options: "within unit", Run: checkCertificates},
		{Name: "check_if_node_is_quorum_critical", Tools: command.Diagnostics | command.Queues, About: "Succeeds: the broker is a single node.", Run: checkQuorumCritical},
		{Name: "check_if_cluster_has_classic_queue_mirroring_policy", Tools: command.Diagnostics, About: "Succeeds: queues are not mirrored.", Run: command.Already("Cluster reported no policies that enable classic queue mirroring")},
		{Name: "maybe_stuck", Tools: command.Diagnostics, About: "Looks for stuck processes: always finds none.", Run: command.Already("There are 0 suspicious processes.")},
	}
}

// Diagnostics are the commands under the title "Diagnostics".
func Diagnostics() []command.Command {
	return []command.Command{
		{Name: "listeners", Tools: command.Diagnostics, About: "Lists listeners.", Run: listListeners},
		{Name: "server_version", Tools: command.Diagnostics, About: "Prints the RabbitMQ version that the broker is compatible with.", Run: serverVersion},
		{Name: "erlang_version", Tools: command.Diagnostics, About: "Prints the version of the runtime.", Options: "details offline", Run: runtimeVersion},
		{Name: "memory_breakdown", Tools: command.Diagnostics, Usage: "[--unit <unit>]", About: "Shows memory use by category.", Options: "unit", Run: memoryBreakdown},
		{Name: "os_env", Tools: command.Diagnostics, About: "Lists the environment variables that these commands read.", Offline: true, Run: osEnv},
		{Name: "log_location", Tools: command.Diagnostics, About: "Prints the location of the log.", Options: "all", Run: logLocation},
		{Name: "log_tail", Tools: command.Diagnostics, Usage: "[-N <number>]", About: "Not supported: logs are not available over HTTP.", Options: "number", Run: command.Refuse(logNotRemote)},
		{Name: "log_tail_stream", Tools: command.Diagnostics, About: "Not supported: logs are not available over HTTP.", Options: "duration", Run: command.Refuse(logNotRemote)},
		{Name: "consume_event_stream", Tools: command.Diagnostics, About: "Not supported: the broker has no internal event stream.", Options: "duration pattern", Run: command.Refuse("internal events are not supported. Use GET /api/x/events for changes, and list_audit for the users who made them")},
		{Name: "metadata_store_status", Tools: command.Diagnostics, About: "Shows the status of the metadata store.", Run: metadataStore},
		{Name: "message_size_stats", Tools: command.Diagnostics, About: "Shows the distribution of message sizes.", Run: messageSizes},
		{Name: "list_node_auth_attempt_stats", Tools: command.Diagnostics, About: "Shows the number of login attempts.", Options: "by-source", Run: listAttempts},
		{Name: "cipher_suites", Tools: command.Diagnostics, Usage: "[--all]", About: "Lists TLS cipher suites.", Options: "all format", Offline: true, Run: cipherSuites},
		{Name: "tls_versions", Tools: command.Diagnostics, About: "Lists TLS versions.", Offline: true, Run: tlsVersions},
		{Name: "resolve_hostname", Tools: command.Diagnostics, Usage: "<hostname> [--address-family <family>]", About: "Resolves a host name on this machine.", Least: 1, Most: 1, Options: "address-family offline", Offline: true, Run: resolveHostname},
		{Name: "discover_peers", Tools: command.Diagnostics, About: "Lists the nodes of the cluster: only this one.", Run: discoverPeers},
	}
}

// Plugins are the commands under the title "Plugins".
func Plugins() []command.Command {
	return []command.Command{
		{Name: "list", Tools: command.Plugins, Usage: "[--verbose] [--minimal] [--enabled] [--implicitly-enabled] [<pattern>]", About: "Lists the RabbitMQ plugins whose features are built in.", Most: 1, Options: "verbose minimal enabled implicitly-enabled", Offline: true, Run: listPlugins},
		{Name: "enable", Tools: command.Plugins, Usage: portsUsage, About: "Succeeds for built-in plugins.", Most: command.Unbounded, Options: "offline online all", Offline: true, Run: enablePlugins},
		{Name: "disable", Tools: command.Plugins, Usage: portsUsage, About: "Succeeds for built-in plugins, which stay enabled.", Most: command.Unbounded, Options: "offline online all", Offline: true, Run: disablePlugins},
		{Name: "set", Tools: command.Plugins, Usage: "[--offline] [--online] <plugin> ...", About: "Succeeds for built-in plugins.", Most: command.Unbounded, Options: "offline online all", Offline: true, Run: setPlugins},
		{Name: "is_enabled", Tools: command.Plugins, Usage: "<plugin> ...", About: "Fails if one of the plugins is not enabled.", Least: 1, Most: command.Unbounded, Options: "offline online", Offline: true, Run: pluginsEnabled},
		{Name: "directories", Tools: command.Plugins, About: "Shows plugin directories: plugins are built in.", Options: "offline online", Offline: true, Run: pluginDirectories},
	}
}

// Upgrades are the commands under the title "Upgrades".
func Upgrades() []command.Command {
	return []command.Command{
		{Name: "drain", Tools: command.Upgrade, About: "Does nothing: there is no other node.", Run: command.Already("There is no other node. Stop the broker instead; confirmed messages are not lost.")},
		{Name: "revive", Tools: command.Upgrade, About: "Does nothing: the broker is running.", Run: command.Already("The broker is running.")},
		{Name: "await_online_quorum_plus_one", Tools: command.Upgrade, About: "Succeeds when the broker is running.", Patience: startPatience, Run: awaitStartup},
		{Name: "await_online_synchronized_mirror", Tools: command.Upgrade, About: "Succeeds when the broker is running.", Patience: startPatience, Run: awaitStartup},
		{Name: "post_upgrade", Tools: command.Upgrade, About: "Does nothing: there is nothing to rebalance.", Run: command.Already("There is nothing to do.")},
		{Name: "has_reached_target_cluster_size", Tools: command.Upgrade, About: "Prints true: the broker is a single node.", Offline: true, Run: command.PrintTrue},
	}
}
