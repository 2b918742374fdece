package management

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/engine"
)

const (
	passed = "ok"
	failed = "failed"
)

func unhealthy(body any) (answer, error) {
	return answer{status: http.StatusServiceUnavailable, body: body}, nil
}

// checkHealthy passes: it is answered, and there is nothing else that could fail it.
func checkHealthy(*request) (answer, error) { return ok(api.Health{Status: passed}) }

// checkServing fails while clients are not let in. Source: RabbitMQ health checks, ready-to-serve-clients.
func checkServing(r *request) (answer, error) {
	if r.server.suspended() {
		return unhealthy(api.Health{Status: failed, Reason: "the AMQP listeners are suspended"})
	}
	return ok(api.Health{Status: passed})
}

// checkConnections fails while no further client would be let in. Source: RabbitMQ health checks,
// below-node-connection-limit.
func checkConnections(r *request) (answer, error) {
	most := r.server.options.ConnectionsMax
	if n := len(r.server.options.Roster.Connections()); most > 0 && n >= most {
		return unhealthy(api.Health{Status: failed, Reason: fmt.Sprintf("node connection limit is reached: %d of %d", n, most)})
	}
	return ok(api.Health{Status: passed})
}

// checkAlarms fails while publishers are held back. Source: RabbitMQ alarms.
func checkAlarms(r *request) (answer, error) {
	if alarms := raised(r.server.engine.Alarms(), r.server.options.Node); alarms != nil {
		return unhealthy(api.Health{Status: failed, Reason: "There are alarms in effect in the cluster", Alarms: alarms})
	}
	return ok(api.Health{Status: passed})
}

func checkPort(r *request) (answer, error) {
	port, err := strconv.ParseUint(r.names[0], 10, 16)
	if err != nil {
		return answer{}, badRequest("'%s' is not a port", r.names[0])
	}
	var ports []int
	for _, l := range r.server.options.Listeners() {
		if l.Port == int(port) {
			return ok(api.PortHealth{Status: passed, Port: l.Port})
		}
		ports = append(ports, l.Port)
	}
	return unhealthy(api.PortHealth{
		Status: failed, Reason: fmt.Sprintf("No active listener on port %d", port), Missing: int(port), Ports: ports,
	})
}

// listenerProtocol is the listener's name for a protocol that has several. Source: RabbitMQ cli, protocol aliases.
func listenerProtocol(name string) string {
	switch name = strings.ToLower(strings.TrimSpace(name)); name {
	case "amqp091", "amqp0-9-1", "amqp-0-9-1", "amqp10", "amqp1.0", "amqp1-0":
		return "amqp"
	case "amqps", "amqp-ssl":
		return "amqp/ssl"
	case "management", "ui", "http_api":
		return "http"
	case "cli", "distribution":
		return "clustering"
	case "prometheus":
		return "http/prometheus"
	}
	return name
}

func checkProtocols(r *request) (answer, error) {
	var active, wanted, missing []string
	for _, l := range r.server.options.Listeners() {
		if !slices.Contains(active, l.Protocol) {
			active = append(active, l.Protocol)
		}
	}
	for name := range strings.SplitSeq(r.names[0], ",") {
		wanted = append(wanted, name)
		if !slices.Contains(active, listenerProtocol(name)) {
			missing = append(missing, name)
		}
	}
	if missing != nil {
		return unhealthy(api.ProtocolHealth{
			Status: failed, Reason: "No active listener for protocol " + strings.Join(missing, ", "), Missing: missing, Protocols: active,
		})
	}
	return ok(api.ProtocolHealth{Status: passed, Protocols: wanted})
}

func checkVHosts(r *request) (answer, error) {
	var stopped []string
	for _, h := range r.view.VHosts() {
		if r.down(h.Name) {
			stopped = append(stopped, h.Name)
		}
	}
	if stopped != nil {
		return unhealthy(api.Health{Status: failed, Reason: "Some virtual hosts are down", VirtualHosts: stopped})
	}
	return ok(api.Health{Status: passed})
}

// checkStorage fails if a virtual host is down, or has stopped for damage since the broker started, even if it is up again: it
// stops whenever what is damaged is wanted. Source: ours.
func checkStorage(r *request) (answer, error) {
	var hurt []string
	var reason string
	for _, h := range r.view.VHosts() {
		err := r.server.engine.Stops(h.Name).Last
		if down := r.server.engine.Down(h.Name); err == nil && down != nil {
			err = down
		}
		if err == nil {
			continue
		}
		hurt = append(hurt, h.Name)
		if reason == "" {
			reason = fmt.Sprintf("'%s': %v", h.Name, err)
		}
	}
	if hurt == nil {
		return ok(api.Health{Status: passed})
	}
	return unhealthy(api.Health{
		Status: failed, Reason: fmt.Sprintf("Some virtual hosts were stopped by damaged data or are down, such as %s; %s", reason, engine.Remedy), VirtualHosts: hurt,
	})
}

// checkQuorumCritical passes: a single node has no quorum that its end could break. Source: RabbitMQ health checks.
func checkQuorumCritical(*request) (answer, error) {
	return ok(api.Health{Status: passed, Reason: "single node cluster"})
}

func checkClusterSize(*request) (answer, error) {
	return ok(api.Health{Status: passed, Online: 1, Target: 1})
}

// checkAlive passes for a virtual host that can be entered. Source: RabbitMQ management API, aliveness-test.
func checkAlive(r *request) (answer, error) {
	if err := r.enter(r.names[0]); err != nil {
		return answer{}, err
	}
	if _, err := r.do(r.names[0]); err != nil {
		return answer{}, err
	}
	return ok(api.Health{Status: passed})
}
