package resources

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/cli/command"
	"github.com/bartleby-mq/bartleby/internal/cli/output"
)

func exchangeColumns(*command.Call) []command.Column {
	return command.Same("name type durable auto_delete internal arguments policy user_who_performed_action messages_delayed")
}

func listExchanges(c *command.Call) error {
	columns, err := c.Choose(exchangeColumns(c), "name type")
	if err != nil {
		return err
	}
	c.Banner("Listing exchanges for vhost %s ...", c.VHost())
	return c.List(columns, "exchanges", c.VHost())
}

func bindingColumns(*command.Call) []command.Column {
	return []command.Column{
		{Name: "source_name", Path: "source"},
		{Name: "source_kind", Path: "source", As: func(output.Cell) output.Cell { return output.StringCell("exchange") }},
		{Name: "destination_name", Path: "destination"},
		{Name: "destination_kind", Path: "destination_type"},
		{Name: "routing_key", Path: "routing_key"},
		{Name: "arguments", Path: "arguments"},
		{Name: "vhost", Path: "vhost"},
	}
}

func listBindings(c *command.Call) error {
	columns, err := c.Choose(bindingColumns(c), "source_name source_kind destination_name destination_kind routing_key arguments")
	if err != nil {
		return err
	}
	c.Banner("Listing bindings for vhost %s...", c.VHost())
	return c.List(columns, "bindings", c.VHost())
}

func deleteExchange(c *command.Call) error {
	name := c.Args[0]
	c.Banner("Deleting exchange '%s' in vhost '%s' ...", name, c.VHost())
	path := api.Path("exchanges", c.VHost(), name)
	if c.Options.On("if-unused") {
		path += "?if-unused=true"
	}
	left, err := c.Client.Remove(c.Ctx, path)
	switch {
	case command.Status(err) == http.StatusNotFound:
		return c.NoQueue(name, "No such exchange was found: '%s' in virtual host '%s'", command.ExitUsage)
	case command.Status(err) == http.StatusBadRequest && strings.Contains(command.ReasonOf(err), "in use"):
		return command.Failf(command.ExitUsage, "The exchange is in use")
	case err != nil:
		return err
	case left == 0:
		return c.Done("Exchange was successfully deleted", nil)
	}
	n := strconv.Itoa(left)
	return c.Done("Exchange was successfully deleted. "+n+" scheduled messages are kept: they are sent if the exchange is declared again "+
		"before they are due; purge_scheduled cancels them", output.Cell(n))
}
