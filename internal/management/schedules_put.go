package management

import (
	"github.com/bartleby-mq/bartleby/internal/access"
	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// putScheduled publishes a message to a delayed exchange under a key, in the place of what waits under it there. The answer
// tells the ID if it waits: an instant that has passed is now.
func putScheduled(r *request) (answer, error) {
	w, err := r.enterSchedule(access.Write)
	if err != nil {
		return answer{}, err
	}
	var body api.PutScheduled
	if err := r.readKnown(&body); err != nil {
		return answer{}, err
	}
	at, err := r.newInstant(&body.NewInstant)
	if err != nil {
		return answer{}, err
	}
	m, err := readPublish(&body.PostPublish)
	if err != nil {
		return answer{}, err
	}
	for _, name := range []string{vhost.KeyHeader, vhost.DelayHeader} {
		if _, given := m.properties.Headers.Get(name); given {
			return answer{}, badRequest("the header %s is not allowed: the path contains the key, and 'at' or 'in' the time", name)
		}
	}
	m.properties.Has |= amqp.FlagHeaders
	m.properties.Headers = append(m.properties.Headers,
		amqp.Field{Name: vhost.KeyHeader, Value: amqp.String(r.names[2])},
		amqp.Field{Name: vhost.DelayHeader, Value: amqp.Int64(max(at-r.server.engine.Now().UnixMilli(), 0))})
	published, err := r.publish(w.exchange, m)
	if err != nil {
		return answer{}, err
	}
	return ok(published)
}
