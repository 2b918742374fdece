package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/cli"
)

// rabbitServer starts the broker as RabbitMQ's own script does. Source: RabbitMQ rabbitmq-server(8).
func rabbitServer(args []string, stdout, stderr io.Writer) int {
	for _, arg := range args {
		if arg == "-detached" {
			fmt.Fprintln(stderr, "rabbitmq-server: -detached is not supported: run the broker with systemd or in a container, or append & to the command")
			return exitUsage
		}
	}
	return serve("rabbitmq-server", args, stdout, stderr)
}

// completion prints the script that completes the words of bartleby in a shell.
func completion(args []string, stdout, stderr io.Writer) int {
	if len(args) == 1 {
		if script, ok := cli.Completion(args[0], "bartleby"); ok {
			fmt.Fprint(stdout, script)
			return 0
		}
	}
	fmt.Fprintln(stderr, "bartleby completion bash | zsh | fish")
	return exitUsage
}

// subcommands are the words that may follow bartleby, as its usage has them.
func subcommands() []string {
	var names []string
	for line := range strings.Lines(usage) {
		if words := strings.Fields(line); len(words) > 1 && words[0] == "bartleby" {
			names = append(names, words[1])
		}
	}
	return append(names, "help")
}

// complete prints what the last word may become, one a line.
func complete(typed []string, stdin io.Reader, stdout, stderr io.Writer) int {
	switch {
	case len(typed) > 1 && typed[0] == "ctl":
		return cli.Main("bartleby", append([]string{"__complete"}, typed[1:]...), stdin, stdout, stderr, os.Getenv)
	case len(typed) == 2 && typed[0] == "completion":
		fmt.Fprint(stdout, "bash\nzsh\nfish\n")
	case len(typed) <= 1:
		for _, name := range subcommands() {
			if strings.HasPrefix(name, strings.Join(typed, "")) {
				fmt.Fprintln(stdout, name)
			}
		}
	}
	return 0
}
