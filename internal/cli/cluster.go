package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/api"
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

func clusterStatus(c *call) error {
	o, n, err := c.thisNode()
	if err != nil {
		return err
	}
	var flags []api.FeatureFlag
	if err := c.client.Get(c.ctx, &flags, "feature-flags"); err != nil {
		return err
	}
	c.banner("Cluster status of node %s ...", c.node)
	if strings.HasPrefix(c.formatter(), "json") {
		return c.clusterJSON(o, n, flags)
	}
	c.section("Basics", "Cluster name: "+o.ClusterName, fmt.Sprintf("Total CPU cores available cluster-wide: %d", n.Processors))
	c.section("Disk Nodes", o.Node)
	c.section("Running Nodes", o.Node)
	c.section("Versions", fmt.Sprintf("%s: %s %s, RabbitMQ %s on %s", o.Node, o.ProductName, o.ProductVersion, o.RabbitMQVersion, o.ErlangVersion))
	c.section("CPU Cores", fmt.Sprintf("Node: %s, available CPU cores: %d", o.Node, n.Processors))
	c.section("Maintenance status", fmt.Sprintf("Node: %s, status: %s", o.Node, maintenance(n)))
	c.section("Alarms", none(alarmsOf(n), "")...)
	c.section("Network Partitions", "(none)")
	var lines []string
	for _, p := range portRows(o) {
		lines = append(lines, fmt.Sprintf("Node: %s, interface: %s, port: %d, protocol: %s, purpose: %s", o.Node, p.Interface, p.Port, p.Protocol, p.Purpose))
	}
	c.section("Listeners", none(lines, "")...)
	lines = nil
	for _, f := range flags {
		lines = append(lines, fmt.Sprintf("Flag: %s, state: %s", f.Name, f.State))
	}
	c.section("Feature flags", none(lines, "")...)
	return nil
}

func (c *call) clusterJSON(o api.Overview, n api.Node, flags []api.FeatureFlag) error {
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
	return c.showJSON(shape)
}

func maintenance(n api.Node) string {
	if n.BeingDrained {
		return "under maintenance"
	}
	return "not under maintenance"
}

// section shows lines under a title.
func (c *call) section(title string, lines ...string) {
	fmt.Fprintf(c.stdout, "%s\n\n%s\n\n", title, strings.Join(lines, "\n"))
}

func (c *call) showJSON(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	fmt.Fprintf(c.stdout, "%s\n", b)
	return nil
}

// environment shows the configuration in force: lines of 'key = value  # source', as a file of configuration has them.
func environment(c *call) error {
	c.banner("Application environment of node %s ...", c.node)
	var text bytes.Buffer
	_, err := c.client.Copy(c.ctx, &text, "config", "effective")
	if status(err) == http.StatusNotFound {
		return failf(exitUnavailable, "this broker does not provide its configuration")
	}
	if err != nil {
		return err
	}
	if !c.machine() {
		fmt.Fprintln(c.stdout, strings.TrimSuffix(text.String(), "\n"))
		return nil
	}
	var rows [][]cell
	for line := range strings.Lines(text.String()) {
		key, value, ok := strings.Cut(line, "=")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		source := ""
		if at := strings.LastIndex(value, " # "); at >= 0 {
			value, source = value[:at], value[at+3:]
		}
		rows = append(rows, []cell{textCell(strings.TrimSpace(key)), textCell(strings.TrimSpace(value)), textCell(strings.TrimSpace(source))})
	}
	return c.table([]string{"key", "value", "source"}, rows)
}

// report shows what a question to others should come with: no passwords, no payloads.
func report(c *call) error {
	if c.machine() {
		return c.invalid("report supports text output only.")
	}
	c.banner("Reporting server status of node %s ...", c.node)
	var vhosts []api.VHost
	if err := c.client.Get(c.ctx, &vhosts, "vhosts"); err != nil {
		return err
	}
	parts := []func(*call) error{
		nodeStatus, clusterStatus, environment, storage, clock, listFeatureFlags, listUsers, listVHosts, listConnections, listChannels,
	}
	each := []func(*call) error{
		listQueues, listExchanges, listBindings, listConsumers, listPermissions, listPolicies, listVHostLimits, listVHostOptions, listParameters,
		countScheduled,
	}
	for _, part := range parts {
		if err := c.reportPart(part); err != nil {
			return err
		}
	}
	for _, h := range vhosts {
		c.words.options["vhost"] = h.Name
		for _, part := range each {
			if err := c.reportPart(part); err != nil {
				return err
			}
		}
	}
	return nil
}

// reportPart shows a part of a report. What the broker refuses to tell is said in its place.
func (c *call) reportPart(part func(*call) error) error {
	err := part(c)
	if status(err) != 0 {
		fmt.Fprintln(c.stdout, "not told: "+reasonOf(err))
	} else if err != nil && c.ctx.Err() != nil {
		return err
	} else if err != nil {
		fmt.Fprintln(c.stdout, "not told: "+err.Error())
	}
	fmt.Fprintln(c.stdout)
	return nil
}

func flagColumns(*call) []column { return same("name state stability provided_by desc doc_url") }

func listFeatureFlags(c *call) error {
	columns, err := c.choose(flagColumns(c), "name state")
	if err != nil {
		return err
	}
	c.banner("Listing feature flags ...")
	return c.list(columns, "feature-flags")
}

// enableFeatureFlag succeeds for flags that there are: all are enabled.
func enableFeatureFlag(c *call) error {
	name := c.args[0]
	if name == "all" {
		c.banner("Enabling all feature flags ...")
	} else {
		c.banner("Enabling feature flag \"%s\" ...", name)
	}
	var flags []api.FeatureFlag
	if err := c.client.Get(c.ctx, &flags, "feature-flags"); err != nil {
		return err
	}
	if name != "all" && !slices.ContainsFunc(flags, func(f api.FeatureFlag) bool { return f.Name == name }) {
		return failf(exitUsage, "Feature flag \"%s\" is not supported by this node", name)
	}
	return c.done("", nil)
}

func listDeprecated(c *call) error {
	path := []string{"deprecated-features"}
	if c.words.on("used") {
		path = append(path, "used")
	}
	c.banner("Listing deprecated features ...")
	return c.list(same("name deprecation_phase provided_by desc doc_url")[:2], path...)
}

func setClusterName(c *call) error {
	c.banner("Setting cluster name to %s ...", c.args[0])
	if _, err := c.client.Put(c.ctx, api.ClusterName{Name: c.args[0]}, "cluster-name"); err != nil {
		return err
	}
	return c.done("", nil)
}

// setLogLevel sets what is logged, by RabbitMQ's names.
func setLogLevel(c *call) error {
	level := c.args[0]
	if levels := []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency", "none"}; !slices.Contains(levels, level) {
		return failf(exitData, "unknown log level '%s'; known are %s", level, strings.Join(levels, ", "))
	}
	c.banner("Setting log level to \"%s\" ...", level)
	_, err := c.client.Put(c.ctx, map[string]string{"level": level}, "x", "log-level")
	if s := status(err); s == http.StatusNotFound || s == http.StatusMethodNotAllowed {
		return failf(exitUnavailable, "this broker sets its log level at startup only: use log.console.level in its configuration")
	}
	if err != nil {
		return refusedValue(err)
	}
	return c.done("", nil)
}

// rotateLogs begins another file of the log. Source: RabbitMQ rabbitmqctl rotate_logs.
func rotateLogs(c *call) error {
	c.banner("Rotating logs for node %s ...", c.node)
	err := c.client.Post(c.ctx, nil, nil, "x", "rotate-logs")
	if s := status(err); s == http.StatusNotFound || s == http.StatusMethodNotAllowed {
		return c.done("Nothing to do: this broker does not write its log to a file.", nil)
	}
	if err != nil {
		return err
	}
	return c.done("", nil)
}

func quorumStatus(c *call) error {
	c.banner("Status of quorum queue %s on node %s ...", c.args[0], c.node)
	var q api.Queue
	err := c.client.Get(c.ctx, &q, "queues", c.vhost(), c.args[0])
	switch {
	case status(err) == http.StatusNotFound:
		return c.noQueue(c.args[0], "Object (queue, stream, exchange, etc) '%s' was not found in virtual host '%s'", exitData)
	case err != nil:
		return err
	case q.Type != "quorum":
		return failf(exitUsage, "Operation is not supported for queue type %s: the queue is not a quorum queue", q.Type)
	}
	return c.table([]string{"Node Name", "Raft State", "Membership"}, [][]cell{{textCell(q.Node), textCell("leader"), textCell("voter")}})
}

// inUnit shows bytes in a unit, gb if none is named. Source: RabbitMQ rabbitmqctl status --unit.
func (c *call) inUnit(n int64) (string, error) {
	unit := strings.ToLower(c.words.or("unit", "gb"))
	sizes := map[string]float64{"bytes": 1, "b": 1, "kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12}
	size, ok := sizes[unit]
	if !ok {
		return "", c.invalid(fmt.Sprintf("unit '%s' not recognised; should be one of: bytes, kb, mb, gb, tb", unit))
	}
	if size == 1 {
		return strconv.FormatInt(n, 10) + " bytes", nil
	}
	return fmt.Sprintf("%.4f %s", float64(n)/size, unit), nil
}
