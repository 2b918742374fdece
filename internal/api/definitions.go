package api

import (
	"encoding/json"
	"fmt"
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
	Users            List[DefinedUser]     `json:"users"`
	VHosts           List[DefinedVHost]    `json:"vhosts"`
	Permissions      List[Permission]      `json:"permissions"`
	TopicPermissions List[TopicPermission] `json:"topic_permissions"`
	GlobalParameters List[GlobalParameter] `json:"global_parameters"`
	VHostContents
}

// VHostDefinitions answers GET /api/definitions/{vhost}, and is the body of POST.
type VHostDefinitions struct {
	DefinitionsOrigin
	VHostContents
}

// VHostContents is what virtual hosts hold. In the definitions of one virtual host, VHost is empty everywhere.
type VHostContents struct {
	Parameters List[DefinedParameter] `json:"parameters"`
	Policies   List[DefinedPolicy]    `json:"policies"`
	Exchanges  List[DefinedExchange]  `json:"exchanges"`
	Queues     List[DefinedQueue]     `json:"queues"`
	Bindings   List[DefinedBinding]   `json:"bindings"`
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

// Limits are numbers under the names of limits. They may also arrive as an empty list.
type Limits map[string]Integer

// MarshalJSON renders {} for no limit.
func (l Limits) MarshalJSON() ([]byte, error) { return Object[Integer](l).MarshalJSON() }

// UnmarshalJSON takes an object or an empty list.
func (l *Limits) UnmarshalJSON(b []byte) error {
	var none []json.RawMessage
	if err := json.Unmarshal(b, &none); err == nil && len(none) == 0 {
		*l = nil
		return nil
	}
	var limits map[string]Integer
	if err := json.Unmarshal(b, &limits); err != nil {
		return fmt.Errorf("limits must be an object of integers: %w", err)
	}
	*l = limits
	return nil
}
