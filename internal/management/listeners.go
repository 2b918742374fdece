package management

import (
	"net/http"

	"github.com/bartleby-mq/bartleby/internal/api"
)

// suspended reports whether the ports of AMQP are shut for a while.
func (s *Server) suspended() bool { return s.options.Suspended != nil && s.options.Suspended() }

func getListenerState(r *request) (answer, error) {
	return ok(api.ListenerState{Suspended: api.Flag(r.server.suspended())})
}

// putListenerState shuts the ports of AMQP, or opens them again, until the broker stops. Connections stay.
// Source: RabbitMQ rabbitmqctl suspend_listeners, resume_listeners.
func putListenerState(r *request) (answer, error) {
	var body struct {
		Suspended *api.Flag `json:"suspended"`
	}
	if err := r.readKnown(&body); err != nil {
		return answer{}, err
	}
	if err := needKeys(key{"suspended", body.Suspended != nil}); err != nil {
		return answer{}, err
	}
	on := bool(*body.Suspended)
	if r.server.options.Suspend == nil {
		return answer{}, &api.Error{Status: http.StatusNotFound, Kind: "not_found", Reason: "this broker does not manage its listeners"}
	}
	r.idle = on == r.server.suspended()
	if err := r.server.options.Suspend(on); err != nil {
		return answer{}, err
	}
	r.server.options.Log.Warn("AMQP listeners", "suspended", on, "by", r.caller.Name())
	return nothing()
}
