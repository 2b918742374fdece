package api

import (
	"encoding/json"
	"fmt"
)

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
	Priority   *Priority  `json:"priority,omitempty"`
	ApplyTo    *string    `json:"apply-to,omitempty"`
}

// A Priority is an Integer; what is none is refused as RabbitMQ words it.
type Priority Integer

// UnmarshalJSON takes what Integer takes.
func (p *Priority) UnmarshalJSON(b []byte) error {
	if (*Integer)(p).UnmarshalJSON(b) != nil {
		return priorityError(b)
	}
	return nil
}

// priorityError refuses what is no priority.
type priorityError []byte

func (e priorityError) Error() string {
	return fmt.Sprintf("Validation failed\n\npriority should be a number, actually was %s", []byte(e))
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
