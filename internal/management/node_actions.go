package management

import (
	"net/http"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/engine"
	"github.com/bartleby-mq/bartleby/internal/management/web"
)

func (s *Server) nodeActionEndpoints() []web.Endpoint {
	return []web.Endpoint{
		{
			Pattern: "GET config/effective", Tag: authz.Administrator, Serve: s.getEffective, Media: "text/plain",
			Summary: "The effective configuration, as text",
		},
		{Pattern: "DELETE reset", Tag: authz.Administrator, Serve: s.resetStatistics, Summary: "Resets the statistics database"},
		{
			Pattern: "DELETE reset/{node}", Tag: authz.Administrator, Serve: s.resetStatistics,
			Summary: "Resets the statistics database of a node",
		},
		{
			Pattern: "PUT feature-flags/{flag}/enable", Tag: authz.Administrator, Serve: enableFeature,
			Summary: "Enables a feature flag; has no effect",
		},
		{
			Pattern: "POST vhosts/{vhost}/start/{node}", Tag: authz.Administrator, Serve: startVHost,
			Audit: web.AuditAccounts, Scope: web.Leader,
			Summary: "204 if the virtual host is up",
		},
	}
}

// startVHost tells whether a virtual host is up: one that has stopped is opened again by itself, if it can be.
// Source: RabbitMQ management API, vhosts/start.
func startVHost(r *web.Request) (web.Answer, error) {
	h, err := r.VHost(r.PathValue("vhost"))
	if err != nil {
		return web.Answer{}, err
	}
	if r.PathValue("node") != r.Node {
		return web.Answer{}, web.ErrNotFound
	}
	if err := r.Engine.Down(h.Name); err != nil {
		if r.Engine.BeingOpened(h.Name) {
			return web.Answer{}, err
		}
		return web.Answer{}, &api.Error{Status: http.StatusInternalServerError, Kind: "internal_server_error",
			Reason: "vhost '" + h.Name + "' cannot be started: " + err.Error() + "; " + engine.Remedy}
	}
	return web.NoContent()
}

// resetStatistics forgets what rates and samples are computed from. Source: RabbitMQ management API, reset.
func (s *Server) resetStatistics(r *web.Request) (web.Answer, error) {
	if r.Has("node") && r.PathValue("node") != r.Node {
		return web.Answer{}, web.ErrNotFound
	}
	s.sampler.Reset()
	return web.NoContent()
}

// getEffective shows the configuration in force. Source: RabbitMQ management API, config/effective.
func (s *Server) getEffective(r *web.Request) (web.Answer, error) {
	if s.options.Effective == nil {
		return web.Answer{}, &api.Error{Status: http.StatusNotFound, Kind: "not_found", Reason: "the configuration of this broker is not available over HTTP"}
	}
	return web.Answer{Status: http.StatusOK, Text: []byte(s.options.Effective()), Header: http.Header{"Content-Type": {textType}}}, nil
}

const textType = "text/plain; charset=utf-8"

// enableFeature finds a feature flag enabled, as all are. Source: RabbitMQ feature-flags.
func enableFeature(r *web.Request) (web.Answer, error) {
	for _, f := range featureFlags {
		if f.Name == r.PathValue("flag") {
			return web.NoContent()
		}
	}
	return web.Answer{}, web.BadRequest("feature flag '%s' is not supported", r.PathValue("flag"))
}
