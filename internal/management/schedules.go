package management

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/access"
	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// ahead is by how much the time of a virtual host, in which it is told when things are due, is ahead of the wall clock,
// in ms; mostly 0.
func (s *Server) ahead(name string) int64 {
	for _, t := range s.engine.Time().VHosts {
		if t.VHost == name {
			return t.Behind.Milliseconds()
		}
	}
	return 0
}

// showBacklog renders what waits until instants, in ms, of a virtual host that is so far ahead.
func showBacklog(messages int, bytes int64, next, ahead int64) api.Backlog {
	b := api.Backlog{Messages: int64(messages), Bytes: bytes}
	if messages > 0 && next != 0 {
		ms := next - ahead
		at := iso(ms)
		b.NextDue, b.NextDueMS = &at, &ms
	}
	return b
}

// schedulesPerLook is how many schedules are looked at before others get their turn: one may take a millisecond.
const schedulesPerLook = 16

// schedulesOf counts what waits in each delayed exchange of a virtual host, by name, those in which nothing does among
// them, and in all.
func (r *request) schedulesOf(name string) (api.Schedules, error) {
	var names []string
	if err := r.look(name, func(v *vhost.VHost) { names = v.ScheduleNames() }); err != nil {
		return api.Schedules{}, err
	}
	views := make([]vhost.ScheduleView, 0, len(names))
	for some := range slices.Chunk(names, schedulesPerLook) {
		err := r.look(name, func(v *vhost.VHost) {
			for _, exchange := range some {
				view, _ := v.Schedule(exchange)
				views = append(views, view)
			}
		})
		if err != nil {
			return api.Schedules{}, err
		}
	}
	ahead := r.server.ahead(name)
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
func getSchedules(r *request) (answer, error) {
	if c, asked, err := r.countOfQuery(); err != nil {
		return answer{}, err
	} else if asked {
		var hosts []string
		for _, h := range r.visible() {
			if !r.down(h.Name) {
				hosts = append(hosts, h.Name)
			}
		}
		return r.countDue(c, hosts, nil)
	}
	if err := knownOnly(r.URL.Query(), pagedParameters); err != nil {
		return answer{}, err
	}
	var all []api.Schedule
	for _, h := range r.visible() {
		if r.down(h.Name) {
			continue
		}
		some, err := r.schedulesOf(h.Name)
		if err != nil {
			return answer{}, err
		}
		all = append(all, some.Exchanges...)
	}
	return list(r, all, func(s *api.Schedule) string { return s.Exchange })
}

// getVHostSchedules counts what waits in the delayed exchanges of one virtual host.
func getVHostSchedules(r *request) (answer, error) {
	if _, err := r.vhost(r.names[0]); err != nil {
		return answer{}, err
	}
	if c, asked, err := r.countOfQuery(); err != nil {
		return answer{}, err
	} else if asked {
		return r.countDue(c, r.names[:1], nil)
	}
	if err := knownOnly(r.URL.Query(), []string{"columns"}); err != nil {
		return answer{}, err
	}
	shown, err := r.schedulesOf(r.names[0])
	if err != nil {
		return answer{}, err
	}
	return ok(shown)
}

// purgeSchedule ends all that waits in a delayed exchange.
func purgeSchedule(r *request) (answer, error) {
	room, err := r.enterSchedule(access.Write)
	if err != nil {
		return answer{}, err
	}
	if strings.HasSuffix(r.URL.EscapedPath(), "/") { // an id that is empty, or a key ".." that the client took for a step, must not either
		return answer{}, badRequest("the path ends in '/': give a message id, or omit the '/' to purge all messages")
	}
	for name := range r.URL.Query() { // one that is meant as a filter must not empty the schedule
		return answer{}, badRequest("unknown parameter '%s': DELETE purges all messages; use POST …/cancel to cancel some", name)
	}
	effects, err := r.do(room.vhost, vhost.Command{Kind: vhost.PurgeSchedule, Definition: &vhost.Definition{Name: room.exchange}})
	if err != nil {
		return answer{}, err
	}
	return ok(api.Purged{Purged: countOf(effects)})
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

// scheduledIn counts what waits in an exchange or, if it is nil, in all of a virtual host.
func (r *request) scheduledIn(name string, exchange *string) (messages int, err error) {
	err = r.look(name, func(v *vhost.VHost) {
		if exchange != nil {
			_, messages, _ = v.ScheduleNamed(*exchange)
			return
		}
		for _, exchange := range v.ScheduleNames() {
			_, n, _ := v.ScheduleNamed(exchange)
			messages += n
		}
	})
	return messages, err
}

// nothingBut is the answer to a deletion that leaves scheduled messages behind, or takes them along.
func nothingBut(scheduled int) (answer, error) {
	a := answer{status: http.StatusNoContent}
	if scheduled > 0 {
		a.header = http.Header{api.ScheduledHeader: {strconv.Itoa(scheduled)}}
	}
	return a, nil
}

// notDelayed refuses what needs a delayed exchange.
func notDelayed(name string) error {
	return &api.Error{Status: http.StatusNotFound, Kind: "not_found",
		Reason: fmt.Sprintf("the exchange '%s' is not of type x-delayed-message and has no scheduled messages", name)}
}
