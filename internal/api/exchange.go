package api

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
