package management

import (
	"strconv"
	"time"

	"github.com/bartleby-mq/bartleby/internal/access"
	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/regex"
)

// checkNode is the check of old that looked at everything: alarms, and virtual hosts. Another node's is not known here.
// Source: RabbitMQ management API, healthchecks/node.
func checkNode(r *request) (answer, error) {
	if len(r.names) > 0 && r.names[0] != r.server.options.Node {
		return answer{}, errNotFound
	}
	if a, err := checkAlarms(r); err != nil || a.status != 200 {
		return a, err
	}
	return checkVHosts(r)
}

// checkCertificates fails if the certificate of a listener expires within so many days, weeks, months or years.
// Source: RabbitMQ health checks, certificate-expiration.
func checkCertificates(r *request) (answer, error) {
	within, err := strconv.Atoi(r.names[0])
	if err != nil || within < 0 || within > withinMax {
		return answer{}, badRequest("'%s' must be an integer from 0 to %d", r.names[0], withinMax)
	}
	now := time.Now().UTC()
	var until time.Time
	switch r.names[1] {
	case "days":
		until = now.AddDate(0, 0, within)
	case "weeks":
		until = now.AddDate(0, 0, 7*within)
	case "months":
		until = now.AddDate(0, within, 0)
	case "years":
		until = now.AddDate(within, 0, 0)
	default:
		return answer{}, badRequest("Time unit not recognised: '%s' is none of days, weeks, months, years", r.names[1])
	}
	var expired []api.ExpiringCertificate
	for _, l := range r.server.options.Listeners() {
		if !l.CertificateExpires.IsZero() && l.CertificateExpires.Before(until) {
			expired = append(expired, api.ExpiringCertificate{
				Node: r.server.options.Node, Protocol: l.Protocol, Interface: address(l.Address), Port: l.Port,
				CertFile: l.Certificate, CertFileExpiresOn: l.CertificateExpires.UTC().Format(time.DateTime),
			})
		}
	}
	if expired != nil {
		return unhealthy(api.Health{Status: failed, Reason: "Certificates expiring", Expired: expired})
	}
	return ok(api.Health{Status: passed})
}

// checkLeaders fails for the quorum queues of virtual hosts that are down: those of this node lead themselves. A
// pattern must be valid; it narrows nothing, since the names of their queues are not known. Source: RabbitMQ health checks, quorum-queues-without-elected-leaders.
func checkLeaders(r *request, hosts []*access.VHost, pattern string) (answer, error) {
	if len(pattern) > patternBytesMax {
		return answer{}, badRequest("the pattern must not exceed %d bytes", patternBytesMax)
	}
	if err := regex.Check(pattern, patternSizeMax); err != nil {
		return answer{}, badRequest("the pattern is not a regular expression: %v", err)
	}
	var lost []api.QueueAtRisk
	for _, h := range hosts {
		if r.down(h.Name) {
			lost = append(lost, api.QueueAtRisk{ReadableName: "the queues of vhost '" + h.Name + "', which is down", VirtualHost: h.Name, Type: "quorum"})
		}
	}
	if lost != nil {
		return unhealthy(api.Health{Status: failed, Reason: "Some quorum queues are without a leader", Queues: lost})
	}
	return ok(api.Health{Status: passed})
}

func checkAllLeaders(r *request) (answer, error) {
	pattern := ""
	if len(r.names) > 0 {
		pattern = r.names[0]
	}
	return checkLeaders(r, r.visible(), pattern)
}

func checkVHostLeaders(r *request) (answer, error) {
	h, err := r.vhost(r.names[0])
	if err != nil {
		return answer{}, err
	}
	pattern := ""
	if len(r.names) > 1 {
		pattern = r.names[1]
	}
	return checkLeaders(r, []*access.VHost{h}, pattern)
}
