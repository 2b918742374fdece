package management

import (
	"github.com/bartleby-mq/bartleby/internal/access"
	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// performer is whom RabbitMQ names for what it did itself, or does not know who did. Source: RabbitMQ internal user.
const performer = "rmq-internal"

func (r *request) exchangesOf(h *access.VHost) ([]api.Exchange, error) {
	if r.down(h.Name) {
		return nil, nil
	}
	var all []api.Exchange
	err := r.look(h.Name, func(v *vhost.VHost) {
		for x := range v.Topology().Exchanges() {
			shown := api.Exchange{
				Name: x.Name, VHost: h.Name, Type: x.Type(), Durable: x.Durable, AutoDelete: x.AutoDelete,
				Internal: x.Internal, Arguments: api.Arguments(x.Arguments), Policy: text(v.PolicyOf(x.Name)), PerformedBy: performer,
			}
			if x.Delayed {
				_, waiting, _ := v.ScheduleNamed(x.Name)
				n := int64(waiting)
				shown.MessagesDelayed = &n
			}
			all = append(all, shown)
		}
	})
	return all, err
}

func getExchanges(r *request) (answer, error) {
	shown, err := r.shown(r.names...)
	if err != nil {
		return answer{}, err
	}
	var all []api.Exchange
	for _, h := range shown {
		some, err := r.exchangesOf(h)
		if err != nil {
			return answer{}, err
		}
		all = append(all, some...)
	}
	return list(r, all, func(x *api.Exchange) string { return x.Name })
}

func getExchange(r *request) (answer, error) {
	h, err := r.vhost(r.names[0])
	if err != nil {
		return answer{}, err
	}
	all, err := r.exchangesOf(h)
	if err != nil {
		return answer{}, err
	}
	for _, x := range all {
		if x.Name == exchangeNamed(r.names[1]) {
			return ok(x)
		}
	}
	return answer{}, errNotFound
}

// hasExchange reports whether an exchange is there.
func (r *request) hasExchange(name string) (found bool, err error) {
	err = r.look(r.names[0], func(v *vhost.VHost) { found = v.Topology().Exchange(name) != nil })
	return found, err
}

func putExchange(r *request) (answer, error) {
	if err := r.enter(r.names[0]); err != nil {
		return answer{}, err
	}
	var body api.PutExchange
	if err := r.read(&body); err != nil {
		return answer{}, err
	}
	if err := needKeys(key{"type", body.Type != nil}); err != nil {
		return answer{}, err
	}
	name := exchangeNamed(r.names[1])
	if !amqp.ValidName(name) {
		return answer{}, badRequest("the name of an exchange must be UTF-8 of at most %d bytes", amqp.ShortStringMax)
	}
	existed, err := r.hasExchange(name)
	if err != nil {
		return answer{}, err
	}
	_, err = r.do(r.names[0], vhost.Command{Kind: vhost.DeclareExchange, Definition: &vhost.Definition{
		Name: name, Type: *body.Type, Durable: bool(body.Durable), AutoDelete: bool(body.AutoDelete),
		Internal: bool(body.Internal), Arguments: amqp.Table(body.Arguments),
	}})
	if err != nil {
		return answer{}, err
	}
	return put(!existed)
}

func deleteExchange(r *request) (answer, error) {
	if err := r.enter(r.names[0]); err != nil {
		return answer{}, err
	}
	name := exchangeNamed(r.names[1])
	found, err := r.hasExchange(name)
	if err != nil {
		return answer{}, err
	}
	if !found {
		return answer{}, errNotFound
	}
	_, err = r.do(r.names[0], vhost.Command{Kind: vhost.DeleteExchange, Definition: &vhost.Definition{
		Name: name, IfUnused: r.flag("if-unused"),
	}})
	if err != nil {
		return answer{}, err
	}
	left, err := r.scheduledIn(r.names[0], &name)
	if err != nil {
		return answer{}, err
	}
	return nothingBut(left)
}
