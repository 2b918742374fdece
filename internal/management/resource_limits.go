package management

import (
	"strconv"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/engine/resource"
	"github.com/bartleby-mq/bartleby/internal/management/web"
)

func resourceLimitEndpoints() []web.Endpoint {
	return []web.Endpoint{
		{
			Pattern: "GET x/resource-limits", Tag: authz.Monitoring, Serve: getResourceLimits,
			Summary: "Thresholds of resource alarms", Out: api.ResourceLimits{},
		},
		{
			Pattern: "PUT x/resource-limits", Tag: authz.Administrator, Serve: putResourceLimits,
			Summary: "Sets thresholds of resource alarms until the broker restarts", In: api.ResourceLimits{},
		},
	}
}

// raised lists the alarms of a node as RabbitMQ's tools know them, memory and disk, and ours: a journal that has no
// space is a disk that has none, too. Source: RabbitMQ alarms.
func raised(a resource.Alarms, node string) (all []api.Alarm) {
	if a.Has(resource.JournalFull) {
		a |= resource.LowDisk
	}
	for one := range a.Each() {
		all = append(all, api.Alarm{Node: node, Resource: one.String()})
	}
	return all
}

func showThreshold(t resource.Threshold) *api.Threshold {
	if t.Relative {
		return &api.Threshold{Relative: &t.Share}
	}
	bytes := api.Amount(strconv.FormatInt(t.Bytes, 10))
	return &api.Threshold{Absolute: &bytes}
}

func getResourceLimits(r *web.Request) (web.Answer, error) {
	l := r.Engine.Resources().Limits
	return web.OK(api.ResourceLimits{MemoryHighWatermark: showThreshold(l.MemoryHighWatermark), DiskFree: showThreshold(l.DiskFree)})
}

// putResourceLimits sets limits until the broker stops.
func putResourceLimits(r *web.Request) (web.Answer, error) {
	var body api.ResourceLimits
	if err := r.ReadKnown(&body); err != nil {
		return web.Answer{}, err
	}
	memory, err := readThreshold("vm_memory_high_watermark", body.MemoryHighWatermark)
	if err != nil {
		return web.Answer{}, err
	}
	disk, err := readThreshold("disk_free_limit", body.DiskFree)
	if err != nil {
		return web.Answer{}, err
	}
	err = r.Engine.SetLimits(func(l *resource.Limits) {
		if memory != nil {
			l.MemoryHighWatermark = *memory
		}
		if disk != nil {
			l.DiskFree = *disk
		}
	})
	if err != nil {
		return web.Answer{}, web.BadRequest("%v", err)
	}
	return web.NoContent()
}

// readThreshold reads one limit of a body; nil if it is not given.
func readThreshold(name string, given *api.Threshold) (*resource.Threshold, error) {
	if given == nil {
		return nil, nil
	}
	if (given.Relative == nil) == (given.Absolute == nil) {
		return nil, web.BadRequest("%s must be either relative or absolute", name)
	}
	if given.Relative != nil {
		t := resource.Relative(*given.Relative)
		return &t, nil
	}
	n, err := resource.ParseBytes(string(*given.Absolute))
	if err != nil {
		return nil, web.BadRequest("%s: %v", name, err)
	}
	t := resource.Absolute(n)
	return &t, nil
}
