package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/cli/command"
	"github.com/bartleby-mq/bartleby/internal/cli/node"
	"github.com/bartleby-mq/bartleby/internal/cli/output"
	"github.com/bartleby-mq/bartleby/internal/cli/rabbitmqadmin"
)

// Tools are the names of RabbitMQ's tools that Main answers to.
func Tools() []string {
	return []string{"rabbitmqctl", "rabbitmq-diagnostics", "rabbitmq-plugins", "rabbitmq-queues", "rabbitmq-upgrade", "rabbitmqadmin"}
}

// Main runs one command. argv0 is the name the program was called under: each of Tools (with any directory, .exe or
// .bat) offers its own commands, every other name all of them. args follow it. env is asked for variables, such as
// BARTLEBY_MANAGEMENT, BARTLEBY_USER, BARTLEBY_PASSWORD and BARTLEBY_DATA.
//
// The result is the exit code: 0, or of sysexits 64 usage, 65 bad data or object not found, 67 no such user, 69
// broker unavailable or refusing, 70 internal or already there, 75 timed out. Source: RabbitMQ cli#exit-codes.
func Main(argv0 string, args []string, stdin io.Reader, stdout, stderr io.Writer, env func(string) string) int {
	c := &command.Call{Stdin: stdin, Data: stdout, Env: env, Windows: runtime.GOOS == "windows", Commands: commands()}
	c.Stdout, c.Stderr = output.TerminalSafe{Writer: stdout}, output.TerminalSafe{Writer: stderr}
	c.DataDirs = []string{"bartleby-data", "/var/lib/bartleby"}
	c.Program, c.Tool = programOf(argv0)
	if c.Program == "rabbitmqadmin" {
		connect := func(t rabbitmqadmin.Target) (*api.Client, error) { return connectTo(c, t) }
		p := rabbitmqadmin.Program{Stdin: c.Stdin, Stdout: c.Stdout, JSON: output.JSONSafe{Writer: stdout}, Env: c.Env}
		p.Connect = connect
		return p.Run(args)
	}
	err := run(c, args)
	if err == nil {
		return command.ExitOK
	}
	var f *command.Failure
	if !errors.As(err, &f) {
		f = &command.Failure{Code: command.ExitSoftware, Text: "Error:\n" + err.Error()}
	}
	if f.Text != "" {
		fmt.Fprintln(c.Stderr, f.Text)
	}
	return f.Code
}

// connectTo makes a client for rabbitmqadmin.
func connectTo(c *command.Call, t rabbitmqadmin.Target) (*api.Client, error) {
	c.Options = command.Options{}
	if t.Base != "" {
		c.Options.Set("node", t.Base)
	}
	for name, value := range map[string]*string{"username": t.Username, "password": t.Password, "cacert": t.CACert} {
		if value != nil {
			c.Options.Set(name, *value)
		}
	}
	if t.Insecure {
		c.Options.Set("insecure", "true")
	}
	err := c.Connect()
	if f := (*command.Failure)(nil); errors.As(err, &f) {
		return nil, errors.New(strings.TrimPrefix(f.Text, "Error:\n"))
	}
	return c.Client, err
}

func programOf(argv0 string) (name string, of command.Tool) {
	name = filepath.Base(strings.ReplaceAll(argv0, `\`, "/"))
	name = strings.TrimSuffix(strings.TrimSuffix(name, ".exe"), ".bat")
	switch name {
	case "rabbitmqctl":
		return name, command.Ctl
	case "rabbitmq-diagnostics":
		return name, command.Diagnostics
	case "rabbitmq-plugins":
		return name, command.Plugins
	case "rabbitmq-queues":
		return name, command.Queues
	case "rabbitmq-upgrade":
		return name, command.Upgrade
	case "rabbitmqadmin":
		return name, 0 // which has other manners
	}
	return "bartleby ctl", command.EveryTool
}

func run(c *command.Call, args []string) error {
	if len(args) > 0 && args[0] == completeWord {
		return complete(c, args[1:])
	}
	words, err := command.Parse(args)
	c.Options, c.Typed = words, args
	if err == nil && len(words.Args) > 0 {
		expanded, failed := expandAlias(c, args)
		if failed != nil {
			return failed
		}
		words, err = command.Parse(expanded)
		c.Options = words
	}
	switch {
	case words.On("help") && len(words.Args) == 0:
		fmt.Fprint(c.Stdout, usage(c))
		return nil
	case words.On("version"):
		return node.Version(c)
	case len(words.Args) == 0:
		return &command.Failure{Code: command.ExitUsage, Text: strings.TrimSpace(usage(c))}
	}
	if words.Args[0] == "help" {
		return help(c, words.Args[1:])
	}
	cmd, rest, ok := findTyped(c, words.Args)
	switch {
	case !ok && words.On("help"):
		return help(c, words.Args)
	case !ok:
		return unknownCommand(c, words.Args)
	}
	c.Command, c.Args = cmd, rest
	switch {
	case words.On("help"):
		return help(c, []string{cmd.Name})
	case err != nil:
		return c.Invalid(err.Error())
	}
	if err := c.Check(); err != nil {
		return err
	}
	if strings.HasPrefix(c.Formatter(), "json") {
		c.Stdout = output.JSONSafe{Writer: c.Data}
	}
	if words.On("dry-run") && !cmd.Takes("dry-run") { // as RabbitMQ's tools: the words were checked
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), c.Timeout)
	defer cancel()
	c.Ctx = ctx
	return c.Run()
}
