package resources

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/cli/command"
	"github.com/bartleby-mq/bartleby/internal/cli/output"
)

// listVHostOptions lists what is in force, and says what of it was set.
func listVHostOptions(c *command.Call) error {
	c.Banner("Listing options of vhost %s ...", c.VHost())
	path := api.Path("x", "options", c.VHost())
	var all, set api.Arguments
	if _, err := c.Client.Do(c.Ctx, http.MethodGet, path+"?effective=true", nil, &all); err != nil {
		if command.Status(err) == http.StatusNotFound {
			return c.NoVHost(c.VHost())
		}
		return err
	}
	if _, err := c.Client.Do(c.Ctx, http.MethodGet, path, nil, &set); err != nil {
		return err
	}
	origins := map[string]string{}
	for _, o := range set {
		origins[o.Name] = "set"
	}
	var rows [][]output.Cell
	for _, o := range all {
		value, err := json.Marshal(api.Arguments{o})
		if err != nil {
			return err
		}
		var shown command.Row
		if err := json.Unmarshal(value, &shown); err != nil {
			return err
		}
		rows = append(rows, []output.Cell{output.StringCell(o.Name), shown[o.Name], output.StringCell(cmp.Or(origins[o.Name], "default"))})
	}
	return c.Table([]string{"name", "value", "origin"}, rows)
}

// setVHostOption sets one option: to a number, true or false, or else a word.
func setVHostOption(c *command.Call) error {
	name, given := c.Args[0], c.Args[1]
	c.Banner(`Setting option "%s" of vhost "%s" to "%s" ...`, name, c.VHost(), given)
	_, err := c.Client.Put(c.Ctx, command.Row{name: optionValue(name, given)}, "x", "options", c.VHost())
	switch command.Status(err) {
	case http.StatusNotFound:
		return c.NoVHost(c.VHost())
	case http.StatusBadRequest:
		return command.Failf(command.ExitData, "%s", command.ReasonOf(err))
	}
	if err != nil {
		return err
	}
	return c.Done("", nil)
}

// optionValue is the value of an option in JSON. A duration is text, so that a number without a unit is refused.
func optionValue(name, given string) output.Cell {
	lasts := slices.ContainsFunc(api.VHostOptions, func(o api.VHostOption) bool { return o.Name == name && o.Lasts() })
	object := strings.HasPrefix(given, "{") && json.Valid([]byte(given))
	if _, err := strconv.ParseInt(given, 10, 64); err == nil && !lasts || given == "true" || given == "false" || object {
		return output.Cell(given)
	}
	return output.StringCell(given)
}

// optionsHelp lists the options and what they may be.
func optionsHelp() string {
	text := "Options"
	for _, o := range api.VHostOptions {
		text += fmt.Sprintf("\n   %-23s %s", o.Name, o.Values)
	}
	return text
}

func clearVHostOption(c *command.Call) error {
	c.Banner(`Clearing option "%s" of vhost "%s" ...`, c.Args[0], c.VHost())
	err := c.Client.Delete(c.Ctx, "x", "options", c.VHost(), c.Args[0])
	if command.Status(err) == http.StatusNotFound {
		if command.Status(c.Client.Get(c.Ctx, nil, "vhosts", c.VHost())) == http.StatusNotFound {
			return c.NoVHost(c.VHost())
		}
		return command.Failf(command.ExitUnavailable, "Option is not set")
	}
	if command.Status(err) == http.StatusBadRequest {
		return command.Failf(command.ExitData, "%s", command.ReasonOf(err))
	}
	if err != nil {
		return err
	}
	return c.Done("", nil)
}
