package node

import (
	"crypto/tls"
	"fmt"
	"net"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/cli/command"
	"github.com/bartleby-mq/bartleby/internal/cli/output"
)

func runtimeVersion(c *command.Call) error {
	o, err := overview(c)
	if err != nil {
		return err
	}
	c.Banner("Asking node %s for its Erlang/OTP version...", c.Node)
	return c.Done(o.ErlangVersion, nil)
}

// variables are those of the environment that the commands obey.
var variables = []string{
	"BARTLEBY_MANAGEMENT", "BARTLEBY_DATA", "BARTLEBY_USER", "BARTLEBY_PASSWORD", "BARTLEBY_CACERT",
	"RABBITMQ_NODENAME", "RABBITMQ_CLI_ALIASES_FILE", "NO_COLOR",
}

func osEnv(c *command.Call) error {
	c.Banner("Listing RabbitMQ-specific environment variables ...")
	var rows [][]output.Cell
	for _, name := range variables {
		value := c.Env(name)
		if value == "" {
			continue
		}
		if strings.Contains(name, "PASSWORD") {
			value = "[redacted]"
		}
		rows = append(rows, []output.Cell{output.StringCell(name), output.StringCell(value)})
	}
	return c.Table([]string{"name", "value"}, rows)
}

func metadataStore(c *command.Call) error {
	o, err := overview(c)
	if err != nil {
		return err
	}
	c.Banner("Status of metadata store on node %s ...", c.Node)
	return c.Table([]string{"Node Name", "Raft State", "Membership"}, [][]output.Cell{{output.StringCell(o.Node), output.StringCell("leader"), output.StringCell("voter")}})
}

func discoverPeers(c *command.Call) error {
	o, err := overview(c)
	if err != nil {
		return err
	}
	c.Banner("Discovering peers nodes ...")
	return c.Table([]string{"node"}, [][]output.Cell{{output.StringCell(o.Node)}})
}

// listNames shows names, one a line.
func listNames(c *command.Call, names []string) error {
	if strings.HasPrefix(c.Formatter(), "json") {
		return c.ShowJSON(names)
	}
	for _, name := range names {
		fmt.Fprintln(c.Stdout, name)
	}
	return nil
}

func cipherSuites(c *command.Call) error {
	suites := tls.CipherSuites()
	if c.Options.On("all") {
		suites = append(suites, tls.InsecureCipherSuites()...)
	}
	var names []string
	for _, s := range suites {
		names = append(names, s.Name)
	}
	c.Banner("Listing available cipher suites ...")
	return listNames(c, names)
}

func tlsVersions(c *command.Call) error {
	c.Banner("Listing all TLS versions supported by the runtime...")
	return listNames(c, []string{"tlsv1.3", "tlsv1.2"})
}

func listHashes(c *command.Call) error {
	c.Banner("Listing supported hash algorithms ...")
	return listNames(c, []string{"sha256", "sha512"})
}

func resolveHostname(c *command.Call) error {
	network := "ip"
	switch family := c.Options.Or("address-family", ""); strings.ToLower(family) {
	case "":
	case "ipv4":
		network = "ip4"
	case "ipv6":
		network = "ip6"
	default:
		return c.Invalid(fmt.Sprintf("address family '%s' not recognised; should be one of: IPv4, IPv6", family))
	}
	c.Banner("Resolving hostname %s ...", c.Args[0])
	found, err := net.DefaultResolver.LookupIP(c.Ctx, network, c.Args[0])
	if err != nil {
		return command.Failf(command.ExitUnavailable, "Failed to resolve hostname %s: %v", c.Args[0], err)
	}
	for _, ip := range found {
		fmt.Fprintln(c.Stdout, ip)
	}
	return nil
}
