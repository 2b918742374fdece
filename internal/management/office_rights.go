package management

import (
	"github.com/bartleby-mq/bartleby/internal/sift"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// siftBy reads the text of a filter, which the caller may ask.
func (r *request) siftBy(text string) (*sift.Filter, error) {
	f, err := sift.Parse(text, r.server.engine.Now().UnixMilli())
	if err != nil {
		return nil, badRequest("%v", err)
	}
	return f, r.caller.Filter(f)
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
		if err := r.caller.NeedRead(s.host, s.Queue); err != nil {
			return answer{}, err
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
	return r.caller.SeeLost(s.host, h, x.Target, x.Cause)
}
