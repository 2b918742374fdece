package metrics

import (
	"github.com/bartleby-mq/bartleby/internal/engine"

	"github.com/bartleby-mq/bartleby/internal/management/stats"
)

// storageMetrics shows what is on the disk and what is done for it. Source: ours.
func (s *scrape) storageMetrics() {
	if s.page.endpoint == detailed {
		return
	}
	x, m := s.exposition, &s.storage
	j := &m.Journal
	one(x, "bartleby_segments", gauge, "Log segment files", j.Segments)
	one(x, "bartleby_storage_rewritten_segments", gauge, "Log segment files created by compaction", j.Rewritten)
	spilled := int64(0)
	for i := range m.VHosts {
		spilled += m.VHosts[i].Spilled
	}
	x.family("bartleby_storage_bytes", gauge, "Size of the files in the data directory, by kind")
	for _, f := range []stats.KindBytes{{Kind: "segments", Bytes: j.SegmentBytes}, {Kind: "spares", Bytes: j.SpareBytes}, {Kind: "checkpoints", Bytes: j.CheckpointBytes}, {Kind: "spilled", Bytes: spilled}} {
		add(x, "bartleby_storage_bytes", f.Bytes, "kind", f.Kind)
	}
	one(x, "bartleby_storage_live_bytes", gauge, "Upper bound of the live bytes in segments", m.Live)
	one(x, "bartleby_storage_live_share", gauge, "Upper bound of the live share of segments, 0 to 1", m.Share())
	one(x, "bartleby_storage_unsynced_bytes", gauge, "Bytes written to the log but not synced yet", j.Unsafe)
	x.family("bartleby_storage_written_bytes_total", counter, "Bytes written to the disk, by purpose")
	for _, w := range stats.WrittenBytes(m) {
		add(x, "bartleby_storage_written_bytes_total", w.Bytes, "kind", w.Kind)
	}
	one(x, "bartleby_storage_reclaimed_segments_total", counter, "Segments deleted because they contained no live data", m.Reclaimed)
	one(x, "bartleby_storage_rewriting_reclaimed_segments_total", counter, "Sparse segments deleted by compaction", m.Rewritten)
	outcomes(x, "bartleby_storage_rewritings_total", "Number of compactions", m.Rewritings, m.RewritingsFailed)
	outcomes(x, "bartleby_checkpoints_total", "Number of checkpoints", m.Checkpoints, m.CheckpointsFailed)
	one(x, "bartleby_checkpoint_last_seconds", gauge, "Duration of the last checkpoint", m.CheckpointTook.Seconds())
	one(x, "bartleby_checkpoint_last_timestamp_seconds", gauge, "Time of the last checkpoint; 0: none since startup", seconds(m.CheckpointAt))
	one(x, "bartleby_recovery_seconds", gauge, "Duration of the startup until all virtual hosts were open", m.Recovery.Seconds())
	syncMetrics(x, &m.Syncs)
	vhostStorageMetrics(x, m.VHosts)
	backupMetrics(x, s.server.Engine.Backups())
}

func outcomes(x *exposition, name, help string, done, failed uint64) {
	x.family(name, counter, help)
	add(x, name, done, "outcome", "done")
	add(x, name, failed, "outcome", "failed")
}

func syncMetrics(x *exposition, l *engine.Latency) {
	const name = "bartleby_storage_fsync_seconds"
	x.family(name, histogram, "Duration of log syncs (fdatasync)")
	bounds, counts, below := make([]float64, len(l.Up)), make([]uint64, len(l.Up)+1), uint64(0)
	for i, b := range l.Up {
		bounds[i], counts[i], below = b.Most.Seconds(), b.Count-below, b.Count
	}
	counts[len(l.Up)] = l.Count - below
	x.buckets(name, "", bounds, counts, l.Sum.Seconds())
}

func vhostStorageMetrics(x *exposition, all []engine.VHostStorage) {
	for _, m := range []struct {
		name, help string
		value      func(v *engine.VHostStorage) int64
	}{
		{"bartleby_messages_hot", "Messages in queues with entries in memory", func(v *engine.VHostStorage) int64 { return int64(v.Hot) }},
		{"bartleby_messages_cold", "Messages in queues with entries on disk only", func(v *engine.VHostStorage) int64 { return int64(v.Cold) }},
		{"bartleby_messages_put_off", "Messages that died or returned while the disk was full, or memory scarce, and stay in their queues until there is space", func(v *engine.VHostStorage) int64 { return int64(v.PutOff) }},
		{"bartleby_vhost_live_bytes", "Upper bound of the live bytes of the virtual host in segments", func(v *engine.VHostStorage) int64 { return v.Live }},
		{"bartleby_vhost_down", "Is 1 while the virtual host is stopped by damaged data or a failed write", func(v *engine.VHostStorage) int64 { return int64(stats.BoolInt(v.Down != nil)) }},
	} {
		x.family(m.name, gauge, m.help)
		for i := range all {
			add(x, m.name, m.value(&all[i]), "vhost", all[i].Name)
		}
	}
	x.family("bartleby_vhost_faults_total", counter, "Number of times that damaged data stopped the virtual host")
	for i := range all {
		add(x, "bartleby_vhost_faults_total", all[i].Stops.Count, "vhost", all[i].Name)
	}
	x.family("bartleby_vhost_sync_info", gauge, "Sync mode of the virtual host: always, interval or never")
	for i := range all {
		add(x, "bartleby_vhost_sync_info", 1, "vhost", all[i].Name, "sync", all[i].Sync.String())
	}
}

func backupMetrics(x *exposition, b engine.Backups) {
	last := engine.Backup{}
	if b.Last != nil {
		last = *b.Last
	}
	one(x, "bartleby_backup_running", gauge, "Is 1 while a backup is running", stats.BoolInt(b.Running))
	outcomes(x, "bartleby_backups_total", "Backups since startup", b.Made, b.Failed)
	one(x, "bartleby_backup_last_timestamp_seconds", gauge, "Time of the last successful backup; 0: none since startup", seconds(last.At))
	one(x, "bartleby_backup_last_seconds", gauge, "Duration of the last successful backup", last.Took.Seconds())
	one(x, "bartleby_backup_last_bytes", gauge, "Size of the last successful backup", last.Bytes)
}
