package accounts

// CommandKind says what a Command asks for.
type CommandKind uint8

const (
	// PutUser creates a user or replaces the password and tags of one; permissions and limits stay.
	//
	// Fields: User; Password with Salt, or Hash, or neither (the user then cannot log in with a password);
	// Algorithm; Tags.
	// Refused: both Password and Hash; more tags than allowed.
	// Source: RabbitMQ management API, PUT /api/users.
	PutUser CommandKind = iota + 1

	// DeleteUser removes User with its permissions, topic permissions and limits. Refused if there is none.
	DeleteUser

	// PutVHost creates a virtual host, which gets the next LogID, or replaces the description of one.
	//
	// Fields: VHost, Description, Tags, DefaultQueueType, Tracing, Protected.
	// Refused: an unknown queue type.
	PutVHost

	// DeleteVHost removes VHost with all permissions and limits in it. It is decided with this command: whoever
	// keeps something under its LogID drops it now or at the next start.
	// Refused: no such virtual host; a protected one.
	DeleteVHost

	// SetPermission sets what User may do in VHost and, by existing, lets the user in.
	//
	// Fields: User, VHost, Configure, Write, Read.
	// Refused: unknown user or virtual host; an expression that does not compile (RE2).
	SetPermission

	// ClearPermission takes User's permission in VHost away; none set is no error.
	ClearPermission

	// SetTopicPermission restricts the routing keys that User may publish to, and the binding keys it may bind
	// with, at the topic exchange Exchange of VHost.
	//
	// Fields: User, VHost, Exchange, Write, Read.
	// Refused: as SetPermission.
	SetTopicPermission

	// ClearTopicPermission lifts User's restriction at Exchange of VHost, at all exchanges if Exchange is empty;
	// none set is no error.
	ClearTopicPermission

	// SetGlobalParameter stores Value, a JSON text, under Name.
	SetGlobalParameter

	// ClearGlobalParameter forgets the parameter Name. Refused if there is none.
	ClearGlobalParameter

	// SetVHostLimit stores Limit as the limit Name of VHost: LimitConnections or LimitQueues; negative is none.
	SetVHostLimit

	// ClearVHostLimit forgets the limit Name of VHost; none set is no error.
	ClearVHostLimit

	// SetUserLimit stores Limit as the limit Name of User: LimitConnections or LimitChannels; negative is none.
	SetUserLimit

	// ClearUserLimit forgets the limit Name of User; none set is no error.
	ClearUserLimit

	// RecordDeed adds Deed to the audit log, under the next ID. Refused if it is too large.
	RecordDeed

	// BeginImport remembers that Value, in a form of the caller's, is being imported, until EndImport: a restart in
	// between finds it in the View. Name says where it came from. One that was not ended is forgotten.
	BeginImport

	// EndImport forgets the import; none under way is no error.
	EndImport
)

// Names of limits. Source: RabbitMQ vhosts#limits, access-control#user-limits.
const (
	LimitConnections = "max-connections"
	LimitQueues      = "max-queues"
	LimitChannels    = "max-channels"
)

// A Command asks the machine for one change. Its kind says which fields count; the others are ignored. Slices are
// copied before Step returns.
type Command struct {
	Kind     CommandKind
	User     string
	VHost    string
	Exchange string
	Name     string // of a parameter or limit

	Password  string // plain; empty is none
	Salt      Salt   // fresh random bytes, used with Password only
	Hash      []byte // salt and digest as Algorithm defines; nil is none
	Algorithm Algorithm
	Tags      []string

	Description      string
	DefaultQueueType string // "", "classic" or "quorum"
	Tracing          bool
	Protected        bool // deletion is refused

	Configure string // regular expressions, searched unanchored; empty permits nothing
	Write     string
	Read      string

	Value []byte // JSON
	Limit int64
	Deed  Deed
}
