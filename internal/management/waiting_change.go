package management

import (
	"fmt"
	"math"
	"net/http"
	"slices"

	"github.com/bartleby-mq/bartleby/internal/access"
	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// unknownMessage is the outcome for a message of which nothing is known.
const unknownMessage = "unknown"

// A change is done to messages that wait, and notes what became of each.
type change struct {
	request *request
	room    *room
	kind    vhost.CommandKind
	at      int64 // ms by the wall clock, of Reschedule
	result  api.Changed
	named   int
}

func (r *request) changeIn(w *room, kind vhost.CommandKind, at int64) *change {
	return &change{request: r, room: w, kind: kind, at: at, result: api.Changed{Outcomes: api.Object[int]{}}}
}

// messages changes those that are named, in portions. What was never in the room is unknown.
func (c *change) messages(ids []vhost.ScheduledID) error {
	for some := range slices.Chunk(ids, vhost.SelectionMax) {
		selection := vhost.Selection{At: vhost.Instant(c.at)}
		for _, id := range some {
			if c.room.id != 0 && id.Schedule == c.room.id {
				selection.Scheduled = append(selection.Scheduled, id)
			}
		}
		var answers []vhost.Effect
		if len(selection.Scheduled) > 0 || c.kind == vhost.Reschedule { // whose instant is checked in any case
			effects, err := c.request.do(c.room.vhost, vhost.Command{Kind: c.kind, Selection: &selection})
			if err != nil {
				return plainly(err)
			}
			c.result.Count += int(countOf(effects))
			answers = slices.DeleteFunc(effects, func(e vhost.Effect) bool { return e.Kind != vhost.Answered })
		}
		for _, id := range some {
			if c.room.id == 0 || id.Schedule != c.room.id {
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
	if c.named++; c.named <= outcomesMax {
		c.result.Results = append(c.result.Results, api.WaitingOutcome{ID: id.String(), Outcome: outcome})
	} else {
		c.result.Results = nil
	}
}

// bodyNames changes what a body names: by IDs, or by a filter.
func (c *change) bodyNames(body *api.PostWaiting) error {
	switch {
	case body.IDs != nil && body.Filter != nil:
		return badRequest("give either 'ids' or 'filter', not both")
	case body.IDs != nil && (body.Limit != nil || body.After != ""):
		return badRequest("'limit' and 'after' require 'filter'")
	case body.IDs != nil:
		ids, err := readIDs(*body.IDs)
		if err != nil {
			return err
		}
		return c.messages(ids)
	case body.Filter == nil:
		return needKeys(key{"ids", false})
	}
	f, err := c.request.filterIn(body.Filter)
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
			return badRequest("limit must be from 1 to %d", vhost.SelectionMax)
		}
		limit = int(*body.Limit)
	}
	p := c.request.passThrough(c.room, f, after)
	p.bare = !f.picks()
	ids, err := p.ids(limit, readsMax*looksMax)
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
func (p *pass) ids(most, scan int) (ids []vhost.ScheduledID, err error) {
	err = p.each(most, scan, func(x *waiting) bool {
		ids = append(ids, x.ID)
		return true
	})
	return ids, err
}

func readIDs(texts []string) ([]vhost.ScheduledID, error) {
	if len(texts) > vhost.SelectionMax {
		return nil, badRequest("%d ids exceed the limit of %d per request", len(texts), vhost.SelectionMax)
	}
	ids := make([]vhost.ScheduledID, len(texts))
	for i, text := range texts {
		id, ok := vhost.ParseScheduledID(text)
		if !ok {
			return nil, badRequest("'%s' is not the id of a message, such as 12-345", text)
		}
		ids[i] = id
	}
	return ids, nil
}

// newInstant reads when messages shall be due, in ms by the wall clock.
func (r *request) newInstant(body *api.NewInstant) (int64, error) {
	switch {
	case body.At != nil && body.In != nil:
		return 0, badRequest("give either 'at' or 'in', not both")
	case body.At != nil:
		return int64(*body.At), nil
	case body.In == nil:
		return 0, needKeys(key{"at", false})
	case *body.In < 0:
		return 0, badRequest("in must not be negative")
	}
	now := r.server.engine.Now().UnixMilli()
	return now + min(int64(*body.In), math.MaxInt64-now), nil
}

// changeScheduled serves a change of what waits in a delayed exchange that a body names. Who names it by what it is must
// be allowed to see that.
func (r *request) changeScheduled(kind vhost.CommandKind, body *api.PostWaiting, to *api.NewInstant) (answer, error) {
	ops := []access.Operation{access.Write}
	if body.Filter != nil {
		ops = append(ops, access.Read)
	}
	w, err := r.enterSchedule(ops...)
	if err != nil {
		return answer{}, err
	}
	c := r.changeIn(w, kind, 0)
	if to != nil {
		if c.at, err = r.newInstant(to); err != nil {
			return answer{}, err
		}
	}
	if err := c.bodyNames(body); err != nil {
		return answer{}, err
	}
	return ok(c.result)
}

func cancelScheduled(r *request) (answer, error) { return r.postWaiting(vhost.Unschedule) }
func fireScheduled(r *request) (answer, error)   { return r.postWaiting(vhost.FireNow) }

func (r *request) postWaiting(kind vhost.CommandKind) (answer, error) {
	var body api.PostWaiting
	if err := r.readKnown(&body); err != nil {
		return answer{}, err
	}
	return r.changeScheduled(kind, &body, nil)
}

func rescheduleScheduled(r *request) (answer, error) {
	var body api.PostReschedule
	if err := r.readKnown(&body); err != nil {
		return answer{}, err
	}
	return r.changeScheduled(vhost.Reschedule, &body.PostWaiting, &body.NewInstant)
}

func cancelOne(find naming) endpoint {
	return func(r *request) (answer, error) { return r.changeOne(find, vhost.Unschedule, nil) }
}

func fireOne(find naming) endpoint {
	return func(r *request) (answer, error) { return r.changeOne(find, vhost.FireNow, nil) }
}

func rescheduleOne(find naming) endpoint {
	return func(r *request) (answer, error) {
		var body api.NewInstant
		if err := r.readKnown(&body); err != nil {
			return answer{}, err
		}
		return r.changeOne(find, vhost.Reschedule, &body)
	}
}

// changeOne serves a change of the message that the path names. One that is not as wanted after it is a conflict. What was
// found by its key is changed by its ID: a message that has taken its place meanwhile is left alone.
func (r *request) changeOne(find naming, kind vhost.CommandKind, to *api.NewInstant) (answer, error) {
	w, err := r.enterSchedule(access.Write)
	if err != nil {
		return answer{}, err
	}
	c := r.changeIn(w, kind, 0)
	if to != nil {
		if c.at, err = r.newInstant(to); err != nil {
			return answer{}, err
		}
	}
	id, err := find(r, w, r.names[2])
	if err != nil {
		return answer{}, err
	}
	if err := c.messages([]vhost.ScheduledID{id}); err != nil {
		return answer{}, err
	}
	wanted := map[vhost.CommandKind]string{vhost.Unschedule: "cancelled", vhost.Reschedule: "rescheduled", vhost.FireNow: "fired"}
	if outcome := c.result.Results[0]; outcome.Outcome == wanted[kind] {
		return ok(outcome)
	}
	return answer{}, gone(id, c.result.Results[0].Outcome)
}

// gone tells what became of a message that does not wait.
func gone(id vhost.ScheduledID, outcome string) error {
	switch outcome {
	case "cancelled":
		return &api.Error{Status: http.StatusConflict, Kind: outcome, Reason: fmt.Sprintf("the message %s was cancelled", id)}
	case "already_fired":
		return &api.Error{Status: http.StatusConflict, Kind: outcome, Reason: fmt.Sprintf("the message %s has been fired already", id)}
	}
	return errNotFound
}

// retryWaiting makes messages ready that wait in a queue. All are those that wait when the request comes: one that is
// returned meanwhile, and waits again, is left alone.
func retryWaiting(r *request) (answer, error) {
	var body api.PostRetry
	if err := r.readKnown(&body); err != nil {
		return answer{}, err
	}
	w, err := r.enterQueue()
	if err != nil {
		return answer{}, err
	}
	c := r.changeIn(w, vhost.FireNow, 0)
	if !body.All {
		if err := c.bodyNames(&body.PostWaiting); err != nil {
			return answer{}, err
		}
		return ok(c.result)
	}
	if body.IDs != nil || body.Filter != nil || body.Limit != nil || body.After != "" {
		return answer{}, badRequest("'all' excludes 'ids', 'filter', 'limit' and 'after'")
	}
	p := r.passThrough(w, &filter{}, vhost.ScheduledMessage{})
	p.bare = true
	ids, err := p.ids(math.MaxInt, math.MaxInt)
	if err != nil {
		return answer{}, err
	}
	if err := c.messages(ids); err != nil {
		return answer{}, err
	}
	return ok(c.result)
}
