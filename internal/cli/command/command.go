package command

import (
	"slices"
	"strings"
	"time"
)

// A Command is a row of a table of commands, which a package for commands has.
type Command struct {
	Name        string
	Tools       Tool
	Usage       string // its own options and its arguments
	About       string // what it does, in a sentence
	Least, Most int    // number of arguments; most < 0 is any
	Options     string // the options of its own, with blanks between
	Patience    time.Duration
	Offline     bool // it asks no broker
	Own         bool // RabbitMQ has no such command: its tables show no Erlang terms
	Run         func(*Call) error
	FewHint     func(*Call) string // what to add when there are not enough arguments, or nil
	ManyHint    func(*Call) string // and when there are too many
	More        func() string      // what help has to say besides, or nil
	Example     string             // what may be typed behind the program's name, a line each
}

// Takes reports whether an option is one of its own.
func (c Command) Takes(option string) bool { return slices.Contains(strings.Fields(c.Options), option) }

// What usages have in common.
const (
	InVHost   = "[--vhost <vhost>] "
	AnyColumn = "[<column> ...]"
)

// Unbounded is the most arguments of a command that takes any number.
const Unbounded = -1

// A Tool is one of the programs whose commands overlap.
type Tool uint8

// The tools of RabbitMQ: rabbitmqctl, rabbitmq-diagnostics, rabbitmq-plugins, rabbitmq-queues, rabbitmq-upgrade.
const (
	Ctl Tool = 1 << iota
	Diagnostics
	Plugins
	Queues
	Upgrade
	EveryTool = Ctl | Diagnostics | Plugins | Queues | Upgrade

	// Both are the tools that most of what shows something is in.
	Both = Ctl | Diagnostics
)
