package api

// Storage answers GET /api/x/storage: what is on the disk, and what was done for it since the broker started. Sizes are
// in bytes.
type Storage struct {
	// running, or waiting for disk space: then figures may be of what is not safe yet
	State       string  `json:"state"`
	StateReason string  `json:"state_reason"` // empty: it runs
	StateSince  *string `json:"state_since"`  // RFC 3339 with ms; null: it runs
	// of virtual hosts that choose nothing else: always, interval, never
	Sync           string            `json:"sync"`
	SyncIntervalMS int64             `json:"sync_interval_ms"`
	Live           int64             `json:"live_bytes"` // of messages and pages that are needed, at most
	LiveShare      float64           `json:"live_share"` // of the segments, 0 to 1
	Segments       SegmentStorage    `json:"segments"`
	Spares         SpareStorage      `json:"spares"`
	Unsynced       int64             `json:"unsynced_bytes"`
	Spilled        int64             `json:"spilled_bytes"`
	Checkpoints    CheckpointStorage `json:"checkpoints"`
	// by what for: groups, rewriting, checkpoints, tables, zeros
	Written   Object[int64]      `json:"written_bytes"`
	Rewriting RewritingStorage   `json:"rewriting"`
	Syncs     SyncStorage        `json:"syncs"`
	VHosts    List[VHostStorage] `json:"vhosts"`
	Backups   Backups            `json:"backups"`
	Disk      DiskStorage        `json:"disk"`
}

// DiskStorage says what takes the file system where the data is, in bytes. It is an estimate, as of a moment ago; 0:
// not known.
type DiskStorage struct {
	Size        int64  `json:"size"`
	Free        int64  `json:"free"`
	Spare       int64  `json:"spare"`   // ready for messages to come, beyond the reserve: for the alarm it is free
	Reserve     int64  `json:"reserve"` // kept so that a full disk can be drained
	Live        int64  `json:"live"`    // messages
	Waiting     int64  `json:"waiting"` // in the log and not needed: a checkpoint, or rewriting, gives it back
	Checkpoints int64  `json:"checkpoints"`
	Others      int64  `json:"others"` // not in the log: files of others, what was spilled, the dead-letter index
	Advice      string `json:"advice"` // what takes most, and what to do; empty while no alarm of the disk holds
}

// SegmentStorage counts the files of the log.
type SegmentStorage struct {
	Count          int    `json:"count"`
	Bytes          int64  `json:"bytes"`
	Rewritten      int    `json:"rewritten"` // of Count: what was left of others
	RewrittenBytes int64  `json:"rewritten_bytes"`
	Reclaimed      uint64 `json:"reclaimed"` // given back because nothing in them was needed
}

// SpareStorage counts the files that are ready to be segments.
type SpareStorage struct {
	Count int   `json:"count"`
	Bytes int64 `json:"bytes"`
}

// CheckpointStorage is about checkpoints, each of all virtual hosts that have changed.
type CheckpointStorage struct {
	Bytes       int64   `json:"bytes"`
	Made        uint64  `json:"made"`
	Failed      uint64  `json:"failed"`
	LastAt      *string `json:"last_at"` // RFC 3339 with ms; null: none since the start
	LastSeconds float64 `json:"last_seconds"`
}

// RewritingStorage counts how sparse segments were given back.
type RewritingStorage struct {
	Running  bool   `json:"running"`
	Done     uint64 `json:"done"`
	Failed   uint64 `json:"failed"`
	Segments uint64 `json:"segments"` // given back
}

// SyncStorage says how long syncing the log took.
type SyncStorage struct {
	Count   uint64           `json:"count"`
	Seconds float64          `json:"seconds"` // of all of them
	Buckets List[SyncBucket] `json:"buckets"`
}

// A SyncBucket counts the syncs that took no longer than that many seconds.
type SyncBucket struct {
	Seconds float64 `json:"seconds"`
	Count   uint64  `json:"count"`
}

// VHostStorage says where the messages of a virtual host are.
type VHostStorage struct {
	Name string `json:"name"`
	Sync string `json:"sync"` // that holds
	Down string `json:"down"` // why it cannot be used; empty: it can
	// Stops counts how often it has stopped for damage since the broker started.
	Stops    uint64  `json:"stops"`
	StopAt   *string `json:"stop_at"`   // of the last, RFC 3339 with ms; null: none
	StopText string  `json:"stop_text"` // why
	Hot      int     `json:"messages_hot"`
	Cold     int     `json:"messages_cold"`
	PutOff   int     `json:"messages_put_off"` // that died or came back while the disk was full or memory scarce
	Live     int64   `json:"live_bytes"`
	Spilled  int64   `json:"spilled_bytes"`
}
