package management

import (
	"strconv"
	"time"

	"github.com/bartleby-mq/bartleby/internal/accounts"
	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/management/web"
	"github.com/bartleby-mq/bartleby/internal/regex"
)

func (s *Server) healthUpkeepEndpoints() []web.Endpoint {
	return []web.Endpoint{
		{
			Pattern: "GET health/checks/certificate-expiration/{within}/{unit}", Tag: authz.Management, Serve: s.checkCertificates,
			Summary: "503 if a certificate expires within the given days, weeks, months or years", Out: api.Health{},
		},
		{
			Pattern: "GET health/checks/quorum-queues-without-elected-leaders/all-vhosts", Tag: authz.Management, Serve: checkAllLeaders, Scope: web.AllNodes,
			Summary: "503 if quorum queues have no leader", Out: api.Health{},
		},
		{
			Pattern: "GET health/checks/quorum-queues-without-elected-leaders/all-vhosts/pattern/{pattern}", Tag: authz.Management, Serve: checkAllLeaders, Scope: web.AllNodes,
			Summary: "503 if matching quorum queues have no leader", Out: api.Health{},
		},
		{
			Pattern: "GET health/checks/quorum-queues-without-elected-leaders/vhost/{vhost}", Tag: authz.Management, Serve: checkVHostLeaders, Scope: web.Leader,
			Summary: "503 if quorum queues of a virtual host have no leader", Out: api.Health{},
		},
		{
			Pattern: "GET health/checks/quorum-queues-without-elected-leaders/vhost/{vhost}/pattern/{pattern}", Tag: authz.Management, Serve: checkVHostLeaders, Scope: web.Leader,
			Summary: "503 if matching quorum queues have no leader", Out: api.Health{},
		},
		{
			Pattern: "GET healthchecks/node", Tag: authz.Management, Serve: checkNode,
			Summary: "Alarms and virtual hosts in one check", Out: api.Health{},
		},
		{
			Pattern: "GET healthchecks/node/{node}", Tag: authz.Management, Serve: checkNode,
			Summary: "Alarms and virtual hosts of a node in one check", Out: api.Health{},
		},
	}
}

// checkNode is the check of old that looked at everything: alarms, and virtual hosts. Another node's is not known here.
// Source: RabbitMQ management API, healthchecks/node.
func checkNode(r *web.Request) (web.Answer, error) {
	if r.Has("node") && r.PathValue("node") != r.Node {
		return web.Answer{}, web.ErrNotFound
	}
	if a, err := checkAlarms(r); err != nil || a.Status != 200 {
		return a, err
	}
	return checkVHosts(r)
}

// checkCertificates fails if the certificate of a listener expires within so many days, weeks, months or years.
// Source: RabbitMQ health checks, certificate-expiration.
func (s *Server) checkCertificates(r *web.Request) (web.Answer, error) {
	within, err := strconv.Atoi(r.PathValue("within"))
	if err != nil || within < 0 || within > withinMax {
		return web.Answer{}, web.BadRequest("'%s' must be an integer from 0 to %d", r.PathValue("within"), withinMax)
	}
	now := time.Now().UTC()
	var until time.Time
	switch r.PathValue("unit") {
	case "days":
		until = now.AddDate(0, 0, within)
	case "weeks":
		until = now.AddDate(0, 0, 7*within)
	case "months":
		until = now.AddDate(0, within, 0)
	case "years":
		until = now.AddDate(within, 0, 0)
	default:
		return web.Answer{}, web.BadRequest("Time unit not recognised: '%s' is none of days, weeks, months, years", r.PathValue("unit"))
	}
	var expired []api.ExpiringCertificate
	for _, l := range s.options.Listeners() {
		if !l.CertificateExpires.IsZero() && l.CertificateExpires.Before(until) {
			expired = append(expired, api.ExpiringCertificate{
				Node: r.Node, Protocol: l.Protocol, Interface: address(l.Address), Port: l.Port,
				CertFile: l.Certificate, CertFileExpiresOn: l.CertificateExpires.UTC().Format(time.DateTime),
			})
		}
	}
	if expired != nil {
		return unhealthy(api.Health{Status: failed, Reason: "Certificates expiring", Expired: expired})
	}
	return web.OK(api.Health{Status: passed})
}

// checkLeaders fails for the quorum queues of virtual hosts that are down: those of this node lead themselves. A
// pattern must be valid; it narrows nothing, since the names of their queues are not known. Source: RabbitMQ health
// checks, quorum-queues-without-elected-leaders.
func checkLeaders(r *web.Request, hosts []*accounts.VHost, pattern string) (web.Answer, error) {
	if len(pattern) > web.PatternBytesMax {
		return web.Answer{}, web.BadRequest("the pattern must not exceed %d bytes", web.PatternBytesMax)
	}
	if err := regex.Check(pattern, web.PatternSizeMax); err != nil {
		return web.Answer{}, web.BadRequest("the pattern is not a regular expression: %v", err)
	}
	var lost []api.QueueAtRisk
	for _, h := range hosts {
		if r.IsDown(h.Name) {
			lost = append(lost, api.QueueAtRisk{ReadableName: "the queues of vhost '" + h.Name + "', which is down", VirtualHost: h.Name, Type: "quorum"})
		}
	}
	if lost != nil {
		return unhealthy(api.Health{Status: failed, Reason: "Some quorum queues are without a leader", Queues: lost})
	}
	return web.OK(api.Health{Status: passed})
}

func checkAllLeaders(r *web.Request) (web.Answer, error) {
	return checkLeaders(r, r.VisibleVHosts(), r.PathValue("pattern"))
}

func checkVHostLeaders(r *web.Request) (web.Answer, error) {
	h, err := r.VHost(r.PathValue("vhost"))
	if err != nil {
		return web.Answer{}, err
	}
	return checkLeaders(r, []*accounts.VHost{h}, r.PathValue("pattern"))
}
