package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/api"
)

func explainHelp() string {
	return `The source of a setting is 'argument' (of the declaration), 'policy', 'operator policy', 'option' (of the virtual host) or
'default'. The reason names values that were overridden. Then come the policies of the virtual host, effective ones first,
and settings without effect. With --formatter json the output is one object.`
}

// explanation asks how a queue, or an exchange, comes to what it runs with.
func (c *call) explanation(kind, name string) (e api.Explanation, err error) {
	err = c.client.Get(c.ctx, &e, "x", "explain", kind, c.vhost(), name)
	if status(err) == http.StatusNotFound {
		return e, c.noQueue(name, "Object (queue, stream, exchange, etc) '%s' was not found in virtual host '%s'", exitData)
	}
	return e, err
}

// explain tells each setting's value, source and why, of a queue or an exchange, as the command's name says.
func explain(c *call) error {
	kind := strings.TrimPrefix(c.command.name, "explain_")
	c.banner("Explaining %s '%s' in vhost '%s' ...", kind, c.args[0], c.vhost())
	e, err := c.explanation(kind+"s", c.args[0])
	if err != nil {
		return err
	}
	switch c.formatter() {
	case "json", "json_stream":
		return c.showJSON(e)
	}
	var rows [][]cell
	for _, s := range e.Settings {
		source := s.Source
		if s.From != "" {
			source += " " + s.From
		}
		rows = append(rows, []cell{textCell(s.Name), s.Value, textCell(source), textCell(s.Why)})
	}
	if err := c.table([]string{"setting", "value", "source", "why"}, rows); err != nil || c.machine() {
		return err
	}
	for _, w := range e.Warnings {
		fmt.Fprintln(c.stderr, "Warning: "+w)
	}
	if c.words.on("silent") {
		return nil
	}
	fmt.Fprintf(c.stdout, "\nType: %s. Policies of vhost '%s':\n", e.Type, c.vhost())
	if len(e.Policies) == 0 {
		fmt.Fprintln(c.stdout, "   none")
	}
	for _, p := range e.Policies {
		fmt.Fprintf(c.stdout, "   %s %s (pattern %q, priority %d): %s\n", policyKind(p), p.Name, p.Pattern, p.Priority, p.Why)
	}
	for _, i := range e.Ignored {
		fmt.Fprintf(c.stdout, "Ignored: %s: %s\n", strings.TrimSpace(fmt.Sprintf("%s of %s %s", i.Name, i.Source, i.From)), i.Why)
	}
	return nil
}

func policyKind(p api.ExplainedPolicy) string {
	if p.Operator {
		return "operator policy"
	}
	return "policy"
}

// listMatchingPolicies lists the policies that match, that in force first.
func listMatchingPolicies(c *call) error {
	kind := c.words.or("object-type", "queue")
	if kind != "queue" && kind != "exchange" {
		return c.invalid(fmt.Sprintf("object type '%s' not recognised; should be queue or exchange", kind))
	}
	c.banner("Listing policies that match %s '%s' in vhost '%s' ...", kind, c.args[0], c.vhost())
	e, err := c.explanation(kind+"s", c.args[0])
	if err != nil {
		return err
	}
	var rows [][]cell
	for _, p := range e.Policies {
		if p.Matches {
			definition, err := json.Marshal(p.Definition)
			if err != nil {
				return err
			}
			rows = append(rows, []cell{textCell(c.vhost()), textCell(p.Name), textCell(p.Pattern), textCell(p.ApplyTo),
				asJSON(cell(definition)), cell(strconv.FormatInt(p.Priority, 10))})
		}
	}
	return c.table([]string{"vhost", "name", "pattern", "apply-to", "definition", "priority"}, rows)
}
