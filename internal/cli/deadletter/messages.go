package deadletter

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"

	"github.com/bartleby-mq/bartleby/internal/cli/command"
)

// source reads whose messages are meant: those of the queue that is named first, or the lost letters. What else was
// named is rest.
func source(c *command.Call) (queue string, rest []string, err error) {
	switch {
	case c.Options.On("lost"):
		return "", c.Args, nil
	case len(c.Args) == 0:
		return "", nil, c.TooFew()
	}
	return c.Args[0], c.Args[1:], nil
}

func messagesAt(c *command.Call, queue string) []string {
	if c.Options.On("lost") {
		return []string{"x", "lost-letters", c.VHost(), "messages"}
	}
	return []string{"x", "queues", c.VHost(), queue, "messages"}
}

// noMessages says that a queue is not there, if that is why the broker refused.
func noMessages(c *command.Call, err error, queue string) error {
	if command.Status(err) == http.StatusNotFound && queue != "" {
		return c.NoObject(queue)
	}
	return notFound(c, err)
}

// listMessages lists messages in columns.
func listMessages(c *command.Call, wanted []string, usual string, path []string) error {
	columns, err := c.Pick(wanted, command.Same(messageColumns), usual)
	if err != nil {
		return err
	}
	query := url.Values{}
	if where, ok := c.Options.Get("where"); ok {
		query.Set("filter", where)
	}
	if c.Options.On("newest") {
		query.Set("order", "newest")
	}
	if slices.ContainsFunc(columns, func(k command.Column) bool {
		return k.Name == "payload" || k.Name == "payload_encoding" || k.Name == "properties"
	}) {
		query.Set("payload", "true")
	}
	rows, err := c.Page(query, "messages", path...)
	if err != nil {
		return err
	}
	return c.Show(columns, rows)
}

func peekDLQ(c *command.Call) error {
	queue, rest, err := source(c)
	if err != nil {
		return err
	}
	path := messagesAt(c, queue)
	if id, ok := c.Options.Get("id"); ok {
		var raw json.RawMessage
		err := c.Client.Get(c.Ctx, &raw, append(path, id)...)
		if command.Status(err) == http.StatusNotFound {
			return command.Failf(command.ExitData, "Message %s does not exist there", id)
		}
		if err != nil {
			return noMessages(c, err, queue)
		}
		return c.ShowMessage(raw, shownColumns)
	}
	c.Banner("Listing messages of %s in vhost '%s' ...", sourceName(c, queue), c.VHost())
	err = listMessages(c, rest, "id state at message_id exchange routing_keys size redrives", path)
	return noMessages(c, err, queue)
}

func sourceName(c *command.Call, queue string) string {
	if queue == "" {
		return "the lost letters"
	}
	return "queue '" + queue + "'"
}

func search(c *command.Call) error {
	c.Banner("Searching dead letters of vhost %s ...", c.VHost())
	return notFound(c, listMessages(c, c.Args, "id place queue state at message_id size", []string{"x", "letters", c.VHost()}))
}
