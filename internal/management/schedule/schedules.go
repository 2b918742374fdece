package schedule

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/accounts"
	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/management/web"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

func scheduleEndpoints() []web.Endpoint {
	return []web.Endpoint{
		{
			Pattern: "GET x/scheduled", Tag: authz.Management, Serve: getSchedules, Slow: true, Scope: web.AllNodes,
			Summary: "Totals of scheduled messages; with bucket, from, until, after counted by due time: see " +
				"DueCounts",
			Out: api.List[api.Schedule]{},
		},
		{
			Pattern: "GET x/scheduled/{vhost}", Tag: authz.Management, Serve: getVHostSchedules, Slow: true, Scope: web.Leader,
			Summary: "Totals of scheduled messages of a virtual host; with bucket, from, until, after counted by " +
				"due time: see DueCounts",
			Out: api.Schedules{},
		},
		{
			Pattern: "DELETE x/scheduled/{vhost}/{exchange}", Tag: authz.Management, Serve: purgeSchedule, Scope: web.Leader,
			Summary: "Cancels all scheduled messages of a delayed exchange", Out: api.Purged{},
		},
	}
}

// showBacklog renders what waits until instants, in ms, of a virtual host that is so far ahead.
func showBacklog(messages int, bytes int64, next, ahead int64) api.Backlog {
	b := api.Backlog{Messages: int64(messages), Bytes: bytes}
	if messages > 0 && next != 0 {
		ms := next - ahead
		at := web.FormatMS(ms)
		b.NextDue, b.NextDueMS = &at, &ms
	}
	return b
}

// schedulesPerLook is how many schedules are looked at before others get their turn: one may take a millisecond.
const schedulesPerLook = 16

// schedulesOf counts what waits in each delayed exchange of a virtual host, by name, those in which nothing does among
// them, and in all.
func schedulesOf(r *web.Request, name string) (api.Schedules, error) {
	var names []string
	if err := r.Look(name, func(v vhost.Reader) { names = v.ScheduleNames() }); err != nil {
		return api.Schedules{}, err
	}
	views := make([]vhost.ScheduleView, 0, len(names))
	for some := range slices.Chunk(names, schedulesPerLook) {
		err := r.Look(name, func(v vhost.Reader) {
			for _, exchange := range some {
				view, _ := v.Schedule(exchange)
				views = append(views, view)
			}
		})
		if err != nil {
			return api.Schedules{}, err
		}
	}
	ahead := r.Ahead(name)
	shown := api.Schedules{VHost: name}
	var all vhost.ScheduleView
	for _, s := range views {
		shown.Exchanges = append(shown.Exchanges, api.Schedule{
			VHost: name, Exchange: s.Exchange, Backlog: showBacklog(s.Messages, s.Bytes, int64(s.Next), ahead), Orphan: s.Orphan,
		})
		all.Messages += s.Messages
		all.Bytes += s.Bytes
		if s.Next != 0 && (all.Next == 0 || s.Next < all.Next) {
			all.Next = s.Next
		}
	}
	shown.Backlog = showBacklog(all.Messages, all.Bytes, int64(all.Next), ahead)
	return shown, nil
}

// pagedParameters are what a list is asked for with.
var pagedParameters = []string{"page", "page_size", "pagination", "name", "use_regex", "sort", "sort_reverse", "columns"}

// getSchedules counts what waits in the delayed exchanges of all virtual hosts that the caller sees.
func getSchedules(r *web.Request) (web.Answer, error) {
	if c, asked, err := countOfQuery(r); err != nil {
		return web.Answer{}, err
	} else if asked {
		var hosts []string
		for _, h := range r.VisibleVHosts() {
			if !r.IsDown(h.Name) {
				hosts = append(hosts, h.Name)
			}
		}
		return countDue(r, c, hosts, nil)
	}
	if err := web.OnlyKnown(r.URL.Query(), pagedParameters); err != nil {
		return web.Answer{}, err
	}
	var all []api.Schedule
	for _, h := range r.VisibleVHosts() {
		if r.IsDown(h.Name) {
			continue
		}
		some, err := schedulesOf(r, h.Name)
		if err != nil {
			return web.Answer{}, err
		}
		all = append(all, some.Exchanges...)
	}
	return web.List(r, all, func(s *api.Schedule) string { return s.Exchange })
}

// getVHostSchedules counts what waits in the delayed exchanges of one virtual host.
func getVHostSchedules(r *web.Request) (web.Answer, error) {
	if _, err := r.VHost(r.PathValue("vhost")); err != nil {
		return web.Answer{}, err
	}
	if c, asked, err := countOfQuery(r); err != nil {
		return web.Answer{}, err
	} else if asked {
		return countDue(r, c, []string{r.PathValue("vhost")}, nil)
	}
	if err := web.OnlyKnown(r.URL.Query(), []string{"columns"}); err != nil {
		return web.Answer{}, err
	}
	shown, err := schedulesOf(r, r.PathValue("vhost"))
	if err != nil {
		return web.Answer{}, err
	}
	return web.OK(shown)
}

// purgeSchedule ends all that waits in a delayed exchange.
func purgeSchedule(r *web.Request) (web.Answer, error) {
	holder, err := enterSchedule(r, accounts.Write)
	if err != nil {
		return web.Answer{}, err
	}
	if strings.HasSuffix(r.URL.EscapedPath(), "/") { // an id that is empty, or a key ".." that the client took for a step, must not either
		return web.Answer{}, web.BadRequest("the path ends in '/': give a message id, or omit the '/' to purge all messages")
	}
	for name := range r.URL.Query() { // one that is meant as a filter must not empty the schedule
		return web.Answer{}, web.BadRequest("unknown parameter '%s': DELETE purges all messages; use POST …/cancel to cancel some", name)
	}
	effects, err := r.Do(holder.vhost,
		vhost.Command{Kind: vhost.PurgeSchedule, Definition: &vhost.Definition{Name: holder.exchange}})
	if err != nil {
		return web.Answer{}, err
	}
	return web.OK(api.Purged{Purged: countOf(effects)})
}

// countOf is the count of the command that effects answer.
func countOf(effects []vhost.Effect) uint64 {
	n := uint64(0)
	for i := range effects {
		if effects[i].Kind == vhost.Done {
			n = max(n, effects[i].Count)
		}
	}
	return n
}

// notDelayed refuses what needs a delayed exchange.
func notDelayed(name string) error {
	return &api.Error{Status: http.StatusNotFound, Kind: "not_found",
		Reason: fmt.Sprintf("the exchange '%s' is not of type x-delayed-message and has no scheduled messages", name)}
}
