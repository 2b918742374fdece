package api

import "encoding/json"

// A Policy of GET /api/policies or /api/operator-policies.
type Policy struct {
	VHost      string    `json:"vhost"`
	Name       string    `json:"name"`
	Pattern    string    `json:"pattern"`
	ApplyTo    string    `json:"apply-to"` // all, queues, classic_queues, quorum_queues, streams, exchanges
	Definition Arguments `json:"definition"`
	Priority   int64     `json:"priority"`
}

// PutPolicy is the body of PUT /api/policies/{vhost}/{name}. Pattern and Definition must be present; Priority is 0
// and ApplyTo "all" if they are not.
type PutPolicy struct {
	Pattern    *string    `json:"pattern"`
	Definition *Arguments `json:"definition"`
	Priority   *Integer   `json:"priority,omitempty"`
	ApplyTo    *string    `json:"apply-to,omitempty"`
}

// A Parameter of GET /api/parameters.
type Parameter struct {
	VHost     string          `json:"vhost"`
	Component string          `json:"component"`
	Name      string          `json:"name"`
	Value     json.RawMessage `json:"value"`
}

// A GlobalParameter of GET /api/global-parameters.
type GlobalParameter struct {
	Name  string          `json:"name"`
	Value json.RawMessage `json:"value"`
}

// PutParameter is the body of PUT /api/parameters/… and /api/global-parameters/{name}.
type PutParameter struct {
	Value json.RawMessage `json:"value"`
}
