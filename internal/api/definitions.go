package api

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// DefinitionsOrigin says where definitions were exported.
type DefinitionsOrigin struct {
	RabbitVersion       string `json:"rabbit_version"`
	RabbitMQVersion     string `json:"rabbitmq_version"`
	ProductName         string `json:"product_name"`
	ProductVersion      string `json:"product_version"`
	Format              string `json:"rabbitmq_definition_format"` // FormatCluster or FormatVHost
	OriginalClusterName string `json:"original_cluster_name,omitempty"`
	OriginalVHostName   string `json:"original_vhost_name,omitempty"`
	Explanation         string `json:"explanation"`
}

// The formats of definitions.
const (
	FormatCluster = "cluster"
	FormatVHost   = "single_virtual_host"
)

// Definitions answers GET /api/definitions, and is the body of POST: all that was declared, without messages. A key
// that is absent from a body is an empty list.
type Definitions struct {
	DefinitionsOrigin
	Users            Section[DefinedUser]     `json:"users"`
	VHosts           Section[DefinedVHost]    `json:"vhosts"`
	Permissions      Section[Permission]      `json:"permissions"`
	TopicPermissions Section[TopicPermission] `json:"topic_permissions"`
	GlobalParameters Section[GlobalParameter] `json:"global_parameters"`
	VHostContents
}

// VHostDefinitions answers GET /api/definitions/{vhost}, and is the body of POST.
type VHostDefinitions struct {
	DefinitionsOrigin
	VHostContents
}

// VHostContents is what virtual hosts hold. In the definitions of one virtual host, VHost is empty everywhere.
type VHostContents struct {
	Parameters Section[DefinedParameter] `json:"parameters"`
	Policies   Section[DefinedPolicy]    `json:"policies"`
	Exchanges  Section[DefinedExchange]  `json:"exchanges"`
	Queues     Section[DefinedQueue]     `json:"queues"`
	Bindings   Section[DefinedBinding]   `json:"bindings"`
}

// A DefinedUser of Definitions.
type DefinedUser struct {
	Name string `json:"name"`
	PutUser
	Limits Limits `json:"limits"`
}

// A DefinedVHost of Definitions. What it does not say stays as it is: RabbitMQ up to 3.10 says the name alone, later
// series the rest in Metadata, and some of it beside that.
type DefinedVHost struct {
	Name                  string         `json:"name"`
	Limits                Limits         `json:"limits"`
	Metadata              *VHostMetadata `json:"metadata,omitempty"`
	Description           *string        `json:"description,omitempty"`
	Tags                  *Tags          `json:"tags,omitempty"`
	DefaultQueueType      *string        `json:"default_queue_type,omitempty"`
	Tracing               *Flag          `json:"tracing,omitempty"`
	ProtectedFromDeletion *Flag          `json:"protected_from_deletion,omitempty"`
}

// A DefinedParameter of definitions: operator policies and limits of virtual hosts are among them.
type DefinedParameter struct {
	VHost     string          `json:"vhost,omitempty"`
	Component string          `json:"component"`
	Name      string          `json:"name"`
	Value     json.RawMessage `json:"value"`
}

// A DefinedPolicy of definitions.
type DefinedPolicy struct {
	VHost string `json:"vhost,omitempty"`
	Name  string `json:"name"`
	PutPolicy
}

// A DefinedExchange of definitions.
type DefinedExchange struct {
	VHost      string    `json:"vhost,omitempty"`
	Name       string    `json:"name"`
	Type       string    `json:"type"`
	Durable    Flag      `json:"durable"`
	AutoDelete Flag      `json:"auto_delete"`
	Internal   Flag      `json:"internal"`
	Arguments  Arguments `json:"arguments"`
}

// A DefinedQueue of definitions.
type DefinedQueue struct {
	VHost      string    `json:"vhost,omitempty"`
	Name       string    `json:"name"`
	Type       string    `json:"type,omitempty"`
	Durable    Flag      `json:"durable"`
	AutoDelete Flag      `json:"auto_delete"`
	Arguments  Arguments `json:"arguments"`
}

// A DefinedBinding of definitions.
type DefinedBinding struct {
	VHost           string    `json:"vhost,omitempty"`
	Source          string    `json:"source"`
	Destination     string    `json:"destination"`
	DestinationType string    `json:"destination_type"` // queue or exchange
	RoutingKey      string    `json:"routing_key"`
	Arguments       Arguments `json:"arguments"`
}

// Limits are numbers under the names of limits. They may also arrive as a list of pairs [["name", 5]], or an empty
// list: RabbitMQ's command line exports them so.
type Limits map[string]Number

// MarshalJSON renders {} for no limit.
func (l Limits) MarshalJSON() ([]byte, error) { return Object[Number](l).MarshalJSON() }

// UnmarshalJSON takes an object or a list of pairs.
func (l *Limits) UnmarshalJSON(b []byte) error {
	*l = nil
	var pairs []json.RawMessage
	if err := json.Unmarshal(b, &pairs); err != nil {
		var limits map[string]json.RawMessage
		if err := json.Unmarshal(b, &limits); err != nil {
			return fmt.Errorf("limits must be an object of integers: %s", Wording(err))
		}
		for _, name := range slices.Sorted(maps.Keys(limits)) {
			if err := l.set(name, limits[name]); err != nil {
				return err
			}
		}
		return nil
	}
	for _, raw := range pairs {
		var name string
		var value json.RawMessage
		pair := []any{&name, &value}
		if err := json.Unmarshal(raw, &pair); err != nil || len(pair) != 2 || value == nil {
			return fmt.Errorf("limits must be an object of integers, or a list of pairs of name and integer, not of %s", raw)
		}
		if err := l.set(name, value); err != nil {
			return err
		}
	}
	return nil
}

func (l *Limits) set(name string, raw json.RawMessage) error {
	var n Number
	if err := n.UnmarshalJSON(raw); err != nil {
		return fmt.Errorf("%s%s %w", validationFailed, name, err)
	}
	if *l == nil {
		*l = Limits{}
	}
	(*l)[name] = n
	return nil
}
