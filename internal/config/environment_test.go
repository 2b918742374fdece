package config

import (
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bartleby-mq/bartleby"
)

func TestEnvironmentOfTheImage(t *testing.T) {
	// If this fails, a container that was configured for RabbitMQ's image has another user, port or place for its data.
	t.Parallel()
	dir := write(t, map[string]string{"pass": "from a file\n"})
	s := mustLoad(t, "default_user = file", []string{
		"RABBITMQ_DEFAULT_USER=alice", "RABBITMQ_DEFAULT_PASS_FILE=" + filepath.Join(dir, "pass"), "RABBITMQ_DEFAULT_VHOST=orders",
		"RABBITMQ_NODE_PORT=5600", "RABBITMQ_NODE_IP_ADDRESS=::1", "RABBITMQ_NODENAME=rabbit@box", "RABBITMQ_DATA_DIR=/data",
		"RABBITMQ_LOGS=-", "RABBITMQ_LOG=debug,connection=error,+color", "RABBITMQ_VM_MEMORY_HIGH_WATERMARK=0.5",
		"RABBITMQ_ERLANG_COOKIE=secret", "RABBITMQ_SERVICE_HOST=10.0.0.1", "RABBITMQ_PORT_5672_TCP_ADDR=10.0.0.1",
		"RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS=-rabbit disk_free_limit 100 -rabbit heartbeat 5",
	})
	b := s.Broker
	if f := b.First; f.User != "alice" || f.Password != "from a file" || f.VHost != "orders" {
		t.Errorf("%+v", f)
	}
	if b.AMQP != "[::1]:5600" || b.NodeName != "rabbit@box" || b.Data != "/data" {
		t.Errorf("%q, %q, %q", b.AMQP, b.NodeName, b.Data)
	}
	if s.Log.ConsoleLevel != slog.LevelDebug || s.Log.Levels["connection"] != slog.LevelError || s.Log.File != "" {
		t.Errorf("%+v", s.Log)
	}
	if *b.MemoryHighWatermark != *bartleby.Relative(0.5) {
		t.Errorf("watermark %v", b.MemoryHighWatermark)
	}
	if len(s.Notes) != 1 || !strings.HasSuffix(s.Notes[0].Text, "set in the configuration file: disk_free_limit.absolute, heartbeat") {
		t.Errorf("notes: %v", s.Notes)
	}
	if text := s.Text(); strings.Contains(text, "from a file") || !strings.Contains(text, "default_pass = <secret>") {
		t.Errorf("shown:\n%s", text)
	}
	_, err := load(t, "", []string{"RABBITMQ_DEFAULT_PASS_FILE=/does/not/exist"})
	if err == nil || !strings.Contains(err.Error(), "environment RABBITMQ_DEFAULT_PASS_FILE") {
		t.Errorf("a secret that is not there: %v", err)
	}
	_, err = load(t, "", []string{"RABBITMQ_NODE_PORT=amqp"})
	if err == nil || !strings.Contains(err.Error(), "environment RABBITMQ_NODE_PORT: listeners.tcp.default") {
		t.Errorf("a port that is none: %v", err)
	}
}

func TestUsualPlaces(t *testing.T) {
	// If this fails, what lies in /etc/rabbitmq is not found, or what is named and missing keeps the broker from
	// starting.
	t.Parallel()
	dir := filepath.Join(write(t, map[string]string{
		"rabbitmq/rabbitmq.conf":     "heartbeat = 6",
		"rabbitmq/conf.d/a.conf":     "heartbeat = 7",
		"rabbitmq/rabbitmq-env.conf": "# a comment\nNODENAME=bunny@here\nexport RABBITMQ_NODE_PORT='5601'\nDEFAULT_USER=never\necho hello\n",
		"rabbitmq/enabled_plugins":   "[rabbitmq_management,rabbitmq_shovel].",
		"rabbitmq/advanced.config":   "%% nothing\n[\n].\n",
	}), "rabbitmq")
	s, err := Load(Sources{Usual: []string{"/does/not/exist", dir}, Environ: []string{"RABBITMQ_DEFAULT_USER=bob"}})
	if err != nil {
		t.Fatal(err)
	}
	named, err := Load(Sources{File: filepath.Join(dir, "rabbitmq.conf"), Usual: []string{dir}})
	if err != nil || named.Broker.Clients.Heartbeat.Seconds() != 7 {
		t.Errorf("conf.d beside a main file that is named: %v", err)
	}
	if s.Broker.NodeName != "bunny@here" || s.Broker.AMQP != ":5601" || s.Broker.First.User != "bob" || s.Broker.Clients.Heartbeat.Seconds() != 7 {
		t.Errorf("%q, %q, %q, %v", s.Broker.NodeName, s.Broker.AMQP, s.Broker.First.User, s.Broker.Clients.Heartbeat)
	}
	if at := s.origin("node_name"); at != filepath.Join(dir, "rabbitmq-env.conf")+":2" {
		t.Errorf("node_name comes from %q", at)
	}
	var notes []string
	for _, n := range s.Notes {
		notes = append(notes, n.Text)
	}
	if all := strings.Join(notes, "\n"); !strings.Contains(all, "these plugins are not supported: rabbitmq_shovel") ||
		!strings.Contains(all, "rabbitmq-env.conf:5: not of the form") {
		t.Errorf("notes: %q", notes)
	}
	s, err = Load(Sources{Environ: []string{"RABBITMQ_CONFIG_FILE=/does/not/exist"}})
	if err != nil || len(s.Notes) != 1 || !strings.Contains(s.Notes[0].Text, "/does/not/exist.conf") {
		t.Errorf("%v, %v", s.Notes, err)
	}
}

func TestClassicConfig(t *testing.T) {
	// If this fails, an old configuration file leads to a mistake for each of its lines, and none that helps.
	t.Parallel()
	path := filepath.Join(write(t, map[string]string{"rabbitmq.config": "[\n {rabbit, [\n  {heartbeat, 20}\n ]}\n]."}), "rabbitmq.config")
	_, err := Load(Sources{Environ: []string{"RABBITMQ_CONFIG_FILE=" + path}})
	if err == nil || !strings.HasSuffix(err.Error(), "Erlang terms are not supported: set the keys in the configuration file instead (heartbeat: heartbeat)") {
		t.Error(err)
	}
}

func TestAdvancedConfig(t *testing.T) {
	// If this fails, settings in Erlang's terms are passed over in silence.
	t.Parallel()
	dir := write(t, map[string]string{"advanced.config": "[{rabbit, [{tcp_listeners, [5673]}, % old\n {heartbeat, 20}, {consumer_timeout, 36}]}]."})
	_, err := Load(Sources{Environ: []string{"RABBITMQ_ADVANCED_CONFIG_FILE=" + filepath.Join(dir, "advanced.config")}})
	if err == nil || !strings.Contains(err.Error(), "tcp_listeners: listeners.tcp.default; heartbeat: heartbeat; consumer_timeout: consumer_timeout") {
		t.Error(err)
	}
}

func TestTheBrokerToAskIsNoListener(t *testing.T) {
	// If this fails, a broker does not start where the command line was told by the same variable which broker to ask.
	t.Parallel()
	for value, want := range map[string]string{"http://other:15672": mustLoad(t, "", nil).Broker.Management, "127.0.0.1:15999": "127.0.0.1:15999"} {
		if got := mustLoad(t, "", []string{"BARTLEBY_MANAGEMENT=" + value}).Broker.Management; got != want {
			t.Errorf("%s: listens on %q, want %q", value, got, want)
		}
	}
}
