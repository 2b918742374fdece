package api

import "encoding/json"

// A Deed is an element of GET /api/x/audit: one administrative change.
type Deed struct {
	ID     uint64          `json:"id"` // 1, 2, …, without a gap
	At     string          `json:"at"` // RFC 3339 with milliseconds, UTC
	User   string          `json:"user"`
	From   string          `json:"from"`   // where the request came from; empty: the broker itself
	Action string          `json:"action"` // PUT, POST, DELETE, PATCH; IMPORT for definitions read at the start
	Object string          `json:"object"` // the path of the request, escaped
	Status int             `json:"status"` // of the answer
	Detail json.RawMessage `json:"detail,omitempty"`
}
