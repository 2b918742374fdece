package management

import (
	"strconv"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/engine"
)

// raised lists the alarms of a node as RabbitMQ's tools know them, memory and disk, and ours: a journal that has no
// room is a disk that has none, too. Source: RabbitMQ alarms.
func raised(a engine.Alarms, node string) (all []api.Alarm) {
	if a.Has(engine.JournalFull) {
		a |= engine.LowDisk
	}
	for one := range a.Each() {
		all = append(all, api.Alarm{Node: node, Resource: one.String()})
	}
	return all
}

func showThreshold(t engine.Threshold) *api.Threshold {
	if t.Relative {
		return &api.Threshold{Relative: &t.Share}
	}
	bytes := api.Amount(strconv.FormatInt(t.Bytes, 10))
	return &api.Threshold{Absolute: &bytes}
}

func getResourceLimits(r *request) (answer, error) {
	l := r.server.engine.Resources().Limits
	return ok(api.ResourceLimits{MemoryHighWatermark: showThreshold(l.MemoryHighWatermark), DiskFree: showThreshold(l.DiskFree)})
}

// putResourceLimits sets limits until the broker stops.
func putResourceLimits(r *request) (answer, error) {
	var body api.ResourceLimits
	if err := r.readKnown(&body); err != nil {
		return answer{}, err
	}
	memory, err := readThreshold("vm_memory_high_watermark", body.MemoryHighWatermark)
	if err != nil {
		return answer{}, err
	}
	disk, err := readThreshold("disk_free_limit", body.DiskFree)
	if err != nil {
		return answer{}, err
	}
	err = r.server.engine.SetLimits(func(l *engine.Limits) {
		if memory != nil {
			l.MemoryHighWatermark = *memory
		}
		if disk != nil {
			l.DiskFree = *disk
		}
	})
	if err != nil {
		return answer{}, badRequest("%v", err)
	}
	return nothing()
}

// readThreshold reads one limit of a body; nil if it is not given.
func readThreshold(name string, given *api.Threshold) (*engine.Threshold, error) {
	if given == nil {
		return nil, nil
	}
	if (given.Relative == nil) == (given.Absolute == nil) {
		return nil, badRequest("%s must be either relative or absolute", name)
	}
	if given.Relative != nil {
		t := engine.Relative(*given.Relative)
		return &t, nil
	}
	n, err := engine.ParseBytes(string(*given.Absolute))
	if err != nil {
		return nil, badRequest("%s: %v", name, err)
	}
	t := engine.Absolute(n)
	return &t, nil
}
