package config

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/bartleby-mq/bartleby"
	"github.com/bartleby-mq/bartleby/internal/logging"
)

// Settings is all that was configured.
type Settings struct {
	Broker bartleby.Config // but for Log
	Log    logging.Options

	PIDFile string // gets the number of the process; empty: none

	MOTDFile string // is shown when the broker has started; empty: none

	LogToStdout bool // the console is the standard output, not the standard error

	Shown []Setting // what is in force, by key
	Notes []Note    // what the log should be told
	Files []string  // that were read

	listen     listen
	newVHosts  newVHosts
	tls        struct{ amqp, management, prometheus security }
	mechanisms entries
	origins    entries
	validator  struct { // of passwords
		by        string // one of validators
		lengthMin int
		pattern   *regexp.Regexp
	}
	tagged  bool // the configuration names tags of the first user
	logDir  string
	logFile string
	strict  bool
}

// Setting is a value that is in force.
type Setting struct {
	Key, Value string // as one would write them; secrets are left out
	Origin     string // file:line, environment NAME, option --name, default
}

// Note is something to be said once there is a log.
type Note struct {
	Level slog.Level
	Text  string
}

// The ports, as RabbitMQ has them.
const (
	usualAMQP, usualManagement, usualPrometheus = ":5672", "15672", "15692"
	usualManagementTLS, usualPrometheusTLS      = "15671", "15691"
)

// listen is the addresses of the listeners.
type listen struct {
	amqp, management, prometheus string // of our own keys, which win
	tcp, ssl                     places
	managementTCP, managementTLS place
	prometheusTCP, prometheusTLS place
	managementOld                place
	managementOldTLS             bool
}

// unnamed is the listener that is there unless one is named.
const unnamed = ""

// newSettings is what holds where nothing is said.
func newSettings() *Settings {
	s := &Settings{Broker: bartleby.Config{Alone: true, Data: "./bartleby-data", Sync: "always"}, strict: true}
	s.Broker.Clients, s.Broker.First = bartleby.DefaultClients(), bartleby.DefaultFirst()
	s.Log.Levels = map[string]slog.Level{}
	s.listen.tcp, s.listen.ssl = places{unnamed: usualAMQP}, places{}
	for _, of := range []*security{&s.tls.amqp, &s.tls.management, &s.tls.prometheus} {
		of.tls.Depth = -1
	}
	return s
}

// apply puts assignments into force, in order, and reports all that cannot be.
func (s *Settings) apply(all []assignment) error {
	var mistakes []error
	last := map[string]int{}
	for i, a := range all {
		last[a.key] = i
		if a.key == "config.strict" && a.value == "false" {
			s.strict = false
		}
	}
	var silent []string
	missed := map[string][]string{} // keys by what is to be said of them
	for i, a := range all {
		k, names := find(a.key)
		if a.joined {
			s.note(slog.LevelWarn, "%s: %s: the # is part of the value: RabbitMQ would end the value before it; "+
				"put the value in quotes if the # is part of it, or a space before the # if a comment starts there", a.at, a.key)
		}
		switch {
		case k == nil:
			mistakes = append(mistakes, s.unknown(a))
			continue
		case strings.HasPrefix(a.value, "encrypted:"):
			mistakes = append(mistakes, fmt.Errorf("%s: %s: encrypted values are not supported: put the secret into an environment variable and write $(NAME)", a.at, a.key))
			continue
		case k.set != nil:
			if err := k.set(s, names, a.value); err != nil {
				mistakes = append(mistakes, fmt.Errorf("%s: %s: %w", a.at, a.key, err))
			}
		case i < last[a.key]: // once is enough
			continue
		case k.loud && !slices.Contains([]string{"false", "none", "infinity", "undefined"}, a.value):
			missed[k.why] = append(missed[k.why], fmt.Sprintf("%s (%s)", a.key, a.at))
		default:
			silent = append(silent, a.key)
		}
		if i == last[a.key] {
			value := a.value
			if k.secret {
				value = "<secret>"
			}
			s.Shown = append(s.Shown, Setting{a.key, value, a.at})
		}
	}
	for _, why := range slices.Sorted(maps.Keys(missed)) {
		s.note(slog.LevelWarn, "without effect: %s: %s", strings.Join(missed[why], ", "), why)
	}
	if len(silent) > 0 {
		s.note(slog.LevelInfo, "RabbitMQ keys without effect: %s", strings.Join(silent, ", "))
	}
	return errors.Join(mistakes...)
}

func (s *Settings) note(level slog.Level, format string, args ...any) {
	s.Notes = append(s.Notes, Note{level, fmt.Sprintf(format, args...)})
}

// unknown is the answer to a key that does not exist: a mistake, unless the configuration is not strict.
func (s *Settings) unknown(a assignment) error {
	text := fmt.Sprintf("%s: unknown key %q", a.at, a.key)
	if near := nearest(a.key); near != "" {
		text += fmt.Sprintf(", did you mean %q?", near)
	}
	if s.strict {
		return errors.New(text)
	}
	s.note(slog.LevelWarn, "%s", text)
	return nil
}

// find looks a key up, and what its variable parts are. The most particular one counts: RabbitMQ's "mqtt.listeners.tcp"
// before its "mqtt.**".
func find(name string) (found *key, names []string) {
	parts := strings.Split(name, ".")
	best := -1
	for i := range keys {
		if score, of := keys[i].match(parts); score > best {
			found, names, best = &keys[i], of, score
		}
	}
	return found, names
}

// match compares part by part: -1 if the key is another, else the higher the more particular.
func (k *key) match(parts []string) (score int, names []string) {
	pattern := strings.Split(k.name, ".")
	for i, p := range pattern {
		switch {
		case strings.HasSuffix(p, "**"):
			if i >= len(parts) || !strings.HasPrefix(parts[i], p[:len(p)-2]) {
				return -1, nil
			}
			return score, names
		case i >= len(parts) || parts[i] == "":
			return -1, nil
		case p[0] == '$':
			names = append(names, parts[i])
			score += 2
		case p != parts[i]:
			return -1, nil
		default:
			score += 3
		}
	}
	if len(pattern) != len(parts) {
		return -1, nil
	}
	return score + 1, names
}

// finish makes whole what several keys say together.
func (s *Settings) finish() error {
	b, l := &s.Broker, &s.listen
	b.AMQP, b.AMQPS = l.tcp.join(), l.ssl.join()
	if s.isSet("listen") {
		b.AMQP = l.amqp
	}
	if s.tls.management.tls.CertFile != "" && l.managementTLS == (place{}) && !l.managementOldTLS {
		l.managementTLS.port = usualManagementTLS
	}
	if s.tls.prometheus.tls.CertFile != "" && l.prometheusTLS == (place{}) {
		l.prometheusTLS.port = usualPrometheusTLS
	}
	if old := (place{}); l.managementOld != old {
		if l.managementOldTLS {
			l.managementTLS = l.managementOld
		} else {
			l.managementTCP = l.managementOld
		}
	}
	b.Management, b.ManagementHTTPS = pair(l.managementTCP, l.managementTLS, usualManagement, usualManagementTLS)
	if s.isSet("management") {
		b.Management = l.management
	}
	b.Prometheus, b.PrometheusHTTPS = pair(l.prometheusTCP, l.prometheusTLS, usualPrometheus, usualPrometheusTLS)
	if s.isSet("prometheus") {
		b.Prometheus = l.prometheus
	}
	b.TLS, b.ManagementTLS, b.PrometheusTLS = s.tls.amqp.options(), s.tls.management.options(), s.tls.prometheus.options()
	b.Web.CORSOrigins = s.origins.inOrder()
	if m := s.mechanisms.inOrder(); m != nil {
		b.Clients.Mechanisms = m
	}
	switch s.validator.by {
	case byLength:
		b.Passwords.LengthMin = s.validator.lengthMin
	case byPattern:
		b.Passwords.Pattern = s.validator.pattern
	}
	s.Log.File = s.logPath()
	return errors.Join(s.newVHosts.into(&b.NewVHosts), s.check())
}

// logPath is where the log's file is, empty without one. Who names a directory wants a file in it, as with RabbitMQ,
// which always writes one; other keys of the file alone have no effect, and are told of.
func (s *Settings) logPath() string {
	file := s.logFile
	if file == "" && s.logDir != "" {
		file = "true"
	}
	switch file {
	case "":
		for _, key := range []string{"level", "formatter", "rotation.size", "rotation.count"} {
			at := s.origin("log.file." + key)
			if at != "" && at != s.origin("log.console."+key) { // RABBITMQ_LOG sets both, whichever there are
				s.note(slog.LevelWarn, "%s: log.file.%s has no effect: no log file is configured; set log.dir or log.file", at, key)
			}
		}
		return ""
	case "false":
		return ""
	case "true":
		file = cmp.Or(s.Broker.NodeName, bartleby.NodeName()) + ".log"
	}
	if filepath.IsAbs(file) {
		return file
	}
	return filepath.Join(s.logDir, file)
}

// check finds what is wrong only together.
func (s *Settings) check() error {
	var mistakes []error
	b := &s.Broker
	for _, of := range []struct {
		addresses, prefix string
		tls               *bartleby.TLS
	}{{b.AMQPS, "ssl_options", &b.TLS}, {b.ManagementHTTPS, "management.ssl", &b.ManagementTLS}, {b.PrometheusHTTPS, "prometheus.ssl", &b.PrometheusTLS}} {
		if of.addresses == "" {
			s.noteVersions(of.prefix, of.tls.Versions)
			continue
		}
		if err := of.tls.Check(); err != nil {
			mistakes = append(mistakes, fmt.Errorf("%s: %w", of.prefix, err))
		}
	}
	for _, m := range b.Clients.Mechanisms {
		if !slices.Contains(bartleby.Mechanisms(), m) {
			mistakes = append(mistakes, fmt.Errorf("%s: auth_mechanisms: %q is not supported: %s are",
				s.origin("auth_mechanisms."), m, strings.Join(bartleby.Mechanisms(), ", ")))
		}
	}
	if s.validator.by == byPattern && s.validator.pattern == nil {
		mistakes = append(mistakes, fmt.Errorf("%s: credential_validator.regexp is missing", s.origin("credential_validator.validation_backend")))
	}
	if b.First.User != "" && b.First.VHost == "" {
		mistakes = append(mistakes, fmt.Errorf("%s: default_vhost: the name is empty", s.origin("default_vhost")))
	}
	if s.isSet("default_user") && !s.isSet("default_pass") && b.First.User != "guest" {
		s.note(slog.LevelWarn, "%s: default_user is set and default_pass is not: the password is guest", s.origin("default_user"))
	}
	for key, pattern := range map[string]string{"configure": b.First.Configure, "read": b.First.Read, "write": b.First.Write} {
		if _, err := regexp.Compile(pattern); err != nil {
			mistakes = append(mistakes, fmt.Errorf("%s: default_permissions.%s: %w", s.origin("default_permissions."+key), key, err))
		}
	}
	if err := b.CheckLimits(); err != nil {
		limit, _, _ := strings.Cut(err.Error(), " ")
		mistakes = append(mistakes, fmt.Errorf("%s: %w", s.origin(limit+"."), err))
	}
	if p := b.Web.PathPrefix; p != "" && p[0] != '/' {
		mistakes = append(mistakes, fmt.Errorf("%s: management.path_prefix: %q does not begin with /", s.origin("management.path_prefix"), p))
	}
	if p := b.Metrics.Path; p != "" && p[0] != '/' {
		mistakes = append(mistakes, fmt.Errorf("%s: prometheus.path: %q does not begin with /", s.origin("prometheus.path"), p))
	}
	return errors.Join(mistakes...)
}

// checkFiles finds what is named and not there.
func (s *Settings) checkFiles() error {
	if path := s.Broker.LoadDefinitions; path != "" {
		if _, err := os.Stat(path); err != nil {
			return fmt.Errorf("%s: load_definitions: %w", cmp.Or(s.origin("load_definitions"), s.origin("management.load_definitions")), err)
		}
	}
	return nil
}

// noteVersions tells of versions of TLS that would be refused if there were a listener for them.
func (s *Settings) noteVersions(prefix string, versions []string) {
	for _, v := range versions {
		if v != "tlsv1.2" && v != "tlsv1.3" {
			s.note(slog.LevelWarn, "%s: %s.versions: %q is not supported: use tlsv1.2 or tlsv1.3; no listener uses it", s.origin(prefix+".versions."), prefix, v)
		}
	}
}

// isSet reports whether a source has said something of a key.
func (s *Settings) isSet(key string) bool { return s.origin(key) != "" }

// origin is where a key, or the first of those that begin so, was set.
func (s *Settings) origin(key string) string {
	for _, one := range s.Shown {
		if one.Key == key || strings.HasSuffix(key, ".") && strings.HasPrefix(one.Key, key) {
			return one.Origin
		}
	}
	return ""
}

// join lists where a protocol listens, by the names of the listeners.
func (p places) join() string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(p)) {
		all = append(all, p[name])
	}
	return strings.Join(all, ",")
}

// pair says where the two listeners of a page are: who sets up TLS alone does not want the other.
// Source: RabbitMQ management, listeners.
func pair(tcp, tls place, usual, usualTLS string) (plain, secure string) {
	if tls != (place{}) {
		secure = tls.address(usualTLS)
		if tcp == (place{}) {
			return "", secure
		}
	}
	return tcp.address(usual), secure
}

// complete adds what holds by default, and sorts.
func (s *Settings) complete() {
	for i := range keys {
		if k := &keys[i]; k.normal != "" && !s.isSet(k.name) && !strings.Contains(k.name, ".ssl") && !strings.Contains(k.name, "ssl_o") {
			s.Shown = append(s.Shown, Setting{k.name, k.normal, "default"})
		}
	}
	slices.SortFunc(s.Shown, func(a, b Setting) int { return cmp.Compare(a.Key, b.Key) })
}

// Text is what is in force, as a configuration file with the origin of each line. Secrets are left out.
func (s *Settings) Text() string {
	var b strings.Builder
	for _, one := range s.Shown {
		value := one.Value
		if value == "" || strings.ContainsAny(value, "#'\"\\") || strings.TrimSpace(value) != value {
			quote := "'"
			if strings.Contains(value, quote) {
				quote = `"`
			}
			value = quote + value + quote
		}
		fmt.Fprintf(&b, "%-50s # %s\n", one.Key+" = "+value, one.Origin)
	}
	return b.String()
}
