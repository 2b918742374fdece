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

// peekPortion is how many messages are passed over with one request.
const peekPortion = 500

// peek shows the message at a position of a queue, the oldest at 1, and leaves it as it is.
// Source: RabbitMQ rabbitmq-queues peek, there for quorum queues alone.
func peek(c *call) error {
	queue := c.args[0]
	position, err := strconv.Atoi(c.args[1])
	if err != nil || position < 1 {
		return c.invalid("position value must be a positive integer")
	}
	c.banner("Peeking at queue %s at position %d on node %s ...", queue, position, c.node)
	after := ""
	for left := position - 1; left > 0; {
		page, err := c.messagesOf(queue, after, min(left, peekPortion), false)
		switch {
		case err != nil:
			return err
		case page.Next == nil:
			return noMessageThere()
		}
		left, after = left-len(page.Items), *page.Next
	}
	for {
		page, err := c.messagesOf(queue, after, 1, true)
		switch {
		case err != nil:
			return err
		case len(page.Items) > 0:
			return c.showPeeked(&page.Items[0])
		case page.Next == nil:
			return noMessageThere()
		}
		after = *page.Next
	}
}

func noMessageThere() error {
	return failf(exitUnavailable, "Target queue does not have a message at that position")
}

// messagesOf reads a portion of a queue behind a cursor, "" for its beginning.
func (c *call) messagesOf(queue, after string, limit int, payload bool) (page api.Letters, err error) {
	query := url.Values{"limit": {strconv.Itoa(limit)}, "order": {"oldest"}}
	if after != "" {
		query.Set("after", after)
	}
	if payload {
		query.Set("payload", "true")
	}
	path := api.Path("x", "queues", c.vhost(), queue, "messages") + "?" + query.Encode()
	if _, err = c.client.Do(c.ctx, http.MethodGet, path, nil, &page); status(err) == http.StatusNotFound {
		return page, failf(exitUnavailable, "Target queue was not found in virtual host '%s'", c.vhost())
	}
	return page, err
}

// showPeeked shows a message as RabbitMQ does: properties, headers one by one, where it came from, the payload.
func (c *call) showPeeked(m *api.Letter) error {
	var fields []field
	for _, p := range m.Properties {
		prefix, all := "", api.Arguments{p}
		if p.Name == "headers" {
			prefix, all = "header.", api.Arguments(p.Value.Table)
		}
		shown, err := all.MarshalJSON()
		if err != nil {
			return err
		}
		var values row
		if err := json.Unmarshal(shown, &values); err != nil {
			return err
		}
		for name, value := range values {
			fields = append(fields, field{prefix + name, value})
		}
	}
	keys := make([]string, len(m.RoutingKeys))
	for i, key := range m.RoutingKeys {
		keys[i] = string(textCell(key))
	}
	fields = append(fields, field{"exchange", textCell(m.Exchange)}, field{"routing_keys", cell("[" + strings.Join(keys, ",") + "]")},
		field{"state", textCell(m.State)})
	if m.Payload != nil {
		name := "payload"
		if m.PayloadEncoding == "base64" {
			name = "payload (base64)"
		}
		fields = append(fields, field{name, textCell(*m.Payload)})
	}
	slices.SortStableFunc(fields, func(a, b field) int { return strings.Compare(a.name, b.name) })
	if strings.HasPrefix(c.formatter(), "json") {
		fmt.Fprintf(c.stdout, "%s\n", object([]field{{"result", textCell("ok")}, {"message", object(fields)}}))
		return nil
	}
	var rows [][]cell
	for _, f := range fields {
		rows = append(rows, []cell{textCell(f.name), f.value})
	}
	return c.table([]string{"keys", "values"}, rows)
}
