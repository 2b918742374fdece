package api

import (
	"encoding/json"
	"fmt"
)

// A Name identifies an object of a virtual host.
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
	Readings

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

// An Inflow counts the messages that one exchange routed to a queue.
type Inflow struct {
	Exchange Name         `json:"exchange"`
	Stats    MessageStats `json:"stats"`
}

// An Outflow counts the messages that an exchange routed to one queue.
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

// DeliveryLimit is a number of returns; negative, in JSON "unlimited", is none.
type DeliveryLimit int64

// MarshalJSON renders a number or "unlimited".
func (l DeliveryLimit) MarshalJSON() ([]byte, error) {
	if l < 0 {
		return []byte(`"unlimited"`), nil
	}
	return json.Marshal(int64(l))
}

// UnmarshalJSON takes a number or "unlimited".
func (l *DeliveryLimit) UnmarshalJSON(b []byte) error {
	if string(b) == `"unlimited"` {
		*l = -1
		return nil
	}
	var n int64
	if err := json.Unmarshal(b, &n); err != nil {
		return fmt.Errorf("delivery_limit is a number or \"unlimited\", not %s", b)
	}
	*l = DeliveryLimit(n)
	return nil
}
