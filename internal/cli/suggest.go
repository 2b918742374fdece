package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/cli/command"
)

// harmful are the words in the names of commands that destroy, stop or cut off something.
var harmful = []string{
	"cancel", "clear", "close", "delete", "disable", "discard", "drain", "forget", "force", "purge", "reset", "shrink",
	"shutdown", "stop", "suspend",
}

// harmless reports whether a command may be proposed to a user who has typed something else.
func harmless(cmd command.Command) bool {
	return !slices.ContainsFunc(strings.Split(cmd.Name, "_"), func(word string) bool { return slices.Contains(harmful, word) })
}

// similar lists the commands that a wrong name may stand for: those that begin with it, else the most similar one, if
// few characters differ. None of them is harmful.
func similar(c *command.Call, name string) (names []string) {
	var known []string
	for _, cmd := range commands() {
		if cmd.Tools&c.Tool != 0 && harmless(cmd) {
			known = append(known, cmd.Name)
		}
	}
	for _, k := range known {
		if len(name) > 2 && strings.HasPrefix(k, name+"_") {
			names = append(names, k)
		}
	}
	if nearest := command.Nearest(name, known); names == nil && nearest != "" {
		names = []string{nearest}
	}
	return names
}

// elsewhere names the tool that has a command which this one does not have, "" if none has it.
func elsewhere(name string) string {
	for _, tool := range Tools() {
		_, of := programOf(tool)
		if _, ok := find(&command.Call{Tool: of}, name); ok {
			return tool
		}
	}
	return ""
}

// unknownCommand refuses words that are no command. A noun, as in "dlq", is answered with its verbs.
func unknownCommand(c *command.Call, words []string) error {
	if about := about(c, words[0]); about != "" {
		if len(words) > 1 {
			about = fmt.Sprintf("Command '%s %s' not found.%s\n\n%s", words[0], words[1], verbMeant(c, words), about)
		}
		return &command.Failure{Code: command.ExitUsage, Text: strings.TrimSpace(about)}
	}
	text := fmt.Sprintf("Command '%s' not found.%s", words[0], meant(c, strings.ReplaceAll(words[0], "-", "_")))
	return &command.Failure{Code: command.ExitUsage, Text: text + fmt.Sprintf("\n\nUse '%s help' for the list of commands.", c.Program)}
}

// meant says what a wrong name may stand for, "" if nothing is close to it.
func meant(c *command.Call, name string) string {
	if tool := elsewhere(name); tool != "" {
		return fmt.Sprintf("\nIt is a command of %s.", tool)
	}
	switch names := similar(c, name); len(names) {
	case 0:
		if noun := nearestNoun(c, name); noun != "" {
			return fmt.Sprintf("\nDid you mean '%s'?", noun)
		}
		return ""
	case 1:
		return fmt.Sprintf("\nDid you mean '%s'?", names[0])
	default:
		return "\nDid you mean one of these?\n   " + strings.Join(names, "\n   ")
	}
}

// Meant returns the command of "bartleby ctl" that words are, or the one that they probably mean; "" if there is none,
// or more than one.
func Meant(words []string) string {
	c := &command.Call{Tool: command.EveryTool}
	if _, rest, ok := findTyped(c, words); ok {
		return strings.Join(words[:len(words)-len(rest)], " ")
	}
	if about(c, words[0]) != "" {
		return words[0]
	}
	name := strings.ReplaceAll(words[0], "-", "_")
	switch names := similar(c, name); len(names) {
	case 0:
		return nearestNoun(c, name)
	case 1:
		return names[0]
	}
	return ""
}

// verbMeant says which harmless verb of a noun a wrong one may stand for, "" if none is close to it.
func verbMeant(c *command.Call, words []string) string {
	one := strings.TrimSuffix(words[0], "s")
	var verbs []string
	for _, cmd := range commands() {
		verb, noun, ok := cutLast(cmd.Name)
		if ok && cmd.Tools&c.Tool != 0 && harmless(cmd) && strings.TrimSuffix(noun, "s") == one {
			verbs = append(verbs, verb)
		}
	}
	if verb := command.Nearest(words[1], verbs); verb != "" {
		return fmt.Sprintf("\nDid you mean '%s %s'?", words[0], verb)
	}
	return ""
}

// nearestNoun is what commands are about that a wrong name may stand for, "" if nothing is close to it.
func nearestNoun(c *command.Call, name string) string {
	var nouns []string
	for _, cmd := range commands() {
		if _, noun, ok := cutLast(cmd.Name); ok && cmd.Tools&c.Tool != 0 && harmless(cmd) {
			nouns = append(nouns, noun)
		}
	}
	return command.Nearest(name, nouns)
}
