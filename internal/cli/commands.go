package cli

import (
	"slices"
	"strings"
	"time"
)

// A command is a row of the tables in table_*.go.
type command struct {
	name        string
	tools       tool
	usage       string // its own options and its arguments
	about       string // what it does, in a sentence
	least, most int    // number of arguments; most < 0 is any
	options     string // the options of its own, with blanks between
	patience    time.Duration
	offline     bool // it asks no broker
	run         func(*call) error
	fewHint     func(*call) string // what to add when there are not enough arguments, or nil
	manyHint    func(*call) string // and when there are too many
	more        func() string      // what help has to say besides, or nil
	example     string             // what may be typed behind the program's name, a line each
}

func (c command) takes(option string) bool { return slices.Contains(strings.Fields(c.options), option) }

// unbounded is the most arguments of a command that takes any number.
const unbounded = -1

// A group is commands that help shows together.
type group struct {
	title    string
	commands []command
}

// groups lists what can be done. Source: RabbitMQ rabbitmqctl(8), rabbitmq-diagnostics(8), rabbitmq-plugins(8),
// rabbitmq-queues(8), rabbitmq-upgrade(8).
func groups() []group {
	return slices.Concat(accessTable(), objectTable(), letterTable(), officeTable(), nodeTable(), checkTable(), sisterTable())
}

// commands lists the commands of all groups.
func commands() []command {
	var all []command
	for _, g := range groups() {
		all = append(all, g.commands...)
	}
	return all
}

// find looks a command up among those of the tool.
func (c *call) find(name string) (command, bool) {
	for _, cmd := range commands() {
		if cmd.name == name && cmd.tools&c.tool != 0 {
			return cmd, true
		}
	}
	return command{}, false
}

// findTyped finds the command that words begin with. "scheduled list" and "list scheduled" are list_scheduled.
func (c *call) findTyped(words []string) (cmd command, rest []string, ok bool) {
	first := strings.ReplaceAll(words[0], "-", "_")
	if cmd, ok = c.find(first); ok || len(words) == 1 {
		return cmd, words[1:], ok
	}
	for _, name := range []string{words[1] + "_" + first, first + "_" + words[1], words[1] + "_" + first + "s"} {
		if cmd, ok = c.find(name); ok {
			return cmd, words[2:], true
		}
	}
	return cmd, words[1:], false
}
