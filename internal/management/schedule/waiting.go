package schedule

import (
	"net/url"
	"strconv"

	"github.com/bartleby-mq/bartleby/internal/accounts"
	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/management/message"
	"github.com/bartleby-mq/bartleby/internal/management/web"
	"github.com/bartleby-mq/bartleby/internal/vhost"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

func waitingEndpoints() []web.Endpoint {
	return []web.Endpoint{
		{
			Pattern: "GET x/scheduled/{vhost}/{exchange}", Tag: authz.Management, Serve: getScheduled, Slow: true, Scope: web.Leader,
			Summary: "Scheduled messages of a delayed exchange, in pages; filter, message_id, routing_key, " +
				"header, from, until, limit, after, payload; or the one with a key; with bucket counted by due time: see DueCounts",
			Out: api.WaitingPage{},
		},
		{
			Pattern: "GET x/scheduled/{vhost}/{exchange}/{id}", Tag: authz.Management, Serve: showOne(byID), Scope: web.Leader,
			Summary: "A scheduled message, by its ID", Out: api.Waiting{},
		},
		{
			Pattern: "GET x/scheduled/{vhost}/{exchange}/key/{key}", Tag: authz.Management, Serve: showOne(byKey), Scope: web.Leader,
			Summary: "A scheduled message, by its key", Out: api.Waiting{},
		},
		{
			Pattern: "GET x/waiting/{vhost}/{queue}", Tag: authz.Management, Serve: getWaiting, Slow: true, Scope: web.Leader,
			Summary: "Messages of a queue that wait for a retry or delivery time, in the format of scheduled " +
				"messages",
			Out: api.WaitingPage{},
		},
	}
}

// A holder is where messages wait for their instants: a delayed exchange, or a queue, the other name being empty.
type holder struct {
	vhost           string
	exchange, queue string
	id              fact.QueueID // of what has them; 0: nothing waits there
	ahead           int64        // ms, of the virtual host's time
}

// list begins to list what waits there, in the order in which it is due.
func (w *holder) list(v vhost.Reader, after vhost.ScheduledMessage, until vhost.Instant, most int) *vhost.Listing {
	if w.queue != "" {
		return v.ListWaiting(w.queue, after, until, most)
	}
	return v.ListScheduled(w.exchange, after, until, most)
}

// where is the place of its messages.
func (w *holder) where() vhost.Where { return vhost.Where{Queue: w.queue, Schedule: w.exchange} }

// enterSchedule finds the delayed exchange that the path names. The caller needs the permissions on it, too, if the
// exchange is gone and its messages are not.
func enterSchedule(r *web.Request, ops ...accounts.Operation) (*holder, error) {
	if err := r.Enter(r.PathValue("vhost")); err != nil {
		return nil, err
	}
	w := &holder{vhost: r.PathValue("vhost"), exchange: r.PathValue("exchange")}
	for _, op := range ops {
		if err := r.Caller.NeedExchange(op, w.vhost, w.exchange); err != nil {
			return nil, err
		}
	}
	var there, delayed bool
	err := r.Look(w.vhost, func(v vhost.Reader) {
		id, _, found := v.ScheduleNamed(w.exchange)
		x := v.Topology().Exchange(w.exchange)
		w.id, there, delayed = id, x != nil, found || x != nil && x.Delayed
	})
	switch {
	case err != nil:
		return nil, err
	case delayed:
		w.ahead = r.Ahead(w.vhost)
		return w, nil
	case there:
		return nil, notDelayed(w.exchange)
	}
	return nil, web.ErrNotFound
}

// enterQueue finds the queue that the path names, whose messages the caller may read.
func enterQueue(r *web.Request) (*holder, error) {
	if err := r.NeedQueue(); err != nil {
		return nil, err
	}
	w := &holder{vhost: r.PathValue("vhost"), queue: r.PathValue("queue")}
	if err := r.Caller.NeedRead(w.vhost, w.queue); err != nil {
		return nil, err
	}
	err := r.Look(w.vhost, func(v vhost.Reader) { w.id, _ = v.Topology().Queue(w.queue) })
	w.ahead = r.Ahead(w.vhost)
	return w, err
}

// A waiting message is one with its content, if that was asked for.
type waiting struct {
	vhost.ScheduledMessage
	waits      bool
	view       vhost.View
	properties amqp.Properties
}

// toShow is what is shown of the message, without its properties as values, which may take many times their size.
func (x *waiting) toShow() waiting {
	return waiting{ScheduledMessage: x.ScheduledMessage, view: x.view}
}

// bytes is how many bytes of the message are in memory.
func (x *waiting) bytes() int64 { return int64(len(x.view.Properties) + len(x.view.Body)) }

func (x *waiting) parse() (err error) {
	x.properties, err = amqp.ParseProperties(x.view.Properties)
	return err
}

// getScheduled lists a portion of what waits in a delayed exchange, or counts by when it is due.
func getScheduled(r *web.Request) (web.Answer, error) {
	if c, asked, err := countOfQuery(r); err != nil {
		return web.Answer{}, err
	} else if asked {
		w, err := enterSchedule(r)
		if err != nil {
			return web.Answer{}, err
		}
		return countDue(r, c, []string{w.vhost}, &w.exchange)
	}
	w, err := enterSchedule(r, accounts.Read)
	if err != nil {
		return web.Answer{}, err
	}
	if r.URL.Query().Has("key") {
		return listUnderKey(r, w)
	}
	return listWaiting(r, w)
}

// listUnderKey lists what waits under a key: one message, or none. Unlike the path of a key, it is no error if there is
// none, and no message but that one is read.
func listUnderKey(r *web.Request, w *holder) (web.Answer, error) {
	query := r.URL.Query()
	if err := web.OnlyKnown(query, []string{"key"}); err != nil {
		return web.Answer{}, err
	}
	if err := r.Caller.NeedWith(authz.Payload); err != nil { // it is a header
		return web.Answer{}, err
	}
	var x waiting
	err := r.Look(w.vhost, func(v vhost.Reader) {
		if id, known := v.ScheduledUnder(w.exchange, query.Get("key")); known {
			var outcome string
			x.ScheduledMessage, _, x.view, outcome = v.ScheduledAt(id, 0)
			x.waits = outcome == ""
		}
	})
	if err != nil {
		return web.Answer{}, err
	}
	page := api.WaitingPage{Items: api.List[api.Waiting]{}}
	if x.waits {
		if err := x.parse(); err != nil {
			return web.Answer{}, err
		}
		page.Items = append(page.Items, headOf(r, w, &x))
	}
	return web.OK(page)
}

// getWaiting lists a portion of what waits in a queue.
func getWaiting(r *web.Request) (web.Answer, error) {
	w, err := enterQueue(r)
	if err != nil {
		return web.Answer{}, err
	}
	return listWaiting(r, w)
}

// waitingParameters are what a list of what waits is asked for with.
var waitingParameters = []string{
	"filter", "message_id", "routing_key", "header", "from", "until", "to", "limit", "after", "payload", "truncate", "encoding", "columns",
}

func listWaiting(r *web.Request, w *holder) (web.Answer, error) {
	query := r.URL.Query()
	if err := web.OnlyKnown(query, waitingParameters); err != nil {
		return web.Answer{}, err
	}
	f, err := filterOf(r, query)
	if err != nil {
		return web.Answer{}, err
	}
	after, err := cursorOf(query.Get("after"))
	if err != nil {
		return web.Answer{}, err
	}
	limit, err := limitOf(query)
	if err != nil {
		return web.Answer{}, err
	}
	var how *message.Rendering
	if query.Get("payload") == "true" {
		if err := r.Caller.NeedWith(authz.Payload); err != nil {
			return web.Answer{}, err
		}
		if how, err = message.ReadRendering(query); err != nil {
			return web.Answer{}, err
		}
	}
	p := passThrough(r, w, f, after)
	if how != nil {
		p.octets = how.Most()
	}
	var shown []waiting
	err = p.each(limit, readsMax*web.LooksMax, func(x *waiting) bool {
		kept := x.toShow()
		if p.kept+kept.bytes() > web.PageBytesMax && len(shown) > 0 {
			return false
		}
		shown, p.kept = append(shown, kept), p.kept+kept.bytes()
		return true
	})
	if err != nil {
		return web.Answer{}, err
	}
	return r.StreamedPage(api.WaitingPage{Next: p.next()}, func(row func(any) error) error {
		for i := range shown {
			if err := shown[i].parse(); err != nil {
				return err
			}
			if err := row(showWaiting(r, w, &shown[i], how)); err != nil {
				return err
			}
			shown[i] = waiting{}
		}
		return nil
	})
}

func limitOf(query url.Values) (int, error) {
	text := query.Get("limit")
	if text == "" {
		return listDefault, nil
	}
	limit, err := strconv.Atoi(text)
	if err != nil || limit < 1 || limit > vhost.SelectionMax {
		return 0, web.BadRequest("limit must be an integer from 1 to %d, not '%s'", vhost.SelectionMax, text)
	}
	return limit, nil
}

// showWaiting is a row with a message; how may be nil: without the payload.
func showWaiting(r *web.Request, w *holder, x *waiting, how *message.Rendering) any {
	shown := headOf(r, w, x)
	if how == nil {
		return shown
	}
	return how.Row(shown, x.view.Body)
}

// headOf renders a message without its payload.
func headOf(r *web.Request, w *holder, x *waiting) api.Waiting {
	due := int64(x.At) - w.ahead
	shown := api.Waiting{
		ID: x.ID.String(), Due: web.FormatMS(due), DueMS: due, InMS: due - r.Engine.Now().UnixMilli(),
		Exchange: w.exchange, RoutingKey: string(x.view.RoutingKey), MessageID: message.OrNil(x.properties.MessageID),
		PayloadBytes: int(x.Body),
	}
	if r.Caller.MayWith(authz.Payload) {
		shown.Properties = message.Editable(&x.properties)
	}
	if w.queue != "" {
		shown.Queue, shown.Exchange, shown.Why = w.queue, string(x.view.Exchange), "delivery-time"
		if x.Retry {
			shown.Why = "retry"
		}
		shown.Returns, shown.Failures = &x.Returns, &x.Failures
	}
	return shown
}

// showOne shows the message that the path names, with its payload.
func showOne(find finder) web.Handler {
	return func(r *web.Request) (web.Answer, error) { return showNamed(r, find) }
}

func showNamed(r *web.Request, find finder) (web.Answer, error) {
	w, err := enterSchedule(r, accounts.Read)
	if err != nil {
		return web.Answer{}, err
	}
	if err := r.Caller.NeedWith(authz.Payload); err != nil {
		return web.Answer{}, err
	}
	id, err := find(r, w)
	if err != nil {
		return web.Answer{}, err
	}
	how, err := message.ReadRendering(r.URL.Query())
	if err != nil {
		return web.Answer{}, err
	}
	var x waiting
	var outcome string
	var queues api.List[string]
	var why vhost.SkipReason
	size := int64(0)
	err = r.Look(w.vhost, func(v vhost.Reader) {
		if seen, there := v.Find(w.where(), id.Number+1); there {
			size = seen.Bytes() - seen.BodyBytes() + how.Shown(seen.BodyBytes())
		}
	})
	if err != nil {
		return web.Answer{}, err
	}
	if err := r.TakeLarge(size); err != nil { // it stays as it is as long as it waits
		return web.Answer{}, err
	}
	err = r.Look(w.vhost, func(v vhost.Reader) {
		x.ScheduledMessage, _, x.view, outcome = v.ScheduledAt(id, how.Most())
		queues, why = v.WhereTo(id)
	})
	if err != nil {
		return web.Answer{}, err
	}
	if outcome != "" {
		return web.Answer{}, gone(id, outcome)
	}
	if err := x.parse(); err != nil {
		return web.Answer{}, err
	}
	shown := headOf(r, w, &x)
	shown.Queues = &queues
	if why != 0 {
		shown.Refused = why.String()
	}
	return r.StreamedRow(how.Row(shown, x.view.Body))
}

// A finder finds the message of a delayed exchange that a path names; errNotFound if it names none. It may have ceased
// to wait.
type finder func(r *web.Request, w *holder) (vhost.ScheduledID, error)

// byID finds what is, or was, in the queue or schedule under an ID.
func byID(r *web.Request, w *holder) (vhost.ScheduledID, error) {
	name := r.PathValue("id")
	id, ok := vhost.ParseScheduledID(name)
	if !ok || id.Schedule != w.id || w.id == 0 {
		return vhost.ScheduledID{}, web.ErrNotFound
	}
	return id, nil
}

// byKey finds what waits under a key that its publisher gave it, or the last that did, as far as that is remembered.
func byKey(r *web.Request, w *holder) (id vhost.ScheduledID, err error) {
	name := r.PathValue("key")
	known := false
	err = r.Look(w.vhost, func(v vhost.Reader) { id, known = v.ScheduledUnder(w.exchange, name) })
	if err == nil && !known {
		err = web.ErrNotFound
	}
	return id, err
}
