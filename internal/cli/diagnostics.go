package cli

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/api"
)

// healthy asks for a health check and says so when it has passed; silent, it leaves all to the exit code.
func (c *call) healthy(text string, segments ...string) error {
	return c.healthyAt(text, append([]string{"health", "checks"}, segments...)...)
}

func (c *call) healthyAt(text string, path ...string) error {
	err := c.client.Get(c.ctx, nil, path...)
	switch {
	case status(err) == http.StatusServiceUnavailable && c.words.on("silent"):
		return &failure{code: exitUnavailable}
	case err != nil:
		return err
	}
	return c.done(text, nil)
}

func checkRunning(c *call) error {
	if c.command.name == "is_running" {
		c.banner("Asking node %s for its status ...", c.node)
	} else {
		c.banner("Checking if RabbitMQ is running on node %s ...", c.node)
	}
	return c.healthy("RabbitMQ on node "+c.node+" is fully booted and running", "is-in-service")
}

func checkVirtualHosts(c *call) error {
	c.banner("Checking if all vhosts are running on node %s ...", c.node)
	return c.healthy("Node "+c.node+" reported all vhosts as running", "virtual-hosts")
}

// checkStorage fails if damage has stopped a virtual host since the broker started, even if it runs again.
func checkStorage(c *call) error {
	c.banner("Checking if damaged data stopped a vhost of node %s ...", c.node)
	return c.healthyAt("Node "+c.node+" reported no vhosts stopped by damaged data", "x", "health", "checks", "storage")
}

func checkPortListener(c *call) error {
	port, err := strconv.ParseUint(c.args[0], 10, 16)
	if err != nil {
		return c.invalid(fmt.Sprintf("'%s' is not a port", c.args[0]))
	}
	c.banner("Asking node %s if there's an active listener on port %d ...", c.node, port)
	err = c.healthy(fmt.Sprintf("A listener for port %d is running on node %s.", port, c.node), "port-listener", c.args[0])
	return c.noListener(err, "port "+c.args[0], func(l api.Listener) string { return strconv.Itoa(l.Port) }, "that use the following ports")
}

// noListener tells which listeners there are, if that is what a check has found missing, to those who may know.
func (c *call) noListener(err error, wanted string, name func(api.Listener) string, which string) error {
	if status(err) != http.StatusServiceUnavailable {
		return err
	}
	o, failed := c.overview()
	if failed != nil || len(o.Listeners) == 0 {
		return err
	}
	var found []string
	for _, l := range o.Listeners {
		found = append(found, name(l))
	}
	slices.Sort(found)
	return &failure{exitUnavailable, fmt.Sprintf("No listener for %s is active on node %s. Found listeners %s: %s",
		wanted, c.node, which, strings.Join(slices.Compact(found), ", "))}
}

func checkProtocolListener(c *call) error {
	c.banner("Asking node %s if there's an active listener for protocol %s ...", c.node, c.args[0])
	err := c.healthy(fmt.Sprintf("A listener for protocol %s is running on node %s.", c.args[0], c.node), "protocol-listener", c.args[0])
	return c.noListener(err, "protocol "+c.args[0], func(l api.Listener) string { return l.Protocol }, "for the following protocols")
}

// checkPortConnectivity opens a connection to each listener and closes it again.
func checkPortConnectivity(c *call) error {
	c.banner("Testing TCP connections to all active listeners on node %s ...", c.node)
	o, err := c.overview()
	if err != nil {
		return err
	}
	var ports, failed []string
	for _, l := range o.Listeners {
		port := strconv.Itoa(l.Port)
		conn, err := new(net.Dialer).DialContext(c.ctx, "tcp", net.JoinHostPort(c.addressOf(l), port))
		if err != nil {
			failed = append(failed, fmt.Sprintf("%s: %v", port, err))
			continue
		}
		ports = append(ports, port)
		if err := conn.Close(); err != nil {
			failed = append(failed, fmt.Sprintf("%s: %v", port, err))
		}
	}
	if failed != nil {
		return failf(exitUnavailable, "Connection to ports of the following listeners on node %s failed:\n%s", c.node, strings.Join(failed, "\n"))
	}
	return c.done(fmt.Sprintf("Successfully connected to ports %s on node %s.", strings.Join(ports, ", "), c.node), nil)
}

// addressOf is where a listener can be reached from here: where it listens, if that is one address of this machine,
// else the host whose management API has answered.
func (c *call) addressOf(l api.Listener) string {
	if given, ok := c.words.get("address"); ok {
		return given
	}
	if ip := net.ParseIP(l.IPAddress); ip != nil && ip.IsLoopback() {
		return l.IPAddress
	}
	u, err := url.Parse(c.client.Base)
	if err != nil {
		return l.IPAddress
	}
	return u.Hostname()
}

func listListeners(c *call) error {
	o, err := c.overview()
	if err != nil {
		return err
	}
	c.banner("Asking node %s to report its protocol listeners ...", c.node)
	if strings.HasPrefix(c.formatter(), "json") {
		list, err := json.Marshal(api.List[portRow](portRows(o)))
		if err != nil {
			return err
		}
		fmt.Fprintf(c.stdout, "%s\n", object([]field{{"result", textCell("ok")}, {"node", textCell(c.node)}, {"listeners", list}}))
		return nil
	}
	for _, line := range listenerLines(o) {
		fmt.Fprintln(c.stdout, line)
	}
	return nil
}

func portRows(o api.Overview) []portRow {
	var rows []portRow
	for _, l := range o.Listeners {
		host := l.IPAddress
		if strings.Contains(host, ":") {
			host = "[" + host + "]"
		}
		rows = append(rows, portRow{l.Node, host, l.Port, l.Protocol, purposeOf(l.Protocol)})
	}
	return rows
}

func listenerLines(o api.Overview) []string {
	var lines []string
	for _, p := range portRows(o) {
		lines = append(lines, fmt.Sprintf("Interface: %s, port: %d, protocol: %s, purpose: %s", p.Interface, p.Port, p.Protocol, p.Purpose))
	}
	return lines
}

func purposeOf(protocol string) string {
	switch protocol {
	case "amqp":
		return "AMQP 0-9-1"
	case "amqp/ssl":
		return "AMQP 0-9-1 over TLS"
	case "http":
		return "HTTP API"
	case "https":
		return "HTTP API over TLS (HTTPS)"
	case "http/prometheus":
		return "Prometheus exporter API over HTTP"
	case "https/prometheus":
		return "Prometheus exporter API over TLS (HTTPS)"
	case "clustering":
		return "inter-node and CLI tool communication"
	}
	return "?"
}
