package management

import (
	"net/http"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/engine"
)

// startVHost tells whether a virtual host is up: one that has stopped is opened again by itself, if it can be.
// Source: RabbitMQ management API, vhosts/start.
func startVHost(r *request) (answer, error) {
	h, err := r.vhost(r.names[0])
	if err != nil {
		return answer{}, err
	}
	if r.names[1] != r.server.options.Node {
		return answer{}, errNotFound
	}
	if err := r.server.engine.Down(h.Name); err != nil {
		return answer{}, &api.Error{Status: http.StatusInternalServerError, Kind: "internal_server_error",
			Reason: "vhost '" + h.Name + "' cannot be started: " + err.Error() + "; " + engine.Remedy}
	}
	return nothing()
}

// resetStatistics forgets what rates and samples are computed from. Source: RabbitMQ management API, reset.
func resetStatistics(r *request) (answer, error) {
	if len(r.names) > 0 && r.names[0] != r.server.options.Node {
		return answer{}, errNotFound
	}
	r.server.sampler.reset()
	return nothing()
}

// getEffective shows the configuration in force. Source: RabbitMQ management API, config/effective.
func getEffective(r *request) (answer, error) {
	if r.server.options.Effective == nil {
		return answer{}, &api.Error{Status: http.StatusNotFound, Kind: "not_found", Reason: "the configuration of this broker is not available over HTTP"}
	}
	return answer{status: http.StatusOK, text: []byte(r.server.options.Effective()), header: http.Header{"Content-Type": {textType}}}, nil
}

const textType = "text/plain; charset=utf-8"

// enableFeature finds a feature flag enabled, as all are. Source: RabbitMQ feature-flags.
func enableFeature(r *request) (answer, error) {
	for _, f := range featureFlags {
		if f.Name == r.names[0] {
			return nothing()
		}
	}
	return answer{}, badRequest("feature flag '%s' is not supported", r.names[0])
}

// getUserQueues lists the queues that belong to connections of a user: those that are exclusive.
func getUserQueues(r *request) (answer, error) {
	if _, found := r.view.User(r.names[0]); !found {
		return answer{}, errNotFound
	}
	owners := map[string]bool{}
	for _, c := range r.server.options.Roster.Connections() {
		owners[c.Name] = owners[c.Name] || c.User == r.names[0]
	}
	if err := r.gather(); err != nil {
		return answer{}, err
	}
	var all []queueRow
	for _, h := range r.view.VHosts() {
		err := r.eachRows(h, viewsMax, func(rows []queueRow) error {
			for _, q := range rows {
				if owners[q.view.Owner] {
					all = append(all, q)
				}
			}
			return nil
		})
		if err != nil {
			return answer{}, err
		}
	}
	r.showQueueDefinition()
	return listShown(r, all, func(q *queueRow) string { return q.view.Name }, r.renderQueues(nil).show)
}
