package resources

import (
	"slices"
	"strings"
	"time"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/management/stats"
	"github.com/bartleby-mq/bartleby/internal/management/web"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

func (s *API) connectionEndpoints() []web.Endpoint {
	return []web.Endpoint{
		{
			Pattern: "GET vhosts/{vhost}/connections", Tag: authz.Management, Serve: s.getConnections, Scope: web.AllNodes,
			Summary: "The connections to a virtual host", Out: api.List[api.Connection]{},
		},
		{
			Pattern: "GET vhosts/{vhost}/channels", Tag: authz.Management, Serve: s.getVHostChannels, Scope: web.AllNodes,
			Summary: "The channels in a virtual host", Out: api.List[api.Channel]{},
		},
		{
			Pattern: "GET connections", Tag: authz.Management, Serve: s.getConnections, Scope: web.AllNodes,
			Summary: "Connections of the caller; with the tag monitoring, all connections",
			Out:     api.List[api.Connection]{},
		},
		{
			Pattern: "GET connections/{connection}", Tag: authz.Management, Serve: s.getConnection, Scope: web.AllNodes,
			Summary: "A connection", Out: api.Connection{},
		},
		{
			Pattern: "DELETE connections/{connection}", Tag: authz.Management, Serve: s.deleteConnection, Scope: web.AllNodes,
			Summary: "Closes a connection; the header X-Reason is the reason",
		},
		{
			Pattern: "GET connections/username/{user}", Tag: authz.Management, Serve: s.getUserConnections, Scope: web.AllNodes,
			Summary: "The connections of a user, in brief", Out: api.List[api.UserConnection]{},
		},
		{
			Pattern: "DELETE connections/username/{user}", Tag: authz.Management, Serve: s.deleteUserConnections, Scope: web.AllNodes,
			Summary: "Closes all connections of a user",
		},
		{
			Pattern: "GET connections/{connection}/channels", Tag: authz.Management, Serve: s.getConnectionChannels, Scope: web.AllNodes,
			Summary: "The channels of a connection", Out: api.List[api.Channel]{},
		},
		{
			Pattern: "GET channels", Tag: authz.Management, Serve: s.getChannels, Scope: web.AllNodes,
			Summary: "The channels", Out: api.List[api.Channel]{},
		},
		{
			Pattern: "GET channels/{channel}", Tag: authz.Management, Serve: s.getChannel, Scope: web.AllNodes,
			Summary: "A channel, with its consumers", Out: api.Channel{},
		},
		{
			Pattern: "GET consumers", Tag: authz.Management, Serve: s.getConsumers, Scope: web.AllNodes,
			Summary: "The consumers", Out: api.List[api.Consumer]{},
		},
		{
			Pattern: "GET consumers/{vhost}", Tag: authz.Management, Serve: s.getConsumers, Scope: web.AllNodes,
			Summary: "The consumers of a virtual host", Out: api.List[api.Consumer]{},
		},
	}
}

// Connections lists the connections that the caller may see: its own, all of them to those who watch over the node.
func (s *API) Connections(r *web.Request) []stats.Connection {
	all := slices.DeleteFunc(s.clients.Connections(), func(c stats.Connection) bool {
		return !r.Caller.SeeOf(c.User)
	})
	sortConnections(all)
	return all
}

// roster is the live connections by name.
func (s *API) roster(r *web.Request) map[string]stats.Connection {
	at := map[string]stats.Connection{}
	for _, c := range s.clients.Connections() {
		at[c.Name] = c
	}
	return at
}

// showConnection renders a connection. One that has not published is about to be blocked while an alarm holds.
// Source: RabbitMQ management API, connections.
func (s *API) showConnection(c *stats.Connection, w stats.Spans) api.Connection {
	bytes := s.sampler.WireOf(c.Name, w)
	state := c.State
	if state == "running" && s.Engine.Alarms() != 0 {
		state = "blocking"
	}
	shown := api.Connection{
		Name: c.Name, Node: s.Node, User: c.User, VHost: c.VHost, Protocol: c.Protocol,
		ConnectedAt: c.ConnectedAt.UnixMilli(), ClientProperties: api.Arguments(c.ClientProperties), State: state,
		Type: "network", UserProvidedName: c.UserProvidedName, PerformedBy: c.User, Channels: c.Channels,
		ChannelMax: c.ChannelMax, FrameMax: c.FrameMax, Timeout: int(c.Heartbeat / time.Second),
		Host: c.Host, Port: c.Port, PeerHost: c.PeerHost, PeerPort: c.PeerPort, AuthMechanism: c.AuthMechanism,
		RecvCnt: c.Reads, SendCnt: c.Writes, SendPend: uint64(c.Pending),
		RecvOct: c.Received, RecvOctDetails: bytes.Of(stats.AtReceived), SendOct: c.Sent, SendOctDetails: bytes.Of(stats.AtSent),
	}
	showTLS(&shown, c.TLS)
	return shown
}

func (s *API) getConnections(r *web.Request) (web.Answer, error) {
	if r.Has("vhost") {
		if _, err := r.VHost(r.PathValue("vhost")); err != nil {
			return web.Answer{}, err
		}
	}
	narrow := r.Header.Get("X-Vhost")
	w, err := stats.SpansOf(r)
	if err != nil {
		return web.Answer{}, err
	}
	wanted := func(c *stats.Connection) bool {
		return (!r.Has("vhost") || c.VHost == r.PathValue("vhost")) && (narrow == "" || c.VHost == narrow)
	}
	if whole(r) {
		return r.Streamed(func(row func(any) error) error {
			return s.eachConnections(r, func(some []stats.Connection) error {
				for i := range some {
					if wanted(&some[i]) {
						shown := s.showConnection(&some[i], w)
						if err := row(&shown); err != nil {
							return err
						}
					}
				}
				return nil
			})
		})
	}
	if err := r.Gather(); err != nil {
		return web.Answer{}, err
	}
	var all []api.Connection
	for _, c := range s.Connections(r) {
		if wanted(&c) {
			all = append(all, s.showConnection(&c, w))
		}
	}
	return web.List(r, all, func(c *api.Connection) string { return c.Name })
}

// whole reports whether a list is wanted as it is: not sorted, and not cut into pages.
func whole(r *web.Request) bool {
	query := r.URL.Query()
	return query.Get("page") == "" && query.Get("sort") == ""
}

// eachConnections visits the connections that the caller may see in the order of lists, in portions, and
// holds no more than one.
func (s *API) eachConnections(r *web.Request, visit func([]stats.Connection) error) error {
	var last *stats.Connection
	for {
		some := s.Connections(r)
		if last != nil {
			i, found := slices.BinarySearchFunc(some, *last, compareConnections)
			some = some[i:]
			for found && len(some) > 0 && compareConnections(some[0], *last) == 0 {
				some = some[1:]
			}
		}
		if len(some) == 0 {
			return nil
		}
		n := min(len(some), ListPortion)
		for n < len(some) && compareConnections(some[n-1], some[n]) == 0 {
			n++
		}
		some = slices.Clone(some[:n])
		last = &some[n-1]
		if err := visit(some); err != nil {
			return err
		}
	}
}

// connection finds the one that the path names, if the caller may see it.
func (s *API) connection(r *web.Request) (*stats.Connection, error) {
	for _, c := range s.Connections(r) {
		if c.Name == r.PathValue("connection") {
			return &c, nil
		}
	}
	return nil, web.ErrNotFound
}

func (s *API) getConnection(r *web.Request) (web.Answer, error) {
	c, err := s.connection(r)
	if err != nil {
		return web.Answer{}, err
	}
	w, err := stats.SpansOf(r)
	if err != nil {
		return web.Answer{}, err
	}
	return web.OK(s.showConnection(c, w))
}

// reason is what closed connections are told.
func reason(r *web.Request) string {
	if reason := r.Header.Get("X-Reason"); reason != "" {
		return reason
	}
	return "Closed via management plugin"
}

// deleteConnection closes a connection: one's own, or as administrator anybody's.
func (s *API) deleteConnection(r *web.Request) (web.Answer, error) {
	c, err := s.connection(r)
	if err != nil {
		return web.Answer{}, err
	}
	if err := r.Caller.CloseConnection(c.User); err != nil {
		return web.Answer{}, err
	}
	s.clients.CloseConnection(c.Name, reason(r))
	return web.NoContent()
}

func (s *API) getUserConnections(r *web.Request) (web.Answer, error) {
	var all []api.UserConnection
	for _, c := range s.Connections(r) {
		if c.User == r.PathValue("user") {
			all = append(all, api.UserConnection{Name: c.Name, Node: r.Node, User: c.User, VHost: c.VHost})
		}
	}
	return web.List(r, all, func(c *api.UserConnection) string { return c.Name })
}

func (s *API) deleteUserConnections(r *web.Request) (web.Answer, error) {
	if err := r.Caller.CloseConnections(r.PathValue("user")); err != nil {
		return web.Answer{}, err
	}
	for _, c := range s.Connections(r) {
		if c.User == r.PathValue("user") {
			s.clients.CloseConnection(c.Name, reason(r))
		}
	}
	return web.NoContent()
}

// eachChannel visits the channels of the connections that the caller sees, by virtual host, connection and
// number. Those that the engine opens for one request are on no roster and not shown.
func (s *API) eachChannel(r *web.Request, wanted func(*stats.Connection) bool, visit func(*api.Channel) error) error {
	return s.eachConnections(r, func(some []stats.Connection) error {
		for len(some) > 0 {
			h, n := some[0].VHost, 1
			for n < len(some) && some[n].VHost == h {
				n++
			}
			if err := s.channelsOf(r, h, slices.DeleteFunc(slices.Clone(some[:n]), func(c stats.Connection) bool { return !wanted(&c) }), visit); err != nil {
				return err
			}
			some = some[n:]
		}
		return nil
	})
}

// channelsOf visits the channels of some connections to a virtual host.
func (s *API) channelsOf(r *web.Request, host string, some []stats.Connection, visit func(*api.Channel) error) error {
	if len(some) == 0 || r.IsDown(host) {
		return nil
	}
	if _, there := r.View.VHost(host); !there {
		return nil
	}
	at := map[string]*stats.Connection{}
	for i := range some {
		at[some[i].Name] = &some[i]
	}
	var views []vhost.ChannelView
	if err := r.Look(host, func(v vhost.Reader) {
		views = v.ChannelsOf(func(name string) bool { return at[name] != nil })
	}); err != nil {
		return err
	}
	unconfirmed, err := r.Engine.Unconfirmed(r.Context(), host)
	if err != nil {
		return err
	}
	waiting := make([]int, len(views))
	for i := range views {
		waiting[i] = unconfirmed[views[i].ID]
	}
	unconfirmed = nil // it is of all channels
	for i := range views {
		shown := s.showChannel(host, &views[i], at[views[i].Connection])
		shown.MessagesUnconfirmed = int64(waiting[i])
		if err := visit(&shown); err != nil {
			return err
		}
	}
	return nil
}

func (s *API) showChannel(vhostName string, v *vhost.ChannelView, c *stats.Connection) api.Channel {
	return api.Channel{
		Number: int(v.Number), Name: stats.ChannelName(v.Connection, v.Number), VHost: vhostName, User: c.User, PerformedBy: c.User,
		Node: s.Node, State: "running",
		Connection: api.ChannelPeer{Name: c.Name, PeerHost: c.PeerHost, PeerPort: c.PeerPort},
		Confirm:    v.Confirms, ConsumerCount: v.Consumers, PrefetchCount: int(v.Prefetch),
		GlobalPrefetchCount: int(v.GlobalPrefetch), MessagesUnacknowledged: int64(v.Unacked),
		MessagesUncommitted: int64(v.Uncommitted), AcksUncommitted: int64(v.Unsettled),
		Transactional: v.Uncommitted+v.Unsettled > 0, // one that has just begun is not known here
	}
}

func (s *API) listChannels(r *web.Request, wanted func(*stats.Connection) bool) (web.Answer, error) {
	if whole(r) {
		return r.Streamed(func(row func(any) error) error {
			return s.eachChannel(r, wanted, func(c *api.Channel) error { return row(c) })
		})
	}
	if err := r.Gather(); err != nil {
		return web.Answer{}, err
	}
	var all []api.Channel
	err := s.eachChannel(r, wanted, func(c *api.Channel) error {
		all = append(all, *c)
		return nil
	})
	if err != nil {
		return web.Answer{}, err
	}
	return web.List(r, all, func(c *api.Channel) string { return c.Name })
}

func (s *API) getChannels(r *web.Request) (web.Answer, error) {
	narrow := r.Header.Get("X-Vhost")
	return s.listChannels(r, func(c *stats.Connection) bool { return narrow == "" || c.VHost == narrow })
}

func (s *API) getVHostChannels(r *web.Request) (web.Answer, error) {
	if _, err := r.VHost(r.PathValue("vhost")); err != nil {
		return web.Answer{}, err
	}
	return s.listChannels(r, func(c *stats.Connection) bool { return c.VHost == r.PathValue("vhost") })
}

func (s *API) getConnectionChannels(r *web.Request) (web.Answer, error) {
	if _, err := s.connection(r); err != nil {
		return web.Answer{}, err
	}
	return s.listChannels(r, func(c *stats.Connection) bool { return c.Name == r.PathValue("connection") })
}

// getChannel shows one channel with its consumers.
func (s *API) getChannel(r *web.Request) (web.Answer, error) {
	var one *api.Channel
	ofName := func(c *stats.Connection) bool { return strings.HasPrefix(r.PathValue("channel"), c.Name+" (") }
	err := s.eachChannel(r, ofName, func(c *api.Channel) error {
		if c.Name == r.PathValue("channel") && one == nil {
			one = c
		}
		return nil
	})
	if err != nil {
		return web.Answer{}, err
	}
	if one == nil {
		return web.Answer{}, web.ErrNotFound
	}
	err = s.eachConsumer(r, one.VHost, func(c *api.Consumer) error {
		if c.Channel.Name == one.Name {
			one.ConsumerDetails = append(one.ConsumerDetails, *c)
		}
		return nil
	})
	if err != nil {
		return web.Answer{}, err
	}
	return web.OK(one)
}

func showConsumer(r *web.Request, vhostName string, v *vhost.ConsumerView, at map[string]stats.Connection) api.Consumer {
	status := "up"
	if !v.Active {
		status = "waiting"
	}
	c := at[v.Connection]
	return api.Consumer{
		ConsumerTag: v.Tag, Queue: api.Name{Name: v.Queue, VHost: vhostName}, AckRequired: v.AckRequired,
		Exclusive: v.Exclusive, Active: v.Active, ActivityStatus: status, PrefetchCount: int(v.Prefetch),
		Arguments: api.Arguments(v.Arguments), ConsumerTimeout: v.Timeout,
		Channel: api.ConsumerChannel{
			Name: stats.ChannelName(v.Connection, v.Channel), Number: int(v.Channel), ConnectionName: v.Connection,
			Node: r.Node, PeerHost: c.PeerHost, PeerPort: c.PeerPort, User: c.User,
		},
	}
}

// eachConsumer visits the consumers of a virtual host, by queue, in the order in which they are served. It
// reads them in portions.
func (s *API) eachConsumer(r *web.Request, host string, visit func(*api.Consumer) error) error {
	h, there := r.View.VHost(host)
	if !there {
		return nil
	}
	return s.eachName(r, h, namesPortion/4, func(names []string) error {
		names = slices.Clone(names)
		var mark vhost.ConsumerMark
		for len(names) > 0 {
			var views []vhost.ConsumerView
			err := r.Look(host, func(v vhost.Reader) {
				for len(names) > 0 && len(views) < consumersPortion {
					next, more := v.ConsumersAfter(names[0], mark, consumersPortion-len(views), func(c *vhost.ConsumerView) { views = append(views, *c) })
					if mark = next; !more {
						names, mark = names[1:], vhost.ConsumerMark{}
					}
				}
			})
			if err != nil {
				return err
			}
			at := s.rosterOf(r, views)
			for i := range views {
				shown := showConsumer(r, host, &views[i], at)
				if err := visit(&shown); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// rosterOf is the live connections of some consumers, by name.
func (s *API) rosterOf(r *web.Request, views []vhost.ConsumerView) map[string]stats.Connection {
	at := map[string]stats.Connection{}
	for i := range views {
		at[views[i].Connection] = stats.Connection{}
	}
	for _, c := range s.clients.Connections() {
		if _, wanted := at[c.Name]; wanted {
			at[c.Name] = c
		}
	}
	return at
}

func (s *API) getConsumers(r *web.Request) (web.Answer, error) {
	shown, err := r.ShownVHosts()
	if err != nil {
		return web.Answer{}, err
	}
	each := func(visit func(*api.Consumer) error) error {
		for _, h := range shown {
			if err := s.eachConsumer(r, h.Name, visit); err != nil {
				return err
			}
		}
		return nil
	}
	if whole(r) {
		return r.Streamed(func(row func(any) error) error {
			return each(func(c *api.Consumer) error { return row(c) })
		})
	}
	if err := r.Gather(); err != nil {
		return web.Answer{}, err
	}
	var all []api.Consumer
	err = each(func(c *api.Consumer) error {
		all = append(all, *c)
		return nil
	})
	if err != nil {
		return web.Answer{}, err
	}
	return web.List(r, all, func(c *api.Consumer) string { return c.ConsumerTag })
}
