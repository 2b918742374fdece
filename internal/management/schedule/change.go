package schedule

import (
	"fmt"
	"math"
	"net/http"
	"slices"

	"github.com/bartleby-mq/bartleby/internal/accounts"
	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/management/web"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

func waitingChangeEndpoints() []web.Endpoint {
	return []web.Endpoint{
		{
			Pattern: "POST x/scheduled/{vhost}/{exchange}/cancel", Tag: authz.Management, Serve: cancelScheduled, Audit: web.Unaudited, Scope: web.Leader,
			Summary: "Cancels scheduled messages", In: api.PostWaiting{}, Out: api.Changed{},
		},
		{
			Pattern: "POST x/scheduled/{vhost}/{exchange}/reschedule", Tag: authz.Management, Serve: rescheduleScheduled, Audit: web.Unaudited, Scope: web.Leader,
			Summary: "Reschedules messages", In: api.PostReschedule{}, Out: api.Changed{},
		},
		{
			Pattern: "POST x/scheduled/{vhost}/{exchange}/fire", Tag: authz.Management, Serve: fireScheduled, Audit: web.Unaudited, Scope: web.Leader,
			Summary: "Sends scheduled messages now", In: api.PostWaiting{}, Out: api.Changed{},
		},
		{
			Pattern: "DELETE x/scheduled/{vhost}/{exchange}/{id}", Tag: authz.Management, Serve: cancelOne(byID), Audit: web.Unaudited, Scope: web.Leader,
			Summary: "Cancels a scheduled message, by its ID", Out: api.WaitingOutcome{},
		},
		{
			Pattern: "PATCH x/scheduled/{vhost}/{exchange}/{id}", Tag: authz.Management, Serve: rescheduleOne(byID), Audit: web.Unaudited, Scope: web.Leader,
			Summary: "Reschedules a message, by its ID", In: api.NewInstant{}, Out: api.WaitingOutcome{},
		},
		{
			Pattern: "POST x/scheduled/{vhost}/{exchange}/{id}/fire", Tag: authz.Management, Serve: fireOne(byID), Audit: web.Unaudited, Scope: web.Leader,
			Summary: "Sends a scheduled message now, by its ID", Out: api.WaitingOutcome{},
		},
		{
			Pattern: "DELETE x/scheduled/{vhost}/{exchange}/key/{key}", Tag: authz.Management, Serve: cancelOne(byKey), Audit: web.Unaudited, Scope: web.Leader,
			Summary: "Cancels a scheduled message, by its key", Out: api.WaitingOutcome{},
		},
		{
			Pattern: "PATCH x/scheduled/{vhost}/{exchange}/key/{key}", Tag: authz.Management, Serve: rescheduleOne(byKey), Audit: web.Unaudited, Scope: web.Leader,
			Summary: "Reschedules a message, by its key", In: api.NewInstant{}, Out: api.WaitingOutcome{},
		},
		{
			Pattern: "POST x/scheduled/{vhost}/{exchange}/key/{key}/fire", Tag: authz.Management, Serve: fireOne(byKey), Audit: web.Unaudited, Scope: web.Leader,
			Summary: "Sends a scheduled message now, by its key", Out: api.WaitingOutcome{},
		},
		{
			Pattern: "POST x/waiting/{vhost}/{queue}/retry", Tag: authz.Management, Serve: retryWaiting, Scope: web.Leader,
			Summary: "Makes waiting messages ready now", In: api.PostRetry{}, Out: api.Changed{},
		},
		{
			Pattern: "POST x/waiting/{vhost}/{queue}/reschedule", Tag: authz.Management, Serve: rescheduleWaiting, Scope: web.Leader,
			Summary: "Changes the due time of messages that wait in a queue", In: api.PostReschedule{}, Out: api.Changed{},
		},
		{
			Pattern: "POST x/waiting/{vhost}/{queue}/cancel", Tag: authz.Management, Serve: cancelWaiting, Scope: web.Leader,
			Summary: "Cancels messages that wait in a queue for their delivery time", In: api.PostWaiting{}, Out: api.Changed{},
		},
	}
}

// unknownMessage is the outcome for a message of which nothing is known.
const unknownMessage = "unknown"

// A change is done to messages that wait, and notes what became of each.
type change struct {
	request *web.Request
	holder  *holder
	kind    vhost.CommandKind
	at      int64 // ms by the wall clock, of Reschedule
	result  api.Changed
	named   int
}

func changeIn(r *web.Request, w *holder, kind vhost.CommandKind, at int64) *change {
	return &change{request: r, holder: w, kind: kind, at: at, result: api.Changed{Outcomes: api.Object[int]{}}}
}

// messages changes those that are named, in portions. What was never there is unknown.
func (c *change) messages(ids []vhost.ScheduledID) error {
	for some := range slices.Chunk(ids, vhost.SelectionMax) {
		selection := vhost.Selection{At: vhost.Instant(c.at)}
		for _, id := range some {
			if c.holder.id != 0 && id.Schedule == c.holder.id {
				selection.Scheduled = append(selection.Scheduled, id)
			}
		}
		var answers []vhost.Effect
		if len(selection.Scheduled) > 0 || c.kind == vhost.Reschedule { // whose instant is checked in any case
			effects, err := c.request.Do(c.holder.vhost, vhost.Command{Kind: c.kind, Selection: &selection})
			if err != nil {
				return web.AsBadRequest(err)
			}
			c.result.Count += int(countOf(effects))
			answers = slices.DeleteFunc(effects, func(e vhost.Effect) bool { return e.Kind != vhost.Answered })
		}
		for _, id := range some {
			if c.holder.id == 0 || id.Schedule != c.holder.id {
				c.note(id, unknownMessage)
				continue
			}
			c.note(id, answers[0].Name) // in the order of the selection
			answers = answers[1:]
		}
	}
	return nil
}

// note counts an outcome, and lists it as long as there are few.
func (c *change) note(id vhost.ScheduledID, outcome string) {
	c.result.Outcomes[outcome]++
	if c.named++; c.named <= web.OutcomesMax {
		c.result.Results = append(c.result.Results, api.WaitingOutcome{ID: id.String(), Outcome: outcome})
	} else {
		c.result.Results = nil
	}
}

// bodyNames changes what a body names: by IDs, or by a filter.
func (c *change) bodyNames(body *api.PostWaiting) error {
	switch {
	case body.IDs != nil && body.Filter != nil:
		return web.BadRequest("give either 'ids' or 'filter', not both")
	case body.IDs != nil && (body.Limit != nil || body.After != ""):
		return web.BadRequest("'limit' and 'after' require 'filter'")
	case body.IDs != nil:
		ids, err := readIDs(*body.IDs)
		if err != nil {
			return err
		}
		return c.messages(ids)
	case body.Filter == nil:
		return web.NeedKeys(web.Needed("ids", false))
	}
	f, err := filterIn(c.request, body.Filter)
	if err != nil {
		return err
	}
	after, err := cursorOf(body.After)
	if err != nil {
		return err
	}
	limit := vhost.SelectionMax
	if body.Limit != nil {
		if *body.Limit < 1 || *body.Limit > vhost.SelectionMax {
			return web.BadRequest("limit must be from 1 to %d", vhost.SelectionMax)
		}
		limit = int(*body.Limit)
	}
	p := passThrough(c.request, c.holder, f, after)
	p.bare = !f.picks()
	ids, err := p.ids(limit, readsMax*web.LooksMax)
	if err != nil {
		return err
	}
	if err := c.messages(ids); err != nil {
		return err
	}
	c.result.Next = p.next()
	return nil
}

// ids lists up to most that the filter lets through.
func (p *scanner) ids(most, scan int) (ids []vhost.ScheduledID, err error) {
	err = p.each(most, scan, func(x *waiting) bool {
		ids = append(ids, x.ID)
		return true
	})
	return ids, err
}

func readIDs(texts []string) ([]vhost.ScheduledID, error) {
	if len(texts) > vhost.SelectionMax {
		return nil, web.BadRequest("%d ids exceed the limit of %d per request", len(texts), vhost.SelectionMax)
	}
	ids := make([]vhost.ScheduledID, len(texts))
	for i, text := range texts {
		id, ok := vhost.ParseScheduledID(text)
		if !ok {
			return nil, web.BadRequest("'%s' is not the id of a message, such as 12-345; a key is given with --key", text)
		}
		ids[i] = id
	}
	return ids, nil
}

// newInstant reads when messages shall be due, in ms by the wall clock.
func newInstant(r *web.Request, body *api.NewInstant) (int64, error) {
	switch {
	case body.At != nil && body.In != nil:
		return 0, web.BadRequest("give either 'at' or 'in', not both")
	case body.At != nil:
		return int64(*body.At), nil
	case body.In == nil:
		return 0, web.NeedKeys(web.Needed("at", false))
	case *body.In < 0:
		return 0, web.BadRequest("in must not be negative")
	}
	now := r.Engine.Now().UnixMilli()
	return now + min(int64(*body.In), math.MaxInt64-now), nil
}

// changeScheduled serves a change of what waits in a delayed exchange that a body names. Who names it by what it is
// must be allowed to see that.
func changeScheduled(r *web.Request, kind vhost.CommandKind, body *api.PostWaiting, to *api.NewInstant) (web.Answer, error) {
	ops := []accounts.Operation{accounts.Write}
	if body.Filter != nil {
		ops = append(ops, accounts.Read)
	}
	w, err := enterSchedule(r, ops...)
	if err != nil {
		return web.Answer{}, err
	}
	return changeNamed(r, w, kind, body, to)
}

func cancelScheduled(r *web.Request) (web.Answer, error) { return postWaiting(r, vhost.Unschedule) }
func fireScheduled(r *web.Request) (web.Answer, error)   { return postWaiting(r, vhost.FireNow) }

func postWaiting(r *web.Request, kind vhost.CommandKind) (web.Answer, error) {
	var body api.PostWaiting
	if err := r.ReadKnown(&body); err != nil {
		return web.Answer{}, err
	}
	return changeScheduled(r, kind, &body, nil)
}

func rescheduleScheduled(r *web.Request) (web.Answer, error) {
	var body api.PostReschedule
	if err := r.ReadKnown(&body); err != nil {
		return web.Answer{}, err
	}
	return changeScheduled(r, vhost.Reschedule, &body.PostWaiting, &body.NewInstant)
}

func cancelOne(find finder) web.Handler {
	return func(r *web.Request) (web.Answer, error) { return changeOne(r, find, vhost.Unschedule, nil) }
}

func fireOne(find finder) web.Handler {
	return func(r *web.Request) (web.Answer, error) { return changeOne(r, find, vhost.FireNow, nil) }
}

func rescheduleOne(find finder) web.Handler {
	return func(r *web.Request) (web.Answer, error) {
		var body api.NewInstant
		if err := r.ReadKnown(&body); err != nil {
			return web.Answer{}, err
		}
		return changeOne(r, find, vhost.Reschedule, &body)
	}
}

// changeOne serves a change of the message that the path names. One that is not as wanted after it is a conflict. What
// was found by its key is changed by its ID: a message that has taken its place meanwhile is left alone.
func changeOne(r *web.Request, find finder, kind vhost.CommandKind, to *api.NewInstant) (web.Answer, error) {
	w, err := enterSchedule(r, accounts.Write)
	if err != nil {
		return web.Answer{}, err
	}
	c := changeIn(r, w, kind, 0)
	if to != nil {
		if c.at, err = newInstant(r, to); err != nil {
			return web.Answer{}, err
		}
	}
	id, err := find(r, w)
	if err != nil {
		return web.Answer{}, err
	}
	if err := c.messages([]vhost.ScheduledID{id}); err != nil {
		return web.Answer{}, err
	}
	wanted := map[vhost.CommandKind]string{vhost.Unschedule: "cancelled", vhost.Reschedule: "rescheduled", vhost.FireNow: "fired"}
	if outcome := c.result.Results[0]; outcome.Outcome == wanted[kind] {
		return web.OK(outcome)
	}
	return web.Answer{}, gone(id, c.result.Results[0].Outcome)
}

// gone reports the outcome of a message that does not wait.
func gone(id vhost.ScheduledID, outcome string) error {
	switch outcome {
	case "cancelled":
		return &api.Error{Status: http.StatusConflict, Kind: outcome, Reason: fmt.Sprintf("the message %s was cancelled", id)}
	case "already_fired":
		return &api.Error{Status: http.StatusConflict, Kind: outcome, Reason: fmt.Sprintf("the message %s has been fired already", id)}
	}
	return web.ErrNotFound
}

// rescheduleWaiting lets messages of a queue wait until another instant.
func rescheduleWaiting(r *web.Request) (web.Answer, error) {
	var body api.PostReschedule
	if err := r.ReadKnown(&body); err != nil {
		return web.Answer{}, err
	}
	return changeInQueue(r, vhost.Reschedule, &body.PostWaiting, &body.NewInstant)
}

// cancelWaiting ends messages of a queue that wait for their delivery time.
func cancelWaiting(r *web.Request) (web.Answer, error) {
	var body api.PostWaiting
	if err := r.ReadKnown(&body); err != nil {
		return web.Answer{}, err
	}
	return changeInQueue(r, vhost.Unschedule, &body, nil)
}

// changeInQueue changes what a body names of what waits in the queue of the path.
func changeInQueue(r *web.Request, kind vhost.CommandKind, body *api.PostWaiting, to *api.NewInstant) (web.Answer, error) {
	w, err := enterQueue(r)
	if err != nil {
		return web.Answer{}, err
	}
	return changeNamed(r, w, kind, body, to)
}

// changeNamed changes what a body names of what waits there.
func changeNamed(r *web.Request, w *holder, kind vhost.CommandKind, body *api.PostWaiting, to *api.NewInstant) (web.Answer, error) {
	c := changeIn(r, w, kind, 0)
	if to != nil {
		var err error
		if c.at, err = newInstant(r, to); err != nil {
			return web.Answer{}, err
		}
	}
	if err := c.bodyNames(body); err != nil {
		return web.Answer{}, err
	}
	return web.OK(c.result)
}

// retryWaiting makes messages ready that wait in a queue. All are those that wait when the request comes: one that is
// returned meanwhile, and waits again, is left alone.
func retryWaiting(r *web.Request) (web.Answer, error) {
	var body api.PostRetry
	if err := r.ReadKnown(&body); err != nil {
		return web.Answer{}, err
	}
	if !body.All {
		return changeInQueue(r, vhost.FireNow, &body.PostWaiting, nil)
	}
	w, err := enterQueue(r)
	if err != nil {
		return web.Answer{}, err
	}
	c := changeIn(r, w, vhost.FireNow, 0)
	if body.IDs != nil || body.Filter != nil || body.Limit != nil || body.After != "" {
		return web.Answer{}, web.BadRequest("'all' excludes 'ids', 'filter', 'limit' and 'after'")
	}
	p := passThrough(r, w, &waitingFilter{}, vhost.ScheduledMessage{})
	p.bare = true
	ids, err := p.ids(math.MaxInt, math.MaxInt)
	if err != nil {
		return web.Answer{}, err
	}
	if err := c.messages(ids); err != nil {
		return web.Answer{}, err
	}
	return web.OK(c.result)
}
