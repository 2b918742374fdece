package cli

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"

	"github.com/bartleby-mq/bartleby/internal/api"
)

// limitsArgument reads an object of limits, as {"max-connections":10}.
func (c *call) limitsArgument(i int) (api.Limits, error) {
	var limits api.Limits
	if err := json.Unmarshal([]byte(c.args[i]), &limits); err != nil || !isObject(c.args[i]) {
		hint := ""
		if repaired, cause, ok := repairJSON(c.args[i]); ok {
			hint = "\n\nIt is not JSON because " + cause + ". Type:\n  " + quote(repaired, c.windows)
		}
		return nil, failf(exitUnavailable, "Could not parse JSON document: limits are an object of numbers, such as {\"max-connections\":10}%s", hint)
	}
	return limits, nil
}

// putLimits sets limits in the order of their names.
func (c *call) putLimits(limits api.Limits, path ...string) error {
	for _, name := range slices.Sorted(maps.Keys(limits)) {
		value := limits[name]
		_, err := c.client.Put(c.ctx, api.PutLimit{Value: &value}, append(slices.Clone(path), name)...)
		if status(err) == http.StatusBadRequest {
			return failf(exitUnavailable, "%s", reasonOf(err))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// clearLimits takes away what is set and not kept.
func (c *call) clearLimits(set api.Object[int64], keep api.Limits, path ...string) error {
	for _, name := range slices.Sorted(maps.Keys(set)) {
		if _, kept := keep[name]; kept {
			continue
		}
		if err := c.client.Delete(c.ctx, append(slices.Clone(path), name)...); err != nil {
			return err
		}
	}
	return nil
}

// vhostLimits are those of the call's virtual host.
func (c *call) vhostLimits() (api.Object[int64], error) {
	var all []api.VHostLimits
	err := c.client.Get(c.ctx, &all, "vhost-limits", c.vhost())
	if status(err) == http.StatusNotFound {
		return nil, c.noVHost(c.vhost())
	}
	if err != nil || len(all) == 0 {
		return nil, err
	}
	return all[0].Value, nil
}

// setVHostLimits puts limits in place of those there are. Source: RabbitMQ rabbitmqctl set_vhost_limits.
func setVHostLimits(c *call) error {
	c.banner(`Setting vhost limits to "%s" for vhost "%s" ...`, c.args[0], c.vhost())
	limits, err := c.limitsArgument(0)
	if err != nil {
		return err
	}
	set, err := c.vhostLimits()
	if err != nil {
		return err
	}
	if err := c.putLimits(limits, "vhost-limits", c.vhost()); err != nil {
		return err
	}
	if err := c.clearLimits(set, limits, "vhost-limits", c.vhost()); err != nil {
		return err
	}
	return c.done("", nil)
}

func clearVHostLimits(c *call) error {
	c.banner(`Clearing vhost "%s" limits ...`, c.vhost())
	set, err := c.vhostLimits()
	if err == nil && len(set) == 0 {
		return failf(exitUnavailable, "Parameter does not exist")
	}
	if err == nil {
		err = c.clearLimits(set, nil, "vhost-limits", c.vhost())
	}
	if err != nil {
		return err
	}
	return c.done("", nil)
}

// listVHostLimits shows the limits of one virtual host as JSON, of all in a table. Source: RabbitMQ rabbitmqctl.
func listVHostLimits(c *call) error {
	if c.words.on("global") {
		c.banner("Listing limits for all vhosts ...")
		return c.limitRows("vhost", "vhost-limits")
	}
	c.banner(`Listing limits for vhost "%s" ...`, c.vhost())
	set, err := c.vhostLimits()
	if err != nil {
		return err
	}
	return c.showLimits(set)
}

// limitRows lists limits with those whose they are.
func (c *call) limitRows(whose string, path ...string) error {
	rows, err := c.rows(path...)
	if err != nil {
		return err
	}
	return c.show([]column{{name: whose, path: whose}, {name: "limits", path: "value", as: asJSON}}, rows)
}

// showLimits shows limits as JSON; to people, none are nothing. Source: RabbitMQ rabbitmqctl.
func (c *call) showLimits(set api.Object[int64]) error {
	if len(set) == 0 && !c.machine() {
		return nil
	}
	b, err := json.Marshal(set)
	if err != nil {
		return err
	}
	return c.done(string(b), b)
}

// noUserOr says that the user does not exist, if that is why the broker refused.
func (c *call) noUserOr(err error, name string) error {
	if status(err) == http.StatusNotFound {
		return c.noUser(name)
	}
	return err
}

// setUserLimits adds limits to those there are. Source: RabbitMQ rabbitmqctl set_user_limits.
func setUserLimits(c *call) error {
	user := c.args[0]
	c.banner(`Setting user limits to "%s" for user "%s" ...`, c.args[1], user)
	limits, err := c.limitsArgument(1)
	if err != nil {
		return err
	}
	if err := c.putLimits(limits, "user-limits", user); err != nil {
		return c.noUserOr(err, user)
	}
	return c.done("", nil)
}

func clearUserLimits(c *call) error {
	user, limit := c.args[0], c.args[1]
	if limit == "all" {
		c.banner(`Clearing all limits for user "%s" ...`, user)
	} else {
		c.banner(`Clearing "%s" limit for user "%s" ...`, limit, user)
	}
	u, err := c.user(user)
	if err != nil {
		return err
	}
	if limit == "all" {
		err = c.clearLimits(u.Limits, nil, "user-limits", user)
	} else {
		err = c.client.Delete(c.ctx, "user-limits", user, limit)
	}
	if status(err) == http.StatusBadRequest {
		return failf(exitUnavailable, "%s", reasonOf(err))
	}
	if err != nil {
		return err
	}
	return c.done("", nil)
}

func listUserLimits(c *call) error {
	user, named := c.words.get("user")
	if !named {
		c.banner("Listing limits for all users ...")
		return c.limitRows("user", "user-limits")
	}
	c.banner(`Listing limits for user "%s" ...`, user)
	u, err := c.user(user)
	if err != nil {
		return err
	}
	return c.showLimits(u.Limits)
}
