package schedule

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/cli/command"
)

func listScheduledHelp() string {
	return filterHelp() + `

Columns: ` + scheduledColumns + " " + keyColumn.Name + `
Messages are listed in the order in which they are due. Without --limit all are listed.`
}

func listWaitingHelp() string {
	return `Messages wait in a queue for their retry, or for the time in the header x-opt-delivery-time.

` + filterHelp() + `

Columns: ` + waitingColumns
}

const (
	scheduledColumns = "id due due_ms in_ms exchange routing_key message_id payload_bytes payload payload_encoding properties"
	waitingColumns   = scheduledColumns + " queue why returns failures"
)

// keyColumn has the key under which a message is scheduled, empty if it has none.
var keyColumn = command.Column{Name: "schedule_key", Path: "properties.headers.x-schedule-key"}

// listWaits lists what waits at a path, in the columns that follow the first argument.
func listWaits(c *command.Call, known []command.Column, usual string, path ...string) error {
	columns, err := c.Pick(c.Args[1:], known, usual)
	if err != nil {
		return err
	}
	query, err := readFilter(c)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(columns, func(k command.Column) bool { return strings.HasPrefix(k.Name, "payload") && k.Name != "payload_bytes" }) {
		query.Set("payload", "true")
	}
	rows, err := c.Page(query, "messages", path...)
	if err != nil {
		return err
	}
	return c.Show(columns, rows)
}

func listScheduled(c *command.Call) error {
	exchange := c.Args[0]
	c.Banner("Listing messages scheduled in exchange '%s' of vhost '%s' ...", exchange, c.VHost())
	err := listWaits(c, append(command.Same(scheduledColumns), keyColumn), "id due schedule_key routing_key message_id payload_bytes", "x", "scheduled", c.VHost(), exchange)
	return noSchedule(c, err)
}

func listWaiting(c *command.Call) error {
	queue := c.Args[0]
	c.Banner("Listing messages that wait in queue '%s' of vhost '%s' ...", queue, c.VHost())
	err := listWaits(c, command.Same(waitingColumns), "id due why returns failures payload_bytes", "x", "waiting", c.VHost(), queue)
	return noWaiting(c, err)
}

// noSchedule says what of a delayed exchange's address does not exist, if that is why the broker refused.
func noSchedule(c *command.Call, err error) error {
	switch command.Status(err) {
	case http.StatusBadRequest:
		return command.Failf(command.ExitData, "%s", command.ReasonOf(err))
	case http.StatusNotFound:
	default:
		return err
	}
	if command.Status(c.Client.Get(c.Ctx, nil, "vhosts", c.VHost())) == http.StatusNotFound {
		return c.NoVHost(c.VHost())
	}
	return command.Failf(command.ExitData, "Delayed exchange '%s' does not exist in virtual host '%s', and no messages are scheduled for it", c.Args[0], c.VHost())
}

// noKey says that nothing waits or waited under a key, if that is why the broker refused, or what became of the message
// meanwhile.
func noKey(c *command.Call, err error, key string) error {
	switch command.Status(err) {
	case http.StatusBadRequest, http.StatusConflict:
		return command.Failf(command.ExitData, "%s", command.ReasonOf(err))
	case http.StatusNotFound:
	default:
		return err
	}
	if command.Status(c.Client.Get(c.Ctx, nil, "vhosts", c.VHost())) == http.StatusNotFound {
		return c.NoVHost(c.VHost())
	}
	return command.Failf(command.ExitData, "No message is scheduled under the key '%s' in exchange '%s' of virtual host '%s'", key, c.Args[0], c.VHost())
}

func noWaiting(c *command.Call, err error) error {
	switch command.Status(err) {
	case http.StatusBadRequest:
		return command.Failf(command.ExitData, "%s", command.ReasonOf(err))
	case http.StatusNotFound:
		return c.NoObject(c.Args[0])
	}
	return err
}

// showScheduled shows one message, its payload last.
func showScheduled(c *command.Call) error {
	var raw json.RawMessage
	if key, named := c.Options.Get("key"); named {
		if len(c.Args) > 1 {
			return eitherWay(c)
		}
		if err := c.Client.Get(c.Ctx, &raw, "x", "scheduled", c.VHost(), c.Args[0], "key", key); err != nil {
			return noKey(c, err, key)
		}
		return showMessage(c, raw)
	}
	if len(c.Args) == 1 {
		return c.TooFew()
	}
	id := c.Args[1]
	err := c.Client.Get(c.Ctx, &raw, "x", "scheduled", c.VHost(), c.Args[0], id)
	switch {
	case command.Status(err) == http.StatusConflict:
		return command.Failf(command.ExitData, "%s", command.ReasonOf(err))
	case command.Status(err) == http.StatusNotFound:
		return command.Failf(command.ExitData, "Scheduled message %s does not exist in exchange '%s' of virtual host '%s'", id, c.Args[0], c.VHost())
	case err != nil:
		return err
	}
	return showMessage(c, raw)
}

func showMessage(c *command.Call, raw json.RawMessage) error {
	return c.ShowMessage(raw, "id due in_ms exchange routing_key queues refused message_id properties payload_bytes payload_encoding")
}
