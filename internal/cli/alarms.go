package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/api"
)

// alarmsOf says what a node is short of, and whether its clock is wrong, which holds nobody back. A journal that is full is a disk that is, too, for RabbitMQ's tools; the line
// of its own says which.
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
		raised = append(raised, fmt.Sprintf("Clock alarm on node %s: the clock is %s behind the time of virtual hosts", n.Name, milliseconds(n.ClockBehindMS)))
	}
	return raised
}

// allAlarms are those of all nodes.
func (c *call) allAlarms() ([]string, error) {
	var nodes []api.Node
	if err := c.client.Get(c.ctx, &nodes, "nodes"); err != nil {
		return nil, err
	}
	var raised []string
	for _, n := range nodes {
		raised = append(raised, alarmsOf(n)...)
	}
	return raised, nil
}

func listAlarms(c *call) error {
	c.banner("Asking node %s to report any known resource alarms ...", c.node)
	raised, err := c.allAlarms()
	if err != nil {
		return err
	}
	if strings.HasPrefix(c.formatter(), "json") {
		return c.alarmsJSON(raised)
	}
	if raised == nil {
		return c.done("Node "+c.node+" reported no alarms, local or clusterwide", nil)
	}
	return c.done(strings.Join(raised, "\n"), nil)
}

// alarmsJSON shows alarms as RabbitMQ does: none in one way, some in another. Source: RabbitMQ rabbitmq-diagnostics alarms.
func (c *call) alarmsJSON(raised []string) error {
	lines, err := json.Marshal(api.List[string](raised))
	if err != nil {
		return err
	}
	fields := []field{{"result", textCell("ok")}, {"node", textCell(c.node)}, {"alarms", lines}}
	if raised != nil {
		fields = []field{
			{"result", textCell("ok")}, {"local", lines}, {"global", cell("[]")},
			{"message", textCell("Node " + c.node + " reported alarms")},
		}
	}
	fmt.Fprintf(c.stdout, "%s\n", object(fields))
	return nil
}

func checkAlarms(c *call) error {
	if c.command.name == "check_local_alarms" {
		c.banner("Asking node %s to report any local resource alarms ...", c.node)
		return c.explainAlarms(c.healthy("Node "+c.node+" reported no local alarms", "local-alarms"))
	}
	c.banner("Asking node %s to report any local resource alarms ...", c.node)
	return c.explainAlarms(c.healthy("Node "+c.node+" reported no alarms, local or clusterwide", "alarms"))
}

// explainAlarms says which alarms have failed a check, to those who may know.
func (c *call) explainAlarms(err error) error {
	if status(err) != http.StatusServiceUnavailable {
		return err
	}
	if raised, failed := c.allAlarms(); failed == nil && raised != nil {
		return failf(exitUnavailable, "%s", strings.Join(raised, "\n"))
	}
	return err
}

// setMemoryHighWatermark sets the watermark until the broker stops. Source: RabbitMQ rabbitmqctl.
func setMemoryHighWatermark(c *call) error {
	if c.args[0] == "absolute" {
		return c.setAmount("Setting memory threshold on %s to %s bytes ...", 1, func(l *api.ResourceLimits, t *api.Threshold) { l.MemoryHighWatermark = t })
	}
	return c.setShare("Setting memory threshold on %s to %s ...", 0, func(l *api.ResourceLimits, t *api.Threshold) { l.MemoryHighWatermark = t })
}

// setDiskFreeLimit sets the limit until the broker stops. Source: RabbitMQ rabbitmqctl.
func setDiskFreeLimit(c *call) error {
	if c.args[0] == "mem_relative" {
		return c.setShare("Setting disk free limit on %s to %s times the total RAM ...", 1, func(l *api.ResourceLimits, t *api.Threshold) { l.DiskFree = t })
	}
	return c.setAmount("Setting disk free limit on %s to %s bytes ...", 0, func(l *api.ResourceLimits, t *api.Threshold) { l.DiskFree = t })
}

// setShare sets a threshold to the share that the i-th argument, the last, is.
func (c *call) setShare(banner string, i int, put func(*api.ResourceLimits, *api.Threshold)) error {
	if err := c.lastIs(i); err != nil {
		return err
	}
	share, err := strconv.ParseFloat(c.args[i], 64)
	if err != nil || math.IsNaN(share) || math.IsInf(share, 0) {
		return failf(exitData, "'%s' is not a number", c.args[i])
	}
	return c.setThreshold(banner, api.Threshold{Relative: &share}, put)
}

// setAmount sets a threshold to the number of bytes that the i-th argument, the last, is.
func (c *call) setAmount(banner string, i int, put func(*api.ResourceLimits, *api.Threshold)) error {
	if err := c.lastIs(i); err != nil {
		return err
	}
	amount := api.Amount(c.args[i])
	return c.setThreshold(banner, api.Threshold{Absolute: &amount}, put)
}

func (c *call) lastIs(i int) error {
	switch {
	case len(c.args) <= i:
		return c.tooFew()
	case len(c.args) > i+1:
		return c.invalid("too many arguments.")
	}
	return nil
}

func (c *call) setThreshold(banner string, t api.Threshold, put func(*api.ResourceLimits, *api.Threshold)) error {
	c.banner(banner, c.node, c.args[len(c.args)-1])
	var l api.ResourceLimits
	put(&l, &t)
	_, err := c.client.Put(c.ctx, l, "x", "resource-limits")
	var refused *api.Error
	if errors.As(err, &refused) && refused.Status == http.StatusBadRequest {
		return failf(exitData, "%s", refused.Reason)
	}
	if err != nil {
		return err
	}
	return c.done("", nil)
}
