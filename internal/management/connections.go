package management

import (
	"fmt"
	"slices"
	"time"

	"github.com/bartleby-mq/bartleby/internal/access"
	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// connections lists the connections that the caller may see: its own, all of them to those who watch over the node.
func (r *request) connections() []Connection {
	all := slices.DeleteFunc(r.server.options.Roster.Connections(), func(c Connection) bool {
		return !r.caller.may(access.TagMonitoring) && c.User != r.caller.name
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
	var all []api.Connection
	for _, c := range r.connections() {
		if len(r.names) > 0 && c.VHost != r.names[0] || narrow != "" && c.VHost != narrow {
			continue
		}
		all = append(all, r.server.showConnection(&c, w))
	}
	return list(r, all, func(c *api.Connection) string { return c.Name })
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
	if c.User != r.caller.name && !r.caller.may(access.TagAdministrator) {
		return answer{}, notAuthorised("User not authorised to access connection")
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
	if r.names[0] != r.caller.name && !r.caller.may(access.TagAdministrator) {
		return answer{}, notAuthorised("Not administrator user")
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

// channels lists the channels of connections that the caller sees. Those that the engine opens for one request are
// on no roster and not shown.
func (r *request) channels(wanted func(*api.Channel) bool) ([]api.Channel, error) {
	at := map[string]Connection{}
	used := map[string]bool{}
	for _, c := range r.connections() {
		at[c.Name], used[c.VHost] = c, true
	}
	var all []api.Channel
	for _, h := range r.view.VHosts() {
		if !used[h.Name] || r.down(h.Name) {
			continue
		}
		var views []vhost.ChannelView
		if err := r.look(h.Name, func(v *vhost.VHost) { views = v.Channels() }); err != nil {
			return nil, err
		}
		unconfirmed, err := r.server.engine.Unconfirmed(r.Context(), h.Name)
		if err != nil {
			return nil, err
		}
		for _, v := range views {
			c, live := at[v.Connection]
			if !live {
				continue
			}
			shown := r.server.showChannel(h.Name, &v, &c)
			shown.MessagesUnconfirmed = int64(unconfirmed[v.ID])
			if wanted(&shown) {
				all = append(all, shown)
			}
		}
	}
	return all, nil
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

func (r *request) listChannels(wanted func(*api.Channel) bool) (answer, error) {
	all, err := r.channels(wanted)
	if err != nil {
		return answer{}, err
	}
	return list(r, all, func(c *api.Channel) string { return c.Name })
}

func getChannels(r *request) (answer, error) {
	narrow := r.Header.Get("X-Vhost")
	return r.listChannels(func(c *api.Channel) bool { return narrow == "" || c.VHost == narrow })
}

func getVHostChannels(r *request) (answer, error) {
	if _, err := r.vhost(r.names[0]); err != nil {
		return answer{}, err
	}
	return r.listChannels(func(c *api.Channel) bool { return c.VHost == r.names[0] })
}

func getConnectionChannels(r *request) (answer, error) {
	if _, err := r.connection(); err != nil {
		return answer{}, err
	}
	return r.listChannels(func(c *api.Channel) bool { return c.Connection.Name == r.names[0] })
}

// getChannel shows one channel with its consumers.
func getChannel(r *request) (answer, error) {
	all, err := r.channels(func(c *api.Channel) bool { return c.Name == r.names[0] })
	if err != nil {
		return answer{}, err
	}
	if len(all) == 0 {
		return answer{}, errNotFound
	}
	consumers, err := r.consumersOf(all[0].VHost)
	if err != nil {
		return answer{}, err
	}
	for _, c := range consumers {
		if c.Channel.Name == all[0].Name {
			all[0].ConsumerDetails = append(all[0].ConsumerDetails, c)
		}
	}
	return ok(all[0])
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

func (r *request) consumersOf(name string) ([]api.Consumer, error) {
	if r.down(name) {
		return nil, nil
	}
	var views []vhost.ConsumerView
	if err := r.look(name, func(v *vhost.VHost) { views = v.Consumers() }); err != nil {
		return nil, err
	}
	at := r.roster()
	all := make([]api.Consumer, len(views))
	for i := range views {
		all[i] = r.showConsumer(name, &views[i], at)
	}
	return all, nil
}

func getConsumers(r *request) (answer, error) {
	shown, err := r.shown(r.names...)
	if err != nil {
		return answer{}, err
	}
	var all []api.Consumer
	for _, h := range shown {
		some, err := r.consumersOf(h.Name)
		if err != nil {
			return answer{}, err
		}
		all = append(all, some...)
	}
	return list(r, all, func(c *api.Consumer) string { return c.ConsumerTag })
}
