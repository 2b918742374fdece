package command

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/cli/output"
)

// Options are what was typed, taken apart: options may stand anywhere.
type Options struct {
	Args   []string          // the command and its arguments
	values map[string]string // by long name, dashes inside; a switch has the value "true"
	order  []string          // the names as they came
	short  []string          // names of options that were typed as a character
}

// meant puts the option that a command takes in the place of another one of the same character.
func (o *Options) meant(takes func(name string) bool) {
	for _, name := range o.short {
		typed, _ := FindOption(func(known Option) bool { return known.Name == name })
		other, found := FindOption(func(other Option) bool { return other.Short == typed.Short && takes(other.Name) })
		if typed.Global || !found || takes(name) {
			continue
		}
		o.values[other.Name] = o.values[name]
		delete(o.values, name)
		o.order[slices.Index(o.order, name)] = other.Name
	}
}

// Get returns the value of an option; ok reports whether it was typed.
func (o Options) Get(name string) (value string, ok bool) {
	value, ok = o.values[name]
	return value, ok
}

// Set gives an option a value that was not typed.
func (o *Options) Set(name, value string) {
	if o.values == nil {
		o.values = map[string]string{}
	}
	o.values[name] = value
}

// Or is the value of an option, or otherwise if it was not typed.
func (o Options) Or(name, otherwise string) string {
	if value, ok := o.values[name]; ok {
		return value
	}
	return otherwise
}

// On reports whether a switch was typed.
func (o Options) On(name string) bool { return o.values[name] == "true" }

// An Option is known to every command if it is global, else to those that list it.
type Option struct {
	Name   string
	Short  string // one character
	Value  string // what the value is, "" for a switch
	About  string // for help; "" if it is accepted for scripts' sake, without effect
	Global bool
}

// Valued reports whether the option has a value; else it is a switch.
func (o Option) Valued() bool { return o.Value != "" }

// KnownOptions lists every option there is. Source: RabbitMQ rabbitmqctl(8), OPTIONS.
func KnownOptions() []Option {
	return []Option{
		{Name: "node", Short: "n", Value: "node", Global: true, About: "address of the broker: http://host:port, https://host:port, host, or name@host; default: this machine"},
		{Name: "username", Value: "username", Global: true, About: "user name, with --password; default: the secret of the data directory, or guest"},
		{Name: "password", Value: "password", Global: true, About: "password of --username"},
		{Name: "data", Value: "directory", Global: true, About: "data directory of the broker, which contains its secret"},
		{Name: "cacert", Value: "file", Global: true, About: "trusted CA certificates in PEM, in addition to those of the system"},
		{Name: "insecure", Short: "k", Global: true, About: "trust any certificate"},
		{Name: "vhost", Short: "p", Value: "vhost", Global: true, About: "virtual host; default: /"},
		{Name: "quiet", Short: "q", Global: true, About: "do not print progress messages"},
		{Name: "silent", Short: "s", Global: true, About: "print neither progress messages nor table headers"},
		{Name: "timeout", Short: "t", Value: "seconds", Global: true, About: "timeout of the command"},
		{Name: "formatter", Value: "formatter", Global: true, About: "output format: " + strings.Join(output.Formats(), ", ")},
		{Name: "no-table-headers", Global: true, About: "do not print table headers"},
		{Name: "help", Short: "?", Global: true, About: "print help"},
		{Name: "version", Global: true, About: "print the version"},
		{Name: "aliases-file", Value: "file", Global: true, About: "file with lines of the form 'alias = command arguments'"},
		{Name: "dry-run", Global: true, About: "only check the arguments; for policies, definitions and dead letters, show what would happen"},

		{Name: "longnames", Short: "l", Global: true},
		{Name: "erlang-cookie", Value: "cookie", Global: true},
		{Name: "print-stacktrace", Global: true},
		{Name: "script-name", Value: "name", Global: true},
		{Name: "data-dir", Value: "directory", Global: true},
		{Name: "plugins-dir", Value: "directory", Global: true},
		{Name: "enabled-plugins-file", Value: "file", Global: true},
		{Name: "rabbitmq-home", Value: "directory", Global: true},
		{Name: "mnesia-dir", Value: "directory", Global: true},

		{Name: "priority", Value: "priority", About: "the matching policy with the highest priority applies; default: 0"},
		{Name: "apply-to", Value: "apply-to", About: strings.Join(AppliesTo(), ", ")},
		{Name: "object-type", Value: "type", About: "queue or exchange"},
		{Name: "description", Value: "description", About: "description"},
		{Name: "tags", Value: "tag,...", About: "comma-separated tags"},
		{Name: "default-queue-type", Value: "type", About: "default queue type: classic or quorum"},
		{Name: "pre-hashed-password", About: "the password is a salted hash printed by hash_password"},
		{Name: "if-empty", Short: "e", About: "fail if the queue is not empty"},
		{Name: "if-unused", Short: "u", About: "fail if it is in use"},
		{Name: "force", About: "for redrives: send messages also to the queue where they are now"},
		{Name: "type", Value: "type", About: "of a queue: classic, quorum; of an exchange: direct, fanout, topic, headers, …"},
		{Name: "auto-delete", About: "delete it when the last consumer, or binding, is gone"},
		{Name: "internal", About: "clients cannot publish to it"},
		{Name: "arguments", Value: "json", About: "arguments as a JSON object"},
		{Name: "to-exchange", About: "bind an exchange, not a queue"},
		{Name: "ack", About: "remove the messages from the queue"},
		{Name: "online", About: "only running ones: all"}, {Name: "offline", About: "only stopped ones: none"}, {Name: "local", About: "only those on this node: all"},
		{Name: "all", About: "all of them"}, {Name: "used", About: "only those in use"}, {Name: "global", About: "for all users or virtual hosts"},
		{Name: "user", Value: "username", About: "only this user"},
		{Name: "verbose", Short: "v", About: "print more details"}, {Name: "minimal", Short: "m", About: "names only"},
		{Name: "enabled", Short: "E", About: "only explicitly enabled ones"}, {Name: "implicitly-enabled", Short: "e", About: "only enabled ones, including dependencies"},
		{Name: "address", Value: "address", About: "address to connect to"},
		{Name: "address-family", Value: "family", About: "IPv4 or IPv6"},
		{Name: "cause", Value: "cause", About: "no_exchange, no_route, cycle, refused, hops, …"},
		{Name: "limit", Value: "number", About: "maximum number of results"},
		{Name: "severity", Value: "severity", About: "minimum severity: error, warning or note"},
		{Name: "fail-on", Value: "severity", About: "exit code 1 if there is a finding of at least this severity"},
		{Name: "event", Value: "event", About: "event: reject, expire, overflow, …"},
		{Name: "exchange", Value: "exchange", About: "name of the exchange"}, {Name: "routing-key", Value: "key", About: "the routing key"},
		{Name: "message-id", Value: "id", About: "message with this message_id property"}, {Name: "header", Value: "name:value", About: "messages with this header; the value is a string, a number, true or false"},
		{Name: "from", Value: "time", About: "messages due at this time or later"}, {Name: "until", Value: "time", About: "messages due before this time"},
		{Name: "at", Value: "time", About: "absolute time; a time in the past fires immediately"}, {Name: "in", Value: "duration", About: "time from now, such as 90s, 15m, 12h or 30d"},
		{Name: "key", Value: "key", About: "message scheduled under this key"},
		{Name: "where", Value: "filter", About: "messages that match a filter, such as 'reason:expired age:>1h header.tenant:acme'; see docs/filters.md"},
		{Name: "lost", About: "the lost letters"}, {Name: "queue", Value: "queue", About: "queue to read from or publish to"}, {Name: "newest", About: "newest first"},
		{Name: "by", Value: "field", About: "reason (default), source, queue, exchange, key, cause, exception or header:NAME; for scheduled messages minute, hour, day, week, or a duration such as 15m"},
		{Name: "id", Value: "id", About: "show the message with this id"},
		{
			Name: "to", Value: "target", About: "queue: the queue where each message died (default); " +
				"origin: its first exchange and routing key; queue:NAME; exchange:NAME, or exchange:NAME/KEY if " +
				"neither has a slash (otherwise --exchange and --routing-key); on: the original destination of lost letters",
		},
		{Name: "rate", Value: "number", About: "messages per second"}, {Name: "max", Value: "number", About: "maximum number of messages"},
		{Name: "canary", Value: "number", About: "send this many first, then watch whether they die again"}, {Name: "ramp", About: "send ten times as many after each watch"},
		{Name: "watch", Value: "duration", About: "duration of a watch, such as 90s or 15m; default: 10s"},
		{Name: "range", Value: "range", About: "time range: 1m, 10m, 1h, 8h or 24h"},
		{Name: "stop-percent", Value: "number", About: "stop if more than this percentage dies again"},
		{Name: "stop-without-consumer", About: "stop if a target queue has no consumers"},
		{Name: "strip-deaths", About: "remove the x-death header"}, {Name: "drop-expiration", About: "remove the publisher's expiration"},
		{Name: "wait", About: "wait for the end and print progress"}, {Name: "yes", Short: "y", About: "do not ask for confirmation"},
		{Name: "payload", Value: "file", About: "file with the new payload, or - for standard input"},
		{Name: "payload-text", Value: "text", About: "the new payload"},
		{Name: "properties", Value: "properties", About: "all properties, including headers: a JSON object, or a file with one"},
		{Name: "keep", About: "keep the original"},
		{Name: "not", About: "mark the queue as no dead-letter queue"},
		{Name: "once", About: "skip messages that are already in the queue"}, {Name: "origin", About: "publish each message where it was first published"},
		{Name: "unit", Value: "unit", About: "bytes, kb, mb, gb; for certificates days, weeks (default), months, years"},
		{Name: "within", Value: "number", About: "time from now, in --unit; default: 4"},
		{Name: "tar", Value: "file", About: "local file, or - for standard output"},
		{Name: "format", Value: "format", About: "json"},
		{Name: "skip-if-unchanged", About: "no effect: imports are idempotent"},
		{Name: "per-connection-delay", Value: "ms", About: "delay between two connections"},
		{Name: "pid", Value: "pid", About: "process id of the broker"},
		{Name: "no-wait", About: "do not wait until the broker has stopped"},
		{Name: "idempotent"}, {Name: "opt-in"}, {Name: "experimental"}, {Name: "disc"}, {Name: "ram"}, {Name: "details"}, {Name: "errors-only"}, {Name: "by-source"},
		{Name: "number", Short: "N", Value: "number"}, {Name: "duration", Short: "d", Value: "seconds"}, {Name: "pattern", Value: "pattern"},
		{Name: "vhost-pattern", Value: "pattern"}, {Name: "queue-pattern", Value: "pattern"}, {Name: "membership", Value: "membership"},
	}
}

// AppliesTo are the kinds of objects that a policy may be for. Source: RabbitMQ policies.
func AppliesTo() []string {
	return []string{"all", "queues", "classic_queues", "quorum_queues", "streams", "exchanges"}
}

// FindOption returns the first option that matches.
func FindOption(match func(Option) bool) (Option, bool) {
	for _, o := range KnownOptions() {
		if match(o) {
			return o, true
		}
	}
	return Option{}, false
}

// IsGlobal reports whether an option is known to every command.
func IsGlobal(name string) bool {
	o, _ := FindOption(func(o Option) bool { return o.Name == name })
	return o.Global
}

// Parse takes the words apart; a negative number is an argument. On error what could be read is there all the same, the
// command most of all.
func Parse(typed []string) (Options, error) {
	w := Options{values: map[string]string{}}
	var errs, hints []string
	for i := 0; i < len(typed); i++ {
		word := typed[i]
		if word == "-h" { // RabbitMQ's tools have -? alone
			word = "--help"
		}
		if word == "--" {
			w.Args = append(w.Args, typed[i+1:]...)
			break
		}
		if len(word) < 2 || word[0] != '-' || '0' <= word[1] && word[1] <= '9' {
			w.Args = append(w.Args, word)
			continue
		}
		o, value, glued, ok := ReadOption(word)
		switch {
		case !ok:
			errs = append(errs, word+" : ")
			if name := nearestOption(word); name != "" {
				hints = append(hints, fmt.Sprintf("Did you mean '--%s'?", name))
			}
			continue
		case o.Valued() && !glued:
			if i++; i == len(typed) {
				errs = append(errs, word+" : needs a value")
				continue
			}
			value = typed[i]
		case !o.Valued() && !glued:
			value = "true"
		}
		w.values[o.Name] = value
		w.order = append(w.order, o.Name)
		if word[1] != '-' {
			w.short = append(w.short, o.Name)
		}
	}
	if len(errs) > 0 {
		return w, errors.New("Invalid options for this command:\n" + strings.Join(append(errs, hints...), "\n"))
	}
	return w, nil
}

// ReadOption understands --name, --name=value, --some_name, -x and -xvalue.
func ReadOption(word string) (o Option, value string, glued, ok bool) {
	if !strings.HasPrefix(word, "--") {
		o, ok = FindOption(func(o Option) bool { return o.Short != "" && o.Short == word[1:2] })
		value, glued = word[2:], len(word) > 2
		value = strings.TrimPrefix(value, "=")
		if glued && !o.Valued() {
			return o, "", false, false
		}
		return o, value, glued, ok
	}
	name, value, glued := strings.Cut(word[2:], "=")
	name = strings.ReplaceAll(name, "_", "-")
	o, ok = FindOption(func(o Option) bool { return o.Name == name })
	if glued && !o.Valued() && value != "true" && value != "false" {
		return o, "", false, false
	}
	return o, value, glued, ok
}

// nearestOption is the option that a word may stand for that is none, "" if it is like none of those with an effect.
func nearestOption(word string) string {
	name, _, _ := strings.Cut(strings.TrimLeft(word, "-"), "=")
	var names []string
	for _, o := range KnownOptions() {
		if o.About != "" && o.Name != name {
			names = append(names, o.Name)
		}
	}
	return Nearest(strings.ReplaceAll(name, "_", "-"), names)
}
