package config

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/bartleby-mq/bartleby"
)

// write puts files into a directory and returns it.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// load reads one file, an environment and options "key=value".
func load(t *testing.T, file string, environ []string, options ...string) (*Settings, error) {
	t.Helper()
	from := Sources{File: filepath.Join(write(t, map[string]string{"conf": file}), "conf"), Environ: environ}
	for _, o := range options {
		key, value, _ := strings.Cut(o, "=")
		from.Options = append(from.Options, Option{key, value, key})
	}
	return Load(from)
}

func mustLoad(t *testing.T, file string, environ []string, options ...string) *Settings {
	t.Helper()
	s, err := load(t, file, environ, options...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSyntax(t *testing.T) {
	// If this fails, a file that RabbitMQ reads is read as something else.
	t.Parallel()
	env := func(name string) (string, bool) { return map[string]string{"PW": "a#b"}[name], name == "PW" }
	for text, want := range map[string]string{
		"":                                     "",
		"# nothing\n\n   # more":               "",
		"a.b = c":                              "a.b=c",
		"a.b=c":                                "a.b=c",
		"a = b # comment":                      "a=b",
		"a = b#no comment":                     "a=b#no comment",
		"a = 'b # c'  # comment":               "a=b # c",
		`a = "it's"`:                           "a=it's",
		`a = ''`:                               "a=",
		"a =":                                  "a=",
		"a = b = c":                            "a=b = c",
		"a = b \\\n    c\nd = e":               "a=b c d=e",
		"\ufeffa = b\r\nc = d\r\n":             "a=b c=d",
		"a = $(PW)":                            "a=a#b",
		"a = x$(PW)y":                          "a=xa#by",
		"# $(NONE) is not looked up here":      "",
		"# no continuation \\\na = b":          "a=b",
		`a = {"x": "y"}`:                       `a={"x": "y"}`,
		"a = ^(?!amq\\.).*":                    "a=^(?!amq\\.).*",
		"default_user_tags.administrator=true": "default_user_tags.administrator=true",
	} {
		all, mistakes := parseFile("f", text, env)
		var got []string
		for _, a := range all {
			got = append(got, a.key+"="+a.value)
		}
		if len(mistakes) > 0 || strings.Join(got, " ") != want {
			t.Errorf("%q: %q, %v", text, got, mistakes)
		}
	}
	for text, want := range map[string]string{
		"foo":             `f:1: "foo" is not of the form 'key = value'`,
		"\n\na = 'b":      "f:3: a: the quote ' is not closed",
		"a = $(NONE)":     "f:1: $(NONE): the environment variable is not set",
		"a = $(NONE":      "f:1: $(NONE: the parenthesis is not closed",
		"two words = 1":   `f:1: "two words" is not a key`,
		"= 1":             `f:1: "" is not a key`,
		"a = b\\\nc\nfoo": `f:3: "foo" is not of the form 'key = value'`,
		"a = \xff":        "f: not UTF-8 text",
	} {
		if _, mistakes := parseFile("f", text, env); len(mistakes) != 1 || mistakes[0].Error() != want {
			t.Errorf("%q: %v, want %s", text, mistakes, want)
		}
	}
}

func TestSourcesInOrder(t *testing.T) {
	// If this fails, a source counts that should not: default < main file < conf.d < environment < command line.
	t.Parallel()
	dir := write(t, map[string]string{
		"rabbitmq.conf":           "heartbeat = 1\nframe_max = 10001\nchannel_max = 1\ndefault_user = file\ndisk_free_limit.absolute = 1GB\n",
		"conf.d/10-defaults.conf": "heartbeat = 2\nchannel_max = 2\ndefault_user = tens",
		"conf.d/90-user.conf":     "heartbeat = 3\ndefault_user = nineties",
		"conf.d/no.config":        "heartbeat = 4",
	})
	main, parts := filepath.Join(dir, "rabbitmq"), filepath.Join(dir, "conf.d")
	s, err := Load(Sources{
		Environ: []string{"RABBITMQ_CONFIG_FILE=" + main, "RABBITMQ_CONFIG_FILES=" + parts, "RABBITMQ_DEFAULT_USER=env", "BARTLEBY_DATA=here"},
		Options: []Option{{"data", "there", "data"}, {"disk_free_limit.relative", "2", "disk_free_limit.relative"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	c := s.Broker.Clients
	if c.Heartbeat != 3*time.Second || c.ChannelMax != 2 || c.FrameMax != 10001 || s.Broker.First.User != "env" || s.Broker.Data != "there" {
		t.Errorf("%v, %d, %d, %q, %q", c.Heartbeat, c.ChannelMax, c.FrameMax, s.Broker.First.User, s.Broker.Data)
	}
	if l := s.Broker.DiskFreeLimit; l == nil || *l != *bartleby.Relative(2) {
		t.Errorf("disk limit %v", l)
	}
	for key, origin := range map[string]string{
		"heartbeat": filepath.Join(parts, "90-user.conf") + ":1", "frame_max": main + ".conf:2", "default_user": "environment RABBITMQ_DEFAULT_USER",
		"data": "option --data", "max_message_size": "default",
	} {
		if got := s.origin(key); got != origin {
			t.Errorf("%s comes from %q, want %q", key, got, origin)
		}
	}
}

func TestDefaultsAreTrue(t *testing.T) {
	// If this fails, the default that is shown is not the one that is in force.
	t.Parallel()
	bare, err := Load(Sources{})
	if err != nil {
		t.Fatal(err)
	}
	// Zero means these where nothing is set.
	bare.Broker.SyncInterval, bare.Broker.Web.CORSMaxAge, bare.Broker.Web.BodyMax = 200*time.Millisecond, 30*time.Minute, 10<<20
	bare.Broker.QueueType, bare.Broker.LoginFailures, bare.Broker.Metrics.Path = "classic", 20, "/metrics"
	bare.Broker.NewVHosts.ConsumerTimeout = 30 * time.Minute
	bare.Broker.Passwords.Hashing = "rabbit_password_hashing_sha256"
	bare.Broker.MemoryHighWatermark, bare.Broker.DiskFreeLimit = bartleby.Relative(0.6), bartleby.Absolute(50_000_000)
	var options []Option
	for i := range keys {
		k := &keys[i]
		if page := strings.HasPrefix(k.name, "management.") || strings.HasPrefix(k.name, "prometheus."); k.normal == "" ||
			page && (strings.Contains(k.name, ".ssl") || strings.HasPrefix(k.name, "management.listener")) {
			continue
		}
		options = append(options, Option{k.name, k.normal, k.name})
	}
	if len(options) < 40 {
		t.Fatalf("only %d keys have a default", len(options))
	}
	set, err := Load(Sources{Options: options})
	if err != nil {
		t.Fatal(err)
	}
	if s := set.Broker.Clients.LoopbackUsers; !reflect.DeepEqual(s, bare.Broker.Clients.LoopbackUsers) {
		t.Errorf("loopback users %v", s)
	}
	set.Broker.Clients.Log, bare.Broker.Clients.Log = nil, nil
	set.Broker.Clients.CertLogin, bare.Broker.Clients.CertLogin = bartleby.CertLogin{}, bartleby.CertLogin{}
	set.Log.Time = bare.Log.Time // the first of the formats is the zero one
	if !reflect.DeepEqual(*set.Broker.Clients, *bare.Broker.Clients) {
		t.Errorf("clients %+v\nwant    %+v", *set.Broker.Clients, *bare.Broker.Clients)
	}
	set.Broker.Clients, bare.Broker.Clients = nil, nil
	if !reflect.DeepEqual(set.Broker, bare.Broker) || !reflect.DeepEqual(set.Log, bare.Log) {
		t.Errorf("set  %+v %+v\nbare %+v %+v", set.Broker, set.Log, bare.Broker, bare.Log)
	}
}

func TestMistakes(t *testing.T) {
	// If this fails, what cannot be meant is accepted, or its author is not told where it is and what would do.
	t.Parallel()
	for text, want := range map[string]string{
		"hartbeat = 1":                                          `:1: unknown key "hartbeat", did you mean "heartbeat"?`,
		"listener.tcp.default = 1":                              `did you mean "listeners.tcp.default"?`,
		"disk_free_limit = 1GB":                                 `did you mean "disk_free_limit.`,
		"zzzzzzzzzzzzzzzzzzzzzzzzzzzz = 1":                      `:1: unknown key "zzzzzzzzzzzzzzzzzzzzzzzzzzzz"`,
		"\nheartbeat = often":                                   `:2: heartbeat: "often" is not a whole number from 0 to 65535`,
		"frame_max = 4095":                                      "from 8192",
		"frame_max = 17MB":                                      "to 16777216",
		"channel_max = 70000":                                   "from 0 to 65535",
		"max_message_size = big":                                "such as 50000000, 50MB or 2GiB",
		"listeners.tcp.default = 70000":                         "port",
		"listeners.tcp.default = localhost":                     "not a port, nor an address",
		"listeners.tcp = 5672":                                  "is not allowed, only none is",
		"listeners.ssl.default = 5671":                          "ssl_options: TLS: certfile is not set",
		"management.ssl.port = 15671":                           "management.ssl: TLS: certfile is not set",
		"mqtt.listeners.tcp.1 = 1883":                           "MQTT is not supported",
		"stomp.listeners.tcp.default = 61613":                   "STOMP is not supported",
		"stream.listeners.tcp.default = 5552":                   "the stream protocol is not supported",
		"web_stomp.tcp.port = 15674":                            "not supported",
		"auth_backends.1 = ldap":                                "only internal is",
		"auth_ldap.servers.1 = x":                               "LDAP backend is not supported",
		"auth_mechanisms.1 = KERBEROS":                          "PLAIN, AMQPLAIN, ANONYMOUS, EXTERNAL are",
		"proxy_protocol = maybe":                                "is not true or false",
		"ssl_options.password = x":                              "openssl pkey",
		"default_pass = encrypted:abc":                          "encrypted values are not supported",
		"log.console.level = loud":                              "unknown log level",
		"log.conection.level = info":                            "unknown log category",
		"log.console.formatter = xml":                           "plaintext",
		"management.tcp.ip = nowhere":                           "not an IP address",
		"management.path_prefix = rabbit":                       "does not begin with /",
		"prometheus.path = metrics":                             "does not begin with /",
		"ssl_cert_login_from = shoe_size":                       "distinguished_name",
		"password_hashing_module = rabbit_password_hashing_md4": "is not one of rabbit_password_hashing_sha256",
		"vm_memory_high_watermark.relative = much":              "is not a number",
		"vm_memory_high_watermark.relative = NaN":               "is not a number",
		"vm_memory_high_watermark.relative = -1":                "conf:1: vm_memory_high_watermark must be a fraction",
		"vm_memory_high_watermark.relative = 1.5":               "must be a fraction",
		"disk_free_limit.relative = Inf":                        "is not a number",
		"disk_free_limit.relative = -3":                         "conf:1: disk_free_limit must be",
		"default_permissions.configure = (":                     "conf:1: default_permissions.configure: error parsing regexp",
		"heartbeat. = 1":                                        "unknown key",
		"default_queue_type = stream":                           "classic, quorum",
	} {
		if _, err := load(t, text, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	_, err := load(t, "a = 1\nheartbeat = x\nfoo\nmqtt.listeners.tcp.1 = 1883", nil)
	if err == nil || len(strings.Split(err.Error(), "\n")) != 4 {
		t.Errorf("of four mistakes: %v", err)
	}
	s := mustLoad(t, "config.strict = false\nhartbeat = 1", nil)
	if len(s.Notes) != 1 || s.Notes[0].Level != slog.LevelWarn || !strings.Contains(s.Notes[0].Text, "heartbeat") {
		t.Errorf("not strict: %v", s.Notes)
	}
	if _, err := Load(Sources{File: "/does/not/exist.conf"}); err == nil {
		t.Error("a file that is not there is no mistake")
	}
}

func TestCheckFindsWhatAStartWould(t *testing.T) {
	// If this fails, a file is called valid with which no broker starts, or that says less than it seems to.
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.conf")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("load_definitions = /does/not/exist\n")
	if _, err := Check(path, nil); err == nil || !strings.Contains(err.Error(), path+":1: load_definitions: ") {
		t.Errorf("definitions that are not there: %v", err)
	}
	write("load_definitions = " + path + "\nssl_options.versions.1 = sslv3\n")
	s, err := Check(path, nil)
	if err != nil || len(s.Notes) != 1 || !strings.Contains(s.Notes[0].Text, `"sslv3" is not supported`) {
		t.Errorf("a version of TLS that there is not: %v, %v", s, err)
	}
}

func TestWhatToolsAreTold(t *testing.T) {
	// If this fails, what an operator calls the product, the cluster or the node is passed over.
	t.Parallel()
	b := mustLoad(t, "product.name = Ours\nproduct.version = 7\ncluster_tags.region = eu\nnode_tags.rack = 3\nnode_tags.zone = a\n"+
		"management.disable_stats = true\nmanagement.rates_mode = basic\n", nil).Broker
	if b.ProductName != "Ours" || b.ProductVersion != "7" || b.ClusterTags["region"] != "eu" || len(b.NodeTags) != 2 || !b.Web.NoStatistics {
		t.Errorf("%+v", b)
	}
	s := mustLoad(t, "management.rates_mode = none\nmotd_file = /etc/motd\n", nil)
	if len(s.Notes) != 1 || !strings.Contains(s.Notes[0].Text, "rates are collected as in basic") || s.MOTDFile != "/etc/motd" {
		t.Errorf("%v, %q", s.Notes, s.MOTDFile)
	}
}

func TestNumberSignInValue(t *testing.T) {
	// If this fails, a password that RabbitMQ cuts off at a # becomes another one here, and nobody is told.
	t.Parallel()
	for text, warned := range map[string]bool{
		"default_user = u\ndefault_pass = s3cr#t pw": true,
		"default_user = u\ndefault_pass = a#b # c":   true,
		"default_user = u\ndefault_pass = 's3cr#t'":  false,
		"default_user = u\ndefault_pass = a # b#c":   false,
		"default_user = u\ndefault_pass = $(PW)":     false,
	} {
		s := mustLoad(t, text, []string{"PW=a#b"})
		if len(s.Notes) > 0 != warned || warned && (!strings.Contains(s.Notes[0].Text, ":2: default_pass: the # is part") || strings.Contains(s.Notes[0].Text, "s3cr")) {
			t.Errorf("%q: %v", text, s.Notes)
		}
	}
}

func TestKeysOfRabbitMQ(t *testing.T) {
	// If this fails, a configuration that starts a RabbitMQ keeps this broker from starting.
	t.Parallel()
	text, err := os.ReadFile("testdata/rabbitmq-keys.conf")
	if err != nil {
		t.Fatal(err)
	}
	all, mistakes := parseFile("keys", string(text), os.LookupEnv)
	if len(all) < 900 || len(mistakes) > 0 {
		t.Fatalf("%d keys, %v", len(all), mistakes)
	}
	for _, one := range all {
		if err := newSettings().apply([]assignment{one}); err != nil {
			t.Error(err)
		}
	}
}

func TestValuesOfOldSeries(t *testing.T) {
	// If this fails, a value that RabbitMQ 3.10 takes means something else here, or is passed over without a word.
	t.Parallel()
	for text, want := range map[string]struct {
		got  func(*Settings) any
		is   any
		note string
	}{
		"frame_max = 4096":  {func(s *Settings) any { return s.Broker.Clients.FrameMax }, uint32(8192), "8192 is used"},
		"frame_max = 128KB": {func(s *Settings) any { return s.Broker.Clients.FrameMax }, uint32(131072), ""},
		"frame_max = 0":     {func(s *Settings) any { return s.Broker.Clients.FrameMax }, uint32(16 << 20), ""},
		"password_hashing_module = rabbit_password_hashing_md5": {
			func(s *Settings) any { return s.Broker.Passwords.Hashing }, "rabbit_password_hashing_sha256", "stored as SHA-256"},
		"log.prelaunch.level = debug":            {func(s *Settings) any { return len(s.Log.Levels) }, 0, ""},
		"handshake_timeout = infinity":           {func(s *Settings) any { return s.Broker.Clients.HandshakeTimeout > 24*time.Hour }, true, ""},
		"tcp_listen_options.send_timeout = 3000": {func(s *Settings) any { return s.Broker.Clients.SendTimeout }, 3 * time.Second, ""},
		"unfinished_messages.timeout = 500ms\nunfinished_messages.max_bytes = 64MiB\nunfinished_messages.max_bytes_per_connection = infinity": {
			func(s *Settings) any {
				c := s.Broker.Clients
				return fmt.Sprint(c.UnfinishedTimeout, c.UnfinishedMax, c.UnfinishedMaxUser, c.UnfinishedMaxConnection)
			}, "500ms 67108864 0 1152921504606846976", ""},
		"declared_objects.max_bytes = 64MiB":    {objectsMax, int64(64 << 20), ""},
		"declared_objects.max_bytes = infinity": {objectsMax, int64(1 << 60), ""},
		"uncommitted_transactions.max_bytes = 64MiB\nuncommitted_transactions.max_bytes_per_connection = infinity": {
			func(s *Settings) any { return s.Broker.Uncommitted }, bartleby.Budget{Node: 64 << 20, Connection: 1 << 60}, ""},
		"channels_and_consumers.max_bytes_per_user = 64MiB": {
			func(s *Settings) any { return s.Broker.Subscribed }, bartleby.Budget{User: 64 << 20}, ""},
		"tcp_listen_options.nodelay = false": {func(s *Settings) any { return "" }, "", "nodelay: false has no effect"},
		"listeners.tcp.local_v6 = ::1:5672":  {func(s *Settings) any { return s.Broker.AMQP }, "[::1]:5672", ""},
		"auth_mechanisms.b = AMQPLAIN\nauth_mechanisms.a = PLAIN\nauth_mechanisms.3 = EXTERNAL": {
			func(s *Settings) any { return strings.Join(s.Broker.Clients.Mechanisms, " ") }, "EXTERNAL PLAIN AMQPLAIN", ""},
		"log.syslog.level = info":                 {func(s *Settings) any { return len(s.Log.Levels) }, 0, "log.syslog.level ("},
		"log.file.level = =debug\nlog.dir = /x":   {func(s *Settings) any { return s.Log.FileLevel }, slog.LevelDebug, ""},
		"prometheus.tcp.listener = 127.0.0.1:999": {func(s *Settings) any { return s.Broker.Prometheus }, "127.0.0.1:999", ""},
	} {
		s := mustLoad(t, text, nil)
		if got := want.got(s); got != want.is {
			t.Errorf("%q: %v, want %v", text, got, want.is)
		}
		if want.note == "" && len(s.Notes) > 0 || want.note != "" && (len(s.Notes) != 1 || !strings.Contains(s.Notes[0].Text, want.note)) {
			t.Errorf("%q: told %v, want %q", text, s.Notes, want.note)
		}
	}
}

func TestLogFile(t *testing.T) {
	// If this fails, who asks for a log file as RabbitMQ names it finds none, or one that nobody asked for.
	t.Parallel()
	for text, want := range map[string]string{
		"": "",
		"log.dir = /var/log/b\nnode_name = rabbit@a": "/var/log/b/rabbit@a.log",
		"log.dir = /var/log/b\nlog.file = x.log":     "/var/log/b/x.log",
		"log.dir = /var/log/b\nlog.file = false":     "",
		"log.file = x.log":                           "x.log",
		"log.file = /y/x.log\nlog.dir = /z":          "/y/x.log",
		"log.dir = /l":                               "/l/" + bartleby.NodeName() + ".log",
	} {
		if s := mustLoad(t, text, nil); s.Log.File != want || len(s.Notes) > 0 {
			t.Errorf("%q: %q, want %q; told %v", text, s.Log.File, want, s.Notes)
		}
	}
	if s := mustLoad(t, "", []string{"RABBITMQ_LOG_BASE=/l", "RABBITMQ_NODENAME=a@b"}); s.Log.File != "/l/a@b.log" {
		t.Errorf("RABBITMQ_LOG_BASE: %q", s.Log.File)
	}
	if s := mustLoad(t, "log.file.level = debug", nil); s.Log.File != "" || len(s.Notes) != 1 || !strings.Contains(s.Notes[0].Text, "log.file.level has no effect") {
		t.Errorf("a level for no file: %q, told %v", s.Log.File, s.Notes)
	}
	if s := mustLoad(t, "", []string{"RABBITMQ_LOG=debug"}); s.Log.File != "" || len(s.Notes) > 0 {
		t.Errorf("RABBITMQ_LOG: %q, told %v", s.Log.File, s.Notes)
	}
}

func TestWhatMeansNothingHere(t *testing.T) {
	// If this fails, a configuration of RabbitMQ does not start the broker, or its author believes what is not so.
	t.Parallel()
	s := mustLoad(t, `
hipe_compile = false
mqtt.allow_anonymous = false
raft.wal_max_size_bytes = 64000000
queue_index_embed_msgs_below = 4096
cluster_partition_handling = pause_minority
collect_statistics_interval = 5000
num_acceptors.tcp = 10
ssl_options.honor_cipher_order = true
reverse_dns_lookups = false
mqtt.listeners.tcp = none
cluster_exchange_limit = 10
cluster_formation.peer_discovery_backend = k8s
cluster_formation.k8s.host = kubernetes.default
`, nil)
	var quiet, loud []string
	for _, n := range s.Notes {
		if n.Level == slog.LevelWarn {
			loud = append(loud, n.Text)
			continue
		}
		quiet = append(quiet, n.Text)
	}
	if len(quiet) != 1 || !strings.Contains(quiet[0], "hipe_compile") || !strings.Contains(quiet[0], "raft.wal_max_size_bytes") {
		t.Errorf("told quietly: %q", quiet)
	}
	if len(loud) != 2 || !strings.Contains(loud[1], "cluster_exchange_limit") || !strings.Contains(loud[0], "cannot join a cluster") ||
		!strings.Contains(loud[0], "peer_discovery_backend (") || !strings.Contains(loud[0], "k8s.host (") {
		t.Errorf("told loudly: %q", loud)
	}
}

func TestListeners(t *testing.T) {
	// If this fails, the broker listens elsewhere than it was told to.
	t.Parallel()
	for text, want := range map[string][3]string{
		"":                             {":5672", ":15672", ":15692"},
		"listeners.tcp.default = 5673": {":5673", ":15672", ":15692"},
		"listeners.tcp.local = 127.0.0.1:5672\nlisteners.tcp.other = :::5673": {"127.0.0.1:5672,[::]:5673", ":15672", ":15692"},
		"listeners.tcp = none":                                     {"", ":15672", ":15692"},
		"management.tcp.port = 80\nmanagement.tcp.ip = ::1":        {":5672", "[::1]:80", ":15692"},
		"management.listener.port = 81":                            {":5672", ":81", ":15692"},
		"prometheus.tcp.port = 9":                                  {":5672", ":15672", ":9"},
		"listen = 127.0.0.1:1\nmanagement = none\nprometheus = ''": {"127.0.0.1:1", "", ""},
	} {
		b := mustLoad(t, text, nil).Broker
		if got := [3]string{b.AMQP, b.Management, b.Prometheus}; got != want || b.AMQPS+b.ManagementHTTPS+b.PrometheusHTTPS != "" {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestLogins(t *testing.T) {
	// If this fails, somebody may log in who should not, or cannot who should.
	t.Parallel()
	s := mustLoad(t, `
loopback_users.guest = false
loopback_users.admin = true
auth_mechanisms.2 = PLAIN
auth_mechanisms.1 = EXTERNAL
default_user_tags.policymaker = false
default_user_tags.monitoring = true
default_permissions.read = ^r
`, nil)
	c, f := s.Broker.Clients, s.Broker.First
	if strings.Join(c.LoopbackUsers, " ") != "admin" || strings.Join(c.Mechanisms, " ") != "EXTERNAL PLAIN" {
		t.Errorf("%v, %v", c.LoopbackUsers, c.Mechanisms)
	}
	if strings.Join(f.Tags, " ") != "monitoring" || f.Read != "^r" || f.Write != ".*" {
		t.Errorf("%+v", f)
	}
	if users := mustLoad(t, "loopback_users = none", nil).Broker.Clients.LoopbackUsers; len(users) != 0 || users == nil {
		t.Errorf("loopback_users = none: %v", users)
	}
}

func objectsMax(s *Settings) any { return s.Broker.ObjectsMax }
