package management

import (
	"net/http"
	"slices"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/management/web"
)

func (s *Server) listenerEndpoints() []web.Endpoint {
	return []web.Endpoint{
		{
			Pattern: "GET x/listeners", Tag: authz.Monitoring, Serve: s.getListenerState,
			Summary: "Whether the AMQP listeners are suspended", Out: api.ListenerState{},
		},
		{
			Pattern: "PUT x/listeners", Tag: authz.Administrator, Serve: s.putListenerState,
			Summary: "Suspends or resumes the AMQP listeners until the broker restarts; connections stay open",
			In:      api.ListenerState{},
		},
		{
			Pattern: "GET x/ports", Tag: authz.Management, Serve: s.getClientPorts,
			Summary: "The ports of AMQP, without their addresses", Out: api.List[api.ClientPort]{},
		},
	}
}

// getClientPorts shows where clients connect. Every user of the management API may know it, but not the other
// listeners.
func (s *Server) getClientPorts(r *web.Request) (web.Answer, error) {
	var all api.List[api.ClientPort]
	for _, l := range s.options.Listeners() {
		port := api.ClientPort{Protocol: l.Protocol, Port: l.Port}
		if (l.Protocol == "amqp" || l.Protocol == "amqp/ssl") && !slices.Contains(all, port) {
			all = append(all, port)
		}
	}
	return web.OK(all)
}

// suspended reports whether the ports of AMQP are shut for a while.
func (s *Server) suspended() bool { return s.options.Suspended != nil && s.options.Suspended() }

func (s *Server) getListenerState(r *web.Request) (web.Answer, error) {
	return web.OK(api.ListenerState{Suspended: api.Flag(s.suspended())})
}

// putListenerState shuts the ports of AMQP, or opens them again, until the broker stops. Connections stay.
// Source: RabbitMQ rabbitmqctl suspend_listeners, resume_listeners.
func (s *Server) putListenerState(r *web.Request) (web.Answer, error) {
	var body struct {
		Suspended *api.Flag `json:"suspended"`
	}
	if err := r.ReadKnown(&body); err != nil {
		return web.Answer{}, err
	}
	if err := web.NeedKeys(web.Needed("suspended", body.Suspended != nil)); err != nil {
		return web.Answer{}, err
	}
	on := bool(*body.Suspended)
	if s.options.Suspend == nil {
		return web.Answer{}, &api.Error{Status: http.StatusNotFound, Kind: "not_found", Reason: "this broker does not manage its listeners"}
	}
	r.Unchanged = on == s.suspended()
	if err := s.options.Suspend(on); err != nil {
		return web.Answer{}, err
	}
	r.Log.Warn("AMQP listeners", "suspended", on, "by", r.Caller.Name())
	return web.NoContent()
}
