package engine

import (
	"bytes"
	"crypto/rand"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/access"
	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/topology"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// granted is the permission that a channel's last publish had: most channels publish to one exchange.
type granted struct {
	exchange []byte
	version  uint64 // of the access view
	topology uint64
	valid    bool
}

func accessUnknown(vhost string) error       { return access.RefuseUnknownVHost(vhost) }
func accessRefused(vhost, user string) error { return access.RefuseVHost(vhost, user) }

// userIDOf is the user-id that messages of user must carry, "" for those who may carry any.
// Source: RabbitMQ validated-user-id.
func (e *Engine) userIDOf(user string) string {
	if u, ok := e.Access().User(user); ok && u.Tagged(access.TagImpersonator) {
		return ""
	}
	return user
}

// authorize checks whether the link's user may do c: the one place where permissions are asked for. What RabbitMQ
// refuses for what it is, before it asks for permission, passes: the machine refuses it.
// Source: RabbitMQ access-control; reference policies-and-permissions 10, 11.
func (r *runner) authorize(l *Link, c *vhost.Command) *amqp.Error {
	p := rights{view: r.engine.Access(), user: l.info.User, vhost: r.name}
	d := c.Definition
	switch c.Kind {
	case vhost.Publish, vhost.Announce:
		return r.authorizePublish(&p, c)
	case vhost.DeclareQueue:
		return r.authorizeDeclare(&p, d)
	case vhost.DeleteQueue:
		return p.queue(access.Configure, r.named(c, d.Name))
	case vhost.BindQueue, vhost.UnbindQueue:
		name := r.named(c, d.Name)
		if err := p.queue(access.Write, name); err != nil || name == "" {
			return err // without a name it is refused for what it is
		}
		return r.authorizeSource(&p, d)
	case vhost.BindExchange, vhost.UnbindExchange:
		if err := p.exchange(access.Write, d.Name); err != nil || d.Name == "" {
			return err
		}
		return r.authorizeSource(&p, d)
	case vhost.Consume:
		name := r.named(c, d.Name)
		if name == vhost.DirectReply {
			return nil // not a queue. Source: RabbitMQ direct-reply-to
		}
		return p.queue(access.Read, name)
	case vhost.Get, vhost.PurgeQueue:
		return p.queue(access.Read, r.named(c, d.Name))
	case vhost.DeclareExchange:
		return r.authorizeExchange(&p, d)
	case vhost.Republish:
		return r.authorizeRepublish(&p, c.Selection)
	case vhost.DeleteExchange:
		if d.Name != "" && !strings.HasPrefix(d.Name, "amq.") {
			return p.exchange(access.Configure, d.Name)
		}
	}
	return nil
}

// named is the queue that a command means. An empty name is the channel's last declared one.
func (r *runner) named(c *vhost.Command, name string) string {
	if name == "" {
		return r.vhost.LastDeclared(c.Channel)
	}
	return name
}

// authorizeDeclare checks queue.declare: with a dead-letter exchange, for a new queue, more is asked for. A name that
// the broker is to make needs permission too, as if it had been made.
// Source: RabbitMQ dlx#using-optional-queue-arguments; access-control.
func (r *runner) authorizeDeclare(p *rights, d *vhost.Definition) *amqp.Error {
	name := d.Name
	switch {
	case vhost.IsDirectReply(name) || d.Passive && name == "":
		return nil
	case d.Passive:
		return p.anyOf(name, access.RefuseQueue)
	case strings.HasPrefix(name, "amq."):
		return nil
	case name == "":
		name = "amq.gen-" + rand.Text()
	}
	if err := p.queue(access.Configure, name); err != nil {
		return err
	}
	a, ok := d.Arguments.Get("x-dead-letter-exchange")
	if _, exists := r.vhost.Topology().Queue(name); exists || !ok || a.Kind != amqp.KindString {
		return nil
	}
	if err := p.queue(access.Read, name); err != nil {
		return err
	}
	return p.exchange(access.Write, a.Str)
}

// authorizeExchange checks exchange.declare: with an alternate exchange, for a new exchange, more is asked for.
// Source: RabbitMQ ae.
func (r *runner) authorizeExchange(p *rights, d *vhost.Definition) *amqp.Error {
	switch {
	case d.Name == "":
		return nil
	case d.Passive:
		return p.anyOf(d.Name, access.RefuseExchange)
	}
	if _, known := topology.ParseKind(d.Type); !known {
		return nil // refused for what it is
	}
	if err := p.exchange(access.Configure, d.Name); err != nil {
		return err
	}
	a, ok := d.Arguments.Get("alternate-exchange")
	if !ok || a.Kind != amqp.KindString || r.vhost.Topology().Exchange(d.Name) != nil {
		return nil
	}
	if err := p.exchange(access.Read, d.Name); err != nil {
		return err
	}
	return p.exchange(access.Write, a.Str)
}

// authorizeSource checks the exchange of a binding, and its key if that is a topic.
func (r *runner) authorizeSource(p *rights, d *vhost.Definition) *amqp.Error {
	if d.Source == "" {
		return nil // refused for what it is
	}
	if err := p.exchange(access.Read, d.Source); err != nil {
		return err
	}
	if x := r.vhost.Topology().Exchange(d.Source); x != nil && x.Type() == topology.Topic.String() {
		return p.topic(access.Read, d.Source, d.RoutingKey)
	}
	return nil
}

func (r *runner) authorizePublish(p *rights, c *vhost.Command) *amqp.Error {
	port := r.portOf(c.Channel)
	if port == nil || c.Immediate {
		return nil
	}
	g := &port.granted
	topologyVersion := r.vhost.Topology().Version()
	if g.valid && g.version == p.view.Version() && g.topology == topologyVersion && bytes.Equal(g.exchange, c.Exchange) {
		return nil
	}
	g.valid = false
	name := string(c.Exchange)
	if name == vhost.ControlExchange { // who may publish what waits may command it; the answer goes the way of a publish
		of, replyTo := vhost.ControlTarget(c.Properties)
		if replyTo != "" && !vhost.IsDirectReply(replyTo) {
			if err := p.exchange(access.Write, ""); err != nil {
				return err
			}
		}
		return p.exchange(access.Write, of)
	}
	if err := p.exchange(access.Write, name); err != nil {
		return err
	}
	if x := r.vhost.Topology().Exchange(name); x != nil && x.Type() == topology.Topic.String() && !x.Internal &&
		p.view.TopicRestricted(p.user, p.vhost, name) {
		return p.topic(access.Write, name, vhost.PublishKeys(c)...) // depends on the key: not remembered
	}
	g.exchange = append(g.exchange[:0], c.Exchange...)
	g.version, g.topology, g.valid = p.view.Version(), topologyVersion, true
	return nil
}

// authorizeRepublish checks lost letters that are sent elsewhere, as if they were published there. Where they were
// going they may go, as every dead letter may. Source: ours, design §5.
func (r *runner) authorizeRepublish(p *rights, to *vhost.Selection) *amqp.Error {
	if !to.Elsewhere {
		return nil
	}
	if err := p.exchange(access.Write, to.Exchange); err != nil {
		return err
	}
	if x := r.vhost.Topology().Exchange(to.Exchange); x == nil || x.Type() != topology.Topic.String() || !p.view.TopicRestricted(p.user, p.vhost, to.Exchange) {
		return nil
	}
	keys := []string{to.RoutingKey}
	if to.KeepKeys {
		keys = nil
		for _, id := range to.IDs {
			own := r.vhost.LostKeys(id)
			keys = append(keys, own...)
		}
	}
	return p.topic(access.Write, to.Exchange, keys...)
}

// rights asks for one user in one vhost.
type rights struct {
	view        *access.View
	user, vhost string
}

func (p *rights) queue(op access.Operation, name string) *amqp.Error {
	if name == "" || p.view.Allowed(p.user, p.vhost, op, name) {
		return nil
	}
	return access.RefuseQueue(op, name, p.vhost, p.user)
}

// topic asks for routing keys on a topic exchange, all of them.
func (p *rights) topic(op access.Operation, exchange string, keys ...string) *amqp.Error {
	for _, key := range keys {
		if !p.view.TopicAllowed(p.user, p.vhost, exchange, op, key) {
			return access.RefuseTopic(op, key, exchange, p.vhost, p.user)
		}
	}
	return nil
}

func (p *rights) exchange(op access.Operation, name string) *amqp.Error {
	if p.view.Allowed(p.user, p.vhost, op, name) {
		return nil
	}
	return access.RefuseExchange(op, name, p.vhost, p.user)
}

// anyOf is the right to know that something is there: any of the three will do.
// Source: RabbitMQ access-control, passive declarations.
func (p *rights) anyOf(name string, refuse func(op access.Operation, name, vhost, user string) *amqp.Error) *amqp.Error {
	for _, op := range [...]access.Operation{access.Configure, access.Write, access.Read} {
		if p.view.Allowed(p.user, p.vhost, op, name) {
			return nil
		}
	}
	return refuse(access.Configure, name, p.vhost, p.user)
}
