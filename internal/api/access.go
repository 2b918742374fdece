package api

// WhoAmI answers GET /api/whoami.
type WhoAmI struct {
	Name           string `json:"name"`
	Tags           Tags   `json:"tags"`
	IsInternalUser bool   `json:"is_internal_user"`
}

// A User of GET /api/users.
type User struct {
	Name             string        `json:"name"`
	PasswordHash     string        `json:"password_hash"` // base64; empty: no login with a password
	HashingAlgorithm string        `json:"hashing_algorithm"`
	Tags             Tags          `json:"tags"`
	Limits           Object[int64] `json:"limits"`
}

// PutUser is the body of PUT /api/users/{name}. Without Password and PasswordHash, the user cannot log in with a
// password. Tags must be present.
type PutUser struct {
	Password         *string `json:"password,omitempty"`
	PasswordHash     *string `json:"password_hash,omitempty"`
	HashingAlgorithm string  `json:"hashing_algorithm,omitempty"`
	Tags             *Tags   `json:"tags,omitempty"`
}

// BulkDelete is the body of POST /api/users/bulk-delete.
type BulkDelete struct {
	Users []string `json:"users"`
}

// HashedPassword answers GET /api/auth/hash_password/{password}.
type HashedPassword struct {
	OK string `json:"ok"` // base64
}

// A Permission of GET /api/permissions.
type Permission struct {
	User      string `json:"user"`
	VHost     string `json:"vhost"`
	Configure string `json:"configure"`
	Write     string `json:"write"`
	Read      string `json:"read"`
}

// PutPermission is the body of PUT /api/permissions/{vhost}/{user}. All three must be present.
type PutPermission struct {
	Configure *string `json:"configure"`
	Write     *string `json:"write"`
	Read      *string `json:"read"`
}

// A TopicPermission of GET /api/topic-permissions.
type TopicPermission struct {
	User     string `json:"user"`
	VHost    string `json:"vhost"`
	Exchange string `json:"exchange"`
	Write    string `json:"write"`
	Read     string `json:"read"`
}

// PutTopicPermission is the body of PUT /api/topic-permissions/{vhost}/{user}. All three must be present.
type PutTopicPermission struct {
	Exchange *string `json:"exchange"`
	Write    *string `json:"write"`
	Read     *string `json:"read"`
}

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

// UserLimits is an element of GET /api/user-limits.
type UserLimits struct {
	User  string        `json:"user"`
	Value Object[int64] `json:"value"`
}

// PutLimit is the body of PUT /api/vhost-limits/{vhost}/{name} and /api/user-limits/{user}/{name}.
type PutLimit struct {
	Value *Number `json:"value"`
}
