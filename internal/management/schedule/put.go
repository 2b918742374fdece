package schedule

import (
	"github.com/bartleby-mq/bartleby/internal/accounts"
	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/management/message"
	"github.com/bartleby-mq/bartleby/internal/management/web"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

func scheduleKeyEndpoints() []web.Endpoint {
	return []web.Endpoint{
		{
			Pattern: "PUT x/scheduled/{vhost}/{exchange}/key/{key}", Tag: authz.Management, Serve: putScheduled, Body: web.LargeBody, Audit: web.Unaudited, Scope: web.Leader,
			Summary: "Schedules a message under a key, replacing the one scheduled under it",
			In:      api.PutScheduled{}, Out: api.Published{},
		},
	}
}

// putScheduled publishes a message to a delayed exchange under a key, in the place of what waits under it there. The
// answer tells the ID if it waits: an instant that has passed is now.
func putScheduled(r *web.Request) (web.Answer, error) {
	w, err := enterSchedule(r, accounts.Write)
	if err != nil {
		return web.Answer{}, err
	}
	var body api.PutScheduled
	if err := r.ReadKnown(&body); err != nil {
		return web.Answer{}, err
	}
	at, err := newInstant(r, &body.NewInstant)
	if err != nil {
		return web.Answer{}, err
	}
	m, err := message.ReadOutgoing(&body.PostPublish)
	if err != nil {
		return web.Answer{}, err
	}
	for _, name := range []string{vhost.KeyHeader, vhost.DelayHeader} {
		if _, given := m.Properties.Headers.Get(name); given {
			return web.Answer{}, web.BadRequest("the header %s is not allowed: the path contains the key, and 'at' or 'in' the time", name)
		}
	}
	m.Properties.Has |= amqp.FlagHeaders
	m.Properties.Headers = append(m.Properties.Headers,
		amqp.Field{Name: vhost.KeyHeader, Value: amqp.String(r.PathValue("key"))},
		amqp.Field{Name: vhost.DelayHeader, Value: amqp.Int64(max(at-r.Engine.Now().UnixMilli(), 0))})
	published, err := message.Publish(r, w.exchange, m)
	if err != nil {
		return web.Answer{}, err
	}
	return web.OK(published)
}
