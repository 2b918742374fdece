package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	"github.com/bartleby-mq/bartleby/internal/api"
)

// listVHostOptions lists what is in force, and says what of it was set.
func listVHostOptions(c *call) error {
	c.banner("Listing options of vhost %s ...", c.vhost())
	path := api.Path("x", "options", c.vhost())
	var all, set api.Arguments
	if _, err := c.client.Do(c.ctx, http.MethodGet, path+"?effective=true", nil, &all); err != nil {
		if status(err) == http.StatusNotFound {
			return c.noVHost(c.vhost())
		}
		return err
	}
	if _, err := c.client.Do(c.ctx, http.MethodGet, path, nil, &set); err != nil {
		return err
	}
	origins := map[string]string{}
	for _, o := range set {
		origins[o.Name] = "set"
	}
	var rows [][]cell
	for _, o := range all {
		value, err := json.Marshal(api.Arguments{o})
		if err != nil {
			return err
		}
		var shown row
		if err := json.Unmarshal(value, &shown); err != nil {
			return err
		}
		rows = append(rows, []cell{textCell(o.Name), shown[o.Name], textCell(cmp.Or(origins[o.Name], "default"))})
	}
	return c.table([]string{"name", "value", "origin"}, rows)
}

// setVHostOption sets one option: to a number, true or false, or else a word.
func setVHostOption(c *call) error {
	name, given := c.args[0], c.args[1]
	c.banner(`Setting option "%s" of vhost "%s" to "%s" ...`, name, c.vhost(), given)
	value := textCell(given)
	if _, err := strconv.ParseInt(given, 10, 64); err == nil || given == "true" || given == "false" {
		value = cell(given)
	}
	_, err := c.client.Put(c.ctx, row{name: value}, "x", "options", c.vhost())
	switch status(err) {
	case http.StatusNotFound:
		return c.noVHost(c.vhost())
	case http.StatusBadRequest:
		return failf(exitData, "%s", reasonOf(err))
	}
	if err != nil {
		return err
	}
	return c.done("", nil)
}

// optionsHelp lists the options and what they may be.
func optionsHelp() string {
	text := "Options"
	for _, o := range api.VHostOptions {
		text += fmt.Sprintf("\n   %-23s %s", o.Name, o.Values)
	}
	return text
}

func clearVHostOption(c *call) error {
	c.banner(`Clearing option "%s" of vhost "%s" ...`, c.args[0], c.vhost())
	err := c.client.Delete(c.ctx, "x", "options", c.vhost(), c.args[0])
	if status(err) == http.StatusNotFound {
		if status(c.client.Get(c.ctx, nil, "vhosts", c.vhost())) == http.StatusNotFound {
			return c.noVHost(c.vhost())
		}
		return failf(exitUnavailable, "Option is not set")
	}
	if status(err) == http.StatusBadRequest {
		return failf(exitData, "%s", reasonOf(err))
	}
	if err != nil {
		return err
	}
	return c.done("", nil)
}
