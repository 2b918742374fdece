package api

// PostResend is the body of POST /api/x/queues/{vhost}/{queue}/messages/{id}/resend (and of the same below
// lost-letters): an edited message is published and, unless Keep, takes the place of the original. What is absent is as
// the original has it.
type PostResend struct {
	// queue (usual) or origin, see RedriveTarget; another exchange or key is in Exchange and RoutingKey
	Target          *RedriveTarget `json:"target,omitempty"`
	Exchange        *string        `json:"exchange,omitempty"`
	RoutingKey      *string        `json:"routing_key,omitempty"`
	Properties      *Arguments     `json:"properties,omitempty"` // all of them, headers included
	Payload         *string        `json:"payload,omitempty"`
	PayloadEncoding string         `json:"payload_encoding,omitempty"`
	Keep            Flag           `json:"keep,omitempty"`
	DryRun          Flag           `json:"dry_run,omitempty"`
	Force           Flag           `json:"force,omitempty"` // it may go to the queue where the original is
}

// Resent answers PostResend.
type Resent struct {
	// redriven; of a dry run that, or why it would stay: no_exchange, no_route, refused, no_queue, busy, no_origin,
	// same_queue
	Outcome    string       `json:"outcome"`
	Queues     List[string] `json:"queues"`      // where it went; of a dry run where it would go
	EditedFrom string       `json:"edited_from"` // the header x-edited-from of the new message
	// of a dry run: those of Queues without consumers, in order, if the message would have an expiration
	Expiring List[string] `json:"expiring"`
}
