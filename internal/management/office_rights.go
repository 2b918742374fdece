package management

import (
	"slices"

	"github.com/bartleby-mq/bartleby/internal/access"
	"github.com/bartleby-mq/bartleby/internal/sift"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// An officeRight is the tag that a user needs in a strict office, besides the permissions on queues and exchanges that are
// needed in any. Whoever has officeAll, or is an administrator, has all of them.
type officeRight string

const (
	officePayload officeRight = "office-payload" // to see payloads, properties and headers
	officeRedrive officeRight = "office-redrive" // to send letters back
	officeDiscard officeRight = "office-discard" // to discard them
	officeEdit    officeRight = "office-edit"    // to send them back changed
	officeAll     officeRight = "office"
)

// has reports whether the caller has a right.
func (r *request) has(right officeRight) bool {
	return !r.server.options.StrictOffice || r.caller.may(access.TagAdministrator) ||
		r.caller.user.Tagged(string(right)) || r.caller.user.Tagged(string(officeAll))
}

// needRight refuses whoever does not have a right.
func (r *request) needRight(right officeRight) error {
	if !r.has(right) {
		return notAuthorised("Not %s user", right)
	}
	return nil
}

// needOwn refuses to change what belongs to somebody else. Jobs and notes belong to the user who made them; administrators change
// any. The tag policymaker is not enough.
func (r *request) needOwn(what, user string) error {
	if r.owns(user) {
		return nil
	}
	return notAuthorised("%s belongs to user '%s': only that user and administrators may change it", what, user)
}

func (r *request) owns(user string) bool {
	return r.caller.may(access.TagAdministrator) || r.caller.shownName() == user
}

// knownBeside are the fields that tell nothing of what a message carries but what lists show anyway.
var knownBeside = []string{
	"reason", "first-reason", "source", "last-queue", "queue", "exchange", "key", "routing-key", "age", "time", "count", "redrives", "came-back",
	"state", "cause", "size", "id", "message-id",
}

// needFilter refuses a filter whose answers tell what the caller may not see.
func (r *request) needFilter(f *sift.Filter) error {
	for _, t := range f.Terms() {
		if !slices.Contains(knownBeside, t.Field) {
			return r.needRight(officePayload)
		}
	}
	return nil
}

// siftBy reads the text of a filter, which the caller may ask.
func (r *request) siftBy(text string) (*sift.Filter, error) {
	f, err := sift.Parse(text, r.server.engine.Now().UnixMilli())
	if err != nil {
		return nil, badRequest("%v", err)
	}
	return f, r.needFilter(f)
}

// readsAll reports whether the caller may read every queue of a virtual host, those to come among them.
func (r *request) readsAll(vhost string) bool {
	if r.caller.secret {
		return true
	}
	p, found := r.view.Permission(r.caller.name, vhost)
	return found && p.Read == ".*"
}

// writesAll reports the same of writing to exchanges.
func (r *request) writesAll(vhost string) bool {
	if r.caller.secret {
		return true
	}
	p, found := r.view.Permission(r.caller.name, vhost)
	return found && p.Write == ".*" && !slices.ContainsFunc(r.view.TopicPermissions(), func(t *access.TopicPermission) bool {
		return t.User == r.caller.name && t.VHost == vhost
	})
}

// A spot is where the path says that messages are: in a queue, or among the lost letters.
type spot struct {
	vhost.Where
	host string // the virtual host
	id   string // of the message, if the path names one
}

// place is what lists call it.
func (s *spot) place() string {
	if s.Lost {
		return placeLost
	}
	return placeQueue
}

// Where messages are, in words.
const (
	placeQueue, placeLost, placeScheduled = "queue", "lost", "scheduled"
)

// atQueue serves a path below a queue whose messages the caller may read.
func atQueue(serve func(*request, *spot) (answer, error)) endpoint {
	return func(r *request) (answer, error) {
		if err := r.needQueue(); err != nil {
			return answer{}, err
		}
		s := &spot{host: r.names[0], Where: vhost.Where{Queue: r.names[1]}}
		if len(r.names) > 2 {
			s.id = r.names[2]
		}
		if !r.reads(s.host, s.Queue) {
			return answer{}, notAuthorised("Access refused.")
		}
		return serve(r, s)
	}
}

// onShelf serves a path below the lost letters of a virtual host. Which of them the caller may see is seen to one by one.
func onShelf(serve func(*request, *spot) (answer, error)) endpoint {
	return func(r *request) (answer, error) {
		if err := r.enter(r.names[0]); err != nil {
			return answer{}, err
		}
		s := &spot{host: r.names[0], Where: vhost.Where{Lost: true}}
		if len(r.names) > 1 {
			s.id = r.names[1]
		}
		return serve(r, s)
	}
}

// sees reports whether the caller may see a message that is there.
func (s *spot) sees(r *request, x *vhost.Seen) bool {
	if !s.Lost {
		return true
	}
	h := x.History() // which tells the target, too
	return r.readsLost(s.host, h, x.Target, x.Cause)
}

// readsLost reports whether the caller may see a lost letter: who may read the queue in which it died last; of one that has not died,
// the queue from which it was discarded, or the delayed exchange that had kept it.
func (r *request) readsLost(host string, h *vhost.History, target string, cause vhost.Cause) bool {
	switch {
	case cause == vhost.Discarded && r.reads(host, target):
		return true
	case h.Last.Queue != "":
		return r.reads(host, h.Last.Queue)
	}
	return cause != vhost.Discarded && r.reads(host, h.Exchange)
}
