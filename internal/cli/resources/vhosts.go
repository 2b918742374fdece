package resources

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/cli/command"
	"github.com/bartleby-mq/bartleby/internal/cli/output"
)

func traceOff(c *command.Call) error {
	c.Banner(`Stopping tracing for vhost "%s" ...`, c.VHost())
	return c.Done("Trace disabled for vhost "+c.VHost(), nil)
}

func addVHost(c *command.Call) error {
	c.Banner(`Adding vhost "%s" ...`, c.Args[0])
	put := describeVHost(c)
	if put.Description == nil || put.Tags == nil {
		var there api.VHost
		switch err := c.Client.Get(c.Ctx, &there, "vhosts", c.Args[0]); {
		case err == nil:
			put = completeVHost(put, &there)
		case command.Status(err) != http.StatusNotFound:
			return err
		}
	}
	return putVHost(c, put)
}

func putVHost(c *command.Call, put api.PutVHost) error {
	if _, err := c.Client.Put(c.Ctx, put, "vhosts", c.Args[0]); err != nil {
		return err
	}
	return c.Done("", nil)
}

// completeVHost adds the description and the tags of a virtual host that is there to what does not change them: what
// the API is not told of them is none.
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
func describeVHost(c *command.Call) (put api.PutVHost) {
	if d, ok := c.Options.Get("description"); ok {
		put.Description = &d
	}
	if t, ok := c.Options.Get("tags"); ok {
		tags := api.Tags(strings.FieldsFunc(t, func(r rune) bool { return r == ',' || r == ' ' }))
		put.Tags = &tags
	}
	if t, ok := c.Options.Get("default-queue-type"); ok {
		put.DefaultQueueType = &t
	}
	return put
}

func deleteVHost(c *command.Call) error {
	name := c.Args[0]
	c.Banner(`Deleting vhost "%s" ...`, name)
	scheduled, err := c.Client.Remove(c.Ctx, api.Path("vhosts", name))
	if command.Status(err) == http.StatusNotFound {
		return c.NoVHost(name)
	}
	if err != nil {
		return err
	}
	if scheduled > 0 {
		n := strconv.Itoa(scheduled)
		return c.Done(n+" scheduled messages were deleted too", output.Cell(n))
	}
	return c.Done("", nil)
}

func vhostColumns(c *command.Call) []command.Column {
	return append(command.Same("name tracing default_queue_type description cluster_state metadata protected_from_deletion"),
		command.Column{Name: "tags", Path: "tags", As: c.ForPeople(command.AsAtoms)})
}

func listVHosts(c *command.Call) error {
	columns, err := c.Choose(vhostColumns(c), "name")
	if err != nil {
		return err
	}
	c.Banner("Listing vhosts ...")
	return c.List(columns, "vhosts")
}

// knownVHost makes sure that the virtual host of the first argument is there.
func knownVHost(c *command.Call) (there api.VHost, err error) {
	err = c.Client.Get(c.Ctx, &there, "vhosts", c.Args[0])
	if command.Status(err) == http.StatusNotFound {
		err = c.NoVHost(c.Args[0])
	}
	return there, err
}

func updateVHost(c *command.Call) error {
	put := describeVHost(c)
	if put == (api.PutVHost{}) {
		return c.Invalid("give at least one of --description, --tags or --default-queue-type.")
	}
	c.Banner(`Updating metadata of vhost "%s" ...`, c.Args[0])
	there, err := knownVHost(c)
	if err != nil {
		return err
	}
	return putVHost(c, completeVHost(put, &there))
}

func setVHostTags(c *command.Call) error {
	tags := api.Tags(c.Args[1:])
	c.Banner(`Setting tags for vhost "%s" to [%s] ...`, c.Args[0], strings.Join(tags, ", "))
	there, err := knownVHost(c)
	if err != nil {
		return err
	}
	return putVHost(c, completeVHost(api.PutVHost{Tags: &tags}, &there))
}

// protectVHost enables or disables the protection of a virtual host, as the command's name says.
func protectVHost(c *command.Call) error {
	path := []string{"vhosts", c.Args[0], "deletion", "protection"}
	var err error
	if strings.HasPrefix(c.Command.Name, "enable") {
		c.Banner(`Protecting vhost "%s" from deletion ...`, c.Args[0])
		err = c.Client.Post(c.Ctx, nil, nil, path...)
	} else {
		c.Banner(`Removing deletion protection of vhost "%s" ...`, c.Args[0])
		err = c.Client.Delete(c.Ctx, path...)
	}
	if command.Status(err) == http.StatusNotFound {
		return c.NoVHost(c.Args[0])
	}
	if err != nil {
		return err
	}
	return c.Done("", nil)
}

// restartVHost starts a virtual host again. Source: RabbitMQ rabbitmqctl restart_vhost.
func restartVHost(c *command.Call) error {
	c.Banner(`Trying to restart vhost '%s' on node '%s' ...`, c.VHost(), c.Node)
	var o api.Overview
	if err := c.Client.Get(c.Ctx, &o, "overview"); err != nil {
		return err
	}
	err := c.Client.Post(c.Ctx, nil, nil, "vhosts", c.VHost(), "start", o.Node)
	if command.Status(err) == http.StatusNotFound {
		return c.NoVHost(c.VHost())
	}
	if err != nil {
		return err
	}
	return c.Done("", nil)
}
