package deadletter

import (
	"github.com/bartleby-mq/bartleby/internal/accounts"
	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/management/stats"
	"github.com/bartleby-mq/bartleby/internal/management/web"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

func (s *API) deathEndpoints() []web.Endpoint {
	return []web.Endpoint{
		{
			Pattern: "GET x/queues/{vhost}/{queue}/deaths", Tag: authz.Management, Serve: s.getDeaths, Scope: web.Leader,
			Summary: "Deaths in a queue by reason and dead letters received, over range=1m, 10m, 1h, 8h or 24h",
			Out:     api.Deaths{},
		},
	}
}

// deathsAsked reads the virtual host and the range of a request about deaths.
func deathsAsked(r *web.Request) (h *accounts.VHost, of stats.DeathRange, err error) {
	if h, err = r.VHost(r.PathValue("vhost")); err == nil {
		of, err = stats.DeathRangeOf(r.URL.Query())
	}
	return h, of, err
}

// getDeaths counts the messages that died in a queue, and the dead letters that it received.
func (s *API) getDeaths(r *web.Request) (web.Answer, error) {
	h, of, err := deathsAsked(r)
	if err != nil {
		return web.Answer{}, err
	}
	var q vhost.QueueView
	var found bool
	err = r.Look(h.Name, func(v vhost.Reader) { q, found = v.Queue(r.PathValue("queue")) })
	switch {
	case err != nil:
		return web.Answer{}, err
	case !found:
		return web.Answer{}, web.ErrNotFound
	}
	now := stats.FiguresOf(&q.Stats)
	d, _ := s.sampler.Deaths(h, &q.ID, of, &now)
	return web.OK(d)
}
