package management

import (
	"cmp"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/search"
	"github.com/bartleby-mq/bartleby/internal/sift"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// seeAt tells a search which letters the caller may see.
func (r *request) seeAt(host string) func(vhost.Where, string) bool {
	return func(at vhost.Where, lastQueue string) bool { return r.caller.SeeAt(host, at, lastQueue) }
}

// searchLetters lists a portion of the letters of a virtual host, wherever they are: the newest deaths first, unless the oldest
// are asked for.
func searchLetters(r *request) (answer, error) {
	if err := r.enter(r.names[0]); err != nil {
		return answer{}, err
	}
	query := r.URL.Query()
	f, err := r.siftBy(query.Get("filter"))
	if err != nil {
		return answer{}, err
	}
	newest, err := newestFirst(query, true)
	if err != nil {
		return answer{}, err
	}
	limit, err := lettersLimit(query)
	if err != nil {
		return answer{}, err
	}
	how, err := r.letterShowing(r.names[0], r.flag("payload"))
	if err != nil {
		return answer{}, err
	}
	var page api.Letters
	var unread error
	q := search.Query{VHost: r.names[0], Filter: f, After: query.Get("after"), Limit: limit, May: r.seeAt(r.names[0])}
	if !newest {
		q.Order = search.Oldest
	}
	bytes := 0
	a, err := r.server.options.Index.Search(r.Context(), q, func(x *vhost.Seen, _ *sift.Message) {
		shown := *how
		shown.whole = how.whole && bytes < pageBytesMax
		l, err := shown.letter(x)
		if err != nil {
			unread = err
			return
		}
		l.Truncated = l.Truncated || how.whole && !shown.whole
		page.Items = append(page.Items, l)
		bytes += shown.weight(&l)
	})
	if err := refusedSearch(err, unread); err != nil {
		return answer{}, err
	}
	page.Next, page.Scanned, page.Partial, page.Index = text(a.Next), a.Scanned, a.Partial, showIndex(a.Index)
	return answer{status: http.StatusOK, body: page, paged: true}, nil
}

// refusedSearch is the refusal of a search, or of what it found.
func refusedSearch(err, unread error) error {
	if errors.Is(err, search.ErrCursor) {
		return badRequest("after must be the 'next' of an earlier response")
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
	return &api.IndexState{CompleteUntil: s.CompleteUntil.UTC().Format(isoTime), Behind: s.Behind}
}

// groupLetters counts the letters of a virtual host by what they have in common.
func groupLetters(r *request) (answer, error) {
	if err := r.enter(r.names[0]); err != nil {
		return answer{}, err
	}
	query := r.URL.Query()
	f, err := r.siftBy(query.Get("filter"))
	if err != nil {
		return answer{}, err
	}
	by, err := r.groupingBy(query.Get("by"))
	if err != nil {
		return answer{}, err
	}
	most, err := lettersLimit(query)
	if err != nil {
		return answer{}, err
	}
	index := r.server.options.Index
	found, err := index.Groups(r.Context(), search.GroupQuery{VHost: r.names[0], By: by, Filter: f, Most: most, May: r.seeAt(r.names[0])})
	if err != nil {
		return answer{}, err
	}
	all := api.Groups{
		By: by.String(), Total: found.Total, Others: found.Others, Without: found.Without,
		Scanned: found.Scanned, Partial: found.Partial, Index: showIndex(found.Index),
	}
	if found.Without > 0 {
		all.None = by.Without()
	}
	samples, err := r.samples(found.Groups)
	if err != nil {
		return answer{}, err
	}
	for i := range found.Groups {
		g := &found.Groups[i]
		all.Groups = append(all.Groups, api.Group{
			Value: g.Value, Filter: g.Filter, Count: g.Count, First: isoOrNone(g.First), Last: isoOrNone(g.Last), Spark: g.Spark[:],
			Sample: samples[g.Sample], Note: r.noteOn(r.names[0], by.String(), g.Value),
		})
	}
	return ok(all)
}

// groupingBy reads a grouping, which the caller may ask for; without a text letters are grouped by reason.
func (r *request) groupingBy(text string) (sift.Grouping, error) {
	by, err := sift.GroupBy(cmp.Or(text, "reason"))
	if err != nil {
		return by, badRequest("%v", err)
	}
	if ofContents(by) {
		return by, r.caller.NeedWith(authz.Payload)
	}
	return by, nil
}

// ofContents reports whether groups are named by what letters carry: a header, an exception.
func ofContents(by sift.Grouping) bool { return by.Needs()&(sift.Properties|sift.Body) != 0 }

// samples shows one letter of each group, if it is there still.
func (r *request) samples(groups []search.Group) (map[search.Ref]*api.Letter, error) {
	how, err := r.letterShowing(r.names[0], false)
	if err != nil {
		return nil, err
	}
	var refs []search.Ref
	for i := range groups[:min(samplesShown, len(groups))] {
		refs = append(refs, groups[i].Sample)
	}
	shown := map[search.Ref]*api.Letter{}
	var unread error
	err = r.server.options.Index.Show(r.Context(), r.names[0], refs, 0, func(x *vhost.Seen, _ *sift.Message) {
		l, err := how.letter(x)
		if err != nil {
			unread = err
			return
		}
		shown[search.Ref{Where: x.Where(), ID: x.ID}] = &l
	})
	if err == nil {
		err = unread
	}
	return shown, err
}

func isoOrNone(ms int64) string {
	if ms == 0 {
		return ""
	}
	return time.UnixMilli(ms).UTC().Format(isoTime)
}

// lettersLimit reads how many letters or groups are wanted at the most.
func lettersLimit(query interface{ Get(string) string }) (int, error) {
	text := query.Get("limit")
	if text == "" {
		return lettersUsual, nil
	}
	limit, err := strconv.Atoi(text)
	if err != nil || limit < 1 || limit > lettersMax {
		return 0, badRequest("limit must be an integer from 1 to %d, not '%s'", lettersMax, text)
	}
	return limit, nil
}
