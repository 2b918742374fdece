package management

import (
	"slices"

	"github.com/bartleby-mq/bartleby/internal/api"
)

// featureFlags are those of RabbitMQ 4.2 that clients ask for before they rely on what a broker of that series does.
// Some take one as the mark of a series: NServiceBus starts only where it finds stream_queue, whether or not it uses
// streams, which are refused here in words.
var featureFlags = []api.FeatureFlag{
	flagged("detailed_queues_endpoint", "Queues are listed in detail, or not"),
	flagged("direct_exchange_routing_v2", "Direct exchanges look keys up"),
	flagged("feature_flags_v2", "Feature flags"),
	flagged("implicit_default_bindings", "Bindings of the default exchange are implied"),
	flagged("message_containers", "What the broker knows of a message stands beside it"),
	flagged("message_containers_deaths_v2", "Cycles of dead letters are found by the order of deaths"),
	flagged("quorum_queue", "Queues of the type quorum"),
	flagged("rabbit_exchange_type_local_random", "Exchanges of the type x-local-random"),
	flagged("rabbitmq_4.0.0", "The rules of RabbitMQ 4.0"),
	flagged("rabbitmq_4.1.0", "The rules of RabbitMQ 4.1"),
	flagged("rabbitmq_4.2.0", "The rules of RabbitMQ 4.2"),
	flagged("stream_queue", "A broker that knows the type stream by name"),
	flagged("user_limits", "Limits of connections and channels per user"),
	flagged("virtual_host_metadata", "Virtual hosts have a description, tags and a default queue type"),
}

func flagged(name, desc string) api.FeatureFlag {
	return api.FeatureFlag{Name: name, Desc: desc, State: "enabled", Stability: "required", ProvidedBy: "rabbit"}
}

func getFeatureFlags(*request) (answer, error) { return ok(api.List[api.FeatureFlag](featureFlags)) }

// deprecatedFeatures are what RabbitMQ 4.2 would rather not have, and what became of each there. What is permitted there
// is permitted here. Source: RabbitMQ deprecated-features.
var deprecatedFeatures = []api.DeprecatedFeature{
	deprecated("classic_queue_mirroring", "removed", "Mirrors of classic queues"),
	deprecated("global_qos", "permitted_by_default", "A prefetch limit shared by the consumers of a channel"),
	deprecated("management_metrics_collection", "permitted_by_default", "Statistics in the management API"),
	deprecated("queue_master_locator", "permitted_by_default", "The argument and policy key that place the leader of a classic queue"),
	deprecated("ram_node_type", "removed", "Nodes that keep definitions in memory only"),
	deprecated("transient_nonexcl_queues", "permitted_by_default", "Queues that are neither durable nor exclusive"),
}

func deprecated(name, phase, desc string) api.DeprecatedFeature {
	return api.DeprecatedFeature{Name: name, Phase: phase, Desc: desc, ProvidedBy: "rabbit"}
}

func getDeprecatedFeatures(r *request) (answer, error) {
	return list(r, slices.Clone(deprecatedFeatures), func(f *api.DeprecatedFeature) string { return f.Name })
}
