package management

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/engine"
	"github.com/bartleby-mq/bartleby/internal/management/web"
)

func (s *Server) healthEndpoints() []web.Endpoint {
	return []web.Endpoint{
		{
			Pattern: "GET x/health/checks/storage", Tag: authz.Management, Serve: checkStorage,
			Summary: "503 if damaged data stopped a virtual host", Out: api.Health{},
		},
		{
			Pattern: "GET health/checks/alarms", Tag: authz.Management, Serve: checkAlarms, Scope: web.AllNodes,
			Summary: "503 while there is an alarm", Out: api.Health{},
		},
		{
			Pattern: "GET health/checks/local-alarms", Tag: authz.Management, Serve: checkAlarms,
			Summary: "503 while there is an alarm on this node", Out: api.Health{},
		},
		{
			Pattern: "GET health/checks/port-listener/{port}", Tag: authz.Management, Serve: s.checkPort,
			Summary: "503 unless the broker listens on the port", Out: api.PortHealth{},
		},
		{
			Pattern: "GET health/checks/protocol-listener/{protocols}", Tag: authz.Management, Serve: s.checkProtocols,
			Summary: "503 unless the broker listens for the protocols, a comma-separated list", Out: api.ProtocolHealth{},
		},
		{
			Pattern: "GET health/checks/virtual-hosts", Tag: authz.Management, Serve: checkVHosts, Scope: web.AllNodes,
			Summary: "503 while a virtual host is down", Out: api.Health{},
		},
		{
			Pattern: "GET health/checks/node-is-quorum-critical", Tag: authz.Management, Serve: checkQuorumCritical, Scope: web.AllNodes,
			Summary: "503 if queues would lose their quorum with this node", Out: api.Health{},
		},
		{
			Pattern: "GET health/checks/is-in-service", Tag: authz.Anybody, Serve: s.checkServing,
			Summary: "200 while the broker is running", Out: api.Health{},
		},
		{
			Pattern: "GET health/checks/ready-to-serve-clients", Tag: authz.Anybody, Serve: s.checkServing,
			Summary: "200 while the broker accepts clients", Out: api.Health{},
		},
		{
			Pattern: "GET health/checks/below-node-connection-limit", Tag: authz.Anybody, Serve: s.checkConnections,
			Summary: "200 while the connection limit is not reached", Out: api.Health{},
		},
		{
			Pattern: "GET health/checks/reached-target-cluster-size", Tag: authz.Anybody, Serve: checkClusterSize, Scope: web.AllNodes,
			Summary: "200 once the cluster is complete", Out: api.Health{},
		},
		{
			Pattern: "GET health/checks/metadata-store/initialized", Tag: authz.Management, Serve: checkHealthy,
			Summary: "200 once definitions can be read", Out: api.Health{},
		},
		{
			Pattern: "GET health/checks/metadata-store/initialized/with-data", Tag: authz.Management, Serve: checkHealthy,
			Summary: "200 once definitions were read", Out: api.Health{},
		},
		{
			Pattern: "GET aliveness-test/{vhost}", Tag: authz.Management, Serve: checkAlive, Scope: web.Leader,
			Summary: "200 if the virtual host is usable", Out: api.Health{},
		},
	}
}

const (
	passed = "ok"
	failed = "failed"
)

func unhealthy(body any) (web.Answer, error) {
	return web.Answer{Status: http.StatusServiceUnavailable, Body: body}, nil
}

// checkHealthy passes: it is answered, and there is nothing else that could fail it.
func checkHealthy(*web.Request) (web.Answer, error) { return web.OK(api.Health{Status: passed}) }

// checkServing fails while clients are not let in. Source: RabbitMQ health checks, ready-to-serve-clients.
func (s *Server) checkServing(r *web.Request) (web.Answer, error) {
	if s.suspended() {
		return unhealthy(api.Health{Status: failed, Reason: "the AMQP listeners are suspended"})
	}
	return web.OK(api.Health{Status: passed})
}

// checkConnections fails while no further client would be let in. Source: RabbitMQ health checks,
// below-node-connection-limit.
func (s *Server) checkConnections(r *web.Request) (web.Answer, error) {
	most := s.options.ConnectionsMax
	if n := len(s.options.Roster.Connections()); most > 0 && n >= most {
		return unhealthy(api.Health{Status: failed, Reason: fmt.Sprintf("node connection limit is reached: %d of %d", n, most)})
	}
	return web.OK(api.Health{Status: passed})
}

// checkAlarms fails while publishers are held back. Source: RabbitMQ alarms.
func checkAlarms(r *web.Request) (web.Answer, error) {
	if alarms := raised(r.Engine.Alarms(), r.Node); alarms != nil {
		return unhealthy(api.Health{Status: failed, Reason: "There are alarms in effect in the cluster", Alarms: alarms})
	}
	return web.OK(api.Health{Status: passed})
}

func (s *Server) checkPort(r *web.Request) (web.Answer, error) {
	port, err := strconv.ParseUint(r.PathValue("port"), 10, 16)
	if err != nil {
		return web.Answer{}, web.BadRequest("'%s' is not a port", r.PathValue("port"))
	}
	var ports []int
	for _, l := range s.options.Listeners() {
		if l.Port == int(port) {
			return web.OK(api.PortHealth{Status: passed, Port: l.Port})
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

func (s *Server) checkProtocols(r *web.Request) (web.Answer, error) {
	var active, wanted, missing []string
	for _, l := range s.options.Listeners() {
		if !slices.Contains(active, l.Protocol) {
			active = append(active, l.Protocol)
		}
	}
	for name := range strings.SplitSeq(r.PathValue("protocols"), ",") {
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
	return web.OK(api.ProtocolHealth{Status: passed, Protocols: wanted})
}

func checkVHosts(r *web.Request) (web.Answer, error) {
	var stopped []string
	for _, h := range r.View.VHosts() {
		if r.IsDown(h.Name) {
			stopped = append(stopped, h.Name)
		}
	}
	if stopped != nil {
		return unhealthy(api.Health{Status: failed, Reason: "Some virtual hosts are down", VirtualHosts: stopped})
	}
	return web.OK(api.Health{Status: passed})
}

// checkStorage fails if a virtual host is down and not just being opened, or has stopped for damage since the broker
// started, even if it is up again: it stops whenever what is damaged is wanted. Source: ours.
func checkStorage(r *web.Request) (web.Answer, error) {
	var hurt []string
	var reason string
	for _, h := range r.View.VHosts() {
		err := r.Engine.Stops(h.Name).Last
		if down := r.Engine.Down(h.Name); err == nil && down != nil && !r.Engine.BeingOpened(h.Name) {
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
		return web.OK(api.Health{Status: passed})
	}
	return unhealthy(api.Health{
		Status: failed, Reason: fmt.Sprintf("Some virtual hosts were stopped by damaged data or are down, such as %s; %s", reason, engine.Remedy), VirtualHosts: hurt,
	})
}

// checkQuorumCritical passes: a single node has no quorum that its end could break. Source: RabbitMQ health checks.
func checkQuorumCritical(*web.Request) (web.Answer, error) {
	return web.OK(api.Health{Status: passed, Reason: "single node cluster"})
}

func checkClusterSize(*web.Request) (web.Answer, error) {
	return web.OK(api.Health{Status: passed, Online: 1, Target: 1})
}

// checkAlive passes for a virtual host that can be entered. Source: RabbitMQ management API, aliveness-test.
func checkAlive(r *web.Request) (web.Answer, error) {
	if err := r.Enter(r.PathValue("vhost")); err != nil {
		return web.Answer{}, err
	}
	if _, err := r.Do(r.PathValue("vhost")); err != nil {
		return web.Answer{}, err
	}
	return web.OK(api.Health{Status: passed})
}
