package deadletter

import (
	"github.com/bartleby-mq/bartleby/internal/management/web"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// A messageSource is the source of messages that the path names: a queue, or the lost letters.
type messageSource struct {
	vhost.Where
	host string // the virtual host
	id   string // of the message, if the path names one
}

// kind is its name in lists.
func (s *messageSource) kind() string {
	if s.Lost {
		return sourceLost
	}
	return sourceQueue
}

// The names of sources.
const (
	sourceQueue, sourceLost, sourceScheduled = "queue", "lost", "scheduled"
)

// inQueue is a handler of a path below a queue whose messages the caller may read.
func inQueue(serve func(*web.Request, *messageSource) (web.Answer, error)) web.Handler {
	return func(r *web.Request) (web.Answer, error) {
		if err := r.NeedQueue(); err != nil {
			return web.Answer{}, err
		}
		s := &messageSource{host: r.PathValue("vhost"), id: r.PathValue("id"), Where: vhost.Where{Queue: r.PathValue("queue")}}
		if err := r.Caller.NeedRead(s.host, s.Queue); err != nil {
			return web.Answer{}, err
		}
		return serve(r, s)
	}
}

// amongLost is a handler of a path below the lost letters of a virtual host. It checks the right to see them one by
// one.
func amongLost(serve func(*web.Request, *messageSource) (web.Answer, error)) web.Handler {
	return func(r *web.Request) (web.Answer, error) {
		if err := r.Enter(r.PathValue("vhost")); err != nil {
			return web.Answer{}, err
		}
		s := &messageSource{host: r.PathValue("vhost"), id: r.PathValue("id"), Where: vhost.Where{Lost: true}}
		return serve(r, s)
	}
}

// sees reports whether the caller may see a message that is there.
func (s *messageSource) sees(r *web.Request, x *vhost.Seen) bool {
	if !s.Lost {
		return true
	}
	h := x.History() // which tells the target, too
	return r.Caller.SeeLost(s.host, h, x.Target, x.Cause)
}
