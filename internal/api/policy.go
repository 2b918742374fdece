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
	Pattern    *Pattern   `json:"pattern"`
	Definition *Arguments `json:"definition"`
	Priority   *Priority  `json:"priority,omitempty"`
	ApplyTo    *string    `json:"apply-to,omitempty"`
}

// validationFailed begins RabbitMQ's words for a value of the wrong kind.
const validationFailed = "Validation failed\n\n"

// A Priority is a Number; what is none is refused as RabbitMQ words it.
type Priority Number

// UnmarshalJSON takes what Number takes.
func (p *Priority) UnmarshalJSON(b []byte) error {
	if err := (*Number)(p).UnmarshalJSON(b); err != nil {
		return fmt.Errorf("%spriority %w", validationFailed, err)
	}
	return nil
}

// A Pattern is a string; what is none is refused as RabbitMQ words it.
type Pattern string

// UnmarshalJSON takes a string.
func (p *Pattern) UnmarshalJSON(b []byte) error {
	if json.Unmarshal(b, (*string)(p)) != nil {
		return fmt.Errorf("%spattern should be a binary but was %s", validationFailed, term(b))
	}
	return nil
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
