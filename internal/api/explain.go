package api

import (
	"encoding/json"

	"github.com/bartleby-mq/bartleby/internal/amqp"
)

// RawValue is v as JSON, by the rules of Arguments; nothing that is set is null.
func RawValue(v amqp.Value) json.RawMessage { return appendValue(nil, v, "null") }

// An Explanation answers GET /api/x/explain/queues/{vhost}/{name} and …/exchanges/…. Source: ours.
type Explanation struct {
	Name     string                 `json:"name"`
	VHost    string                 `json:"vhost"`
	Kind     string                 `json:"kind"` // queue or exchange
	Type     string                 `json:"type"`
	Settings List[ExplainedSetting] `json:"settings"`
	Policies List[ExplainedPolicy]  `json:"policies"` // of the virtual host: those in force first
	Ignored  List[IgnoredSetting]   `json:"ignored"`
	Warnings List[string]           `json:"warnings"`
}

// An ExplainedSetting says what is in force, and why.
type ExplainedSetting struct {
	Name   string          `json:"name"`
	Value  json.RawMessage `json:"value"`          // null: none
	Source string          `json:"source"`         // argument, policy, operator policy, option, default
	From   string          `json:"from,omitempty"` // the policy's or the option's name
	Why    string          `json:"why"`
}

// A SettingDescription says what a setting is: GET /api/x/settings lists all. Source: ours.
type SettingDescription struct {
	Name     string       `json:"name"`               // in policies
	Argument string       `json:"argument,omitempty"` // of a declaration; absent: arguments do not set it
	SetBy    List[string] `json:"set_by"`             // of argument, policy, operator policy
	// QueueType is the type of queue that knows the argument; absent: all do.
	QueueType string `json:"queue_type,omitempty"`
	AppliesTo string `json:"applies_to"` // queues or exchanges
	// Kind is text, number, bytes, duration (ms), durations (such as 10m,30m,1h), percentage, boolean, choice or any.
	Kind    string       `json:"kind"`
	Min     *int64       `json:"min,omitempty"`
	Max     *int64       `json:"max,omitempty"`
	Choices List[string] `json:"choices"` // of a choice, the default first
	// Wins says which value is effective if a queue has an argument and a policy: argument, policy, operator policy,
	// smaller or larger.
	Wins    string `json:"wins,omitempty"`
	NoLimit string `json:"no_limit,omitempty"` // the number that means no limit: negative or zero
	Rule    string `json:"rule,omitempty"`     // the same as wins, in a sentence
	Option  string `json:"option,omitempty"`   // the option of a virtual host that sets a default
	Inert   bool   `json:"inert"`              // accepted for compatibility, no effect
}

// An ExplainedPolicy says how a policy stands to an object.
type ExplainedPolicy struct {
	Policy
	Operator bool   `json:"operator"`
	Matches  bool   `json:"matches"`
	InForce  bool   `json:"in_force"`
	Why      string `json:"why"`
}

// An IgnoredSetting was asked for and does nothing.
type IgnoredSetting struct {
	Name   string `json:"name"`
	Source string `json:"source"`
	From   string `json:"from,omitempty"`
	Why    string `json:"why"`
}

// A PolicyTrial answers PUT and DELETE of /api/x/dry-run/policies/{vhost}/{name}, and of …/operator-policies/…, whose
// bodies are those of the endpoints that change something. Source: ours.
type PolicyTrial struct {
	Matched  int                 `json:"matched"` // objects that the policy matches
	Changed  int                 `json:"changed"` // objects whose settings would change
	Matches  List[PolicyOutcome] `json:"matches"` // these, and those that the policy would leave
	Warnings List[string]        `json:"warnings"`
}

// A PolicyOutcome is what a policy would mean for an object.
type PolicyOutcome struct {
	Name         string              `json:"name"`
	Kind         string              `json:"kind"` // queue or exchange
	Type         string              `json:"type"`
	Matches      bool                `json:"matches"`
	PolicyBefore string              `json:"policy_before"` // in force, of this kind; empty: none
	PolicyAfter  string              `json:"policy_after"`
	Changes      List[SettingChange] `json:"changes"`
	Drops        int                 `json:"messages_dropped"`   // at once, being over the limits
	Estimated    bool                `json:"messages_estimated"` // messages_dropped is computed from the average size
	Limits       List[string]        `json:"limits_exceeded"`    // max-length, max-length-bytes
	DeadLetters  bool                `json:"dead_letters"`       // what is dropped is dead-lettered, not deleted
}

// A SettingChange says what a setting was and would be, null being none.
type SettingChange struct {
	Name   string          `json:"name"`
	Before json.RawMessage `json:"before"`
	After  json.RawMessage `json:"after"`
}
