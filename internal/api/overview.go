package api

import "encoding/json"

// Overview answers GET /api/overview.
type Overview struct {
	ManagementVersion string             `json:"management_version"`
	RatesMode         string             `json:"rates_mode"` // none, basic or detailed
	RetentionPolicies RetentionPolicies  `json:"sample_retention_policies"`
	ExchangeTypes     List[ExchangeType] `json:"exchange_types"`
	ProductName       string             `json:"product_name"`
	ProductVersion    string             `json:"product_version"`
	// of the series whose behaviour this is; tools compare it
	RabbitMQVersion   string         `json:"rabbitmq_version"`
	ErlangVersion     string         `json:"erlang_version"`
	ErlangFullVersion string         `json:"erlang_full_version"`
	CryptoLibVersion  string         `json:"crypto_lib_version"`
	ClusterName       string         `json:"cluster_name"`
	ClusterTags       Object[string] `json:"cluster_tags"`
	Node              string         `json:"node"`
	NodeTags          Object[string] `json:"node_tags"`
	DefaultQueueType  string         `json:"default_queue_type"`
	MessageStats      MessageStats   `json:"message_stats"`
	QueueTotals       Totals         `json:"queue_totals"`
	ObjectTotals      ObjectTotals   `json:"object_totals"`
	ChurnRates        ChurnRates     `json:"churn_rates"`
	Listeners         List[Listener] `json:"listeners,omitempty"` // for the tag monitoring
	Contexts          List[Context]  `json:"contexts,omitempty"`  // for the tag monitoring
	EventQueue        int64          `json:"statistics_db_event_queue"`
	DisableStats      bool           `json:"disable_stats"`
	EnableQueueTotals bool           `json:"enable_queue_totals"`
	OpPolicyUpdating  bool           `json:"is_op_policy_updating_enabled"`
	Readings
}

// RetentionPolicies says for how many seconds samples are kept.
type RetentionPolicies struct {
	Global   List[int] `json:"global"`
	Basic    List[int] `json:"basic"`
	Detailed List[int] `json:"detailed"`
}

// An ExchangeType that may be declared.
type ExchangeType struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Enabled     bool   `json:"enabled"`
}

// ObjectTotals counts what the caller may see.
type ObjectTotals struct {
	Channels    int `json:"channels"`
	Connections int `json:"connections"`
	Consumers   int `json:"consumers"`
	Exchanges   int `json:"exchanges"`
	Queues      int `json:"queues"`
}

// ChurnRates counts comings and goings since the node started.
type ChurnRates struct {
	ChannelClosed            uint64 `json:"channel_closed"`
	ChannelClosedDetails     Rate   `json:"channel_closed_details"`
	ChannelCreated           uint64 `json:"channel_created"`
	ChannelCreatedDetails    Rate   `json:"channel_created_details"`
	ConnectionClosed         uint64 `json:"connection_closed"`
	ConnectionClosedDetails  Rate   `json:"connection_closed_details"`
	ConnectionCreated        uint64 `json:"connection_created"`
	ConnectionCreatedDetails Rate   `json:"connection_created_details"`
	QueueCreated             uint64 `json:"queue_created"`
	QueueCreatedDetails      Rate   `json:"queue_created_details"`
	QueueDeclared            uint64 `json:"queue_declared"`
	QueueDeclaredDetails     Rate   `json:"queue_declared_details"`
	QueueDeleted             uint64 `json:"queue_deleted"`
	QueueDeletedDetails      Rate   `json:"queue_deleted_details"`
}

// A Listener accepts connections.
type Listener struct {
	Node       string   `json:"node"`
	Protocol   string   `json:"protocol"` // amqp, amqp/ssl, http, https, http/prometheus, …
	IPAddress  string   `json:"ip_address"`
	Port       int      `json:"port"`
	SocketOpts struct{} `json:"socket_opts"`
	TLS        bool     `json:"tls"`
}

// A Context is something served over HTTP.
type Context struct {
	Node        string   `json:"node"`
	Description string   `json:"description"`
	Path        string   `json:"path"`
	Port        int      `json:"port"`
	SSLOpts     struct{} `json:"ssl_opts"`
}

// ClusterName is the answer and the body of /api/cluster-name.
type ClusterName struct {
	Name string `json:"name"`
}

// A Node of GET /api/nodes. Numbers marked 32 are read by some clients as unsigned 32 bit and must be capped.
type Node struct {
	Name            string             `json:"name"`
	Type            string             `json:"type"` // disc
	Running         bool               `json:"running"`
	OSPid           string             `json:"os_pid"` // digits, as a string
	Uptime          int64              `json:"uptime"` // ms, 32
	RunQueue        int64              `json:"run_queue"`
	Processors      int                `json:"processors"`
	BeingDrained    bool               `json:"being_drained"`
	RatesMode       string             `json:"rates_mode"`
	EnabledPlugins  List[string]       `json:"enabled_plugins"`
	FDUsed          int64              `json:"fd_used"`
	FDTotal         int64              `json:"fd_total"` // 32
	SocketsUsed     int64              `json:"sockets_used"`
	SocketsTotal    int64              `json:"sockets_total"`
	ProcUsed        int64              `json:"proc_used"`  // goroutines
	ProcTotal       int64              `json:"proc_total"` // 32
	MemUsed         int64              `json:"mem_used"`   // bytes
	MemLimit        int64              `json:"mem_limit"`  // the high watermark
	MemAlarm        bool               `json:"mem_alarm"`
	MemStrategy     string             `json:"mem_calculation_strategy"` // rss
	DiskFree        int64              `json:"disk_free"`                // bytes
	DiskFreeLimit   int64              `json:"disk_free_limit"`
	DiskFreeAlarm   bool               `json:"disk_free_alarm"`
	JournalAlarm    bool               `json:"journal_alarm"`   // ours: nothing but the reserve is left
	StorageState    string             `json:"storage_state"`   // ours: running, or waiting for disk space
	ClockAlarm      bool               `json:"clock_alarm"`     // ours: the clock is behind the time of virtual hosts,
	ClockBehindMS   int64              `json:"clock_behind_ms"` // by so much; it holds nobody back
	NetTicktime     int                `json:"net_ticktime"`
	DBDir           string             `json:"db_dir"`
	ConfigFiles     List[string]       `json:"config_files"`
	LogFiles        List[string]       `json:"log_files"`
	ExchangeTypes   List[ExchangeType] `json:"exchange_types"`
	AuthMechanisms  List[Mechanism]    `json:"auth_mechanisms"`
	Applications    List[Application]  `json:"applications"` // rabbit and rabbitmq_management among them
	Contexts        List[Context]      `json:"contexts"`
	Partitions      List[string]       `json:"partitions"`
	ClusterLinks    List[string]       `json:"cluster_links"`
	GCQueueLength   struct{}           `json:"metrics_gc_queue_length"`
	RabbitMQVersion string             `json:"rabbitmq_version"`
	ErlangVersion   string             `json:"erlang_version"`

	NodeStats
	CryptoLibVersion string           `json:"crypto_lib_version"`
	Listeners        List[Listener]   `json:"listeners"`
	Memory           *MemoryBreakdown `json:"memory,omitempty"` // if it was asked for
	Readings
}

// A Mechanism is a way to authenticate.
type Mechanism struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Enabled     bool   `json:"enabled"`
}

// An Application is a part of the node.
type Application struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Version     string `json:"version"`
}

// Health answers a health check that passed or failed; what does not concern the check is absent.
type Health struct {
	Status       string        `json:"status"` // ok or failed
	Reason       string        `json:"reason,omitempty"`
	Alarms       []Alarm       `json:"alarms,omitempty"`
	VirtualHosts []string      `json:"virtual-hosts,omitempty"`
	Queues       []QueueAtRisk `json:"queues,omitempty"`
	Online       int           `json:"online,omitempty"`
	Target       int           `json:"target,omitempty"`

	Expired []ExpiringCertificate `json:"expired,omitempty"`
}

// ExpiringCertificate is a listener's certificate that expires soon, or has.
type ExpiringCertificate struct {
	Node              string `json:"node"`
	Protocol          string `json:"protocol"`
	Interface         string `json:"interface"`
	Port              int    `json:"port"`
	CertFile          string `json:"certfile"`
	CertFileExpiresOn string `json:"certfile_expires_on"` // as in 2026-01-02 15:04:05, UTC
}

// An Alarm that is raised.
type Alarm struct {
	Node     string `json:"node"`
	Resource string `json:"resource"` // memory, disk or journal
}

// QueueAtRisk would lose its quorum with this node.
type QueueAtRisk struct {
	Name         string `json:"name"`
	ReadableName string `json:"readable_name"`
	VirtualHost  string `json:"virtual_host"`
	Type         string `json:"type"`
}

// PortHealth answers GET /api/health/checks/port-listener/{port}: Port if it passed, else Missing and Ports.
type PortHealth struct {
	Status  string `json:"status"`
	Reason  string `json:"reason,omitempty"`
	Port    int    `json:"port,omitempty"`
	Missing int    `json:"missing,omitempty"`
	Ports   []int  `json:"ports,omitempty"`
}

// ProtocolHealth answers GET /api/health/checks/protocol-listener/{protocols}.
type ProtocolHealth struct {
	Status    string       `json:"status"`
	Reason    string       `json:"reason,omitempty"`
	Missing   []string     `json:"missing,omitempty"`
	Protocols List[string] `json:"protocols"`
}

// A FeatureFlag of GET /api/feature-flags. Source: RabbitMQ feature-flags.
type FeatureFlag struct {
	Name       string `json:"name"`
	Desc       string `json:"desc"`
	DocURL     string `json:"doc_url"`
	State      string `json:"state"`     // enabled
	Stability  string `json:"stability"` // required
	ProvidedBy string `json:"provided_by"`
}

// A DeprecatedFeature of GET /api/deprecated-features. Source: RabbitMQ deprecated-features.
type DeprecatedFeature struct {
	Name       string `json:"name"`
	Phase      string `json:"deprecation_phase"` // permitted_by_default, denied_by_default, disconnect, removed
	Desc       string `json:"desc"`
	DocURL     string `json:"doc_url"`
	ProvidedBy string `json:"provided_by"`
}

// NodeMemory answers GET /api/nodes/{node}/memory. Source: RabbitMQ memory-use.
type NodeMemory struct {
	Memory MemoryBreakdown `json:"memory"`
}

// MemoryBreakdown says what memory is used for, in bytes, or in the answer of memory/relative in parts of a hundred.
// The categories are RabbitMQ's; those of parts that this broker has not are 0.
type MemoryBreakdown struct {
	ConnectionReaders      int64 `json:"connection_readers"`
	ConnectionWriters      int64 `json:"connection_writers"`
	ConnectionChannels     int64 `json:"connection_channels"`
	ConnectionOther        int64 `json:"connection_other"`
	QueueProcs             int64 `json:"queue_procs"` // live objects: queues, messages in memory and all else
	QuorumQueueProcs       int64 `json:"quorum_queue_procs"`
	QuorumQueueDLXProcs    int64 `json:"quorum_queue_dlx_procs"`
	StreamQueueProcs       int64 `json:"stream_queue_procs"`
	StreamReaderProcs      int64 `json:"stream_queue_replica_reader_procs"`
	StreamCoordinatorProcs int64 `json:"stream_queue_coordinator_procs"`
	Plugins                int64 `json:"plugins"`
	MetadataStore          int64 `json:"metadata_store"`
	OtherProc              int64 `json:"other_proc"` // stacks
	Metrics                int64 `json:"metrics"`    // profiling
	MgmtDB                 int64 `json:"mgmt_db"`
	Mnesia                 int64 `json:"mnesia"`
	QuorumETS              int64 `json:"quorum_ets"`
	MetadataStoreETS       int64 `json:"metadata_store_ets"`
	OtherETS               int64 `json:"other_ets"`
	// dead objects that were not collected yet, and space between objects
	Binary          int64 `json:"binary"`
	MsgIndex        int64 `json:"msg_index"`
	Code            int64 `json:"code"`
	Atom            int64 `json:"atom"`
	OtherSystem     int64 `json:"other_system"`     // of the runtime itself
	AllocatedUnused int64 `json:"allocated_unused"` // free, for the next objects
	// resident beyond what the runtime knows of: the program's text
	ReservedUnallocated int64           `json:"reserved_unallocated"`
	Strategy            string          `json:"strategy,omitempty"` // rss
	Total               json.RawMessage `json:"total"`              // MemoryTotal, or 100
}

// MemoryTotal is the sum, by each way to find it, in bytes.
type MemoryTotal struct {
	RSS       int64 `json:"rss"`
	Allocated int64 `json:"allocated"`
	Erlang    int64 `json:"erlang"` // in use, by the runtime's own account
}

// LoginAttempts is an element of GET /api/auth/attempts/{node}.
type LoginAttempts struct {
	Protocol  string `json:"protocol"`
	Attempts  uint64 `json:"auth_attempts"`
	Succeeded uint64 `json:"auth_attempts_succeeded"`
	Failed    uint64 `json:"auth_attempts_failed"`
}

// Session answers GET and POST /api/x/session.
type Session struct {
	User  *WhoAmI `json:"user"`            // null: nobody is logged in
	Token string  `json:"token"`           // what changes have to show in the header X-CSRF-Token
	Ended string  `json:"ended,omitempty"` // why it is over, if known: password_changed, user_deleted
}

// LoggedIn answers POST /api/login.
type LoggedIn struct {
	Token struct {
		Type  string `json:"type"`  // basic
		Value string `json:"value"` // what to send behind it in Authorization
	} `json:"token"`
	User WhoAmI `json:"user"`
}
