package management

import (
	"encoding/json"

	"github.com/bartleby-mq/bartleby/internal/api"
)

// An operation is what the OpenAPI document says of a route: the path with names for its variable segments, in a
// sentence what it does, and the shapes of the request's body and the answer's, nil for none.
type operation struct {
	at      string // method and path
	summary string
	in, out any
}

// operations describe every route of routes(); a test holds the two together.
func operations() []operation {
	return append(append(append([]operation{}, nodeOperations()...), accessOperations()...),
		append(objectOperations(), ownOperations()...)...)
}

// anything is a value of which nothing is said.
type anything = json.RawMessage

// inNode is a body that names a node.
type inNode struct {
	Node string `json:"node"`
}

func nodeOperations() []operation {
	type none = api.List[api.Object[anything]]
	type health = api.Health
	return []operation{
		{"GET version", "The version of the broker", nil, ""},
		{"GET overview", "Overview of the node, with totals over the caller's virtual hosts", nil, api.Overview{}},
		{"GET whoami", "The caller", nil, api.WhoAmI{}},
		{"GET cluster-name", "The name of the cluster", nil, api.ClusterName{}},
		{"PUT cluster-name", "Names the cluster", api.ClusterName{}, nil},
		{"GET nodes", "The nodes", nil, api.List[api.Node]{}},
		{"GET nodes/{node}", "A node", nil, api.Node{}},
		{"GET nodes/{node}/memory", "Memory use of a node by category, in bytes", nil, api.NodeMemory{}},
		{"GET nodes/{node}/memory/relative", "Memory use of a node by category, in percent", nil, api.NodeMemory{}},
		{"GET config/effective", "The effective configuration, as text", nil, nil},
		{"DELETE reset", "Resets the statistics database", nil, nil},
		{"DELETE reset/{node}", "Resets the statistics database of a node", nil, nil},
		{"POST login", "Logs in with the form fields username and password", nil, api.LoggedIn{}},
		{"DELETE login", "Logs out", nil, nil},
		{"GET extensions", "Extensions of the console: none", nil, none{}},
		{"GET feature-flags", "Feature flags; all are enabled", nil, api.List[api.FeatureFlag]{}},
		{"PUT feature-flags/{flag}/enable", "Enables a feature flag; has no effect", nil, nil},
		{"GET deprecated-features", "Deprecated features of RabbitMQ and their state", nil, api.List[api.DeprecatedFeature]{}},
		{"GET deprecated-features/used", "Deprecated features in use: none", nil, none{}},
		{"GET auth/hash_password/{password}", "The salted hash of a password", nil, api.HashedPassword{}},
		{"GET auth/attempts/{node}", "Login attempts over HTTP", nil, api.List[api.LoginAttempts]{}},
		{"DELETE auth/attempts/{node}", "Resets the counters of login attempts", nil, nil},
		{"GET auth/attempts/{node}/source", "Login attempts by source: not counted", nil, none{}},
		{"DELETE auth/attempts/{node}/source", "Resets the counters of login attempts by source", nil, nil},
		{"POST rebalance/queues", "Rebalances queue leaders: no effect on a single node", nil, nil},
		{"GET federation-links", "Federation links: none", nil, none{}},
		{"GET federation-links/{vhost}", "Federation links of a virtual host: none", nil, none{}},
		{"GET shovels", "Shovels: none", nil, none{}},
		{"GET shovels/{vhost}", "Shovels of a virtual host: none", nil, none{}},
		{"GET shovels/vhost/{vhost}/{name}", "A shovel: none", nil, none{}},

		{"GET health/checks/alarms", "503 while there is an alarm", nil, health{}},
		{"GET health/checks/local-alarms", "503 while there is an alarm on this node", nil, health{}},
		{"GET health/checks/port-listener/{port}", "503 unless the broker listens on the port", nil, api.PortHealth{}},
		{"GET health/checks/protocol-listener/{protocols}", "503 unless the broker listens for the protocols, a comma-separated list", nil, api.ProtocolHealth{}},
		{"GET health/checks/virtual-hosts", "503 while a virtual host is down", nil, health{}},
		{"GET health/checks/node-is-quorum-critical", "503 if queues would lose their quorum with this node", nil, health{}},
		{"GET health/checks/is-in-service", "200 while the broker is running", nil, health{}},
		{"GET health/checks/ready-to-serve-clients", "200 while the broker accepts clients", nil, health{}},
		{"GET health/checks/below-node-connection-limit", "200 while the connection limit is not reached", nil, health{}},
		{"GET health/checks/reached-target-cluster-size", "200 once the cluster is complete", nil, health{}},
		{"GET health/checks/certificate-expiration/{within}/{unit}", "503 if a certificate expires within the given days, weeks, months or years", nil, health{}},
		{"GET health/checks/metadata-store/initialized", "200 once definitions can be read", nil, health{}},
		{"GET health/checks/metadata-store/initialized/with-data", "200 once definitions were read", nil, health{}},
		{"GET health/checks/quorum-queues-without-elected-leaders/all-vhosts", "503 if quorum queues have no leader", nil, health{}},
		{"GET health/checks/quorum-queues-without-elected-leaders/all-vhosts/pattern/{pattern}", "503 if matching quorum queues have no leader", nil, health{}},
		{"GET health/checks/quorum-queues-without-elected-leaders/vhost/{vhost}", "503 if quorum queues of a virtual host have no leader", nil, health{}},
		{"GET health/checks/quorum-queues-without-elected-leaders/vhost/{vhost}/pattern/{pattern}", "503 if matching quorum queues have no leader", nil, health{}},
		{"GET healthchecks/node", "Alarms and virtual hosts in one check", nil, health{}},
		{"GET healthchecks/node/{node}", "Alarms and virtual hosts of a node in one check", nil, health{}},
		{"GET aliveness-test/{vhost}", "200 if the virtual host is usable", nil, health{}},
	}
}

func accessOperations() []operation {
	permissions, topics := api.List[api.Permission]{}, api.List[api.TopicPermission]{}
	return []operation{
		{"GET vhosts", "Virtual hosts that the caller can access", nil, api.List[api.VHost]{}},
		{"GET vhosts/{vhost}", "A virtual host", nil, api.VHost{}},
		{"PUT vhosts/{vhost}", "Creates a virtual host, or changes the given fields", api.PutVHost{}, nil},
		{"DELETE vhosts/{vhost}", "Deletes a virtual host and everything in it", nil, nil},
		{"POST vhosts/{vhost}/deletion/protection", "Protects a virtual host from deletion", nil, nil},
		{"DELETE vhosts/{vhost}/deletion/protection", "Removes the deletion protection of a virtual host", nil, nil},
		{"POST vhosts/{vhost}/start/{node}", "204 if the virtual host is up", nil, nil},
		{"GET vhosts/{vhost}/permissions", "Permissions in a virtual host", nil, permissions},
		{"GET vhosts/{vhost}/topic-permissions", "Topic permissions in a virtual host", nil, topics},
		{"GET vhosts/{vhost}/connections", "The connections to a virtual host", nil, api.List[api.Connection]{}},
		{"GET vhosts/{vhost}/channels", "The channels in a virtual host", nil, api.List[api.Channel]{}},
		{"GET vhost-limits", "Limits of all virtual hosts", nil, api.List[api.VHostLimits]{}},
		{"GET vhost-limits/{vhost}", "The limits of a virtual host", nil, api.List[api.VHostLimits]{}},
		{"PUT vhost-limits/{vhost}/{limit}", "Sets max-connections or max-queues of a virtual host", api.PutLimit{}, nil},
		{"DELETE vhost-limits/{vhost}/{limit}", "Clears a limit of a virtual host", nil, nil},
		{"GET users", "The users", nil, api.List[api.User]{}},
		{"GET users/without-permissions", "Users without access to any virtual host", nil, api.List[api.User]{}},
		{"POST users/bulk-delete", "Deletes users", api.BulkDelete{}, nil},
		{"GET users/{user}", "A user", nil, api.User{}},
		{"PUT users/{user}", "Creates a user, or replaces its password and tags", api.PutUser{}, nil},
		{"DELETE users/{user}", "Deletes a user", nil, nil},
		{"GET users/{user}/permissions", "Permissions of a user", nil, permissions},
		{"GET users/{user}/topic-permissions", "Topic permissions of a user", nil, topics},
		{"GET users/{user}/queues", "The exclusive queues of a user's connections", nil, api.List[api.Queue]{}},
		{"GET user-limits", "Limits of all users", nil, api.List[api.UserLimits]{}},
		{"GET user-limits/{user}", "The limits of a user", nil, api.List[api.UserLimits]{}},
		{"PUT user-limits/{user}/{limit}", "Sets max-connections or max-channels of a user", api.PutLimit{}, nil},
		{"DELETE user-limits/{user}/{limit}", "Clears a limit of a user", nil, nil},
		{"GET permissions", "All permissions", nil, permissions},
		{"GET permissions/{vhost}/{user}", "Permissions of a user in a virtual host", nil, api.Permission{}},
		{"PUT permissions/{vhost}/{user}", "Sets the permissions of a user: three regular expressions", api.PutPermission{}, nil},
		{"DELETE permissions/{vhost}/{user}", "Removes the permissions of a user in a virtual host", nil, nil},
		{"GET topic-permissions", "All topic permissions", nil, topics},
		{"GET topic-permissions/{vhost}/{user}", "Topic permissions of a user in a virtual host", nil, topics},
		{"PUT topic-permissions/{vhost}/{user}", "Sets the topic permissions of a user for an exchange", api.PutTopicPermission{}, nil},
		{"DELETE topic-permissions/{vhost}/{user}", "Takes these away", nil, nil},
		{"DELETE topic-permissions/{vhost}/{user}/{exchange}", "Clears the topic permissions of a user for an exchange", nil, nil},
		{"GET policies", "The policies", nil, api.List[api.Policy]{}},
		{"GET policies/{vhost}", "The policies of a virtual host", nil, api.List[api.Policy]{}},
		{"GET policies/{vhost}/{policy}", "A policy", nil, api.Policy{}},
		{"PUT policies/{vhost}/{policy}", "Creates or changes a policy; it applies immediately", api.PutPolicy{}, nil},
		{"DELETE policies/{vhost}/{policy}", "Deletes a policy", nil, nil},
		{"GET operator-policies", "The operator policies", nil, api.List[api.Policy]{}},
		{"GET operator-policies/{vhost}", "The operator policies of a virtual host", nil, api.List[api.Policy]{}},
		{"GET operator-policies/{vhost}/{policy}", "An operator policy", nil, api.Policy{}},
		{"PUT operator-policies/{vhost}/{policy}", "Creates or changes an operator policy", api.PutPolicy{}, nil},
		{"DELETE operator-policies/{vhost}/{policy}", "Deletes an operator policy", nil, nil},
		{"GET parameters", "The runtime parameters", nil, api.List[api.Parameter]{}},
		{"GET parameters/{component}", "Runtime parameters of a component", nil, api.List[api.Parameter]{}},
		{"GET parameters/{component}/{vhost}", "Runtime parameters of a component in a virtual host", nil, api.List[api.Parameter]{}},
		{"GET parameters/{component}/{vhost}/{name}", "A runtime parameter", nil, api.Parameter{}},
		{"PUT parameters/{component}/{vhost}/{name}", "Sets a runtime parameter", api.PutParameter{}, nil},
		{"DELETE parameters/{component}/{vhost}/{name}", "Deletes a runtime parameter", nil, nil},
		{"GET global-parameters", "The global parameters", nil, api.List[api.GlobalParameter]{}},
		{"GET global-parameters/{name}", "A global parameter", nil, api.GlobalParameter{}},
		{"PUT global-parameters/{name}", "Sets a global parameter", api.PutParameter{}, nil},
		{"DELETE global-parameters/{name}", "Deletes a global parameter", nil, nil},
		{"GET definitions", "Definitions of the whole broker, without messages", nil, api.Definitions{}},
		{"POST definitions", "Imports definitions", api.Definitions{}, nil},
		{"GET all-configuration", "Same as definitions", nil, api.Definitions{}},
		{"POST all-configuration", "Same as definitions", api.Definitions{}, nil},
		{"GET definitions/{vhost}", "Definitions of a virtual host", nil, api.VHostDefinitions{}},
		{"POST definitions/{vhost}", "Imports definitions into a virtual host", api.VHostDefinitions{}, nil},
	}
}

func objectOperations() []operation {
	bindings, connections := api.List[api.Binding]{}, api.List[api.Connection]{}
	return []operation{
		{"GET queues", "The queues", nil, api.List[api.Queue]{}},
		{"GET queues/detailed", "Queues with all details", nil, api.List[api.Queue]{}},
		{"GET queues/{vhost}", "The queues of a virtual host", nil, api.List[api.Queue]{}},
		{"GET queues/{vhost}/{queue}", "A queue, with its consumers", nil, api.Queue{}},
		{"PUT queues/{vhost}/{queue}", "Declares a queue", api.PutQueue{}, nil},
		{"DELETE queues/{vhost}/{queue}", "Deletes a queue; if-empty=true and if-unused=true are conditions", nil, nil},
		{"GET queues/{vhost}/{queue}/bindings", "The bindings to a queue", nil, bindings},
		{"DELETE queues/{vhost}/{queue}/contents", "Deletes the ready messages of a queue", nil, nil},
		{"POST queues/{vhost}/{queue}/get", "Gets messages from a queue", api.PostGet{}, api.List[api.Message]{}},
		{"POST queues/{vhost}/{queue}/actions", "Not supported: there are no actions", struct {
			Action string `json:"action"`
		}{}, nil},
		{"GET queues/quorum/{vhost}/{queue}/status", "The members of a quorum queue", nil, api.List[api.Replica]{}},
		{"POST queues/quorum/{vhost}/{queue}/replicas/add", "Adds a member to a quorum queue", inNode{}, nil},
		{"DELETE queues/quorum/{vhost}/{queue}/replicas/delete", "Removes a member from a quorum queue", inNode{}, nil},
		{"POST queues/quorum/replicas/on/{node}/grow", "Adds a node to the members of quorum queues", nil, nil},
		{"DELETE queues/quorum/replicas/on/{node}/shrink", "Removes a node from the members of quorum queues", nil, nil},
		{"GET exchanges", "The exchanges", nil, api.List[api.Exchange]{}},
		{"GET exchanges/{vhost}", "The exchanges of a virtual host", nil, api.List[api.Exchange]{}},
		{"GET exchanges/{vhost}/{exchange}", "An exchange", nil, api.Exchange{}},
		{"PUT exchanges/{vhost}/{exchange}", "Declares an exchange", api.PutExchange{}, nil},
		{"DELETE exchanges/{vhost}/{exchange}", "Deletes an exchange; if-unused=true is a condition", nil, nil},
		{"GET exchanges/{vhost}/{exchange}/bindings/source", "The bindings from an exchange", nil, bindings},
		{"GET exchanges/{vhost}/{exchange}/bindings/destination", "The bindings to an exchange", nil, bindings},
		{"POST exchanges/{vhost}/{exchange}/publish", "Publishes a message", api.PostPublish{}, api.Published{}},
		{"GET bindings", "The bindings", nil, bindings},
		{"GET bindings/{vhost}", "The bindings of a virtual host", nil, bindings},
		{"GET bindings/{vhost}/e/{source}/q/{destination}", "The bindings between an exchange and a queue", nil, bindings},
		{"POST bindings/{vhost}/e/{source}/q/{destination}", "Binds a queue to an exchange; the header Location has the URL of the binding", api.PostBinding{}, nil},
		{"GET bindings/{vhost}/e/{source}/q/{destination}/{properties}", "A binding, by its properties_key", nil, api.Binding{}},
		{"DELETE bindings/{vhost}/e/{source}/q/{destination}/{properties}", "Unbinds a queue", nil, nil},
		{"GET bindings/{vhost}/e/{source}/e/{destination}", "The bindings between two exchanges", nil, bindings},
		{"POST bindings/{vhost}/e/{source}/e/{destination}", "Binds an exchange to an exchange; the header Location has the URL of the binding", api.PostBinding{}, nil},
		{"GET bindings/{vhost}/e/{source}/e/{destination}/{properties}", "A binding, by its properties_key", nil, api.Binding{}},
		{"DELETE bindings/{vhost}/e/{source}/e/{destination}/{properties}", "Unbinds an exchange", nil, nil},
		{"GET connections", "Connections of the caller; with the tag monitoring, all connections", nil, connections},
		{"GET connections/{connection}", "A connection", nil, api.Connection{}},
		{"DELETE connections/{connection}", "Closes a connection; the header X-Reason is the reason", nil, nil},
		{"GET connections/username/{user}", "The connections of a user, in brief", nil, api.List[api.UserConnection]{}},
		{"DELETE connections/username/{user}", "Closes all connections of a user", nil, nil},
		{"GET connections/{connection}/channels", "The channels of a connection", nil, api.List[api.Channel]{}},
		{"GET channels", "The channels", nil, api.List[api.Channel]{}},
		{"GET channels/{channel}", "A channel, with its consumers", nil, api.Channel{}},
		{"GET consumers", "The consumers", nil, api.List[api.Consumer]{}},
		{"GET consumers/{vhost}", "The consumers of a virtual host", nil, api.List[api.Consumer]{}},
	}
}
