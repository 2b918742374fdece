// Command bartleby is the broker and its tools in one binary. Under the name of one of RabbitMQ's tools, such
// as rabbitmqctl, it is that tool.
package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bartleby-mq/bartleby"
	"github.com/bartleby-mq/bartleby/internal/cli"
	"github.com/bartleby-mq/bartleby/internal/perf"
)

// version is set by the build.
var version = bartleby.Version

const usage = `Bartleby, the dead letter office for messages: a RabbitMQ-compatible broker.

Usage:
  bartleby serve [options]     start the broker
  bartleby config check FILE   say what is wrong with a configuration file; or config show
  bartleby ctl COMMAND …       administer a running broker, as rabbitmqctl does
  bartleby backup DIRECTORY    copy all that a running broker keeps; or --tar FILE
  bartleby reindex [-p VHOST]  have the letters of a virtual host indexed anew
  bartleby check DIR           say what is in a stopped data directory, and what of it is damaged
  bartleby repair DIR          save what can be saved of a damaged one
  bartleby install-shims DIR   link rabbitmqctl and its sisters to this binary
  bartleby completion SHELL    print a script that completes words: bash, zsh, fish
  bartleby perf SCENARIO …     load any AMQP 0-9-1 broker and measure it
  bartleby version             print the version

Run 'bartleby serve --help' or 'bartleby ctl help' for more.
`

func main() {
	os.Exit(run(os.Args, os.Stdin, os.Stdout, os.Stderr))
}

func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	name := strings.TrimSuffix(filepath.Base(args[0]), ".exe")
	if strings.HasPrefix(name, "rabbitmq") && name != "rabbitmq-server" {
		return cli.Main(args[0], args[1:], stdin, stdout, stderr, os.Getenv)
	}
	if name == "rabbitmq-server" {
		return rabbitServer(args[1:], stdout, stderr)
	}
	if len(args) < 2 {
		fmt.Fprint(stderr, usage)
		return exitUsage
	}
	switch args[1] {
	case "serve":
		return serve("bartleby", args[2:], stdout, stderr)
	case "config":
		return configCommand(args[2:], stdout, stderr)
	case "ctl":
		return cli.Main("bartleby", args[2:], stdin, stdout, stderr, os.Getenv)
	case "backup", "reindex":
		return cli.Main("bartleby", args[1:], stdin, stdout, stderr, os.Getenv)
	case "check":
		return check(args[2:], stdout, stderr)
	case "repair":
		return repair(args[2:], stdout, stderr)
	case "install-shims":
		return installShims(args[2:], stdout, stderr)
	case "as": // for batch files of Windows: bartleby as rabbitmqctl …
		if len(args) > 2 && slices.Contains(shimNames(), args[2]) {
			return run(args[2:], stdin, stdout, stderr)
		}
	case "completion":
		return completion(args[2:], stdout, stderr)
	case "__complete":
		return complete(args[2:], stdin, stdout, stderr)
	case "perf":
		return perf.Main(args[2:], stdout, stderr)
	case "version", "--version":
		fmt.Fprintln(stdout, "bartleby", version)
		return 0
	case "help", "--help", "-h":
		fmt.Fprint(stdout, usage)
		return 0
	}
	fmt.Fprintf(stderr, "bartleby: unknown command %q\n\n%s", args[1], usage)
	return exitUsage
}
