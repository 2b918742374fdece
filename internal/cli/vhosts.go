package cli

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/api"
)

func addVHost(c *call) error {
	c.banner(`Adding vhost "%s" ...`, c.args[0])
	put := c.describeVHost()
	if put.Description == nil || put.Tags == nil {
		var there api.VHost
		switch err := c.client.Get(c.ctx, &there, "vhosts", c.args[0]); {
		case err == nil:
			put = completeVHost(put, &there)
		case status(err) != http.StatusNotFound:
			return err
		}
	}
	return c.putVHost(put)
}

func (c *call) putVHost(put api.PutVHost) error {
	if _, err := c.client.Put(c.ctx, put, "vhosts", c.args[0]); err != nil {
		return err
	}
	return c.done("", nil)
}

// completeVHost adds the description and the tags of a virtual host that is there to what does not change them: what the
// API is not told of them is none.
func completeVHost(put api.PutVHost, there *api.VHost) api.PutVHost {
	if put.Description == nil {
		put.Description = &there.Description
	}
	if put.Tags == nil {
		put.Tags = &there.Tags
	}
	return put
}

// describeVHost reads the options that describe a virtual host.
func (c *call) describeVHost() (put api.PutVHost) {
	if d, ok := c.words.get("description"); ok {
		put.Description = &d
	}
	if t, ok := c.words.get("tags"); ok {
		tags := api.Tags(strings.FieldsFunc(t, func(r rune) bool { return r == ',' || r == ' ' }))
		put.Tags = &tags
	}
	if t, ok := c.words.get("default-queue-type"); ok {
		put.DefaultQueueType = &t
	}
	return put
}

func deleteVHost(c *call) error {
	name := c.args[0]
	c.banner(`Deleting vhost "%s" ...`, name)
	scheduled, err := c.client.Remove(c.ctx, api.Path("vhosts", name))
	if status(err) == http.StatusNotFound {
		return c.noVHost(name)
	}
	if err != nil {
		return err
	}
	if scheduled > 0 {
		n := strconv.Itoa(scheduled)
		return c.done(n+" scheduled messages were deleted too", cell(n))
	}
	return c.done("", nil)
}

func vhostColumns(c *call) []column {
	return append(same("name tracing default_queue_type description cluster_state metadata protected_from_deletion"),
		column{name: "tags", path: "tags", as: c.forPeople(asAtoms)})
}

func listVHosts(c *call) error {
	columns, err := c.choose(vhostColumns(c), "name")
	if err != nil {
		return err
	}
	c.banner("Listing vhosts ...")
	return c.list(columns, "vhosts")
}

// knownVHost makes sure that the virtual host of the first argument is there.
func (c *call) knownVHost() (there api.VHost, err error) {
	err = c.client.Get(c.ctx, &there, "vhosts", c.args[0])
	if status(err) == http.StatusNotFound {
		err = c.noVHost(c.args[0])
	}
	return there, err
}

func updateVHost(c *call) error {
	put := c.describeVHost()
	if put == (api.PutVHost{}) {
		return c.invalid("give at least one of --description, --tags or --default-queue-type.")
	}
	c.banner(`Updating metadata of vhost "%s" ...`, c.args[0])
	there, err := c.knownVHost()
	if err != nil {
		return err
	}
	return c.putVHost(completeVHost(put, &there))
}

func setVHostTags(c *call) error {
	tags := api.Tags(c.args[1:])
	c.banner(`Setting tags for vhost "%s" to [%s] ...`, c.args[0], strings.Join(tags, ", "))
	there, err := c.knownVHost()
	if err != nil {
		return err
	}
	return c.putVHost(completeVHost(api.PutVHost{Tags: &tags}, &there))
}

// protectVHost enables or disables the protection of a virtual host, as the command's name says.
func protectVHost(c *call) error {
	path := []string{"vhosts", c.args[0], "deletion", "protection"}
	var err error
	if strings.HasPrefix(c.command.name, "enable") {
		c.banner(`Protecting vhost "%s" from deletion ...`, c.args[0])
		err = c.client.Post(c.ctx, nil, nil, path...)
	} else {
		c.banner(`Removing deletion protection of vhost "%s" ...`, c.args[0])
		err = c.client.Delete(c.ctx, path...)
	}
	if status(err) == http.StatusNotFound {
		return c.noVHost(c.args[0])
	}
	if err != nil {
		return err
	}
	return c.done("", nil)
}

// restartVHost starts a virtual host again. Source: RabbitMQ rabbitmqctl restart_vhost.
func restartVHost(c *call) error {
	c.banner(`Trying to restart vhost '%s' on node '%s' ...`, c.vhost(), c.node)
	var o api.Overview
	if err := c.client.Get(c.ctx, &o, "overview"); err != nil {
		return err
	}
	err := c.client.Post(c.ctx, nil, nil, "vhosts", c.vhost(), "start", o.Node)
	if status(err) == http.StatusNotFound {
		return c.noVHost(c.vhost())
	}
	if err != nil {
		return err
	}
	return c.done("", nil)
}
