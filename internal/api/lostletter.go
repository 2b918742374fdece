package api

// LostTotals of GET /api/x/lost-letters counts the lost letters of a virtual host.
type LostTotals struct {
	VHost    string         `json:"vhost"`
	Messages int            `json:"messages"`
	Bytes    int64          `json:"bytes"` // against the option lost-letters-max-bytes
	ByCause  Object[uint64] `json:"by_cause"`
	Evicted  uint64         `json:"evicted"` // gone for lack of space or time since the broker started
}

// A LostLetter of GET /api/x/lost-letters/{vhost}: a dead letter that found no place.
type LostLetter struct {
	ID          uint64       `json:"id"`
	Cause       string       `json:"cause"`   // no_exchange, no_route, cycle, refused, hops, delivery_limit
	At          string       `json:"at"`      // as LostAt
	LostAt      string       `json:"lost_at"` // since when it is there: RFC 3339 with ms
	DiedAt      *string      `json:"died_at"` // its newest death
	Queue       string       `json:"queue"`   // where it died
	Reason      string       `json:"reason"`  // of its newest death
	Target      *string      `json:"target"`  // the queue that refused it, or would have had it again
	Exchange    string       `json:"exchange"`
	RoutingKeys List[string] `json:"routing_keys"` // with Exchange, where it was going
	Size        int64        `json:"size"`         // of what is stored, bytes
	Persistent  bool         `json:"persistent"`
	Deaths      List[Death]  `json:"deaths"` // the newest first
}

// LostLetters is a portion of them, oldest first.
type LostLetters struct {
	Items List[LostLetter] `json:"items"`
	Next  *uint64          `json:"next"` // what ?after= has to be for the next portion, null at the end
}

// A LostLetterContent of GET /api/x/lost-letters/{vhost}/{id} is a lost letter as a consumer would get it.
type LostLetterContent struct {
	LostLetterHead
	Payload         string `json:"payload"`
	PayloadEncoding string `json:"payload_encoding"` // string or base64
}

// A LostLetterHead is what comes before the payload.
type LostLetterHead struct {
	LostLetter
	PayloadBytes int       `json:"payload_bytes"` // of the whole payload, shown or not
	Properties   Arguments `json:"properties"`
}

// PostRepublish is the body of POST /api/x/lost-letters/{vhost}/republish: IDs, or All, perhaps of one Cause. With
// Exchange lost letters go there, by RoutingKey or, without it, by their own keys; else where they were
// going.
type PostRepublish struct {
	IDs        *[]Integer `json:"ids,omitempty"`
	All        Flag       `json:"all,omitempty"`
	Cause      string     `json:"cause,omitempty"`
	Exchange   *string    `json:"exchange,omitempty"`
	RoutingKey *string    `json:"routing_key,omitempty"`
}

// Outcomes answers PostRepublish and DELETE: how many lost letters went which way. An outcome is redriven,
// discarded, unknown (there is no such lost letter), or why a lost letter stays: no_exchange, no_route,
// refused.
type Outcomes struct {
	Outcomes    Object[int]         `json:"outcomes"`
	LostLetters []LostLetterOutcome `json:"letters,omitempty"` // one by one, unless there are too many
}

// A LostLetterOutcome is what became of one lost letter.
type LostLetterOutcome struct {
	ID      uint64 `json:"id"`
	Outcome string `json:"outcome"`
}
