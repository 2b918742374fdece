package cli

const (
	portsUsage = "[--offline] [--online] <plugin> ... | --all"
	withQueue  = inVHost + "<queue>"
)

// checkTable is about the health of the broker.
func checkTable() []group {
	return []group{
		{"Checks", []command{
			{name: "check_running", tools: diagnostics, about: "Fails unless the broker runs.", run: checkRunning},
			{name: "is_running", tools: diagnostics, about: "Fails unless the broker runs.", run: checkRunning},
			{name: "is_booting", tools: diagnostics, about: "Says whether the broker is starting.", run: isBooting},
			{name: "alarms", tools: diagnostics, about: "Lists the alarms that hold publishers back, and that of the clock.", run: listAlarms},
			{name: "check_alarms", tools: diagnostics, about: "Fails while there is an alarm.", run: checkAlarms},
			{name: "check_local_alarms", tools: diagnostics, about: "Fails while there is an alarm.", run: checkAlarms},
			{name: "check_virtual_hosts", tools: diagnostics, about: "Fails while a virtual host is down.", run: checkVirtualHosts},
			{name: "check_storage", tools: both, about: "Fails if damage has stopped a virtual host since the broker has started.", run: checkStorage},
			{name: "check_port_connectivity", tools: diagnostics, usage: "[--address <address>]", about: "Fails unless every listener takes a connection.", options: "address", run: checkPortConnectivity},
			{name: "check_port_listener", tools: diagnostics, usage: "<port>", about: "Fails unless something listens on a port.", least: 1, most: 1, run: checkPortListener},
			{name: "check_protocol_listener", tools: diagnostics, usage: "<protocol>", about: "Fails unless something listens for a protocol, such as amqp, amqp/ssl, http or https.", least: 1, most: 1, run: checkProtocolListener},
			{name: "check_certificate_expiration", tools: diagnostics, usage: "[--within <number>] [--unit <unit>]", about: "Fails if a certificate expires soon; the unit is days, weeks (default), months or years, the number 4.", options: "within unit", run: checkCertificates},
			{name: "check_if_node_is_quorum_critical", tools: diagnostics | queues, about: "Passes: there is one node.", run: checkQuorumCritical},
			{name: "check_if_cluster_has_classic_queue_mirroring_policy", tools: diagnostics, about: "Passes: queues are not mirrored.", run: already("Cluster reported no policies that enable classic queue mirroring")},
			{name: "maybe_stuck", tools: diagnostics, about: "Looks for what does not go on: nothing.", run: already("There are 0 suspicious processes.")},
		}},
		{"Diagnostics", []command{
			{name: "listeners", tools: diagnostics, about: "Lists what listens where.", run: listListeners},
			{name: "server_version", tools: diagnostics, about: "Prints the version of RabbitMQ that the broker passes for.", run: serverVersion},
			{name: "erlang_version", tools: diagnostics, about: "Prints what the broker is built with.", options: "details offline", run: runtimeVersion},
			{name: "memory_breakdown", tools: diagnostics, usage: "[--unit <unit>]", about: "Shows what memory is used for.", options: "unit", run: memoryBreakdown},
			{name: "os_env", tools: diagnostics, about: "Shows the variables of the environment that these commands obey.", offline: true, run: osEnv},
			{name: "log_location", tools: diagnostics, about: "Says where the log goes.", options: "all", run: logLocation},
			{name: "log_tail", tools: diagnostics, usage: "[-N <number>]", about: "Is refused: the log is not read from afar.", options: "number", run: refuse(logElsewhere)},
			{name: "log_tail_stream", tools: diagnostics, about: "Is refused: the log is not read from afar.", options: "duration", run: refuse(logElsewhere)},
			{name: "consume_event_stream", tools: diagnostics, about: "Is refused: there are no internal events to follow.", options: "duration pattern", run: refuse("internal events are not offered. GET /api/x/events tells what has changed, list_audit who changed what")},
			{name: "metadata_store_status", tools: diagnostics, about: "Shows the state of what keeps definitions.", run: metadataStore},
			{name: "message_size_stats", tools: diagnostics, about: "Shows how large the messages are that were published.", run: messageSizes},
			{name: "list_node_auth_attempt_stats", tools: diagnostics, about: "Lists how often somebody logged in.", options: "by-source", run: listAttempts},
			{name: "cipher_suites", tools: diagnostics, usage: "[--all]", about: "Lists the cipher suites of TLS.", options: "all format", offline: true, run: cipherSuites},
			{name: "tls_versions", tools: diagnostics, about: "Lists the versions of TLS.", offline: true, run: tlsVersions},
			{name: "resolve_hostname", tools: diagnostics, usage: "<hostname> [--address-family <family>]", about: "Resolves a name on this machine.", least: 1, most: 1, options: "address-family offline", offline: true, run: resolveHostname},
			{name: "discover_peers", tools: diagnostics, about: "Lists the nodes of the cluster: this one.", run: discoverPeers},
		}},
	}
}

const logElsewhere = "the log is not read from afar: look where log_location says, as with 'journalctl -u bartleby', 'docker logs' or 'kubectl logs'"

// sisterTable has the commands of the smaller tools.
func sisterTable() []group {
	return []group{
		{"Plugins", []command{
			{name: "list", tools: plugins, usage: "[--verbose] [--minimal] [--enabled] [--implicitly-enabled] [<pattern>]", about: "Lists what RabbitMQ has as plugins and this broker always does.", most: 1, options: "verbose minimal enabled implicitly-enabled", offline: true, run: listPlugins},
			{name: "enable", tools: plugins, usage: portsUsage, about: "Succeeds for what is built in.", most: unbounded, options: "offline online all", offline: true, run: enablePlugins},
			{name: "disable", tools: plugins, usage: portsUsage, about: "Succeeds for what is built in, and stays enabled.", most: unbounded, options: "offline online all", offline: true, run: disablePlugins},
			{name: "set", tools: plugins, usage: "[--offline] [--online] <plugin> ...", about: "Succeeds for what is built in.", most: unbounded, options: "offline online all", offline: true, run: setPlugins},
			{name: "is_enabled", tools: plugins, usage: "<plugin> ...", about: "Fails unless all are enabled.", least: 1, most: unbounded, options: "offline online", offline: true, run: pluginsEnabled},
			{name: "directories", tools: plugins, about: "Says where plugins are: in the binary.", options: "offline online", offline: true, run: pluginDirectories},
		}},
		{"Replicas", []command{
			{name: "rebalance", tools: queues, usage: "all | classic | quorum | stream", about: "Does nothing: there is one node.", least: 1, most: 1, options: "vhost-pattern queue-pattern", run: already("There is one node: nothing to rebalance.")},
			{name: "quorum_status", tools: queues, usage: withQueue, about: "Shows the members of a quorum queue: this node.", least: 1, most: 1, run: quorumStatus},
			{name: "peek", tools: queues, usage: inVHost + "<queue> <position>", about: "Shows the message at a position, the oldest at 1, and leaves it as it is.", least: 2, most: 2, run: peek},
			{name: "grow", tools: queues, usage: "<node> <all | even>", about: "Is refused: a broker is one node.", least: 2, most: 2, options: "vhost-pattern queue-pattern membership errors-only", run: refuse(oneMember)},
			{name: "shrink", tools: queues, usage: "<node>", about: "Is refused: a broker is one node.", least: 1, most: 1, options: "errors-only", run: refuse(oneMember)},
			{name: "add_member", tools: queues, usage: inVHost + "<queue> <node>", about: "Is refused: a broker is one node.", least: 2, most: 2, options: "membership", run: refuse(oneMember)},
			{name: "delete_member", tools: queues, usage: inVHost + "<queue> <node>", about: "Is refused: a broker is one node.", least: 2, most: 2, run: refuse(oneMember)},
			{name: "force_checkpoint", tools: queues, about: "Does nothing: checkpoints come by themselves.", options: "vhost-pattern queue-pattern errors-only", run: already("Checkpoints come by themselves.")},
			{name: "reclaim_quorum_memory", tools: queues, usage: withQueue, about: "Does nothing: memory is given back by itself.", least: 1, most: 1, run: already("Memory is given back by itself.")},
		}},
		{"Upgrades", []command{
			{name: "drain", tools: upgrade, about: "Does nothing: there is no other node to take over.", run: already("There is no other node to take over: stop the broker; nothing confirmed is lost.")},
			{name: "revive", tools: upgrade, about: "Does nothing: the broker serves.", run: already("The broker serves.")},
			{name: "await_online_quorum_plus_one", tools: upgrade, about: "Succeeds once the broker serves.", patience: startPatience, run: awaitStartup},
			{name: "await_online_synchronized_mirror", tools: upgrade, about: "Succeeds once the broker serves.", patience: startPatience, run: awaitStartup},
			{name: "post_upgrade", tools: upgrade, about: "Does nothing: there is nothing to rebalance.", run: already("There is nothing to do.")},
			{name: "has_reached_target_cluster_size", tools: upgrade, about: "Prints true: a broker is one node.", offline: true, run: printTrue},
		}},
	}
}

const oneMember = "queues have one member, on this node"
