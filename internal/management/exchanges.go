package management

import (
	"context"
	"slices"

	"github.com/bartleby-mq/bartleby/internal/access"
	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// performer is whom RabbitMQ names for what it did itself, or does not know who did. Source: RabbitMQ internal user.
const performer = "rmq-internal"

// exchangesIn renders the exchanges of a virtual host, or one of them; what was published to them comes after.
func exchangesIn(h *access.VHost, v *vhost.VHost, only *string) (all []api.Exchange) {
	add := func(name string) {
		x := v.Topology().Exchange(name)
		if x == nil {
			return
		}
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
	if only != nil {
		add(*only)
		return all
	}
	for x := range v.Topology().Exchanges() {
		add(x.Name)
	}
	return all
}

// A flow is what came to an exchange and what it led to queues.
type flow struct {
	in, out uint64
	queues  api.List[api.Outflow] // of one exchange only
}

// flows reads those of all exchanges to which anything was published, or of one.
func (r *request) flows(name string, only *string) (map[string]*flow, error) {
	all := map[string]*flow{}
	var queues []string
	err := r.look(name, func(v *vhost.VHost) {
		v.ExchangeStats(func(exchange string, n vhost.ExchangeStats) {
			if only == nil || exchange == *only {
				all[exchange] = &flow{in: n.Published}
			}
		})
		if len(all) > 0 {
			queues = v.QueueNames()
		}
	})
	if err != nil {
		return nil, err
	}
	slices.Sort(queues)
	ctx, cancel := context.WithTimeout(r.Context(), lookPatience)
	defer cancel()
	err = eachInflow(ctx, r.server.engine, name, queues, func(queue, exchange string, n uint64) {
		f := all[exchange]
		if f == nil {
			return
		}
		f.out += n
		if only != nil {
			to := api.Name{Name: queue, VHost: name}
			f.queues = append(f.queues, api.Outflow{Queue: to, Stats: api.MessageStats{Publish: api.Counter{Total: n}}})
		}
	})
	return all, err
}

// exchangesOf lists the exchanges of a virtual host, or one of them with where it led messages.
func (r *request) exchangesOf(h *access.VHost, only *string) ([]api.Exchange, error) {
	w, err := r.spans()
	if err != nil || r.down(h.Name) {
		return nil, err
	}
	var all []api.Exchange
	if err := r.look(h.Name, func(v *vhost.VHost) { all = exchangesIn(h, v, only) }); err != nil {
		return nil, err
	}
	flows, err := r.flows(h.Name, only)
	for i := range all {
		x := &all[i]
		if only != nil {
			x.Incoming, x.Outgoing = &api.List[api.Object[string]]{}, &api.List[api.Outflow]{}
		}
		f := flows[x.Name]
		if f == nil {
			continue
		}
		if only != nil {
			x.Outgoing = &f.queues
		}
		t := r.server.sampler.flowTrend(h, x.Name, w)
		x.MessageStats = exchangeStats(f.in, f.out, &t)
	}
	return all, err
}

func getExchanges(r *request) (answer, error) {
	shown, err := r.shown(r.names...)
	if err != nil {
		return answer{}, err
	}
	if err := r.gather(); err != nil {
		return answer{}, err
	}
	var all []api.Exchange
	for _, h := range shown {
		some, err := r.exchangesOf(h, nil)
		if err != nil {
			return answer{}, err
		}
		all = append(all, some...)
	}
	r.showDefinition(exchangeDefinition)
	return list(r, all, func(x *api.Exchange) string { return x.Name })
}

// exchangeDefinition is what is shown of an exchange whose statistics are not wanted.
const exchangeDefinition = "name,vhost,type,durable,auto_delete,internal,arguments,policy,user_who_performed_action"

// getExchange shows one exchange, and where what was published to it went.
func getExchange(r *request) (answer, error) {
	h, err := r.vhost(r.names[0])
	if err != nil {
		return answer{}, err
	}
	name := exchangeNamed(r.names[1])
	found, err := r.exchangesOf(h, &name)
	switch {
	case err != nil:
		return answer{}, err
	case found == nil:
		return answer{}, errNotFound
	}
	r.showDefinition(exchangeDefinition)
	return ok(found[0])
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
	if err := checkExchange(name, amqp.Table(body.Arguments)); err != nil {
		return answer{}, err
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
