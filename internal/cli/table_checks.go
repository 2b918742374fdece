package cli

const (
	portsUsage = "[--offline] [--online] <plugin> ... | --all"
	withQueue  = inVHost + "<queue>"
)

// checkTable is about the health of the broker.
func checkTable() []group {
	return []group{
		{"Checks", []command{
			{name: "check_running", tools: diagnostics, about: "Fails if the broker is not running.", run: checkRunning},
			{name: "is_running", tools: diagnostics, about: "Fails if the broker is not running.", run: checkRunning},
			{name: "is_booting", tools: diagnostics, about: "Reports whether the broker is starting.", run: isBooting},
			{name: "alarms", tools: diagnostics, about: "Lists active alarms.", run: listAlarms},
			{name: "check_alarms", tools: diagnostics, about: "Fails if there is an active alarm.", run: checkAlarms},
			{name: "check_local_alarms", tools: diagnostics, about: "Fails if there is an active alarm.", run: checkAlarms},
			{name: "check_virtual_hosts", tools: diagnostics, about: "Fails if a virtual host is down.", run: checkVirtualHosts},
			{name: "check_storage", tools: both, about: "Fails if damaged data stopped a virtual host since the broker started.", run: checkStorage},
			{name: "check_port_connectivity", tools: diagnostics, usage: "[--address <address>]", about: "Fails if a listener does not accept connections.", options: "address", run: checkPortConnectivity},
			{name: "check_port_listener", tools: diagnostics, usage: "<port>", about: "Fails if nothing listens on a port.", least: 1, most: 1, run: checkPortListener},
			{name: "check_protocol_listener", tools: diagnostics, usage: "<protocol>", about: "Fails if nothing listens for a protocol, such as amqp, amqp/ssl, http or https.", least: 1, most: 1, run: checkProtocolListener},
			{name: "check_certificate_expiration", tools: diagnostics, usage: "[--within <number>] [--unit <unit>]", about: "Fails if a certificate expires within a time; default 4 weeks.", options: "within unit", run: checkCertificates},
			{name: "check_if_node_is_quorum_critical", tools: diagnostics | queues, about: "Succeeds: the broker is a single node.", run: checkQuorumCritical},
			{name: "check_if_cluster_has_classic_queue_mirroring_policy", tools: diagnostics, about: "Succeeds: queues are not mirrored.", run: already("Cluster reported no policies that enable classic queue mirroring")},
			{name: "maybe_stuck", tools: diagnostics, about: "Looks for stuck processes: always finds none.", run: already("There are 0 suspicious processes.")},
		}},
		{"Diagnostics", []command{
			{name: "listeners", tools: diagnostics, about: "Lists listeners.", run: listListeners},
			{name: "server_version", tools: diagnostics, about: "Prints the RabbitMQ version that the broker is compatible with.", run: serverVersion},
			{name: "erlang_version", tools: diagnostics, about: "Prints the version of the runtime.", options: "details offline", run: runtimeVersion},
			{name: "memory_breakdown", tools: diagnostics, usage: "[--unit <unit>]", about: "Shows memory use by category.", options: "unit", run: memoryBreakdown},
			{name: "os_env", tools: diagnostics, about: "Lists the environment variables that these commands read.", offline: true, run: osEnv},
			{name: "log_location", tools: diagnostics, about: "Prints the location of the log.", options: "all", run: logLocation},
			{name: "log_tail", tools: diagnostics, usage: "[-N <number>]", about: "Not supported: logs are not available over HTTP.", options: "number", run: refuse(logElsewhere)},
			{name: "log_tail_stream", tools: diagnostics, about: "Not supported: logs are not available over HTTP.", options: "duration", run: refuse(logElsewhere)},
			{name: "consume_event_stream", tools: diagnostics, about: "Not supported: the broker has no internal event stream.", options: "duration pattern", run: refuse("internal events are not supported. Use GET /api/x/events for changes, and list_audit for who made them")},
			{name: "metadata_store_status", tools: diagnostics, about: "Shows the status of the metadata store.", run: metadataStore},
			{name: "message_size_stats", tools: diagnostics, about: "Shows the distribution of message sizes.", run: messageSizes},
			{name: "list_node_auth_attempt_stats", tools: diagnostics, about: "Shows the number of login attempts.", options: "by-source", run: listAttempts},
			{name: "cipher_suites", tools: diagnostics, usage: "[--all]", about: "Lists TLS cipher suites.", options: "all format", offline: true, run: cipherSuites},
			{name: "tls_versions", tools: diagnostics, about: "Lists TLS versions.", offline: true, run: tlsVersions},
			{name: "resolve_hostname", tools: diagnostics, usage: "<hostname> [--address-family <family>]", about: "Resolves a host name on this machine.", least: 1, most: 1, options: "address-family offline", offline: true, run: resolveHostname},
			{name: "discover_peers", tools: diagnostics, about: "Lists the nodes of the cluster: only this one.", run: discoverPeers},
		}},
	}
}

const logElsewhere = "the log is not read from afar: look where log_location says, as with 'journalctl -u bartleby', 'docker logs' or 'kubectl logs'"

// sisterTable has the commands of the smaller tools.
func sisterTable() []group {
	return []group{
		{"Plugins", []command{
			{name: "list", tools: plugins, usage: "[--verbose] [--minimal] [--enabled] [--implicitly-enabled] [<pattern>]", about: "Lists the RabbitMQ plugins whose features are built in.", most: 1, options: "verbose minimal enabled implicitly-enabled", offline: true, run: listPlugins},
			{name: "enable", tools: plugins, usage: portsUsage, about: "Succeeds for built-in plugins.", most: unbounded, options: "offline online all", offline: true, run: enablePlugins},
			{name: "disable", tools: plugins, usage: portsUsage, about: "Succeeds for built-in plugins, which stay enabled.", most: unbounded, options: "offline online all", offline: true, run: disablePlugins},
			{name: "set", tools: plugins, usage: "[--offline] [--online] <plugin> ...", about: "Succeeds for built-in plugins.", most: unbounded, options: "offline online all", offline: true, run: setPlugins},
			{name: "is_enabled", tools: plugins, usage: "<plugin> ...", about: "Fails if one of the plugins is not enabled.", least: 1, most: unbounded, options: "offline online", offline: true, run: pluginsEnabled},
			{name: "directories", tools: plugins, about: "Shows plugin directories: plugins are built in.", options: "offline online", offline: true, run: pluginDirectories},
		}},
		{"Quorum queues", []command{
			{name: "rebalance", tools: queues, usage: "all | classic | quorum | stream", about: "Does nothing: the broker is a single node.", least: 1, most: 1, options: "vhost-pattern queue-pattern", run: already("Nothing to rebalance: there is only one node.")},
			{name: "quorum_status", tools: queues, usage: withQueue, about: "Shows the members of a quorum queue: only this node.", least: 1, most: 1, run: quorumStatus},
			{name: "peek", tools: queues, usage: inVHost + "<queue> <position>", about: "Shows the message at a position, 1 being the oldest, and does not change it.", least: 2, most: 2, run: peek},
			{name: "grow", tools: queues, usage: "<node> <all | even>", about: "Not supported: the broker is a single node.", least: 2, most: 2, options: "vhost-pattern queue-pattern membership errors-only", run: refuse(oneMember)},
			{name: "shrink", tools: queues, usage: "<node>", about: "Not supported: the broker is a single node.", least: 1, most: 1, options: "errors-only", run: refuse(oneMember)},
			{name: "add_member", tools: queues, usage: inVHost + "<queue> <node>", about: "Not supported: the broker is a single node.", least: 2, most: 2, options: "membership", run: refuse(oneMember)},
			{name: "delete_member", tools: queues, usage: inVHost + "<queue> <node>", about: "Not supported: the broker is a single node.", least: 2, most: 2, run: refuse(oneMember)},
			{name: "force_checkpoint", tools: queues, about: "Does nothing: checkpoints are automatic.", options: "vhost-pattern queue-pattern errors-only", run: already("Checkpoints are automatic.")},
			{name: "reclaim_quorum_memory", tools: queues, usage: withQueue, about: "Does nothing: memory is reclaimed automatically.", least: 1, most: 1, run: already("Memory is reclaimed automatically.")},
		}},
		{"Upgrades", []command{
			{name: "drain", tools: upgrade, about: "Does nothing: there is no other node.", run: already("There is no other node. Stop the broker instead; confirmed messages are not lost.")},
			{name: "revive", tools: upgrade, about: "Does nothing: the broker is running.", run: already("The broker is running.")},
			{name: "await_online_quorum_plus_one", tools: upgrade, about: "Succeeds when the broker is running.", patience: startPatience, run: awaitStartup},
			{name: "await_online_synchronized_mirror", tools: upgrade, about: "Succeeds when the broker is running.", patience: startPatience, run: awaitStartup},
			{name: "post_upgrade", tools: upgrade, about: "Does nothing: there is nothing to rebalance.", run: already("There is nothing to do.")},
			{name: "has_reached_target_cluster_size", tools: upgrade, about: "Prints true: the broker is a single node.", offline: true, run: printTrue},
		}},
	}
}

const oneMember = "queues have one member, on this node"
