package management

import (
	"slices"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// A dispatch is a change of lost letters under way, and what came of it so far.
type dispatch struct {
	request   *request
	kind      vhost.CommandKind
	selection vhost.Selection // but for IDs
	result    api.Outcomes
	count     int
}

func (r *request) dispatch(kind vhost.CommandKind, selection vhost.Selection) *dispatch {
	return &dispatch{request: r, kind: kind, selection: selection, result: api.Outcomes{Outcomes: api.Object[int]{}}}
}

// letters changes those that are named, in portions. Those that the caller may not see are unknown.
func (d *dispatch) letters(ids []uint64) error {
	r := d.request
	for some := range slices.Chunk(ids, vhost.SelectionMax) {
		selection, seen := d.selection, make([]bool, len(some))
		err := r.look(r.names[0], func(v *vhost.VHost) {
			for i, id := range some {
				x, ok := v.Find(vhost.Where{Lost: true}, id)
				if !ok {
					continue
				}
				h := x.History() // which tells the target, too
				if r.caller.SeeLost(r.names[0], h, x.Target, x.Cause) {
					selection.IDs, seen[i] = append(selection.IDs, id), true
				}
			}
		})
		if err != nil {
			return err
		}
		effects, err := r.do(r.names[0], vhost.Command{Kind: d.kind, Selection: &selection})
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

// note counts an outcome, and lists it as long as there are few.
func (d *dispatch) note(id uint64, outcome string) {
	d.result.Outcomes[outcome]++
	if d.count++; d.count <= outcomesMax {
		d.result.Letters = append(d.result.Letters, api.LetterOutcome{ID: id, Outcome: outcome})
	} else {
		d.result.Letters = nil
	}
}

// all changes the letters that are on the shelf now, of one cause or all. One that dies again on its way is a new
// letter, and left alone.
func (d *dispatch) all(cause vhost.Cause) error {
	r := d.request
	var last uint64
	if err := r.look(r.names[0], func(v *vhost.VHost) { last = v.NewestLostLetter() }); err != nil {
		return err
	}
	for after := uint64(0); ; {
		var ids []uint64
		err := r.look(r.names[0], func(v *vhost.VHost) {
			ids, after = v.LostIDs(after, last, cause, vhost.SelectionMax, scanMax)
		})
		if err != nil {
			return err
		}
		if err := d.letters(ids); err != nil || after == 0 {
			return err
		}
	}
}

// republishLostLetters sends lost letters on, each to all queues that its exchange leads to, or not at all. To send
// them elsewhere needs permission to publish there.
func republishLostLetters(r *request) (answer, error) {
	if err := r.enter(r.names[0]); err != nil {
		return answer{}, err
	}
	if err := r.caller.NeedWith(authz.Redrive); err != nil {
		return answer{}, err
	}
	var body api.PostRepublish
	if err := r.readKnown(&body); err != nil {
		return answer{}, err
	}
	selection, err := r.destination(&body)
	if err != nil {
		return answer{}, err
	}
	d := r.dispatch(vhost.Republish, selection)
	switch {
	case body.IDs != nil && (bool(body.All) || body.Cause != ""):
		return answer{}, badRequest("give either 'ids', or 'all' with an optional 'cause', not both")
	case body.IDs != nil:
		ids := make([]uint64, len(*body.IDs))
		for i, id := range *body.IDs {
			ids[i] = uint64(max(id, 0)) // no letter has the number 0
		}
		err = d.letters(ids)
	case bool(body.All):
		cause, wrong := causeNamed(body.Cause)
		if wrong != nil {
			return answer{}, wrong
		}
		err = d.all(cause)
	default:
		err = needKeys(key{"ids", false})
	}
	if err != nil {
		return answer{}, err
	}
	return ok(d.result)
}

// destination reads where letters shall go.
func (r *request) destination(body *api.PostRepublish) (vhost.Selection, error) {
	if body.Exchange == nil && body.RoutingKey == nil {
		return vhost.Selection{}, nil
	}
	if err := needKeys(key{"exchange", body.Exchange != nil}); err != nil {
		return vhost.Selection{}, err
	}
	to := vhost.Selection{Elsewhere: true, KeepKeys: body.RoutingKey == nil}
	if body.RoutingKey != nil {
		to.RoutingKey = *body.RoutingKey
		if err := checkRoutingKey(to.RoutingKey); err != nil {
			return vhost.Selection{}, err
		}
	}
	name := exchangeNamed(*body.Exchange)
	if found, err := r.hasExchange(name); err != nil {
		return vhost.Selection{}, err
	} else if !found {
		return vhost.Selection{}, notFound("exchange")
	}
	to.Exchange = name
	return to, nil
}

// deleteLostLetters discards all lost letters, or those of one cause.
func deleteLostLetters(r *request) (answer, error) {
	if err := r.enter(r.names[0]); err != nil {
		return answer{}, err
	}
	if err := r.caller.NeedWith(authz.Discard); err != nil {
		return answer{}, err
	}
	for name := range r.URL.Query() {
		if name != "cause" { // a misspelt one must not empty the shelf
			return answer{}, badRequest("unknown parameter '%s'; only 'cause' is supported", name)
		}
	}
	cause, err := causeNamed(r.URL.Query().Get("cause"))
	if err != nil {
		return answer{}, err
	}
	d := r.dispatch(vhost.Discard, vhost.Selection{})
	if err := d.all(cause); err != nil {
		return answer{}, err
	}
	d.result.Letters = nil
	return ok(d.result)
}

func deleteLostLetter(r *request) (answer, error) {
	if err := r.enter(r.names[0]); err != nil {
		return answer{}, err
	}
	if err := r.caller.NeedWith(authz.Discard); err != nil {
		return answer{}, err
	}
	id, err := r.letterNamed()
	if err != nil {
		return answer{}, err
	}
	d := r.dispatch(vhost.Discard, vhost.Selection{})
	if err := d.letters([]uint64{id}); err != nil {
		return answer{}, err
	}
	if d.result.Outcomes["unknown"] > 0 {
		return answer{}, errNotFound
	}
	return nothing()
}
