package api

// A HeldDeadLetter of GET /api/x/held/{vhost}/{queue}: a dead letter that its queue holds until its targets
// take it.
type HeldDeadLetter struct {
	ID          string       `json:"id"`     // digits; wider than what JavaScript takes for a number
	Cause       string       `json:"cause"`  // no_exchange, no_route, refused
	Reason      string       `json:"reason"` // of its newest death
	Since       *string      `json:"since"`  // RFC 3339; null if it had died there for that reason before
	Took        List[string] `json:"took"`   // the queues that have it already
	Exchange    string       `json:"exchange"`
	RoutingKeys List[string] `json:"routing_keys"` // with Exchange, where it was published in the hop that ended here
	Size        int64        `json:"size"`         // of what is stored, bytes
	Deaths      List[Death]  `json:"deaths"`       // the newest first
}

// HeldDeadLetters is a portion of them, in queue order.
type HeldDeadLetters struct {
	Items List[HeldDeadLetter] `json:"items"`
	Next  *string              `json:"next"` // what ?after= has to be for the next portion, null at the end
}
