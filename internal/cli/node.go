package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"runtime"
	"strconv"
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

// thisNode is the overview, and the node that it is of.
func (c *call) thisNode() (o api.Overview, n api.Node, err error) {
	if o, err = c.overview(); err == nil {
		err = c.client.Get(c.ctx, &n, "nodes", o.Node)
	}
	return o, n, err
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
	o, n, err := c.thisNode()
	if err != nil {
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
	return c.statusText(o, n, len(vhosts))
}

func (c *call) statusText(o api.Overview, n api.Node, vhosts int) error {
	var amounts [4]string
	for i, bytes := range []int64{n.MemUsed, n.MemLimit, n.DiskFreeLimit, n.DiskFree} {
		var err error
		if amounts[i], err = c.inUnit(bytes); err != nil {
			return err
		}
	}
	c.section("Runtime",
		"OS PID: "+n.OSPid,
		fmt.Sprintf("Uptime (seconds): %d", n.Uptime/1000),
		fmt.Sprintf("Is under maintenance?: %v", n.BeingDrained),
		"RabbitMQ version: "+o.RabbitMQVersion,
		"Product: "+o.ProductName+" "+o.ProductVersion,
		"Node name: "+o.Node,
		"Crypto library: "+o.CryptoLibVersion,
		fmt.Sprintf("Erlang processes: %d used, %d limit", n.ProcUsed, n.ProcTotal),
		fmt.Sprintf("Scheduler run queue: %d", n.RunQueue))
	c.section("Plugins", append([]string{"Enabled plugins:"}, none(n.EnabledPlugins, " * ")...)...)
	c.section("Data directory", "Node data directory: "+n.DBDir)
	c.section("Config files", none(n.ConfigFiles, " * ")...)
	c.section("Log file(s)", none(n.LogFiles, " * ")...)
	c.section("Alarms", none(alarmsOf(n), "")...)
	c.section("Tags", "(none)")
	c.section("Memory", "Total memory used: "+amounts[0], "Calculation strategy: "+n.MemStrategy, "Memory high watermark: "+amounts[1])
	c.section("File Descriptors", fmt.Sprintf("Total: %d, limit: %d", n.FDUsed, n.FDTotal))
	c.section("Free Disk Space", "Low free disk space watermark: "+amounts[2], "Free disk space: "+amounts[3])
	c.section("Totals",
		fmt.Sprintf("Connection count: %d", o.ObjectTotals.Connections),
		fmt.Sprintf("Queue count: %d", o.ObjectTotals.Queues),
		fmt.Sprintf("Virtual host count: %d", vhosts))
	c.section("Listeners", none(listenerLines(o), "")...)
	return nil
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
	OS               string            `json:"os"`
	OSPid            int               `json:"pid"`
	ProductName      string            `json:"product_name"`
	ProductVersion   string            `json:"product_version"`
	RabbitMQVersion  string            `json:"rabbitmq_version"`
	ErlangVersion    string            `json:"erlang_version"`
	CryptoLibVersion string            `json:"crypto_lib_version"`
	RunQueue         int64             `json:"run_queue"`
	NetTicktime      int               `json:"net_ticktime"`
	Processes        statusProcesses   `json:"processes"`
	Tags             struct{}          `json:"tags"`
	Uptime           int64             `json:"uptime"` // seconds
	UnderMaintenance bool              `json:"is_under_maintenance"`
	Alarms           api.List[string]  `json:"alarms"`
	MemoryStrategy   string            `json:"vm_memory_calculation_strategy"`
	MemoryLimit      int64             `json:"vm_memory_high_watermark_limit"` // bytes
	MemorySetting    *api.Threshold    `json:"vm_memory_high_watermark_setting,omitempty"`
	Memory           json.RawMessage   `json:"memory"`
	FileDescriptors  statusFiles       `json:"file_descriptors"`
	DataDirectory    string            `json:"data_directory"`
	RaftDirectory    string            `json:"raft_data_directory"`
	PluginFile       string            `json:"enabled_plugin_file"`
	ConfigFiles      api.List[string]  `json:"config_files"`
	LogFiles         api.List[string]  `json:"log_files"`
	ActivePlugins    api.List[string]  `json:"active_plugins"`
	DiskFree         int64             `json:"disk_free"`
	DiskFreeLimit    int64             `json:"disk_free_limit"`
	Listeners        api.List[portRow] `json:"listeners"`
	Totals           statusTotals      `json:"totals"`
}

type statusProcesses struct {
	Used  int64 `json:"used"`
	Limit int64 `json:"limit"`
}

type statusFiles struct {
	Used         int64 `json:"total_used"`
	Limit        int64 `json:"total_limit"`
	SocketsUsed  int64 `json:"sockets_used"`
	SocketsLimit int64 `json:"sockets_limit"`
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
	pid, err := strconv.Atoi(n.OSPid)
	if err != nil {
		pid = 0 // which is nobody's
	}
	system := ""
	if isLocal(c.client.Base) {
		system = runtime.GOOS
	}
	_, memory, err := c.breakdown(o.Node)
	if err != nil {
		memory = json.RawMessage(fmt.Sprintf(`{"total":{"rss":%d},"strategy":%q}`, n.MemUsed, n.MemStrategy))
	}
	var limits api.ResourceLimits
	if err := c.client.Get(c.ctx, &limits, "x", "resource-limits"); err != nil && status(err) == 0 {
		return err // others than administrators are not told
	}
	return c.showJSON(statusShape{
		OS: system, CryptoLibVersion: o.CryptoLibVersion, RunQueue: n.RunQueue, NetTicktime: n.NetTicktime,
		Processes: statusProcesses{n.ProcUsed, n.ProcTotal}, RaftDirectory: n.DBDir, PluginFile: "built in",
		OSPid: pid, ProductName: o.ProductName, ProductVersion: o.ProductVersion, RabbitMQVersion: o.RabbitMQVersion,
		ErlangVersion: o.ErlangVersion, Uptime: n.Uptime / 1000, UnderMaintenance: n.BeingDrained, Alarms: alarmsOf(n),
		DataDirectory: n.DBDir, ConfigFiles: n.ConfigFiles, LogFiles: n.LogFiles, ActivePlugins: n.EnabledPlugins,
		MemoryStrategy: n.MemStrategy, MemoryLimit: n.MemLimit, MemorySetting: limits.MemoryHighWatermark, Memory: memory,
		FileDescriptors: statusFiles{Used: n.FDUsed, Limit: n.FDTotal, SocketsUsed: n.SocketsUsed, SocketsLimit: n.SocketsTotal},
		DiskFree:        n.DiskFree, DiskFreeLimit: n.DiskFreeLimit, Listeners: portRows(o),
		Totals: statusTotals{vhosts, o.ObjectTotals.Connections, o.ObjectTotals.Queues},
	})
}
