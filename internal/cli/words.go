package cli

import (
	"errors"
	"fmt"
	"strings"
)

// words are what was typed, taken apart: options may stand anywhere.
type words struct {
	args    []string          // the command and its arguments
	options map[string]string // by long name, dashes inside; a switch has the value "true"
	order   []string          // the names as they came
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
	valued bool
	global bool
}

// options lists every option there is. Those after the blank line are accepted for scripts' sake, without effect.
// Source: RabbitMQ rabbitmqctl(8), OPTIONS.
func options() []option {
	return []option{
		{name: "node", short: "n", valued: true, global: true},
		{name: "username", valued: true, global: true},
		{name: "password", valued: true, global: true},
		{name: "data", valued: true, global: true},
		{name: "vhost", short: "p", valued: true, global: true},
		{name: "quiet", short: "q", global: true},
		{name: "silent", short: "s", global: true},
		{name: "timeout", short: "t", valued: true, global: true},
		{name: "formatter", valued: true, global: true},
		{name: "no-table-headers", global: true},
		{name: "dry-run", global: true},
		{name: "help", short: "?", global: true},
		{name: "version", global: true},

		{name: "longnames", short: "l", global: true},
		{name: "erlang-cookie", valued: true, global: true},
		{name: "print-stacktrace", global: true},
		{name: "script-name", valued: true, global: true},
		{name: "aliases-file", valued: true, global: true},
		{name: "data-dir", valued: true, global: true},
		{name: "plugins-dir", valued: true, global: true},
		{name: "enabled-plugins-file", valued: true, global: true},
		{name: "rabbitmq-home", valued: true, global: true},
		{name: "mnesia-dir", valued: true, global: true},

		{name: "priority", valued: true},
		{name: "apply-to", valued: true},
		{name: "description", valued: true},
		{name: "tags", valued: true},
		{name: "default-queue-type", valued: true},
		{name: "pre-hashed-password"},
		{name: "if-empty", short: "e"},
		{name: "if-unused", short: "u"},
		{name: "force"},
		{name: "online"}, {name: "offline"}, {name: "local"}, {name: "all"},
		{name: "verbose", short: "v"}, {name: "minimal", short: "m"},
		{name: "enabled", short: "E"}, {name: "implicitly-enabled"},
		{name: "address", valued: true},
		{name: "cause", valued: true}, {name: "limit", valued: true},
		{name: "exchange", valued: true}, {name: "routing-key", valued: true},
		{name: "message-id", valued: true}, {name: "header", valued: true},
		{name: "from", valued: true}, {name: "until", valued: true},
		{name: "at", valued: true}, {name: "in", valued: true}, {name: "key", valued: true},
		{name: "unit", valued: true},
		{name: "tar", valued: true},
	}
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
			errs = append(errs, word)
			continue
		case o.valued && !glued:
			if i++; i == len(typed) {
				errs = append(errs, word+" needs a value")
				continue
			}
			value = typed[i]
		case !o.valued && !glued:
			value = "true"
		}
		w.options[o.name] = value
		w.order = append(w.order, o.name)
	}
	if len(errs) > 0 {
		return w, errors.New("Invalid options for this command:\n\t" + strings.Join(errs, "\n\t"))
	}
	return w, nil
}

// readOption understands --name, --name=value, --some_name, -x and -xvalue.
func readOption(word string) (o option, value string, glued, ok bool) {
	if !strings.HasPrefix(word, "--") {
		o, ok = findOption(func(o option) bool { return o.short != "" && o.short == word[1:2] })
		value, glued = word[2:], len(word) > 2
		value = strings.TrimPrefix(value, "=")
		if glued && !o.valued {
			return o, "", false, false
		}
		return o, value, glued, ok
	}
	name, value, glued := strings.Cut(word[2:], "=")
	name = strings.ReplaceAll(name, "_", "-")
	o, ok = findOption(func(o option) bool { return o.name == name })
	if glued && !o.valued && value != "true" && value != "false" {
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
