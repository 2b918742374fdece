package deadletter

import (
	"context"
	"math"

	"github.com/bartleby-mq/bartleby/internal/accounts"
	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/management/stats"
	"github.com/bartleby-mq/bartleby/internal/management/web"
	"github.com/bartleby-mq/bartleby/internal/vhost"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

func (s *API) summaryEndpoints() []web.Endpoint {
	return []web.Endpoint{
		{
			Pattern: "GET x/letters", Tag: authz.Management, Serve: s.getSummaries, Slow: true, Scope: web.AllNodes,
			Summary: "Summary of dead letters by virtual host, and deaths in range=1m, 10m, 1h, 8h or 24h",
			Out:     api.List[api.DeadLettersSummary]{},
		},
		{
			Pattern: "GET x/letters/{vhost}/summary", Tag: authz.Management, Serve: s.getSummary, Slow: true, Scope: web.Leader,
			Summary: "Summary of dead letters of a virtual host, and deaths in a range", Out: api.DeadLettersSummary{},
		},
	}
}

// getSummaries summarizes the dead letters of each virtual host.
func (s *API) getSummaries(r *web.Request) (web.Answer, error) {
	of, err := stats.DeathRangeOf(r.URL.Query())
	if err != nil {
		return web.Answer{}, err
	}
	var all []api.DeadLettersSummary
	for _, h := range r.VisibleVHosts() {
		if r.IsDown(h.Name) {
			continue
		}
		sum, err := summaryOf(r.Context(), s.reader, h, of)
		if err != nil {
			return web.Answer{}, err
		}
		all = append(all, sum)
	}
	return web.List(r, all, func(s *api.DeadLettersSummary) string { return s.VHost })
}

func (s *API) getSummary(r *web.Request) (web.Answer, error) {
	h, of, err := deathsAsked(r)
	if err != nil {
		return web.Answer{}, err
	}
	sum, err := summaryOf(r.Context(), s.reader, h, of)
	if err != nil {
		return web.Answer{}, err
	}
	return web.OK(sum)
}

// summaryOf reads a virtual host as metrics do.
func summaryOf(ctx context.Context, s *stats.Reader, h *accounts.VHost,
	of stats.DeathRange) (api.DeadLettersSummary, error) {
	f := &stats.VHost{Name: h.Name, Types: stats.ByType{}}
	if err := s.Read(ctx, h, f, stats.Detail{Queues: true}, s.Clocks()[h.Name]); err != nil {
		return api.DeadLettersSummary{}, err
	}
	n := f.Types.Sum()
	sum := api.DeadLettersSummary{
		VHost: h.Name, CountedSince: web.FormatMS(s.Opened(h).UnixMilli()),
		Died: api.Object[uint64]{}, Arrived: n.DeadLetters,
		DeadLetters: f.DeadLetters.InQueues, Retrying: f.DeadLetters.Retrying,
		Waiting: f.DeadLetters.Messages, Bytes: f.DeadLetters.Bytes,
		Held: int64(f.Total.Held), Lost: showLostTotals(h.Name, &f.Lost, f.Books.Ended[fact.GoneEvicted]),
		Redriven: f.Traffic.Redrives.Moved, CameBack: f.Traffic.Redrives.CameBack, Refused: f.Traffic.Redrives.Refused,
		Discarded: f.Traffic.Redrives.Discarded, Jobs: f.Jobs,
	}
	for _, d := range stats.Deaths {
		sum.Died[d.Word] = d.Count(&n)
		for _, reason := range d.Reasons {
			sum.NoDLX += f.Traffic.Fates[reason][vhost.FateNoDLX]
		}
	}
	sum.Recent = s.RecentDeaths(h, of, stats.FiguresOfAll(&n, &f.Traffic), f.Rows)
	sum.OldestSec = secondsIf(f.DeadLetters.Oldest)
	for i := range f.Rows {
		if q := &f.Rows[i]; q.IsDLQ() || q.DeadLetters > q.Held {
			sum.Queues = append(sum.Queues, api.DeadLetterQueue{
				Name: q.Name, Role: q.Role.String(), DeadLetters: int64(q.DeadLetters),
				Messages: int64(stats.Depth(&q.QueueSample)), Bytes: stats.DepthBytes(&q.QueueSample),
				Consumers: q.Consumers, Arrivals: q.Stats.DeadLetters, OldestSec: secondsIf(q.Oldest),
			})
		}
	}
	return sum, nil
}

func secondsIf(age float64) *float64 {
	if age < 0 {
		return nil
	}
	seconds := math.Round(age*1e3) / 1e3 // the clock counts milliseconds
	return &seconds
}

func showLostTotals(name string, s *vhost.LostCounts, evicted uint64) api.LostTotals {
	shown := api.LostTotals{VHost: name, Messages: s.Messages, Bytes: s.Bytes, ByCause: api.Object[uint64]{}, Evicted: evicted}
	for _, c := range vhost.LossCauses() {
		if n := s.ByCause[c]; n > 0 {
			shown.ByCause[c.String()] = n
		}
	}
	return shown
}
