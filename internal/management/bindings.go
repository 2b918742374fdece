package management

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/access"
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
func (r *request) bindingsIn(name string, of scope) (all []api.Binding, err error) {
	h, ok := r.view.VHost(name)
	if !ok {
		return nil, nil
	}
	err = r.eachBinding(h, of, func(b *api.Binding) error {
		all = append(all, *b)
		return nil
	})
	return all, err
}

// eachBinding visits the bindings of a virtual host that are wanted, implicit ones included, in the order of
// lists: by the name of the source, then by destination and keys. It reads them in portions. What is visited
// may be overwritten by the next visit.
func (r *request) eachBinding(h *access.VHost, of scope, visit func(*api.Binding) error) error {
	if r.down(h.Name) {
		return nil
	}
	if err := r.eachImplicit(h, of, visit); err != nil {
		return err
	}
	if of.destination != nil {
		return r.eachBindingTo(h, of, visit)
	}
	var sources []string
	if of.source != nil {
		sources = []string{*of.source}
	} else if err := r.look(h.Name, func(v *vhost.VHost) {
		for x := range v.Topology().Exchanges() {
			sources = append(sources, x.Name)
		}
	}); err != nil {
		return err
	}
	if err := r.takeLarge(itemsBytes[string](len(sources))); err != nil {
		return err
	}
	for _, source := range sources {
		if err := r.eachBindingFrom(h, source, nil, visit); err != nil {
			return err
		}
	}
	return nil
}

// eachBindingTo visits the bindings to one destination.
func (r *request) eachBindingTo(h *access.VHost, of scope, visit func(*api.Binding) error) error {
	var all []bound
	err := r.look(h.Name, func(v *vhost.VHost) {
		for b := range v.Topology().BindingsTo(*of.destination, of.kind == toQueue) {
			if of.source == nil || b.Source == *of.source {
				all = append(all, bound{Binding: b})
			}
		}
	})
	slices.SortStableFunc(all, func(a, b bound) int { return cmp.Or(cmp.Compare(a.Source, b.Source), a.compare(&b)) })
	for i := range all {
		if err == nil {
			b := shownBinding(h, &all[i].Binding)
			err = visit(&b)
		}
	}
	return err
}

// shownBinding is a binding as lists show it.
func shownBinding(h *access.VHost, t *vhost.Binding) api.Binding {
	b := binding(h.Name, t.Source, t.Destination, t.ToQueue, t.RoutingKey, t.Arguments)
	b.PropertiesKey = api.PropertiesKey(b.RoutingKey, t.Arguments)
	return b
}

// eachImplicit visits the bindings of the default exchange.
func (r *request) eachImplicit(h *access.VHost, of scope, visit func(*api.Binding) error) error {
	one := func(queue string) error {
		b := implicit(h.Name, queue)
		b.PropertiesKey = api.PropertiesKey(b.RoutingKey, nil)
		return visit(&b)
	}
	switch {
	case of.source != nil && *of.source != "" || of.destination != nil && of.kind == toExchange:
		return nil
	case of.destination == nil:
		return r.eachName(h, bindingsPortion, func(names []string) error {
			for _, queue := range names {
				if err := one(queue); err != nil {
					return err
				}
			}
			return nil
		})
	}
	found := false
	if err := r.look(h.Name, func(v *vhost.VHost) { _, found = v.Topology().Queue(*of.destination) }); err != nil || !found {
		return err
	}
	return one(*of.destination)
}

// A bound is a binding from one exchange while those are put in order.
type bound struct {
	seq uint64
	vhost.Binding
}

func (a *bound) compare(b *bound) int {
	kind := func(x *bound) int { return flag(x.ToQueue) } // "exchange" comes before "queue"
	c := cmp.Or(cmp.Compare(kind(a), kind(b)), cmp.Compare(a.Destination, b.Destination), cmp.Compare(a.RoutingKey, b.RoutingKey))
	if c == 0 {
		c = cmp.Compare(api.PropertiesKey(a.RoutingKey, a.Arguments), api.PropertiesKey(b.RoutingKey, b.Arguments))
	}
	return c
}

// eachBindingFrom visits the bindings of one exchange that are wanted, nil being all. While a client is
// waited for, their numbers are all that is held.
func (r *request) eachBindingFrom(h *access.VHost, source string, wanted func(*vhost.VHost, *vhost.Binding) bool, visit func(*api.Binding) error) error {
	before := r.account.taken
	order, err := r.bindingOrder(h, source)
	if err != nil {
		return err
	}
	defer func() { r.account.giveBack(before) }()
	portion := make([]vhost.Binding, 0, min(len(order), bindingsPortion))
	for some := range slices.Chunk(order, bindingsPortion) {
		portion = portion[:0]
		err := r.look(h.Name, func(v *vhost.VHost) {
			for _, seq := range some {
				if b, ok := v.Topology().BindingNumbered(source, seq); ok && (wanted == nil || wanted(v, &b)) {
					portion = append(portion, b)
				}
			}
		})
		if err != nil {
			return err
		}
		for i := range portion {
			b := shownBinding(h, &portion[i])
			if err := visit(&b); err != nil {
				return err
			}
		}
	}
	return nil
}

// bindingOrder is the numbers of the bindings from one exchange, in the order of lists. Few requests put such
// in order at a time.
func (r *request) bindingOrder(h *access.VHost, source string) ([]uint64, error) {
	if !r.gathers {
		if err := r.gather(); err != nil {
			return nil, err
		}
		defer r.ready()
	}
	var all []bound
	var last uint64
	for more := true; more; {
		err := r.look(h.Name, func(v *vhost.VHost) {
			last, more = v.Topology().BindingsAfter(source, last, bindingsLook, func(seq uint64, b vhost.Binding) {
				all = append(all, bound{seq, b})
			})
		})
		if err != nil {
			return nil, err
		}
	}
	if err := r.takeLarge(itemsBytes[uint64](len(all))); err != nil {
		return nil, err
	}
	slices.SortFunc(all, func(a, b bound) int { return a.compare(&b) })
	order := make([]uint64, len(all))
	for i := range all {
		order[i] = all[i].seq
	}
	return order, nil
}

func getBindings(r *request) (answer, error) {
	shown, err := r.shown(r.names...)
	if err != nil {
		return answer{}, err
	}
	if r.whole() {
		return r.streamed(func(row func(any) error) error {
			for _, h := range shown {
				if err := r.eachBinding(h, scope{}, func(b *api.Binding) error { return row(b) }); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := r.gather(); err != nil {
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
	if err := r.gather(); err != nil {
		return answer{}, err
	}
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
