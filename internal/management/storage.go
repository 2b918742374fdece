package management

import (
	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/engine"
	"github.com/bartleby-mq/bartleby/internal/management/stats"
	"github.com/bartleby-mq/bartleby/internal/management/web"
)

func storageEndpoints() []web.Endpoint {
	return []web.Endpoint{
		{Pattern: "GET x/storage", Tag: authz.Monitoring, Serve: getStorage, Summary: "State of the storage", Out: api.Storage{}},
	}
}

func getStorage(r *web.Request) (web.Answer, error) {
	s := r.Engine.Storage(r.Context())
	shown := showStorage(&s)
	shown.Backups = showBackups(r.Engine.Backups())
	if r.Engine.LowOnDisk() {
		shown.Disk.Advice = s.Disk.Advice()
	}
	return web.OK(shown)
}

func showStorage(s *engine.Storage) api.Storage {
	j := &s.Journal
	shown := api.Storage{
		Sync: s.Sync.String(), SyncIntervalMS: s.SyncInterval.Milliseconds(),
		Live: s.Live, LiveShare: s.Share(), Unsynced: j.Unsafe,
		Segments: api.SegmentStorage{
			Count: j.Segments, Bytes: j.SegmentBytes, Rewritten: j.Rewritten, RewrittenBytes: j.RewrittenBytes, Reclaimed: s.Reclaimed,
		},
		Spares: api.SpareStorage{Count: j.Spares, Bytes: j.SpareBytes},
		Checkpoints: api.CheckpointStorage{
			Bytes: j.CheckpointBytes, Made: s.Checkpoints, Failed: s.CheckpointsFailed, LastSeconds: s.CheckpointTook.Seconds(),
		},
		Disk: api.DiskStorage{
			Size: s.Disk.Size, Free: s.Disk.Free, Spare: s.Disk.Spare, Reserve: s.Disk.Reserve, Live: s.Disk.Live, Waiting: s.Disk.Waiting,
			Checkpoints: s.Disk.Checkpoints, Others: s.Disk.Others,
		},
		Written:   api.Object[int64]{},
		Rewriting: api.RewritingStorage{Running: s.Rewriting, Done: s.Rewritings, Failed: s.RewritingsFailed, Segments: s.Rewritten},
		Syncs:     api.SyncStorage{Count: s.Syncs.Count, Seconds: s.Syncs.Sum.Seconds()},
	}
	shown.State = stateRunning
	if w := s.Waiting; w != nil {
		since := w.Since.UTC().Format(web.FormatTime)
		shown.State, shown.StateReason, shown.StateSince = stateWaiting, w.Err.Error(), &since
	}
	for _, w := range stats.WrittenBytes(s) {
		shown.Written[w.Kind] = w.Bytes
	}
	if !s.CheckpointAt.IsZero() {
		at := s.CheckpointAt.UTC().Format(web.FormatTime)
		shown.Checkpoints.LastAt = &at
	}
	for _, b := range s.Syncs.Up {
		shown.Syncs.Buckets = append(shown.Syncs.Buckets, api.SyncBucket{Seconds: b.Most.Seconds(), Count: b.Count})
	}
	for i := range s.VHosts {
		v := &s.VHosts[i]
		of := api.VHostStorage{Name: v.Name, Sync: v.Sync.String(), Hot: v.Hot, Cold: v.Cold, PutOff: v.PutOff, Live: v.Live, Spilled: v.Spilled}
		if v.Down != nil {
			of.Down = v.Down.Error()
		}
		if v.Stops.Last != nil {
			at := v.Stops.At.UTC().Format(web.FormatTime)
			of.Stops, of.StopAt, of.StopText = v.Stops.Count, &at, v.Stops.Last.Error()
		}
		shown.Spilled += v.Spilled
		shown.VHosts = append(shown.VHosts, of)
	}
	return shown
}

// States of the storage, and of all that is shown while it waits.
const (
	stateRunning = "running"
	stateWaiting = "waiting for disk space"
)

func storageState(e *engine.Engine) string {
	if e.Waiting() != nil {
		return stateWaiting
	}
	return stateRunning
}
