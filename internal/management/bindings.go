package management

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

const (
	toQueue    = "queue"
	toExchange = "exchange"
)

// binding renders one, without its properties key.
func binding(vhost, source, destination string, isQueue bool, routingKey string, arguments amqp.Table) api.Binding {
	kind := toExchange
	if isQueue {
		kind = toQueue
	}
	return api.Binding{
		Source: source, VHost: vhost, Destination: destination, DestinationType: kind, RoutingKey: routingKey,
		Arguments: api.Arguments(arguments),
	}
}

// implicit renders the binding that every queue has to the default exchange.
func implicit(vhost, queue string) api.Binding { return binding(vhost, "", queue, true, queue, nil) }

// A scope is which bindings are wanted: those between two ends, or from or to one, or all. Nil ends are any.
type scope struct {
	source, destination *string
	kind                string // of the destination, if it is given
}

// bindingsIn lists the bindings of a virtual host that are wanted, implicit ones included, in the order of lists.
func (r *request) bindingsIn(name string, of scope) ([]api.Binding, error) {
	if r.down(name) {
		return nil, nil
	}
	var all []api.Binding
	var queues []string // whose implicit bindings are wanted
	err := r.look(name, func(v *vhost.VHost) {
		bound := v.Topology().Bindings()
		switch {
		case of.destination != nil:
			bound = v.Topology().BindingsTo(*of.destination, of.kind == toQueue)
		case of.source != nil:
			bound = v.Topology().BindingsFrom(*of.source)
		}
		for t := range bound {
			if of.source == nil || t.Source == *of.source {
				all = append(all, binding(name, t.Source, t.Destination, t.ToQueue, t.RoutingKey, t.Arguments))
			}
		}
		switch {
		case of.source != nil && *of.source != "" || of.destination != nil && of.kind == toExchange:
		case of.destination == nil:
			queues = v.QueueNames()
		default:
			if _, found := v.Topology().Queue(*of.destination); found {
				queues = []string{*of.destination}
			}
		}
	})
	for _, queue := range queues {
		all = append(all, implicit(name, queue))
	}
	for i := range all {
		all[i].PropertiesKey = api.PropertiesKey(all[i].RoutingKey, amqp.Table(all[i].Arguments))
	}
	slices.SortStableFunc(all, func(a, b api.Binding) int {
		return cmp.Or(
			cmp.Compare(a.Source, b.Source), cmp.Compare(a.DestinationType, b.DestinationType),
			cmp.Compare(a.Destination, b.Destination), cmp.Compare(a.RoutingKey, b.RoutingKey),
			cmp.Compare(a.PropertiesKey, b.PropertiesKey))
	})
	return all, err
}

func getBindings(r *request) (answer, error) {
	shown, err := r.shown(r.names...)
	if err != nil {
		return answer{}, err
	}
	var all []api.Binding
	for _, h := range shown {
		some, err := r.bindingsIn(h.Name, scope{})
		if err != nil {
			return answer{}, err
		}
		all = append(all, some...)
	}
	return list(r, all, func(b *api.Binding) string { return b.Source })
}

func getQueueBindings(r *request) (answer, error) {
	h, err := r.vhost(r.names[0])
	if err != nil {
		return answer{}, err
	}
	if found, err := r.hasQueue(); err != nil {
		return answer{}, err
	} else if !found {
		return answer{}, errNotFound
	}
	return r.listBindings(h.Name, scope{destination: &r.names[1], kind: toQueue})
}

func getBindingsFrom(r *request) (answer, error) {
	return exchangeBindings(r, func(exchange *string) scope { return scope{source: exchange} })
}

func getBindingsTo(r *request) (answer, error) {
	return exchangeBindings(r, func(exchange *string) scope { return scope{destination: exchange, kind: toExchange} })
}

func exchangeBindings(r *request, of func(exchange *string) scope) (answer, error) {
	if _, err := r.vhost(r.names[0]); err != nil {
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
	return r.listBindings(r.names[0], of(&name))
}

func (r *request) listBindings(name string, of scope) (answer, error) {
	all, err := r.bindingsIn(name, of)
	if err != nil {
		return answer{}, err
	}
	return list(r, all, func(b *api.Binding) string { return b.Source })
}

// ends are what a path …/e/{source}/q/{destination} or …/e/{source}/e/{destination} names.
type ends struct {
	vhost, source, destination, kind string
}

func (e *ends) scope() scope {
	return scope{source: &e.source, destination: &e.destination, kind: e.kind}
}

// endsOf makes sure that both ends are there.
func (r *request) endsOf(kind string) (*ends, error) {
	e := &ends{r.names[0], exchangeNamed(r.names[1]), r.names[2], kind}
	if _, err := r.vhost(e.vhost); err != nil {
		if r.Method == post {
			err = notFound("vhost")
		}
		return nil, err
	}
	if kind == toExchange {
		e.destination = exchangeNamed(e.destination)
	}
	missing := ""
	err := r.look(e.vhost, func(v *vhost.VHost) {
		exchange := func(name string) {
			if v.Topology().Exchange(name) == nil {
				missing = "exchange '" + name + "'"
			}
		}
		if _, found := v.Topology().Queue(e.destination); kind == toExchange {
			exchange(e.destination)
		} else if !found {
			missing = "queue '" + e.destination + "'"
		}
		exchange(e.source)
	})
	switch {
	case err != nil || missing == "":
		return e, err
	case r.Method == post:
		return nil, &api.Error{Status: http.StatusNotFound, Kind: "not_found", Reason: "no " + missing + " in vhost '" + e.vhost + "'"}
	}
	return nil, errNotFound
}

// betweenQueue and betweenExchange serve the same paths for the two kinds of destination.
func betweenQueue(serve func(*request, string) (answer, error)) endpoint {
	return func(r *request) (answer, error) { return serve(r, toQueue) }
}

func betweenExchange(serve func(*request, string) (answer, error)) endpoint {
	return func(r *request) (answer, error) { return serve(r, toExchange) }
}

func getBetween(r *request, kind string) (answer, error) {
	e, err := r.endsOf(kind)
	if err != nil {
		return answer{}, err
	}
	return r.listBindings(e.vhost, e.scope())
}

// postBetween makes a binding and tells in Location, relative to the request's path, where it is.
func postBetween(r *request, kind string) (answer, error) {
	e, err := r.endsOf(kind)
	if err != nil {
		return answer{}, err
	}
	if err := r.enter(e.vhost); err != nil {
		return answer{}, err
	}
	var body api.PostBinding
	if err := r.read(&body); err != nil {
		return answer{}, err
	}
	if err := checkRoutingKey(body.RoutingKey); err != nil {
		return answer{}, err
	}
	c := vhost.Command{Kind: vhost.BindQueue, Definition: &vhost.Definition{
		Source: e.source, Name: e.destination, RoutingKey: body.RoutingKey, Arguments: amqp.Table(body.Arguments),
	}}
	if kind == toExchange {
		c.Kind = vhost.BindExchange
	}
	if _, err := r.do(e.vhost, c); err != nil {
		return answer{}, err
	}
	location := url.PathEscape(r.names[2]) + "/" + url.PathEscape(api.PropertiesKey(body.RoutingKey, amqp.Table(body.Arguments)))
	return answer{status: http.StatusCreated, header: http.Header{"Location": {location}}}, nil
}

// named finds the binding with the properties key of the path. Clients that escape it but once, or a space as '+',
// are understood. Source: RabbitMQ management API, bindings; reference http-api 1.1.
func (r *request) named(e *ends) (*api.Binding, error) {
	given := r.names[3]
	once := strings.ReplaceAll(given, "+", " ")
	all, err := r.bindingsIn(e.vhost, e.scope())
	if err != nil {
		return nil, err
	}
	for i, b := range all {
		if b.PropertiesKey == given || b.PropertiesKey == once {
			return &all[i], nil
		}
	}
	for i, b := range all {
		if len(b.Arguments) == 0 && (b.RoutingKey == given || b.RoutingKey == once) {
			return &all[i], nil
		}
	}
	return nil, errNotFound
}

func getBinding(r *request, kind string) (answer, error) {
	e, err := r.endsOf(kind)
	if err != nil {
		return answer{}, err
	}
	b, err := r.named(e)
	if err != nil {
		return answer{}, err
	}
	return ok(b)
}

func deleteBinding(r *request, kind string) (answer, error) {
	e, err := r.endsOf(kind)
	if err != nil {
		return answer{}, err
	}
	if err := r.enter(e.vhost); err != nil {
		return answer{}, err
	}
	b, err := r.named(e)
	if err != nil {
		return answer{}, err
	}
	c := vhost.Command{Kind: vhost.UnbindQueue, Definition: &vhost.Definition{
		Source: e.source, Name: e.destination, RoutingKey: b.RoutingKey, Arguments: amqp.Table(b.Arguments),
	}}
	if kind == toExchange {
		c.Kind = vhost.UnbindExchange
	}
	if _, err := r.do(e.vhost, c); err != nil {
		return answer{}, err
	}
	return nothing()
}
