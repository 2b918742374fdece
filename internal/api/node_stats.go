package api

// NodeStats are the figures of a node that change, each with its rate. Counters count since the node started.
type NodeStats struct {
	FDUsedDetails      Rate `json:"fd_used_details"`
	SocketsUsedDetails Rate `json:"sockets_used_details"`
	ProcUsedDetails    Rate `json:"proc_used_details"`
	MemUsedDetails     Rate `json:"mem_used_details"`
	DiskFreeDetails    Rate `json:"disk_free_details"`

	GCNum                   uint64 `json:"gc_num"` // garbage collections
	GCNumDetails            Rate   `json:"gc_num_details"`
	GCBytesReclaimed        uint64 `json:"gc_bytes_reclaimed"`
	GCBytesReclaimedDetails Rate   `json:"gc_bytes_reclaimed_details"`
	ContextSwitches         uint64 `json:"context_switches"` // of the process
	ContextSwitchesDetails  Rate   `json:"context_switches_details"`

	IOReadCount        uint64  `json:"io_read_count"`
	IOReadCountDetails Rate    `json:"io_read_count_details"`
	IOReadBytes        uint64  `json:"io_read_bytes"`
	IOReadBytesDetails Rate    `json:"io_read_bytes_details"`
	IOReadAvgTime      float64 `json:"io_read_avg_time"` // ms

	IOWriteCount        uint64 `json:"io_write_count"` // one for each sync: what is between two is written at once
	IOWriteCountDetails Rate   `json:"io_write_count_details"`
	IOWriteBytes        uint64 `json:"io_write_bytes"`
	IOWriteBytesDetails Rate   `json:"io_write_bytes_details"`

	IOSyncCount        uint64  `json:"io_sync_count"`
	IOSyncCountDetails Rate    `json:"io_sync_count_details"`
	IOSyncAvgTime      float64 `json:"io_sync_avg_time"` // ms

	MsgStoreReadCount uint64 `json:"msg_store_read_count"` // records and pages that were not in memory

	// What RabbitMQ's storage counts and this one has nothing of: always 0.
	IOWriteAvgTime       float64 `json:"io_write_avg_time"`
	IOSeekCount          uint64  `json:"io_seek_count"`
	IOSeekAvgTime        float64 `json:"io_seek_avg_time"`
	IOReopenCount        uint64  `json:"io_reopen_count"`
	QueueIndexReadCount  uint64  `json:"queue_index_read_count"`
	QueueIndexWriteCount uint64  `json:"queue_index_write_count"`
	MsgStoreWriteCount   uint64  `json:"msg_store_write_count"`
	MnesiaRAMTxCount     uint64  `json:"mnesia_ram_tx_count"`
	MnesiaDiskTxCount    uint64  `json:"mnesia_disk_tx_count"`

	ChurnRates
}
