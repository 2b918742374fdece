package config

import (
	"log/slog"
	"regexp"
	"time"

	"github.com/bartleby-mq/bartleby"
	"github.com/bartleby-mq/bartleby/internal/logging"
)

// key is one setting. A part of its name that begins with $ stands for any one part; a last part that ends in ** for
// all that begin so.
type key struct {
	name   string
	set    set    // nil: the key is accepted and has no effect
	normal string // the default value, as in a configuration file; empty: none
	usage  string // help text of the command-line option; empty: the key is no option
	why    string // with no set: the reason in the log, a warning if loud; empty: the key has no effect here
	loud   bool
	secret bool
}

// keys are all that are known: those that do something, by subject, then those of RabbitMQ that do nothing here.
// Source: RabbitMQ configure; docs/compat/configuration.md#3.
var keys []key

func init() {
	for _, some := range [][]key{
		ownKeys, listenerKeys, clientKeys, tlsKeys("ssl_options", ofAMQP), loginKeys, firstKeys, newVHostKeys, limitKeys, managementKeys,
		tlsKeys("management.ssl", ofManagement), tlsKeys("management.listener.ssl_opts", ofManagement), prometheusKeys,
		tlsKeys("prometheus.ssl", ofPrometheus), logKeys, silentKeys, loudKeys,
		pageKeys("management.tcp", "management.ssl", "prometheus.tcp", "prometheus.ssl"),
	} {
		keys = append(keys, some...)
	}
}

var ownKeys = []key{
	{name: "data", set: to(text, func(s *Settings) *string { return &s.Broker.Data }), normal: "./bartleby-data",
		usage: "data `directory`"},
	{name: "listen", set: to(addresses, func(s *Settings) *string { return &s.listen.amqp }),
		usage: "AMQP listeners as `host:port`, comma-separated, or none; default :5672"},
	{name: "management", set: to(addresses, func(s *Settings) *string { return &s.listen.management }),
		usage: "management API listener as `host:port`, or none; default :15672"},
	{name: "prometheus", set: to(addresses, func(s *Settings) *string { return &s.listen.prometheus }),
		usage: "metrics listener as `host:port`, or none; default :15692"},
	{name: "segment-size", set: to(bytes, func(s *Settings) *int64 { return &s.Broker.SegmentBytes }), normal: "0",
		usage: "size of a log segment file in `bytes`, at least 64KiB; 0: 64MiB, less on a disk of at most 5.3GiB"},
	{name: "reserve", set: to(bytesOrNone, func(s *Settings) *int64 { return &s.Broker.ReserveBytes }), normal: "0",
		usage: "disk space in `bytes` reserved for draining a full disk; 0: 256MiB, less on a disk of at most 2.6GiB; -1: none"},
	{name: "sync", set: to(oneOf("always", "interval", "never"), func(s *Settings) *string { return &s.Broker.Sync }), normal: "always",
		usage: "default sync `mode` of virtual hosts: always (before each confirm), interval, never"},
	{name: "sync-interval", set: to(lasting(1), func(s *Settings) *time.Duration { return &s.Broker.SyncInterval }), normal: "200ms",
		usage: "`interval` of sync=interval, such as 50ms or 1s; default 200ms"},
	{name: "sparse-share", set: to(share, func(s *Settings) *float64 { return &s.Broker.SparseShare }), normal: "0",
		usage: "do not compact segments with more than this `share` of live data; 0: 0.87"},
	{name: "rewrite-ratio", set: to(share, func(s *Settings) *float64 { return &s.Broker.RewriteRatio }), normal: "0",
		usage: "maximum `ratio` of compacted bytes to bytes appended by traffic; 0: 0.66"},
	{name: "messages-in-memory", set: to(whole[int](0, 1<<40), func(s *Settings) *int { return &s.Broker.MessagesInMemory }), normal: "0",
		usage: "maximum `number` of message entries, 32 bytes each, that a virtual host keeps in memory; 0: 524288"},
	{name: "index.enabled", set: to(not, func(s *Settings) *bool { return &s.Broker.NoIndex }), normal: "true",
		usage: "false: do not index dead letters; each search reads all of them"},
	{name: "index.max_bytes", set: to(bytes, func(s *Settings) *int64 { return &s.Broker.IndexBytes }), normal: "0",
		usage: "maximum size of the dead-letter index in `bytes`; the oldest entries are dropped first; " +
			"0: 1GiB, or 1/16 of a smaller disk"},
	{name: "test-clock", set: to(boolean, func(s *Settings) *bool { return &s.Broker.TestClock }), normal: "false",
		usage: "for tests: time stands still until POST /api/x/clock/advance moves it"},
	{name: "pid_file", set: to(text, func(s *Settings) *string { return &s.PIDFile }), usage: "pid `file`"},
	{name: "config.strict", set: to(boolean, func(s *Settings) *bool { return &s.strict }), normal: "true",
		usage: "false: unknown keys only log a warning"},
	{name: "node_name", set: to(text, func(s *Settings) *string { return &s.Broker.NodeName })},
	{name: "product.name", set: to(text, func(s *Settings) *string { return &s.Broker.ProductName })},
	{name: "product.version", set: to(text, func(s *Settings) *string { return &s.Broker.ProductVersion })},
	{name: "motd_file", set: to(text, func(s *Settings) *string { return &s.MOTDFile })},
	{name: "cluster_tags.$tag", set: tag(func(s *Settings) *map[string]string { return &s.Broker.ClusterTags })},
	{name: "node_tags.$tag", set: tag(func(s *Settings) *map[string]string { return &s.Broker.NodeTags })},
	{name: "cluster_name", set: to(text, func(s *Settings) *string { return &s.Broker.ClusterName })},
	{name: "load_definitions", set: to(text, func(s *Settings) *string { return &s.Broker.LoadDefinitions }),
		usage: "definitions `file`, or directory of files, imported before clients can connect"},
	{name: "management.load_definitions", set: to(text, func(s *Settings) *string { return &s.Broker.LoadDefinitions })},
	{name: "definitions.local.path", set: to(text, func(s *Settings) *string { return &s.Broker.LoadDefinitions })},
	{name: "definitions.import_backend", set: to(oneOf("local_filesystem", "rabbit_definitions_import_local_filesystem"), drop)},
	{name: "definitions.skip_if_unchanged", set: to(boolean, func(s *Settings) *bool { return &s.Broker.SkipUnchangedDefinitions }), normal: "false"},
	{name: "default_queue_type", set: to(oneOf("classic", "quorum"), func(s *Settings) *string { return &s.Broker.QueueType }), normal: "classic"},
}

// drop is the place of what need not be kept.
func drop(*Settings) *string { return new(string) }

var listenerKeys = []key{
	{name: "listeners.tcp", set: listeners(func(s *Settings) *places { return &s.listen.tcp }), normal: ""},
	{name: "listeners.tcp.$name", set: listener(func(s *Settings) *places { return &s.listen.tcp })},
	{name: "listeners.ssl", set: listeners(func(s *Settings) *places { return &s.listen.ssl })},
	{name: "listeners.ssl.$name", set: listener(func(s *Settings) *places { return &s.listen.ssl })},
	{name: "proxy_protocol", set: to(boolean, func(s *Settings) *bool { return &s.Broker.ProxyProtocol }), normal: "false"},
	{name: "tcp_listen_options.nodelay", set: noDelay, normal: "true"},
	{name: "tcp_listen_options.send_timeout", set: to(orEndless(span(time.Millisecond, 0, 1<<31)), func(s *Settings) *time.Duration { return &clients(s).SendTimeout }),
		normal: "15000"},
	{name: "tcp_listen_options.keepalive", set: to(boolean, func(*Settings) *bool { return new(bool) })},
}

func clients(s *Settings) *bartleby.Clients { return s.Broker.Clients }

var clientKeys = []key{
	{name: "heartbeat", set: to(span(time.Second, 0, 65535), func(s *Settings) *time.Duration { return &clients(s).Heartbeat }), normal: "60"},
	{name: "frame_max", set: frameMax, normal: "131072"},
	{name: "channel_max", set: to(whole[uint16](0, 65535), func(s *Settings) *uint16 { return &clients(s).ChannelMax }), normal: "2047"},
	{name: "max_message_size", set: to(bytes, func(s *Settings) *int64 { return &clients(s).MessageMax }), normal: "16777216"},
	{name: "handshake_timeout", set: to(orEndless(span(time.Millisecond, 1, 1<<31)), func(s *Settings) *time.Duration { return &clients(s).HandshakeTimeout }),
		normal: "10000"},
	{name: "ssl_handshake_timeout", set: to(span(time.Millisecond, 1, 1<<31), func(s *Settings) *time.Duration { return &clients(s).TLSTimeout }),
		normal: "5000"},
	{name: "unfinished_messages.max_bytes", set: to(orUnbounded, func(s *Settings) *int64 { return &clients(s).UnfinishedMax }), normal: "0"},
	{name: "unfinished_messages.max_bytes_per_user", set: to(orUnbounded, func(s *Settings) *int64 { return &clients(s).UnfinishedMaxUser }),
		normal: "0"},
	{name: "unfinished_messages.max_bytes_per_connection", set: to(orUnbounded, func(s *Settings) *int64 { return &clients(s).UnfinishedMaxConnection }),
		normal: "0"},
	{name: "unfinished_messages.timeout", set: to(orEndless(lasting(0)), func(s *Settings) *time.Duration { return &clients(s).UnfinishedTimeout }),
		normal: "30s"},
	{name: "uncommitted_transactions.max_bytes", set: to(orUnbounded, func(s *Settings) *int64 { return &s.Broker.Uncommitted.Node }), normal: "0"},
	{name: "uncommitted_transactions.max_bytes_per_user", set: to(orUnbounded, func(s *Settings) *int64 { return &s.Broker.Uncommitted.User }),
		normal: "0"},
	{name: "uncommitted_transactions.max_bytes_per_connection",
		set: to(orUnbounded, func(s *Settings) *int64 { return &s.Broker.Uncommitted.Connection }), normal: "0"},
	{name: "channels_and_consumers.max_bytes", set: to(orUnbounded, func(s *Settings) *int64 { return &s.Broker.Subscribed.Node }), normal: "0"},
	{name: "channels_and_consumers.max_bytes_per_user", set: to(orUnbounded, func(s *Settings) *int64 { return &s.Broker.Subscribed.User }),
		normal: "0"},
	{name: "channels_and_consumers.max_bytes_per_connection",
		set: to(orUnbounded, func(s *Settings) *int64 { return &s.Broker.Subscribed.Connection }), normal: "0"},
	{name: "declared_objects.max_bytes", normal: "0",
		set: to(orUnbounded, func(s *Settings) *int64 { return &s.Broker.ObjectsMax })},
	{name: "connection_max", set: to(limit, func(s *Settings) *int { return &clients(s).ConnectionMax }), normal: "infinity"},
	{name: "max_connections", set: to(limit, func(s *Settings) *int { return &clients(s).ConnectionMax })},
	{name: "channel_max_per_node", set: to(limit, func(s *Settings) *int { return &clients(s).ChannelMaxNode }), normal: "infinity"},
}

var loginKeys = []key{
	{name: "auth_mechanisms.$name", set: listed(func(s *Settings) *entries { return &s.mechanisms })},
	{name: "auth_backends.$number", set: backend},
	{name: "auth_backends.$number.authn", set: backend},
	{name: "auth_backends.$number.authz", set: backend},
	{name: "loopback_users", set: noLoopbackUsers},
	{name: "loopback_users.$user", set: loopbackUser},
	{name: "anonymous_login_user", set: to(text, func(s *Settings) *string { return &clients(s).AnonymousUser }), normal: "guest"},
	{name: "anonymous_login_pass", set: to(text, func(s *Settings) *string { return &clients(s).AnonymousPassword }), secret: true},
	{name: "login_failures_max", set: to(failures, func(s *Settings) *int { return &s.Broker.LoginFailures }), normal: "20"},
	{name: "ssl_cert_login_from", set: to(certificateName,
		func(s *Settings) *string { return &clients(s).CertLogin.From }), normal: "distinguished_name"},
	{name: "ssl_cert_login_san_type", set: to(oneOf("dns", "ip", "email", "uri"),
		func(s *Settings) *string { return &clients(s).CertLogin.SANType }), normal: "dns"},
	{name: "ssl_cert_login_san_index", set: to(whole[int](0, 1<<31-1), func(s *Settings) *int { return &clients(s).CertLogin.SANIndex }), normal: "0"},
	{name: "credential_validator.validation_backend", set: to(oneOf(validators...), func(s *Settings) *string { return &s.validator.by }), normal: acceptEverything},
	{name: "credential_validator.min_length", set: to(whole[int](0, 1<<31-1), func(s *Settings) *int { return &s.validator.lengthMin })},
	{name: "credential_validator.regexp", set: to(regexp.Compile, func(s *Settings) **regexp.Regexp { return &s.validator.pattern })},
	{name: "password_hashing_module", set: hashing, normal: "rabbit_password_hashing_sha256"},
}

// The validators of passwords. Source: RabbitMQ credential_validator.
const (
	acceptEverything = "rabbit_credential_validator_accept_everything"
	byLength         = "rabbit_credential_validator_min_password_length"
	byPattern        = "rabbit_credential_validator_password_regexp"
)

var validators = []string{acceptEverything, byLength, byPattern}

func first(s *Settings) *bartleby.First { return s.Broker.First }

var firstKeys = []key{
	{name: "default_vhost", set: to(text, func(s *Settings) *string { return &first(s).VHost }), normal: "/"},
	{name: "default_user", set: to(text, func(s *Settings) *string { return &first(s).User }), normal: "guest"},
	{name: "default_pass", set: to(text, func(s *Settings) *string { return &first(s).Password }), secret: true},
	{name: "default_user_tags.$tag", set: firstTag},
	{name: "default_permissions.configure", set: to(text, func(s *Settings) *string { return &first(s).Configure }), normal: ".*"},
	{name: "default_permissions.read", set: to(text, func(s *Settings) *string { return &first(s).Read }), normal: ".*"},
	{name: "default_permissions.write", set: to(text, func(s *Settings) *string { return &first(s).Write }), normal: ".*"},
}

var limitKeys = []key{
	{name: "vm_memory_high_watermark.relative", set: relativeTo(func(s *Settings) **bartleby.Threshold { return &s.Broker.MemoryHighWatermark }),
		normal: "0.6", usage: "block publishers while the broker uses more than this `share` of the memory; default 0.6"},
	{name: "vm_memory_high_watermark.absolute", set: absoluteTo(func(s *Settings) **bartleby.Threshold { return &s.Broker.MemoryHighWatermark }),
		usage: "the same limit in `bytes`, such as 2GiB"},
	{name: "disk_free_limit.relative", set: relativeTo(func(s *Settings) **bartleby.Threshold { return &s.Broker.DiskFreeLimit }),
		usage: "block publishers while free disk space is below this `multiple` of the memory"},
	{name: "disk_free_limit.absolute", set: absoluteTo(func(s *Settings) **bartleby.Threshold { return &s.Broker.DiskFreeLimit }),
		normal: "50MB", usage: "the same limit in `bytes`; default 50MB"},
}

var managementKeys = []key{
	{name: "management.tcp.port", set: port(func(s *Settings) *place { return &s.listen.managementTCP }), normal: "15672"},
	{name: "management.tcp.ip", set: host(func(s *Settings) *place { return &s.listen.managementTCP })},
	{name: "management.ssl.port", set: port(func(s *Settings) *place { return &s.listen.managementTLS })},
	{name: "management.ssl.ip", set: host(func(s *Settings) *place { return &s.listen.managementTLS })},
	{name: "management.listener.port", set: port(func(s *Settings) *place { return &s.listen.managementOld })},
	{name: "management.listener.ip", set: host(func(s *Settings) *place { return &s.listen.managementOld })},
	{name: "management.listener.ssl", set: to(boolean, func(s *Settings) *bool { return &s.listen.managementOldTLS })},
	{name: "management.path_prefix", set: to(text, func(s *Settings) *string { return &s.Broker.Web.PathPrefix })},
	{name: "management.cors.allow_origins.$name", set: listed(func(s *Settings) *entries { return &s.origins })},
	{name: "management.cors.max_age", set: to(span(time.Second, 0, 1<<31), func(s *Settings) *time.Duration { return &s.Broker.Web.CORSMaxAge }),
		normal: "1800"},
	{name: "management.csp.policy", set: header("Content-Security-Policy")},
	{name: "management.hsts.policy", set: header("Strict-Transport-Security")},
	{name: "management.headers.content_type_options", set: header("X-Content-Type-Options")},
	{name: "management.headers.xss_protection", set: header("X-Xss-Protection")},
	{name: "management.headers.frame_options", set: header("X-Frame-Options")},
	{name: "management.http.max_body_size", set: to(bytes, func(s *Settings) *int64 { return &s.Broker.Web.BodyMax }), normal: "10485760"},
	{name: "management.disable_basic_auth", set: to(boolean, func(s *Settings) *bool { return &s.Broker.Web.NoBasicAuth }), normal: "false"},
	{name: "management.restrictions.operator_policy_changes.disabled",
		set: to(boolean, func(s *Settings) *bool { return &s.Broker.Web.NoOperatorPolicyChanges }), normal: "false"},
	{name: "office.rights", set: to(strict, func(s *Settings) *bool { return &s.Broker.Web.StrictOffice }), normal: "open",
		usage: "access `mode` for dead letters: open (permissions are sufficient), strict (tags such as " +
			"office-redrive are required too)"},
	{name: "management.rates_mode", set: ratesMode, normal: "basic"},
	{name: "management.disable_stats", set: to(boolean, func(s *Settings) *bool { return &s.Broker.Web.NoStatistics }), normal: "false"},
}

var prometheusKeys = []key{
	{name: "prometheus.tcp.listener", set: hostPort(func(s *Settings) *place { return &s.listen.prometheusTCP })},
	{name: "prometheus.ssl.listener", set: hostPort(func(s *Settings) *place { return &s.listen.prometheusTLS })},
	{name: "prometheus.tcp.port", set: port(func(s *Settings) *place { return &s.listen.prometheusTCP }), normal: "15692"},
	{name: "prometheus.tcp.ip", set: host(func(s *Settings) *place { return &s.listen.prometheusTCP })},
	{name: "prometheus.ssl.port", set: port(func(s *Settings) *place { return &s.listen.prometheusTLS })},
	{name: "prometheus.ssl.ip", set: host(func(s *Settings) *place { return &s.listen.prometheusTLS })},
	{name: "prometheus.path", set: to(text, func(s *Settings) *string { return &s.Broker.Metrics.Path }), normal: "/metrics"},
	{name: "prometheus.return_per_object_metrics", set: to(boolean, func(s *Settings) *bool { return &s.Broker.Metrics.PerObject }), normal: "false"},
	{name: "prometheus.authentication.enabled", set: to(boolean, func(s *Settings) *bool { return &s.Broker.Metrics.LogIn }), normal: "false"},
}

func logLevel(place func(*Settings) *slog.Level) set { return to(level, place) }

var logKeys = []key{
	{name: "log.console", set: to(not, func(s *Settings) *bool { return &s.Log.NoConsole }), normal: "true"},
	{name: "log.console.level", set: logLevel(func(s *Settings) *slog.Level { return &s.Log.ConsoleLevel }), normal: "info",
		usage: "console log `level`: debug, info, warning, error, none"},
	{name: "log.console.formatter", set: to(formatter, func(s *Settings) *bool { return &s.Log.ConsoleJSON }), normal: "plaintext",
		usage: "console log `format`: plaintext or json"},
	{name: "log.console.formatter.time_format", set: to(timeFormat, func(s *Settings) *logging.TimeFormat { return &s.Log.Time }),
		normal: "rfc3339_space"},
	{name: "log.console.stdio", set: logTo, normal: "stderr"},
	{name: "log.dir", set: to(text, func(s *Settings) *string { return &s.logDir })},
	{name: "log.file", set: to(text, func(s *Settings) *string { return &s.logFile }), normal: "false"},
	{name: "log.file.level", set: logLevel(func(s *Settings) *slog.Level { return &s.Log.FileLevel }), normal: "info"},
	{name: "log.file.formatter", set: to(formatter, func(s *Settings) *bool { return &s.Log.FileJSON }), normal: "plaintext"},
	{name: "log.file.formatter.time_format", set: to(timeFormat, func(s *Settings) *logging.TimeFormat { return &s.Log.Time })},
	{name: "log.file.rotation.size", set: to(bytes, func(s *Settings) *int64 { return &s.Log.RotateBytes }), normal: "0"},
	{name: "log.file.rotation.count", set: to(whole[int](0, 10000), func(s *Settings) *int { return &s.Log.RotateCount }), normal: "0"},
	{name: "log.$category.level", set: categoryLevel},
}
