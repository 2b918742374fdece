package api

// A Name tells one of a virtual host's objects from all others.
type Name struct {
	Name  string `json:"name"`
	VHost string `json:"vhost"`
}

// A Queue of GET /api/queues.
type Queue struct {
	Name       string    `json:"name"`
	VHost      string    `json:"vhost"`
	Type       string    `json:"type"` // classic or quorum
	Durable    bool      `json:"durable"`
	AutoDelete bool      `json:"auto_delete"`
	Exclusive  bool      `json:"exclusive"`
	Arguments  Arguments `json:"arguments"` // as declared, nothing added
	Node       string    `json:"node"`
	State      string    `json:"state"` // running, idle, …
	Totals
	MessageStats MessageStats `json:"message_stats,omitzero"`

	Consumers                 int             `json:"consumers"`
	ActiveConsumers           int             `json:"active_consumers"`
	ConsumerUtilisation       float64         `json:"consumer_utilisation"`       // 0 to 1
	ConsumerCapacity          float64         `json:"consumer_capacity"`          // 0 to 1
	ConsumerDetails           *List[Consumer] `json:"consumer_details,omitempty"` // of one queue
	SingleActiveConsumerTag   *string         `json:"single_active_consumer_tag"`
	ExclusiveConsumerTag      *string         `json:"exclusive_consumer_tag"`
	Policy                    *string         `json:"policy"`
	OperatorPolicy            *string         `json:"operator_policy"`
	EffectivePolicyDefinition Arguments       `json:"effective_policy_definition"`
	// keys of the policies that do nothing to a queue of this type
	IgnoredPolicyKeys []string    `json:"ignored_policy_keys,omitempty"`
	Owner             *QueueOwner `json:"owner_pid_details,omitempty"`

	Memory                     int64   `json:"memory"` // bytes
	MessageBytes               int64   `json:"message_bytes"`
	MessageBytesReady          int64   `json:"message_bytes_ready"`
	MessageBytesUnacknowledged int64   `json:"message_bytes_unacknowledged"`
	MessageBytesRAM            int64   `json:"message_bytes_ram"`
	MessageBytesPersistent     int64   `json:"message_bytes_persistent"`
	MessageBytesPagedOut       int64   `json:"message_bytes_paged_out"`
	MessagesRAM                int64   `json:"messages_ram"`
	MessagesPersistent         int64   `json:"messages_persistent"`
	MessagesPagedOut           int64   `json:"messages_paged_out"`
	MessagesReadyRAM           int64   `json:"messages_ready_ram"`
	MessagesUnacknowledgedRAM  int64   `json:"messages_unacknowledged_ram"`
	HeadMessageTimestamp       *int64  `json:"head_message_timestamp"` // seconds since the Unix epoch
	IdleSince                  *string `json:"idle_since,omitempty"`   // RFC 3339 with ms

	DeliveryLimit   DeliveryLimit `json:"delivery_limit"`
	DelayedRetry    string        `json:"delayed_retry,omitempty"` // as in "all (min: 1000ms, max: 30000ms)"
	MessagesDelayed int64         `json:"messages_delayed"`        // that wait for their retry
	// ms since the Unix epoch; of one queue, if few messages wait
	NextDelayedAt   *int64 `json:"next_delayed_at,omitempty"`
	LastDelayedAt   *int64 `json:"last_delayed_at,omitempty"`
	MessagesDLX     int64  `json:"messages_dlx"` // dead letters that the queue holds
	MessageBytesDLX int64  `json:"message_bytes_dlx"`

	Incoming   *List[Inflow]         `json:"incoming,omitempty"`   // of one queue
	Deliveries *List[Object[string]] `json:"deliveries,omitempty"` // of one queue: not counted by channel, and empty

	Leader  string       `json:"leader,omitempty"` // of a quorum queue
	Members List[string] `json:"members,omitempty"`
	Online  List[string] `json:"online,omitempty"`
}

// A Replica is an element of GET /api/queues/quorum/{vhost}/{name}/status.
// Source: RabbitMQ quorum-queues, quorum_status.
type Replica struct {
	Node       string `json:"Node Name"`
	State      string `json:"Raft State"` // leader
	Membership string `json:"Membership"` // voter
}

// An Inflow is what came to a queue by way of an exchange that clients published to.
type Inflow struct {
	Exchange Name         `json:"exchange"`
	Stats    MessageStats `json:"stats"`
}

// An Outflow is what an exchange that clients published to led to a queue.
type Outflow struct {
	Queue Name         `json:"queue"`
	Stats MessageStats `json:"stats"`
}

// QueueOwner is the connection that an exclusive queue belongs to.
type QueueOwner struct {
	Name     string `json:"name"`
	PeerHost string `json:"peer_host"`
	PeerPort int    `json:"peer_port"`
}

// PutQueue is the body of PUT /api/queues/{vhost}/{name}; all keys are optional.
type PutQueue struct {
	Durable    Flag      `json:"durable,omitempty"`
	AutoDelete Flag      `json:"auto_delete,omitempty"`
	Arguments  Arguments `json:"arguments,omitempty"`
	Node       string    `json:"node,omitempty"` // if given, that of the broker
}

// CreateQueue is the body of PUT /api/x/queues/{vhost}/{name}; all keys are optional. Those in capitals are the names
// of ApsaraMQ's CreateQueue; numbers and booleans may be strings.
type CreateQueue struct {
	Durable    Flag      `json:"durable"` // unlike in PutQueue, true unless given
	AutoDelete Flag      `json:"auto_delete"`
	Arguments  Arguments `json:"arguments,omitempty"`

	DeadLetterExchange   *string  `json:"DeadLetterExchange,omitempty"`   // x-dead-letter-exchange
	DeadLetterRoutingKey *string  `json:"DeadLetterRoutingKey,omitempty"` // x-dead-letter-routing-key
	MessageTTL           *Integer `json:"MessageTTL,omitempty"`           // ms, x-message-ttl
	AutoExpireState      *Integer `json:"AutoExpireState,omitempty"`      // ms, x-expires
	MaxLength            *Integer `json:"MaxLength,omitempty"`            // x-max-length
	MaximumPriority      *Integer `json:"MaximumPriority,omitempty"`      // x-max-priority
	AutoDeleteState      Flag     `json:"AutoDeleteState,omitempty"`      // the same as auto_delete
	ExclusiveState       Flag     `json:"ExclusiveState,omitempty"`       // refused if true

	InstanceID  string  `json:"InstanceId,omitempty"`  // ignored
	VirtualHost *string `json:"VirtualHost,omitempty"` // if given, that of the path
	QueueName   *string `json:"QueueName,omitempty"`   // if given, that of the path
}

// An Exchange of GET /api/exchanges. The default exchange has the empty name here, amq.default in paths.
type Exchange struct {
	Name         string       `json:"name"`
	VHost        string       `json:"vhost"`
	Type         string       `json:"type"`
	Durable      bool         `json:"durable"`
	AutoDelete   bool         `json:"auto_delete"`
	Internal     bool         `json:"internal"`
	Arguments    Arguments    `json:"arguments"`
	Policy       *string      `json:"policy"`
	PerformedBy  string       `json:"user_who_performed_action"`
	MessageStats MessageStats `json:"message_stats,omitzero"`

	MessagesDelayed *int64 `json:"messages_delayed,omitempty"` // that wait in a delayed exchange

	Incoming *List[Object[string]] `json:"incoming,omitempty"` // of one exchange: not counted by channel, and empty
	Outgoing *List[Outflow]        `json:"outgoing,omitempty"` // of one exchange
}

// PutExchange is the body of PUT /api/exchanges/{vhost}/{name}. Type must be present.
type PutExchange struct {
	Type       *string   `json:"type"`
	Durable    Flag      `json:"durable,omitempty"`
	AutoDelete Flag      `json:"auto_delete,omitempty"`
	Internal   Flag      `json:"internal,omitempty"`
	Arguments  Arguments `json:"arguments,omitempty"`
}

// A Binding of GET /api/bindings.
type Binding struct {
	Source          string    `json:"source"`
	VHost           string    `json:"vhost"`
	Destination     string    `json:"destination"`
	DestinationType string    `json:"destination_type"` // queue or exchange
	RoutingKey      string    `json:"routing_key"`
	Arguments       Arguments `json:"arguments"`
	PropertiesKey   string    `json:"properties_key"` // from PropertiesKey
}

// PostBinding is the body of POST /api/bindings/{vhost}/e/{source}/q/{destination}; both keys are optional.
type PostBinding struct {
	RoutingKey string    `json:"routing_key"`
	Arguments  Arguments `json:"arguments"`
}

// PostPublish is the body of POST /api/exchanges/{vhost}/{name}/publish. The first four must be present.
type PostPublish struct {
	Properties      *Arguments `json:"properties,omitempty"`
	RoutingKey      *string    `json:"routing_key,omitempty"`
	Payload         *string    `json:"payload,omitempty"`
	PayloadEncoding *string    `json:"payload_encoding,omitempty"` // string or base64
}

// Published answers PostPublish.
type Published struct {
	Routed    bool     `json:"routed"`
	Scheduled []string `json:"scheduled,omitempty"` // IDs of the message in delayed exchanges, in which it waits
}

// PostGet is the body of POST /api/queues/{vhost}/{name}/get. Count, AckMode and Encoding must be present.
type PostGet struct {
	Count *Integer `json:"count"`
	// ack_requeue_true, reject_requeue_true, ack_requeue_false, reject_requeue_false
	AckMode  *string  `json:"ackmode"`
	Encoding *string  `json:"encoding"`           // auto or base64
	Truncate *Integer `json:"truncate,omitempty"` // bytes of payload to show
}

// A Message taken by PostGet.
type Message struct {
	MessageHead
	Payload         string `json:"payload"`
	PayloadEncoding string `json:"payload_encoding"` // string or base64
}

// A MessageHead is what comes before the payload.
type MessageHead struct {
	PayloadBytes int       `json:"payload_bytes"` // of the whole payload, shown or not
	Redelivered  bool      `json:"redelivered"`
	Exchange     string    `json:"exchange"`
	RoutingKey   string    `json:"routing_key"`
	MessageCount int64     `json:"message_count"` // ready ones left behind it
	Properties   Arguments `json:"properties"`
}

// A Page is what a list becomes when the query names a page.
type Page[T any] struct {
	TotalCount    int     `json:"total_count"`
	ItemCount     int     `json:"item_count"`
	FilteredCount int     `json:"filtered_count"`
	Page          int     `json:"page"`
	PageSize      int     `json:"page_size"`
	PageCount     int     `json:"page_count"`
	Items         List[T] `json:"items"`
}
