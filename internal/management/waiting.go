package management

import (
	"net/url"
	"strconv"

	"github.com/bartleby-mq/bartleby/internal/access"
	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// A room is where messages wait for their instants: a delayed exchange, or a queue, the other name being empty.
type room struct {
	vhost           string
	exchange, queue string
	id              vhost.QueueID // of what has them; 0: nothing waits there
	ahead           int64         // ms, of the virtual host's time
}

// list begins to list what waits there, in the order in which it is due.
func (w *room) list(v *vhost.VHost, after vhost.ScheduledMessage, until vhost.Instant, most int) *vhost.Listing {
	if w.queue != "" {
		return v.ListWaiting(w.queue, after, until, most)
	}
	return v.ListScheduled(w.exchange, after, until, most)
}

// where is the place of its messages.
func (w *room) where() vhost.Where { return vhost.Where{Queue: w.queue, Schedule: w.exchange} }

// enterSchedule finds the delayed exchange that the path names. The caller needs the permissions on it, too, if the
// exchange is gone and its messages are not.
func (r *request) enterSchedule(ops ...access.Operation) (*room, error) {
	if err := r.enter(r.names[0]); err != nil {
		return nil, err
	}
	w := &room{vhost: r.names[0], exchange: r.names[1]}
	for _, op := range ops {
		if err := r.caller.NeedFor(op, w.vhost, w.exchange); err != nil {
			return nil, err
		}
	}
	var there, delayed bool
	err := r.look(w.vhost, func(v *vhost.VHost) {
		id, _, found := v.ScheduleNamed(w.exchange)
		x := v.Topology().Exchange(w.exchange)
		w.id, there, delayed = id, x != nil, found || x != nil && x.Delayed
	})
	switch {
	case err != nil:
		return nil, err
	case delayed:
		w.ahead = r.server.ahead(w.vhost)
		return w, nil
	case there:
		return nil, notDelayed(w.exchange)
	}
	return nil, errNotFound
}

// enterQueue finds the queue that the path names, whose messages the caller may read.
func (r *request) enterQueue() (*room, error) {
	if err := r.needQueue(); err != nil {
		return nil, err
	}
	w := &room{vhost: r.names[0], queue: r.names[1]}
	if err := r.caller.NeedRead(w.vhost, w.queue); err != nil {
		return nil, err
	}
	err := r.look(w.vhost, func(v *vhost.VHost) { w.id, _ = v.Topology().Queue(w.queue) })
	w.ahead = r.server.ahead(w.vhost)
	return w, err
}

// A waiting message is one with its content, if that was asked for.
type waiting struct {
	vhost.ScheduledMessage
	waits      bool
	view       vhost.View
	properties amqp.Properties
}

// getScheduled lists a portion of what waits in a delayed exchange, or counts by when it is due.
func getScheduled(r *request) (answer, error) {
	if c, asked, err := r.countOfQuery(); err != nil {
		return answer{}, err
	} else if asked {
		w, err := r.enterSchedule()
		if err != nil {
			return answer{}, err
		}
		return r.countDue(c, []string{w.vhost}, &w.exchange)
	}
	w, err := r.enterSchedule(access.Read)
	if err != nil {
		return answer{}, err
	}
	return r.listWaiting(w)
}

// getWaiting lists a portion of what waits in a queue.
func getWaiting(r *request) (answer, error) {
	w, err := r.enterQueue()
	if err != nil {
		return answer{}, err
	}
	return r.listWaiting(w)
}

// waitingParameters are what a list of what waits is asked for with.
var waitingParameters = []string{
	"filter", "message_id", "routing_key", "header", "from", "until", "to", "limit", "after", "payload", "truncate", "encoding", "columns",
}

func (r *request) listWaiting(w *room) (answer, error) {
	query := r.URL.Query()
	if err := knownOnly(query, waitingParameters); err != nil {
		return answer{}, err
	}
	f, err := r.filterOf(query)
	if err != nil {
		return answer{}, err
	}
	after, err := cursorOf(query.Get("after"))
	if err != nil {
		return answer{}, err
	}
	limit, err := limitOf(query)
	if err != nil {
		return answer{}, err
	}
	var how *taking
	if query.Get("payload") == "true" {
		if err := r.caller.NeedWith(authz.Payload); err != nil {
			return answer{}, err
		}
		if how, err = showingOf(query); err != nil {
			return answer{}, err
		}
	}
	p := r.passThrough(w, f, after)
	var page api.WaitingPage
	bytes := 0
	err = p.each(limit, readsMax*looksMax, func(x *waiting) bool {
		shown := r.showWaiting(w, x, how)
		bytes += len(x.view.Properties)
		if shown.Payload != nil {
			bytes += len(*shown.Payload)
		}
		if bytes > pageBytesMax && len(page.Items) > 0 {
			return false
		}
		page.Items = append(page.Items, shown)
		return true
	})
	if err != nil {
		return answer{}, err
	}
	page.Next = p.next()
	return answer{status: 200, body: page, paged: true}, nil
}

func limitOf(query url.Values) (int, error) {
	text := query.Get("limit")
	if text == "" {
		return waitingUsual, nil
	}
	limit, err := strconv.Atoi(text)
	if err != nil || limit < 1 || limit > vhost.SelectionMax {
		return 0, badRequest("limit must be an integer from 1 to %d, not '%s'", vhost.SelectionMax, text)
	}
	return limit, nil
}

// showWaiting renders a message; how may be nil: without the payload.
func (r *request) showWaiting(w *room, x *waiting, how *taking) api.Waiting {
	due := int64(x.At) - w.ahead
	shown := api.Waiting{
		ID: x.ID.String(), Due: iso(due), DueMS: due, InMS: due - r.server.engine.Now().UnixMilli(),
		Exchange: w.exchange, RoutingKey: string(x.view.RoutingKey), MessageID: text(x.properties.MessageID),
		PayloadBytes: len(x.view.Body),
	}
	if r.caller.MayWith(authz.Payload) {
		shown.Properties = editable(&x.properties)
	}
	if w.queue != "" {
		shown.Queue, shown.Exchange, shown.Why = w.queue, string(x.view.Exchange), "delivery-time"
		if x.Returns > 0 {
			shown.Why = "retry"
		}
		shown.Returns, shown.Failures = &x.Returns, &x.Failures
	}
	if how != nil {
		payload, encoding := how.payload(x.view.Body)
		shown.Payload, shown.PayloadEncoding = &payload, encoding
	}
	return shown
}

// showOne shows the message that the path names, with its payload.
func showOne(find naming) endpoint {
	return func(r *request) (answer, error) { return r.showOne(find) }
}

func (r *request) showOne(find naming) (answer, error) {
	w, err := r.enterSchedule(access.Read)
	if err != nil {
		return answer{}, err
	}
	if err := r.caller.NeedWith(authz.Payload); err != nil {
		return answer{}, err
	}
	id, err := find(r, w, r.names[2])
	if err != nil {
		return answer{}, err
	}
	how, err := showingOf(r.URL.Query())
	if err != nil {
		return answer{}, err
	}
	var x waiting
	var outcome string
	var queues api.List[string]
	var why vhost.Why
	err = r.look(w.vhost, func(v *vhost.VHost) {
		x.ScheduledMessage, _, x.view, outcome = v.ScheduledAt(id)
		queues, why = v.WhereTo(id)
	})
	if err != nil {
		return answer{}, err
	}
	if outcome != "" {
		return answer{}, gone(id, outcome)
	}
	if x.properties, err = amqp.ParseProperties(x.view.Properties); err != nil {
		return answer{}, err
	}
	shown := r.showWaiting(w, &x, how)
	shown.Queues = &queues
	if why != 0 {
		shown.Refused = why.String()
	}
	return ok(shown)
}

// A naming finds the message of a delayed exchange that a path names; errNotFound if it names none. It may have ceased to
// wait.
type naming func(r *request, w *room, name string) (vhost.ScheduledID, error)

// byID finds what is, or was, in the room under an ID.
func byID(_ *request, w *room, name string) (vhost.ScheduledID, error) {
	id, ok := vhost.ParseScheduledID(name)
	if !ok || id.Schedule != w.id || w.id == 0 {
		return vhost.ScheduledID{}, errNotFound
	}
	return id, nil
}

// byKey finds what waits under a key that its publisher gave it, or the last that did, as far as that is remembered.
func byKey(r *request, w *room, name string) (id vhost.ScheduledID, err error) {
	known := false
	err = r.look(w.vhost, func(v *vhost.VHost) { id, known = v.ScheduledUnder(w.exchange, name) })
	if err == nil && !known {
		err = errNotFound
	}
	return id, err
}
