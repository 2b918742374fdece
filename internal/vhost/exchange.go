package vhost

import (
	"strings"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/settings"
	"github.com/bartleby-mq/bartleby/internal/topology"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

const defaultExchange = "operation not permitted on the default exchange"

// declareExchange decides exchange.declare. Source: AMQP exchange.declare; docs/compat/amqp-surface.md#8.
func (s *step) declareExchange(ch *channel, c *Command) *amqp.Error {
	d := c.Definition
	_, known := topology.ParseKind(d.Type)
	if !d.Passive && !known && d.Type != topology.DelayedType {
		return amqp.PreconditionFailed("unknown exchange type '%s'", d.Type)
	}
	if d.Name == "" {
		return amqp.AccessRefused(defaultExchange)
	}
	x := s.topo.Exchange(d.Name)
	switch {
	case x != nil && !d.Passive:
		if err := s.equivalentExchange(x, d); err != nil {
			return err
		}
	case x != nil:
	case d.Passive:
		return s.noExchange(d.Name)
	default:
		if strings.HasPrefix(d.Name, "amq.") {
			return amqp.AccessRefused("exchange name '%s' contains reserved prefix 'amq.*'", d.Name)
		}
		if a, ok := d.Arguments.Get("alternate-exchange"); ok && a.Kind != amqp.KindString {
			return amqp.PreconditionFailed("invalid type '%s' for arg 'alternate-exchange' in exchange '%s' in vhost '%s'", a.TypeName(), d.Name, s.name)
		}
		if a, _ := d.Arguments.Get("alternate-exchange"); len(a.Str) > amqp.ShortStringMax {
			return amqp.PreconditionFailed("invalid arg 'alternate-exchange' for exchange '%s' in vhost '%s': %s", d.Name, s.name, settings.ShortText(a))
		}
		o := &fact.Object{
			Name: d.Name, Type: d.Type, Durable: d.Durable, AutoDelete: d.AutoDelete, Internal: d.Internal, Arguments: d.Arguments,
		}
		if err := checkExchange(o); err != nil {
			return err
		}
		s.emit(&fact.Fact{Kind: fact.ExchangeDeclared, Durable: d.Durable, Object: o})
	}
	s.done(ch, c, Effect{})
	return nil
}

// checkExchange validates what a new exchange is declared with.
func checkExchange(o *fact.Object) *amqp.Error {
	if o.Type == topology.DelayedType {
		if _, err := topology.DelayedKind(o.Arguments); err != nil {
			return malformed(err)
		}
		if a, ok := o.Arguments.Get(delayedMax); ok && settings.NotNegative(a) != "" {
			return amqp.PreconditionFailed("invalid arg '%s' for exchange '%s': %s", delayedMax, o.Name, settings.NotNegative(a))
		}
	}
	if err := topology.CheckExchange(fact.ExchangeOf(o)); err != nil {
		return malformed(err)
	}
	return nil
}

func (v *VHost) equivalentExchange(x *topology.Exchange, d *Definition) *amqp.Error {
	what := "exchange '" + d.Name + "' in vhost '" + v.name + "'"
	if x.Type() != d.Type {
		return amqp.PreconditionFailed("inequivalent arg 'type' for %s: received '%s' but current is '%s'", what, d.Type, x.Type())
	}
	if x.Delayed {
		if _, err := topology.DelayedKind(d.Arguments); err != nil {
			return malformed(err)
		}
		if err := sameArgument(topology.DelayedBy, what, d.Arguments, x.Arguments); err != nil {
			return err
		}
	}
	for _, f := range [3]struct {
		name              string
		received, current bool
	}{{"durable", d.Durable, x.Durable}, {"auto_delete", d.AutoDelete, x.AutoDelete}, {"internal", d.Internal, x.Internal}} {
		if err := sameFlag(f.name, what, f.received, f.current); err != nil {
			return err
		}
	}
	return sameArgument("alternate-exchange", what, d.Arguments, x.Arguments)
}

// removeExchange decides exchange.delete. Source: AMQP exchange.delete.
func (s *step) removeExchange(ch *channel, c *Command) *amqp.Error {
	d := c.Definition
	switch {
	case d.Name == "":
		return amqp.AccessRefused(defaultExchange)
	case strings.HasPrefix(d.Name, "amq."):
		return amqp.AccessRefused("deletion of system exchange '%s' in vhost '%s' not allowed", d.Name, s.name)
	case d.IfUnused && s.topo.HasBindingsFrom(d.Name):
		return amqp.PreconditionFailed("exchange '%s' in vhost '%s' in use", d.Name, s.name)
	}
	if x := s.topo.Exchange(d.Name); x != nil {
		s.deleteExchange(x)
	}
	answer := Command{Kind: c.Kind, NoWait: c.NoWait}
	s.deleteOrphans(ch.conn, func(s *step) { s.done(ch, &answer, Effect{}) })
	return nil
}

// deleteExchange deletes an exchange with its bindings. Its orphans stay.
func (s *step) deleteExchange(x *topology.Exchange) {
	s.emit(&fact.Fact{Kind: fact.ExchangeDeleted, Durable: x.Durable, Object: &fact.Object{Name: x.Name}})
	s.closeSchedule(x.Name)
}

// bind decides queue.bind and exchange.bind. Source: AMQP queue.bind; RabbitMQ e2e; docs/compat/amqp-surface.md#8, #9.
func (s *step) bind(ch *channel, c *Command) *amqp.Error {
	o, err := ch.binding(c)
	if err != nil {
		return err
	}
	source, q, err := s.ends(ch, o)
	if err != nil {
		return err
	}
	if err := s.topo.CheckBinding(bindingOf(o)); err != nil {
		return malformed(err)
	}
	if q != nil && q.quorum && source.Kind == topology.LocalRandom {
		return amqp.PreconditionFailed("Queue type rabbit_quorum_queue not valid for this exchange type")
	}
	if !s.topo.Bound(bindingOf(o)) {
		s.emit(&fact.Fact{Kind: fact.Bound, Durable: o.Durable, Object: o})
		if g := s.giftsFor(o); g != nil && s.give(g) {
			answer := Command{Kind: c.Kind, NoWait: c.NoWait}
			s.leaveRest(ongoing{conn: ch.conn, portion: func(s *step) bool {
				if s.give(g) {
					return true
				}
				s.done(ch, &answer, Effect{})
				return false
			}})
			return nil
		}
	}
	s.done(ch, c, Effect{})
	return nil
}

// unbind decides queue.unbind and exchange.unbind. A missing binding, queue or exchange is no error: the binding is not
// there, as asked. Source: AMQP queue.unbind; docs/compat/amqp-surface.md#8, #9.
func (s *step) unbind(ch *channel, c *Command) *amqp.Error {
	o, err := ch.binding(c)
	if err != nil {
		return err
	}
	if s.topo.Bound(bindingOf(o)) {
		if _, _, err := s.ends(ch, o); err != nil {
			return err
		}
		s.emit(&fact.Fact{Kind: fact.Unbound, Durable: o.Durable, Object: o})
	}
	answer := Command{Kind: c.Kind, NoWait: c.NoWait}
	s.deleteOrphans(ch.conn, func(s *step) { s.done(ch, &answer, Effect{}) })
	return nil
}

// binding is the binding that c names. An empty queue name means the queue that ch declared last; with an empty key,
// too, the key is its name.
func (ch *channel) binding(c *Command) (*fact.Object, *amqp.Error) {
	d := c.Definition
	o := &fact.Object{
		Source: d.Source, Name: d.Name, ToExchange: c.Kind == BindExchange || c.Kind == UnbindExchange,
		RoutingKey: d.RoutingKey, Arguments: d.Arguments,
	}
	if o.Source == "" || o.ToExchange && o.Name == "" {
		return nil, amqp.AccessRefused(defaultExchange)
	}
	if o.Name == "" {
		name, err := ch.queueName("")
		if err != nil {
			return nil, err
		}
		if o.Name = name; o.RoutingKey == "" {
			o.RoutingKey = name
		}
	}
	return o, nil
}

// ends finds both ends of a binding, and notes in o whether both are durable. q is nil if o leads to an exchange.
func (v *VHost) ends(ch *channel, o *fact.Object) (source *topology.Exchange, q *queueState, err *amqp.Error) {
	if source = v.topo.Exchange(o.Source); source == nil {
		return nil, nil, v.noExchange(o.Source)
	}
	if o.ToExchange {
		destination := v.topo.Exchange(o.Name)
		if destination == nil {
			return nil, nil, v.noExchange(o.Name)
		}
		o.Durable = source.Durable && destination.Durable
		return source, nil, nil
	}
	if q, err = v.lookUp(ch, o.Name); err != nil {
		return nil, nil, err
	}
	o.Durable = source.Durable && q.object.Durable
	return source, q, nil
}

func (v *VHost) noExchange(name string) *amqp.Error {
	return amqp.NotFound("no exchange '%s' in vhost '%s'", name, v.name)
}
