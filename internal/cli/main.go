package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// A tool is one of the programs whose commands overlap.
type tool uint8

const (
	ctl tool = 1 << iota
	diagnostics
	plugins
	queues
	upgrade
	everyTool = ctl | diagnostics | plugins | queues | upgrade
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
	c := &call{stdin: stdin, stdout: stdout, stderr: stderr, env: env, windows: runtime.GOOS == "windows"}
	c.dataDirs = []string{"bartleby-data", "/var/lib/bartleby"}
	c.program, c.tool = programOf(argv0)
	if c.program == "rabbitmqadmin" {
		return c.rabbitmqadmin(args)
	}
	err := c.main(args)
	if err == nil {
		return exitOK
	}
	var f *failure
	if !errors.As(err, &f) {
		f = &failure{exitSoftware, "Error:\n" + err.Error()}
	}
	if f.text != "" {
		fmt.Fprintln(stderr, f.text)
	}
	return f.code
}

func programOf(argv0 string) (name string, of tool) {
	name = filepath.Base(strings.ReplaceAll(argv0, `\`, "/"))
	name = strings.TrimSuffix(strings.TrimSuffix(name, ".exe"), ".bat")
	switch name {
	case "rabbitmqctl":
		return name, ctl
	case "rabbitmq-diagnostics":
		return name, diagnostics
	case "rabbitmq-plugins":
		return name, plugins
	case "rabbitmq-queues":
		return name, queues
	case "rabbitmq-upgrade":
		return name, upgrade
	case "rabbitmqadmin":
		return name, 0 // which has other manners
	}
	return "bartleby ctl", everyTool
}

func (c *call) main(args []string) error {
	if len(args) > 0 && args[0] == completeWord {
		return c.complete(args[1:])
	}
	words, err := parse(args)
	c.words, c.typed = words, args
	if err == nil && len(words.args) > 0 {
		expanded, failed := c.expandAlias(args)
		if failed != nil {
			return failed
		}
		words, err = parse(expanded)
		c.words = words
	}
	switch {
	case words.on("help") && len(words.args) == 0:
		fmt.Fprint(c.stdout, c.usage())
		return nil
	case words.on("version"):
		return version(c)
	case len(words.args) == 0:
		return &failure{exitUsage, strings.TrimSpace(c.usage())}
	}
	if words.args[0] == "help" {
		return c.help(words.args[1:])
	}
	cmd, rest, ok := c.findTyped(words.args)
	switch {
	case !ok && words.on("help"):
		return c.help(words.args)
	case !ok:
		return c.unknownCommand(words.args[0])
	}
	c.command, c.args = cmd, rest
	switch {
	case words.on("help"):
		return c.help([]string{cmd.name})
	case err != nil:
		return c.invalid(err.Error())
	}
	if err := c.check(); err != nil {
		return err
	}
	if strings.HasPrefix(c.formatter(), "json") {
		c.stdout = jsonSafe{c.stdout}
	}
	if words.on("dry-run") && !cmd.takes("dry-run") { // as RabbitMQ's tools: the words were checked
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), c.timeout)
	defer cancel()
	c.ctx = ctx
	return c.run()
}

// timeoutMax is what a timeout of infinity, which RabbitMQ's tools take, comes to: ten years.
const timeoutMax = 10 * 366 * 24 * time.Hour

// check refuses what is wrong with the words themselves.
func (c *call) check() error {
	c.words.meant(c.command.takes)
	for _, name := range c.words.order {
		if !isGlobal(name) && !c.command.takes(name) {
			return c.invalid("Invalid options for this command:\n--" + name + " : " + strings.TrimSuffix(c.words.options[name], "true"))
		}
	}
	switch {
	case len(c.args) < c.command.least:
		return c.tooFew()
	case c.command.most >= 0 && len(c.args) > c.command.most:
		return c.tooMany()
	}
	if err := c.checkFormatter(); err != nil {
		return err
	}
	c.timeout = c.command.patience
	if c.timeout == 0 {
		c.timeout = time.Minute
	}
	if text, ok := c.words.get("timeout"); ok {
		seconds, err := strconv.ParseFloat(text, 64)
		if err != nil || !(seconds > 0) {
			return c.invalid(fmt.Sprintf("the timeout '%s' is not a number of seconds", text))
		}
		c.timeout = time.Duration(min(seconds, timeoutMax.Seconds()) * float64(time.Second))
	}
	return c.connect()
}

func (c *call) run() error {
	err := c.command.run(c)
	if errors.Is(err, context.DeadlineExceeded) {
		return c.timedOut()
	}
	return c.explain(err)
}
