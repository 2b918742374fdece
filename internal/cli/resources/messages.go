package resources

import (
	"encoding/base64"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/cli/command"
)

// publishMessage publishes one message, persistent unless properties are given.
func publishMessage(c *command.Call) error {
	key, exchange := c.Args[0], c.Options.Or("exchange", "")
	payload, err := payloadArgument(c)
	if err != nil {
		return err
	}
	properties, err := propertiesOption(c)
	if err != nil {
		return err
	}
	text, encoding := string(payload), "string"
	if !utf8.Valid(payload) {
		text, encoding = base64.StdEncoding.EncodeToString(payload), "base64"
	}
	name, missing := exchange, "no queue takes the routing key '"+key+"'"
	to := "exchange '" + exchange + "' with routing key '" + key + "'"
	if exchange == "" {
		name, missing, to = "amq.default", "there is no queue '"+key+"'", "queue '"+key+"'"
	}
	c.Banner("Publishing a message to %s in vhost '%s' ...", to, c.VHost())
	post := api.PostPublish{Properties: &properties, RoutingKey: &key, Payload: &text, PayloadEncoding: &encoding}
	var published api.Published
	err = c.Client.Post(c.Ctx, post, &published, "exchanges", c.VHost(), name, "publish")
	switch {
	case command.Status(err) == http.StatusNotFound:
		return c.NoObject(exchange)
	case err != nil:
		return err
	case len(published.Scheduled) > 0:
		return c.Done("The message is scheduled: "+strings.Join(published.Scheduled, ", "), nil)
	case !published.Routed:
		return command.Failf(command.ExitUnavailable, "the message was dropped: %s", missing)
	}
	return c.Done("", nil)
}

// payloadArgument is the second argument, or standard input.
func payloadArgument(c *command.Call) ([]byte, error) {
	if len(c.Args) > 1 {
		return []byte(c.Args[1]), nil
	}
	return c.ReadFile("-")
}

func propertiesOption(c *command.Call) (properties api.Arguments, err error) {
	given, ok := c.Options.Get("properties")
	if !ok { // as messages for durable queues should be
		given = `{"delivery_mode":2}`
	}
	return c.ReadProperties(given)
}

// gotColumns are the columns of messages that are taken from a queue.
const gotColumns = "routing_key exchange redelivered message_count payload_bytes properties payload payload_encoding"

// getMessages shows the oldest ready messages of a queue, which stay there unless --ack is given.
func getMessages(c *command.Call) error {
	queue := c.Args[0]
	columns := command.Same(gotColumns)
	columns, err := c.Pick(c.Args[1:], columns, "routing_key redelivered payload")
	if err != nil {
		return err
	}
	count, err := c.Limit(1, "messages")
	if err != nil {
		return err
	}
	mode, encoding := "ack_requeue_true", "auto"
	if c.Options.On("ack") {
		mode = "ack_requeue_false"
	}
	c.Banner("Getting messages from queue '%s' in vhost '%s' ...", queue, c.VHost())
	n := api.Integer(count)
	post := api.PostGet{Count: &n, AckMode: &mode, Encoding: &encoding}
	var rows []command.Row
	err = c.Client.Post(c.Ctx, post, &rows, "queues", c.VHost(), queue, "get")
	if command.Status(err) == http.StatusNotFound {
		return c.NoObject(queue)
	}
	if err != nil {
		return err
	}
	return c.Show(columns, rows)
}
