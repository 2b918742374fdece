package definitions

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/accounts"
	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/management/message"
	"github.com/bartleby-mq/bartleby/internal/management/resources"
	"github.com/bartleby-mq/bartleby/internal/management/web"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// A content is a command that makes something in a virtual host.
type content struct {
	vhost.Command
	what  string // for refusals
	wrong error  // it cannot even be asked for
}

// contents is what is to be made in one virtual host: what is so already is left out.
type contents struct {
	commands   []content
	passedOver []string
	queues     int          // how many there are already
	newQueues  int          // how many the commands make
	options    amqp.Table   // that the virtual host has
	exchanges  []content    // they are there, and commands refer to them
	bound      []content    // so are these queues
	policies   policiesHere // that it has
	locked     bool         // those of operators stay as they are
}

// An object is a queue or an exchange.
type object struct {
	queue bool
	name  string
}

type policiesHere struct{ user, operator map[string]vhost.Policy }

// contents lists what definitions say of a virtual host, which may not be there yet, in the order in which one needs
// the other: options and policies first, so that queues are under them from the beginning.
func (m *importer) contents(ctx context.Context, name string, d *definitions, view *accounts.View) (*contents, error) {
	c := &contents{locked: m.locked}
	look := func(fn func(vhost.Reader)) error {
		if _, there := m.engine.Accounts().VHost(name); !there {
			fn(vhost.New(name, 0, nil, nil).Reader())
			return nil
		}
		return web.Look(ctx, m.engine, name, fn)
	}
	kind := m.engine.QueueType()
	if h, there := view.VHost(name); there {
		kind = cmp.Or(h.DefaultQueueType, kind)
	}
	err := look(func(v vhost.Reader) {
		c.queues = v.QueueCount()
		_, options := v.Options()
		c.options = slices.Clone(options)
		c.policies.user, c.policies.operator = byName(v.Policies(false)), byName(v.Policies(true))
		made := map[object]bool{} // by the commands
		c.addObjects(v, d, name, kind, made)
		c.addBindings(v, d, name, made)
	})
	if err != nil {
		return nil, err
	}
	objects := c.commands
	c.commands = nil
	c.addParameters(d, name)
	c.commands = append(c.commands, objects...)
	return c, nil
}

// brief is a name as refusals tell it.
func brief(name string) string {
	if len(name) <= amqp.ShortStringMax {
		return name
	}
	return strings.ToValidUTF8(name[:40], "") + "…"
}

func byName(all []vhost.Policy) map[string]vhost.Policy {
	m := map[string]vhost.Policy{}
	for _, p := range all {
		m[p.Name] = p
	}
	return m
}

// addParameters adds options and policies that are new or different.
func (c *contents) addParameters(d *definitions, name string) {
	var options, policies []content
	policy := func(what string, operator bool, name string, body *api.PutPolicy) {
		p, err := resources.ReadPolicy(name, operator, body)
		here := c.policies.user
		if operator {
			here = c.policies.operator
		}
		if old, there := here[name]; err == nil && there && resources.SamePolicy(&old, p) {
			return
		}
		if operator && c.locked {
			err = web.BadRequest("operator policies cannot be changed: management.restrictions.operator_policy_changes.disabled is set")
		}
		policies = append(policies, content{vhost.Command{Kind: vhost.SetPolicy, Policy: p}, what, err})
	}
	for _, p := range d.Parameters {
		what := fmt.Sprintf("parameter '%s' of component '%s' in vhost '%s'", brief(p.Name), brief(p.Component), name)
		switch {
		case d.vhostOf(p.VHost) != name || p.Component == resources.LimitsComponent:
		case p.Component == resources.OptionsComponent:
			o, err := resources.ReplaceOptions(p.Value)
			if err != nil || changesOptions(c.options, o.Definition) {
				options = append(options, content{o, what, err})
			}
		case p.Component == resources.OperatorComponent:
			var body api.PutPolicy
			if err := api.Decode(p.Value, &body); err != nil {
				policies = append(policies, content{what: what, wrong: err})
				continue
			}
			policy(what, true, p.Name, &body)
		default:
			err := web.BadRequest("Validation failed\n\ncomponent %s not found\n", p.Component)
			policies = append(policies, content{what: what, wrong: err})
		}
	}
	for _, p := range d.Policies {
		if d.vhostOf(p.VHost) == name {
			policy(fmt.Sprintf("policy '%s' in vhost '%s'", brief(p.Name), name), false, p.Name, &p.PutPolicy)
		}
	}
	c.commands = append(append(c.commands, options...), policies...)
}

// addObjects adds exchanges and queues that are not there. Those that are stay as they are, whatever they are.
// Source: RabbitMQ definitions.
func (c *contents) addObjects(v vhost.Reader, d *definitions, name, kind string, made map[object]bool) {
	for _, x := range d.Exchanges {
		what := fmt.Sprintf("exchange '%s' in vhost '%s'", brief(x.Name), name)
		if d.vhostOf(x.VHost) != name || v.Topology().Exchange(x.Name) != nil || made[object{name: x.Name}] {
			continue
		}
		if predeclared(x.Name) {
			c.passedOver = append(c.passedOver, what)
			continue
		}
		made[object{name: x.Name}] = true
		c.commands = append(c.commands, content{vhost.Command{Kind: vhost.DeclareExchange, Definition: &vhost.Definition{
			Name: x.Name, Type: x.Type, Durable: bool(x.Durable), AutoDelete: bool(x.AutoDelete), Internal: bool(x.Internal),
			Arguments: amqp.Table(x.Arguments),
		}}, what, message.CheckExchange(x.Name, amqp.Table(x.Arguments))})
	}
	for _, q := range d.Queues {
		what := fmt.Sprintf("queue '%s' in vhost '%s'", brief(q.Name), name)
		_, exists := v.Topology().Queue(q.Name)
		if d.vhostOf(q.VHost) != name || exists || made[object{true, q.Name}] {
			continue
		}
		if predeclared(q.Name) {
			c.passedOver = append(c.passedOver, what)
			continue
		}
		made[object{true, q.Name}] = true
		c.newQueues++
		c.commands = append(c.commands, content{vhost.Command{Kind: vhost.DeclareQueue, Definition: &vhost.Definition{
			Name: q.Name, Durable: bool(q.Durable), AutoDelete: bool(q.AutoDelete), Arguments: typed(&q, kind), QueueType: kind,
		}}, what, message.CheckQueue(q.Name, amqp.Table(q.Arguments))})
	}
}

// typed are a queue's arguments, with its type if that is another than the arguments, or their absence, would give it.
func typed(q *api.DefinedQueue, usual string) amqp.Table {
	arguments := amqp.Table(q.Arguments)
	_, said := arguments.Get("x-queue-type")
	if said || q.Type == "" || q.Type == "classic" && usual == "classic" {
		return arguments
	}
	return append(slices.Clone(arguments), amqp.Field{Name: "x-queue-type", Value: amqp.String(q.Type)})
}

// addBindings adds bindings. One of a queue that a broker had named is passed over with the queue, as is one of a queue
// that belongs to a connection; any other whose end is neither there nor made is wrong, unless the series that exported
// it leaves ends out itself. Source: RabbitMQ definitions.
func (c *contents) addBindings(v vhost.Reader, d *definitions, name string, made map[object]bool) {
	ends := bindingEnds{contents: c, reader: v, made: made, known: map[object]bool{}}
	for _, b := range d.Bindings {
		if d.vhostOf(b.VHost) != name || b.Source == "" && b.DestinationType != resources.ToExchange && b.Destination == b.RoutingKey {
			continue // implicit
		}
		x := content{
			vhost.Command{Kind: vhost.BindQueue, Definition: &vhost.Definition{
				Source: b.Source, Name: b.Destination, RoutingKey: b.RoutingKey, Arguments: amqp.Table(b.Arguments),
			}},
			fmt.Sprintf("binding of %s '%s' to exchange '%s' in vhost '%s'", b.DestinationType, brief(b.Destination), brief(b.Source), name),
			message.CheckRoutingKey(b.RoutingKey),
		}
		there := ends.queue
		switch b.DestinationType {
		case resources.ToQueue:
		case resources.ToExchange:
			x.Kind, there = vhost.BindExchange, ends.exchange
		default:
			x.wrong = web.BadRequest("destination_type must be queue or exchange, not '%s'", b.DestinationType)
		}
		switch source, destination := ends.exchange(b.Source), there(b.Destination); {
		case x.wrong != nil:
		case source && !destination && x.Kind == vhost.BindQueue && passedOver(v, b.Destination):
			c.passedOver = append(c.passedOver, x.what)
			continue
		case (!source || !destination) && d.leavesEndsOut():
			c.passedOver = append(c.passedOver, x.what)
			continue
		case !source:
			x.wrong = amqp.NotFound("no exchange '%s' in vhost '%s'", b.Source, name)
		case !destination:
			x.wrong = amqp.NotFound("no %s '%s' in vhost '%s'", b.DestinationType, b.Destination, name)
		}
		c.commands = append(c.commands, x)
	}
}

// bindingEnds finds the ends of bindings. What is in the virtual host already is declared again, once.
type bindingEnds struct {
	contents    *contents
	reader      vhost.Reader
	made, known map[object]bool
}

// exchange reports whether an exchange is there, or is made.
func (e *bindingEnds) exchange(name string) bool {
	x := e.reader.Topology().Exchange(name)
	if x != nil && !predeclared(name) && !e.known[object{name: name}] {
		e.known[object{name: name}] = true
		e.contents.exchanges = append(e.contents.exchanges, content{Command: vhost.Command{
			Kind: vhost.DeclareExchange, Definition: &vhost.Definition{
				Name: x.Name, Type: x.Type(), Durable: x.Durable, Internal: x.Internal, Arguments: x.Arguments,
			}}})
	}
	return x != nil || e.made[object{name: name}]
}

// queue reports whether a queue is there that can be bound, or is made.
func (e *bindingEnds) queue(name string) bool {
	if e.made[object{true, name}] || e.known[object{true, name}] {
		return true
	}
	q, there := e.reader.Queue(name)
	if !there || q.Exclusive {
		return false
	}
	e.known[object{true, name}] = true
	e.contents.bound = append(e.contents.bound, content{Command: vhost.Command{
		Kind: vhost.DeclareQueue, Definition: &vhost.Definition{
			Name: q.Name, Durable: q.Durable, AutoDelete: q.AutoDelete, Arguments: q.Arguments,
		}}})
	return true
}

// leavesEndsOut reports whether d may have bindings whose ends it does not have: rabbitmqctl of series 3 exports those
// of internal exchanges, and not the exchanges; what it exported it takes back without these. Source: RabbitMQ
// definitions.
func (d *definitions) leavesEndsOut() bool {
	return strings.HasPrefix(cmp.Or(d.RabbitVersion, d.RabbitMQVersion), "3.")
}

// passedOver reports whether bindings of a queue are left out of an import: it is somebody's own.
func passedOver(v vhost.Reader, queue string) bool {
	_, there := v.Queue(queue)
	return there || predeclared(queue)
}

// changesOptions reports whether a change of options leads to others than those that are set.
func changesOptions(here amqp.Table, change *vhost.Definition) bool {
	given := slices.DeleteFunc(slices.Clone(change.Arguments), func(f amqp.Field) bool { return f.Value.Kind == amqp.KindVoid })
	return !resources.SameTable(here, given)
}
