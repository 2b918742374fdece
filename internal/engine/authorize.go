package engine

import (
	"bytes"

	"github.com/bartleby-mq/bartleby/internal/accounts"
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

func accessUnknown(vhost string) error       { return accounts.RefuseUnknownVHost(vhost) }
func accessRefused(vhost, user string) error { return accounts.RefuseVHost(vhost, user) }

// userIDOf is the user-id that messages of a principal must carry, "" for those who may carry any.
// Source: RabbitMQ validated-user-id.
func (e *Engine) userIDOf(who authz.Principal) string {
	if rights := e.Rights(who); rights.Impersonate() {
		return ""
	}
	return who.User
}

// authorize asks whether the session's principal may have c done.
func (r *runner) authorize(s *Session, c *vhost.Command) *amqp.Error {
	if c.Kind == vhost.Publish || c.Kind == vhost.Announce {
		return r.authorizePublish(s, c)
	}
	return r.rightsOf(s).Command(r.vhost.Reader(), r.name, c)
}

// authorizePublish remembers the answer as long as it holds: most channels publish to one exchange.
func (r *runner) authorizePublish(s *Session, c *vhost.Command) *amqp.Error {
	box := r.outboxOf(c.Channel)
	if box == nil {
		return nil
	}
	g := &box.granted
	version, topologyVersion := r.engine.Accounts().Version(), r.vhost.Topology().Version()
	if g.valid && g.version == version && g.topology == topologyVersion && bytes.Equal(g.exchange, c.Exchange) && !c.Immediate {
		return nil
	}
	g.valid = false
	rights := r.rightsOf(s)
	if err := rights.Command(r.vhost.Reader(), r.name, c); err != nil {
		return err
	}
	if !c.Immediate && !rights.ByKey(r.vhost.Reader(), r.name, c) {
		g.exchange = append(g.exchange[:0], c.Exchange...)
		g.version, g.topology, g.valid = version, topologyVersion, true
	}
	return nil
}

// rightsOf is what the session's principal may do now.
func (r *runner) rightsOf(s *Session) *authz.Rights {
	if view := r.engine.Accounts(); s.rights == nil || s.rightsOf != view.Version() {
		rights := r.engine.Rights(s.info.Principal)
		s.rights, s.rightsOf = &rights, view.Version()
	}
	return s.rights
}

// Rights are what a principal may do now.
func (e *Engine) Rights(who authz.Principal) authz.Rights {
	return authz.Of(e.Accounts(), who, e.strictRights)
}
