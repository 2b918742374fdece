package cli

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/api"
)

// isBooting prints whether the broker does not serve yet.
func isBooting(c *call) error {
	c.banner("Asking node %s for its boot status ...", c.node)
	err := c.client.Get(c.ctx, nil, "health", "checks", "ready-to-serve-clients")
	switch {
	case status(err) == http.StatusServiceUnavailable:
		return c.done("RabbitMQ on node "+c.node+" is booting", cell("true"))
	case err != nil:
		return err
	}
	return c.done("RabbitMQ on node "+c.node+" is fully booted (check with is_running), stopped or has not started booting yet", cell("false"))
}

func checkCertificates(c *call) error {
	within, unit := c.words.or("within", "4"), c.words.or("unit", "weeks")
	if !slices.Contains([]string{"days", "weeks", "months", "years"}, unit) {
		return c.invalid(fmt.Sprintf("unit '%s' not recognised; should be one of: days, weeks, months, years", unit))
	}
	c.banner("Checking certificate expiration on node %s ...", c.node)
	err := c.healthy("No certificates are expiring within "+within+" "+unit+".", "certificate-expiration", within, unit)
	var refused *api.Error
	if !errors.As(err, &refused) || refused.Status != http.StatusServiceUnavailable {
		return err
	}
	var health api.Health
	if json.Unmarshal([]byte(refused.Body), &health) != nil || len(health.Expired) == 0 {
		return err
	}
	if strings.HasPrefix(c.formatter(), "json") {
		return errors.Join(c.showJSON(health), &failure{code: exitUnavailable})
	}
	lines := []string{fmt.Sprintf("Certificates that expire within %s %s on node %s:", within, unit, c.node)}
	for _, x := range health.Expired {
		lines = append(lines, fmt.Sprintf(" * %s on %s, port %d: %s expires on %s", x.Protocol, x.Interface, x.Port, x.CertFile, x.CertFileExpiresOn))
	}
	return &failure{exitUnavailable, strings.Join(lines, "\n")}
}

func checkQuorumCritical(c *call) error {
	c.banner("Checking if node %s is critical for quorum of any quorum queues ...", c.node)
	return c.healthy("Node "+c.node+" seems to be the only one in a single node cluster, the check does not apply", "node-is-quorum-critical")
}

func runtimeVersion(c *call) error {
	o, err := c.overview()
	if err != nil {
		return err
	}
	c.banner("Asking node %s for its Erlang/OTP version...", c.node)
	return c.done(o.ErlangVersion, nil)
}

// variables are those of the environment that the commands obey.
var variables = []string{
	"BARTLEBY_MANAGEMENT", "BARTLEBY_DATA", "BARTLEBY_USER", "BARTLEBY_PASSWORD", "BARTLEBY_CACERT",
	"RABBITMQ_NODENAME", "RABBITMQ_CLI_ALIASES_FILE", "NO_COLOR",
}

func osEnv(c *call) error {
	c.banner("Listing RabbitMQ-specific environment variables ...")
	var rows [][]cell
	for _, name := range variables {
		value := c.env(name)
		if value == "" {
			continue
		}
		if strings.Contains(name, "PASSWORD") {
			value = "[redacted]"
		}
		rows = append(rows, []cell{textCell(name), textCell(value)})
	}
	return c.table([]string{"name", "value"}, rows)
}

func logLocation(c *call) error {
	_, n, err := c.thisNode()
	if err != nil {
		return err
	}
	c.banner("Log file location(s) on node %s ...", c.node)
	if len(n.LogFiles) == 0 {
		return c.done("<stderr>", nil)
	}
	return c.done(strings.Join(n.LogFiles, "\n"), nil)
}

func metadataStore(c *call) error {
	o, err := c.overview()
	if err != nil {
		return err
	}
	c.banner("Status of metadata store on node %s ...", c.node)
	return c.table([]string{"Node Name", "Raft State", "Membership"}, [][]cell{{textCell(o.Node), textCell("leader"), textCell("voter")}})
}

func discoverPeers(c *call) error {
	o, err := c.overview()
	if err != nil {
		return err
	}
	c.banner("Discovering peers nodes ...")
	return c.table([]string{"node"}, [][]cell{{textCell(o.Node)}})
}

// listNames shows names, one a line.
func (c *call) listNames(names []string) error {
	if strings.HasPrefix(c.formatter(), "json") {
		return c.showJSON(names)
	}
	for _, name := range names {
		fmt.Fprintln(c.stdout, name)
	}
	return nil
}

func cipherSuites(c *call) error {
	suites := tls.CipherSuites()
	if c.words.on("all") {
		suites = append(suites, tls.InsecureCipherSuites()...)
	}
	var names []string
	for _, s := range suites {
		names = append(names, s.Name)
	}
	c.banner("Listing available cipher suites ...")
	return c.listNames(names)
}

func tlsVersions(c *call) error {
	c.banner("Listing all TLS versions supported by the runtime...")
	return c.listNames([]string{"tlsv1.3", "tlsv1.2"})
}

func listHashes(c *call) error {
	c.banner("Listing supported hash algorithms ...")
	return c.listNames([]string{"sha256", "sha512"})
}

func resolveHostname(c *call) error {
	network := "ip"
	switch family := c.words.or("address-family", ""); strings.ToLower(family) {
	case "":
	case "ipv4":
		network = "ip4"
	case "ipv6":
		network = "ip6"
	default:
		return c.invalid(fmt.Sprintf("address family '%s' not recognised; should be one of: IPv4, IPv6", family))
	}
	c.banner("Resolving hostname %s ...", c.args[0])
	found, err := net.DefaultResolver.LookupIP(c.ctx, network, c.args[0])
	if err != nil {
		return failf(exitUnavailable, "Failed to resolve hostname %s: %v", c.args[0], err)
	}
	for _, ip := range found {
		fmt.Fprintln(c.stdout, ip)
	}
	return nil
}

// setPlugins succeeds for what is built in. Source: RabbitMQ rabbitmq-plugins(8).
func setPlugins(c *call) error {
	if err := c.unknownPlugins(); err != nil {
		return err
	}
	c.banner("Enabling plugins on node %s:\n%s", c.node, strings.Join(c.args, "\n"))
	return c.done("Plugin configuration unchanged: these are built in, and stay enabled with the others.", nil)
}

func pluginDirectories(c *call) error {
	c.banner("Listing plugin directories used by node %s", c.node)
	return c.done("Plugin archives directory: none, plugins are built in", nil)
}
