package api

// A StoredMessage is a message in a queue, a lost letter, or a scheduled message. Its name is that of the
// shape in OpenAPI.
type StoredMessage struct {
	// digits: names it within Queue, or among the lost letters; of a scheduled message its ID
	ID    string `json:"id"`
	VHost string `json:"vhost"` //
	Place string `json:"place"` // queue, lost, scheduled
	Queue string `json:"queue"` // where it is; the delayed exchange of a scheduled message; "" for a lost letter
	State string `json:"state"` // ready, unacked, waiting, held, lost, scheduled

	Exchange    string       `json:"exchange"`     // of its last hop
	RoutingKeys List[string] `json:"routing_keys"` // of its last hop, the first being what a consumer sees
	Redelivered bool         `json:"redelivered"`
	Returns     int64        `json:"returns"` // deliveries that came back
	Persistent  bool         `json:"persistent"`
	Size        int64        `json:"size"` // of the payload, bytes
	Due         *string      `json:"due"`  // RFC 3339 with ms: until when it waits
	// of a message that waits in a queue: its ID for /api/x/waiting/{vhost}/{queue}/retry
	WaitingID string  `json:"waiting_id,omitempty"`
	Expires   *string `json:"expires"`
	// of a lost letter or held dead letter: no_exchange, no_route, cycle, refused, hops, delivery_limit,
	// discarded
	Cause  *string `json:"cause"`
	Target *string `json:"target"` // of a lost letter: the queue that did not take it
	// RFC 3339: of its newest death; if a client published it as a dead letter, when it failed, by
	// its headers, or else as ArrivedAt; or else as LostAt
	At *string `json:"at"`
	// when it came as a dead letter, if no death of it is known
	ArrivedAt *string      `json:"arrived_at"`
	LostAt    *string      `json:"lost_at"` // of a lost letter: since when it is one
	MessageID string       `json:"message_id"`
	Deaths    List[Death]  `json:"deaths"` // the newest first
	First     *DeathOrigin `json:"first_death"`
	Last      *DeathOrigin `json:"last_death"`
	Redrives  int64        `json:"redrives"`  // x-redrive-count
	Redrive   *int64       `json:"redrive"`   // the job that sent it last
	CameBack  bool         `json:"came_back"` // it has died since then
	// a client has published it where failures go, and the broker knows of no death
	Republished *Failure `json:"republished,omitempty"`

	// Only if the caller may read payloads, and asked for them.
	Properties      Editable `json:"properties,omitempty"` // headers among them
	Payload         *string  `json:"payload,omitempty"`
	PayloadEncoding string   `json:"payload_encoding,omitempty"` // string or base64
	Truncated       bool     `json:"truncated,omitempty"`        // the payload is longer than what is shown
}

// A Failure is what the headers of such a message tell of where it came from; each is "" if they do not.
type Failure struct {
	Exchange   string `json:"exchange"`
	RoutingKey string `json:"routing_key"`
	Queue      string `json:"queue"`
}

// A DeathOrigin is what x-first-death-* or x-last-death-* tells.
type DeathOrigin struct {
	Reason   string `json:"reason"`
	Queue    string `json:"queue"`
	Exchange string `json:"exchange"`
}

// A Death is an entry of x-death.
type Death struct {
	Count              int64        `json:"count"`
	Reason             string       `json:"reason"`
	Queue              string       `json:"queue"`
	Time               int64        `json:"time"` // of the first, seconds since the Unix epoch
	Exchange           string       `json:"exchange"`
	RoutingKeys        List[string] `json:"routing-keys"`
	OriginalExpiration *string      `json:"original-expiration,omitempty"` // ms, as the publisher wrote it
}

// MessagePage is a portion of them. GET /api/x/queues/{vhost}/{queue}/messages, GET
// /api/x/lost-letters/{vhost}/messages and GET /api/x/letters/{vhost}, all with ?filter= &order=oldest|newest
// &limit= &after= &payload=true &truncate=. One of them is at …/messages/{id}, with ?offset= &limit= of the
// payload, and its payload as a file at …/messages/{id}/payload.
type MessagePage struct {
	Items   List[StoredMessage] `json:"items"`
	Next    *string             `json:"next"`    // what ?after= has to be for the next portion, null at the end
	Scanned int                 `json:"scanned"` // messages that were looked at for this portion
	Partial bool                `json:"partial"` // the budget ended before the portion was full: go on with Next
	Index   *IndexState         `json:"index"`   // null: answered without the index
}

// An IndexState says up to when answers of the index are complete.
type IndexState struct {
	CompleteUntil string `json:"complete_until"` // RFC 3339: what came before is in the answer
	Behind        int64  `json:"behind"`         // messages that are not in the index yet
}
