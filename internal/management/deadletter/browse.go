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
			Out:     api.MessagePage{},
		},
		{
			Pattern: "GET x/lost-letters/{vhost}/messages/{id}", Tag: authz.Management, Serve: amongLost(showMessage), Scope: web.Leader,
			Summary: "One message; offset and limit select a part of its payload", Out: api.StoredMessage{},
		},
		{
			Pattern: "GET x/lost-letters/{vhost}/messages/{id}/payload", Tag: authz.Management, Serve: amongLost(downloadPayload), Media: "application/octet-stream", Scope: web.Leader,
			Summary: "The payload of a message as a file",
		},
		{
			Pattern: "GET x/queues/{vhost}/{queue}/messages", Tag: authz.Management, Serve: inQueue(browse), Slow: true, Scope: web.Leader,
			Summary: "Messages of a queue in any state; filter, order, after, limit, payload", Out: api.MessagePage{},
		},
		{
			Pattern: "GET x/queues/{vhost}/{queue}/messages/{id}", Tag: authz.Management, Serve: inQueue(showMessage), Scope: web.Leader,
			Summary: "One message; offset and limit select a part of its payload", Out: api.StoredMessage{},
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
	found, err := newPage(r, how)
	if err != nil {
		return web.Answer{}, err
	}
	var unread error
	w := walkThrough(r, s, f, p.after, newest)
	err = w.each(func(v vhost.Reader, x *vhost.Seen) bool {
		o, _ := v.Options()
		how.dialect = o.Dialect
		unread = found.add(x)
		return unread == nil && len(found.items) < p.limit && !found.full()
	})
	if err == nil {
		err = unread
	}
	if err != nil {
		return web.Answer{}, err
	}
	shown := &api.MessagePage{Scanned: w.scanned}
	if !w.ended {
		next := strconv.FormatUint(w.from.After, 10)
		shown.Next, shown.Partial = &next, len(found.items) < p.limit && !found.full()
	}
	return found.answer(shown)
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
				if size = x.Bytes() + historyCost*x.HistoryBytes(); size <= counted {
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
	var c carried
	err = found(r, s, func(v vhost.Reader, x *vhost.Seen) error {
		o, _ := v.Options()
		how.dialect = o.Dialect
		c = how.carry(x, how.whole)
		return how.copy(&c, x)
	})
	if err != nil {
		return web.Answer{}, err
	}
	row, err := how.row(&c)
	if err != nil {
		return web.Answer{}, err
	}
	return r.StreamedRow(row)
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
