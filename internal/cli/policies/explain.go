package policies

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/cli/command"
	"github.com/bartleby-mq/bartleby/internal/cli/output"
)

func explainHelp() string {
	return `The source of a setting is 'argument' (of the declaration), 'policy', 'operator policy', 'option' (of the virtual host) or
'default'. The reason names values that were overridden. Then come the policies of the virtual host, effective ones first,
and settings without effect. With --formatter json the output is one object.`
}

// getExplanation asks how a queue, or an exchange, comes to what it runs with.
func getExplanation(c *command.Call, kind, name string) (e api.Explanation, err error) {
	err = c.Client.Get(c.Ctx, &e, "x", "explain", kind, c.VHost(), name)
	if command.Status(err) == http.StatusNotFound {
		return e, c.NoObject(name)
	}
	return e, err
}

// explain tells each setting's value, source and why, of a queue or an exchange, as the command's name says.
func explain(c *command.Call) error {
	kind := strings.TrimPrefix(c.Command.Name, "explain_")
	c.Banner("Explaining %s '%s' in vhost '%s' ...", kind, c.Args[0], c.VHost())
	e, err := getExplanation(c, kind+"s", c.Args[0])
	if err != nil {
		return err
	}
	switch c.Formatter() {
	case "json", "json_stream":
		return c.ShowJSON(e)
	}
	var rows [][]output.Cell
	for _, s := range e.Settings {
		source := s.Source
		if s.From != "" {
			source += " " + s.From
		}
		value := s.Value
		if s.Name == "dead-letter-exchange" && string(value) == `""` && !c.Machine() {
			value = output.StringCell("(default exchange)")
		}
		if s.Name == "cycle" && string(value) == `"shelf"` && !c.Machine() {
			value = output.StringCell("lost letter")
		}
		rows = append(rows, []output.Cell{output.StringCell(s.Name), value, output.StringCell(source), output.StringCell(s.Why)})
	}
	if err := c.Table([]string{"setting", "value", "source", "why"}, rows); err != nil || c.Machine() {
		return err
	}
	for _, w := range e.Warnings {
		fmt.Fprintln(c.Stderr, "Warning: "+w)
	}
	if c.Options.On("silent") {
		return nil
	}
	fmt.Fprintf(c.Stdout, "\nType: %s. Policies of vhost '%s':\n", e.Type, c.VHost())
	if len(e.Policies) == 0 {
		fmt.Fprintln(c.Stdout, "   none")
	}
	for _, p := range e.Policies {
		fmt.Fprintf(c.Stdout, "   %s %s (pattern %q, priority %d): %s\n", policyKind(p), p.Name, p.Pattern, p.Priority, p.Why)
	}
	for _, i := range e.Ignored {
		fmt.Fprintf(c.Stdout, "Ignored: %s: %s\n", strings.TrimSpace(fmt.Sprintf("%s of %s %s", i.Name, i.Source, i.From)), i.Why)
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
func listMatchingPolicies(c *command.Call) error {
	kind := c.Options.Or("object-type", "queue")
	if kind != "queue" && kind != "exchange" {
		return c.Invalid(fmt.Sprintf("object type '%s' not recognised; should be queue or exchange", kind))
	}
	c.Banner("Listing policies that match %s '%s' in vhost '%s' ...", kind, c.Args[0], c.VHost())
	e, err := getExplanation(c, kind+"s", c.Args[0])
	if err != nil {
		return err
	}
	var rows [][]output.Cell
	for _, p := range e.Policies {
		if p.Matches {
			definition, err := json.Marshal(p.Definition)
			if err != nil {
				return err
			}
			rows = append(rows, []output.Cell{output.StringCell(c.VHost()), output.StringCell(p.Name), output.StringCell(p.Pattern), output.StringCell(p.ApplyTo),
				command.AsJSON(output.Cell(definition)), output.Cell(strconv.FormatInt(p.Priority, 10))})
		}
	}
	return c.Table([]string{"vhost", "name", "pattern", "apply-to", "definition", "priority"}, rows)
}
