package resources

import (
	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/management/web"
)

func namedQueueEndpoints() []web.Endpoint {
	return []web.Endpoint{
		{
			Pattern: "PUT x/queues/{vhost}/{queue}", Tag: authz.Management, Serve: createQueue, Scope: web.Leader,
			Summary: "Declares a queue with settings given by name or as arguments", In: api.CreateQueue{},
		},
	}
}

// createQueue makes a queue from a body in which its settings may have names of their own, as in ApsaraMQ's
// CreateQueue, beside the arguments of a declaration. Unlike PUT /api/queues it makes a durable queue unless told
// otherwise, and refuses keys that it does not know. Source: ApsaraMQ for RabbitMQ, CreateQueue.
func createQueue(r *web.Request) (web.Answer, error) {
	if err := r.Enter(r.PathValue("vhost")); err != nil {
		return web.Answer{}, err
	}
	body := api.CreateQueue{Durable: true}
	if err := r.ReadKnown(&body); err != nil {
		return web.Answer{}, err
	}
	switch {
	case body.VirtualHost != nil && *body.VirtualHost != r.PathValue("vhost"):
		return web.Answer{}, web.BadRequest("VirtualHost is '%s', but the path names '%s'", *body.VirtualHost, r.PathValue("vhost"))
	case body.QueueName != nil && *body.QueueName != r.PathValue("queue"):
		return web.Answer{}, web.BadRequest("QueueName is '%s', but the path names '%s'", *body.QueueName, r.PathValue("queue"))
	case bool(body.ExclusiveState):
		return web.Answer{}, web.BadRequest("ExclusiveState: an exclusive queue belongs to an AMQP connection and cannot be declared over HTTP")
	}
	arguments, err := namedArguments(&body)
	if err != nil {
		return web.Answer{}, err
	}
	return declareQueue(r, &api.PutQueue{
		Durable: body.Durable, AutoDelete: body.AutoDelete || body.AutoDeleteState, Arguments: arguments,
	})
}

// namedArguments adds to the arguments of a declaration what was given under a name. What was given twice must be the
// same.
func namedArguments(body *api.CreateQueue) (api.Arguments, error) {
	arguments := amqp.Table(body.Arguments)
	var failed error
	set := func(name, argument string, v amqp.Value) {
		if old, given := arguments.Get(argument); !given {
			arguments = append(arguments, amqp.Field{Name: argument, Value: v})
		} else if !(amqp.Table{{Value: old}}).Equal(amqp.Table{{Value: v}}) && failed == nil {
			failed = web.BadRequest("%s and the argument %s differ", name, argument)
		}
	}
	for _, x := range []struct {
		name, argument string
		value          *string
	}{
		{"DeadLetterExchange", "x-dead-letter-exchange", body.DeadLetterExchange},
		{"DeadLetterRoutingKey", "x-dead-letter-routing-key", body.DeadLetterRoutingKey},
	} {
		if x.value != nil && *x.value != "" { // how a form says that there is none
			set(x.name, x.argument, amqp.String(*x.value))
		}
	}
	for _, x := range []struct {
		name, argument string
		value          *api.Integer
	}{
		{"MessageTTL", "x-message-ttl", body.MessageTTL},
		{"AutoExpireState", "x-expires", body.AutoExpireState},
		{"MaxLength", "x-max-length", body.MaxLength},
		{"MaximumPriority", "x-max-priority", body.MaximumPriority},
	} {
		if x.value != nil {
			set(x.name, x.argument, amqp.Int64(int64(*x.value)))
		}
	}
	return api.Arguments(arguments), failed
}
