package cli

import (
	"fmt"
	"strings"
)

func (c *call) help(names []string) error {
	if len(names) == 0 {
		fmt.Fprint(c.stdout, c.usage())
		return nil
	}
	cmd, _, ok := c.findTyped(names)
	if !ok {
		if about := c.about(names[0]); about != "" {
			fmt.Fprint(c.stdout, about)
			return nil
		}
		return c.unknownCommand(names[0])
	}
	fmt.Fprint(c.stdout, c.teach(cmd))
	return nil
}

// teach is all there is to say about a command.
func (c *call) teach(cmd command) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n%s\n", c.commandUsage(cmd), cmd.about)
	if cmd.more != nil {
		fmt.Fprintf(&b, "\n%s\n", cmd.more())
	}
	if own := optionsHelpOf(cmd.takes); own != "" {
		fmt.Fprintf(&b, "\nOptions\n\n%s", own)
	}
	if cmd.example != "" {
		fmt.Fprint(&b, "\nExamples\n\n")
		for line := range strings.Lines(cmd.example) {
			fmt.Fprintf(&b, "   %s %s\n", c.program, strings.TrimSuffix(line, "\n"))
		}
	}
	fmt.Fprintf(&b, "\nFor global options, see '%s help'.\n", c.program)
	return b.String()
}

// optionsHelpOf describes the options that are wanted, in the order of the table.
func optionsHelpOf(wanted func(name string) bool) string {
	var b strings.Builder
	for _, o := range options() {
		if o.about == "" || !wanted(o.name) {
			continue
		}
		typed := "--" + o.name
		if o.short != "" {
			typed = "-" + o.short + ", " + typed
		}
		if o.valued() {
			typed += " <" + o.value + ">"
		}
		fmt.Fprintf(&b, "   %-34s %s\n", typed, o.about)
	}
	return b.String()
}

func (c *call) commandUsage(cmd command) string {
	line := fmt.Sprintf("%s [--node <node>] [--timeout <timeout>] [--quiet] %s %s", c.program, cmd.name, cmd.usage)
	return "Usage\n\n" + strings.TrimSpace(line)
}

func (c *call) usage() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Usage\n\n%s [--node <node>] [--timeout <timeout>] [--quiet] <command> [<command options>]\n", c.program)
	for _, g := range groups() {
		title := "\n" + g.title + "\n\n"
		for _, cmd := range g.commands {
			if cmd.tools&c.tool != 0 {
				fmt.Fprintf(&b, "%s   %-34s %s\n", title, cmd.name, cmd.about)
				title = ""
			}
		}
	}
	fmt.Fprintf(&b, "\nGlobal options\n\n%s", optionsHelpOf(isGlobal))
	fmt.Fprintf(&b, "\nUse '%s help <command>' to learn more about a command.\n", c.program)
	return b.String()
}

// about lists the commands that are about one thing, as in "scheduled"; "" if there is none.
func (c *call) about(thing string) string {
	var b strings.Builder
	for _, cmd := range commands() {
		if verb, ok := strings.CutSuffix(cmd.name, "_"+thing); ok && cmd.tools&c.tool != 0 {
			fmt.Fprintf(&b, "   %s %s %s\n", thing, verb, cmd.usage)
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return "Commands\n\n" + b.String() + fmt.Sprintf("\nUse '%s help %s <verb>' to learn more about one.\n", c.program, thing)
}

func (c *call) unknownCommand(name string) error {
	if about := c.about(name); about != "" {
		return &failure{exitUsage, strings.TrimSpace(about)}
	}
	text := fmt.Sprintf("Command '%s' not found.", name)
	best, bestName := 4, "" // further away than this is no help
	for _, cmd := range commands() {
		if cmd.tools&c.tool != 0 && bestName == "" && len(name) > 3 && strings.HasPrefix(cmd.name, name+"_") {
			bestName = cmd.name
		}
		if n := distance(name, cmd.name); cmd.tools&c.tool != 0 && n < best {
			best, bestName = n, cmd.name
		}
	}
	if bestName != "" {
		text += fmt.Sprintf("\nDid you mean '%s'?", bestName)
	}
	return &failure{exitUsage, text + fmt.Sprintf("\n\nUse '%s help' for the list of commands.", c.program)}
}

// distance is the number of letters to insert, drop or change to make b of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
