package policies

import (
	"encoding/json"
	"net/http"
	"slices"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/cli/command"
	"github.com/bartleby-mq/bartleby/internal/cli/jsonfile"
	"github.com/bartleby-mq/bartleby/internal/cli/output"
)

func listParameters(c *command.Call) error {
	c.Banner(`Listing runtime parameters for vhost "%s" ...`, c.VHost())
	rows, err := c.Rows("parameters")
	if err != nil {
		return err
	}
	here := string(output.StringCell(c.VHost()))
	rows = slices.DeleteFunc(rows, func(r command.Row) bool { return string(r["vhost"]) != here })
	columns := command.Same("component name value")
	columns[2].As = command.AsJSON
	return c.Show(columns, rows)
}

// valueArgument reads JSON of any kind.
func valueArgument(c *command.Call, i int) (api.PutParameter, error) {
	var value json.RawMessage
	if err := json.Unmarshal([]byte(c.Args[i]), &value); err != nil {
		hint := c.RepairHint(c.Args[i])
		fault := jsonfile.Reason([]byte(c.Args[i]), err)
		return api.PutParameter{}, command.Failf(command.ExitUnavailable, "Could not parse JSON document: %s%s", fault, hint)
	}
	return api.PutParameter{Value: value}, nil
}

func setParameter(c *command.Call) error {
	component, name := c.Args[0], c.Args[1]
	c.Banner(`Setting runtime parameter "%s" for component "%s" to "%s" in vhost "%s" ...`, name, component, command.OneLine(c.Args[2]), c.VHost())
	put, err := valueArgument(c, 2)
	if err != nil {
		return err
	}
	_, err = c.Client.Put(c.Ctx, put, "parameters", component, c.VHost(), name)
	if command.Status(err) == http.StatusNotFound {
		return c.NoVHost(c.VHost())
	}
	if err != nil {
		return command.RefusedValue(err)
	}
	return c.Done("", nil)
}

func clearParameter(c *command.Call) error {
	component, name := c.Args[0], c.Args[1]
	c.Banner(`Clearing runtime parameter "%s" for component "%s" on vhost "%s" ...`, name, component, c.VHost())
	return noParameter(c, c.Client.Delete(c.Ctx, "parameters", component, c.VHost(), name))
}

// noParameter ends a command that has taken a parameter away, or could not.
func noParameter(c *command.Call, err error) error {
	switch command.Status(err) {
	case http.StatusNotFound:
		return command.Failf(command.ExitUnavailable, "Parameter does not exist")
	case http.StatusMethodNotAllowed:
		return command.Failf(command.ExitUnavailable, "clear this parameter with its own command: clear_operator_policy, clear_vhost_limits or clear_vhost_option")
	}
	if err != nil {
		return command.RefusedValue(err)
	}
	return c.Done("", nil)
}

func setGlobalParameter(c *command.Call) error {
	c.Banner(`Setting global runtime parameter "%s" to "%s" ...`, c.Args[0], command.OneLine(c.Args[1]))
	put, err := valueArgument(c, 1)
	if err != nil {
		return err
	}
	if _, err := c.Client.Put(c.Ctx, put, "global-parameters", c.Args[0]); err != nil {
		return command.RefusedValue(err)
	}
	return c.Done("", nil)
}

func clearGlobalParameter(c *command.Call) error {
	c.Banner(`Clearing global runtime parameter "%s" ...`, c.Args[0])
	return noParameter(c, c.Client.Delete(c.Ctx, "global-parameters", c.Args[0]))
}

func listGlobalParameters(c *command.Call) error {
	c.Banner("Listing global runtime parameters ...")
	rows, err := c.Rows("global-parameters")
	if err != nil {
		return err
	}
	return c.Show([]command.Column{{Name: "name", Path: "name"}, {Name: "value", Path: "value", As: command.AsJSON}}, rows)
}
