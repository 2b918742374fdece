package authz

import (
	"crypto/rand"
	"errors"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/accounts"
	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/topology"
	"github.com/bartleby-mq/bartleby/internal/vhost"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// A Machine is what rules ask of a virtual host.
type Machine interface {
	Topology() topology.View
	LastDeclared(vhost.ChannelID) string // the queue that an empty name stands for
	LostKeys(id uint64) []string         // of a lost letter
	RedriveJob(fact.JobID) (vhost.Job, bool)
	ScheduleName(fact.QueueID) (name string, queue bool)
}

// A question is a command that a principal wants to have done.
type question struct {
	*Rights
	m     Machine
	vhost string
	c     *vhost.Command
}

// A rule decides one kind of command. What RabbitMQ refuses for what it is, before it asks for permission, passes: the
// machine refuses it.
type rule func(*question) *amqp.Error

// rules has all kinds of commands that a user may have done. Any other is for the broker alone.
var rules = [...]rule{
	// Who has a connection may have channels, and settle there what was delivered there.
	vhost.Connect: free, vhost.Disconnect: free, vhost.Grant: free, vhost.StopDeliveries: free, vhost.OpenChannel: free, vhost.CloseChannel: free,
	vhost.Qos: free, vhost.Cancel: free, vhost.Ack: free, vhost.Nack: free, vhost.Reject: free, vhost.Recover: free,
	vhost.SelectConfirms: free, vhost.SelectTx: free, vhost.CommitTx: free, vhost.RollbackTx: free,

	vhost.DeclareExchange: declareExchange,
	vhost.DeleteExchange:  deleteExchange,
	vhost.BindExchange:    bindExchange,
	vhost.UnbindExchange:  bindExchange,
	vhost.DeclareQueue:    declareQueue,
	vhost.DeleteQueue:     func(q *question) *amqp.Error { return q.queue(accounts.Configure, q.named()) },
	vhost.BindQueue:       bindQueue,
	vhost.UnbindQueue:     bindQueue,
	vhost.PurgeQueue:      func(q *question) *amqp.Error { return q.queue(accounts.Read, q.named()) },
	vhost.Consume:         consume,
	vhost.Get:             func(q *question) *amqp.Error { return q.queue(accounts.Read, q.named()) },
	vhost.Publish:         publish,
	vhost.Announce:        publish,

	vhost.SetPolicy:   setPolicy,
	vhost.ClearPolicy: setPolicy,
	vhost.SetOptions:  func(q *question) *amqp.Error { return q.tag(Policymaker) },

	vhost.Republish:     republish,
	vhost.Discard:       func(q *question) *amqp.Error { return q.tag(Policymaker) },
	vhost.Unschedule:    changeScheduled,
	vhost.Reschedule:    changeScheduled,
	vhost.FireNow:       changeScheduled,
	vhost.PurgeSchedule: func(q *question) *amqp.Error { return q.exchange(accounts.Write, q.c.Definition.Name) },
	vhost.BeginRedrive:  func(q *question) *amqp.Error { return q.plain(q.BeginJob(q.m, q.vhost, q.c.JobSpec)) },
	vhost.ChangeRedrive: changeRedrive,
	vhost.Resend:        func(q *question) *amqp.Error { return q.plain(q.Resend(q.vhost, q.c.Edit.Source)) },
}

// Command decides whether the principal may have a command done in a virtual host.
func (r *Rights) Command(m Machine, vhostName string, c *vhost.Command) *amqp.Error {
	if r.who.Local {
		return nil
	}
	if int(c.Kind) >= len(rules) || rules[c.Kind] == nil {
		return amqp.AccessRefused("user '%s' may not run command %d", r.who.User, c.Kind)
	}
	return rules[c.Kind](&question{r, m, vhostName, c})
}

// ByKey reports whether the answer of Command to a publish holds for this routing key alone.
func (r *Rights) ByKey(m Machine, vhostName string, c *vhost.Command) bool {
	return string(c.Exchange) == vhost.ControlExchange || r.byTopic(m, vhostName, string(c.Exchange))
}

func free(*question) *amqp.Error { return nil }

// tag asks for a tag, as a rule.
func (q *question) tag(tag Tag) *amqp.Error { return q.plain(q.Need(tag)) }

// plain is a denial in the words of the protocol.
func (q *question) plain(err error) *amqp.Error {
	if err == nil {
		return nil
	}
	refused := amqp.AccessRefused("%v", err)
	if d := (*Denied)(nil); errors.As(err, &d) {
		if d.amqp != nil {
			return d.amqp
		}
		refused.Missing = d.Missing
	}
	return refused
}

func (q *question) queue(op accounts.Operation, name string) *amqp.Error {
	if name == "" || q.allowed(q.vhost, op, name) {
		return nil
	}
	return accounts.RefuseQueue(op, name, q.vhost, q.who.User)
}

func (q *question) exchange(op accounts.Operation, name string) *amqp.Error {
	if q.allowed(q.vhost, op, name) {
		return nil
	}
	return accounts.RefuseExchange(op, name, q.vhost, q.who.User)
}

// topic asks for keys on an exchange. The refusal names the first that is denied.
func (q *question) topic(op accounts.Operation, exchange string, keys ...string) *amqp.Error {
	if !q.byTopic(q.m, q.vhost, exchange) {
		return nil
	}
	for _, key := range keys {
		if err := q.Rights.topic(q.vhost, exchange, op, key); err != nil {
			return err
		}
	}
	return nil
}

// anyOf is the right to know that something is there: any of the three will do.
// Source: RabbitMQ access-control, passive declarations.
func (q *question) anyOf(name string,
	refuse func(op accounts.Operation, name, vhost, user string) *amqp.Error) *amqp.Error {
	for _, op := range [...]accounts.Operation{accounts.Configure, accounts.Write, accounts.Read} {
		if q.allowed(q.vhost, op, name) {
			return nil
		}
	}
	return refuse(accounts.Configure, name, q.vhost, q.who.User)
}

// named is the queue that the command means. An empty name is the channel's last declared one.
func (q *question) named() string {
	if name := q.c.Definition.Name; name != "" {
		return name
	}
	return q.m.LastDeclared(q.c.Channel)
}

func isTopic(m Machine, exchange string) bool {
	x := m.Topology().Exchange(exchange)
	return x != nil && x.Type() == topology.Topic.String()
}

// declareQueue: a new queue with a dead-letter exchange asks for more. A name that the broker is to make needs
// permission too, as if it had been made. Source: RabbitMQ dlx#using-optional-queue-arguments; access-control.
func declareQueue(q *question) *amqp.Error {
	d := q.c.Definition
	name := d.Name
	switch {
	case vhost.IsDirectReply(name) || d.Passive && name == "":
		return nil
	case d.Passive:
		return q.anyOf(name, accounts.RefuseQueue)
	case strings.HasPrefix(name, "amq."):
		return nil
	case name == "":
		name = "amq.gen-" + rand.Text()
	}
	if err := q.queue(accounts.Configure, name); err != nil {
		return err
	}
	a, ok := d.Arguments.Get("x-dead-letter-exchange")
	if _, exists := q.m.Topology().Queue(name); exists || !ok || a.Kind != amqp.KindString {
		return nil
	}
	if err := q.queue(accounts.Read, name); err != nil {
		return err
	}
	return q.exchange(accounts.Write, a.Str)
}

// declareExchange: a new exchange with an alternate exchange asks for more. Source: RabbitMQ ae.
func declareExchange(q *question) *amqp.Error {
	d := q.c.Definition
	switch {
	case d.Name == "":
		return nil
	case d.Passive:
		return q.anyOf(d.Name, accounts.RefuseExchange)
	}
	if _, known := topology.ParseKind(d.Type); !known {
		return nil // refused for what it is
	}
	if err := q.exchange(accounts.Configure, d.Name); err != nil {
		return err
	}
	a, ok := d.Arguments.Get("alternate-exchange")
	if !ok || a.Kind != amqp.KindString || q.m.Topology().Exchange(d.Name) != nil {
		return nil
	}
	if err := q.exchange(accounts.Read, d.Name); err != nil {
		return err
	}
	return q.exchange(accounts.Write, a.Str)
}

func deleteExchange(q *question) *amqp.Error {
	if name := q.c.Definition.Name; name != "" && !strings.HasPrefix(name, "amq.") {
		return q.exchange(accounts.Configure, name)
	}
	return nil
}

func bindQueue(q *question) *amqp.Error {
	name := q.named()
	if err := q.queue(accounts.Write, name); err != nil || name == "" {
		return err // without a name it is refused for what it is
	}
	return source(q)
}

func bindExchange(q *question) *amqp.Error {
	name := q.c.Definition.Name
	if err := q.exchange(accounts.Write, name); err != nil || name == "" {
		return err
	}
	return source(q)
}

// source decides about the exchange of a binding, and its key if that is a topic exchange.
func source(q *question) *amqp.Error {
	d := q.c.Definition
	if d.Source == "" {
		return nil // refused for what it is
	}
	if err := q.exchange(accounts.Read, d.Source); err != nil {
		return err
	}
	return q.topic(accounts.Read, d.Source, d.RoutingKey)
}

func consume(q *question) *amqp.Error {
	name := q.named()
	if name == vhost.DirectReply {
		return nil // not a queue. Source: RabbitMQ direct-reply-to
	}
	return q.queue(accounts.Read, name)
}

func publish(q *question) *amqp.Error {
	c := q.c
	if c.Immediate {
		return nil // refused for what it is
	}
	name := string(c.Exchange)
	if name == vhost.ControlExchange { // who may publish what waits may command it; the answer goes the way of a publish
		of, replyTo := vhost.ControlTarget(c.Properties)
		if replyTo != "" && !vhost.IsDirectReply(replyTo) {
			if err := q.exchange(accounts.Write, ""); err != nil {
				return err
			}
		}
		return q.exchange(accounts.Write, of)
	}
	if err := q.exchange(accounts.Write, name); err != nil {
		return err
	}
	if !q.byTopic(q.m, q.vhost, name) || q.m.Topology().Exchange(name).Internal {
		return nil
	}
	return q.topic(accounts.Write, name, vhost.PublishKeys(c)...)
}

func setPolicy(q *question) *amqp.Error {
	if q.c.Policy.Operator {
		return q.tag(Administrator)
	}
	return q.tag(Policymaker)
}

// republish decides about lost letters that are sent elsewhere, as if they were published there. Where they were going
// they may go, as every dead letter may. Source: ours, docs/compat/differences.md#dead-letters.
func republish(q *question) *amqp.Error {
	if err := q.tag(Policymaker); err != nil {
		return err
	}
	to := q.c.Selection
	if !to.Elsewhere {
		return nil
	}
	if err := q.exchange(accounts.Write, to.Exchange); err != nil {
		return err
	}
	if !to.KeepKeys {
		return q.topic(accounts.Write, to.Exchange, to.RoutingKey)
	}
	if q.byTopic(q.m, q.vhost, to.Exchange) {
		for _, id := range to.IDs {
			if err := q.topic(accounts.Write, to.Exchange, q.m.LostKeys(id)...); err != nil {
				return err
			}
		}
	}
	return nil
}

// changeScheduled decides about messages that wait. Who may publish to a delayed exchange may change what waits there;
// who may consume from a queue may have what waits there retried at once, moved or cancelled.
func changeScheduled(q *question) *amqp.Error {
	var last fact.QueueID
	for _, id := range q.c.Selection.Scheduled {
		if id.Schedule == last {
			continue
		}
		last = id.Schedule
		name, queue := q.m.ScheduleName(id.Schedule)
		var err *amqp.Error
		switch {
		case name == "" && !queue: // it is not there: then the messages are unknown
		case queue:
			err = q.queue(accounts.Read, name)
		default:
			err = q.exchange(accounts.Write, name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// changeRedrive: a job is changed by its owner and by administrators. To let it go on, or faster, they need what it
// takes to begin it, too.
func changeRedrive(q *question) *amqp.Error {
	x := q.c.JobChange
	j, found := q.m.RedriveJob(x.Job)
	if !found {
		return nil // refused for what it is
	}
	return q.plain(q.ChangeJob(q.m, q.vhost, &j, x.Action))
}
