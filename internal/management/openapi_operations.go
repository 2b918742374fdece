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
		{"GET overview", "The node and what it holds, summed up over the virtual hosts that the caller sees", nil, api.Overview{}},
		{"GET whoami", "The caller", nil, api.WhoAmI{}},
		{"GET cluster-name", "The name of the cluster", nil, api.ClusterName{}},
		{"PUT cluster-name", "Names the cluster", api.ClusterName{}, nil},
		{"GET nodes", "The nodes", nil, api.List[api.Node]{}},
		{"GET nodes/{node}", "A node", nil, api.Node{}},
		{"GET nodes/{node}/memory", "What a node uses memory for, in bytes", nil, api.NodeMemory{}},
		{"GET nodes/{node}/memory/relative", "The same in parts of a hundred", nil, api.NodeMemory{}},
		{"GET config/effective", "The configuration in force, as text", nil, nil},
		{"DELETE reset", "Forgets what rates are computed from", nil, nil},
		{"DELETE reset/{node}", "Forgets what rates of a node are computed from", nil, nil},
		{"POST login", "Logs in with the form fields username and password", nil, api.LoggedIn{}},
		{"DELETE login", "Logs out; no session is kept", nil, nil},
		{"GET extensions", "Extensions of the console: none", nil, none{}},
		{"GET feature-flags", "The feature flags, all enabled", nil, api.List[api.FeatureFlag]{}},
		{"PUT feature-flags/{flag}/enable", "Enables a feature flag, as it is", nil, nil},
		{"GET deprecated-features", "What RabbitMQ deprecates, and whether it is permitted", nil, api.List[api.DeprecatedFeature]{}},
		{"GET deprecated-features/used", "Deprecated features in use: none", nil, none{}},
		{"GET auth/hash_password/{password}", "The salted hash of a password", nil, api.HashedPassword{}},
		{"GET auth/attempts/{node}", "How often somebody logged in over HTTP", nil, api.List[api.LoginAttempts]{}},
		{"DELETE auth/attempts/{node}", "Sets that to zero", nil, nil},
		{"GET auth/attempts/{node}/source", "The same by source: not counted", nil, none{}},
		{"DELETE auth/attempts/{node}/source", "Sets the counts of attempts to zero", nil, nil},
		{"POST rebalance/queues", "Spreads leaders over nodes: nothing to do on one", nil, nil},
		{"GET federation-links", "Federation links: none", nil, none{}},
		{"GET federation-links/{vhost}", "Federation links of a virtual host: none", nil, none{}},
		{"GET shovels", "Shovels: none", nil, none{}},
		{"GET shovels/{vhost}", "Shovels of a virtual host: none", nil, none{}},
		{"GET shovels/vhost/{vhost}/{name}", "A shovel: none", nil, none{}},

		{"GET health/checks/alarms", "503 while an alarm holds publishers back", nil, health{}},
		{"GET health/checks/local-alarms", "The same for this node", nil, health{}},
		{"GET health/checks/port-listener/{port}", "503 unless the broker listens on the port", nil, api.PortHealth{}},
		{"GET health/checks/protocol-listener/{protocols}", "503 unless the broker listens for the protocols, with commas between", nil, api.ProtocolHealth{}},
		{"GET health/checks/virtual-hosts", "503 while a virtual host is down", nil, health{}},
		{"GET health/checks/node-is-quorum-critical", "503 if queues would lose their quorum with this node", nil, health{}},
		{"GET health/checks/is-in-service", "200 while the broker serves", nil, health{}},
		{"GET health/checks/ready-to-serve-clients", "200 while clients are served", nil, health{}},
		{"GET health/checks/below-node-connection-limit", "200 while there is room for connections", nil, health{}},
		{"GET health/checks/reached-target-cluster-size", "200 once the cluster has its nodes", nil, health{}},
		{"GET health/checks/certificate-expiration/{within}/{unit}", "503 if a certificate expires within so many days, weeks, months or years", nil, health{}},
		{"GET health/checks/metadata-store/initialized", "200 once definitions can be read", nil, health{}},
		{"GET health/checks/metadata-store/initialized/with-data", "200 once definitions were read", nil, health{}},
		{"GET health/checks/quorum-queues-without-elected-leaders/all-vhosts", "503 if quorum queues have no leader", nil, health{}},
		{"GET health/checks/quorum-queues-without-elected-leaders/all-vhosts/pattern/{pattern}", "The same for the queues that match", nil, health{}},
		{"GET health/checks/quorum-queues-without-elected-leaders/vhost/{vhost}", "503 if quorum queues of a virtual host have no leader", nil, health{}},
		{"GET health/checks/quorum-queues-without-elected-leaders/vhost/{vhost}/pattern/{pattern}", "The same for the queues that match", nil, health{}},
		{"GET healthchecks/node", "Alarms and virtual hosts in one check", nil, health{}},
		{"GET healthchecks/node/{node}", "The same for a node", nil, health{}},
		{"GET aliveness-test/{vhost}", "200 if the virtual host can be entered", nil, health{}},
	}
}

func accessOperations() []operation {
	permissions, topics := api.List[api.Permission]{}, api.List[api.TopicPermission]{}
	return []operation{
		{"GET vhosts", "The virtual hosts that the caller sees", nil, api.List[api.VHost]{}},
		{"GET vhosts/{vhost}", "A virtual host", nil, api.VHost{}},
		{"PUT vhosts/{vhost}", "Makes a virtual host, or changes what the body names of one", api.PutVHost{}, nil},
		{"DELETE vhosts/{vhost}", "Deletes a virtual host with all it holds", nil, nil},
		{"POST vhosts/{vhost}/deletion/protection", "Protects a virtual host from deletion", nil, nil},
		{"DELETE vhosts/{vhost}/deletion/protection", "Takes the protection away", nil, nil},
		{"POST vhosts/{vhost}/start/{node}", "204 if the virtual host is up", nil, nil},
		{"GET vhosts/{vhost}/permissions", "Who may do what in a virtual host", nil, permissions},
		{"GET vhosts/{vhost}/topic-permissions", "Which routing keys who may use in a virtual host", nil, topics},
		{"GET vhosts/{vhost}/connections", "The connections to a virtual host", nil, api.List[api.Connection]{}},
		{"GET vhosts/{vhost}/channels", "The channels in a virtual host", nil, api.List[api.Channel]{}},
		{"GET vhost-limits", "The limits of virtual hosts that have any", nil, api.List[api.VHostLimits]{}},
		{"GET vhost-limits/{vhost}", "The limits of a virtual host", nil, api.List[api.VHostLimits]{}},
		{"PUT vhost-limits/{vhost}/{limit}", "Sets max-connections or max-queues of a virtual host", api.PutLimit{}, nil},
		{"DELETE vhost-limits/{vhost}/{limit}", "Takes a limit of a virtual host away", nil, nil},
		{"GET users", "The users", nil, api.List[api.User]{}},
		{"GET users/without-permissions", "The users who may enter no virtual host", nil, api.List[api.User]{}},
		{"POST users/bulk-delete", "Deletes users", api.BulkDelete{}, nil},
		{"GET users/{user}", "A user", nil, api.User{}},
		{"PUT users/{user}", "Makes a user, or replaces password and tags of one", api.PutUser{}, nil},
		{"DELETE users/{user}", "Deletes a user", nil, nil},
		{"GET users/{user}/permissions", "What a user may do", nil, permissions},
		{"GET users/{user}/topic-permissions", "Which routing keys a user may use", nil, topics},
		{"GET users/{user}/queues", "The exclusive queues of a user's connections", nil, api.List[api.Queue]{}},
		{"GET user-limits", "The limits of users who have any", nil, api.List[api.UserLimits]{}},
		{"GET user-limits/{user}", "The limits of a user", nil, api.List[api.UserLimits]{}},
		{"PUT user-limits/{user}/{limit}", "Sets max-connections or max-channels of a user", api.PutLimit{}, nil},
		{"DELETE user-limits/{user}/{limit}", "Takes a limit of a user away", nil, nil},
		{"GET permissions", "Who may do what", nil, permissions},
		{"GET permissions/{vhost}/{user}", "What a user may do in a virtual host", nil, api.Permission{}},
		{"PUT permissions/{vhost}/{user}", "Lets a user do what three regular expressions match", api.PutPermission{}, nil},
		{"DELETE permissions/{vhost}/{user}", "Keeps a user out of a virtual host", nil, nil},
		{"GET topic-permissions", "Which routing keys who may use", nil, topics},
		{"GET topic-permissions/{vhost}/{user}", "Which routing keys a user may use in a virtual host", nil, topics},
		{"PUT topic-permissions/{vhost}/{user}", "Lets a user use the routing keys of an exchange that match", api.PutTopicPermission{}, nil},
		{"DELETE topic-permissions/{vhost}/{user}", "Takes these away", nil, nil},
		{"DELETE topic-permissions/{vhost}/{user}/{exchange}", "Takes those of one exchange away", nil, nil},
		{"GET policies", "The policies", nil, api.List[api.Policy]{}},
		{"GET policies/{vhost}", "The policies of a virtual host", nil, api.List[api.Policy]{}},
		{"GET policies/{vhost}/{policy}", "A policy", nil, api.Policy{}},
		{"PUT policies/{vhost}/{policy}", "Sets a policy, in force when the answer comes", api.PutPolicy{}, nil},
		{"DELETE policies/{vhost}/{policy}", "Takes a policy away", nil, nil},
		{"GET operator-policies", "The operator policies", nil, api.List[api.Policy]{}},
		{"GET operator-policies/{vhost}", "The operator policies of a virtual host", nil, api.List[api.Policy]{}},
		{"GET operator-policies/{vhost}/{policy}", "An operator policy", nil, api.Policy{}},
		{"PUT operator-policies/{vhost}/{policy}", "Sets an operator policy", api.PutPolicy{}, nil},
		{"DELETE operator-policies/{vhost}/{policy}", "Takes an operator policy away", nil, nil},
		{"GET parameters", "The runtime parameters", nil, api.List[api.Parameter]{}},
		{"GET parameters/{component}", "Those of a component", nil, api.List[api.Parameter]{}},
		{"GET parameters/{component}/{vhost}", "Those of a component in a virtual host", nil, api.List[api.Parameter]{}},
		{"GET parameters/{component}/{vhost}/{name}", "A runtime parameter", nil, api.Parameter{}},
		{"PUT parameters/{component}/{vhost}/{name}", "Sets a runtime parameter", api.PutParameter{}, nil},
		{"DELETE parameters/{component}/{vhost}/{name}", "Takes a runtime parameter away", nil, nil},
		{"GET global-parameters", "The global parameters", nil, api.List[api.GlobalParameter]{}},
		{"GET global-parameters/{name}", "A global parameter", nil, api.GlobalParameter{}},
		{"PUT global-parameters/{name}", "Sets a global parameter", api.PutParameter{}, nil},
		{"DELETE global-parameters/{name}", "Takes a global parameter away", nil, nil},
		{"GET definitions", "All that was declared, without messages", nil, api.Definitions{}},
		{"POST definitions", "Adds what was exported elsewhere", api.Definitions{}, nil},
		{"GET all-configuration", "The same as definitions", nil, api.Definitions{}},
		{"POST all-configuration", "The same as definitions", api.Definitions{}, nil},
		{"GET definitions/{vhost}", "All that was declared in a virtual host", nil, api.VHostDefinitions{}},
		{"POST definitions/{vhost}", "Adds to a virtual host what was exported elsewhere", api.VHostDefinitions{}, nil},
	}
}

func objectOperations() []operation {
	bindings, connections := api.List[api.Binding]{}, api.List[api.Connection]{}
	return []operation{
		{"GET queues", "The queues", nil, api.List[api.Queue]{}},
		{"GET queues/detailed", "The queues, with all that is known of them", nil, api.List[api.Queue]{}},
		{"GET queues/{vhost}", "The queues of a virtual host", nil, api.List[api.Queue]{}},
		{"GET queues/{vhost}/{queue}", "A queue, with its consumers", nil, api.Queue{}},
		{"PUT queues/{vhost}/{queue}", "Declares a queue", api.PutQueue{}, nil},
		{"DELETE queues/{vhost}/{queue}", "Deletes a queue; if-empty=true and if-unused=true hold it back", nil, nil},
		{"GET queues/{vhost}/{queue}/bindings", "The bindings to a queue", nil, bindings},
		{"DELETE queues/{vhost}/{queue}/contents", "Deletes the ready messages of a queue", nil, nil},
		{"POST queues/{vhost}/{queue}/get", "Takes messages from a queue", api.PostGet{}, api.List[api.Message]{}},
		{"POST queues/{vhost}/{queue}/actions", "Refused: there is no action", struct {
			Action string `json:"action"`
		}{}, nil},
		{"GET queues/quorum/{vhost}/{queue}/status", "The members of a quorum queue", nil, api.List[api.Replica]{}},
		{"POST queues/quorum/{vhost}/{queue}/replicas/add", "Adds a member to a quorum queue", inNode{}, nil},
		{"DELETE queues/quorum/{vhost}/{queue}/replicas/delete", "Takes a member from a quorum queue", inNode{}, nil},
		{"POST queues/quorum/replicas/on/{node}/grow", "Adds a node to the members of quorum queues", nil, nil},
		{"DELETE queues/quorum/replicas/on/{node}/shrink", "Takes a node from the members of quorum queues", nil, nil},
		{"GET exchanges", "The exchanges", nil, api.List[api.Exchange]{}},
		{"GET exchanges/{vhost}", "The exchanges of a virtual host", nil, api.List[api.Exchange]{}},
		{"GET exchanges/{vhost}/{exchange}", "An exchange", nil, api.Exchange{}},
		{"PUT exchanges/{vhost}/{exchange}", "Declares an exchange", api.PutExchange{}, nil},
		{"DELETE exchanges/{vhost}/{exchange}", "Deletes an exchange; if-unused=true holds it back", nil, nil},
		{"GET exchanges/{vhost}/{exchange}/bindings/source", "The bindings from an exchange", nil, bindings},
		{"GET exchanges/{vhost}/{exchange}/bindings/destination", "The bindings to an exchange", nil, bindings},
		{"POST exchanges/{vhost}/{exchange}/publish", "Publishes a message", api.PostPublish{}, api.Published{}},
		{"GET bindings", "The bindings", nil, bindings},
		{"GET bindings/{vhost}", "The bindings of a virtual host", nil, bindings},
		{"GET bindings/{vhost}/e/{source}/q/{destination}", "The bindings between an exchange and a queue", nil, bindings},
		{"POST bindings/{vhost}/e/{source}/q/{destination}", "Binds a queue; Location tells where the binding is", api.PostBinding{}, nil},
		{"GET bindings/{vhost}/e/{source}/q/{destination}/{properties}", "A binding, by its properties_key", nil, api.Binding{}},
		{"DELETE bindings/{vhost}/e/{source}/q/{destination}/{properties}", "Unbinds a queue", nil, nil},
		{"GET bindings/{vhost}/e/{source}/e/{destination}", "The bindings between two exchanges", nil, bindings},
		{"POST bindings/{vhost}/e/{source}/e/{destination}", "Binds an exchange; Location tells where the binding is", api.PostBinding{}, nil},
		{"GET bindings/{vhost}/e/{source}/e/{destination}/{properties}", "A binding, by its properties_key", nil, api.Binding{}},
		{"DELETE bindings/{vhost}/e/{source}/e/{destination}/{properties}", "Unbinds an exchange", nil, nil},
		{"GET connections", "The connections: one's own, all of them with the tag monitoring", nil, connections},
		{"GET connections/{connection}", "A connection", nil, api.Connection{}},
		{"DELETE connections/{connection}", "Closes a connection; the header X-Reason says why", nil, nil},
		{"GET connections/username/{user}", "The connections of a user, in brief", nil, api.List[api.UserConnection]{}},
		{"DELETE connections/username/{user}", "Closes all connections of a user", nil, nil},
		{"GET connections/{connection}/channels", "The channels of a connection", nil, api.List[api.Channel]{}},
		{"GET channels", "The channels", nil, api.List[api.Channel]{}},
		{"GET channels/{channel}", "A channel, with its consumers", nil, api.Channel{}},
		{"GET consumers", "The consumers", nil, api.List[api.Consumer]{}},
		{"GET consumers/{vhost}", "The consumers of a virtual host", nil, api.List[api.Consumer]{}},
	}
}
