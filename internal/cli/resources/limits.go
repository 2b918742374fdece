package resources

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/cli/command"
	"github.com/bartleby-mq/bartleby/internal/cli/jsonfile"
)

// limitsArgument reads an object of limits, as {"max-connections":10}.
func limitsArgument(c *command.Call, i int) (api.Limits, error) {
	var limits api.Limits
	if err := json.Unmarshal([]byte(c.Args[i]), &limits); err != nil || !jsonfile.IsObject(c.Args[i]) {
		const refusal = "Could not parse JSON document: limits are an object of numbers, such as {\"max-connections\":10}%s"
		return nil, command.Failf(command.ExitUnavailable, refusal, c.RepairHint(c.Args[i]))
	}
	return limits, nil
}

// putLimits sets limits in the order of their names.
func putLimits(c *command.Call, limits api.Limits, path ...string) error {
	for _, name := range slices.Sorted(maps.Keys(limits)) {
		value := limits[name]
		_, err := c.Client.Put(c.Ctx, api.PutLimit{Value: &value}, append(slices.Clone(path), name)...)
		if command.Status(err) == http.StatusBadRequest {
			return command.Failf(command.ExitUnavailable, "%s", command.ReasonOf(err))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// clearLimits takes away what is set and not kept.
func clearLimits(c *command.Call, set api.Object[int64], keep api.Limits, path ...string) error {
	for _, name := range slices.Sorted(maps.Keys(set)) {
		if _, kept := keep[name]; kept {
			continue
		}
		if err := c.Client.Delete(c.Ctx, append(slices.Clone(path), name)...); err != nil {
			return err
		}
	}
	return nil
}

// vhostLimits are those of the call's virtual host.
func vhostLimits(c *command.Call) (api.Object[int64], error) {
	var all []api.VHostLimits
	err := c.Client.Get(c.Ctx, &all, "vhost-limits", c.VHost())
	if command.Status(err) == http.StatusNotFound {
		return nil, c.NoVHost(c.VHost())
	}
	if err != nil || len(all) == 0 {
		return nil, err
	}
	return all[0].Value, nil
}

// setVHostLimits puts limits in place of those there are. Source: RabbitMQ rabbitmqctl set_vhost_limits.
func setVHostLimits(c *command.Call) error {
	c.Banner(`Setting vhost limits to "%s" for vhost "%s" ...`, command.OneLine(c.Args[0]), c.VHost())
	limits, err := limitsArgument(c, 0)
	if err != nil {
		return err
	}
	set, err := vhostLimits(c)
	if err != nil {
		return err
	}
	if err := putLimits(c, limits, "vhost-limits", c.VHost()); err != nil {
		return err
	}
	if err := clearLimits(c, set, limits, "vhost-limits", c.VHost()); err != nil {
		return err
	}
	return c.Done("", nil)
}

func clearVHostLimits(c *command.Call) error {
	c.Banner(`Clearing vhost "%s" limits ...`, c.VHost())
	set, err := vhostLimits(c)
	if err == nil && len(set) == 0 {
		return command.Failf(command.ExitUnavailable, "Parameter does not exist")
	}
	if err == nil {
		err = clearLimits(c, set, nil, "vhost-limits", c.VHost())
	}
	if err != nil {
		return err
	}
	return c.Done("", nil)
}

// listVHostLimits shows the limits of one virtual host as JSON, of all in a table. Source: RabbitMQ rabbitmqctl.
func listVHostLimits(c *command.Call) error {
	if c.Options.On("global") {
		c.Banner("Listing limits for all vhosts ...")
		return limitRows(c, "vhost", "vhost-limits")
	}
	c.Banner(`Listing limits for vhost "%s" ...`, c.VHost())
	set, err := vhostLimits(c)
	if err != nil {
		return err
	}
	return showLimits(c, set)
}

// limitRows lists limits with those whose they are.
func limitRows(c *command.Call, whose string, path ...string) error {
	rows, err := c.Rows(path...)
	if err != nil {
		return err
	}
	return c.Show([]command.Column{{Name: whose, Path: whose}, {Name: "limits", Path: "value", As: command.AsJSON}}, rows)
}

// showLimits shows limits as JSON; to people, none are nothing. Source: RabbitMQ rabbitmqctl.
func showLimits(c *command.Call, set api.Object[int64]) error {
	if len(set) == 0 && !c.Machine() {
		return nil
	}
	b, err := json.Marshal(set)
	if err != nil {
		return err
	}
	return c.Done(string(b), b)
}

// noUserOr says that the user does not exist, if that is why the broker refused.
func noUserOr(c *command.Call, err error, name string) error {
	if command.Status(err) == http.StatusNotFound {
		return c.NoUser(name)
	}
	return err
}

// setUserLimits adds limits to those there are. Source: RabbitMQ rabbitmqctl set_user_limits.
func setUserLimits(c *command.Call) error {
	user := c.Args[0]
	c.Banner(`Setting user limits to "%s" for user "%s" ...`, command.OneLine(c.Args[1]), user)
	limits, err := limitsArgument(c, 1)
	if err != nil {
		return err
	}
	if err := putLimits(c, limits, "user-limits", user); err != nil {
		return noUserOr(c, err, user)
	}
	return c.Done("", nil)
}

func clearUserLimits(c *command.Call) error {
	user, limit := c.Args[0], c.Args[1]
	if limit == "all" {
		c.Banner(`Clearing all limits for user "%s" ...`, user)
	} else {
		c.Banner(`Clearing "%s" limit for user "%s" ...`, limit, user)
	}
	u, err := userNamed(c, user)
	if err != nil {
		return err
	}
	if limit == "all" {
		err = clearLimits(c, u.Limits, nil, "user-limits", user)
	} else {
		err = c.Client.Delete(c.Ctx, "user-limits", user, limit)
	}
	if command.Status(err) == http.StatusBadRequest {
		return command.Failf(command.ExitUnavailable, "%s", command.ReasonOf(err))
	}
	if err != nil {
		return err
	}
	return c.Done("", nil)
}

func listUserLimits(c *command.Call) error {
	user, named := c.Options.Get("user")
	if !named {
		c.Banner("Listing limits for all users ...")
		return limitRows(c, "user", "user-limits")
	}
	c.Banner(`Listing limits for user "%s" ...`, user)
	u, err := userNamed(c, user)
	if err != nil {
		return err
	}
	return showLimits(c, u.Limits)
}
