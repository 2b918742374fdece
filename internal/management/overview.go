package management

import (
	"cmp"
	"net"
	"runtime"

	"github.com/bartleby-mq/bartleby/internal/accounts"
	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/management/stats"
	"github.com/bartleby-mq/bartleby/internal/management/web"
	"github.com/bartleby-mq/bartleby/internal/topology"
)

func (s *Server) overviewEndpoints() []web.Endpoint {
	return []web.Endpoint{
		{Pattern: "GET version", Tag: authz.Anybody, Serve: s.getVersion, Summary: "The version of the broker", Out: ""},
		{
			Pattern: "GET overview", Tag: authz.Management, Serve: s.getOverview, Scope: web.AllNodes,
			Summary: "Overview of the node, with totals over the caller's virtual hosts", Out: api.Overview{},
		},
		{Pattern: "GET whoami", Tag: authz.Management, Serve: getWhoAmI, Summary: "The caller", Out: api.WhoAmI{}},
		{
			Pattern: "GET cluster-name", Tag: authz.Management, Serve: getClusterName,
			Summary: "The name of the cluster", Out: api.ClusterName{},
		},
		{
			Pattern: "PUT cluster-name", Tag: authz.Administrator, Serve: putClusterName, Audit: web.AuditAccounts,
			Summary: "Sets the name of the cluster", In: api.ClusterName{},
		},
		{
			Pattern: "GET extensions", Tag: authz.Management, Serve: getNone,
			Summary: "Extensions of the console: none", Out: api.List[api.Object[anything]]{},
		},
		{
			Pattern: "GET federation-links", Tag: authz.Monitoring, Serve: getNone,
			Summary: "Federation links: none", Out: api.List[api.Object[anything]]{},
		},
		{
			Pattern: "GET federation-links/{vhost}", Tag: authz.Monitoring, Serve: getNone,
			Summary: "Federation links of a virtual host: none", Out: api.List[api.Object[anything]]{},
		},
		{
			Pattern: "GET shovels", Tag: authz.Monitoring, Serve: getNone,
			Summary: "Shovels: none", Out: api.List[api.Object[anything]]{},
		},
		{
			Pattern: "GET shovels/{vhost}", Tag: authz.Monitoring, Serve: getNone,
			Summary: "Shovels of a virtual host: none", Out: api.List[api.Object[anything]]{},
		},
		{
			Pattern: "GET shovels/vhost/{vhost}/{name}", Tag: authz.Monitoring, Serve: getNone,
			Summary: "A shovel: none", Out: api.List[api.Object[anything]]{},
		},
	}
}

// exchangeTypes are what may be declared. Source: AMQP exchange.declare.
func exchangeTypes() (all api.List[api.ExchangeType]) {
	for _, x := range topology.Types() {
		all = append(all, api.ExchangeType{Name: x.Name, Description: x.Description, Enabled: true})
	}
	return all
}

func (s *Server) getOverview(r *web.Request) (web.Answer, error) {
	o := s.options
	all := stats.NewTotals()
	w, err := stats.SpansOf(r)
	if err != nil {
		return web.Answer{}, err
	}
	for _, h := range r.VisibleVHosts() {
		all.Add(s.reader.SumOver(r.Context(), h, w))
	}
	if r.Caller.Has(authz.Monitoring) { // totals of the node never go back
		retired := r.Engine.Retired()
		all.Stats.AddAll(retired.Queues)
		all.Traffic.Add(&retired.Traffic)
	}
	connections, channels := s.connectionTotals(r)
	var node stats.NodeReading
	node.ReadChurn(r.Context(), r.Engine)
	trend := s.sampler.NodeTrend(w)
	v := api.Overview{
		ManagementVersion: api.RabbitMQVersion, RabbitMQVersion: api.RabbitMQVersion, RatesMode: "basic",
		RetentionPolicies: api.RetentionPolicies{
			Global: stats.WholeKept.Seconds(), Basic: stats.WholeKept.Seconds(), Detailed: stats.WireKept.Seconds(),
		},
		ExchangeTypes: exchangeTypes(), ProductName: o.Product, ProductVersion: o.Version,
		ErlangVersion: runtime.Version(), ErlangFullVersion: runtime.Version(), CryptoLibVersion: runtime.Version(),
		ClusterTags: o.ClusterTags, NodeTags: o.NodeTags,
		ClusterName: r.ClusterName(), Node: o.Node, DefaultQueueType: r.Engine.QueueType(),
		MessageStats: all.MessageStats(),
		QueueTotals:  all.Totals(),
		ChurnRates:   node.Churn(&trend),
		ObjectTotals: api.ObjectTotals{
			Channels: channels, Connections: connections, Consumers: all.Consumers,
			Exchanges: all.Exchanges, Queues: all.Queues,
		},
		OpPolicyUpdating: !o.NoOperatorPolicyChanges,
		Readings:         s.sampler.Readings(w),
	}
	if r.Caller.Has(authz.Monitoring) {
		v.Listeners, v.Contexts = s.listeners(), s.contexts()
	}
	v.DisableStats = r.NoStatistics()
	r.ShowDefinition(overviewDefinition, "queue_totals")
	return web.OK(v)
}

// overviewDefinition is what the overview shows when statistics are not wanted.
// Source: RabbitMQ management API, disable_stats.
const overviewDefinition = "management_version,rabbitmq_version,product_name,product_version,erlang_version,erlang_full_version," +
	"crypto_lib_version,cluster_name,cluster_tags,node,node_tags,default_queue_type,rates_mode,exchange_types,object_totals," +
	"listeners,contexts,disable_stats,enable_queue_totals,is_op_policy_updating_enabled"

// connectionTotals counts the connections that the caller sees, and their channels.
func (s *Server) connectionTotals(r *web.Request) (connections, channels int) {
	for _, c := range s.resources.Connections(r) {
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

func getWhoAmI(r *web.Request) (web.Answer, error) {
	return web.OK(whoAmI(r))
}

func whoAmI(r *web.Request) api.WhoAmI {
	return api.WhoAmI{Name: r.Caller.Name(), Tags: r.Caller.Tags(), IsInternalUser: true}
}

func (s *Server) getVersion(r *web.Request) (web.Answer, error) { return web.OK(s.options.Version) }

func getClusterName(r *web.Request) (web.Answer, error) {
	return web.OK(api.ClusterName{Name: r.ClusterName()})
}

func putClusterName(r *web.Request) (web.Answer, error) {
	var body struct {
		Name *string `json:"name"`
	}
	if err := r.Read(&body); err != nil {
		return web.Answer{}, err
	}
	if err := web.NeedKeys(web.Needed("name", body.Name != nil)); err != nil {
		return web.Answer{}, err
	}
	value, err := web.Encode(*body.Name)
	if err != nil {
		return web.Answer{}, err
	}
	if _, err := r.Change(accounts.Command{Kind: accounts.SetGlobalParameter, Name: accounts.ClusterNameParameter,
		Value: value}); err != nil {
		return web.Answer{}, web.AsBadRequest(err)
	}
	return web.NoContent()
}

// getNone answers with the empty list where there is nothing of the kind.
func getNone(*web.Request) (web.Answer, error) { return web.OK(api.List[string]{}) }
