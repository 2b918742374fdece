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
		return unknownCommand(c, names)
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

// about lists the commands that are about one thing, as in "scheduled" or "redrive", a line each; "" if there is none.
func about(c *command.Call, thing string) string {
	var b strings.Builder
	one := strings.TrimSuffix(strings.ReplaceAll(thing, "-", "_"), "s")
	for _, cmd := range commands() {
		verb, noun, _ := cutLast(cmd.Name)
		if cmd.Tools&c.Tool == 0 || verb == "" || one == "" || strings.TrimSuffix(noun, "s") != one {
			continue
		}
		typed := thing + " " + verb
		if found, _, ok := findTyped(c, strings.Fields(typed)); !ok || found.Name != cmd.Name {
			typed = cmd.Name
		}
		fmt.Fprintf(&b, "   %-34s %s\n", typed, cmd.About)
	}
	if b.Len() == 0 {
		return ""
	}
	return "Commands\n\n" + b.String() + fmt.Sprintf("\nUse '%s help <command>' to learn more about a command.\n", c.Program)
}

// cutLast divides the name of a command in front of its last word, which is what the command is about.
func cutLast(name string) (verb, noun string, ok bool) {
	i := strings.LastIndexByte(name, '_')
	if i < 0 {
		return "", name, false
	}
	return name[:i], name[i+1:], true
}
