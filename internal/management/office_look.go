package management

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// browse lists a portion of the messages of a queue, or of the lost letters, whatever their state. It changes nothing.
func browse(r *request, s *spot) (answer, error) {
	query := r.URL.Query()
	f, err := r.siftBy(query.Get("filter"))
	if err != nil {
		return answer{}, err
	}
	p, err := portionOf(query)
	if err != nil {
		return answer{}, err
	}
	newest, err := newestFirst(query, false)
	if err != nil {
		return answer{}, err
	}
	how, err := r.letterShowing(s.host, r.flag("payload"))
	if err != nil {
		return answer{}, err
	}
	var page api.Letters
	var unread error
	bytes := 0
	w := r.walkThrough(s, f, p.after, newest)
	err = w.each(func(v *vhost.VHost, x *vhost.Seen) bool {
		o, _ := v.Options()
		how.dialect = o.Dialect
		l, err := how.letter(x)
		if err != nil {
			unread = err
			return false
		}
		page.Items = append(page.Items, l)
		bytes += how.weight(&l)
		return len(page.Items) < p.limit && bytes < pageBytesMax
	})
	if err == nil {
		err = unread
	}
	if err != nil {
		return answer{}, err
	}
	page.Scanned = w.scanned
	if !w.ended {
		next := strconv.FormatUint(w.from.After, 10)
		page.Next, page.Partial = &next, len(page.Items) < p.limit && bytes < pageBytesMax
	}
	return answer{status: http.StatusOK, body: page, paged: true}, nil
}

// newestFirst reads the order that a query asks for.
func newestFirst(query url.Values, usual bool) (bool, error) {
	switch order := query.Get("order"); order {
	case "":
		return usual, nil
	case "oldest", "newest":
		return order == "newest", nil
	default:
		return false, badRequest("order must be oldest or newest, not '%s'", order)
	}
}

// weight is about how many bytes of an answer a letter takes.
func (s *showing) weight(l *api.Letter) int {
	n := 200 * len(l.Deaths)
	if l.Payload != nil {
		n += len(*l.Payload)
	}
	for i := range l.Properties {
		n += 50 + len(l.Properties[i].Value.Str) + 100*len(l.Properties[i].Value.Table)
	}
	return n
}

// found runs fn on the message that the path names, inside the virtual host's loop.
func (r *request) found(s *spot, fn func(*vhost.VHost, *vhost.Seen) error) error {
	id, err := strconv.ParseUint(s.id, 10, 64)
	if err != nil {
		return errNotFound
	}
	var failed error
	err = r.look(s.host, func(v *vhost.VHost) {
		x, ok := v.Find(s.Where, id)
		if !ok {
			failed = errNotFound
		} else if failed = r.caller.NeedMessage(s.host, s.Where, &x); failed == nil {
			failed = fn(v, &x)
		}
	})
	if err == nil {
		err = failed
	}
	return err
}

// showLetter shows one message. Who may not see payloads gets it without.
func showLetter(r *request, s *spot) (answer, error) {
	how, err := r.letterShowing(s.host, r.caller.MayWith(authz.Payload))
	if err != nil {
		return answer{}, err
	}
	if err := bytesIn(r.URL.Query(), "limit", &how.limit); err != nil {
		return answer{}, err
	}
	var l api.Letter
	err = r.found(s, func(v *vhost.VHost, x *vhost.Seen) (err error) {
		o, _ := v.Options()
		how.dialect = o.Dialect
		l, err = how.letter(x)
		return err
	})
	if err != nil {
		return answer{}, err
	}
	return ok(l)
}

// downloadPayload answers with the payload as it is, for a file: no browser is to take it for a page of ours.
func downloadPayload(r *request, s *spot) (answer, error) {
	if err := r.caller.NeedWith(authz.Payload); err != nil {
		return answer{}, err
	}
	var body []byte
	err := r.found(s, func(_ *vhost.VHost, x *vhost.Seen) error {
		body = append([]byte{}, x.Content().Body...)
		return nil
	})
	if err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusOK, text: body, header: http.Header{
		"Content-Type":           {payloadType},
		"Content-Disposition":    {fmt.Sprintf(`attachment; filename="%s-%s.bin"`, s.place(), s.id)},
		"X-Content-Type-Options": {"nosniff"},
	}}, nil
}

const payloadType = "application/octet-stream"
