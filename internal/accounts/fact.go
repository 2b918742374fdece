package accounts

// FactKind says what became true. The numbers are stored and never reused; a fact that needs other fields gets a
// new number.
type FactKind uint8

const (
	// UserPut: User has Hash, Algorithm and Tags.
	UserPut FactKind = iota + 1
	// UserDeleted: User and all that refers to it is gone.
	UserDeleted
	// VHostPut: VHost exists under LogID with Description, Tags, DefaultQueueType, Tracing, Protected.
	VHostPut
	// VHostDeleted: VHost and all that refers to it is gone.
	VHostDeleted
	// PermissionSet: User may do Configure, Write and Read in VHost.
	PermissionSet
	// PermissionCleared: User has no business in VHost.
	PermissionCleared
	// TopicPermissionSet: User is restricted to Write and Read at Exchange of VHost.
	TopicPermissionSet
	// TopicPermissionCleared: User is not restricted at Exchange of VHost, at no exchange if Exchange is empty.
	TopicPermissionCleared
	// GlobalParameterSet: Name has Value.
	GlobalParameterSet
	// GlobalParameterCleared: there is no Name.
	GlobalParameterCleared
	// VHostLimitSet: VHost's limit Name is Limit.
	VHostLimitSet
	// VHostLimitCleared: VHost has no limit Name.
	VHostLimitCleared
	// UserLimitSet: User's limit Name is Limit.
	UserLimitSet
	// UserLimitCleared: User has no limit Name.
	UserLimitCleared
	// LogIDsUsed: every LogID up to this one is or was in use. Only in snapshots, when the last virtual host that
	// was created is gone.
	LogIDsUsed
	// DeedRecorded: Deed was done. The oldest fall away as new ones come.
	DeedRecorded
	// ImportBegun: what Value stands for is to become true; Name says where it came from. It takes the place of one
	// that was not ended.
	ImportBegun
	// ImportEnded: no import is under way.
	ImportEnded
)

// A Fact is one change that has been decided. Its kind says which fields count, the others are zero.
type Fact struct {
	Kind     FactKind
	User     string
	VHost    string
	Exchange string
	Name     string

	LogID     uint32
	Hash      []byte
	Algorithm Algorithm
	Tags      []string

	Description      string
	DefaultQueueType string
	Tracing          bool
	Protected        bool

	Configure string
	Write     string
	Read      string

	Value []byte
	Limit int64
	Deed  Deed
}
