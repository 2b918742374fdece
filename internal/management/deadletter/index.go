package deadletter

import (
	"errors"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/management/web"
	"github.com/bartleby-mq/bartleby/internal/search"
)

func (s *API) indexEndpoints() []web.Endpoint {
	return []web.Endpoint{
		{
			Pattern: "GET x/index", Tag: authz.Monitoring, Serve: s.getIndex,
			Summary: "State of the dead-letter index", Out: api.Index{},
		},
		{
			Pattern: "POST x/index/{vhost}/rebuild", Tag: authz.Administrator, Serve: s.rebuildIndex, Scope: web.Leader,
			Summary: "Rebuilds the dead-letter index of a virtual host",
		},
	}
}

// getIndex shows the state of the index of dead letters.
func (s *API) getIndex(r *web.Request) (web.Answer, error) {
	now := s.index.Stats()
	return web.OK(api.Index{
		Enabled: now.Enabled, Messages: now.Messages, Behind: now.Behind, Bytes: now.Bytes, LagMS: now.Lag.Milliseconds(), Indexed: now.Indexed,
	})
}

// rebuildIndex rebuilds the index of a virtual host. Until it is complete, searches read all messages.
func (s *API) rebuildIndex(r *web.Request) (web.Answer, error) {
	if err := r.Enter(r.PathValue("vhost")); err != nil {
		return web.Answer{}, err
	}
	err := s.index.Rebuild(r.PathValue("vhost"))
	if errors.Is(err, search.ErrOff) {
		return web.Answer{}, web.BadRequest("dead letters are not indexed: index.enabled is false, or the broker runs in memory")
	}
	if err != nil {
		return web.Answer{}, err
	}
	return web.NoContent()
}
