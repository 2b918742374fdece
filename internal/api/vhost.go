package api

// A VHost of GET /api/vhosts.
type VHost struct {
	Name                  string         `json:"name"`
	Description           string         `json:"description"`
	Tags                  Tags           `json:"tags"`
	DefaultQueueType      string         `json:"default_queue_type"`
	Metadata              VHostMetadata  `json:"metadata"`
	Tracing               bool           `json:"tracing"`
	ProtectedFromDeletion bool           `json:"protected_from_deletion"`
	ClusterState          Object[string] `json:"cluster_state"` // node → "running"
	Totals
	RecvOct        uint64       `json:"recv_oct"`
	RecvOctDetails Rate         `json:"recv_oct_details"`
	SendOct        uint64       `json:"send_oct"`
	SendOctDetails Rate         `json:"send_oct_details"`
	MessageStats   MessageStats `json:"message_stats,omitzero"`
}

// VHostMetadata repeats what describes a virtual host.
type VHostMetadata struct {
	Description      string `json:"description"`
	Tags             Tags   `json:"tags"`
	DefaultQueueType string `json:"default_queue_type,omitempty"` // RabbitMQ refuses an empty one
}

// PutVHost is the body of PUT /api/vhosts/{name}; a key that is not given leaves what there is.
type PutVHost struct {
	Description      *string `json:"description,omitempty"`
	Tags             *Tags   `json:"tags,omitempty"`
	DefaultQueueType *string `json:"default_queue_type,omitempty"`
	// the same under the name that RabbitMQ took first
	DefaultQueueTypeOld   *string `json:"defaultqueuetype,omitempty"`
	Tracing               *Flag   `json:"tracing,omitempty"`
	ProtectedFromDeletion *Flag   `json:"protected_from_deletion,omitempty"`
}

// VHostLimits is an element of GET /api/vhost-limits.
type VHostLimits struct {
	VHost string        `json:"vhost"`
	Value Object[int64] `json:"value"`
}
