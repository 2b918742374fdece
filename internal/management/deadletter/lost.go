package deadletter

import (
	"math"
	"net/url"
	"strconv"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/management/message"
	"github.com/bartleby-mq/bartleby/internal/management/web"
	"github.com/bartleby-mq/bartleby/internal/vhost"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

func (s *API) lostEndpoints() []web.Endpoint {
	return []web.Endpoint{
		{
			Pattern: "GET x/lost-letters", Tag: authz.Management, Serve: s.countLost, Slow: true, Scope: web.AllNodes,
			Summary: "Number of lost letters by virtual host", Out: api.List[api.LostTotals]{},
		},
		{
			Pattern: "GET x/lost-letters/{vhost}", Tag: authz.Management, Serve: getLostLetters, Slow: true, Scope: web.Leader,
			Summary: "Lost letters of a virtual host, in pages", Out: api.LostLetters{},
		},
		{
			Pattern: "GET x/lost-letters/{vhost}/{id}", Tag: authz.Management, Serve: getLostLetter, Scope: web.Leader,
			Summary: "A lost letter with its payload", Out: api.LostLetterContent{},
		},
		{
			Pattern: "GET x/held/{vhost}/{queue}", Tag: authz.Management, Serve: getHeldDeadLetters, Slow: true, Scope: web.Leader,
			Summary: "Dead letters that a queue holds until their targets accept them", Out: api.HeldDeadLetters{},
		},
	}
}

// A portion is the page of lost letters or held dead letters that a query asks for.
type portion struct {
	after uint64
	limit int
}

// onlyPortionOf is portionOf; it refuses other parameters than the given ones: an ignored filter would show other
// messages than wanted.
func onlyPortionOf(query url.Values, others ...string) (portion, error) {
	if err := web.OnlyKnown(query, append([]string{"limit", "after", "columns"}, others...)); err != nil {
		return portion{}, err
	}
	return portionOf(query)
}

func portionOf(query url.Values) (p portion, err error) {
	p.limit = listDefault
	if text := query.Get("after"); text != "" {
		if p.after, err = strconv.ParseUint(text, 10, 64); err != nil {
			return p, web.BadRequest("after must be a message id, not '%s'", text)
		}
	}
	if text := query.Get("limit"); text != "" {
		if p.limit, err = strconv.Atoi(text); err != nil || p.limit < 1 || p.limit > listMax {
			return p, web.BadRequest("limit must be an integer from 1 to %d, not '%s'", listMax, text)
		}
	}
	return p, nil
}

// causeNamed returns the cause of that name; 0 means any.
func causeNamed(name string) (fact.Cause, error) {
	if name == "" {
		return 0, nil
	}
	known := ""
	for _, c := range vhost.LossCauses() {
		if c.String() == name {
			return c, nil
		}
		known += ", " + c.String()
	}
	return 0, web.BadRequest("unknown cause '%s'; known are %s", name, known[2:])
}

// countLost counts the lost letters of each virtual host.
func (s *API) countLost(r *web.Request) (web.Answer, error) {
	var all []api.LostTotals
	for _, h := range r.VisibleVHosts() {
		if r.IsDown(h.Name) {
			continue
		}
		t := s.reader.Sum(r.Context(), h)
		all = append(all, showLostTotals(h.Name, &t.Lost, t.Books.Ended[fact.GoneEvicted]))
	}
	return web.List(r, all, func(s *api.LostTotals) string { return s.VHost })
}

func showDeaths(h *fact.History, d vhost.Dialect) (all api.List[api.Death]) {
	for i := range h.Deaths {
		x := &h.Deaths[i]
		shown := api.Death{
			Count: x.Count, Reason: x.Reason.Word(d), Queue: x.Queue, Time: x.Time, Exchange: x.Exchange, RoutingKeys: x.Keys,
		}
		if x.HadTTL {
			shown.OriginalExpiration = &x.Expiration
		}
		all = append(all, shown)
	}
	return all
}

func showLostLetter(l *vhost.LostLetter, d vhost.Dialect) api.LostLetter {
	at := web.FormatMS(int64(l.At))
	return api.LostLetter{
		ID: l.ID, Cause: l.Cause.String(), At: at, LostAt: at, DiedAt: showTime(l.History.DiedAt()), Queue: l.History.Last.Queue, Reason: l.History.Last.Reason.Word(d),
		Target: message.OrNil(l.Target), Exchange: l.History.Exchange, RoutingKeys: l.History.Keys, Size: int64(l.Size),
		Persistent: l.Persistent, Deaths: showDeaths(&l.History, d),
	}
}

// getLostLetters lists a portion of the lost letters: those that died in queues whose messages the caller may read.
// A portion may be short of the limit, or empty, and not be the last.
func getLostLetters(r *web.Request) (web.Answer, error) {
	if err := r.Enter(r.PathValue("vhost")); err != nil {
		return web.Answer{}, err
	}
	p, err := onlyPortionOf(r.URL.Query(), "cause")
	if err != nil {
		return web.Answer{}, err
	}
	cause, err := causeNamed(r.URL.Query().Get("cause"))
	if err != nil {
		return web.Answer{}, err
	}
	var page api.LostLetters
	before, kept := r.Account.Taken, int64(0)
	for range web.LooksMax {
		r.Account.GiveBack(before + kept)
		if err := r.Take(pagePortion); err != nil {
			return web.Answer{}, err
		}
		var listed []vhost.LostLetter
		var dialect vhost.Dialect
		left := int64(pagePortion)
		err := r.Look(r.PathValue("vhost"), func(v vhost.Reader) {
			o, _ := v.Options()
			dialect = o.Dialect
			var ids []uint64
			ids, p.after = v.LostIDs(p.after, math.MaxUint64, cause, p.limit-len(page.Items), web.ScanMax)
			for _, id := range ids {
				if x, there := v.Find(vhost.Where{Lost: true}, id); there {
					left -= historyCost * x.HistoryBytes()
				}
				if len(listed) > 0 && left < 0 {
					p.after = id - 1
					break
				}
				v.LostLetters(id-1, func(l vhost.LostLetter) bool {
					listed = append(listed, l)
					return false
				})
			}
		})
		if err != nil {
			return web.Answer{}, err
		}
		for i := range listed {
			if l := &listed[i]; r.Caller.SeeLost(r.PathValue("vhost"), &l.History, l.Target, l.Cause) {
				page.Items = append(page.Items, showLostLetter(&listed[i], dialect))
			}
		}
		kept += pagePortion - max(left, 0)
		if p.after == 0 || len(page.Items) == p.limit || kept >= web.PageBytesMax {
			break
		}
	}
	if p.after != 0 {
		page.Next = &p.after
	}
	return web.OK(page)
}

// lostIDOfPath reads the ID in the path.
func lostIDOfPath(r *web.Request) (uint64, error) {
	id, err := strconv.ParseUint(r.PathValue("id"), 10, 64)
	if err != nil {
		return 0, web.ErrNotFound
	}
	return id, nil
}

// getLostLetter shows one lost letter with its content.
func getLostLetter(r *web.Request) (web.Answer, error) {
	if err := r.Enter(r.PathValue("vhost")); err != nil {
		return web.Answer{}, err
	}
	if err := r.Caller.NeedWith(authz.Payload); err != nil {
		return web.Answer{}, err
	}
	id, err := lostIDOfPath(r)
	if err != nil {
		return web.Answer{}, err
	}
	how, err := message.ReadRendering(r.URL.Query())
	if err != nil {
		return web.Answer{}, err
	}
	var lostLetter vhost.LostLetter
	var view vhost.View
	var dialect vhost.Dialect
	var found bool
	size, body := int64(0), int64(0)
	err = r.Look(r.PathValue("vhost"), func(v vhost.Reader) {
		if x, there := v.Find(vhost.Where{Lost: true}, id); there {
			size = x.Bytes() - x.BodyBytes() + how.Shown(x.BodyBytes())
		}
	})
	if err != nil {
		return web.Answer{}, err
	}
	if err := r.TakeLarge(size); err != nil { // a lost letter does not change
		return web.Answer{}, err
	}
	err = r.Look(r.PathValue("vhost"), func(v vhost.Reader) {
		o, _ := v.Options()
		dialect = o.Dialect
		lostLetter, view, body, found = v.LostLetter(id, how.Most())
	})
	switch {
	case err != nil:
		return web.Answer{}, err
	case !found:
		return web.Answer{}, web.ErrNotFound
	}
	if err := r.Caller.NeedLost(r.PathValue("vhost"), &lostLetter.History, lostLetter.Target, lostLetter.Cause); err != nil {
		return web.Answer{}, err
	}
	properties, err := amqp.ParseProperties(view.Properties)
	if err != nil {
		return web.Answer{}, err
	}
	shown := api.LostLetterHead{
		LostLetter: showLostLetter(&lostLetter, dialect), PayloadBytes: int(body),
		Properties: message.ShowProperties(&properties),
	}
	return r.StreamedRow(how.Row(shown, view.Body))
}

// getHeldDeadLetters lists a portion of the dead letters that a queue holds.
func getHeldDeadLetters(r *web.Request) (web.Answer, error) {
	if err := r.NeedQueue(); err != nil {
		return web.Answer{}, err
	}
	if err := r.Caller.NeedRead(r.PathValue("vhost"), r.PathValue("queue")); err != nil {
		return web.Answer{}, err
	}
	p, err := onlyPortionOf(r.URL.Query())
	if err != nil {
		return web.Answer{}, err
	}
	if err := r.Take(pagePortion); err != nil {
		return web.Answer{}, err
	}
	var page api.HeldDeadLetters
	err = r.Look(r.PathValue("vhost"), func(v vhost.Reader) {
		o, _ := v.Options()
		listed, more := v.HeldDeadLetters(r.PathValue("queue"), p.after, p.limit, pagePortion/historyCost)
		for i := range listed {
			page.Items = append(page.Items, showHeldDeadLetter(&listed[i], o.Dialect))
		}
		if more {
			page.Next = &page.Items[len(page.Items)-1].ID
		}
	})
	if err != nil {
		return web.Answer{}, err
	}
	return web.OK(page)
}

func showHeldDeadLetter(l *vhost.HeldDeadLetter, d vhost.Dialect) api.HeldDeadLetter {
	newest := &l.History.Deaths[0]
	shown := api.HeldDeadLetter{
		ID: strconv.FormatUint(l.ID, 10), Cause: l.Cause.String(), Reason: newest.Reason.Word(d), Took: l.Took,
		Exchange: l.History.Exchange, RoutingKeys: l.History.Keys, Size: int64(l.Size), Deaths: showDeaths(&l.History, d),
	}
	if newest.Count == 1 { // else its time is that of an earlier death
		since := web.FormatMS(newest.Time * 1000)
		shown.Since = &since
	}
	return shown
}
