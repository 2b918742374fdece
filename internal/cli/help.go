package cli

import (
	"fmt"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/cli/command"
)

func help(c *command.Call, names []string) error {
	if len(names) == 0 {
		fmt.Fprint(c.Stdout, usage(c))
		return nil
	}
	cmd, _, ok := findTyped(c, names)
	if !ok {
		if about := about(c, names[0]); about != "" {
			fmt.Fprint(c.Stdout, about)
			return nil
		}
		return unknownCommand(c, names[0])
	}
	fmt.Fprint(c.Stdout, teach(c, cmd))
	return nil
}

// teach is all there is to say about a command.
func teach(c *command.Call, cmd command.Command) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n%s\n", c.Usage(cmd), cmd.About)
	if cmd.More != nil {
		fmt.Fprintf(&b, "\n%s\n", cmd.More())
	}
	if own := optionsHelpOf(cmd.Takes); own != "" {
		fmt.Fprintf(&b, "\nOptions\n\n%s", own)
	}
	if cmd.Example != "" {
		fmt.Fprint(&b, "\nExamples\n\n")
		for line := range strings.Lines(cmd.Example) {
			fmt.Fprintf(&b, "   %s %s\n", c.Program, strings.TrimSuffix(line, "\n"))
		}
	}
	fmt.Fprintf(&b, "\nFor global options, see '%s help'.\n", c.Program)
	return b.String()
}

// optionsHelpOf describes the options that are wanted, in the order of the table.
func optionsHelpOf(wanted func(name string) bool) string {
	var b strings.Builder
	for _, o := range command.KnownOptions() {
		if o.About == "" || !wanted(o.Name) {
			continue
		}
		typed := "--" + o.Name
		if o.Short != "" {
			typed = "-" + o.Short + ", " + typed
		}
		if o.Valued() {
			typed += " <" + o.Value + ">"
		}
		fmt.Fprintf(&b, "   %-34s %s\n", typed, o.About)
	}
	return b.String()
}

func usage(c *command.Call) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Usage\n\n%s [--node <node>] [--timeout <timeout>] [--quiet] <command> [<command options>]\n", c.Program)
	for _, g := range groups() {
		title := "\n" + g.title + "\n\n"
		for _, cmd := range g.commands {
			if cmd.Tools&c.Tool != 0 {
				fmt.Fprintf(&b, "%s   %-34s %s\n", title, cmd.Name, cmd.About)
				title = ""
			}
		}
	}
	fmt.Fprintf(&b, "\nGlobal options\n\n%s", optionsHelpOf(command.IsGlobal))
	fmt.Fprintf(&b, "\nUse '%s help <command>' to learn more about a command.\n", c.Program)
	return b.String()
}

// about lists the commands that are about one thing, as in "scheduled"; "" if there is none.
func about(c *command.Call, thing string) string {
	var b strings.Builder
	for _, cmd := range commands() {
		if verb, ok := strings.CutSuffix(cmd.Name, "_"+thing); ok && cmd.Tools&c.Tool != 0 {
			fmt.Fprintf(&b, "   %s %s %s\n", thing, verb, cmd.Usage)
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return "Commands\n\n" + b.String() + fmt.Sprintf("\nUse '%s help %s <verb>' to learn more about one.\n", c.Program, thing)
}

func unknownCommand(c *command.Call, name string) error {
	if about := about(c, name); about != "" {
		return &command.Failure{Code: command.ExitUsage, Text: strings.TrimSpace(about)}
	}
	text := fmt.Sprintf("Command '%s' not found.", name)
	best, bestName := 4, "" // further away than this is no help
	for _, cmd := range commands() {
		if cmd.Tools&c.Tool != 0 && bestName == "" && len(name) > 3 && strings.HasPrefix(cmd.Name, name+"_") {
			bestName = cmd.Name
		}
		if n := command.Distance(name, cmd.Name); cmd.Tools&c.Tool != 0 && n < best {
			best, bestName = n, cmd.Name
		}
	}
	if bestName != "" {
		text += fmt.Sprintf("\nDid you mean '%s'?", bestName)
	}
	return &command.Failure{Code: command.ExitUsage, Text: text + fmt.Sprintf("\n\nUse '%s help' for the list of commands.", c.Program)}
}
