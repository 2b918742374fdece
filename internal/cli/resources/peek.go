package resources

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/cli/command"
	"github.com/bartleby-mq/bartleby/internal/cli/output"
)

// peekPortion is how many messages are passed over with one request.
const peekPortion = 500

// peek shows the message at a position of a queue, the oldest at 1, and leaves it as it is.
// Source: RabbitMQ rabbitmq-queues peek, there for quorum queues alone.
func peek(c *command.Call) error {
	queue := c.Args[0]
	position, err := strconv.Atoi(c.Args[1])
	if err != nil || position < 1 {
		return c.Invalid("position value must be a positive integer")
	}
	c.Banner("Peeking at queue %s at position %d on node %s ...", queue, position, c.Node)
	after := ""
	for left := position - 1; left > 0; {
		page, err := messagesOf(c, queue, after, min(left, peekPortion), false)
		switch {
		case err != nil:
			return err
		case page.Next == nil:
			return noMessageThere()
		}
		left, after = left-len(page.Items), *page.Next
	}
	for {
		page, err := messagesOf(c, queue, after, 1, true)
		switch {
		case err != nil:
			return err
		case len(page.Items) > 0:
			return showPeeked(c, &page.Items[0])
		case page.Next == nil:
			return noMessageThere()
		}
		after = *page.Next
	}
}

func noMessageThere() error {
	return command.Failf(command.ExitUnavailable, "Target queue does not have a message at that position")
}

// messagesOf reads a portion of a queue behind a cursor, "" for its beginning.
func messagesOf(c *command.Call, queue, after string, limit int, payload bool) (page api.MessagePage, err error) {
	query := url.Values{"limit": {strconv.Itoa(limit)}, "order": {"oldest"}}
	if after != "" {
		query.Set("after", after)
	}
	if payload {
		query.Set("payload", "true")
	}
	path := api.Path("x", "queues", c.VHost(), queue, "messages") + "?" + query.Encode()
	if _, err = c.Client.Do(c.Ctx, http.MethodGet, path, nil, &page); command.Status(err) == http.StatusNotFound {
		return page, command.Failf(command.ExitUnavailable, "Target queue was not found in virtual host '%s'", c.VHost())
	}
	return page, err
}

// showPeeked shows a message as RabbitMQ does: properties, headers one by one, where it came from, the payload.
func showPeeked(c *command.Call, m *api.StoredMessage) error {
	var fields []output.Field
	for _, p := range m.Properties {
		prefix, all := "", api.Arguments{p}
		if p.Name == "headers" {
			prefix, all = "header.", api.Arguments(p.Value.Table)
		}
		shown, err := all.MarshalJSON()
		if err != nil {
			return err
		}
		var values command.Row
		if err := json.Unmarshal(shown, &values); err != nil {
			return err
		}
		for name, value := range values {
			fields = append(fields, output.Field{Name: prefix + name, Value: value})
		}
	}
	keys := make([]string, len(m.RoutingKeys))
	for i, key := range m.RoutingKeys {
		keys[i] = string(output.StringCell(key))
	}
	fields = append(fields, output.Field{Name: "exchange", Value: output.StringCell(m.Exchange)}, output.Field{Name: "routing_keys", Value: output.Cell("[" + strings.Join(keys, ",") + "]")},
		output.Field{Name: "state", Value: output.StringCell(m.State)})
	if m.Payload != nil {
		name := "payload"
		if m.PayloadEncoding == "base64" {
			name = "payload (base64)"
		}
		fields = append(fields, output.Field{Name: name, Value: output.StringCell(*m.Payload)})
	}
	slices.SortStableFunc(fields, func(a, b output.Field) int { return strings.Compare(a.Name, b.Name) })
	if strings.HasPrefix(c.Formatter(), "json") {
		fmt.Fprintf(c.Stdout, "%s\n", output.Object([]output.Field{{Name: "result", Value: output.StringCell("ok")}, {Name: "message", Value: output.Object(fields)}}))
		return nil
	}
	var rows [][]output.Cell
	for _, f := range fields {
		rows = append(rows, []output.Cell{output.StringCell(f.Name), f.Value})
	}
	return c.Table([]string{"keys", "values"}, rows)
}
