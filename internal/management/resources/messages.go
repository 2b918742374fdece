package resources

import (
	"slices"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/management/message"
	"github.com/bartleby-mq/bartleby/internal/management/web"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

func messageEndpoints() []web.Endpoint {
	return []web.Endpoint{
		{
			Pattern: "POST queues/{vhost}/{queue}/get", Tag: authz.Management, Serve: takeMessages, Audit: web.Unaudited, Scope: web.Leader,
			Summary: "Gets messages from a queue", In: api.PostGet{}, Out: api.List[api.Message]{},
		},
		{
			Pattern: "POST exchanges/{vhost}/{exchange}/publish", Tag: authz.Management, Serve: publish, Body: web.LargeBody, Audit: web.Unaudited, Scope: web.Leader,
			Summary: "Publishes a message", In: api.PostPublish{}, Out: api.Published{},
		},
	}
}

// publish publishes one message, mandatory and with a confirm. The answer names what waits of it in delayed exchanges.
// Source: RabbitMQ management API, publish; the IDs are ours.
func publish(r *web.Request) (web.Answer, error) {
	name := web.ExchangeName(r.PathValue("exchange"))
	switch err := r.Enter(r.PathValue("vhost")); {
	case err == web.ErrNotFound:
		return web.Answer{}, web.NotFound("vhost")
	case err != nil:
		return web.Answer{}, err
	}
	if found, err := r.HasExchange(name); err != nil {
		return web.Answer{}, err
	} else if !found {
		return web.Answer{}, web.NotFound("exchange")
	}
	var body api.PostPublish
	if err := r.Read(&body); err != nil {
		return web.Answer{}, err
	}
	if err := web.NeedKeys(web.Needed("properties", body.Properties != nil), web.Needed("routing_key", body.RoutingKey != nil),
		web.Needed("payload", body.Payload != nil), web.Needed("payload_encoding", body.PayloadEncoding != nil)); err != nil {
		return web.Answer{}, err
	}
	m, err := message.ReadOutgoing(&body)
	if err != nil {
		return web.Answer{}, err
	}
	published, err := message.Publish(r, name, m)
	if err != nil {
		return web.Answer{}, err
	}
	return web.OK(published)
}

func readTaking(r *web.Request) (*message.Rendering, error) {
	var body api.PostGet
	if err := r.Read(&body); err != nil {
		return nil, err
	}
	err := web.NeedKeys(web.Needed("count", body.Count != nil), web.Needed("ackmode", body.AckMode != nil), web.Needed("encoding", body.Encoding != nil))
	if err != nil {
		return nil, err
	}
	if *body.Count < 0 {
		return nil, web.BadRequest("count must not be negative")
	}
	t := &message.Rendering{Count: int(min(*body.Count, getMax)), Truncate: -1}
	switch *body.AckMode {
	case "ack_requeue_false":
		t.NoAck = true
	case "ack_requeue_true", "reject_requeue_true":
		t.Settle = &vhost.Command{Kind: vhost.Nack, Multiple: true, Requeue: true}
	case "reject_requeue_false":
		t.Settle = &vhost.Command{Kind: vhost.Nack, Multiple: true}
	default:
		return nil, web.BadRequest("ackmode '%s' must be one of ack_requeue_true, ack_requeue_false, reject_requeue_true, reject_requeue_false", *body.AckMode)
	}
	return t, t.SetEncoding(*body.Encoding, body.Truncate)
}

// takeMessages takes messages from a queue. They return to it, or die, only after all were taken.
// Source: RabbitMQ management API, get.
func takeMessages(r *web.Request) (web.Answer, error) {
	switch err := r.Enter(r.PathValue("vhost")); {
	case err == web.ErrNotFound:
		return web.Answer{}, web.NotFound("vhost")
	case err != nil:
		return web.Answer{}, err
	}
	t, err := readTaking(r)
	if err != nil {
		return web.Answer{}, err
	}
	ready, found, payloads := 0, false, int64(0)
	err = r.Look(r.PathValue("vhost"), func(v vhost.Reader) {
		q, any := v.Queue(r.PathValue("queue"))
		ready, found = q.Ready, any
		if q.ReadyBytes > getBytesMax { // fewer than asked for, at least one: the answer is made in memory
			ready = max(int(getBytesMax/(q.ReadyBytes/int64(q.Ready)+1)), 1)
		}
		payloads = q.ReadyBytes / int64(max(q.Ready, 1)) * int64(min(t.Count, ready))
	})
	if err != nil {
		return web.Answer{}, err
	}
	if !found {
		return web.Answer{}, web.NotFound("queue")
	}
	// as they are, and as text; what JSON makes of that is counted with the answer
	if err := r.Take(2 * payloads); err != nil {
		return web.Answer{}, err
	}
	get := vhost.Command{Kind: vhost.Get, Definition: &vhost.Definition{Name: r.PathValue("queue"), NoAck: t.NoAck}}
	commands := slices.Repeat([]vhost.Command{get}, max(min(t.Count, ready), min(t.Count, 1)))
	if t.Settle != nil && len(commands) > 0 {
		commands = append(commands, *t.Settle)
	}
	effects, err := r.Do(r.PathValue("vhost"), commands...)
	if err != nil {
		return web.Answer{}, err
	}
	var all api.List[api.Message]
	for i := range effects {
		if effects[i].Kind != vhost.DeliverGot {
			continue
		}
		m, err := t.Show(&effects[i])
		if err != nil {
			return web.Answer{}, err
		}
		all = append(all, m)
	}
	return web.OK(all)
}
