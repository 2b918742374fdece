package node

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/cli/command"
	"github.com/bartleby-mq/bartleby/internal/cli/output"
)

// storage shows what is on the disk, and what was done for it.
func storage(c *command.Call) error {
	c.Banner("Storage of node %s ...", c.Node)
	var raw json.RawMessage
	if err := c.Client.Get(c.Ctx, &raw, "x", "storage"); err != nil {
		return err
	}
	if strings.HasPrefix(c.Formatter(), "json") {
		return c.ShowRaw(raw)
	}
	var s api.Storage
	if err := json.Unmarshal(raw, &s); err != nil {
		return err
	}
	var rows [][]output.Cell
	add := func(name, format string, values ...any) {
		rows = append(rows, []output.Cell{output.StringCell(name), output.StringCell(fmt.Sprintf(format, values...))})
	}
	add("sync", "%s", s.Sync)
	add("segments", "%d, %s; %d of them compacted", s.Segments.Count, output.Size(s.Segments.Bytes), s.Segments.Rewritten)
	add("live", "%s, %.0f %% of the segments", output.Size(s.Live), 100*s.LiveShare)
	add("spares", "%d, %s", s.Spares.Count, output.Size(s.Spares.Bytes))
	add("spilled", "%s", output.Size(s.Spilled))
	add("unsynced", "%s", output.Size(s.Unsynced))
	add("checkpoints", "%s; %d completed, %d failed%s", output.Size(s.Checkpoints.Bytes), s.Checkpoints.Made,
		s.Checkpoints.Failed, lastCheckpoint(&s.Checkpoints))
	add("reclaimed", "%d dead segments, %d sparse ones by compaction (failed: %d)", s.Segments.Reclaimed, s.Rewriting.Segments, s.Rewriting.Failed)
	for _, kind := range slices.Sorted(maps.Keys(s.Written)) {
		add("written for "+kind, "%s", output.Size(s.Written[kind]))
	}
	add("syncs", "%d%s", s.Syncs.Count, syncTimes(&s.Syncs))
	add("backups", "%d completed, %d failed%s", s.Backups.Made, s.Backups.Failed, backupState(&s.Backups))
	for _, v := range s.VHosts {
		if v.Down != "" {
			add("vhost "+v.Name, "down: %s", v.Down)
			continue
		}
		stops := ""
		if v.StopAt != nil {
			stops = fmt.Sprintf("; stopped %d times by damaged data, last at %s: %s", v.Stops, *v.StopAt, v.StopText)
		}
		if v.PutOff > 0 {
			stops += fmt.Sprintf("; %d dead messages wait for disk space or memory", v.PutOff)
		}
		add("vhost "+v.Name, "%d messages in memory, %d not; %s live, %s spilled; sync %s%s", v.Hot, v.Cold,
			output.Size(v.Live), output.Size(v.Spilled), v.Sync, stops)
	}
	return c.Table([]string{"what", "figures"}, rows)
}

func lastCheckpoint(s *api.CheckpointStorage) string {
	if s.LastAt == nil {
		return ""
	}
	return fmt.Sprintf("; the last at %s in %.1f s", *s.LastAt, s.LastSeconds)
}

// syncTimes says what half of the syncs took at most, and all but a hundredth.
func syncTimes(s *api.SyncStorage) string {
	within := func(share float64) string {
		for _, b := range s.Buckets {
			if float64(b.Count) >= share*float64(s.Count) {
				return strconv.FormatFloat(1000*b.Seconds, 'g', -1, 64) + " ms"
			}
		}
		return "more than the longest interval"
	}
	if s.Count == 0 {
		return ""
	}
	return fmt.Sprintf("; half of them within %s, 99 %% within %s", within(0.5), within(0.99))
}

func backupState(b *api.Backups) string {
	text := ""
	if b.Running {
		text = fmt.Sprintf("; one is running: %s of %s", output.Size(b.BytesCopied), output.Size(b.BytesExpected))
	}
	if b.Last != nil {
		text += fmt.Sprintf("; the last one as of %s, %s", b.Last.At, output.Size(b.Last.Bytes))
	}
	if b.LastFailure != "" {
		text += "; the last one failed: " + b.LastFailure
	}
	return text
}
