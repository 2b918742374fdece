package node

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/cli/command"
	"github.com/bartleby-mq/bartleby/internal/cli/output"
)

// alarmsOf says what a node is short of, and whether its clock is wrong, which holds nobody back. A journal that is
// full is a disk that is, too, for RabbitMQ's tools; the line of its own says which.
func alarmsOf(n api.Node) []string {
	var raised []string
	if n.MemAlarm {
		raised = append(raised, "Memory alarm on node "+n.Name)
	}
	if n.DiskFreeAlarm {
		raised = append(raised, "Free disk space alarm on node "+n.Name)
	}
	if n.JournalAlarm {
		raised = append(raised, "Journal space alarm on node "+n.Name)
	}
	if n.ClockAlarm {
		raised = append(raised, fmt.Sprintf("Clock alarm on node %s: the clock is %s behind the time of virtual hosts", n.Name, command.FormatDuration(n.ClockBehindMS)))
	}
	return raised
}

// allAlarms are those of all nodes.
func allAlarms(c *command.Call) ([]string, error) {
	var nodes []api.Node
	if err := c.Client.Get(c.Ctx, &nodes, "nodes"); err != nil {
		return nil, err
	}
	var raised []string
	for _, n := range nodes {
		raised = append(raised, alarmsOf(n)...)
	}
	return raised, nil
}

func listAlarms(c *command.Call) error {
	c.Banner("Asking node %s to report any known resource alarms ...", c.Node)
	raised, err := allAlarms(c)
	if err != nil {
		return err
	}
	if strings.HasPrefix(c.Formatter(), "json") {
		return alarmsJSON(c, raised)
	}
	if raised == nil {
		return c.Done("Node "+c.Node+" reported no alarms, local or clusterwide", nil)
	}
	return c.Done(strings.Join(raised, "\n"), nil)
}

// alarmsJSON shows alarms as RabbitMQ does: none in one way, some in another. Source: RabbitMQ rabbitmq-diagnostics
// alarms.
func alarmsJSON(c *command.Call, raised []string) error {
	lines, err := json.Marshal(api.List[string](raised))
	if err != nil {
		return err
	}
	fields := []output.Field{{Name: "result", Value: output.StringCell("ok")}, {Name: "node", Value: output.StringCell(c.Node)}, {Name: "alarms", Value: lines}}
	if raised != nil {
		fields = []output.Field{
			{Name: "result", Value: output.StringCell("ok")}, {Name: "local", Value: lines}, {Name: "global", Value: output.Cell("[]")},
			{Name: "message", Value: output.StringCell("Node " + c.Node + " reported alarms")},
		}
	}
	fmt.Fprintf(c.Stdout, "%s\n", output.Object(fields))
	return nil
}

func checkAlarms(c *command.Call) error {
	if c.Command.Name == "check_local_alarms" {
		c.Banner("Asking node %s to report any local resource alarms ...", c.Node)
		return explainAlarms(c, healthy(c, "Node "+c.Node+" reported no local alarms", "local-alarms"))
	}
	c.Banner("Asking node %s to report any local resource alarms ...", c.Node)
	return explainAlarms(c, healthy(c, "Node "+c.Node+" reported no alarms, local or clusterwide", "alarms"))
}

// explainAlarms says which alarms have failed a check, to those who may know.
func explainAlarms(c *command.Call, err error) error {
	if command.Status(err) != http.StatusServiceUnavailable {
		return err
	}
	if raised, failed := allAlarms(c); failed == nil && raised != nil {
		return command.Failf(command.ExitUnavailable, "%s", strings.Join(raised, "\n"))
	}
	return err
}

// setMemoryHighWatermark sets the watermark until the broker stops. Source: RabbitMQ rabbitmqctl.
func setMemoryHighWatermark(c *command.Call) error {
	if c.Args[0] == "absolute" {
		return setAmount(c, "Setting memory threshold on %s to %s bytes ...", 1, func(l *api.ResourceLimits, t *api.Threshold) { l.MemoryHighWatermark = t })
	}
	return setShare(c, "Setting memory threshold on %s to %s ...", 0, func(l *api.ResourceLimits, t *api.Threshold) { l.MemoryHighWatermark = t })
}

// setDiskFreeLimit sets the limit until the broker stops. Source: RabbitMQ rabbitmqctl.
func setDiskFreeLimit(c *command.Call) error {
	if c.Args[0] == "mem_relative" {
		return setShare(c, "Setting disk free limit on %s to %s times the total RAM ...", 1, func(l *api.ResourceLimits, t *api.Threshold) { l.DiskFree = t })
	}
	return setAmount(c, "Setting disk free limit on %s to %s bytes ...", 0, func(l *api.ResourceLimits, t *api.Threshold) { l.DiskFree = t })
}

// setShare sets a threshold to the share that the i-th argument, the last, is.
func setShare(c *command.Call, banner string, i int, put func(*api.ResourceLimits, *api.Threshold)) error {
	if err := lastIs(c, i); err != nil {
		return err
	}
	share, err := strconv.ParseFloat(c.Args[i], 64)
	if err != nil || math.IsNaN(share) || math.IsInf(share, 0) {
		return command.Failf(command.ExitData, "'%s' is not a number", c.Args[i])
	}
	return setThreshold(c, banner, api.Threshold{Relative: &share}, put)
}

// setAmount sets a threshold to the number of bytes that the i-th argument, the last, is.
func setAmount(c *command.Call, banner string, i int, put func(*api.ResourceLimits, *api.Threshold)) error {
	if err := lastIs(c, i); err != nil {
		return err
	}
	amount := api.Amount(c.Args[i])
	return setThreshold(c, banner, api.Threshold{Absolute: &amount}, put)
}

func lastIs(c *command.Call, i int) error {
	switch {
	case len(c.Args) <= i:
		return c.TooFew()
	case len(c.Args) > i+1:
		return c.Invalid("too many arguments.")
	}
	return nil
}

func setThreshold(c *command.Call, banner string, t api.Threshold, put func(*api.ResourceLimits, *api.Threshold)) error {
	c.Banner(banner, c.Node, c.Args[len(c.Args)-1])
	var l api.ResourceLimits
	put(&l, &t)
	_, err := c.Client.Put(c.Ctx, l, "x", "resource-limits")
	var refused *api.Error
	if errors.As(err, &refused) && refused.Status == http.StatusBadRequest {
		return command.Failf(command.ExitData, "%s", refused.Reason)
	}
	if err != nil {
		return err
	}
	return c.Done("", nil)
}
