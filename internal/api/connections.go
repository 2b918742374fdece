package api

// A Connection of GET /api/connections.
type Connection struct {
	Name             string    `json:"name"` // peer:port -> host:port
	Node             string    `json:"node"`
	User             string    `json:"user"`
	VHost            string    `json:"vhost"`
	Protocol         string    `json:"protocol"`     // AMQP 0-9-1
	ConnectedAt      int64     `json:"connected_at"` // ms since the Unix epoch
	ClientProperties Arguments `json:"client_properties"`
	// starting, tuning, opening, running, flow, blocking, blocked, closing, closed
	State            string `json:"state"`
	Type             string `json:"type"` // network
	UserProvidedName string `json:"user_provided_name,omitempty"`
	PerformedBy      string `json:"user_who_performed_action"`
	Channels         int    `json:"channels"`
	ChannelMax       int    `json:"channel_max"`
	FrameMax         int    `json:"frame_max"` // bytes
	Timeout          int    `json:"timeout"`   // heartbeat, seconds
	Host             string `json:"host"`
	Port             int    `json:"port"`
	PeerHost         string `json:"peer_host"`
	PeerPort         int    `json:"peer_port"`
	AuthMechanism    string `json:"auth_mechanism"`

	SSL              bool    `json:"ssl"`
	SSLProtocol      *string `json:"ssl_protocol"`
	SSLKeyExchange   *string `json:"ssl_key_exchange"`
	SSLCipher        *string `json:"ssl_cipher"`
	SSLHash          *string `json:"ssl_hash"`
	PeerCertSubject  *string `json:"peer_cert_subject"`
	PeerCertIssuer   *string `json:"peer_cert_issuer"`
	PeerCertValidity *string `json:"peer_cert_validity"`

	RecvOct        uint64 `json:"recv_oct"`
	RecvOctDetails Rate   `json:"recv_oct_details"`
	RecvCnt        uint64 `json:"recv_cnt"`
	SendOct        uint64 `json:"send_oct"`
	SendOctDetails Rate   `json:"send_oct_details"`
	SendCnt        uint64 `json:"send_cnt"`
	SendPend       uint64 `json:"send_pend"`
}

// UserConnection is an element of GET /api/connections/username/{user}.
type UserConnection struct {
	Name  string `json:"name"`
	Node  string `json:"node"`
	User  string `json:"user"`
	VHost string `json:"vhost"`
}

// A Channel of GET /api/channels.
type Channel struct {
	Number                 int            `json:"number"`
	Name                   string         `json:"name"` // connection name (number)
	VHost                  string         `json:"vhost"`
	User                   string         `json:"user"`
	Node                   string         `json:"node"`
	State                  string         `json:"state"` // starting, running, idle, flow, closing
	Connection             ChannelPeer    `json:"connection_details"`
	Confirm                bool           `json:"confirm"`
	Transactional          bool           `json:"transactional"`
	ConsumerCount          int            `json:"consumer_count"`
	PrefetchCount          int            `json:"prefetch_count"`
	GlobalPrefetchCount    int            `json:"global_prefetch_count"`
	MessagesUnacknowledged int64          `json:"messages_unacknowledged"`
	MessagesUnconfirmed    int64          `json:"messages_unconfirmed"`
	MessagesUncommitted    int64          `json:"messages_uncommitted"`
	AcksUncommitted        int64          `json:"acks_uncommitted"`
	ClientFlowBlocked      bool           `json:"client_flow_blocked"`
	IdleSince              *string        `json:"idle_since,omitempty"` // RFC 3339 with ms
	MessageStats           MessageStats   `json:"message_stats,omitzero"`
	PerformedBy            string         `json:"user_who_performed_action"`
	ConsumerDetails        List[Consumer] `json:"consumer_details,omitempty"`
}

// ChannelPeer is the connection that a channel belongs to.
type ChannelPeer struct {
	Name     string `json:"name"`
	PeerHost string `json:"peer_host"`
	PeerPort int    `json:"peer_port"`
}

// A Consumer of GET /api/consumers.
type Consumer struct {
	ConsumerTag     string          `json:"consumer_tag"`
	Queue           Name            `json:"queue"`
	Channel         ConsumerChannel `json:"channel_details"`
	AckRequired     bool            `json:"ack_required"`
	Exclusive       bool            `json:"exclusive"`
	Active          bool            `json:"active"`
	ActivityStatus  string          `json:"activity_status"` // up, single_active, waiting, suspected_down
	PrefetchCount   int             `json:"prefetch_count"`
	Arguments       Arguments       `json:"arguments"`
	ConsumerTimeout int64           `json:"consumer_timeout"` // ms
}

// ConsumerChannel is the channel that a consumer belongs to.
type ConsumerChannel struct {
	Name           string `json:"name"`
	Number         int    `json:"number"`
	ConnectionName string `json:"connection_name"`
	Node           string `json:"node"`
	PeerHost       string `json:"peer_host"`
	PeerPort       int    `json:"peer_port"`
	User           string `json:"user"`
}
