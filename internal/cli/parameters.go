package cli

import (
	"encoding/json"
	"net/http"
	"slices"

	"github.com/bartleby-mq/bartleby/internal/api"
)

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

// valueArgument reads JSON of any kind.
func (c *call) valueArgument(i int) (api.PutParameter, error) {
	var value json.RawMessage
	if err := json.Unmarshal([]byte(c.args[i]), &value); err != nil {
		hint := ""
		if repaired, cause, ok := repairJSON(c.args[i]); ok {
			hint = "\n\nIt is not JSON because " + cause + ". Type:\n  " + quote(repaired, c.windows)
		}
		return api.PutParameter{}, failf(exitUnavailable, "Could not parse JSON document: %v%s", err, hint)
	}
	return api.PutParameter{Value: value}, nil
}

// refusedValue words a refusal of a value as that of a validation.
func refusedValue(err error) error {
	if status(err) == http.StatusBadRequest {
		return failf(exitUnavailable, "%s", reasonOf(err))
	}
	return err
}

func setParameter(c *call) error {
	component, name := c.args[0], c.args[1]
	c.banner(`Setting runtime parameter "%s" for component "%s" to "%s" in vhost "%s" ...`, name, component, c.args[2], c.vhost())
	put, err := c.valueArgument(2)
	if err != nil {
		return err
	}
	_, err = c.client.Put(c.ctx, put, "parameters", component, c.vhost(), name)
	if status(err) == http.StatusNotFound {
		return c.noVHost(c.vhost())
	}
	if err != nil {
		return refusedValue(err)
	}
	return c.done("", nil)
}

func clearParameter(c *call) error {
	component, name := c.args[0], c.args[1]
	c.banner(`Clearing runtime parameter "%s" for component "%s" on vhost "%s" ...`, name, component, c.vhost())
	return c.noParameter(c.client.Delete(c.ctx, "parameters", component, c.vhost(), name))
}

// noParameter ends a command that has taken a parameter away, or could not.
func (c *call) noParameter(err error) error {
	switch status(err) {
	case http.StatusNotFound:
		return failf(exitUnavailable, "Parameter does not exist")
	case http.StatusMethodNotAllowed:
		return failf(exitUnavailable, "clear this parameter with its own command: clear_operator_policy, clear_vhost_limits or clear_vhost_option")
	}
	if err != nil {
		return refusedValue(err)
	}
	return c.done("", nil)
}

func setGlobalParameter(c *call) error {
	c.banner(`Setting global runtime parameter "%s" to "%s" ...`, c.args[0], c.args[1])
	put, err := c.valueArgument(1)
	if err != nil {
		return err
	}
	if _, err := c.client.Put(c.ctx, put, "global-parameters", c.args[0]); err != nil {
		return refusedValue(err)
	}
	return c.done("", nil)
}

func clearGlobalParameter(c *call) error {
	c.banner(`Clearing global runtime parameter "%s" ...`, c.args[0])
	return c.noParameter(c.client.Delete(c.ctx, "global-parameters", c.args[0]))
}

func listGlobalParameters(c *call) error {
	c.banner("Listing global runtime parameters ...")
	rows, err := c.rows("global-parameters")
	if err != nil {
		return err
	}
	return c.show([]column{{name: "name", path: "name"}, {name: "value", path: "value", as: asJSON}}, rows)
}
