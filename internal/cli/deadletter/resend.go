package deadletter

import (
	"encoding/base64"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/cli/command"
	"github.com/bartleby-mq/bartleby/internal/cli/output"
)

// resend publishes a message anew.
func resend(c *command.Call) error {
	queue, rest, err := source(c)
	if err != nil {
		return err
	}
	if len(rest) != 1 {
		return c.TooFew()
	}
	post := api.PostResend{
		Keep: api.Flag(c.Options.On("keep")), Force: api.Flag(c.Options.On("force")),
		DryRun: api.Flag(c.Options.On("dry-run")),
	}
	if err := resendTo(c, &post); err != nil {
		return err
	}
	file, filed := c.Options.Get("payload")
	text, written := c.Options.Get("payload-text")
	switch {
	case filed && written:
		return c.Invalid("give either --payload or --payload-text.")
	case written:
		post.Payload = &text
	case filed:
		payload, err := c.ReadFile(file)
		if err != nil {
			return err
		}
		text := string(payload)
		if !utf8.Valid(payload) {
			text, post.PayloadEncoding = base64.StdEncoding.EncodeToString(payload), "base64"
		}
		post.Payload = &text
	}
	if given, ok := c.Options.Get("properties"); ok {
		properties, err := c.ReadProperties(given)
		if err != nil {
			return err
		}
		post.Properties = &properties
	}
	c.Banner("Resending message %s of %s in vhost '%s' ...", rest[0], sourceName(c, queue), c.VHost())
	var answer api.Resent
	path := append(messagesAt(c, queue), rest[0], "resend")
	if err := c.Client.Post(c.Ctx, post, &answer, path...); err != nil {
		if command.Status(err) == http.StatusNotFound && !strings.HasSuffix(command.ReasonOf(err), "_not_found") {
			return command.Failf(command.ExitData, "Message %s does not exist there", rest[0])
		}
		return notFound(c, err)
	}
	if post.DryRun {
		told := "The message would not be sent: " + answer.Outcome
		if len(answer.Queues) > 0 {
			told = "The message would go to " + strings.Join(answer.Queues, ", ")
		}
		if len(answer.Expiring) > 0 {
			told += ". It has an expiration, and no consumers: " + strings.Join(answer.Expiring, ", ") + ". It would expire there"
		}
		return c.Done(told, output.StringCell(answer.Outcome))
	}
	if len(answer.Queues) > 0 {
		return c.Done("The message went to "+strings.Join(answer.Queues, ", "), nil)
	}
	return c.Done("", nil)
}

// resendTo reads where the message goes: --to, or an exchange, a key or both.
func resendTo(c *command.Call, post *api.PostResend) error {
	if exchange, ok := c.Options.Get("exchange"); ok {
		post.Exchange = &exchange
	}
	if key, ok := c.Options.Get("routing-key"); ok {
		post.RoutingKey = &key
	}
	text, ok := c.Options.Get("to")
	if !ok {
		return nil
	}
	if post.Exchange != nil || post.RoutingKey != nil {
		return eitherToOrExchange(c)
	}
	to, err := readTarget(c, text)
	if to.To == "elsewhere" {
		post.Exchange, post.RoutingKey = to.Exchange, to.RoutingKey
	} else {
		post.Target = &to
	}
	return err
}
