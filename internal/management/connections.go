package management

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// connections lists the connections that the caller may see: its own, all of them to those who watch over the node.
func (r *request) connections() []Connection {
	all := slices.DeleteFunc(r.server.options.Roster.Connections(), func(c Connection) bool {
		return !r.caller.SeeOf(c.User)
	})
	sortConnections(all)
	return all
}

// roster is the live connections by name.
func (r *request) roster() map[string]Connection {
	at := map[string]Connection{}
	for _, c := range r.server.options.Roster.Connections() {
		at[c.Name] = c
	}
	return at
}

// showConnection renders a connection. One that has not published is about to be blocked while an alarm holds.
// Source: RabbitMQ management API, connections.
func (s *Server) showConnection(c *Connection, w spans) api.Connection {
	bytes := s.sampler.wireOf(c.Name, w)
	state := c.State
	if state == "running" && s.engine.Alarms() != 0 {
		state = "blocking"
	}
	shown := api.Connection{
		Name: c.Name, Node: s.options.Node, User: c.User, VHost: c.VHost, Protocol: c.Protocol,
		ConnectedAt: c.ConnectedAt.UnixMilli(), ClientProperties: api.Arguments(c.ClientProperties), State: state,
		Type: "network", UserProvidedName: c.UserProvidedName, PerformedBy: c.User, Channels: c.Channels,
		ChannelMax: c.ChannelMax, FrameMax: c.FrameMax, Timeout: int(c.Heartbeat / time.Second),
		Host: c.Host, Port: c.Port, PeerHost: c.PeerHost, PeerPort: c.PeerPort, AuthMechanism: c.AuthMechanism,
		RecvCnt: c.Reads, SendCnt: c.Writes, SendPend: uint64(c.Pending),
		RecvOct: c.Received, RecvOctDetails: bytes.of(atReceived), SendOct: c.Sent, SendOctDetails: bytes.of(atSent),
	}
	showTLS(&shown, c.TLS)
	return shown
}

func getConnections(r *request) (answer, error) {
	if len(r.names) > 0 {
		if _, err := r.vhost(r.names[0]); err != nil {
			return answer{}, err
		}
	}
	narrow := r.Header.Get("X-Vhost")
	w, err := r.spans()
	if err != nil {
		return answer{}, err
	}
	wanted := func(c *Connection) bool {
		return (len(r.names) == 0 || c.VHost == r.names[0]) && (narrow == "" || c.VHost == narrow)
	}
	if r.whole() {
		return r.streamed(func(row func(any) error) error {
			return r.eachConnections(func(some []Connection) error {
				for i := range some {
					if wanted(&some[i]) {
						shown := r.server.showConnection(&some[i], w)
						if err := row(&shown); err != nil {
							return err
						}
					}
				}
				return nil
			})
		})
	}
	if err := r.gather(); err != nil {
		return answer{}, err
	}
	var all []api.Connection
	for _, c := range r.connections() {
		if wanted(&c) {
			all = append(all, r.server.showConnection(&c, w))
		}
	}
	return list(r, all, func(c *api.Connection) string { return c.Name })
}

// whole reports whether a list is wanted as it is: not sorted, and not cut into pages.
func (r *request) whole() bool {
	query := r.URL.Query()
	return query.Get("page") == "" && query.Get("sort") == ""
}

// eachConnections visits the connections that the caller may see in the order of lists, in portions, and
// holds no more than one.
func (r *request) eachConnections(visit func([]Connection) error) error {
	var last *Connection
	for {
		some := r.connections()
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
		n := min(len(some), listPortion)
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
func (r *request) connection() (*Connection, error) {
	for _, c := range r.connections() {
		if c.Name == r.names[0] {
			return &c, nil
		}
	}
	return nil, errNotFound
}

func getConnection(r *request) (answer, error) {
	c, err := r.connection()
	if err != nil {
		return answer{}, err
	}
	w, err := r.spans()
	if err != nil {
		return answer{}, err
	}
	return ok(r.server.showConnection(c, w))
}

// reason is what closed connections are told.
func (r *request) reason() string {
	if reason := r.Header.Get("X-Reason"); reason != "" {
		return reason
	}
	return "Closed via management plugin"
}

// deleteConnection closes a connection: one's own, or as administrator anybody's.
func deleteConnection(r *request) (answer, error) {
	c, err := r.connection()
	if err != nil {
		return answer{}, err
	}
	if err := r.caller.CloseConnection(c.User); err != nil {
		return answer{}, err
	}
	r.server.options.Roster.CloseConnection(c.Name, r.reason())
	return nothing()
}

func getUserConnections(r *request) (answer, error) {
	var all []api.UserConnection
	for _, c := range r.connections() {
		if c.User == r.names[0] {
			all = append(all, api.UserConnection{Name: c.Name, Node: r.server.options.Node, User: c.User, VHost: c.VHost})
		}
	}
	return list(r, all, func(c *api.UserConnection) string { return c.Name })
}

func deleteUserConnections(r *request) (answer, error) {
	if err := r.caller.CloseConnections(r.names[0]); err != nil {
		return answer{}, err
	}
	for _, c := range r.connections() {
		if c.User == r.names[0] {
			r.server.options.Roster.CloseConnection(c.Name, r.reason())
		}
	}
	return nothing()
}

// channelName is how lists call a channel. Source: RabbitMQ management API, channels.
func channelName(connection string, number uint16) string {
	return fmt.Sprintf("%s (%d)", connection, number)
}

// eachChannel visits the channels of the connections that the caller sees, by virtual host, connection and
// number. Those that the engine opens for one request are on no roster and not shown.
func (r *request) eachChannel(wanted func(*Connection) bool, visit func(*api.Channel) error) error {
	return r.eachConnections(func(some []Connection) error {
		for len(some) > 0 {
			h, n := some[0].VHost, 1
			for n < len(some) && some[n].VHost == h {
				n++
			}
			if err := r.channelsOf(h, slices.DeleteFunc(slices.Clone(some[:n]), func(c Connection) bool { return !wanted(&c) }), visit); err != nil {
				return err
			}
			some = some[n:]
		}
		return nil
	})
}

// channelsOf visits the channels of some connections to a virtual host.
func (r *request) channelsOf(host string, some []Connection, visit func(*api.Channel) error) error {
	if len(some) == 0 || r.down(host) {
		return nil
	}
	if _, there := r.view.VHost(host); !there {
		return nil
	}
	at := map[string]*Connection{}
	for i := range some {
		at[some[i].Name] = &some[i]
	}
	var views []vhost.ChannelView
	if err := r.look(host, func(v *vhost.VHost) {
		views = v.ChannelsOf(func(name string) bool { return at[name] != nil })
	}); err != nil {
		return err
	}
	unconfirmed, err := r.server.engine.Unconfirmed(r.Context(), host)
	if err != nil {
		return err
	}
	waiting := make([]int, len(views))
	for i := range views {
		waiting[i] = unconfirmed[views[i].ID]
	}
	unconfirmed = nil // it is of all channels
	for i := range views {
		shown := r.server.showChannel(host, &views[i], at[views[i].Connection])
		shown.MessagesUnconfirmed = int64(waiting[i])
		if err := visit(&shown); err != nil {
			return err
		}
	}
	return nil
}

func (s *Server) showChannel(vhostName string, v *vhost.ChannelView, c *Connection) api.Channel {
	return api.Channel{
		Number: int(v.Number), Name: channelName(v.Connection, v.Number), VHost: vhostName, User: c.User, PerformedBy: c.User,
		Node: s.options.Node, State: "running",
		Connection: api.ChannelPeer{Name: c.Name, PeerHost: c.PeerHost, PeerPort: c.PeerPort},
		Confirm:    v.Confirms, ConsumerCount: v.Consumers, PrefetchCount: int(v.Prefetch),
		GlobalPrefetchCount: int(v.GlobalPrefetch), MessagesUnacknowledged: int64(v.Unacked),
		MessagesUncommitted: int64(v.Uncommitted), AcksUncommitted: int64(v.Unsettled),
		Transactional: v.Uncommitted+v.Unsettled > 0, // one that has just begun is not known here
	}
}

func (r *request) listChannels(wanted func(*Connection) bool) (answer, error) {
	if r.whole() {
		return r.streamed(func(row func(any) error) error {
			return r.eachChannel(wanted, func(c *api.Channel) error { return row(c) })
		})
	}
	if err := r.gather(); err != nil {
		return answer{}, err
	}
	var all []api.Channel
	err := r.eachChannel(wanted, func(c *api.Channel) error {
		all = append(all, *c)
		return nil
	})
	if err != nil {
		return answer{}, err
	}
	return list(r, all, func(c *api.Channel) string { return c.Name })
}

func getChannels(r *request) (answer, error) {
	narrow := r.Header.Get("X-Vhost")
	return r.listChannels(func(c *Connection) bool { return narrow == "" || c.VHost == narrow })
}

func getVHostChannels(r *request) (answer, error) {
	if _, err := r.vhost(r.names[0]); err != nil {
		return answer{}, err
	}
	return r.listChannels(func(c *Connection) bool { return c.VHost == r.names[0] })
}

func getConnectionChannels(r *request) (answer, error) {
	if _, err := r.connection(); err != nil {
		return answer{}, err
	}
	return r.listChannels(func(c *Connection) bool { return c.Name == r.names[0] })
}

// getChannel shows one channel with its consumers.
func getChannel(r *request) (answer, error) {
	var one *api.Channel
	ofName := func(c *Connection) bool { return strings.HasPrefix(r.names[0], c.Name+" (") }
	err := r.eachChannel(ofName, func(c *api.Channel) error {
		if c.Name == r.names[0] && one == nil {
			one = c
		}
		return nil
	})
	if err != nil {
		return answer{}, err
	}
	if one == nil {
		return answer{}, errNotFound
	}
	err = r.eachConsumer(one.VHost, func(c *api.Consumer) error {
		if c.Channel.Name == one.Name {
			one.ConsumerDetails = append(one.ConsumerDetails, *c)
		}
		return nil
	})
	if err != nil {
		return answer{}, err
	}
	return ok(one)
}

func (r *request) showConsumer(vhostName string, v *vhost.ConsumerView, at map[string]Connection) api.Consumer {
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
			Name: channelName(v.Connection, v.Channel), Number: int(v.Channel), ConnectionName: v.Connection,
			Node: r.server.options.Node, PeerHost: c.PeerHost, PeerPort: c.PeerPort, User: c.User,
		},
	}
}

// eachConsumer visits the consumers of a virtual host, by queue, in the order in which they are served. It
// reads them in portions.
func (r *request) eachConsumer(host string, visit func(*api.Consumer) error) error {
	h, there := r.view.VHost(host)
	if !there {
		return nil
	}
	return r.eachName(h, rollPortion/4, func(names []string) error {
		names = slices.Clone(names)
		var mark vhost.ConsumerMark
		for len(names) > 0 {
			var views []vhost.ConsumerView
			err := r.look(host, func(v *vhost.VHost) {
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
			at := r.rosterOf(views)
			for i := range views {
				shown := r.showConsumer(host, &views[i], at)
				if err := visit(&shown); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// rosterOf is the live connections of some consumers, by name.
func (r *request) rosterOf(views []vhost.ConsumerView) map[string]Connection {
	at := map[string]Connection{}
	for i := range views {
		at[views[i].Connection] = Connection{}
	}
	for _, c := range r.server.options.Roster.Connections() {
		if _, wanted := at[c.Name]; wanted {
			at[c.Name] = c
		}
	}
	return at
}

func getConsumers(r *request) (answer, error) {
	shown, err := r.shown(r.names...)
	if err != nil {
		return answer{}, err
	}
	each := func(visit func(*api.Consumer) error) error {
		for _, h := range shown {
			if err := r.eachConsumer(h.Name, visit); err != nil {
				return err
			}
		}
		return nil
	}
	if r.whole() {
		return r.streamed(func(row func(any) error) error {
			return each(func(c *api.Consumer) error { return row(c) })
		})
	}
	if err := r.gather(); err != nil {
		return answer{}, err
	}
	var all []api.Consumer
	err = each(func(c *api.Consumer) error {
		all = append(all, *c)
		return nil
	})
	if err != nil {
		return answer{}, err
	}
	return list(r, all, func(c *api.Consumer) string { return c.ConsumerTag })
}
