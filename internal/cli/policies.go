package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/api"
)

// kind tells policies from operator policies by the command's name.
func (c *call) kind() (segment string) {
	if strings.Contains(c.command.name, "operator") {
		return "operator-policies"
	}
	return "policies"
}

const policyExample = `set_policy DLX ".*" '{"dead-letter-exchange":"my-dlx"}' --apply-to queues
set_policy bounded '^work\.' @policy.json --priority 5
set_policy DLX '^work$' '{"dead-letter-exchange":"my-dlx"}' --dry-run`

func policyHelp() string {
	return `The pattern is an RE2 regular expression that may match any part of the name: '^work$' matches only 'work', 'work' also
matches 'rework'. Lookaheads and back references are not supported. The definition is a JSON object in one word: in cmd.exe
"{""message-ttl"":60000}", in other shells '{"message-ttl":60000}'; or @file, or - for standard input. One policy and one
operator policy apply to a queue: of those that match, the one with the highest priority, then the first by name.
--dry-run changes nothing and lists what would change.`
}

func setPolicy(c *call) error {
	name, pattern := c.args[0], c.args[1]
	definition, err := c.definition()
	if err != nil {
		return err
	}
	priority, err := strconv.ParseInt(c.words.or("priority", "0"), 10, 64)
	if err != nil {
		return c.invalid(fmt.Sprintf("Invalid options for this command:\n--priority : %s\npriority should be a number, actually was \"%s\"",
			c.words.or("priority", ""), c.words.or("priority", "")))
	}
	what := "policy"
	if c.kind() == "operator-policies" {
		what = "operator policy override"
	}
	c.banner(`Setting %s "%s" for pattern "%s" to "%s" with priority "%d" for vhost "%s" ...`,
		what, name, pattern, definition, priority, c.vhost())
	parsed, err := c.parseDefinition(definition)
	if err != nil {
		return err
	}
	number, expression, applyTo := api.Priority(priority), api.Pattern(pattern), c.words.or("apply-to", "all")
	put := api.PutPolicy{Pattern: &expression, Definition: &parsed, Priority: &number, ApplyTo: &applyTo}
	if c.words.on("dry-run") {
		var would api.PolicyTrial
		_, err := c.client.Do(c.ctx, http.MethodPut, c.trialPath(name), put, &would)
		if err != nil {
			return c.refusedPolicy(err, parsed)
		}
		return c.showTrial(&would)
	}
	if _, err = c.client.Put(c.ctx, put, c.kind(), c.vhost(), name); err != nil {
		return c.refusedPolicy(err, parsed)
	}
	c.warnOfMarks(pattern, definition)
	if !c.quiet() && names(parsed, "dead-letter-exchange") {
		c.warnOfPolicy(name, put)
	}
	return c.done("", nil)
}

// refusedPolicy says why a policy was refused, and what may have been meant.
func (c *call) refusedPolicy(err error, definition api.Arguments) error {
	switch status(err) {
	case http.StatusNotFound:
		return c.noVHost(c.vhost())
	case http.StatusBadRequest:
		return failf(exitUnavailable, "%s%s%s", reasonOf(err), keyHint(definition), patternHint(reasonOf(err)))
	}
	return err
}

// trialPath is where a change of a policy is tried.
func (c *call) trialPath(name string) string {
	return api.Path("x", "dry-run", c.kind(), c.vhost(), name)
}

// warnOfPolicy tells people what is odd about a policy that was set. A broker that cannot tell is not asked again.
func (c *call) warnOfPolicy(name string, put api.PutPolicy) {
	var is api.PolicyTrial
	if _, err := c.client.Do(c.ctx, http.MethodPut, c.trialPath(name), put, &is); err != nil {
		return
	}
	for _, warning := range is.Warnings {
		fmt.Fprintln(c.stderr, "Warning: "+warning)
	}
}

// showTrial lists the objects that a policy would match, and what would change.
func (c *call) showTrial(t *api.PolicyTrial) error {
	if strings.HasPrefix(c.formatter(), "json") {
		return c.showJSON(t)
	}
	var rows [][]cell
	for _, m := range t.Matches {
		var changes []string
		for _, s := range m.Changes {
			changes = append(changes, fmt.Sprintf("%s: %s -> %s", s.Name, shown(s.Before), shown(s.After)))
		}
		rows = append(rows, []cell{
			textCell(m.Name), textCell(m.Kind), textCell(m.PolicyBefore), textCell(m.PolicyAfter), textCell(strings.Join(changes, ", ")),
		})
	}
	if err := c.table([]string{"name", "kind", "policy_before", "policy_after", "changes"}, rows); err != nil {
		return err
	}
	if !c.quiet() {
		fmt.Fprintf(c.stdout, "%d matched, %d would change; nothing was changed\n", t.Matched, t.Changed)
	}
	for _, warning := range t.Warnings {
		fmt.Fprintln(c.stderr, "Warning: "+warning)
	}
	return nil
}

// shown is a value for people, in which nothing is visible.
func shown(v json.RawMessage) string {
	if s := string(v); s != "" && s != "null" {
		return s
	}
	return "none"
}

// definition is the third argument, or what the file behind @ or standard input hold. Source: ours.
func (c *call) definition() (string, error) {
	given := c.args[2]
	switch {
	case given == "-":
		b, err := io.ReadAll(c.stdin)
		return string(b), err
	case strings.HasPrefix(given, "@"):
		b, err := os.ReadFile(given[1:])
		if err != nil {
			return "", failf(exitData, "cannot read the definition: %v", err)
		}
		return string(b), nil
	}
	return given, nil
}

func (c *call) parseDefinition(definition string) (api.Arguments, error) {
	var whole json.RawMessage
	if err := json.Unmarshal([]byte(definition), &whole); err != nil {
		return nil, failf(exitUnavailable, "Could not parse JSON document: %v%s", err, c.definitionHint(definition))
	}
	if !isObject(definition) {
		return nil, failf(exitUnavailable, "Validation failed\n\ndefinition must be a dictionary: %s%s", definition, c.definitionHint(definition))
	}
	var parsed api.Arguments
	if err := json.Unmarshal(whole, &parsed); err != nil {
		return nil, failf(exitUnavailable, "Validation failed\n\n%v", err)
	}
	return parsed, nil
}

func clearPolicy(c *call) error {
	what := "policy"
	if c.kind() == "operator-policies" {
		what = "operator policy"
	}
	c.banner(`Clearing %s "%s" on vhost "%s" ...`, what, c.args[0], c.vhost())
	var err error
	var would api.PolicyTrial
	if c.words.on("dry-run") {
		_, err = c.client.Do(c.ctx, http.MethodDelete, c.trialPath(c.args[0]), nil, &would)
	} else {
		err = c.client.Delete(c.ctx, c.kind(), c.vhost(), c.args[0])
	}
	if status(err) == http.StatusNotFound {
		if status(c.client.Get(c.ctx, nil, "vhosts", c.vhost())) == http.StatusNotFound {
			return c.noVHost(c.vhost())
		}
		return failf(exitUnavailable, "Parameter does not exist")
	}
	if err != nil {
		return err
	}
	if c.words.on("dry-run") {
		return c.showTrial(&would)
	}
	return c.done("", nil)
}

func listPolicies(c *call) error {
	what := "policies"
	if c.kind() == "operator-policies" {
		what = "operator policy overrides"
	}
	c.banner(`Listing %s for vhost "%s" ...`, what, c.vhost())
	rows, err := c.vhostRows(c.kind(), c.vhost())
	if err != nil {
		return err
	}
	slices.SortStableFunc(rows, func(a, b row) int { return priorityOf(a) - priorityOf(b) })
	columns := same("vhost name pattern apply-to definition priority")
	columns[4].as = asJSON
	return c.show(columns, rows)
}

// priorityOf only orders the list; what is no number comes first.
func priorityOf(r row) int {
	n, err := strconv.Atoi(string(r["priority"]))
	if err != nil {
		return 0
	}
	return min(max(n, -1<<30), 1<<30)
}

// names reports whether a definition has a key.
func names(definition api.Arguments, key string) bool {
	for _, f := range definition {
		if f.Name == key {
			return true
		}
	}
	return false
}
