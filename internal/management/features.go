package management

import (
	"context"
	"slices"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/management/stats"
	"github.com/bartleby-mq/bartleby/internal/management/web"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

func featureEndpoints() []web.Endpoint {
	return []web.Endpoint{
		{
			Pattern: "GET feature-flags", Tag: authz.Management, Serve: getFeatureFlags,
			Summary: "Feature flags; all are enabled", Out: api.List[api.FeatureFlag]{},
		},
		{
			Pattern: "GET deprecated-features", Tag: authz.Management, Serve: getDeprecatedFeatures,
			Summary: "Deprecated features of RabbitMQ and their state", Out: api.List[api.DeprecatedFeature]{},
		},
		{
			Pattern: "GET deprecated-features/used", Tag: authz.Management, Serve: getUsedDeprecatedFeatures,
			Summary: "Deprecated features in use: none", Out: api.List[api.Object[anything]]{},
		},
	}
}

// featureFlags are those of RabbitMQ 4.2 that clients ask for before they rely on what a broker of that series does.
// Some take one as the mark of a series: NServiceBus starts only where it finds stream_queue, whether or not it uses
// streams, which are refused here in words.
var featureFlags = []api.FeatureFlag{
	flagged("detailed_queues_endpoint", "The queue list is available with and without details"),
	flagged("direct_exchange_routing_v2", "Direct exchanges look up routing keys in an index"),
	flagged("feature_flags_v2", "Feature flags"),
	flagged("implicit_default_bindings", "Bindings of the default exchange are implicit"),
	flagged("message_containers", "The broker keeps its own metadata beside each message"),
	stable("message_containers_deaths_v2", "Dead-letter cycles are detected by the order of deaths"),
	flagged("quorum_queue", "Quorum queues"),
	stable("rabbit_exchange_type_local_random", "Exchanges of type x-local-random"),
	stable("rabbitmq_4.0.0", "Behaviour of RabbitMQ 4.0"),
	stable("rabbitmq_4.1.0", "Behaviour of RabbitMQ 4.1"),
	stable("rabbitmq_4.2.0", "Behaviour of RabbitMQ 4.2"),
	flagged("stream_queue", "The queue type stream is known by name"),
	flagged("user_limits", "Connection and channel limits per user"),
	flagged("virtual_host_metadata", "Virtual hosts have a description, tags and a default queue type"),
}

// flagged is one that nodes of series 4.2 must have enabled, stable one that they may.
func flagged(name, desc string) api.FeatureFlag {
	return api.FeatureFlag{Name: name, Desc: desc, State: "enabled", Stability: "required", ProvidedBy: "rabbit"}
}

func stable(name, desc string) api.FeatureFlag {
	f := flagged(name, desc)
	f.Stability = "stable"
	return f
}

func getFeatureFlags(*web.Request) (web.Answer, error) {
	return web.OK(api.List[api.FeatureFlag](featureFlags))
}

// deprecatedFeatures are what RabbitMQ 4.2 would rather not have, and what became of each there. What is permitted
// there is permitted here. Source: RabbitMQ deprecated-features.
var deprecatedFeatures = []api.DeprecatedFeature{
	deprecated("classic_queue_mirroring", "removed", "Classic queue mirroring"),
	deprecated("global_qos", "permitted_by_default", "A prefetch limit shared by all consumers of a channel"),
	deprecated("management_metrics_collection", "permitted_by_default", "Statistics in the management API"),
	deprecated("queue_master_locator", "permitted_by_default", "The argument and policy key that choose the leader of a classic queue"),
	deprecated("ram_node_type", "removed", "Nodes that keep definitions in memory only"),
	deprecated(transientQueues, "permitted_by_default", "Non-durable queues that are not exclusive"),
}

const transientQueues = "transient_nonexcl_queues"

func deprecated(name, phase, desc string) api.DeprecatedFeature {
	return api.DeprecatedFeature{Name: name, Phase: phase, Desc: desc, ProvidedBy: "rabbit"}
}

func getDeprecatedFeatures(r *web.Request) (web.Answer, error) {
	return web.List(r, slices.Clone(deprecatedFeatures), func(f *api.DeprecatedFeature) string { return f.Name })
}

// getUsedDeprecatedFeatures lists those of which it is known that they are in use: transient queues that are not
// exclusive, in any virtual host. Source: RabbitMQ deprecated-features.
func getUsedDeprecatedFeatures(r *web.Request) (web.Answer, error) {
	used := map[string]bool{}
	for _, h := range r.View.VHosts() {
		if used[transientQueues] || r.IsDown(h.Name) {
			continue
		}
		ctx, cancel := context.WithTimeout(r.Context(), web.LookPatience)
		_, err := stats.EachQueue(ctx, r.Engine, h.Name, func(q *vhost.QueueSample) {
			used[transientQueues] = used[transientQueues] || !q.Durable && !q.Exclusive
		})
		cancel()
		if err != nil {
			return web.Answer{}, err
		}
	}
	all := slices.DeleteFunc(slices.Clone(deprecatedFeatures), func(f api.DeprecatedFeature) bool { return !used[f.Name] })
	return web.List(r, all, func(f *api.DeprecatedFeature) string { return f.Name })
}
