package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/bartleby-mq/bartleby/internal/api"
)

// retryPause is how long await_startup and ping wait before they ask a broker again that is not up yet.
const retryPause = 200 * time.Millisecond

func version(c *call) error {
	fmt.Fprintln(c.stdout, api.RabbitMQVersion)
	return nil
}

// ping asks once, or until the timeout if one is given. Whatever the answer is, who answers is alive.
func ping(c *call) error {
	c.banner("Will ping %s. Timeout: %d ms.", c.node, c.timeout.Milliseconds())
	ask := func() error {
		err := c.client.Get(c.ctx, nil, "version")
		if status(err) != 0 {
			return nil
		}
		return err
	}
	var err error
	if _, patient := c.words.get("timeout"); patient {
		err = c.await(ask)
	} else {
		err = ask()
	}
	if err != nil {
		return err
	}
	return c.done("Ping succeeded", nil)
}

func awaitStartup(c *call) error {
	return c.await(func() error { return c.client.Get(c.ctx, nil, "health", "checks", "ready-to-serve-clients") })
}

// await asks again while nobody answers or the broker is not ready.
func (c *call) await(ask func() error) error {
	for {
		err := ask()
		if !unanswered(err) && status(err) != http.StatusServiceUnavailable {
			return err
		}
		select {
		case <-c.ctx.Done():
			return c.ctx.Err()
		case <-time.After(retryPause):
		}
	}
}

// overview also learns what the node is called.
func (c *call) overview() (api.Overview, error) {
	var o api.Overview
	err := c.client.Get(c.ctx, &o, "overview")
	if err == nil && o.Node != "" {
		c.node = o.Node
	}
	return o, err
}

func serverVersion(c *call) error {
	o, err := c.overview()
	if err != nil {
		return err
	}
	c.banner("Asking node %s for its RabbitMQ version...", c.node)
	return c.done(o.RabbitMQVersion, nil)
}

func nodeStatus(c *call) error {
	o, err := c.overview()
	if err != nil {
		return err
	}
	var n api.Node
	if err := c.client.Get(c.ctx, &n, "nodes", o.Node); err != nil {
		return err
	}
	var vhosts []api.VHost
	if err := c.client.Get(c.ctx, &vhosts, "vhosts"); err != nil {
		return err
	}
	c.banner("Status of node %s ...", c.node)
	if strings.HasPrefix(c.formatter(), "json") {
		return c.statusJSON(o, n, len(vhosts))
	}
	c.statusText(o, n, len(vhosts))
	return nil
}

func (c *call) statusText(o api.Overview, n api.Node, vhosts int) {
	section := func(title string, lines ...string) {
		fmt.Fprintf(c.stdout, "%s\n\n%s\n\n", title, strings.Join(lines, "\n"))
	}
	section("Runtime",
		"OS PID: "+n.OSPid,
		fmt.Sprintf("Uptime (seconds): %d", n.Uptime/1000),
		fmt.Sprintf("Is under maintenance?: %v", n.BeingDrained),
		"RabbitMQ version: "+o.RabbitMQVersion,
		"Product: "+o.ProductName+" "+o.ProductVersion)
	section("Data directory", "Node data directory: "+n.DBDir)
	section("Config files", none(n.ConfigFiles, " * ")...)
	section("Log file(s)", none(n.LogFiles, " * ")...)
	section("Alarms", none(alarmsOf(n), "")...)
	section("Memory", fmt.Sprintf("Total memory used: %d bytes", n.MemUsed), fmt.Sprintf("Memory high watermark: %d bytes", n.MemLimit))
	section("File Descriptors", fmt.Sprintf("Total: %d, limit: %d", n.FDUsed, n.FDTotal))
	section("Free Disk Space", fmt.Sprintf("Low free disk space watermark: %d bytes", n.DiskFreeLimit), fmt.Sprintf("Free disk space: %d bytes", n.DiskFree))
	section("Totals",
		fmt.Sprintf("Connection count: %d", o.ObjectTotals.Connections),
		fmt.Sprintf("Queue count: %d", o.ObjectTotals.Queues),
		fmt.Sprintf("Virtual host count: %d", vhosts))
	section("Listeners", none(listenerLines(o), "")...)
}

// none puts the mark before each line, or says that there is none.
func none(lines []string, mark string) []string {
	if len(lines) == 0 {
		return []string{"(none)"}
	}
	marked := make([]string, len(lines))
	for i, line := range lines {
		marked[i] = mark + line
	}
	return marked
}

// A statusShape is `status --formatter json`. Source: RabbitMQ rabbitmqctl status.
type statusShape struct {
	OSPid            string            `json:"pid"`
	ProductName      string            `json:"product_name"`
	ProductVersion   string            `json:"product_version"`
	RabbitMQVersion  string            `json:"rabbitmq_version"`
	ErlangVersion    string            `json:"erlang_version"`
	Uptime           int64             `json:"uptime"` // seconds
	UnderMaintenance bool              `json:"is_under_maintenance"`
	Alarms           api.List[string]  `json:"alarms"`
	MemoryStrategy   string            `json:"vm_memory_calculation_strategy"`
	MemoryLimit      int64             `json:"vm_memory_high_watermark_limit"` // bytes
	Memory           statusMemory      `json:"memory"`
	DataDirectory    string            `json:"data_directory"`
	ConfigFiles      api.List[string]  `json:"config_files"`
	LogFiles         api.List[string]  `json:"log_files"`
	ActivePlugins    api.List[string]  `json:"active_plugins"`
	DiskFree         int64             `json:"disk_free"`
	DiskFreeLimit    int64             `json:"disk_free_limit"`
	Listeners        api.List[portRow] `json:"listeners"`
	Totals           statusTotals      `json:"totals"`
}

type statusMemory struct {
	Total struct {
		RSS int64 `json:"rss"` // bytes
	} `json:"total"`
	Strategy string `json:"strategy"`
}

type statusTotals struct {
	VirtualHosts int `json:"virtual_host_count"`
	Connections  int `json:"connection_count"`
	Queues       int `json:"queue_count"`
}

// A portRow is a listener as the command line shows it.
type portRow struct {
	Node      string `json:"node"`
	Interface string `json:"interface"`
	Port      int    `json:"port"`
	Protocol  string `json:"protocol"`
	Purpose   string `json:"purpose"`
}

func (c *call) statusJSON(o api.Overview, n api.Node, vhosts int) error {
	memory := statusMemory{Strategy: n.MemStrategy}
	memory.Total.RSS = n.MemUsed
	b, err := json.Marshal(statusShape{
		OSPid: n.OSPid, ProductName: o.ProductName, ProductVersion: o.ProductVersion, RabbitMQVersion: o.RabbitMQVersion,
		ErlangVersion: o.ErlangVersion, Uptime: n.Uptime / 1000, UnderMaintenance: n.BeingDrained, Alarms: alarmsOf(n),
		DataDirectory: n.DBDir, ConfigFiles: n.ConfigFiles, LogFiles: n.LogFiles, ActivePlugins: n.EnabledPlugins,
		MemoryStrategy: n.MemStrategy, MemoryLimit: n.MemLimit, Memory: memory,
		DiskFree: n.DiskFree, DiskFreeLimit: n.DiskFreeLimit, Listeners: portRows(o),
		Totals: statusTotals{vhosts, o.ObjectTotals.Connections, o.ObjectTotals.Queues},
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(c.stdout, "%s\n", b)
	return nil
}
