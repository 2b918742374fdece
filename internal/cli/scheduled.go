package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/api"
)

// What names messages by what they are, as options and in usages.
const (
	filterOptions = "message-id routing-key header from until where"
	filterUsage   = "<filter> ..."
)

// filterHelp is what help says of them.
func filterHelp() string {
	return `Select messages by their ids or by options; a message must match all given options. A time is a number of ms since the Unix
epoch, or like 2030-01-31T12:00:00Z. A key is the value of the header x-schedule-key that the publisher set.`
}

func listScheduledHelp() string {
	return filterHelp() + `

Columns: ` + scheduledColumns + `
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

// filter reads the options that name messages by what they are, as a list is asked for them.
func (c *call) filter() (url.Values, error) {
	query := url.Values{}
	for option, name := range map[string]string{"message-id": "message_id", "routing-key": "routing_key", "header": "header", "where": "filter"} {
		if text, given := c.words.get(option); given {
			query.Set(name, text)
		}
	}
	if text := query.Get("header"); query.Has("header") && strings.Index(text, ":") < 1 {
		return nil, c.invalid(fmt.Sprintf("the header '%s' must have the form name:value", text))
	}
	return query, c.stretch(query)
}

// stretch reads the options that say from when until when.
func (c *call) stretch(query url.Values) error {
	for _, name := range []string{"from", "until"} {
		if text, given := c.words.get(name); given {
			at, err := api.ParseInstant(text)
			if err != nil {
				return c.invalid(err.Error())
			}
			query.Set(name, strconv.FormatInt(int64(at), 10))
		}
	}
	return nil
}

// listWaits lists what waits at a path, in the columns that follow the first argument.
func (c *call) listWaits(known, usual string, path ...string) error {
	columns, err := c.pick(c.args[1:], same(known), usual)
	if err != nil {
		return err
	}
	query, err := c.filter()
	if err != nil {
		return err
	}
	if slices.ContainsFunc(columns, func(k column) bool { return strings.HasPrefix(k.name, "payload") && k.name != "payload_bytes" }) {
		query.Set("payload", "true")
	}
	rows, err := c.portions(query, "messages", path...)
	if err != nil {
		return err
	}
	return c.show(columns, rows)
}

func listScheduled(c *call) error {
	exchange := c.args[0]
	c.banner("Listing messages scheduled in exchange '%s' of vhost '%s' ...", exchange, c.vhost())
	err := c.listWaits(scheduledColumns, "id due routing_key message_id payload_bytes", "x", "scheduled", c.vhost(), exchange)
	return c.noSchedule(err)
}

func listWaiting(c *call) error {
	queue := c.args[0]
	c.banner("Listing messages that wait in queue '%s' of vhost '%s' ...", queue, c.vhost())
	err := c.listWaits(waitingColumns, "id due why returns failures payload_bytes", "x", "waiting", c.vhost(), queue)
	return c.noWaiting(err)
}

// noSchedule says what of a delayed exchange's address does not exist, if that is why the broker refused.
func (c *call) noSchedule(err error) error {
	switch status(err) {
	case http.StatusBadRequest:
		return failf(exitData, "%s", reasonOf(err))
	case http.StatusNotFound:
	default:
		return err
	}
	if status(c.client.Get(c.ctx, nil, "vhosts", c.vhost())) == http.StatusNotFound {
		return c.noVHost(c.vhost())
	}
	return failf(exitData, "Delayed exchange '%s' does not exist in virtual host '%s', and no messages are scheduled for it", c.args[0], c.vhost())
}

// noKey says that nothing waits or waited under a key, if that is why the broker refused, or what became of the message meanwhile.
func (c *call) noKey(err error, key string) error {
	switch status(err) {
	case http.StatusBadRequest, http.StatusConflict:
		return failf(exitData, "%s", reasonOf(err))
	case http.StatusNotFound:
	default:
		return err
	}
	if status(c.client.Get(c.ctx, nil, "vhosts", c.vhost())) == http.StatusNotFound {
		return c.noVHost(c.vhost())
	}
	return failf(exitData, "No message is scheduled under the key '%s' in exchange '%s' of virtual host '%s'", key, c.args[0], c.vhost())
}

func (c *call) noWaiting(err error) error {
	switch status(err) {
	case http.StatusBadRequest:
		return failf(exitData, "%s", reasonOf(err))
	case http.StatusNotFound:
		return c.noQueue(c.args[0], "Object (queue, stream, exchange, etc) '%s' was not found in virtual host '%s'", exitData)
	}
	return err
}

// showScheduled shows one message, its payload last.
func showScheduled(c *call) error {
	var raw json.RawMessage
	if key, named := c.words.get("key"); named {
		if len(c.args) > 1 {
			return c.eitherWay()
		}
		if err := c.client.Get(c.ctx, &raw, "x", "scheduled", c.vhost(), c.args[0], "key", key); err != nil {
			return c.noKey(err, key)
		}
		return c.showMessage(raw)
	}
	if len(c.args) == 1 {
		return c.tooFew()
	}
	id := c.args[1]
	err := c.client.Get(c.ctx, &raw, "x", "scheduled", c.vhost(), c.args[0], id)
	switch {
	case status(err) == http.StatusConflict:
		return failf(exitData, "%s", reasonOf(err))
	case status(err) == http.StatusNotFound:
		return failf(exitData, "Scheduled message %s does not exist in exchange '%s' of virtual host '%s'", id, c.args[0], c.vhost())
	case err != nil:
		return err
	}
	return c.showMessage(raw)
}

func (c *call) showMessage(raw json.RawMessage) error {
	return c.showWhole(raw, "id due in_ms exchange routing_key queues refused message_id properties payload_bytes payload_encoding")
}
