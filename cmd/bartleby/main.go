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

const usage = `Bartleby is a RabbitMQ-compatible message broker built around dead letters.

Usage:
  bartleby serve [options]     start the broker
  bartleby config check FILE   check a configuration file; see also: config show
  bartleby ctl COMMAND …       administer a running broker, like rabbitmqctl
  bartleby backup DIRECTORY    copy all data of a running broker; or --tar FILE
  bartleby reindex [-p VHOST]  rebuild the search index of a virtual host
  bartleby check DIR           check the data directory of a stopped broker for damage
  bartleby repair DIR          repair a damaged data directory
  bartleby install-shims DIR   link rabbitmqctl and the other RabbitMQ tools to this binary
  bartleby completion SHELL    print a completion script for bash, zsh or fish
  bartleby perf SCENARIO …     run a load test against any AMQP 0-9-1 broker
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
		fmt.Fprintf(stderr, "bartleby: no command; 'bartleby serve' starts the broker\n\n%s", usage)
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
	return unknown(args[1:], stderr)
}

// unknown refuses words that are no command.
func unknown(words []string, stderr io.Writer) int {
	fmt.Fprintf(stderr, "bartleby: unknown command %q\n", words[0])
	if strings.HasPrefix(words[0], "-") {
		fmt.Fprintln(stderr, "Options come after a command, as in 'bartleby serve --data DIR'.")
	} else if meant := cli.Meant(words); meant != "" {
		fmt.Fprintf(stderr, "Commands for a running broker begin with 'bartleby ctl'. Did you mean 'bartleby ctl %s'?\n", meant)
	}
	fmt.Fprintln(stderr, "'bartleby help' lists the commands.")
	return exitUsage
}
