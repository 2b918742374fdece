package cli

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/api"
)

// A repair undoes what a shell, an editor or a web page does to JSON on its way here.
type repair struct {
	cause string
	apply func(string) string
}

// repairs are tried one after the other, each on what the former left.
func repairs() []repair {
	smart := strings.NewReplacer("“", `"`, "”", `"`, "„", `"`, "«", `"`, "»", `"`, "‘", "'", "’", "'")
	blanks := strings.NewReplacer("\ufeff", "", "\u00a0", " ")
	return []repair{
		{"it contains a byte order mark or a no-break space", blanks.Replace},
		{"its quotation marks are typographic", smart.Replace},
		{"its quotation marks are escaped with backslashes, which this shell passes on", func(s string) string { return strings.ReplaceAll(s, `\"`, `"`) }},
		{"it is in quotation marks that this shell passes on", func(s string) string { return trimPair(s, `'`) }},
		{"its strings are in single quotation marks", func(s string) string { return strings.ReplaceAll(s, "'", `"`) }},
		{"the shell removed its quotation marks", quoteBarewords},
	}
}

func trimPair(s, mark string) string {
	if len(s) >= 2 && strings.HasPrefix(s, mark) && strings.HasSuffix(s, mark) {
		return s[1 : len(s)-1]
	}
	return s
}

// quoteBarewords puts quotation marks around every word of {key:value,…} that has none and is no number or literal.
func quoteBarewords(s string) string {
	if strings.Contains(s, `"`) {
		return s
	}
	return regexp.MustCompile(`[^{}\[\]:,\s]+`).ReplaceAllStringFunc(s, func(word string) string {
		if json.Valid([]byte(word)) {
			return word
		}
		return `"` + word + `"`
	})
}

// repairJSON makes an object of what was one once; cause says what had happened to it.
func repairJSON(s string) (repaired, cause string, ok bool) {
	for _, r := range repairs() {
		if next := r.apply(s); next != s {
			s, cause = next, r.cause
		}
		if isObject(s) && cause != "" {
			return s, cause, true
		}
	}
	return "", "", false
}

func isObject(s string) bool {
	return strings.HasPrefix(strings.TrimSpace(s), "{") && json.Valid([]byte(s))
}

// definitionHint says why a definition is no JSON, if that can be told, and what to type instead.
func (c *call) definitionHint(definition string) string {
	if isObject(c.args[1]) {
		return "\n\nPattern and definition are in the wrong order. Type:\n  " + c.policyCommand(c.args[0], definition, c.args[1])
	}
	repaired, cause, ok := repairJSON(definition)
	if !ok {
		return "\n\nA definition is a JSON object, such as:\n  " + c.policyCommand(c.args[0], c.args[1], `{"dead-letter-exchange":"my-dlx"}`)
	}
	return fmt.Sprintf("\n\nThe definition is not JSON because %s. Type:\n  %s", cause, c.policyCommand(c.args[0], c.args[1], repaired))
}

// gluedPolicy says what to type when pattern and definition, or name and pattern, came as one word, as in an example that
// has lost a space.
func gluedPolicy(c *call) string {
	if len(c.args) != 2 {
		return ""
	}
	at := strings.Index(c.args[1], "{")
	if at < 0 {
		return ""
	}
	if at == 0 {
		return gluedName(c)
	}
	pattern, definition := strings.TrimRight(c.args[1][:at], `"' `), strings.TrimRight(c.args[1][at:], `'`)
	if !isObject(definition) {
		repaired, _, ok := repairJSON(definition)
		if !ok {
			return ""
		}
		definition = repaired
	}
	return "\nThe pattern and the definition are one word. Put a space between them:\n  " + c.policyCommand(c.args[0], pattern, definition)
}

// gluedName says what to type when there is a definition behind one word: the name ends where a pattern can begin. If it
// does not, nothing is proposed that would match everything.
func gluedName(c *call) string {
	definition := c.args[1]
	if repaired, _, ok := repairJSON(definition); ok {
		definition = repaired
	}
	at := strings.IndexAny(c.args[0], `.^*["'(\`)
	if at <= 0 {
		return "\nThe pattern between the name and the definition is missing. To match only the queue with this name:\n  " +
			c.policyCommand(c.args[0], "^"+regexp.QuoteMeta(c.args[0])+"$", definition)
	}
	pattern := strings.Trim(c.args[0][at:], `"'`)
	return "\nThe name and the pattern are one word. Put a space between them:\n  " + c.policyCommand(c.args[0][:at], pattern, definition)
}

// warnOfMarks tells that a shell has left quotation marks on a pattern: those of cmd.exe are double ones, and of two pairs
// every shell leaves one.
func (c *call) warnOfMarks(pattern, definition string) {
	bare := trimPair(trimPair(pattern, `'`), `"`)
	if bare != pattern {
		fmt.Fprintf(c.stderr, "Warning: the quotation marks are part of the pattern, so it matches only names with quotation marks. To avoid this, type:\n  %s\n",
			c.policyCommand(c.args[0], bare, definition))
	}
}

// scatteredPolicy says what to type when the shell has made several words of the pattern, or of the definition.
func scatteredPolicy(c *call) string {
	last := c.args[len(c.args)-1]
	if start := slices.IndexFunc(c.args, func(w string) bool { return strings.HasPrefix(w, "{") }); start == 2 {
		whole := strings.Join(c.args[2:], " ")
		if repaired, _, ok := repairJSON(whole); ok {
			whole = repaired
		}
		return "\nThe definition is split into several words. Put it in quotation marks:\n  " + c.policyCommand(c.args[0], c.args[1], whole)
	}
	if repaired, _, ok := repairJSON(last); ok {
		last = repaired
	}
	if !isObject(last) {
		return ""
	}
	return "\nThe pattern is split into several words: the shell replaced a * with file names. Put it in quotation marks:\n  " +
		c.policyCommand(c.args[0], ".*", last)
}

// policyCommand is the command as it should be typed on this platform.
func (c *call) policyCommand(name, pattern, definition string) string {
	force := func(word string) string { // always in quotation marks, as in every example
		if quoted := quote(word, c.windows); quoted != word || word == "" {
			return quoted
		}
		return `"` + word + `"`
	}
	typed := []string{c.program, c.command.name}
	if vhost, ok := c.words.get("vhost"); ok {
		typed = append(typed, "-p", quote(vhost, c.windows))
	}
	typed = append(typed, quote(name, c.windows), force(pattern), force(definition))
	for _, option := range []string{"priority", "apply-to"} {
		if v, ok := c.words.get(option); ok {
			typed = append(typed, "--"+option, quote(v, c.windows))
		}
	}
	return strings.Join(typed, " ")
}

// policyKeys are those that a definition may hold; only for hints, the broker decides.
const policyKeys = "alternate-exchange consumer-timeout cycle dead-letter-exchange dead-letter-routing-key dead-letter-strategy " +
	"delayed-retry-attempts delayed-retry-backoff delayed-retry-jitter delayed-retry-max delayed-retry-min delayed-retry-steps " +
	"delayed-retry-type delivery-limit expires expiry max-length max-length-bytes " +
	"message-ttl overflow queue-leader-locator"

// keyHint proposes a key for each that is nearly one.
func keyHint(definition api.Arguments) string {
	var b strings.Builder
	for _, f := range definition {
		best, bestKey := 4, "" // further away than this is no help
		for _, key := range strings.Fields(policyKeys) {
			if n := distance(strings.TrimPrefix(f.Name, "x-"), key); n < best {
				best, bestKey = n, key
			}
		}
		if bestKey != "" && bestKey != f.Name {
			fmt.Fprintf(&b, "\n\n'%s': did you mean '%s'?", f.Name, bestKey)
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
