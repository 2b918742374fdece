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
		{name: "node", short: "n", value: "node", global: true, about: "the broker: http://host:port, https://host:port, host, or name@host; without it, that of this machine"},
		{name: "username", value: "username", global: true, about: "who asks, with --password; without it, the secret of the data directory, or else guest"},
		{name: "password", value: "password", global: true, about: "of --username"},
		{name: "data", value: "directory", global: true, about: "the broker's data directory, in which its secret is"},
		{name: "cacert", value: "file", global: true, about: "certificates that are trusted, in PEM, besides those of the system"},
		{name: "insecure", short: "k", global: true, about: "trust any certificate"},
		{name: "vhost", short: "p", value: "vhost", global: true, about: "the virtual host; without it, /"},
		{name: "quiet", short: "q", global: true, about: "no line about what is done"},
		{name: "silent", short: "s", global: true, about: "no such line, and no header of a table"},
		{name: "timeout", short: "t", value: "seconds", global: true, about: "how long the command may take"},
		{name: "formatter", value: "formatter", global: true, about: "the form of what is printed: " + strings.Join(formatters(), ", ")},
		{name: "no-table-headers", global: true, about: "no header of a table"},
		{name: "help", short: "?", global: true, about: "help with a command"},
		{name: "version", global: true, about: "the version"},
		{name: "aliases-file", value: "file", global: true, about: "lines of 'alias = command arguments'"},
		{name: "dry-run", global: true, about: "check the words and do nothing; with policies and letters, show what would happen"},

		{name: "longnames", short: "l", global: true},
		{name: "erlang-cookie", value: "cookie", global: true},
		{name: "print-stacktrace", global: true},
		{name: "script-name", value: "name", global: true},
		{name: "data-dir", value: "directory", global: true},
		{name: "plugins-dir", value: "directory", global: true},
		{name: "enabled-plugins-file", value: "file", global: true},
		{name: "rabbitmq-home", value: "directory", global: true},
		{name: "mnesia-dir", value: "directory", global: true},

		{name: "priority", value: "priority", about: "of several policies that match, that with the highest is in force; 0"},
		{name: "apply-to", value: "apply-to", about: strings.Join(appliesTo(), ", ")},
		{name: "object-type", value: "type", about: "queue or exchange"},
		{name: "description", value: "description", about: "a text for people"},
		{name: "tags", value: "tag,...", about: "words, with commas between"},
		{name: "default-queue-type", value: "type", about: "the type of queues that name none: classic or quorum"},
		{name: "pre-hashed-password", about: "the password is a salted hash, as hash_password prints it"},
		{name: "if-empty", short: "e", about: "refuse it if there are messages"},
		{name: "if-unused", short: "u", about: "refuse it if it is used"},
		{name: "force"},
		{name: "online", about: "those that are up: all"}, {name: "offline", about: "those that are down: none"}, {name: "local", about: "those of this node: all"},
		{name: "all", about: "all there are"}, {name: "used", about: "those in use"}, {name: "global", about: "of all"},
		{name: "user", value: "username", about: "of this user"},
		{name: "verbose", short: "v", about: "more of each"}, {name: "minimal", short: "m", about: "names only"},
		{name: "enabled", short: "E", about: "those enabled"}, {name: "implicitly-enabled", short: "e", about: "those enabled, also for the sake of others"},
		{name: "address", value: "address", about: "where to connect to"},
		{name: "address-family", value: "family", about: "IPv4 or IPv6"},
		{name: "cause", value: "cause", about: "no_exchange, no_route, cycle, refused, hops, …"},
		{name: "limit", value: "number", about: "so many at most"},
		{name: "severity", value: "severity", about: "error, warning, or note: those as bad at least"},
		{name: "fail-on", value: "severity", about: "exit code 1 if there is one as bad at least"},
		{name: "event", value: "event", about: "what happens: reject, expire, overflow, …"},
		{name: "exchange", value: "exchange", about: "another exchange"}, {name: "routing-key", value: "key", about: "the routing key"},
		{name: "message-id", value: "id", about: "the property of that name"}, {name: "header", value: "name:value", about: "a header: a string, a number, true or false"},
		{name: "from", value: "instant", about: "due then or later"}, {name: "until", value: "instant", about: "due before"},
		{name: "at", value: "instant", about: "then; what has passed is at once"}, {name: "in", value: "time", about: "from now on: milliseconds, or 90s, 15m, 12h, 30d"},
		{name: "key", value: "key", about: "the one that waits under this key"},
		{name: "where", value: "filter", about: "those that a filter finds, such as 'reason:expired age:>1h header.tenant:acme'; docs/filters.md has all of it"},
		{name: "lost", about: "the lost letters"}, {name: "queue", value: "queue", about: "of this queue, or into it"}, {name: "newest", about: "the newest first"},
		{name: "by", value: "what", about: "reason, source, queue, exchange, key, cause, exception or header:NAME; reason. Of scheduled messages minute, hour, day, week, or a time such as 15m"},
		{name: "id", value: "id", about: "this one, whole"},
		{name: "to", value: "target", about: "origin: where it was published first; queue: where it died first; queue:NAME; exchange:NAME, exchange:NAME/KEY; on: where lost letters were going"},
		{name: "rate", value: "number", about: "letters per second"}, {name: "max", value: "number", about: "so many at most"},
		{name: "canary", value: "number", about: "so many first; then it watches"}, {name: "ramp", about: "ten times as many after each watch"},
		{name: "watch", value: "time", about: "how long it watches: milliseconds, or 90s, 15m; 10s"},
		{name: "range", value: "range", about: "how far back: 1m, 10m, 1h, 8h or 24h"},
		{name: "stop-percent", value: "number", about: "stop when more than so many in a hundred die again"},
		{name: "stop-without-consumer", about: "stop before a queue that nobody consumes"},
		{name: "strip-deaths", about: "without x-death"}, {name: "drop-expiration", about: "without the publisher's expiration"},
		{name: "wait", about: "wait for the end, and tell how it goes"}, {name: "yes", short: "y", about: "ask nothing"},
		{name: "payload", value: "file", about: "the new payload, in a file, or - for standard input"}, {name: "properties", value: "file", about: "the new properties, headers among them, as an object in JSON: all of them"},
		{name: "keep", about: "beside the original, not in its place"},
		{name: "once", about: "leave out what the queue has already"}, {name: "origin", about: "each where it was published first"},
		{name: "unit", value: "unit", about: "bytes, kb, mb, gb; of certificates days, weeks, months, years"},
		{name: "within", value: "number", about: "how long from now"},
		{name: "tar", value: "file", about: "a file here, or - for standard output"},
		{name: "format", value: "format", about: "json"},
		{name: "skip-if-unchanged", about: "nothing is done twice anyway"},
		{name: "per-connection-delay", value: "ms", about: "how long to wait between two"},
		{name: "pid", value: "pid", about: "the number of the broker's process"},
		{name: "no-wait", about: "do not wait for the end"},
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
