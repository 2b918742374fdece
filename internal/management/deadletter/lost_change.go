package deadletter

import (
	"slices"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/management/message"
	"github.com/bartleby-mq/bartleby/internal/management/web"
	"github.com/bartleby-mq/bartleby/internal/vhost"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

func lostChangeEndpoints() []web.Endpoint {
	return []web.Endpoint{
		{
			Pattern: "DELETE x/lost-letters/{vhost}", Tag: authz.Policymaker, Serve: deleteLostLetters, Scope: web.Leader,
			Summary: "Deletes all lost letters, or those with a cause", Out: api.Outcomes{},
		},
		{
			Pattern: "POST x/lost-letters/{vhost}/republish", Tag: authz.Policymaker, Serve: republishLostLetters, Relieves: true, Scope: web.Leader,
			Summary: "Publishes lost letters again", In: api.PostRepublish{}, Out: api.Outcomes{},
		},
		{
			Pattern: "DELETE x/lost-letters/{vhost}/{id}", Tag: authz.Policymaker, Serve: deleteLostLetter, Scope: web.Leader,
			Summary: "Deletes a lost letter",
		},
	}
}

// A lostChange is a running change of lost letters, and its outcomes so far.
type lostChange struct {
	request   *web.Request
	kind      vhost.CommandKind
	selection vhost.Selection // but for IDs
	result    api.Outcomes
	count     int
}

func newLostChange(r *web.Request, kind vhost.CommandKind, selection vhost.Selection) *lostChange {
	return &lostChange{request: r, kind: kind, selection: selection, result: api.Outcomes{Outcomes: api.Object[int]{}}}
}

// messages changes the given lost letters, in portions. Those that the caller may not see are reported as unknown.
func (d *lostChange) messages(ids []uint64) error {
	r := d.request
	for some := range slices.Chunk(ids, vhost.SelectionMax) {
		selection, seen := d.selection, make([]bool, len(some))
		err := r.Look(r.PathValue("vhost"), func(v vhost.Reader) {
			for i, id := range some {
				x, ok := v.Find(vhost.Where{Lost: true}, id)
				if !ok {
					continue
				}
				h := x.History() // which tells the target, too
				if r.Caller.SeeLost(r.PathValue("vhost"), h, x.Target, x.Cause) {
					selection.IDs, seen[i] = append(selection.IDs, id), true
				}
			}
		})
		if err != nil {
			return err
		}
		effects, err := r.Do(r.PathValue("vhost"), vhost.Command{Kind: d.kind, Selection: &selection})
		if err != nil {
			return err
		}
		effects = slices.DeleteFunc(effects, func(e vhost.Effect) bool { return e.Kind != vhost.Answered })
		for i, id := range some {
			if !seen[i] {
				d.note(id, "unknown")
				continue
			}
			d.note(id, effects[0].Name) // in the order of the selection
			effects = effects[1:]
		}
	}
	return nil
}

// note counts an outcome, and lists it if there are few.
func (d *lostChange) note(id uint64, outcome string) {
	d.result.Outcomes[outcome]++
	if d.count++; d.count <= web.OutcomesMax {
		d.result.LostLetters = append(d.result.LostLetters, api.LostLetterOutcome{ID: id, Outcome: outcome})
	} else {
		d.result.LostLetters = nil
	}
}

// all changes the current lost letters, of one cause or all. A message that becomes a lost letter again meanwhile is
// not changed.
func (d *lostChange) all(cause fact.Cause) error {
	r := d.request
	var last uint64
	if err := r.Look(r.PathValue("vhost"), func(v vhost.Reader) { last = v.NewestLostLetter() }); err != nil {
		return err
	}
	for after := uint64(0); ; {
		var ids []uint64
		err := r.Look(r.PathValue("vhost"), func(v vhost.Reader) {
			ids, after = v.LostIDs(after, last, cause, vhost.SelectionMax, web.ScanMax)
		})
		if err != nil {
			return err
		}
		if err := d.messages(ids); err != nil || after == 0 {
			return err
		}
	}
}

// republishLostLetters publishes lost letters again, each to all queues that its exchange routes to, or to none.
// Another target needs permission to publish there.
func republishLostLetters(r *web.Request) (web.Answer, error) {
	if err := r.Enter(r.PathValue("vhost")); err != nil {
		return web.Answer{}, err
	}
	if err := r.Caller.NeedWith(authz.Redrive); err != nil {
		return web.Answer{}, err
	}
	var body api.PostRepublish
	if err := r.ReadKnown(&body); err != nil {
		return web.Answer{}, err
	}
	selection, err := destination(r, &body)
	if err != nil {
		return web.Answer{}, err
	}
	d := newLostChange(r, vhost.Republish, selection)
	switch {
	case body.IDs != nil && (bool(body.All) || body.Cause != ""):
		return web.Answer{}, web.BadRequest("give either 'ids', or 'all' with an optional 'cause', not both")
	case body.IDs != nil:
		ids := make([]uint64, len(*body.IDs))
		for i, id := range *body.IDs {
			ids[i] = uint64(max(id, 0)) // no lost letter has the number 0
		}
		err = d.messages(ids)
	case bool(body.All):
		cause, wrong := causeNamed(body.Cause)
		if wrong != nil {
			return web.Answer{}, wrong
		}
		err = d.all(cause)
	default:
		err = web.NeedKeys(web.Needed("ids", false))
	}
	if err != nil {
		return web.Answer{}, err
	}
	return web.OK(d.result)
}

// destination reads the target of lost letters.
func destination(r *web.Request, body *api.PostRepublish) (vhost.Selection, error) {
	if body.Exchange == nil && body.RoutingKey == nil {
		return vhost.Selection{}, nil
	}
	if err := web.NeedKeys(web.Needed("exchange", body.Exchange != nil)); err != nil {
		return vhost.Selection{}, err
	}
	to := vhost.Selection{Elsewhere: true, KeepKeys: body.RoutingKey == nil}
	if body.RoutingKey != nil {
		to.RoutingKey = *body.RoutingKey
		if err := message.CheckRoutingKey(to.RoutingKey); err != nil {
			return vhost.Selection{}, err
		}
	}
	name := web.ExchangeName(*body.Exchange)
	if found, err := r.HasExchange(name); err != nil {
		return vhost.Selection{}, err
	} else if !found {
		return vhost.Selection{}, web.NotFound("exchange")
	}
	to.Exchange = name
	return to, nil
}

// deleteLostLetters discards all lost letters, or those of one cause.
func deleteLostLetters(r *web.Request) (web.Answer, error) {
	if err := r.Enter(r.PathValue("vhost")); err != nil {
		return web.Answer{}, err
	}
	if err := r.Caller.NeedWith(authz.Discard); err != nil {
		return web.Answer{}, err
	}
	for name := range r.URL.Query() {
		if name != "cause" { // a misspelt one must not empty the lost store
			return web.Answer{}, web.BadRequest("unknown parameter '%s'; only 'cause' is supported", name)
		}
	}
	cause, err := causeNamed(r.URL.Query().Get("cause"))
	if err != nil {
		return web.Answer{}, err
	}
	d := newLostChange(r, vhost.Discard, vhost.Selection{})
	if err := d.all(cause); err != nil {
		return web.Answer{}, err
	}
	d.result.LostLetters = nil
	return web.OK(d.result)
}

func deleteLostLetter(r *web.Request) (web.Answer, error) {
	if err := r.Enter(r.PathValue("vhost")); err != nil {
		return web.Answer{}, err
	}
	if err := r.Caller.NeedWith(authz.Discard); err != nil {
		return web.Answer{}, err
	}
	id, err := lostIDOfPath(r)
	if err != nil {
		return web.Answer{}, err
	}
	d := newLostChange(r, vhost.Discard, vhost.Selection{})
	if err := d.messages([]uint64{id}); err != nil {
		return web.Answer{}, err
	}
	if d.result.Outcomes["unknown"] > 0 {
		return web.Answer{}, web.ErrNotFound
	}
	return web.NoContent()
}
