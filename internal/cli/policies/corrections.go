package policies

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/cli/command"
	"github.com/bartleby-mq/bartleby/internal/cli/jsonfile"
	"github.com/bartleby-mq/bartleby/internal/settings"
)

// definitionHint says why a definition is no JSON, if that can be told, and what to type instead.
func definitionHint(c *command.Call, definition string) string {
	if jsonfile.IsObject(c.Args[1]) {
		return "\n\nPattern and definition are in the wrong order. Type:\n  " + policyCommand(c, c.Args[0], definition, c.Args[1])
	}
	repaired, cause, ok := jsonfile.Repair(definition)
	if !ok {
		return "\n\nA definition is a JSON object, such as:\n  " + policyCommand(c, c.Args[0], c.Args[1], `{"dead-letter-exchange":"my-dlx"}`)
	}
	return fmt.Sprintf("\n\nThe definition is not JSON because %s. Type:\n  %s", cause, policyCommand(c, c.Args[0], c.Args[1], repaired))
}

// gluedPolicy says what to type when pattern and definition, or name and pattern, came as one word, as in an example
// that has lost a space.
func gluedPolicy(c *command.Call) string {
	if len(c.Args) != 2 {
		return ""
	}
	at := strings.Index(c.Args[1], "{")
	if at < 0 {
		return ""
	}
	if at == 0 {
		return gluedName(c)
	}
	pattern, definition := strings.TrimRight(c.Args[1][:at], `"' `), strings.TrimRight(c.Args[1][at:], `'`)
	if !jsonfile.IsObject(definition) {
		repaired, _, ok := jsonfile.Repair(definition)
		if !ok {
			return ""
		}
		definition = repaired
	}
	return "\nThe pattern and the definition are one word. Put a space between them:\n  " + policyCommand(c, c.Args[0], pattern, definition)
}

// gluedName says what to type when there is a definition behind one word: the name ends where a pattern can begin. If
// it does not, nothing is proposed that would match everything.
func gluedName(c *command.Call) string {
	definition := c.Args[1]
	if repaired, _, ok := jsonfile.Repair(definition); ok {
		definition = repaired
	}
	at := strings.IndexAny(c.Args[0], `.^*["'(\`)
	if at <= 0 {
		return "\nThe pattern between the name and the definition is missing. To match only the queue with this name:\n  " +
			policyCommand(c, c.Args[0], "^"+regexp.QuoteMeta(c.Args[0])+"$", definition)
	}
	pattern := strings.Trim(c.Args[0][at:], `"'`)
	return "\nThe name and the pattern are one word. Put a space between them:\n  " + policyCommand(c, c.Args[0][:at], pattern, definition)
}

// warnOfMarks tells that a shell has left quotation marks on a pattern: those of cmd.exe are double ones, and of two
// pairs every shell leaves one.
func warnOfMarks(c *command.Call, pattern, definition string) {
	bare := jsonfile.TrimPair(jsonfile.TrimPair(pattern, `'`), `"`)
	if bare != pattern {
		fmt.Fprintf(c.Stderr, "Warning: the quotation marks are part of the pattern, so it matches only names with quotation marks. To avoid this, type:\n  %s\n",
			policyCommand(c, c.Args[0], bare, definition))
	}
}

// scatteredPolicy says what to type when the shell has made several words of the pattern, or of the definition.
func scatteredPolicy(c *command.Call) string {
	last := c.Args[len(c.Args)-1]
	if start := slices.IndexFunc(c.Args, func(w string) bool { return strings.HasPrefix(w, "{") }); start == 2 {
		whole := strings.Join(c.Args[2:], " ")
		if repaired, _, ok := jsonfile.Repair(whole); ok {
			whole = repaired
		}
		return "\nThe definition is split into several words. Put it in quotation marks:\n  " + policyCommand(c, c.Args[0], c.Args[1], whole)
	}
	if repaired, _, ok := jsonfile.Repair(last); ok {
		last = repaired
	}
	if !jsonfile.IsObject(last) {
		return ""
	}
	return "\nThe pattern is split into several words: the shell replaced a * with file names. Put it in quotation marks:\n  " +
		policyCommand(c, c.Args[0], ".*", last)
}

// policyCommand is the command as it should be typed on this platform.
func policyCommand(c *command.Call, name, pattern, definition string) string {
	force := func(word string) string { // always in quotation marks, as in every example
		if quoted := command.Quote(word, c.Windows); quoted != word || word == "" {
			return quoted
		}
		return `"` + word + `"`
	}
	typed := []string{c.Program, c.Command.Name}
	if vhost, ok := c.Options.Get("vhost"); ok {
		typed = append(typed, "-p", command.Quote(vhost, c.Windows))
	}
	typed = append(typed, command.Quote(name, c.Windows), force(pattern), force(definition))
	for _, option := range []string{"priority", "apply-to"} {
		if v, ok := c.Options.Get(option); ok {
			typed = append(typed, "--"+option, command.Quote(v, c.Windows))
		}
	}
	return strings.Join(typed, " ")
}

// policyKeys are those that a definition may hold; only for hints, the broker decides.
func policyKeys(by settings.Source) (keys []string) {
	for _, d := range settings.All() {
		if slices.Contains(d.By, by) {
			keys = append(keys, d.Name)
		}
	}
	return keys
}

// keyHint proposes a key for each that is nearly one.
func keyHint(c *command.Call, definition api.Arguments) string {
	by := settings.FromPolicy
	if Segment(c) == "operator-policies" {
		by = settings.FromOperator
	}
	var b strings.Builder
	keys := policyKeys(by)
	for _, f := range definition {
		nearest := command.Nearest(strings.TrimPrefix(f.Name, "x-"), keys)
		if nearest != "" && nearest != f.Name {
			fmt.Fprintf(&b, "\n\n'%s': did you mean '%s'?", f.Name, nearest)
		}
	}
	return b.String()
}

// patternHint says which regular expressions there are, if that is what was refused.
func patternHint(reason string) string {
	if !strings.Contains(reason, "regular expression") {
		return ""
	}
	return "\n\nPatterns are RE2 regular expressions, which do not support lookaheads, lookbehinds and back references: " +
		"instead of '^(?!amq\\.).*', create another policy with a higher priority for the names to exclude."
}
