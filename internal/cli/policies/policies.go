package policies

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
	"github.com/bartleby-mq/bartleby/internal/cli/command"
	"github.com/bartleby-mq/bartleby/internal/cli/jsonfile"
	"github.com/bartleby-mq/bartleby/internal/cli/output"
)

// Segment tells policies from operator policies by the command's name.
func Segment(c *command.Call) (segment string) {
	if strings.Contains(c.Command.Name, "operator") {
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

func setPolicy(c *command.Call) error {
	name, pattern := c.Args[0], c.Args[1]
	definition, err := readDefinition(c)
	if err != nil {
		return err
	}
	priority, err := strconv.ParseInt(c.Options.Or("priority", "0"), 10, 64)
	if err != nil {
		return c.Invalid(fmt.Sprintf("Invalid options for this command:\n--priority : %s\npriority should be a number, actually was \"%s\"",
			c.Options.Or("priority", ""), c.Options.Or("priority", "")))
	}
	what := "policy"
	if Segment(c) == "operator-policies" {
		what = "operator policy override"
	}
	c.Banner(`Setting %s "%s" for pattern "%s" to "%s" with priority "%d" for vhost "%s" ...`,
		what, name, pattern, command.OneLine(definition), priority, c.VHost())
	parsed, err := parseDefinition(c, definition)
	if err != nil {
		return err
	}
	number, expression, applyTo := api.Priority(priority), api.Pattern(pattern), c.Options.Or("apply-to", "all")
	put := api.PutPolicy{Pattern: &expression, Definition: &parsed, Priority: &number, ApplyTo: &applyTo}
	if c.Options.On("dry-run") {
		var would api.PolicyTrial
		_, err := c.Client.Do(c.Ctx, http.MethodPut, trialPath(c, name), put, &would)
		if err != nil {
			return refusedPolicy(c, err, parsed)
		}
		return showTrial(c, &would)
	}
	if _, err = c.Client.Put(c.Ctx, put, Segment(c), c.VHost(), name); err != nil {
		return refusedPolicy(c, err, parsed)
	}
	warnOfMarks(c, pattern, definition)
	if !c.Quiet() && names(parsed, "dead-letter-exchange") {
		warnOfPolicy(c, name, put)
	}
	return c.Done("", nil)
}

// refusedPolicy says why a policy was refused, and what may have been meant.
func refusedPolicy(c *command.Call, err error, definition api.Arguments) error {
	switch command.Status(err) {
	case http.StatusNotFound:
		return c.NoVHost(c.VHost())
	case http.StatusBadRequest:
		return command.Failf(command.ExitUnavailable, "%s%s%s",
			command.ReasonOf(err), keyHint(c, definition), patternHint(command.ReasonOf(err)))
	}
	return err
}

// trialPath is where a change of a policy is tried.
func trialPath(c *command.Call, name string) string {
	return api.Path("x", "dry-run", Segment(c), c.VHost(), name)
}

// warnOfPolicy tells people what is odd about a policy that was set. A broker that cannot tell is not asked again.
func warnOfPolicy(c *command.Call, name string, put api.PutPolicy) {
	var is api.PolicyTrial
	if _, err := c.Client.Do(c.Ctx, http.MethodPut, trialPath(c, name), put, &is); err != nil {
		return
	}
	for _, warning := range is.Warnings {
		fmt.Fprintln(c.Stderr, "Warning: "+warning)
	}
}

// showTrial lists the objects that a policy would match, and what would change.
func showTrial(c *command.Call, t *api.PolicyTrial) error {
	if strings.HasPrefix(c.Formatter(), "json") {
		return c.ShowJSON(t)
	}
	var rows [][]output.Cell
	for _, m := range t.Matches {
		var changes []string
		for _, s := range m.Changes {
			changes = append(changes, fmt.Sprintf("%s: %s -> %s", s.Name, shown(s.Before), shown(s.After)))
		}
		rows = append(rows, []output.Cell{
			output.StringCell(m.Name), output.StringCell(m.Kind), output.StringCell(m.PolicyBefore), output.StringCell(m.PolicyAfter), output.StringCell(strings.Join(changes, ", ")),
		})
	}
	if err := c.Table([]string{"name", "kind", "policy_before", "policy_after", "changes"}, rows); err != nil {
		return err
	}
	if !c.Quiet() {
		fmt.Fprintf(c.Stdout, "%d matched, %d would change; nothing was changed\n", t.Matched, t.Changed)
	}
	for _, warning := range t.Warnings {
		fmt.Fprintln(c.Stderr, "Warning: "+warning)
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

// readDefinition is the third argument, or what the file behind @ or standard input hold. Source: ours.
func readDefinition(c *command.Call) (string, error) {
	given := c.Args[2]
	switch {
	case given == "-":
		b, err := io.ReadAll(c.Stdin)
		return string(b), err
	case strings.HasPrefix(given, "@"):
		b, err := os.ReadFile(given[1:])
		if err != nil {
			return "", command.Failf(command.ExitData, "cannot read the definition: %v", err)
		}
		return string(b), nil
	}
	return given, nil
}

func parseDefinition(c *command.Call, definition string) (api.Arguments, error) {
	var whole json.RawMessage
	if err := json.Unmarshal([]byte(definition), &whole); err != nil {
		fault := jsonfile.Reason([]byte(definition), err)
		return nil, command.Failf(command.ExitUnavailable, "Could not parse JSON document: %s%s", fault, definitionHint(c, definition))
	}
	if !jsonfile.IsObject(definition) {
		return nil, command.Failf(command.ExitUnavailable, "Validation failed\n\ndefinition must be a dictionary: %s%s", definition, definitionHint(c, definition))
	}
	var parsed api.Arguments
	if err := json.Unmarshal(whole, &parsed); err != nil {
		return nil, command.Failf(command.ExitUnavailable, "Validation failed\n\n%v", err)
	}
	return parsed, nil
}

func clearPolicy(c *command.Call) error {
	what := "policy"
	if Segment(c) == "operator-policies" {
		what = "operator policy"
	}
	c.Banner(`Clearing %s "%s" on vhost "%s" ...`, what, c.Args[0], c.VHost())
	var err error
	var would api.PolicyTrial
	if c.Options.On("dry-run") {
		_, err = c.Client.Do(c.Ctx, http.MethodDelete, trialPath(c, c.Args[0]), nil, &would)
	} else {
		err = c.Client.Delete(c.Ctx, Segment(c), c.VHost(), c.Args[0])
	}
	if command.Status(err) == http.StatusNotFound {
		if command.Status(c.Client.Get(c.Ctx, nil, "vhosts", c.VHost())) == http.StatusNotFound {
			return c.NoVHost(c.VHost())
		}
		return command.Failf(command.ExitUnavailable, "Parameter does not exist")
	}
	if err != nil {
		return err
	}
	if c.Options.On("dry-run") {
		return showTrial(c, &would)
	}
	return c.Done("", nil)
}

func listPolicies(c *command.Call) error {
	what := "policies"
	if Segment(c) == "operator-policies" {
		what = "operator policy overrides"
	}
	c.Banner(`Listing %s for vhost "%s" ...`, what, c.VHost())
	rows, err := c.VhostRows(Segment(c), c.VHost())
	if err != nil {
		return err
	}
	slices.SortStableFunc(rows, func(a, b command.Row) int { return priorityOf(a) - priorityOf(b) })
	columns := command.Same("vhost name pattern apply-to definition priority")
	columns[4].As = command.AsJSON
	return c.Show(columns, rows)
}

// priorityOf only orders the list; what is no number comes first.
func priorityOf(r command.Row) int {
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
