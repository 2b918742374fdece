package node

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/cli/command"
)

// A clusterShape is `cluster_status --formatter json`. Source: RabbitMQ rabbitmqctl cluster_status.
type clusterShape struct {
	Name         string                       `json:"cluster_name"`
	Tags         struct{}                     `json:"cluster_tags"`
	DiskNodes    api.List[string]             `json:"disk_nodes"`
	RAMNodes     api.List[string]             `json:"ram_nodes"`
	RunningNodes api.List[string]             `json:"running_nodes"`
	Versions     map[string]clusterVersion    `json:"versions"`
	Cores        map[string]int               `json:"cpu_cores"`
	Maintenance  map[string]string            `json:"maintenance_status"`
	Alarms       api.List[string]             `json:"alarms"`
	Partitions   struct{}                     `json:"partitions"`
	Listeners    map[string]api.List[portRow] `json:"listeners"`
	FeatureFlags api.List[map[string]string]  `json:"feature_flags"`
}

type clusterVersion struct {
	RabbitMQ string `json:"rabbitmq_version"`
	Name     string `json:"rabbitmq_name"`
	Erlang   string `json:"erlang_version"`
}

func clusterStatus(c *command.Call) error {
	o, n, err := thisNode(c)
	if err != nil {
		return err
	}
	var flags []api.FeatureFlag
	if err := c.Client.Get(c.Ctx, &flags, "feature-flags"); err != nil {
		return err
	}
	c.Banner("Cluster status of node %s ...", c.Node)
	if strings.HasPrefix(c.Formatter(), "json") {
		return clusterJSON(c, o, n, flags)
	}
	section(c, "Basics", "Cluster name: "+o.ClusterName, fmt.Sprintf("Total CPU cores available cluster-wide: %d", n.Processors))
	section(c, "Disk Nodes", o.Node)
	section(c, "Running Nodes", o.Node)
	section(c, "Versions", fmt.Sprintf("%s: %s %s, RabbitMQ %s on %s", o.Node, o.ProductName, o.ProductVersion, o.RabbitMQVersion, o.ErlangVersion))
	section(c, "CPU Cores", fmt.Sprintf("Node: %s, available CPU cores: %d", o.Node, n.Processors))
	section(c, "Maintenance status", fmt.Sprintf("Node: %s, status: %s", o.Node, maintenance(n)))
	section(c, "Alarms", none(alarmsOf(n), "")...)
	section(c, "Network Partitions", "(none)")
	var lines []string
	for _, p := range portRows(o) {
		lines = append(lines, fmt.Sprintf("Node: %s, interface: %s, port: %d, protocol: %s, purpose: %s", o.Node, p.Interface, p.Port, p.Protocol, p.Purpose))
	}
	section(c, "Listeners", none(lines, "")...)
	lines = nil
	for _, f := range flags {
		lines = append(lines, fmt.Sprintf("Flag: %s, state: %s", f.Name, f.State))
	}
	section(c, "Feature flags", none(lines, "")...)
	return nil
}

func clusterJSON(c *command.Call, o api.Overview, n api.Node, flags []api.FeatureFlag) error {
	shape := clusterShape{
		Name: o.ClusterName, DiskNodes: api.List[string]{o.Node}, RunningNodes: api.List[string]{o.Node},
		Versions:    map[string]clusterVersion{o.Node: {o.RabbitMQVersion, o.ProductName, o.ErlangVersion}},
		Cores:       map[string]int{o.Node: n.Processors},
		Maintenance: map[string]string{o.Node: maintenance(n)},
		Alarms:      alarmsOf(n), Listeners: map[string]api.List[portRow]{o.Node: portRows(o)},
	}
	for _, f := range flags {
		shape.FeatureFlags = append(shape.FeatureFlags, map[string]string{"name": f.Name, "state": f.State})
	}
	return c.ShowJSON(shape)
}

func maintenance(n api.Node) string {
	if n.BeingDrained {
		return "under maintenance"
	}
	return "not under maintenance"
}

// section shows lines under a title.
func section(c *command.Call, title string, lines ...string) {
	fmt.Fprintf(c.Stdout, "%s\n\n%s\n\n", title, strings.Join(lines, "\n"))
}

func setClusterName(c *command.Call) error {
	c.Banner("Setting cluster name to %s ...", c.Args[0])
	if _, err := c.Client.Put(c.Ctx, api.ClusterName{Name: c.Args[0]}, "cluster-name"); err != nil {
		return err
	}
	return c.Done("", nil)
}

// inUnit shows bytes in a unit, gb if none is named. Source: RabbitMQ rabbitmqctl status --unit.
func inUnit(c *command.Call, n int64) (string, error) {
	unit := strings.ToLower(c.Options.Or("unit", "gb"))
	sizes := map[string]float64{"bytes": 1, "b": 1, "kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12}
	size, ok := sizes[unit]
	if !ok {
		return "", c.Invalid(fmt.Sprintf("unit '%s' not recognised; should be one of: bytes, kb, mb, gb, tb", unit))
	}
	if size == 1 {
		return strconv.FormatInt(n, 10) + " bytes", nil
	}
	return fmt.Sprintf("%.4f %s", float64(n)/size, unit), nil
}
