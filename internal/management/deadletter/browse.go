package deadletter

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/management/web"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

func browseEndpoints() []web.Endpoint {
	return []web.Endpoint{
		{
			Pattern: "GET x/lost-letters/{vhost}/messages", Tag: authz.Management, Serve: amongLost(browse), Slow: true, Scope: web.Leader,
			Summary: "Lost letters in the format of queue messages; filter, order, after, limit, payload",
			Out:     api.Letters{},
		},
		{
			Pattern: "GET x/lost-letters/{vhost}/messages/{id}", Tag: authz.Management, Serve: amongLost(showMessage), Scope: web.Leader,
			Summary: "One message; offset and limit select a part of its payload", Out: api.Letter{},
		},
		{
			Pattern: "GET x/lost-letters/{vhost}/messages/{id}/payload", Tag: authz.Management, Serve: amongLost(downloadPayload), Media: "application/octet-stream", Scope: web.Leader,
			Summary: "The payload of a message as a file",
		},
		{
			Pattern: "GET x/queues/{vhost}/{queue}/messages", Tag: authz.Management, Serve: inQueue(browse), Slow: true, Scope: web.Leader,
			Summary: "Messages of a queue in any state; filter, order, after, limit, payload", Out: api.Letters{},
		},
		{
			Pattern: "GET x/queues/{vhost}/{queue}/messages/{id}", Tag: authz.Management, Serve: inQueue(showMessage), Scope: web.Leader,
			Summary: "One message; offset and limit select a part of its payload", Out: api.Letter{},
		},
		{
			Pattern: "GET x/queues/{vhost}/{queue}/messages/{id}/payload", Tag: authz.Management, Serve: inQueue(downloadPayload), Media: "application/octet-stream", Scope: web.Leader,
			Summary: "The payload of a message as a file",
		},
	}
}

// browse lists messages of a queue in any state, or lost letters, in pages. It changes nothing.
func browse(r *web.Request, s *messageSource) (web.Answer, error) {
	query := r.URL.Query()
	f, err := r.ParseFilter(query.Get("filter"))
	if err != nil {
		return web.Answer{}, err
	}
	p, err := portionOf(query)
	if err != nil {
		return web.Answer{}, err
	}
	newest, err := newestFirst(query, false)
	if err != nil {
		return web.Answer{}, err
	}
	how, err := newRenderer(r, s.host, r.Flag("payload"))
	if err != nil {
		return web.Answer{}, err
	}
	var page api.Letters
	var unread error
	bytes := 0
	w := walkThrough(r, s, f, p.after, newest)
	err = w.each(func(v vhost.Reader, x *vhost.Seen) bool {
		o, _ := v.Options()
		how.dialect = o.Dialect
		l, err := how.render(x)
		if err != nil {
			unread = err
			return false
		}
		page.Items = append(page.Items, l)
		bytes += how.weight(&l)
		return len(page.Items) < p.limit && bytes < web.PageBytesMax
	})
	if err == nil {
		err = unread
	}
	if err != nil {
		return web.Answer{}, err
	}
	page.Scanned = w.scanned
	if !w.ended {
		next := strconv.FormatUint(w.from.After, 10)
		page.Next, page.Partial = &next, len(page.Items) < p.limit && bytes < web.PageBytesMax
	}
	return web.Answer{Status: http.StatusOK, Body: page, Paged: true}, nil
}

// newestFirst reads the parameter order.
func newestFirst(query url.Values, usual bool) (bool, error) {
	switch order := query.Get("order"); order {
	case "":
		return usual, nil
	case "oldest", "newest":
		return order == "newest", nil
	default:
		return false, web.BadRequest("order must be oldest or newest, not '%s'", order)
	}
}

// weight estimates the bytes of an answer that a message takes.
func (s *renderer) weight(l *api.Letter) int {
	n := 200 * len(l.Deaths)
	if l.Payload != nil {
		n += len(*l.Payload)
	}
	for i := range l.Properties {
		n += 50 + len(l.Properties[i].Value.Str) + 100*len(l.Properties[i].Value.Table)
	}
	return n
}

// found runs fn on the message that the path names, inside the virtual host's loop. The answer is to have a copy of it.
func found(r *web.Request, s *messageSource, fn func(vhost.Reader, *vhost.Seen) error) error {
	return foundWithin(r, s, r.TakeAnswer, fn)
}

// foundWithin is found for a copy that take counts, if it is large, before fn makes it.
func foundWithin(r *web.Request, s *messageSource, take func(bytes int64) error, fn func(vhost.Reader, *vhost.Seen) error) error {
	id, err := strconv.ParseUint(s.id, 10, 64)
	if err != nil {
		return web.ErrNotFound
	}
	for counted := int64(web.LargeAnswer); ; {
		var failed error
		size := int64(0)
		err = r.Look(s.host, func(v vhost.Reader) {
			x, ok := v.Find(s.Where, id)
			if !ok {
				failed = web.ErrNotFound
			} else if failed = r.Caller.NeedMessage(s.host, s.Where, &x); failed == nil {
				if size = int64(x.Size); size <= counted {
					failed = fn(v, &x)
				}
			}
		})
		if err == nil {
			err = failed
		}
		if err != nil || size <= counted {
			return err
		}
		if err := take(size); err != nil {
			return err
		}
		counted = size
	}
}

// showMessage shows one message, without the payload if the caller may not see payloads.
func showMessage(r *web.Request, s *messageSource) (web.Answer, error) {
	how, err := newRenderer(r, s.host, r.Caller.MayWith(authz.Payload))
	if err != nil {
		return web.Answer{}, err
	}
	if err := bytesIn(r.URL.Query(), "limit", &how.limit); err != nil {
		return web.Answer{}, err
	}
	var l api.Letter
	err = found(r, s, func(v vhost.Reader, x *vhost.Seen) (err error) {
		o, _ := v.Options()
		how.dialect = o.Dialect
		l, err = how.render(x)
		return err
	})
	if err != nil {
		return web.Answer{}, err
	}
	return web.OK(l)
}

// downloadPayload sends the payload as a file, so that no browser shows it as a page of this origin.
func downloadPayload(r *web.Request, s *messageSource) (web.Answer, error) {
	if err := r.Caller.NeedWith(authz.Payload); err != nil {
		return web.Answer{}, err
	}
	var body []byte
	err := found(r, s, func(_ vhost.Reader, x *vhost.Seen) error {
		body = append([]byte{}, x.Content().Body...)
		return nil
	})
	if err != nil {
		return web.Answer{}, err
	}
	return web.Answer{Status: http.StatusOK, Text: body, Header: http.Header{
		"Content-Type":           {payloadType},
		"Content-Disposition":    {fmt.Sprintf(`attachment; filename="%s-%s.bin"`, s.kind(), s.id)},
		"X-Content-Type-Options": {"nosniff"},
	}}, nil
}

const payloadType = "application/octet-stream"
