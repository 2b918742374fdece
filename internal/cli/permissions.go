package cli

import (
	"net/http"

	"github.com/bartleby-mq/bartleby/internal/api"
)

// missing turns the refusal of a change that concerns a user in a virtual host into the one that is to blame.
func (c *call) missing(err error, user string) error {
	if status(err) != http.StatusNotFound && status(err) != http.StatusBadRequest {
		return err
	}
	if _, userErr := c.user(user); userErr != nil {
		return userErr
	}
	if status(c.client.Get(c.ctx, nil, "vhosts", c.vhost())) == http.StatusNotFound {
		return failf(exitUnavailable, "Virtual host %s does not exist", c.vhost())
	}
	return err
}

func setPermissions(c *call) error {
	user := c.args[0]
	c.banner(`Setting permissions for user "%s" in vhost "%s" ...`, user, c.vhost())
	put := api.PutPermission{Configure: &c.args[1], Write: &c.args[2], Read: &c.args[3]}
	if _, err := c.client.Put(c.ctx, put, "permissions", c.vhost(), user); err != nil {
		return c.missing(err, user)
	}
	return c.done("", nil)
}

// setPermissionsGlobally sets the permissions in every virtual host that there is.
func setPermissionsGlobally(c *call) error {
	user := c.args[0]
	c.banner(`Setting permissions for user "%s" in all virtual hosts ...`, user)
	if _, err := c.user(user); err != nil {
		return err
	}
	var vhosts []api.VHost
	if err := c.client.Get(c.ctx, &vhosts, "vhosts"); err != nil {
		return err
	}
	put := api.PutPermission{Configure: &c.args[1], Write: &c.args[2], Read: &c.args[3]}
	for _, h := range vhosts {
		if _, err := c.client.Put(c.ctx, put, "permissions", h.Name, user); err != nil {
			return err
		}
	}
	return c.done("", nil)
}

func clearPermissions(c *call) error {
	user := c.args[0]
	c.banner(`Clearing permissions for user "%s" in vhost "%s" ...`, user, c.vhost())
	return c.cleared(user, "permissions", c.vhost(), user)
}

// cleared deletes what may not be there; only the user and the virtual host must exist.
func (c *call) cleared(user string, segments ...string) error {
	err := c.client.Delete(c.ctx, segments...)
	if err != nil {
		if err = c.missing(err, user); status(err) != http.StatusNotFound && err != nil {
			return err
		}
	}
	return c.done("", nil)
}

func setTopicPermissions(c *call) error {
	user := c.args[0]
	c.banner(`Setting topic permissions on "%s" for user "%s" in vhost "%s" ...`, c.args[1], user, c.vhost())
	put := api.PutTopicPermission{Exchange: &c.args[1], Write: &c.args[2], Read: &c.args[3]}
	if _, err := c.client.Put(c.ctx, put, "topic-permissions", c.vhost(), user); err != nil {
		return c.missing(err, user)
	}
	return c.done("", nil)
}

func clearTopicPermissions(c *call) error {
	user := c.args[0]
	if len(c.args) == 1 {
		c.banner(`Clearing topic permissions for user "%s" in vhost "%s" ...`, user, c.vhost())
		return c.cleared(user, "topic-permissions", c.vhost(), user)
	}
	c.banner(`Clearing topic permissions on "%s" for user "%s" in vhost "%s" ...`, c.args[1], user, c.vhost())
	return c.cleared(user, "topic-permissions", c.vhost(), user, c.args[1])
}

func listPermissions(c *call) error {
	c.banner(`Listing permissions for vhost "%s" ...`, c.vhost())
	rows, err := c.vhostRows("vhosts", c.vhost(), "permissions")
	if err != nil {
		return err
	}
	return c.show(same("user configure write read"), rows)
}

func listTopicPermissions(c *call) error {
	c.banner(`Listing topic permissions for vhost "%s" ...`, c.vhost())
	rows, err := c.vhostRows("vhosts", c.vhost(), "topic-permissions")
	if err != nil {
		return err
	}
	return c.show(same("user exchange write read"), rows)
}

func listUserPermissions(c *call) error {
	c.banner(`Listing permissions for user "%s" ...`, c.args[0])
	return c.userRows(same("vhost configure write read"), "permissions")
}

func listUserTopicPermissions(c *call) error {
	c.banner(`Listing topic permissions for user "%s" ...`, c.args[0])
	return c.userRows(same("vhost exchange write read"), "topic-permissions")
}

func (c *call) userRows(columns []column, what string) error {
	rows, err := c.rows("users", c.args[0], what)
	if status(err) == http.StatusNotFound {
		return c.noUser(c.args[0])
	}
	if err != nil {
		return err
	}
	return c.show(columns, rows)
}
