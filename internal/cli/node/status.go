package node

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/cli/command"
)

// retryPause is how long await_startup and ping wait before they ask a broker again that is not up yet.
const retryPause = 200 * time.Millisecond

// Version prints the version of the command line.
func Version(c *command.Call) error {
	fmt.Fprintln(c.Stdout, api.RabbitMQVersion)
	return nil
}

func serverVersion(c *command.Call) error {
	o, err := overview(c)
	if err != nil {
		return err
	}
	c.Banner("Asking node %s for its RabbitMQ version...", c.Node)
	return c.Done(o.RabbitMQVersion, nil)
}

func nodeStatus(c *command.Call) error {
	o, n, err := thisNode(c)
	if err != nil {
		return err
	}
	var vhosts []api.VHost
	if err := c.Client.Get(c.Ctx, &vhosts, "vhosts"); err != nil {
		return err
	}
	c.Banner("Status of node %s ...", c.Node)
	if strings.HasPrefix(c.Formatter(), "json") {
		return statusJSON(c, o, n, len(vhosts))
	}
	return statusText(c, o, n, len(vhosts))
}

func statusText(c *command.Call, o api.Overview, n api.Node, vhosts int) error {
	var amounts [4]string
	for i, bytes := range []int64{n.MemUsed, n.MemLimit, n.DiskFreeLimit, n.DiskFree} {
		var err error
		if amounts[i], err = inUnit(c, bytes); err != nil {
			return err
		}
	}
	section(c, "Runtime",
		"OS PID: "+n.OSPid,
		fmt.Sprintf("Uptime (seconds): %d", n.Uptime/1000),
		fmt.Sprintf("Is under maintenance?: %v", n.BeingDrained),
		"RabbitMQ version: "+o.RabbitMQVersion,
		"Product: "+o.ProductName+" "+o.ProductVersion,
		"Node name: "+o.Node,
		"Crypto library: "+o.CryptoLibVersion,
		fmt.Sprintf("Erlang processes: %d used, %d limit", n.ProcUsed, n.ProcTotal),
		fmt.Sprintf("Scheduler run queue: %d", n.RunQueue))
	section(c, "Plugins", append([]string{"Enabled plugins:"}, none(n.EnabledPlugins, " * ")...)...)
	section(c, "Data directory", "Node data directory: "+n.DBDir)
	section(c, "Config files", none(n.ConfigFiles, " * ")...)
	section(c, "Log file(s)", none(n.LogFiles, " * ")...)
	section(c, "Alarms", none(alarmsOf(n), "")...)
	section(c, "Tags", "(none)")
	section(c, "Memory", "Total memory used: "+amounts[0], "Calculation strategy: "+n.MemStrategy, "Memory high watermark: "+amounts[1])
	section(c, "File Descriptors", fmt.Sprintf("Total: %d, limit: %d", n.FDUsed, n.FDTotal))
	section(c, "Free Disk Space", "Low free disk space watermark: "+amounts[2], "Free disk space: "+amounts[3])
	section(c, "Totals",
		fmt.Sprintf("Connection count: %d", o.ObjectTotals.Connections),
		fmt.Sprintf("Queue count: %d", o.ObjectTotals.Queues),
		fmt.Sprintf("Virtual host count: %d", vhosts))
	section(c, "Listeners", none(listenerLines(o), "")...)
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

func statusJSON(c *command.Call, o api.Overview, n api.Node, vhosts int) error {
	pid, err := strconv.Atoi(n.OSPid)
	if err != nil {
		pid = 0 // which is nobody's
	}
	system := ""
	if command.IsLocal(c.Client.Base) {
		system = runtime.GOOS
	}
	_, memory, err := breakdown(c, o.Node)
	if err != nil {
		memory = json.RawMessage(fmt.Sprintf(`{"total":{"rss":%d},"strategy":%q}`, n.MemUsed, n.MemStrategy))
	}
	var limits api.ResourceLimits
	if err := c.Client.Get(c.Ctx, &limits, "x", "resource-limits"); err != nil && command.Status(err) == 0 {
		return err // others than administrators are not told
	}
	return c.ShowJSON(statusShape{
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
