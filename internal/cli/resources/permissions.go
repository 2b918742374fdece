package resources

import (
	"net/http"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/cli/command"
)

// missing turns the refusal of a change that concerns a user in a virtual host into the one that is to blame.
func missing(c *command.Call, err error, user string) error {
	if command.Status(err) != http.StatusNotFound && command.Status(err) != http.StatusBadRequest {
		return err
	}
	if _, userErr := userNamed(c, user); userErr != nil {
		return userErr
	}
	if command.Status(c.Client.Get(c.Ctx, nil, "vhosts", c.VHost())) == http.StatusNotFound {
		return command.Failf(command.ExitUnavailable, "Virtual host %s does not exist", c.VHost())
	}
	return err
}

func setPermissions(c *command.Call) error {
	user := c.Args[0]
	c.Banner(`Setting permissions for user "%s" in vhost "%s" ...`, user, c.VHost())
	put := api.PutPermission{Configure: &c.Args[1], Write: &c.Args[2], Read: &c.Args[3]}
	if _, err := c.Client.Put(c.Ctx, put, "permissions", c.VHost(), user); err != nil {
		return missing(c, err, user)
	}
	return c.Done("", nil)
}

// setPermissionsGlobally sets the permissions in every virtual host that there is.
func setPermissionsGlobally(c *command.Call) error {
	user := c.Args[0]
	c.Banner(`Setting permissions for user "%s" in all virtual hosts ...`, user)
	if _, err := userNamed(c, user); err != nil {
		return err
	}
	var vhosts []api.VHost
	if err := c.Client.Get(c.Ctx, &vhosts, "vhosts"); err != nil {
		return err
	}
	put := api.PutPermission{Configure: &c.Args[1], Write: &c.Args[2], Read: &c.Args[3]}
	for _, h := range vhosts {
		if _, err := c.Client.Put(c.Ctx, put, "permissions", h.Name, user); err != nil {
			return err
		}
	}
	return c.Done("", nil)
}

func clearPermissions(c *command.Call) error {
	user := c.Args[0]
	c.Banner(`Clearing permissions for user "%s" in vhost "%s" ...`, user, c.VHost())
	return cleared(c, user, "permissions", c.VHost(), user)
}

// cleared deletes what may not be there; only the user and the virtual host must exist.
func cleared(c *command.Call, user string, segments ...string) error {
	err := c.Client.Delete(c.Ctx, segments...)
	if err != nil {
		if err = missing(c, err, user); command.Status(err) != http.StatusNotFound && err != nil {
			return err
		}
	}
	return c.Done("", nil)
}

func setTopicPermissions(c *command.Call) error {
	user := c.Args[0]
	c.Banner(`Setting topic permissions on "%s" for user "%s" in vhost "%s" ...`, c.Args[1], user, c.VHost())
	put := api.PutTopicPermission{Exchange: &c.Args[1], Write: &c.Args[2], Read: &c.Args[3]}
	if _, err := c.Client.Put(c.Ctx, put, "topic-permissions", c.VHost(), user); err != nil {
		return missing(c, err, user)
	}
	return c.Done("", nil)
}

func clearTopicPermissions(c *command.Call) error {
	user := c.Args[0]
	if len(c.Args) == 1 {
		c.Banner(`Clearing topic permissions for user "%s" in vhost "%s" ...`, user, c.VHost())
		return cleared(c, user, "topic-permissions", c.VHost(), user)
	}
	c.Banner(`Clearing topic permissions on "%s" for user "%s" in vhost "%s" ...`, c.Args[1], user, c.VHost())
	return cleared(c, user, "topic-permissions", c.VHost(), user, c.Args[1])
}

func listPermissions(c *command.Call) error {
	c.Banner(`Listing permissions for vhost "%s" ...`, c.VHost())
	rows, err := c.VhostRows("vhosts", c.VHost(), "permissions")
	if err != nil {
		return err
	}
	return c.Show(command.Same("user configure write read"), rows)
}

func listTopicPermissions(c *command.Call) error {
	c.Banner(`Listing topic permissions for vhost "%s" ...`, c.VHost())
	rows, err := c.VhostRows("vhosts", c.VHost(), "topic-permissions")
	if err != nil {
		return err
	}
	return c.Show(command.Same("user exchange write read"), rows)
}

func listUserPermissions(c *command.Call) error {
	c.Banner(`Listing permissions for user "%s" ...`, c.Args[0])
	return userRows(c, command.Same("vhost configure write read"), "permissions")
}

func listUserTopicPermissions(c *command.Call) error {
	c.Banner(`Listing topic permissions for user "%s" ...`, c.Args[0])
	return userRows(c, command.Same("vhost exchange write read"), "topic-permissions")
}

func userRows(c *command.Call, columns []command.Column, what string) error {
	rows, err := c.Rows("users", c.Args[0], what)
	if command.Status(err) == http.StatusNotFound {
		return c.NoUser(c.Args[0])
	}
	if err != nil {
		return err
	}
	return c.Show(columns, rows)
}
