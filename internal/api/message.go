package api

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
