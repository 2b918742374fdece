package engine

import (
	"bytes"

	"github.com/bartleby-mq/bartleby/internal/access"
	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/authz"
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

// userIDOf is the user-id that messages of a principal must carry, "" for those who may carry any.
// Source: RabbitMQ validated-user-id.
func (e *Engine) userIDOf(who authz.Principal) string {
	if rights := e.Rights(who); rights.Impersonate() {
		return ""
	}
	return who.User
}

// authorize asks whether the link's principal may have c done.
func (r *runner) authorize(l *Link, c *vhost.Command) *amqp.Error {
	if c.Kind == vhost.Publish || c.Kind == vhost.Announce {
		return r.authorizePublish(l, c)
	}
	return r.rightsOf(l).Command(r.vhost, r.name, c)
}

// authorizePublish remembers the answer as long as it holds: most channels publish to one exchange.
func (r *runner) authorizePublish(l *Link, c *vhost.Command) *amqp.Error {
	port := r.portOf(c.Channel)
	if port == nil {
		return nil
	}
	g := &port.granted
	version, topologyVersion := r.engine.Access().Version(), r.vhost.Topology().Version()
	if g.valid && g.version == version && g.topology == topologyVersion && bytes.Equal(g.exchange, c.Exchange) && !c.Immediate {
		return nil
	}
	g.valid = false
	rights := r.rightsOf(l)
	if err := rights.Command(r.vhost, r.name, c); err != nil {
		return err
	}
	if !c.Immediate && !rights.ByKey(r.vhost, r.name, c) {
		g.exchange = append(g.exchange[:0], c.Exchange...)
		g.version, g.topology, g.valid = version, topologyVersion, true
	}
	return nil
}

// rightsOf is what the link's principal may do now.
func (r *runner) rightsOf(l *Link) *authz.Rights {
	if view := r.engine.Access(); l.rights == nil || l.rightsOf != view.Version() {
		rights := r.engine.Rights(l.info.Principal)
		l.rights, l.rightsOf = &rights, view.Version()
	}
	return l.rights
}

// Rights are what a principal may do now.
func (e *Engine) Rights(who authz.Principal) authz.Rights {
	return authz.Of(e.Access(), who, e.strictRights)
}
