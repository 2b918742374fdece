package node

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/cli/command"
	"github.com/bartleby-mq/bartleby/internal/cli/output"
)

// healthy asks for a health check and says so when it has passed; silent, it leaves all to the exit code.
func healthy(c *command.Call, text string, segments ...string) error {
	return healthyAt(c, text, append([]string{"health", "checks"}, segments...)...)
}

func healthyAt(c *command.Call, text string, path ...string) error {
	err := c.Client.Get(c.Ctx, nil, path...)
	switch {
	case command.Status(err) == http.StatusServiceUnavailable && c.Options.On("silent"):
		return &command.Failure{Code: command.ExitUnavailable}
	case err != nil:
		return err
	}
	return c.Done(text, nil)
}

func checkRunning(c *command.Call) error {
	if c.Command.Name == "is_running" {
		c.Banner("Asking node %s for its status ...", c.Node)
	} else {
		c.Banner("Checking if RabbitMQ is running on node %s ...", c.Node)
	}
	return healthy(c, "RabbitMQ on node "+c.Node+" is fully booted and running", "is-in-service")
}

func checkVirtualHosts(c *command.Call) error {
	c.Banner("Checking if all vhosts are running on node %s ...", c.Node)
	return healthy(c, "Node "+c.Node+" reported all vhosts as running", "virtual-hosts")
}

// checkStorage fails if damage has stopped a virtual host since the broker started, even if it runs again.
func checkStorage(c *command.Call) error {
	c.Banner("Checking if damaged data stopped a vhost of node %s ...", c.Node)
	return healthyAt(c, "Node "+c.Node+" reported no vhosts stopped by damaged data", "x", "health", "checks", "storage")
}

func checkPortListener(c *command.Call) error {
	port, err := strconv.ParseUint(c.Args[0], 10, 16)
	if err != nil {
		return c.Invalid(fmt.Sprintf("'%s' is not a port", c.Args[0]))
	}
	c.Banner("Asking node %s if there's an active listener on port %d ...", c.Node, port)
	err = healthy(c, fmt.Sprintf("A listener for port %d is running on node %s.", port, c.Node), "port-listener", c.Args[0])
	return noListener(c, err, "port "+c.Args[0], func(l api.Listener) string { return strconv.Itoa(l.Port) }, "that use the following ports")
}

// noListener tells which listeners there are, if that is what a check has found missing, to those who may know.
func noListener(c *command.Call, err error, wanted string, name func(api.Listener) string, which string) error {
	if command.Status(err) != http.StatusServiceUnavailable {
		return err
	}
	o, failed := overview(c)
	if failed != nil || len(o.Listeners) == 0 {
		return err
	}
	var found []string
	for _, l := range o.Listeners {
		found = append(found, name(l))
	}
	slices.Sort(found)
	return &command.Failure{Code: command.ExitUnavailable, Text: fmt.Sprintf("No listener for %s is active on node %s. Found listeners %s: %s",
		wanted, c.Node, which, strings.Join(slices.Compact(found), ", "))}
}

func checkProtocolListener(c *command.Call) error {
	c.Banner("Asking node %s if there's an active listener for protocol %s ...", c.Node, c.Args[0])
	err := healthy(c, fmt.Sprintf("A listener for protocol %s is running on node %s.", c.Args[0], c.Node), "protocol-listener", c.Args[0])
	return noListener(c, err, "protocol "+c.Args[0], func(l api.Listener) string { return l.Protocol }, "for the following protocols")
}

// checkPortConnectivity opens a connection to each listener and closes it again.
func checkPortConnectivity(c *command.Call) error {
	c.Banner("Testing TCP connections to all active listeners on node %s ...", c.Node)
	o, err := overview(c)
	if err != nil {
		return err
	}
	var ports, failed []string
	for _, l := range o.Listeners {
		port := strconv.Itoa(l.Port)
		conn, err := new(net.Dialer).DialContext(c.Ctx, "tcp", net.JoinHostPort(addressOf(c, l), port))
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
		return command.Failf(command.ExitUnavailable, "Connection to ports of the following listeners on node %s failed:\n%s", c.Node, strings.Join(failed, "\n"))
	}
	return c.Done(fmt.Sprintf("Successfully connected to ports %s on node %s.", strings.Join(ports, ", "), c.Node), nil)
}

// addressOf is where a listener can be reached from here: where it listens, if that is one address of this machine,
// else the host whose management API has answered.
func addressOf(c *command.Call, l api.Listener) string {
	if given, ok := c.Options.Get("address"); ok {
		return given
	}
	if ip := net.ParseIP(l.IPAddress); ip != nil && ip.IsLoopback() {
		return l.IPAddress
	}
	u, err := url.Parse(c.Client.Base)
	if err != nil {
		return l.IPAddress
	}
	return u.Hostname()
}

// isBooting prints whether the broker does not serve yet.
func isBooting(c *command.Call) error {
	c.Banner("Asking node %s for its boot status ...", c.Node)
	err := c.Client.Get(c.Ctx, nil, "health", "checks", "ready-to-serve-clients")
	switch {
	case command.Status(err) == http.StatusServiceUnavailable:
		return c.Done("RabbitMQ on node "+c.Node+" is booting", output.Cell("true"))
	case err != nil:
		return err
	}
	return c.Done("RabbitMQ on node "+c.Node+" is fully booted (check with is_running), stopped or has not started booting yet", output.Cell("false"))
}

func checkCertificates(c *command.Call) error {
	within, unit := c.Options.Or("within", "4"), c.Options.Or("unit", "weeks")
	if !slices.Contains([]string{"days", "weeks", "months", "years"}, unit) {
		return c.Invalid(fmt.Sprintf("unit '%s' not recognised; should be one of: days, weeks, months, years", unit))
	}
	c.Banner("Checking certificate expiration on node %s ...", c.Node)
	err := healthy(c, "No certificates are expiring within "+within+" "+unit+".", "certificate-expiration", within, unit)
	var refused *api.Error
	if !errors.As(err, &refused) || refused.Status != http.StatusServiceUnavailable {
		return err
	}
	var health api.Health
	if json.Unmarshal([]byte(refused.Body), &health) != nil || len(health.Expired) == 0 {
		return err
	}
	if strings.HasPrefix(c.Formatter(), "json") {
		return errors.Join(c.ShowJSON(health), &command.Failure{Code: command.ExitUnavailable})
	}
	lines := []string{fmt.Sprintf("Certificates that expire within %s %s on node %s:", within, unit, c.Node)}
	for _, x := range health.Expired {
		lines = append(lines, fmt.Sprintf(" * %s on %s, port %d: %s expires on %s", x.Protocol, x.Interface, x.Port, x.CertFile, x.CertFileExpiresOn))
	}
	return &command.Failure{Code: command.ExitUnavailable, Text: strings.Join(lines, "\n")}
}

func checkQuorumCritical(c *command.Call) error {
	c.Banner("Checking if node %s is critical for quorum of any quorum queues ...", c.Node)
	return healthy(c, "Node "+c.Node+" seems to be the only one in a single node cluster, the check does not apply", "node-is-quorum-critical")
}

func nodeHealth(c *command.Call) error {
	c.Banner("Testing node %s ...", c.Node)
	return healthy(c, "Health check passed", "is-in-service")
}
