package resources

import (
	"context"
	"net/http"
	"slices"
	"strconv"

	"github.com/bartleby-mq/bartleby/internal/accounts"
	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/management/message"
	"github.com/bartleby-mq/bartleby/internal/management/stats"
	"github.com/bartleby-mq/bartleby/internal/management/web"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

func (s *API) exchangeEndpoints() []web.Endpoint {
	return []web.Endpoint{
		{
			Pattern: "GET exchanges", Tag: authz.Management, Serve: s.getExchanges, Scope: web.AllNodes,
			Summary: "The exchanges", Out: api.List[api.Exchange]{},
		},
		{
			Pattern: "GET exchanges/{vhost}", Tag: authz.Management, Serve: s.getExchanges, Scope: web.Leader,
			Summary: "The exchanges of a virtual host", Out: api.List[api.Exchange]{},
		},
		{
			Pattern: "GET exchanges/{vhost}/{exchange}", Tag: authz.Management, Serve: s.getExchange, Scope: web.Leader,
			Summary: "An exchange", Out: api.Exchange{},
		},
		{
			Pattern: "PUT exchanges/{vhost}/{exchange}", Tag: authz.Management, Serve: putExchange, Scope: web.Leader,
			Summary: "Declares an exchange", In: api.PutExchange{},
		},
		{
			Pattern: "DELETE exchanges/{vhost}/{exchange}", Tag: authz.Management, Serve: deleteExchange, Scope: web.Leader,
			Summary: "Deletes an exchange; if-unused=true is a condition",
		},
	}
}

// performer is whom RabbitMQ names for what it did itself, or does not know who did. Source: RabbitMQ internal user.
const performer = "rmq-internal"

// exchangesIn renders the exchanges of a virtual host, or one of them; what was published to them comes after.
func exchangesIn(h *accounts.VHost, v vhost.Reader, only *string) (all []api.Exchange) {
	add := func(name string) {
		x := v.Topology().Exchange(name)
		if x == nil {
			return
		}
		shown := api.Exchange{
			Name: x.Name, VHost: h.Name, Type: x.Type(), Durable: x.Durable, AutoDelete: x.AutoDelete,
			Internal: x.Internal, Arguments: api.Arguments(x.Arguments), Policy: message.OrNil(v.PolicyOf(x.Name)), PerformedBy: performer,
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
func flows(r *web.Request, name string, only *string) (map[string]*flow, error) {
	all := map[string]*flow{}
	var queues []string
	err := r.Look(name, func(v vhost.Reader) {
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
	ctx, cancel := context.WithTimeout(r.Context(), web.LookPatience)
	defer cancel()
	err = stats.EachInflow(ctx, r.Engine, name, queues, func(queue, exchange string, n uint64) {
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
func (s *API) exchangesOf(r *web.Request, h *accounts.VHost, only *string) ([]api.Exchange, error) {
	w, err := stats.SpansOf(r)
	if err != nil || r.IsDown(h.Name) {
		return nil, err
	}
	var all []api.Exchange
	if err := r.Look(h.Name, func(v vhost.Reader) { all = exchangesIn(h, v, only) }); err != nil {
		return nil, err
	}
	flows, err := flows(r, h.Name, only)
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
		t := s.sampler.FlowTrend(h, x.Name, w)
		x.MessageStats = stats.ShowExchangeStats(f.in, f.out, &t)
	}
	return all, err
}

func (s *API) getExchanges(r *web.Request) (web.Answer, error) {
	shown, err := r.ShownVHosts()
	if err != nil {
		return web.Answer{}, err
	}
	if err := r.Gather(); err != nil {
		return web.Answer{}, err
	}
	var all []api.Exchange
	for _, h := range shown {
		some, err := s.exchangesOf(r, h, nil)
		if err != nil {
			return web.Answer{}, err
		}
		all = append(all, some...)
	}
	r.ShowDefinition(exchangeDefinition)
	return web.List(r, all, func(x *api.Exchange) string { return x.Name })
}

// exchangeDefinition is what is shown of an exchange whose statistics are not wanted.
const exchangeDefinition = "name,vhost,type,durable,auto_delete,internal,arguments,policy,user_who_performed_action"

// getExchange shows one exchange, and where what was published to it went.
func (s *API) getExchange(r *web.Request) (web.Answer, error) {
	h, err := r.VHost(r.PathValue("vhost"))
	if err != nil {
		return web.Answer{}, err
	}
	name := web.ExchangeName(r.PathValue("exchange"))
	found, err := s.exchangesOf(r, h, &name)
	switch {
	case err != nil:
		return web.Answer{}, err
	case found == nil:
		return web.Answer{}, web.ErrNotFound
	}
	r.ShowDefinition(exchangeDefinition)
	return web.OK(found[0])
}

func putExchange(r *web.Request) (web.Answer, error) {
	if err := r.Enter(r.PathValue("vhost")); err != nil {
		return web.Answer{}, err
	}
	var body api.PutExchange
	if err := r.Read(&body); err != nil {
		return web.Answer{}, err
	}
	if err := web.NeedKeys(web.Needed("type", body.Type != nil)); err != nil {
		return web.Answer{}, err
	}
	name := web.ExchangeName(r.PathValue("exchange"))
	if err := message.CheckExchange(name, amqp.Table(body.Arguments)); err != nil {
		return web.Answer{}, err
	}
	existed, err := r.HasExchange(name)
	if err != nil {
		return web.Answer{}, err
	}
	_, err = r.Do(r.PathValue("vhost"), vhost.Command{Kind: vhost.DeclareExchange, Definition: &vhost.Definition{
		Name: name, Type: *body.Type, Durable: bool(body.Durable), AutoDelete: bool(body.AutoDelete),
		Internal: bool(body.Internal), Arguments: amqp.Table(body.Arguments),
	}})
	if err != nil {
		return web.Answer{}, err
	}
	r.Unchanged = existed
	return web.PutAnswer(!existed)
}

func deleteExchange(r *web.Request) (web.Answer, error) {
	if err := r.Enter(r.PathValue("vhost")); err != nil {
		return web.Answer{}, err
	}
	name := web.ExchangeName(r.PathValue("exchange"))
	found, err := r.HasExchange(name)
	if err != nil {
		return web.Answer{}, err
	}
	if !found {
		return web.Answer{}, web.ErrNotFound
	}
	_, err = r.Do(r.PathValue("vhost"), vhost.Command{Kind: vhost.DeleteExchange, Definition: &vhost.Definition{
		Name: name, IfUnused: r.Flag("if-unused"),
	}})
	if err != nil {
		return web.Answer{}, err
	}
	left, err := scheduledIn(r, r.PathValue("vhost"), &name)
	if err != nil {
		return web.Answer{}, err
	}
	return nothingBut(left)
}

// scheduledIn counts what waits in an exchange or, if it is nil, in all of a virtual host.
func scheduledIn(r *web.Request, name string, exchange *string) (messages int, err error) {
	err = r.Look(name, func(v vhost.Reader) {
		if exchange != nil {
			_, messages, _ = v.ScheduleNamed(*exchange)
			return
		}
		for _, exchange := range v.ScheduleNames() {
			_, n, _ := v.ScheduleNamed(exchange)
			messages += n
		}
	})
	return messages, err
}

// nothingBut is the answer to a deletion that leaves scheduled messages behind, or takes them along.
func nothingBut(scheduled int) (web.Answer, error) {
	a := web.Answer{Status: http.StatusNoContent}
	if scheduled > 0 {
		a.Header = http.Header{api.ScheduledHeader: {strconv.Itoa(scheduled)}}
	}
	return a, nil
}
