package management

import (
	"math"
	"net/url"
	"strconv"
	"time"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// isoTime is the form of an instant.
const isoTime = "2006-01-02T15:04:05.000Z"

func iso(ms int64) string { return time.UnixMilli(ms).UTC().Format(isoTime) }

// A portion of letters is what a query asks for.
type portion struct {
	after uint64
	limit int
}

// onlyPortionOf is portionOf where a query may name nothing else but some others: a filter that was ignored would show what it does not
// mean.
func onlyPortionOf(query url.Values, others ...string) (portion, error) {
	if err := knownOnly(query, append([]string{"limit", "after", "columns"}, others...)); err != nil {
		return portion{}, err
	}
	return portionOf(query)
}

func portionOf(query url.Values) (p portion, err error) {
	p.limit = lettersUsual
	if text := query.Get("after"); text != "" {
		if p.after, err = strconv.ParseUint(text, 10, 64); err != nil {
			return p, badRequest("after must be a message id, not '%s'", text)
		}
	}
	if text := query.Get("limit"); text != "" {
		if p.limit, err = strconv.Atoi(text); err != nil || p.limit < 1 || p.limit > lettersMax {
			return p, badRequest("limit must be an integer from 1 to %d, not '%s'", lettersMax, text)
		}
	}
	return p, nil
}

// causeNamed finds why letters are lost; 0 is any.
func causeNamed(name string) (vhost.Cause, error) {
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
	return 0, badRequest("unknown cause '%s'; known are %s", name, known[2:])
}

// getShelves counts the lost letters of each virtual host.
func getShelves(r *request) (answer, error) {
	var all []api.Shelf
	for _, h := range r.visible() {
		if r.down(h.Name) {
			continue
		}
		t := r.server.sum(r.Context(), h)
		all = append(all, showShelf(h.Name, &t.shelf, t.books.Ended[vhost.GoneShelf]))
	}
	return list(r, all, func(s *api.Shelf) string { return s.VHost })
}

func showDeaths(h *vhost.History, d vhost.Dialect) (all api.List[api.Death]) {
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
	return api.LostLetter{
		ID: l.ID, Cause: l.Cause.String(), At: iso(int64(l.At)), Queue: l.History.Last.Queue, Reason: l.History.Last.Reason.Word(d),
		Target: text(l.Target), Exchange: l.History.Exchange, RoutingKeys: l.History.Keys, Size: int64(l.Size),
		Persistent: l.Persistent, Deaths: showDeaths(&l.History, d),
	}
}

// getLostLetters lists a portion of the lost letters: those that died in queues whose messages the caller may read.
// A portion may be short of the limit, or empty, and not be the last.
func getLostLetters(r *request) (answer, error) {
	if err := r.enter(r.names[0]); err != nil {
		return answer{}, err
	}
	p, err := onlyPortionOf(r.URL.Query(), "cause")
	if err != nil {
		return answer{}, err
	}
	cause, err := causeNamed(r.URL.Query().Get("cause"))
	if err != nil {
		return answer{}, err
	}
	var page api.LostLetters
	for range looksMax {
		var letters []vhost.LostLetter
		var dialect vhost.Dialect
		err := r.look(r.names[0], func(v *vhost.VHost) {
			o, _ := v.Options()
			dialect = o.Dialect
			var ids []uint64
			ids, p.after = v.LostIDs(p.after, math.MaxUint64, cause, p.limit-len(page.Items), scanMax)
			for _, id := range ids {
				v.LostLetters(id-1, func(l vhost.LostLetter) bool {
					letters = append(letters, l)
					return false
				})
			}
		})
		if err != nil {
			return answer{}, err
		}
		for i := range letters {
			if l := &letters[i]; r.caller.SeeLost(r.names[0], &l.History, l.Target, l.Cause) {
				page.Items = append(page.Items, showLostLetter(&letters[i], dialect))
			}
		}
		if p.after == 0 || len(page.Items) == p.limit {
			break
		}
	}
	if p.after != 0 {
		page.Next = &p.after
	}
	return ok(page)
}

// letterNamed reads the ID in the path.
func (r *request) letterNamed() (uint64, error) {
	id, err := strconv.ParseUint(r.names[1], 10, 64)
	if err != nil {
		return 0, errNotFound
	}
	return id, nil
}

// getLostLetter shows one lost letter with its content.
func getLostLetter(r *request) (answer, error) {
	if err := r.enter(r.names[0]); err != nil {
		return answer{}, err
	}
	if err := r.caller.NeedWith(authz.Payload); err != nil {
		return answer{}, err
	}
	id, err := r.letterNamed()
	if err != nil {
		return answer{}, err
	}
	how, err := showingOf(r.URL.Query())
	if err != nil {
		return answer{}, err
	}
	var letter vhost.LostLetter
	var view vhost.View
	var dialect vhost.Dialect
	var found bool
	err = r.look(r.names[0], func(v *vhost.VHost) {
		o, _ := v.Options()
		dialect = o.Dialect
		letter, view, found = v.LostLetter(id)
	})
	switch {
	case err != nil:
		return answer{}, err
	case !found:
		return answer{}, errNotFound
	}
	if err := r.caller.NeedLost(r.names[0], &letter.History, letter.Target, letter.Cause); err != nil {
		return answer{}, err
	}
	properties, err := amqp.ParseProperties(view.Properties)
	if err != nil {
		return answer{}, err
	}
	shown := api.LostLetterContent{
		LostLetter: showLostLetter(&letter, dialect), PayloadBytes: len(view.Body), Properties: showProperties(&properties),
	}
	shown.Payload, shown.PayloadEncoding = how.payload(view.Body)
	return ok(shown)
}

// showingOf reads how a query wants a payload to be shown.
func showingOf(query url.Values) (*taking, error) {
	t := &taking{truncate: -1}
	encoding := query.Get("encoding")
	if encoding == "" {
		encoding = "auto"
	}
	var truncate *api.Integer
	if text := query.Get("truncate"); text != "" {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, badRequest("truncate must be a number of bytes, not '%s'", text)
		}
		truncate = (*api.Integer)(&n)
	}
	return t, t.showAs(encoding, truncate)
}

// getHeldLetters lists a portion of the dead letters that a queue holds.
func getHeldLetters(r *request) (answer, error) {
	if err := r.needQueue(); err != nil {
		return answer{}, err
	}
	if err := r.caller.NeedRead(r.names[0], r.names[1]); err != nil {
		return answer{}, err
	}
	p, err := onlyPortionOf(r.URL.Query())
	if err != nil {
		return answer{}, err
	}
	var page api.HeldLetters
	err = r.look(r.names[0], func(v *vhost.VHost) {
		o, _ := v.Options()
		letters := v.HeldLetters(r.names[1], p.after, p.limit+1)
		for i := range letters[:min(p.limit, len(letters))] {
			page.Items = append(page.Items, showHeldLetter(&letters[i], o.Dialect))
		}
		if len(letters) > p.limit {
			page.Next = &page.Items[p.limit-1].ID
		}
	})
	if err != nil {
		return answer{}, err
	}
	return ok(page)
}

func showHeldLetter(l *vhost.HeldLetter, d vhost.Dialect) api.HeldLetter {
	newest := &l.History.Deaths[0]
	shown := api.HeldLetter{
		ID: strconv.FormatUint(l.ID, 10), Cause: l.Cause.String(), Reason: newest.Reason.Word(d), Took: l.Took,
		Exchange: l.History.Exchange, RoutingKeys: l.History.Keys, Size: int64(l.Size), Deaths: showDeaths(&l.History, d),
	}
	if newest.Count == 1 { // else its time is that of an earlier death
		since := iso(newest.Time * 1000)
		shown.Since = &since
	}
	return shown
}
