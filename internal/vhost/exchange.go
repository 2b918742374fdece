package vhost

import (
	"strings"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/topology"
)

const defaultExchange = "operation not permitted on the default exchange"

// declareExchange decides exchange.declare. Source: AMQP exchange.declare; reference amqp-surface 8.
func (v *VHost) declareExchange(s *Stamp, ch *channel, c *Command, out *Outcome) *amqp.Error {
	d := c.Definition
	_, known := topology.ParseKind(d.Type)
	if !d.Passive && !known && d.Type != topology.DelayedType {
		return amqp.PreconditionFailed("unknown exchange type '%s'", d.Type)
	}
	if d.Name == "" {
		return amqp.AccessRefused(defaultExchange)
	}
	x := v.topo.Exchange(d.Name)
	switch {
	case x != nil && !d.Passive:
		if err := v.equivalentExchange(x, d); err != nil {
			return err
		}
	case x != nil:
	case d.Passive:
		return v.noExchange(d.Name)
	default:
		if strings.HasPrefix(d.Name, "amq.") {
			return amqp.AccessRefused("exchange name '%s' contains reserved prefix 'amq.*'", d.Name)
		}
		if a, ok := d.Arguments.Get("alternate-exchange"); ok && a.Kind != amqp.KindString {
			return amqp.PreconditionFailed("invalid type '%s' for arg 'alternate-exchange' in exchange '%s' in vhost '%s'", a.TypeName(), d.Name, v.name)
		}
		if a, _ := d.Arguments.Get("alternate-exchange"); len(a.Str) > amqp.ShortStringMax {
			return amqp.PreconditionFailed("invalid arg 'alternate-exchange' for exchange '%s' in vhost '%s': %s", d.Name, v.name, shortText(a))
		}
		o := &Object{
			Name: d.Name, Type: d.Type, Durable: d.Durable, AutoDelete: d.AutoDelete, Internal: d.Internal, Arguments: d.Arguments,
		}
		if err := checkExchange(o); err != nil {
			return err
		}
		v.emit(s, &Fact{Kind: ExchangeDeclared, Durable: d.Durable, Object: o}, out)
	}
	v.done(ch, c, out, Effect{})
	return nil
}

// checkExchange validates what a new exchange is declared with.
func checkExchange(o *Object) *amqp.Error {
	if o.Type == topology.DelayedType {
		if _, err := topology.DelayedKind(o.Arguments); err != nil {
			return malformed(err)
		}
		if a, ok := o.Arguments.Get(delayedMax); ok && notNegative(a) != "" {
			return amqp.PreconditionFailed("invalid arg '%s' for exchange '%s': %s", delayedMax, o.Name, notNegative(a))
		}
	}
	if err := topology.CheckExchange(exchangeOf(o)); err != nil {
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
func (v *VHost) removeExchange(s *Stamp, ch *channel, c *Command, out *Outcome) *amqp.Error {
	d := c.Definition
	switch {
	case d.Name == "":
		return amqp.AccessRefused(defaultExchange)
	case strings.HasPrefix(d.Name, "amq."):
		return amqp.AccessRefused("deletion of system exchange '%s' in vhost '%s' not allowed", d.Name, v.name)
	case d.IfUnused && v.topo.HasBindingsFrom(d.Name):
		return amqp.PreconditionFailed("exchange '%s' in vhost '%s' in use", d.Name, v.name)
	}
	v.deleteExchange(s, d.Name, out)
	v.done(ch, c, out, Effect{})
	return nil
}

// deleteExchange deletes an exchange with its bindings; a missing one is fine.
func (v *VHost) deleteExchange(s *Stamp, name string, out *Outcome) {
	x := v.topo.Exchange(name)
	if x == nil {
		return
	}
	orphans := v.orphansOf(name, false)
	v.emit(s, &Fact{Kind: ExchangeDeleted, Durable: x.Durable, Object: &Object{Name: name}}, out)
	v.closeSchedule(s, name, out)
	v.deleteOrphans(s, orphans, out)
}

// orphansOf lists the auto-delete exchanges that bind to a destination: they may lose their last binding.
func (v *VHost) orphansOf(destination string, isQueue bool) []string {
	var names []string
	for b := range v.topo.BindingsTo(destination, isQueue) {
		if x := v.topo.Exchange(b.Source); x != nil && x.AutoDelete && (isQueue || b.Source != destination) {
			names = append(names, b.Source)
		}
	}
	return names
}

// deleteOrphans deletes those of the candidates that are the source of no binding any more.
func (v *VHost) deleteOrphans(s *Stamp, candidates []string, out *Outcome) {
	for _, name := range candidates {
		if !v.topo.HasBindingsFrom(name) {
			v.deleteExchange(s, name, out)
		}
	}
}

// bind decides queue.bind and exchange.bind. Source: AMQP queue.bind; RabbitMQ e2e; reference amqp-surface 8, 9.
func (v *VHost) bind(s *Stamp, ch *channel, c *Command, out *Outcome) *amqp.Error {
	o, err := ch.binding(c)
	if err != nil {
		return err
	}
	source, q, err := v.ends(ch, o)
	if err != nil {
		return err
	}
	if err := v.topo.CheckBinding(bindingOf(o)); err != nil {
		return malformed(err)
	}
	if q != nil && q.quorum && source.Kind == topology.LocalRandom {
		return amqp.PreconditionFailed("Queue type rabbit_quorum_queue not valid for this exchange type")
	}
	if !v.topo.Bound(bindingOf(o)) {
		v.emit(s, &Fact{Kind: Bound, Durable: o.Durable, Object: o}, out)
		if g := v.giftsFor(o); g != nil && v.give(s, g, out) {
			answer := Command{Kind: c.Kind, NoWait: c.NoWait}
			v.leaveRest(s, ongoing{conn: ch.conn, portion: func(s Stamp, out *Outcome) bool {
				if v.give(&s, g, out) {
					return true
				}
				v.done(ch, &answer, out, Effect{})
				return false
			}})
			return nil
		}
	}
	v.done(ch, c, out, Effect{})
	return nil
}

// unbind decides queue.unbind and exchange.unbind. A missing binding, queue or exchange is no error: the binding is not there,
// as asked. Source: AMQP queue.unbind; reference amqp-surface 8, 9.
func (v *VHost) unbind(s *Stamp, ch *channel, c *Command, out *Outcome) *amqp.Error {
	o, err := ch.binding(c)
	if err != nil {
		return err
	}
	if v.topo.Bound(bindingOf(o)) {
		source, _, err := v.ends(ch, o)
		if err != nil {
			return err
		}
		v.emit(s, &Fact{Kind: Unbound, Durable: o.Durable, Object: o}, out)
		if source.AutoDelete {
			v.deleteOrphans(s, []string{o.Source}, out)
		}
	}
	v.done(ch, c, out, Effect{})
	return nil
}

// binding is the binding that c names. An empty queue name means the queue that ch declared last; with an empty key, too, the
// key is its name.
func (ch *channel) binding(c *Command) (*Object, *amqp.Error) {
	d := c.Definition
	o := &Object{
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
func (v *VHost) ends(ch *channel, o *Object) (source *topology.Exchange, q *queueState, err *amqp.Error) {
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
