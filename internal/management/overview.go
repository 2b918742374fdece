package management

import (
	"cmp"
	"net"
	"runtime"

	"github.com/bartleby-mq/bartleby/internal/access"
	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/authz"
)

// exchangeTypes are what may be declared. Source: AMQP exchange.declare.
func exchangeTypes() api.List[api.ExchangeType] {
	return api.List[api.ExchangeType]{
		{Name: "direct", Description: "AMQP direct exchange, as per the AMQP specification", Enabled: true},
		{Name: "fanout", Description: "AMQP fanout exchange, as per the AMQP specification", Enabled: true},
		{Name: "headers", Description: "AMQP headers exchange, as per the AMQP specification", Enabled: true},
		{Name: "topic", Description: "AMQP topic exchange, as per the AMQP specification", Enabled: true},
		{Name: "x-consistent-hash", Description: "Consistent Hashing Exchange", Enabled: true},
		{Name: "x-delayed-message", Description: "Delayed Message Exchange.", Enabled: true},
		{Name: "x-local-random", Description: "Picks one random local binding (queue) to route via (to).", Enabled: true},
		{Name: "x-modulus-hash", Description: "Modulus Hashing Exchange", Enabled: true},
		{Name: "x-random", Description: "Randomly picks a binding (queue) to route via (to).", Enabled: true},
		{Name: "x-recent-history", Description: "Recent History Exchange.", Enabled: true},
	}
}

func getOverview(r *request) (answer, error) {
	o := r.server.options
	all := newTally()
	w, err := r.spans()
	if err != nil {
		return answer{}, err
	}
	for _, h := range r.visible() {
		all.add(r.server.sumOver(r.Context(), h, w))
	}
	if r.caller.Has(authz.Monitoring) { // totals of the node never go back
		retired := r.server.engine.Retired()
		all.stats.addAll(retired.Queues)
		all.traffic.Add(&retired.Traffic)
	}
	connections, channels := r.connectionTotals()
	var node nodeReading
	node.readChurn(r.Context(), r.server.engine)
	trend := r.server.sampler.nodeTrend(w)
	v := api.Overview{
		ManagementVersion: api.RabbitMQVersion, RabbitMQVersion: api.RabbitMQVersion, RatesMode: "basic",
		RetentionPolicies: api.RetentionPolicies{
			Global: wholeKept.seconds(), Basic: wholeKept.seconds(), Detailed: wireKept.seconds(),
		},
		ExchangeTypes: exchangeTypes(), ProductName: o.Product, ProductVersion: o.Version,
		ErlangVersion: runtime.Version(), ErlangFullVersion: runtime.Version(), CryptoLibVersion: runtime.Version(),
		ClusterTags: o.ClusterTags, NodeTags: o.NodeTags,
		ClusterName: r.clusterName(), Node: o.Node, DefaultQueueType: r.server.engine.QueueType(),
		MessageStats: all.messageStats(),
		QueueTotals:  all.totals(),
		ChurnRates:   node.churn(&trend),
		ObjectTotals: api.ObjectTotals{
			Channels: channels, Connections: connections, Consumers: all.consumers,
			Exchanges: all.exchanges, Queues: all.queues,
		},
		OpPolicyUpdating: !o.NoOperatorPolicyChanges,
	}
	if r.caller.Has(authz.Monitoring) {
		v.Listeners, v.Contexts = r.server.listeners(), r.server.contexts()
	}
	v.DisableStats = r.noStatistics()
	r.showDefinition(overviewDefinition, "queue_totals")
	return ok(v)
}

// overviewDefinition is what the overview shows when statistics are not wanted.
// Source: RabbitMQ management API, disable_stats.
const overviewDefinition = "management_version,rabbitmq_version,product_name,product_version,erlang_version,erlang_full_version," +
	"crypto_lib_version,cluster_name,cluster_tags,node,node_tags,default_queue_type,rates_mode,exchange_types,object_totals," +
	"listeners,contexts,disable_stats,enable_queue_totals,is_op_policy_updating_enabled"

// connectionTotals counts the connections that the caller sees, and their channels.
func (r *request) connectionTotals() (connections, channels int) {
	for _, c := range r.connections() {
		connections++
		channels += c.Channels
	}
	return connections, channels
}

func (s *Server) listeners() api.List[api.Listener] {
	var all api.List[api.Listener]
	for _, l := range s.options.Listeners() {
		all = append(all, api.Listener{Node: s.options.Node, Protocol: l.Protocol, IPAddress: address(l.Address), Port: l.Port, TLS: l.TLS})
	}
	return all
}

// address writes an unspecified address as RabbitMQ does.
func address(a string) string {
	if ip := net.ParseIP(a); ip == nil || ip.IsUnspecified() {
		return "::"
	}
	return a
}

func (s *Server) contexts() api.List[api.Context] {
	var all api.List[api.Context]
	for _, l := range s.options.Listeners() {
		switch l.Protocol {
		case "http", "https":
			all = append(all, api.Context{Node: s.options.Node, Description: "RabbitMQ Management", Path: cmp.Or(s.options.PathPrefix, "/"), Port: l.Port})
		case "http/prometheus", "https/prometheus":
			all = append(all, api.Context{Node: s.options.Node, Description: "RabbitMQ Prometheus", Path: "/", Port: l.Port})
		}
	}
	return all
}

func getWhoAmI(r *request) (answer, error) {
	return ok(r.whoAmI())
}

func (r *request) whoAmI() api.WhoAmI {
	return api.WhoAmI{Name: r.caller.Name(), Tags: r.caller.Tags(), IsInternalUser: true}
}

func getVersion(r *request) (answer, error) { return ok(r.server.options.Version) }

// clusterName is what was set, or else the node's name.
func (r *request) clusterName() string {
	return cmp.Or(r.view.ClusterName(), r.server.options.Node)
}

func getClusterName(r *request) (answer, error) { return ok(api.ClusterName{Name: r.clusterName()}) }

func putClusterName(r *request) (answer, error) {
	var body struct {
		Name *string `json:"name"`
	}
	if err := r.read(&body); err != nil {
		return answer{}, err
	}
	if err := needKeys(key{"name", body.Name != nil}); err != nil {
		return answer{}, err
	}
	value, err := encode(*body.Name)
	if err != nil {
		return answer{}, err
	}
	if _, err := r.change(access.Command{Kind: access.SetGlobalParameter, Name: access.ClusterNameParameter, Value: value}); err != nil {
		return answer{}, plainly(err)
	}
	return nothing()
}

// getNone answers with the empty list where there is nothing of the kind.
func getNone(*request) (answer, error) { return ok(api.List[string]{}) }
