package config

import "fmt"

// no refuses a key.
func no(why string) set {
	return func(*Settings, []string, string) error { return fmt.Errorf("%s", why) }
}

// silentKeys mean nothing here, or what they ask for is so anyway; the log tells of them once.
// Source: docs/compat/configuration.md#4.
var silentKeys = named("", false,
	"num_acceptors.**", "socket_writer.**", "erlang.**", "ssl_allow_poodle_attack", "default_worker_pool_size", "initial_frame_max",
	"tcp_listen_options", "tcp_listen_options.**", "vm_memory_high_watermark_paging_ratio", "memory_monitor_interval",
	"vm_memory_calculation_strategy", "cluster_partition_handling", "cluster_partition_handling.**", "delegate_count", "mirroring_sync_batch_size",
	"mirroring_sync_max_throughput", "cluster_keepalive_interval", "queue_master_locator", "queue_leader_locator", "collect_statistics",
	"collect_statistics_interval", "hipe_compile", "mnesia_table_loading_retry_timeout", "mnesia_table_loading_retry_limit",
	"message_store_shutdown_timeout", "queue_index_embed_msgs_below", "queue_index_max_journal_entries", "msg_store_file_size_limit",
	"msg_store_credit_disc_bound.**", "msg_store_index_module", "backing_queue_module", "background_gc_enabled", "background_gc_target_interval",
	"vhost_restart_strategy", "net_ticktime", "distribution.**", "sysmon_handler.**", "raft.**",
	"classic_queue.**", "quorum_queue.**", "metadata_store.**", "deprecated_features.**", "trust_store.**", "permit_deprecated_features.**",
	"management.http_log_dir", "management.login_session_timeout", "management.db_cache_multiplier", "management.sample_retention_policies.**",
	"management.listener.server.**", "management.enable_queue_totals", "management.require_auth_for_api_desc_page",
	"incoming_message_interceptors.**", "khepri.**", "disk_monitor_failure_retry_interval", "channel_operation_timeout", "channel_tick_interval",
	"quorum_relaxed_checks_on_redeclaration", "log.summarize_process_state", "log.prevent_startup_if_misconfigured",
	"management_agent.**", "prometheus.filter_aggregated_queue_metrics_pattern", "session_max_per_connection",
	"link_max_per_session", "log.mirroring.file", "log.console.use_colors", "log.console.color_esc_seqs.**",
	"log.console.formatter.**", "log.file.formatter.**", "definitions.hashing.algorithm", "amqp1_0.**", "auth_cache.**", "event_exchange.**",
	"stream.**", "mqtt.**", "stomp.**", "web_mqtt.**", "web_stomp.**", "web_amqp.**", "aws.**", "shovel.**", "federation.**",
	"message_interceptors.**", "mirroring.**", "consistent_hash_exchange.**", "tracing.**",
	"default_policies.operator.$id.max_in_memory_bytes", "default_policies.operator.$id.max_in_memory_length", "default_policies.operator.$id.classic_queues.**",
	"management.restrictions.quorum_queue_replica_operations.**",
)

// pageKeys are RabbitMQ's for the servers of pages; they mean nothing here.
func pageKeys(prefixes ...string) (all []key) {
	for _, prefix := range prefixes {
		for _, name := range []string{"backlog", "compress", "idle_timeout", "inactivity_timeout", "request_timeout", "shutdown_timeout",
			"max_keepalive"} {
			all = append(all, key{name: prefix + "." + name})
		}
	}
	return all
}

// loudKeys ask for what is not done here, and would be missed: they are refused, or warned of.
var loudKeys = func() []key {
	var all []key
	for _, p := range []struct{ what, prefix string }{
		{"MQTT", "mqtt.listeners"}, {"STOMP", "stomp.listeners"}, {"the stream protocol", "stream.listeners"},
	} {
		refused := no(p.what + " is not supported: remove the listener")
		for _, suffix := range []string{".tcp", ".ssl"} {
			listener := key{name: p.prefix + suffix, set: func(_ *Settings, _ []string, value string) error {
				if value == "none" {
					return nil
				}
				return refused(nil, nil, value)
			}}
			all = append(all, listener, key{name: listener.name + ".$name", set: refused})
		}
	}
	for _, name := range []string{"web_mqtt.tcp.port", "web_mqtt.ssl.port", "web_stomp.tcp.port", "web_stomp.ssl.port", "web_stomp.port",
		"web_amqp.tcp.port", "web_amqp.ssl.port"} {
		all = append(all, key{name: name, set: no("this protocol is not supported: remove the listener")})
	}
	for _, p := range []struct{ name, why string }{
		{"auth_http.**", "the HTTP backend is not supported: only the broker's own users are"},
		{"auth_ldap.**", "the LDAP backend is not supported: only the broker's own users are"},
		{"auth_oauth2.**", "the OAuth 2 backend is not supported: only the broker's own users are"},
		{"definitions.https.url", "definitions are read from files only: download them first and set load_definitions"},
		{"encryption.**", "encrypted values are not supported: put the secret into an environment variable and write $(NAME)"},
		{"config_entry_decoder.**", "encrypted values are not supported: put the secret into an environment variable and write $(NAME)"},
	} {
		all = append(all, key{name: p.name, set: no(p.why)})
	}
	for _, p := range []struct{ name, why string }{
		{"cluster_queue_limit", "queues are limited per virtual host: use 'bartleby ctl set_vhost_limits'"},
		{"node_queue_limit", "queues are limited per virtual host: use 'bartleby ctl set_vhost_limits'"},
		{"cluster_exchange_limit", "the number of exchanges is not limited"},
		{"consumer_max_per_channel", "the number of consumers of a channel is not limited"},
		{"max_channels_per_connection", "channel_max limits the channels of a connection"},
		{"reverse_dns_lookups", "clients are shown by address only"},
		{"total_memory_available_override_value", "set vm_memory_high_watermark.absolute"},
		{"cluster_formation.**", "the broker is a single node and cannot join a cluster"},
		{"definitions.tls.**", "definitions are read from files"},
		{"management.cors.allow_origins", "list each origin: management.cors.allow_origins.1 = https://…"},
		{"management.oauth_**", "the OAuth 2 backend is not supported: only the broker's own users are"},
		{"management.uaa_**", "the OAuth 2 backend is not supported: only the broker's own users are"},
		{"management.enable_uaa", "the OAuth 2 backend is not supported: only the broker's own users are"},
		{"ranch_connection_max", "connection_max limits the connections"},
		{"runtime_parameters.limits.**", "the number of parameters is not limited"},
		{"log.exchange.level", "log lines are not published to an exchange"},
		{"log.journald.level", "under systemd journald collects the console log: use log.console.level"},
		{"log.syslog.level", "syslog is not supported: use the console for journald or container logs, or log.file for a file"},
		{"log.exchange", "log lines are not published to an exchange"},
		{"log.exchange.**", "log lines are not published to an exchange"},
		{"log.syslog", "syslog is not supported: use the console for journald or container logs, or log.file for a file"},
		{"log.syslog.**", "syslog is not supported: use the console for journald or container logs, or log.file for a file"},
		{"log.journald", "under systemd the console is journald's"},
		{"log.journald.**", "under systemd the console is journald's"},
		{"log.file.rotation.date", "log files are rotated by size only: use log.file.rotation.size and log.file.rotation.count"},
		{"log.file.rotation.compress", "rotated log files are not compressed"},
		{"log.$category.file", "all categories go to one file"},
		{"log.$category.rotation.**", "all categories go to one file"},
	} {
		all = append(all, named(p.why, true, p.name)...)
	}
	return all
}()

// named are keys that have no effect.
func named(why string, loud bool, names ...string) []key {
	var all []key
	for _, name := range names {
		all = append(all, key{name: name, why: why, loud: loud})
	}
	return all
}
