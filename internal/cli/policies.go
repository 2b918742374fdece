package cli

import (
	"encoding/json"
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

func setPolicy(c *call) error {
	name, pattern := c.args[0], c.args[1]
	definition, err := c.definition()
	if err != nil {
		return err
	}
	priority, err := strconv.ParseInt(c.words.or("priority", "0"), 10, 64)
	if err != nil {
		return failf(exitUnavailable, "Validation failed\n\npriority should be a number, actually was \"%s\"", c.words.or("priority", ""))
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
	number, applyTo := api.Priority(priority), c.words.or("apply-to", "all")
	put := api.PutPolicy{Pattern: &pattern, Definition: &parsed, Priority: &number, ApplyTo: &applyTo}
	_, err = c.client.Put(c.ctx, put, c.kind(), c.vhost(), name)
	switch {
	case status(err) == http.StatusNotFound:
		return c.noVHost(c.vhost())
	case status(err) == http.StatusBadRequest:
		return failf(exitUnavailable, "%s%s", reasonOf(err), keyHint(parsed))
	case err != nil:
		return err
	}
	return c.done("", nil)
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
			return "", failf(exitData, "the definition could not be read: %v", err)
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
	err := c.client.Delete(c.ctx, c.kind(), c.vhost(), c.args[0])
	if status(err) == http.StatusNotFound {
		if status(c.client.Get(c.ctx, nil, "vhosts", c.vhost())) == http.StatusNotFound {
			return c.noVHost(c.vhost())
		}
		return failf(exitUnavailable, "Parameter does not exist")
	}
	if err != nil {
		return err
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

func listParameters(c *call) error {
	c.banner(`Listing runtime parameters for vhost "%s" ...`, c.vhost())
	rows, err := c.rows("parameters")
	if err != nil {
		return err
	}
	here := string(textCell(c.vhost()))
	rows = slices.DeleteFunc(rows, func(r row) bool { return string(r["vhost"]) != here })
	columns := same("component name value")
	columns[2].as = asJSON
	return c.show(columns, rows)
}
