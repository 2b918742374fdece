package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// words are what was typed, taken apart: options may stand anywhere.
type words struct {
	args    []string          // the command and its arguments
	options map[string]string // by long name, dashes inside; a switch has the value "true"
	order   []string          // the names as they came
	letters []string          // names of options that were typed as a letter
}

// meant puts the option that a command takes in the place of another one of the same letter.
func (w *words) meant(takes func(name string) bool) {
	for _, name := range w.letters {
		typed, _ := findOption(func(o option) bool { return o.name == name })
		other, found := findOption(func(o option) bool { return o.short == typed.short && takes(o.name) })
		if typed.global || !found || takes(name) {
			continue
		}
		w.options[other.name] = w.options[name]
		delete(w.options, name)
		w.order[slices.Index(w.order, name)] = other.name
	}
}

func (w words) get(name string) (value string, ok bool) {
	value, ok = w.options[name]
	return value, ok
}

func (w words) or(name, otherwise string) string {
	if value, ok := w.options[name]; ok {
		return value
	}
	return otherwise
}

func (w words) on(name string) bool { return w.options[name] == "true" }

// An option is known to every command if it is global, else to those that list it.
type option struct {
	name   string
	short  string // one letter
	value  string // what the value is, "" for a switch
	about  string // for help; "" if it is accepted for scripts' sake, without effect
	global bool
}

func (o option) valued() bool { return o.value != "" }

// options lists every option there is. Source: RabbitMQ rabbitmqctl(8), OPTIONS.
func options() []option {
	return []option{
		{name: "node", short: "n", value: "node", global: true, about: "address of the broker: http://host:port, https://host:port, host, or name@host; default: this machine"},
		{name: "username", value: "username", global: true, about: "user name, with --password; default: the secret of the data directory, or guest"},
		{name: "password", value: "password", global: true, about: "password of --username"},
		{name: "data", value: "directory", global: true, about: "data directory of the broker, which contains its secret"},
		{name: "cacert", value: "file", global: true, about: "trusted CA certificates in PEM, in addition to those of the system"},
		{name: "insecure", short: "k", global: true, about: "trust any certificate"},
		{name: "vhost", short: "p", value: "vhost", global: true, about: "virtual host; default: /"},
		{name: "quiet", short: "q", global: true, about: "do not print progress messages"},
		{name: "silent", short: "s", global: true, about: "print neither progress messages nor table headers"},
		{name: "timeout", short: "t", value: "seconds", global: true, about: "timeout of the command"},
		{name: "formatter", value: "formatter", global: true, about: "output format: " + strings.Join(formatters(), ", ")},
		{name: "no-table-headers", global: true, about: "do not print table headers"},
		{name: "help", short: "?", global: true, about: "print help"},
		{name: "version", global: true, about: "print the version"},
		{name: "aliases-file", value: "file", global: true, about: "file with lines of the form 'alias = command arguments'"},
		{name: "dry-run", global: true, about: "only check the arguments; for policies and dead letters, show what would happen"},

		{name: "longnames", short: "l", global: true},
		{name: "erlang-cookie", value: "cookie", global: true},
		{name: "print-stacktrace", global: true},
		{name: "script-name", value: "name", global: true},
		{name: "data-dir", value: "directory", global: true},
		{name: "plugins-dir", value: "directory", global: true},
		{name: "enabled-plugins-file", value: "file", global: true},
		{name: "rabbitmq-home", value: "directory", global: true},
		{name: "mnesia-dir", value: "directory", global: true},

		{name: "priority", value: "priority", about: "the matching policy with the highest priority applies; default: 0"},
		{name: "apply-to", value: "apply-to", about: strings.Join(appliesTo(), ", ")},
		{name: "object-type", value: "type", about: "queue or exchange"},
		{name: "description", value: "description", about: "description"},
		{name: "tags", value: "tag,...", about: "comma-separated tags"},
		{name: "default-queue-type", value: "type", about: "default queue type: classic or quorum"},
		{name: "pre-hashed-password", about: "the password is a salted hash printed by hash_password"},
		{name: "if-empty", short: "e", about: "fail if the queue is not empty"},
		{name: "if-unused", short: "u", about: "fail if it is in use"},
		{name: "force"},
		{name: "online", about: "only running ones: all"}, {name: "offline", about: "only stopped ones: none"}, {name: "local", about: "only those on this node: all"},
		{name: "all", about: "all of them"}, {name: "used", about: "only those in use"}, {name: "global", about: "for all users or virtual hosts"},
		{name: "user", value: "username", about: "only this user"},
		{name: "verbose", short: "v", about: "print more details"}, {name: "minimal", short: "m", about: "names only"},
		{name: "enabled", short: "E", about: "only explicitly enabled ones"}, {name: "implicitly-enabled", short: "e", about: "only enabled ones, including dependencies"},
		{name: "address", value: "address", about: "address to connect to"},
		{name: "address-family", value: "family", about: "IPv4 or IPv6"},
		{name: "cause", value: "cause", about: "no_exchange, no_route, cycle, refused, hops, …"},
		{name: "limit", value: "number", about: "maximum number of results"},
		{name: "severity", value: "severity", about: "minimum severity: error, warning or note"},
		{name: "fail-on", value: "severity", about: "exit code 1 if there is a finding of at least this severity"},
		{name: "event", value: "event", about: "event: reject, expire, overflow, …"},
		{name: "exchange", value: "exchange", about: "exchange to publish to"}, {name: "routing-key", value: "key", about: "the routing key"},
		{name: "message-id", value: "id", about: "message with this message_id property"}, {name: "header", value: "name:value", about: "messages with this header; the value is a string, a number, true or false"},
		{name: "from", value: "instant", about: "messages due at this time or later"}, {name: "until", value: "instant", about: "messages due before this time"},
		{name: "at", value: "instant", about: "absolute time; a time in the past fires immediately"}, {name: "in", value: "time", about: "time from now: milliseconds, or 90s, 15m, 12h, 30d"},
		{name: "key", value: "key", about: "message scheduled under this key"},
		{name: "where", value: "filter", about: "messages that match a filter, such as 'reason:expired age:>1h header.tenant:acme'; see docs/filters.md"},
		{name: "lost", about: "the lost letters"}, {name: "queue", value: "queue", about: "queue to read from or publish to"}, {name: "newest", about: "newest first"},
		{name: "by", value: "what", about: "reason (default), source, queue, exchange, key, cause, exception or header:NAME; for scheduled messages minute, hour, day, week, or a time such as 15m"},
		{name: "id", value: "id", about: "show the message with this id"},
		{name: "to", value: "target", about: "origin: where it was first published; queue: where it first died; queue:NAME; exchange:NAME, exchange:NAME/KEY; on: the original destination of lost letters"},
		{name: "rate", value: "number", about: "messages per second"}, {name: "max", value: "number", about: "maximum number of messages"},
		{name: "canary", value: "number", about: "send this many first, then watch whether they die again"}, {name: "ramp", about: "send ten times as many after each watch"},
		{name: "watch", value: "time", about: "duration of a watch: milliseconds, or 90s, 15m; default: 10s"},
		{name: "range", value: "range", about: "time range: 1m, 10m, 1h, 8h or 24h"},
		{name: "stop-percent", value: "number", about: "stop if more than this percentage dies again"},
		{name: "stop-without-consumer", about: "stop if a target queue has no consumers"},
		{name: "strip-deaths", about: "remove the x-death header"}, {name: "drop-expiration", about: "remove the publisher's expiration"},
		{name: "wait", about: "wait for the end and print progress"}, {name: "yes", short: "y", about: "do not ask for confirmation"},
		{name: "payload", value: "file", about: "file with the new payload, or - for standard input"}, {name: "properties", value: "file", about: "file with all new properties, including headers, as a JSON object"},
		{name: "keep", about: "keep the original"},
		{name: "once", about: "skip messages that are already in the queue"}, {name: "origin", about: "publish each message where it was first published"},
		{name: "unit", value: "unit", about: "bytes, kb, mb, gb; for certificates days, weeks (default), months, years"},
		{name: "within", value: "number", about: "time from now, in --unit; default: 4"},
		{name: "tar", value: "file", about: "local file, or - for standard output"},
		{name: "format", value: "format", about: "json"},
		{name: "skip-if-unchanged", about: "no effect: imports are idempotent"},
		{name: "per-connection-delay", value: "ms", about: "delay between two connections"},
		{name: "pid", value: "pid", about: "process id of the broker"},
		{name: "no-wait", about: "do not wait until the broker has stopped"},
		{name: "idempotent"}, {name: "opt-in"}, {name: "experimental"}, {name: "disc"}, {name: "ram"}, {name: "details"}, {name: "errors-only"}, {name: "by-source"},
		{name: "number", short: "N", value: "number"}, {name: "duration", short: "d", value: "seconds"}, {name: "pattern", value: "pattern"},
		{name: "vhost-pattern", value: "pattern"}, {name: "queue-pattern", value: "pattern"}, {name: "membership", value: "membership"},
	}
}

// appliesTo are the kinds of objects that a policy may be for. Source: RabbitMQ policies.
func appliesTo() []string {
	return []string{"all", "queues", "classic_queues", "quorum_queues", "streams", "exchanges"}
}

func findOption(match func(option) bool) (option, bool) {
	for _, o := range options() {
		if match(o) {
			return o, true
		}
	}
	return option{}, false
}

func isGlobal(name string) bool {
	o, _ := findOption(func(o option) bool { return o.name == name })
	return o.global
}

// parse takes the words apart; a negative number is an argument. On error what could be read is there all the same, the command most of all.
func parse(typed []string) (words, error) {
	w := words{options: map[string]string{}}
	var errs []string
	for i := 0; i < len(typed); i++ {
		word := typed[i]
		if word == "--" {
			w.args = append(w.args, typed[i+1:]...)
			break
		}
		if len(word) < 2 || word[0] != '-' || '0' <= word[1] && word[1] <= '9' {
			w.args = append(w.args, word)
			continue
		}
		o, value, glued, ok := readOption(word)
		switch {
		case !ok:
			errs = append(errs, word+" : ")
			continue
		case o.valued() && !glued:
			if i++; i == len(typed) {
				errs = append(errs, word+" : needs a value")
				continue
			}
			value = typed[i]
		case !o.valued() && !glued:
			value = "true"
		}
		w.options[o.name] = value
		w.order = append(w.order, o.name)
		if word[1] != '-' {
			w.letters = append(w.letters, o.name)
		}
	}
	if len(errs) > 0 {
		return w, errors.New("Invalid options for this command:\n" + strings.Join(errs, "\n"))
	}
	return w, nil
}

// readOption understands --name, --name=value, --some_name, -x and -xvalue.
func readOption(word string) (o option, value string, glued, ok bool) {
	if !strings.HasPrefix(word, "--") {
		o, ok = findOption(func(o option) bool { return o.short != "" && o.short == word[1:2] })
		value, glued = word[2:], len(word) > 2
		value = strings.TrimPrefix(value, "=")
		if glued && !o.valued() {
			return o, "", false, false
		}
		return o, value, glued, ok
	}
	name, value, glued := strings.Cut(word[2:], "=")
	name = strings.ReplaceAll(name, "_", "-")
	o, ok = findOption(func(o option) bool { return o.name == name })
	if glued && !o.valued() && value != "true" && value != "false" {
		return o, "", false, false
	}
	return o, value, glued, ok
}

// quote writes a word so that the user's shell hands it over unchanged.
func quote(word string, windows bool) string {
	plain := word != ""
	for _, r := range word {
		if !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("-_./:=@,", r)) {
			plain = false
		}
	}
	switch {
	case plain:
		return word
	case windows:
		return `"` + strings.ReplaceAll(word, `"`, `""`) + `"`
	}
	return fmt.Sprintf("'%s'", strings.ReplaceAll(word, "'", `'\''`))
}
