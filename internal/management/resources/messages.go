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

// taking is what a request takes from a queue.
type taking struct{ message.Rendering }

func readTaking(r *web.Request) (*taking, error) {
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
	t := &taking{message.Rendering{Count: int(min(*body.Count, getMax)), Truncate: -1}}
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
	got, err := t.take(r)
	if err != nil {
		return web.Answer{}, err
	}
	return r.Streamed(func(row func(any) error) error {
		for i := range got {
			if got[i].Kind != vhost.DeliverGot {
				continue
			}
			shown, err := t.Show(&got[i])
			if err == nil {
				err = row(shown)
			}
			if err != nil {
				return err
			}
			got[i] = vhost.Effect{}
		}
		return nil
	})
}

// take takes the messages that a request asks for, as far as getBytesMax reaches, at least one. The
// memory that they take is counted before they are read, by their sizes; if others take messages
// meanwhile, so that the next one is larger, it is counted again.
func (t *taking) take(r *web.Request) (got []vhost.Effect, err error) {
	how := &vhost.Definition{Name: r.PathValue("queue"), NoAck: t.NoAck, IfFits: true}
	before := r.Account.Taken
	for range getTries {
		count, bytes, found := 0, int64(0), false
		err := r.Look(r.PathValue("vhost"), func(v vhost.Reader) {
			count, bytes, found = v.GetsAhead(r.PathValue("queue"), t.Count, getBytesMax)
		})
		if err == nil && !found {
			err = web.NotFound("queue")
		}
		if err != nil {
			return nil, err
		}
		commands := max(count, min(t.Count, 1)) // an empty queue is asked, too: it may say that this is not allowed
		r.Account.GiveBack(before)
		lists := 3*web.ItemsBytes[vhost.Command](commands) + 2*web.ItemsBytes[vhost.Effect](commands) // they grow
		if err := r.Reserve(bytes + lists + 2*web.StreamBytes); err != nil {
			return nil, err
		}
		asked := slices.Repeat([]vhost.Command{{Kind: vhost.Get, Definition: how}}, commands)
		if t.Settle != nil && commands > 0 {
			asked = append(asked, *t.Settle)
		}
		got, err = r.DoWithin(max(bytes, 1), r.PathValue("vhost"), asked...)
		if err != nil {
			return nil, err
		}
		if count == 0 || slices.ContainsFunc(got, func(e vhost.Effect) bool { return e.Kind == vhost.DeliverGot }) {
			break
		}
	}
	return got, nil
}
