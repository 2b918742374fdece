package deadletter

import (
	"cmp"
	"errors"
	"strconv"
	"time"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/filter"
	"github.com/bartleby-mq/bartleby/internal/management/message"
	"github.com/bartleby-mq/bartleby/internal/management/web"
	"github.com/bartleby-mq/bartleby/internal/search"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

func (s *API) searchEndpoints() []web.Endpoint {
	return []web.Endpoint{
		{
			Pattern: "GET x/letters/{vhost}", Tag: authz.Management, Serve: s.searchDeadLetters, Slow: true, Scope: web.Leader,
			Summary: "Dead letters of a virtual host in all queues; filter, order, after, limit, payload",
			Out:     api.MessagePage{},
		},
		{
			Pattern: "GET x/letters/{vhost}/groups", Tag: authz.Management, Serve: s.groupDeadLetters, Slow: true, Scope: web.Leader,
			Summary: "Groups of dead letters; by, filter, limit", Out: api.Groups{},
		},
	}
}

// seeAt returns the function by which a search checks whether the caller may see a message.
func seeAt(r *web.Request, host string) func(vhost.Where, string) bool {
	return func(at vhost.Where, lastQueue string) bool { return r.Caller.SeeAt(host, at, lastQueue) }
}

// searchDeadLetters lists dead letters of a virtual host from all sources, in pages: newest deaths first, unless the
// oldest are asked for.
func (s *API) searchDeadLetters(r *web.Request) (web.Answer, error) {
	if err := r.Enter(r.PathValue("vhost")); err != nil {
		return web.Answer{}, err
	}
	query := r.URL.Query()
	f, err := r.ParseFilter(query.Get("filter"))
	if err != nil {
		return web.Answer{}, err
	}
	newest, err := newestFirst(query, true)
	if err != nil {
		return web.Answer{}, err
	}
	limit, err := readLimit(query)
	if err != nil {
		return web.Answer{}, err
	}
	how, err := newRenderer(r, r.PathValue("vhost"), r.Flag("payload"))
	if err != nil {
		return web.Answer{}, err
	}
	page, err := newPage(r, how)
	if err != nil {
		return web.Answer{}, err
	}
	var unread error
	q := search.Query{VHost: r.PathValue("vhost"), Filter: f, After: query.Get("after"), Limit: limit, May: seeAt(r, r.PathValue("vhost"))}
	if !newest {
		q.Order = search.Oldest
	}
	a, err := s.index.Search(r.Context(), q, func(x *vhost.Seen, _ *filter.Message) {
		if unread == nil {
			unread = page.add(x)
		}
	})
	if err := refusedSearch(err, unread); err != nil {
		return web.Answer{}, err
	}
	return page.answer(&api.MessagePage{
		Next: message.OrNil(a.Next), Scanned: a.Scanned, Partial: a.Partial, Index: showIndex(a.Index),
	})
}

// refusedSearch is the refusal of a search, or of what it found.
func refusedSearch(err, unread error) error {
	if errors.Is(err, search.ErrCursor) {
		return web.BadRequest("after must be the 'next' of an earlier response")
	}
	if err == nil {
		return unread
	}
	return err
}

func showIndex(s *search.State) *api.IndexState {
	if s == nil {
		return nil
	}
	return &api.IndexState{CompleteUntil: s.CompleteUntil.UTC().Format(web.FormatTime), Behind: s.Behind}
}

// groupDeadLetters counts the dead letters of a virtual host by a common value.
func (s *API) groupDeadLetters(r *web.Request) (web.Answer, error) {
	if err := r.Enter(r.PathValue("vhost")); err != nil {
		return web.Answer{}, err
	}
	query := r.URL.Query()
	f, err := r.ParseFilter(query.Get("filter"))
	if err != nil {
		return web.Answer{}, err
	}
	by, err := groupingBy(r, query.Get("by"))
	if err != nil {
		return web.Answer{}, err
	}
	most, err := readLimit(query)
	if err != nil {
		return web.Answer{}, err
	}
	index := s.index
	found, err := index.Groups(r.Context(), search.GroupQuery{VHost: r.PathValue("vhost"), By: by, Filter: f, Most: most, May: seeAt(r, r.PathValue("vhost"))})
	if err != nil {
		return web.Answer{}, err
	}
	all := api.Groups{
		By: by.String(), Total: found.Total, Others: found.Others, Without: found.Without,
		Scanned: found.Scanned, Partial: found.Partial, Index: showIndex(found.Index),
	}
	if found.Without > 0 {
		all.None = by.Without()
	}
	samples, err := s.samples(r, found.Groups)
	if err != nil {
		return web.Answer{}, err
	}
	for i := range found.Groups {
		g := &found.Groups[i]
		all.Groups = append(all.Groups, api.Group{
			Value: g.Value, Filter: g.Filter, Count: g.Count, Lost: g.Lost, First: isoOrNone(g.First), Last: isoOrNone(g.Last),
			Spark: g.Spark[:], Sample: samples[g.Sample], Note: noteOn(r, r.PathValue("vhost"), by.String(), g.Value),
		})
	}
	return web.OK(all)
}

// groupingBy reads a grouping, and checks that the caller may use it; the default is by reason.
func groupingBy(r *web.Request, text string) (filter.Grouping, error) {
	by, err := filter.GroupBy(cmp.Or(text, "reason"))
	if err != nil {
		return by, web.BadRequest("%v", err)
	}
	if ofContents(by) {
		return by, r.Caller.NeedWith(authz.Payload)
	}
	return by, nil
}

// ofContents reports whether groups are named by content: a header, an exception.
func ofContents(by filter.Grouping) bool { return by.Needs()&(filter.Properties|filter.Body) != 0 }

// samples shows one message of each group, if it still exists.
func (s *API) samples(r *web.Request, groups []search.Group) (map[search.Ref]*api.StoredMessage, error) {
	how, err := newRenderer(r, r.PathValue("vhost"), false)
	if err != nil {
		return nil, err
	}
	var refs []search.Ref
	for i := range groups[:min(samplesShown, len(groups))] {
		refs = append(refs, groups[i].Sample)
	}
	page, err := newPage(r, how)
	if err != nil {
		return nil, err
	}
	var unread error
	err = s.index.Show(r.Context(), r.PathValue("vhost"), refs, 0, func(x *vhost.Seen, _ *filter.Message) {
		if unread == nil && !page.full() { // their groups are shown without one
			unread = page.add(x)
		}
	})
	if err == nil {
		err = unread
	}
	if err == nil {
		err = page.fill()
	}
	shown := map[search.Ref]*api.StoredMessage{}
	for i := range page.items {
		c := &page.items[i]
		shown[search.Ref{Where: c.at, ID: c.id}] = &c.message
	}
	return shown, err
}

func isoOrNone(ms int64) string {
	if ms == 0 {
		return ""
	}
	return time.UnixMilli(ms).UTC().Format(web.FormatTime)
}

// readLimit reads the maximum number of messages or groups.
func readLimit(query interface{ Get(string) string }) (int, error) {
	text := query.Get("limit")
	if text == "" {
		return listDefault, nil
	}
	limit, err := strconv.Atoi(text)
	if err != nil || limit < 1 || limit > listMax {
		return 0, web.BadRequest("limit must be an integer from 1 to %d, not '%s'", listMax, text)
	}
	return limit, nil
}
