package perf

import (
	"fmt"
	"net"
	"net/url"
	"strings"
)

// target is where the broker listens and who asks.
type target struct {
	address        string // host and port
	user, password string
	vhost          string
}

// parseTarget reads an AMQP URL, amqp://user:password@host:port/vhost. What it leaves out is guest, guest, localhost,
// 5672 and "/". Source: RabbitMQ URI specification, where an empty path leaves the vhost open.
func parseTarget(raw string) (target, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return target{}, err
	}
	if u.Scheme != "amqp" {
		return target{}, fmt.Errorf("%q: only amqp:// is supported, without TLS", raw)
	}
	to := target{user: "guest", password: "guest", vhost: "/"}
	host, port := u.Hostname(), u.Port()
	if host == "" {
		host = "localhost"
	}
	if port == "" {
		port = "5672"
	}
	to.address = net.JoinHostPort(host, port)
	if u.User != nil {
		to.user = u.User.Username()
		to.password, _ = u.User.Password()
	}
	if path := strings.TrimPrefix(u.EscapedPath(), "/"); path != "" {
		if to.vhost, err = url.PathUnescape(path); err != nil {
			return target{}, err
		}
	}
	return to, nil
}
