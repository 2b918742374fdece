// Package authz decides who may do what. It is the only place with rules about rights: the frontends and the engine ask
// it, and carry no rule of their own.
//
// Whoever asks is a Principal. Of a Principal and a view of the users, permissions and topic permissions come Rights,
// with a method for each action. What no rule allows is denied: a command kind without a rule is refused to everybody
// but the broker itself, and so is a route of the HTTP API that names no tag.
//
// The rules of AMQP are RabbitMQ's. Source: RabbitMQ access-control; docs/compat/policies-and-permissions.md#10, #11.
package authz

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/bartleby-mq/bartleby/internal/accounts"
	"github.com/bartleby-mq/bartleby/internal/amqp"
)

// A Principal is who asks for something.
type Principal struct {
	User  string     // the name; "" if Local
	Local bool       // the broker itself, or a client that has the secret of its data directory: nothing is denied
	From  netip.Addr // where the login came from; invalid: from a Unix socket, or from inside the broker
	Until time.Time  // the end of the login, after which everything is denied; zero: it has no end
}

// Broker is the principal of what the broker does by itself.
func Broker() Principal { return Principal{Local: true} }

// Named is the principal of a name that was written down earlier, such as that of the user who began a job.
func Named(user string) Principal {
	if user == accounts.LocalAdministrator || user == accounts.LocalBroker {
		return Broker()
	}
	return Principal{User: user}
}

// Expired reports whether the login has ended.
func (p *Principal) Expired(now time.Time) bool { return !p.Until.IsZero() && !now.Before(p.Until) }

// Denied says why something is denied.
type Denied struct {
	Reason  string
	Missing *amqp.Missing // what the principal lacks
	amqp    *amqp.Error   // the same in the words of AMQP; nil: they are the reason
}

// Error implements error.
func (d *Denied) Error() string { return d.Reason }

func deny(missing amqp.Missing, format string, args ...any) error {
	return &Denied{Reason: fmt.Sprintf(format, args...), Missing: &missing}
}

func denyTag(tag string) error { return deny(amqp.Missing{What: "tag", Tag: tag}, "Not %s user", tag) }

// refuse is the denial of what AMQP refuses with this answer.
func refuse(r *amqp.Error) error { return &Denied{Refused(r), r.Missing, r} }

// Refused is the reason of a refusal in the HTTP API: it names the permission or the tag that is missing.
func Refused(r *amqp.Error) string { return "Access refused: " + r.Reason() }

// Rights are what one principal may do, by one view. They are immutable, and hold as long as the view is the newest.
type Rights struct {
	who    Principal
	view   *accounts.View
	user   *accounts.User // nil: no such user, or who.Local
	strict bool
}

// Of returns the rights of a principal. With strict, working with dead letters asks for tags besides permissions.
func Of(view *accounts.View, who Principal, strict bool) Rights {
	r := Rights{who: who, view: view, strict: strict}
	if !who.Local {
		r.user, _ = view.User(who.User)
	}
	return r
}

// Principal is who has these rights.
func (r *Rights) Principal() Principal { return r.who }

// Name is the user's name, as lists and the audit log show it.
func (r *Rights) Name() string {
	if r.who.Local {
		return accounts.LocalAdministrator
	}
	return r.who.User
}

// Tags are the user's. Local ones are those of an administrator.
func (r *Rights) Tags() []string {
	switch {
	case r.who.Local:
		return []string{accounts.TagAdministrator}
	case r.user == nil:
		return nil
	}
	return r.user.Tags
}

// A Tag is what a route of the HTTP API asks for.
type Tag string

// The tags of routes. The zero value is none of them: such a route is denied.
const (
	Anybody       Tag = "anybody" // also without a login
	Management    Tag = accounts.TagManagement
	Policymaker   Tag = accounts.TagPolicymaker
	Monitoring    Tag = accounts.TagMonitoring
	Administrator Tag = accounts.TagAdministrator
)

// Has reports whether the principal has a tag, or one that includes it.
func (r *Rights) Has(tag Tag) bool {
	switch tag {
	case Anybody:
		return true
	case Management, Policymaker, Monitoring, Administrator:
		return r.who.Local || r.user != nil && r.user.ActsAs(string(tag))
	}
	return false
}

// Need denies whoever does not have a tag.
func (r *Rights) Need(tag Tag) error {
	if !r.Has(tag) {
		return denyTag(string(tag))
	}
	return nil
}

// Route decides whether the principal may use a route that asks for a tag. Every route but those for anybody asks for
// management, too. Source: RabbitMQ management#permissions.
func (r *Rights) Route(tag Tag) error {
	if tag == Anybody {
		return nil
	}
	if err := r.Need(Management); err != nil {
		return err
	}
	return r.Need(tag)
}

// See reports whether lists show a virtual host to the principal: one with any permission there, or a monitoring one.
func (r *Rights) See(vhost string) bool { return r.Has(Monitoring) || r.Enter(vhost) }

// Enter reports whether the principal may do anything in a virtual host: any permission there will do.
func (r *Rights) Enter(vhost string) bool { return r.who.Local || r.view.HasAccess(r.who.User, vhost) }

// NeedEnter denies whoever may not enter a virtual host.
func (r *Rights) NeedEnter(vhost string) error {
	if !r.Enter(vhost) {
		return deny(amqp.Missing{What: "vhost", VHost: vhost}, "User not authorised to access virtual host")
	}
	return nil
}

// SeeOf reports whether the principal may see what another user has open: connections, channels, consumers.
func (r *Rights) SeeOf(user string) bool { return r.is(user) || r.Has(Monitoring) }

// SeeLimits reports whether the principal may see the limits of a user.
func (r *Rights) SeeLimits(user string) bool { return r.is(user) || r.Has(Administrator) }

// CloseConnection denies closing a connection to whoever does not own it, nor is an administrator.
func (r *Rights) CloseConnection(user string) error {
	if !r.is(user) && !r.Has(Administrator) {
		return deny(amqp.Missing{What: "connection"}, "User not authorised to access connection")
	}
	return nil
}

// CloseConnections denies closing all connections of another user.
func (r *Rights) CloseConnections(user string) error {
	if r.is(user) {
		return nil
	}
	return r.Need(Administrator)
}

// GlobalParameter decides about changing a global parameter. Those in which the broker keeps its own are for
// administrators, whatever their endpoints ask for.
func (r *Rights) GlobalParameter(brokers bool) error {
	if brokers {
		return r.Need(Administrator)
	}
	return nil
}

// Parameter decides about changing a parameter of a virtual host. Limits and operator policies are for administrators.
func (r *Rights) Parameter(operators bool) error {
	if operators {
		return r.Need(Administrator)
	}
	return r.Need(Policymaker)
}

// Owns reports whether something that was made by a user is the principal's to change. Administrators change anything.
func (r *Rights) Owns(user string) bool { return r.Has(Administrator) || r.Name() == user }

// NeedOwn denies changing what was made by somebody else. The tag policymaker is not enough.
func (r *Rights) NeedOwn(what, user string) error {
	if !r.Owns(user) {
		return deny(amqp.Missing{What: "owner", User: user},
			"%s belongs to user '%s': only that user and administrators may change it", what, user)
	}
	return nil
}

func (r *Rights) is(user string) bool { return !r.who.Local && r.who.User == user }

// Impersonate reports whether the principal may publish with the user ID of somebody else.
// Source: RabbitMQ validated-user-id.
func (r *Rights) Impersonate() bool {
	return r.who.Local || r.user != nil && r.user.Tagged(accounts.TagImpersonator)
}

// allowed asks for a permission on a queue or an exchange.
func (r *Rights) allowed(vhost string, op accounts.Operation, name string) bool {
	return r.who.Local || r.view.Allowed(r.who.User, vhost, op, name)
}

// Read reports whether the principal may read a queue or an exchange, which need not be there any more.
func (r *Rights) Read(vhost, name string) bool { return r.allowed(vhost, accounts.Read, name) }

// Write is Read for writing. To publish asks for more, see Publish.
func (r *Rights) Write(vhost, name string) bool { return r.allowed(vhost, accounts.Write, name) }

// Configure is Read for configuring.
func (r *Rights) Configure(vhost, name string) bool {
	return r.allowed(vhost, accounts.Configure, name)
}

// Expressions are those of the permissions in a virtual host, empty if there are none.
func (r *Rights) Expressions(vhost string) (configure, write, read string) {
	if r.who.Local {
		return ".*", ".*", ".*"
	}
	if p, found := r.view.Permission(r.who.User, vhost); found {
		return p.Configure, p.Write, p.Read
	}
	return "", "", ""
}

// NeedQueue denies whoever lacks a permission on a queue.
func (r *Rights) NeedQueue(op accounts.Operation, vhost, queue string) error {
	if !r.allowed(vhost, op, queue) {
		return refuse(accounts.RefuseQueue(op, queue, vhost, r.who.User))
	}
	return nil
}

// NeedExchange denies whoever lacks a permission on an exchange.
func (r *Rights) NeedExchange(op accounts.Operation, vhost, exchange string) error {
	if !r.allowed(vhost, op, exchange) {
		return refuse(accounts.RefuseExchange(op, exchange, vhost, r.who.User))
	}
	return nil
}

// NeedRead denies whoever may not read a queue.
func (r *Rights) NeedRead(vhost, queue string) error { return r.NeedQueue(accounts.Read, vhost, queue) }

// NeedWrite denies whoever may not write to an exchange. To publish asks for more, see Publish.
func (r *Rights) NeedWrite(vhost, exchange string) error {
	return r.NeedExchange(accounts.Write, vhost, exchange)
}

// Publish decides whether the principal may publish to an exchange, with all of the keys. On a topic exchange the topic
// permissions are asked for as well: this is the one place with that rule. Source: RabbitMQ
// access-control#topic-authorisation.
func (r *Rights) Publish(m Machine, vhost, exchange string, keys ...string) error {
	return r.PublishTo(vhost, exchange, isTopic(m, exchange), keys...)
}

// PublishTo is Publish for who knows whether the exchange is a topic exchange.
func (r *Rights) PublishTo(vhost, exchange string, topic bool, keys ...string) error {
	if err := r.NeedWrite(vhost, exchange); err != nil {
		return err
	}
	if !topic || r.who.Local {
		return nil
	}
	for _, key := range keys {
		if err := r.topic(vhost, exchange, accounts.Write, key); err != nil {
			return refuse(err)
		}
	}
	return nil
}

// topic refuses a key on a topic exchange to whoever may not use it.
func (r *Rights) topic(vhost, exchange string, op accounts.Operation, key string) *amqp.Error {
	if r.view.TopicAllowed(r.who.User, vhost, exchange, op, key) {
		return nil
	}
	return accounts.RefuseTopic(op, key, exchange, vhost, r.who.User)
}

// byTopic reports whether what the principal may publish to an exchange, or bind, depends on the key.
func (r *Rights) byTopic(m Machine, vhost, exchange string) bool {
	return !r.who.Local && r.view.TopicRestricted(r.who.User, vhost, exchange) && isTopic(m, exchange)
}

// readsAll reports whether the principal may read every queue of a virtual host, also those to come.
func (r *Rights) readsAll(vhost string) bool {
	if r.who.Local {
		return true
	}
	p, found := r.view.Permission(r.who.User, vhost)
	return found && p.Read == ".*"
}

// writesAll reports whether the principal may publish anything to every exchange of a virtual host.
func (r *Rights) writesAll(vhost string) bool {
	if r.who.Local {
		return true
	}
	p, found := r.view.Permission(r.who.User, vhost)
	return found && p.Write == ".*" &&
		!slices.ContainsFunc(r.view.TopicPermissions(), func(t *accounts.TopicPermission) bool {
			return t.User == r.who.User && t.VHost == vhost
		})
}
