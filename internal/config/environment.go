package config

import (
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// environment is the environment, with what rabbitmq-env.conf adds.
type environment struct {
	values  map[string]string
	origins map[string]string // of those that a file added
	notes   []Note
}

func newEnvironment(environ []string) *environment {
	e := &environment{values: map[string]string{}, origins: map[string]string{}}
	for _, one := range environ {
		if name, value, ok := strings.Cut(one, "="); ok {
			e.values[name] = value
		}
	}
	return e
}

func (e *environment) look(name string) (string, bool) {
	value, ok := e.values[name]
	return value, ok
}

func (e *environment) at(name string) string {
	if at, ok := e.origins[name]; ok {
		return at
	}
	return "environment " + name
}

func (e *environment) warn(name, format string, args ...any) {
	e.notes = append(e.notes, Note{slog.LevelWarn, e.at(name) + ": " + fmt.Sprintf(format, args...)})
}

// readEnvFile adds what rabbitmq-env.conf sets and the environment does not: lines NAME=value of a shell, with or
// without the prefix RABBITMQ_. Source: RabbitMQ configure, rabbitmq-env.conf.
func (s *Settings) readEnvFile(e *environment, usual []string) {
	path, named := e.look("RABBITMQ_CONF_ENV_FILE")
	if path == "" {
		dir := usualDir(usual)
		if dir == "" {
			return
		}
		path = filepath.Join(dir, filepath.Base(dir)+"-env.conf")
	}
	text, err := os.ReadFile(path)
	if err != nil {
		if named {
			s.note(slog.LevelWarn, "environment RABBITMQ_CONF_ENV_FILE: %v", err)
		}
		return
	}
	s.Files = append(s.Files, path)
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		name, value, ok := strings.Cut(strings.TrimPrefix(line, "export "), "=")
		if value, err = unquote(strings.TrimSpace(value)); !ok || err != nil || strings.ContainsAny(name, " \t$") {
			s.note(slog.LevelWarn, "%s:%d: not of the form NAME=value: ignored", path, n)
			continue
		}
		if !strings.HasPrefix(name, "RABBITMQ_") && !strings.HasPrefix(name, "BARTLEBY_") {
			name = "RABBITMQ_" + name
		}
		if _, set := e.values[name]; !set {
			e.values[name], e.origins[name] = value, fmt.Sprintf("%s:%d", path, n)
		}
	}
}

// variables are those of RabbitMQ and its container images that set a key. Of two that set the same the later one
// counts.
// Source: RabbitMQ configure, environment variables; docs/compat/configuration.md#5.
var variables = []struct{ name, key string }{
	{"RABBITMQ_USERNAME", "default_user"}, {"RABBITMQ_PASSWORD", "default_pass"}, {"RABBITMQ_VHOST", "default_vhost"}, // Bitnami's
	{"RABBITMQ_DEFINITIONS_FILE", "load_definitions"},
	{"RABBITMQ_DEFAULT_USER_FILE", "default_user"}, {"RABBITMQ_DEFAULT_PASS_FILE", "default_pass"},
	{"RABBITMQ_DEFAULT_USER", "default_user"}, {"RABBITMQ_DEFAULT_PASS", "default_pass"}, {"RABBITMQ_DEFAULT_VHOST", "default_vhost"},
	{"RABBITMQ_NODENAME", "node_name"}, {"RABBITMQ_PID_FILE", "pid_file"},
	{"RABBITMQ_MNESIA_BASE", "data"}, {"RABBITMQ_MNESIA_DIR", "data"}, {"RABBITMQ_DATA_DIR", "data"},
	{"RABBITMQ_LOG_BASE", "log.dir"},
	{"RABBITMQ_SSL_CACERTFILE", "ssl_options.cacertfile"}, {"RABBITMQ_SSL_CERTFILE", "ssl_options.certfile"},
	{"RABBITMQ_SSL_KEYFILE", "ssl_options.keyfile"}, {"RABBITMQ_SSL_VERIFY", "ssl_options.verify"},
	{"RABBITMQ_SSL_FAIL_IF_NO_PEER_CERT", "ssl_options.fail_if_no_peer_cert"}, {"RABBITMQ_SSL_DEPTH", "ssl_options.depth"},
	{"RABBITMQ_MANAGEMENT_SSL_CACERTFILE", "management.ssl.cacertfile"}, {"RABBITMQ_MANAGEMENT_SSL_CERTFILE", "management.ssl.certfile"},
	{"RABBITMQ_MANAGEMENT_SSL_KEYFILE", "management.ssl.keyfile"}, {"RABBITMQ_MANAGEMENT_SSL_VERIFY", "management.ssl.verify"},
	{"RABBITMQ_MANAGEMENT_SSL_FAIL_IF_NO_PEER_CERT", "management.ssl.fail_if_no_peer_cert"},
	{"RABBITMQ_MANAGEMENT_SSL_DEPTH", "management.ssl.depth"},
}

// idle are those that are accepted, with what the log says if they are set.
var idle = map[string]string{
	"RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "Erlang VM arguments have no effect",
	"RABBITMQ_SERVER_ERL_ARGS":            "Erlang VM arguments have no effect",
	"RABBITMQ_CTL_ERL_ARGS":               "Erlang VM arguments have no effect",
	"RABBITMQ_IO_THREAD_POOL_SIZE":        "", "RABBITMQ_ERLANG_COOKIE": "", "RABBITMQ_USE_LONGNAME": "", "RABBITMQ_DIST_PORT": "",
	"RABBITMQ_PRODUCT_NAME": "", "RABBITMQ_PRODUCT_VERSION": "", "RABBITMQ_FEATURE_FLAGS": "", "RABBITMQ_MOTD_FILE": "", "RABBITMQ_HOME": "",
	"RABBITMQ_PLUGINS_DIR": "", "RABBITMQ_QUORUM_DIR": "", "RABBITMQ_STREAM_DIR": "", "RABBITMQ_VERSION": "",
}

// assignments are what the environment sets.
func (e *environment) assignments() (all []assignment, mistakes []error) {
	for _, v := range variables {
		value, ok := e.look(v.name)
		if !ok || value == "" {
			continue
		}
		if strings.HasSuffix(v.name, "_FILE") && v.key != "pid_file" && v.key != "load_definitions" {
			text, err := os.ReadFile(value)
			if err != nil {
				mistakes = append(mistakes, fmt.Errorf("%s: %w", e.at(v.name), err))
				continue
			}
			value = strings.TrimRight(string(text), "\r\n")
		}
		all = append(all, assign(v.key, value, e.at(v.name)))
	}
	all = append(all, e.listeners()...)
	all = append(all, e.watermark()...)
	all = append(all, e.log()...)
	all = append(all, e.own()...)
	for _, name := range slices.Sorted(maps.Keys(idle)) {
		if value := e.values[name]; value != "" && idle[name] != "" {
			e.warn(name, "%s%s", idle[name], erlangKeys(value))
		}
	}
	return all, mistakes
}

// listeners are those that ports and certificates ask for.
func (e *environment) listeners() (all []assignment) {
	port, ip := e.values["RABBITMQ_NODE_PORT"], e.values["RABBITMQ_NODE_IP_ADDRESS"]
	if ip == "auto" {
		ip = ""
	}
	if port != "" || ip != "" {
		name := "RABBITMQ_NODE_PORT"
		if port == "" {
			port, name = "5672", "RABBITMQ_NODE_IP_ADDRESS"
		}
		if strings.Contains(ip, ":") {
			ip = "[" + ip + "]"
		}
		all = append(all, assign("listeners.tcp.default", ip+":"+port, e.at(name)))
	}
	if e.values["RABBITMQ_SSL_CERTFILE"] != "" {
		all = append(all, assign("listeners.ssl.default", "5671", e.at("RABBITMQ_SSL_CERTFILE")))
	}
	if e.values["RABBITMQ_MANAGEMENT_SSL_CERTFILE"] != "" {
		all = append(all, assign("management.ssl.port", "15671", e.at("RABBITMQ_MANAGEMENT_SSL_CERTFILE")))
	}
	return all
}

// watermark is a share, a percentage or a number of bytes.
func (e *environment) watermark() []assignment {
	const name = "RABBITMQ_VM_MEMORY_HIGH_WATERMARK"
	value := e.values[name]
	if value == "" {
		return nil
	}
	if percent, ok := strings.CutSuffix(value, "%"); ok {
		return []assignment{assign("vm_memory_high_watermark.relative", "0."+fmt.Sprintf("%02s", percent), e.at(name))}
	}
	if strings.HasPrefix(value, "0.") || value == "1.0" {
		return []assignment{assign("vm_memory_high_watermark.relative", value, e.at(name))}
	}
	return []assignment{assign("vm_memory_high_watermark.absolute", value, e.at(name))}
}

// log reads RABBITMQ_LOGS, a file or - for the console, and RABBITMQ_LOG, such as "debug,connection=info,+color".
func (e *environment) log() (all []assignment) {
	switch to := e.values["RABBITMQ_LOGS"]; to {
	case "":
	case "-", "-stderr":
		all = append(all, assign("log.console", "true", e.at("RABBITMQ_LOGS")), assign("log.file", "false", e.at("RABBITMQ_LOGS")))
	default:
		all = append(all, assign("log.console", "false", e.at("RABBITMQ_LOGS")), assign("log.file", to, e.at("RABBITMQ_LOGS")))
	}
	for word := range strings.SplitSeq(e.values["RABBITMQ_LOG"], ",") {
		word = strings.TrimSpace(word)
		at := e.at("RABBITMQ_LOG")
		category, level, ok := strings.Cut(word, "=")
		switch {
		case word == "" || word[0] == '+' || word[0] == '-':
			if word == "+json" || word == "-json" {
				form := map[string]string{"+json": "json", "-json": "plaintext"}[word]
				all = append(all, assign("log.console.formatter", form, at), assign("log.file.formatter", form, at))
			}
		case ok:
			all = append(all, assign("log."+category+".level", level, at))
		default:
			all = append(all, assign("log.console.level", word, at), assign("log.file.level", word, at))
		}
	}
	return all
}

// own are the options of the command line as variables: --disk_free_limit.absolute is
// BARTLEBY_DISK_FREE_LIMIT_ABSOLUTE.
func (e *environment) own() (all []assignment) {
	for i := range keys {
		if keys[i].usage == "" {
			continue
		}
		name := "BARTLEBY_" + strings.NewReplacer(".", "_", "-", "_").Replace(strings.ToUpper(keys[i].name))
		if value, ok := e.look(name); ok && !isURL(value) {
			all = append(all, assign(keys[i].name, value, e.at(name)))
		}
	}
	return all
}

// isURL reports whether a value is the address of a broker that the command line shall ask, which BARTLEBY_MANAGEMENT
// names, and not one to listen on.
func isURL(value string) bool {
	return strings.HasPrefix(value, "http://") || strings.HasPrefix(value, "https://")
}

// erlangKeys names the keys for what "-rabbit key value" sets.
func erlangKeys(args string) string {
	fields := strings.Fields(args)
	var known []string
	for i := 0; i+1 < len(fields); i++ {
		if fields[i] != "-rabbit" {
			continue
		}
		name := fields[i+1]
		if key := advancedNames[name]; key != "" {
			known = append(known, key)
		} else if k, _ := find(name); k != nil {
			known = append(known, name)
		}
	}
	if len(known) == 0 {
		return ""
	}
	return "; set in the configuration file: " + strings.Join(known, ", ")
}

// builtIn are the plugins whose work is part of this broker.
var builtIn = []string{
	"rabbitmq_management", "rabbitmq_management_agent", "rabbitmq_web_dispatch", "rabbitmq_prometheus", "rabbitmq_delayed_message_exchange",
	"rabbitmq_consistent_hash_exchange", "rabbitmq_auth_mechanism_ssl", "rabbitmq_random_exchange", "rabbitmq_sharding",
}

// readPlugins tells of plugins that are asked for and whose work nobody does here: enabled_plugins is a list of Erlang,
// [a,b].
func (s *Settings) readPlugins(e *environment, usual []string) {
	at, text := "environment RABBITMQ_ENABLED_PLUGINS", e.values["RABBITMQ_ENABLED_PLUGINS"]
	if text == "" {
		at, text = "environment RABBITMQ_PLUGINS", e.values["RABBITMQ_PLUGINS"]
	}
	if text == "" {
		path := e.values["RABBITMQ_ENABLED_PLUGINS_FILE"]
		if dir := usualDir(usual); path == "" && dir != "" {
			path = filepath.Join(dir, "enabled_plugins")
		}
		list, err := os.ReadFile(path)
		if err != nil {
			return
		}
		at, text = path, string(list)
	}
	var unknown []string
	for _, name := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune("[],. \t\r\n", r) }) {
		if !slices.Contains(builtIn, name) {
			unknown = append(unknown, name)
		}
	}
	if len(unknown) > 0 {
		s.note(slog.LevelWarn, "%s: these plugins are not supported: %s", at, strings.Join(unknown, ", "))
	}
}
