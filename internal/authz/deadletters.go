package authz

import (
	"fmt"
	"slices"

	"github.com/bartleby-mq/bartleby/internal/accounts"
	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/filter"
	"github.com/bartleby-mq/bartleby/internal/vhost"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// A DeadLetterRight is a tag that working with dead letters asks for where rights are strict, besides the
// permissions on queues and exchanges. Whoever has the tag "office", or is an administrator, has all of them.
type DeadLetterRight string

// The rights.
const (
	Payload DeadLetterRight = "office-payload" // to see payloads, properties and headers
	Redrive DeadLetterRight = "office-redrive" // to send messages back
	Discard DeadLetterRight = "office-discard" // to discard them
	Edit    DeadLetterRight = "office-edit"    // to send them back changed

	allDeadLetterRights = "office"
)

// DeadLetterRights are all of them.
var DeadLetterRights = []DeadLetterRight{Payload, Redrive, Discard, Edit}

// MayWith reports whether the principal has a right.
func (r *Rights) MayWith(right DeadLetterRight) bool {
	return !r.strict || r.Has(Administrator) || r.user != nil && (r.user.Tagged(string(right)) || r.user.Tagged(allDeadLetterRights))
}

// NeedWith denies whoever does not have a right.
func (r *Rights) NeedWith(right DeadLetterRight) error {
	if !r.MayWith(right) {
		return denyTag(string(right))
	}
	return nil
}

// shownAnyway are the fields of filters that tell nothing of what a message carries but what lists show anyway.
var shownAnyway = []string{
	"reason", "first-reason", "source", "last-queue", "queue", "exchange", "key", "routing-key", "age", "time", "count", "redrives", "came-back",
	"state", "cause", "size", "id", "message-id",
}

// Filter denies a filter whose answers tell what the principal may not see.
func (r *Rights) Filter(f *filter.Filter) error {
	for _, t := range f.Terms() {
		if !slices.Contains(shownAnyway, t.Field) {
			return r.NeedWith(Payload)
		}
	}
	return nil
}

// SeeLost reports whether the principal may see a lost letter: who may read the queue in which it died last. Of one
// that has not died it is the queue from which it was discarded, or the delayed exchange that had kept it.
func (r *Rights) SeeLost(host string, h *fact.History, target string, cause fact.Cause) bool {
	switch {
	case cause == fact.Discarded && r.Read(host, target):
		return true
	case h.Last.Queue != "":
		return r.Read(host, h.Last.Queue)
	}
	return cause != fact.Discarded && r.Read(host, h.Exchange)
}

// NeedLost denies a lost letter to whoever may not see it.
func (r *Rights) NeedLost(host string, h *fact.History, target string, cause fact.Cause) error {
	if !r.SeeLost(host, h, target, cause) {
		return errUnseen
	}
	return nil
}

// SeeAt reports whether the principal may see a message of a place. For lost letters it is their last queue that
// counts; "" is that of one that was discarded and had not died.
func (r *Rights) SeeAt(host string, at vhost.Where, lastQueue string) bool {
	switch {
	case at.Schedule != "":
		return r.Read(host, at.Schedule)
	case !at.Lost:
		return r.Read(host, at.Queue)
	case lastQueue == "":
		return r.readsAll(host)
	}
	return r.Read(host, lastQueue)
}

// SeeMessage reports whether the principal may see a message that is there, in a queue or among the lost letters.
func (r *Rights) SeeMessage(host string, at vhost.Where, x *vhost.Seen) bool {
	if !at.Lost {
		return r.Read(host, at.Queue)
	}
	return r.SeeLost(host, x.History(), x.Target, x.Cause)
}

// NeedMessage denies a message to whoever may not see it.
func (r *Rights) NeedMessage(host string, at vhost.Where, x *vhost.Seen) error {
	switch {
	case r.SeeMessage(host, at, x):
		return nil
	case at.Lost:
		return errUnseen
	}
	return r.NeedRead(host, at.Queue)
}

// errUnseen does not name the queue: the principal need not know of it.
var errUnseen = deny(amqp.Missing{What: "died"}, "Access refused: read access to the queue where the message died is missing")

// NeedJob denies a job to whoever may not see it.
func (r *Rights) NeedJob(host string, j *vhost.Job) error {
	if !r.SeeJob(host, j) {
		return deny(amqp.Missing{What: "source", ID: fmt.Sprint(j.ID)},
			"Access refused: read access to the source of redrive %d is missing", j.ID)
	}
	return nil
}

// SeeJob reports whether the principal may see a job: its owner, and whoever may read the messages of its source. Lost
// letters are from many queues: a job of theirs is seen by those who may move them, or read all queues.
func (r *Rights) SeeJob(host string, j *vhost.Job) bool {
	switch {
	case r.Owns(j.User):
		return true
	case j.Source.Lost:
		return r.Has(Policymaker) || r.readsAll(host)
	}
	return r.Read(host, j.Source.Queue)
}

// BeginJob decides about a job, as far as that does not depend on single messages, for which Message decides.
// Messages are taken from a queue; to discard them asks for the rights of a purge and of a deletion. Lost
// letters are for policymakers.
func (r *Rights) BeginJob(m Machine, host string, o *vhost.JobSpec) error {
	right := Redrive
	if o.Discard {
		right = Discard
	}
	if err := r.NeedWith(right); err != nil {
		return err
	}
	switch {
	case o.Source.Lost:
		if err := r.Need(Policymaker); err != nil {
			return err
		}
	default:
		if err := r.NeedRead(host, o.Source.Queue); err != nil {
			return err
		}
		if !o.Discard {
			break
		}
		if err := r.NeedQueue(accounts.Configure, host, o.Source.Queue); err != nil {
			return err
		}
	}
	switch {
	case o.Discard:
		return nil
	case o.Target == vhost.TargetQueue && o.Queue != "":
		return r.Publish(m, host, "", o.Queue)
	case o.Target == vhost.TargetExchange && o.Keys:
		return r.NeedWrite(host, o.Exchange)
	case o.Target == vhost.TargetExchange:
		return r.Publish(m, host, o.Exchange, o.Key)
	}
	return nil
}

// ChangeJob decides about what is done to a job.
func (r *Rights) ChangeJob(m Machine, host string, j *vhost.Job, action vhost.JobAction) error {
	if err := r.NeedOwn(fmt.Sprintf("redrive %d", j.ID), j.User); err != nil {
		return err
	}
	if action == vhost.JobResume || action == vhost.JobRate {
		return r.BeginJob(m, host, &j.JobSpec)
	}
	return nil
}

// AllMessages reports whether the principal may have all messages taken that an order means, also those to
// come. If not, it depends on each: see Message.
func (r *Rights) AllMessages(host string, o *vhost.JobSpec) bool {
	if o.Source.Lost && !r.readsAll(host) {
		return false
	}
	return routesSurely(o) || r.writesAll(host)
}

// routesSurely reports whether where an order sends messages does not depend on the messages, or asks for no
// right. Where a lost letter was going it may go, as every dead letter may; of a single target BeginJob has
// decided.
func routesSurely(o *vhost.JobSpec) bool {
	switch o.Target {
	case vhost.TargetOnward:
		return true
	case vhost.TargetQueue:
		return o.Discard || o.Queue != ""
	case vhost.TargetExchange:
		return o.Discard || !o.Keys
	}
	return o.Discard
}

// Send decides whether the principal may have a message sent where an order says; from is where it comes from. Into the
// queue where it failed it may be sent by whoever may publish there, or publish it as it was published first.
func (r *Rights) Send(m Machine, host string, o *vhost.JobSpec, from *vhost.Origin) error {
	switch {
	case o.Target == vhost.TargetQueue && o.Queue != "":
		return r.Publish(m, host, "", o.Queue)
	case o.Target == vhost.TargetQueue && from.Queue != "" && r.Publish(m, host, "", from.Queue) == nil:
		return nil
	case o.Target == vhost.TargetExchange && o.Keys:
		return r.Publish(m, host, o.Exchange, from.Keys...)
	case o.Target == vhost.TargetExchange:
		return r.Publish(m, host, o.Exchange, o.Key)
	}
	return r.Publish(m, host, from.Exchange, from.Keys...)
}

// Message decides whether a job may take one message: the principal sees it, and may publish where it goes.
func (r *Rights) Message(m Machine, host string, o *vhost.JobSpec, x *vhost.Seen) (sees, may bool) {
	switch {
	case r.who.Local:
		return true, true
	case !r.SeeMessage(host, o.Source, x):
		return false, false
	case routesSurely(o.For(x)):
		return true, true
	}
	from := x.CameFrom()
	return true, r.Send(m, host, o, &from) == nil
}

// Jobs are the rights of the users of the jobs of one virtual host. They implement vhost.Rights.
type Jobs struct {
	VHost   string
	Machine Machine
	Of      func(Principal) Rights // now
}

// Job implements vhost.Rights.
func (j *Jobs) Job(o *vhost.JobSpec) error {
	r := j.Of(Named(o.User))
	return r.BeginJob(j.Machine, j.VHost, o)
}

// Message implements vhost.Rights.
func (j *Jobs) Message(o *vhost.JobSpec, x *vhost.Seen) (sees, may bool) {
	r := j.Of(Named(o.User))
	return r.Message(j.Machine, j.VHost, o, x)
}

// Resend decides about editing a message and sending it, as far as that does not depend on where it goes: see Publish
// for that. Lost letters are for policymakers.
func (r *Rights) Resend(host string, source vhost.Where) error {
	if err := r.NeedWith(Edit); err != nil {
		return err
	}
	if source.Lost {
		return r.Need(Policymaker)
	}
	return r.NeedRead(host, source.Queue)
}

// NoteOnQueue denies the note on the messages of a queue to whoever may not read the queue.
func (r *Rights) NoteOnQueue(host, queue string) error {
	if r.Has(Administrator) {
		return nil
	}
	return r.NeedRead(host, queue)
}

// NoteOnContents denies the notes on messages that have in common what they carry, such as a header: the name
// of such a group is what is in the messages, whatever queue they are in. It is for those who may read all
// queues, and those who monitor.
func (r *Rights) NoteOnContents(host string) error {
	if r.Has(Monitoring) || r.readsAll(host) {
		return nil
	}
	return deny(amqp.Missing{What: "notes", VHost: host},
		"Access refused: the tag monitoring, or read access to all queues in vhost '%s', is missing", host)
}

// SeeNotes reports whether the principal may see notes of a virtual host among the global parameters. See NoteOnQueue,
// too.
func (r *Rights) SeeNotes(host string) bool {
	return r.Has(Administrator) || r.Enter(host) && r.MayWith(Payload)
}

// ImportOf reports whether the principal may import messages with the user ID of a user: who may publish such, and
// administrators, who bring back what others had published.
func (r *Rights) ImportOf(user string) bool {
	return r.is(user) || r.Has(Administrator) || r.Impersonate()
}

// Importer is who publishes what the principal imports. An administrator imports as the broker, so that messages keep
// their user IDs.
func (r *Rights) Importer() Principal {
	if r.Has(Administrator) {
		return Broker()
	}
	return r.who
}

// EditOf reports whether the principal may give an edited message the user ID of a user.
func (r *Rights) EditOf(user string) bool { return r.who.Local || r.is(user) }
