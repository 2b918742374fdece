package resources

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/accounts"
	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/management/message"
	"github.com/bartleby-mq/bartleby/internal/management/stats"
	"github.com/bartleby-mq/bartleby/internal/management/web"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

func (s *API) bindingEndpoints() []web.Endpoint {
	return []web.Endpoint{
		{
			Pattern: "GET queues/{vhost}/{queue}/bindings", Tag: authz.Management, Serve: s.getQueueBindings, Scope: web.Leader,
			Summary: "The bindings to a queue", Out: api.List[api.Binding]{},
		},
		{
			Pattern: "GET exchanges/{vhost}/{exchange}/bindings/source", Tag: authz.Management, Serve: s.getBindingsFrom, Scope: web.Leader,
			Summary: "The bindings from an exchange", Out: api.List[api.Binding]{},
		},
		{
			Pattern: "GET exchanges/{vhost}/{exchange}/bindings/destination", Tag: authz.Management, Serve: s.getBindingsTo, Scope: web.Leader,
			Summary: "The bindings to an exchange", Out: api.List[api.Binding]{},
		},
		{
			Pattern: "GET bindings", Tag: authz.Management, Serve: s.getBindings, Scope: web.AllNodes,
			Summary: "The bindings", Out: api.List[api.Binding]{},
		},
		{
			Pattern: "GET bindings/{vhost}", Tag: authz.Management, Serve: s.getBindings, Scope: web.Leader,
			Summary: "The bindings of a virtual host", Out: api.List[api.Binding]{},
		},
		{
			Pattern: "GET bindings/{vhost}/e/{source}/q/{destination}", Tag: authz.Management, Serve: betweenQueue(s.getBetween), Scope: web.Leader,
			Summary: "The bindings between an exchange and a queue", Out: api.List[api.Binding]{},
		},
		{
			Pattern: "POST bindings/{vhost}/e/{source}/q/{destination}", Tag: authz.Management, Serve: betweenQueue(postBetween), Body: web.BindingBody, Scope: web.Leader,
			Summary: "Binds a queue to an exchange; the header Location has the URL of the binding", In: api.PostBinding{},
		},
		{
			Pattern: "GET bindings/{vhost}/e/{source}/q/{destination}/{properties}", Tag: authz.Management, Serve: betweenQueue(s.getBinding), Scope: web.Leader,
			Summary: "A binding, by its properties_key", Out: api.Binding{},
		},
		{
			Pattern: "DELETE bindings/{vhost}/e/{source}/q/{destination}/{properties}", Tag: authz.Management, Serve: betweenQueue(s.deleteBinding), Scope: web.Leader,
			Summary: "Unbinds a queue",
		},
		{
			Pattern: "GET bindings/{vhost}/e/{source}/e/{destination}", Tag: authz.Management, Serve: betweenExchange(s.getBetween), Scope: web.Leader,
			Summary: "The bindings between two exchanges", Out: api.List[api.Binding]{},
		},
		{
			Pattern: "POST bindings/{vhost}/e/{source}/e/{destination}", Tag: authz.Management, Serve: betweenExchange(postBetween), Body: web.BindingBody, Scope: web.Leader,
			Summary: "Binds an exchange to an exchange; the header Location has the URL of the binding",
			In:      api.PostBinding{},
		},
		{
			Pattern: "GET bindings/{vhost}/e/{source}/e/{destination}/{properties}", Tag: authz.Management, Serve: betweenExchange(s.getBinding), Scope: web.Leader,
			Summary: "A binding, by its properties_key", Out: api.Binding{},
		},
		{
			Pattern: "DELETE bindings/{vhost}/e/{source}/e/{destination}/{properties}", Tag: authz.Management, Serve: betweenExchange(s.deleteBinding), Scope: web.Leader,
			Summary: "Unbinds an exchange",
		},
	}
}

const (
	ToQueue    = "queue"
	ToExchange = "exchange"
)

// binding renders one, without its properties key.
func binding(vhost, source, destination string, isQueue bool, routingKey string, arguments amqp.Table) api.Binding {
	kind := ToExchange
	if isQueue {
		kind = ToQueue
	}
	return api.Binding{
		Source: source, VHost: vhost, Destination: destination, DestinationType: kind, RoutingKey: routingKey,
		Arguments: api.Arguments(arguments),
	}
}

// implicit renders the binding that every queue has to the default exchange.
func implicit(vhost, queue string) api.Binding { return binding(vhost, "", queue, true, queue, nil) }

// A bindingScope is which bindings are wanted: those between two ends, or from or to one, or all. Nil ends are any.
type bindingScope struct {
	source, destination *string
	kind                string // of the destination, if it is given
}

// bindingsIn lists the bindings of a virtual host that are wanted, implicit ones included, in the order of lists.
func (s *API) bindingsIn(r *web.Request, name string, of bindingScope) (all []api.Binding, err error) {
	h, ok := r.View.VHost(name)
	if !ok {
		return nil, nil
	}
	err = s.eachBinding(r, h, of, func(b *api.Binding) error {
		all = append(all, *b)
		return nil
	})
	return all, err
}

// eachBinding visits the bindings of a virtual host that are wanted, implicit ones included, in the order of
// lists: by the name of the source, then by destination and keys. It reads them in portions. What is visited
// may be overwritten by the next visit.
func (s *API) eachBinding(r *web.Request, h *accounts.VHost, of bindingScope, visit func(*api.Binding) error) error {
	if r.IsDown(h.Name) {
		return nil
	}
	if err := s.eachImplicit(r, h, of, visit); err != nil {
		return err
	}
	if of.destination != nil {
		return eachBindingTo(r, h, of, visit)
	}
	var sources []string
	if of.source != nil {
		sources = []string{*of.source}
	} else if err := r.Look(h.Name, func(v vhost.Reader) {
		for x := range v.Topology().Exchanges() {
			sources = append(sources, x.Name)
		}
	}); err != nil {
		return err
	}
	if err := r.TakeLarge(web.ItemsBytes[string](len(sources))); err != nil {
		return err
	}
	for _, source := range sources {
		if err := EachBindingFrom(r, h, source, nil, visit); err != nil {
			return err
		}
	}
	return nil
}

// eachBindingTo visits the bindings to one destination.
func eachBindingTo(r *web.Request, h *accounts.VHost, of bindingScope, visit func(*api.Binding) error) error {
	var all []bound
	err := r.Look(h.Name, func(v vhost.Reader) {
		for b := range v.Topology().BindingsTo(*of.destination, of.kind == ToQueue) {
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
func shownBinding(h *accounts.VHost, t *vhost.Binding) api.Binding {
	b := binding(h.Name, t.Source, t.Destination, t.ToQueue, t.RoutingKey, t.Arguments)
	b.PropertiesKey = api.PropertiesKey(b.RoutingKey, t.Arguments)
	return b
}

// eachImplicit visits the bindings of the default exchange.
func (s *API) eachImplicit(r *web.Request, h *accounts.VHost, of bindingScope, visit func(*api.Binding) error) error {
	one := func(queue string) error {
		b := implicit(h.Name, queue)
		b.PropertiesKey = api.PropertiesKey(b.RoutingKey, nil)
		return visit(&b)
	}
	switch {
	case of.source != nil && *of.source != "" || of.destination != nil && of.kind == ToExchange:
		return nil
	case of.destination == nil:
		return s.eachName(r, h, bindingsPortion, func(names []string) error {
			for _, queue := range names {
				if err := one(queue); err != nil {
					return err
				}
			}
			return nil
		})
	}
	found := false
	if err := r.Look(h.Name, func(v vhost.Reader) { _, found = v.Topology().Queue(*of.destination) }); err != nil || !found {
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
	kind := func(x *bound) int { return stats.BoolInt(x.ToQueue) } // "exchange" comes before "queue"
	c := cmp.Or(cmp.Compare(kind(a), kind(b)), cmp.Compare(a.Destination, b.Destination), cmp.Compare(a.RoutingKey, b.RoutingKey))
	if c == 0 {
		c = cmp.Compare(api.PropertiesKey(a.RoutingKey, a.Arguments), api.PropertiesKey(b.RoutingKey, b.Arguments))
	}
	return c
}

// EachBindingFrom visits the bindings of one exchange that are wanted, nil being all. While a client is
// waited for, their numbers are all that is held.
func EachBindingFrom(r *web.Request, h *accounts.VHost, source string, wanted func(vhost.Reader, *vhost.Binding) bool,
	visit func(*api.Binding) error) error {
	before := r.Account.Taken
	order, err := bindingOrder(r, h, source)
	if err != nil {
		return err
	}
	defer func() { r.Account.GiveBack(before) }()
	portion := make([]vhost.Binding, 0, min(len(order), bindingsPortion))
	for some := range slices.Chunk(order, bindingsPortion) {
		portion = portion[:0]
		err := r.Look(h.Name, func(v vhost.Reader) {
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
func bindingOrder(r *web.Request, h *accounts.VHost, source string) ([]uint64, error) {
	if !r.HoldsList() {
		if err := r.Gather(); err != nil {
			return nil, err
		}
		defer r.Ready()
	}
	var all []bound
	var last uint64
	for more := true; more; {
		err := r.Look(h.Name, func(v vhost.Reader) {
			last, more = v.Topology().BindingsAfter(source, last, bindingsLook, func(seq uint64, b vhost.Binding) {
				all = append(all, bound{seq, b})
			})
		})
		if err != nil {
			return nil, err
		}
	}
	if err := r.TakeLarge(web.ItemsBytes[uint64](len(all))); err != nil {
		return nil, err
	}
	slices.SortFunc(all, func(a, b bound) int { return a.compare(&b) })
	order := make([]uint64, len(all))
	for i := range all {
		order[i] = all[i].seq
	}
	return order, nil
}

func (s *API) getBindings(r *web.Request) (web.Answer, error) {
	shown, err := r.ShownVHosts()
	if err != nil {
		return web.Answer{}, err
	}
	if whole(r) {
		return r.Streamed(func(row func(any) error) error {
			for _, h := range shown {
				if err := s.eachBinding(r, h, bindingScope{}, func(b *api.Binding) error { return row(b) }); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := r.Gather(); err != nil {
		return web.Answer{}, err
	}
	var all []api.Binding
	for _, h := range shown {
		some, err := s.bindingsIn(r, h.Name, bindingScope{})
		if err != nil {
			return web.Answer{}, err
		}
		all = append(all, some...)
	}
	return web.List(r, all, func(b *api.Binding) string { return b.Source })
}

func (s *API) getQueueBindings(r *web.Request) (web.Answer, error) {
	h, err := r.VHost(r.PathValue("vhost"))
	if err != nil {
		return web.Answer{}, err
	}
	if found, err := r.HasQueue(); err != nil {
		return web.Answer{}, err
	} else if !found {
		return web.Answer{}, web.ErrNotFound
	}
	queue := r.PathValue("queue")
	return s.listBindings(r, h.Name, bindingScope{destination: &queue, kind: ToQueue})
}

func (s *API) getBindingsFrom(r *web.Request) (web.Answer, error) {
	return s.exchangeBindings(r, func(exchange *string) bindingScope { return bindingScope{source: exchange} })
}

func (s *API) getBindingsTo(r *web.Request) (web.Answer, error) {
	return s.exchangeBindings(r, func(exchange *string) bindingScope { return bindingScope{destination: exchange, kind: ToExchange} })
}

func (s *API) exchangeBindings(r *web.Request, of func(exchange *string) bindingScope) (web.Answer, error) {
	if _, err := r.VHost(r.PathValue("vhost")); err != nil {
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
	return s.listBindings(r, r.PathValue("vhost"), of(&name))
}

func (s *API) listBindings(r *web.Request, name string, of bindingScope) (web.Answer, error) {
	if err := r.Gather(); err != nil {
		return web.Answer{}, err
	}
	all, err := s.bindingsIn(r, name, of)
	if err != nil {
		return web.Answer{}, err
	}
	return web.List(r, all, func(b *api.Binding) string { return b.Source })
}

// ends are what a path …/e/{source}/q/{destination} or …/e/{source}/e/{destination} names.
type ends struct {
	vhost, source, destination, kind string
}

func (e *ends) scope() bindingScope {
	return bindingScope{source: &e.source, destination: &e.destination, kind: e.kind}
}

// endsOf makes sure that both ends are there.
func endsOf(r *web.Request, kind string) (*ends, error) {
	e := &ends{r.PathValue("vhost"), web.ExchangeName(r.PathValue("source")), r.PathValue("destination"), kind}
	if _, err := r.VHost(e.vhost); err != nil {
		if r.Method == http.MethodPost {
			err = web.NotFound("vhost")
		}
		return nil, err
	}
	if kind == ToExchange {
		e.destination = web.ExchangeName(e.destination)
	}
	missing := ""
	err := r.Look(e.vhost, func(v vhost.Reader) {
		exchange := func(name string) {
			if v.Topology().Exchange(name) == nil {
				missing = "exchange '" + name + "'"
			}
		}
		if _, found := v.Topology().Queue(e.destination); kind == ToExchange {
			exchange(e.destination)
		} else if !found {
			missing = "queue '" + e.destination + "'"
		}
		exchange(e.source)
	})
	switch {
	case err != nil || missing == "":
		return e, err
	case r.Method == http.MethodPost:
		return nil, &api.Error{Status: http.StatusNotFound, Kind: "not_found", Reason: "no " + missing + " in vhost '" + e.vhost + "'"}
	}
	return nil, web.ErrNotFound
}

// betweenQueue and betweenExchange serve the same paths for the two kinds of destination.
func betweenQueue(serve func(*web.Request, string) (web.Answer, error)) web.Handler {
	return func(r *web.Request) (web.Answer, error) { return serve(r, ToQueue) }
}

func betweenExchange(serve func(*web.Request, string) (web.Answer, error)) web.Handler {
	return func(r *web.Request) (web.Answer, error) { return serve(r, ToExchange) }
}

func (s *API) getBetween(r *web.Request, kind string) (web.Answer, error) {
	e, err := endsOf(r, kind)
	if err != nil {
		return web.Answer{}, err
	}
	return s.listBindings(r, e.vhost, e.scope())
}

// postBetween makes a binding and tells in Location, relative to the request's path, where it is.
func postBetween(r *web.Request, kind string) (web.Answer, error) {
	e, err := endsOf(r, kind)
	if err != nil {
		return web.Answer{}, err
	}
	if err := r.Enter(e.vhost); err != nil {
		return web.Answer{}, err
	}
	var body api.PostBinding
	if err := r.Read(&body); err != nil {
		return web.Answer{}, err
	}
	if err := message.CheckRoutingKey(body.RoutingKey); err != nil {
		return web.Answer{}, err
	}
	c := vhost.Command{Kind: vhost.BindQueue, Definition: &vhost.Definition{
		Source: e.source, Name: e.destination, RoutingKey: body.RoutingKey, Arguments: amqp.Table(body.Arguments),
	}}
	if kind == ToExchange {
		c.Kind = vhost.BindExchange
	}
	if _, err := r.Do(e.vhost, c); err != nil {
		return web.Answer{}, err
	}
	location := url.PathEscape(r.PathValue("destination")) + "/" + url.PathEscape(api.PropertiesKey(body.RoutingKey, amqp.Table(body.Arguments)))
	return web.Answer{Status: http.StatusCreated, Header: http.Header{"Location": {location}}}, nil
}

// named finds the binding with the properties key of the path. Clients that escape it but once, or a space as '+',
// are understood. Source: RabbitMQ management API, bindings; docs/compat/http-api.md#1.1.
func (s *API) named(r *web.Request, e *ends) (*api.Binding, error) {
	given := r.PathValue("properties")
	once := strings.ReplaceAll(given, "+", " ")
	all, err := s.bindingsIn(r, e.vhost, e.scope())
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
	return nil, web.ErrNotFound
}

func (s *API) getBinding(r *web.Request, kind string) (web.Answer, error) {
	e, err := endsOf(r, kind)
	if err != nil {
		return web.Answer{}, err
	}
	b, err := s.named(r, e)
	if err != nil {
		return web.Answer{}, err
	}
	return web.OK(b)
}

func (s *API) deleteBinding(r *web.Request, kind string) (web.Answer, error) {
	e, err := endsOf(r, kind)
	if err != nil {
		return web.Answer{}, err
	}
	if err := r.Enter(e.vhost); err != nil {
		return web.Answer{}, err
	}
	b, err := s.named(r, e)
	if err != nil {
		return web.Answer{}, err
	}
	c := vhost.Command{Kind: vhost.UnbindQueue, Definition: &vhost.Definition{
		Source: e.source, Name: e.destination, RoutingKey: b.RoutingKey, Arguments: amqp.Table(b.Arguments),
	}}
	if kind == ToExchange {
		c.Kind = vhost.UnbindExchange
	}
	if _, err := r.Do(e.vhost, c); err != nil {
		return web.Answer{}, err
	}
	return web.NoContent()
}
