package api

// WhoAmI answers GET /api/whoami.
type WhoAmI struct {
	Name           string `json:"name"`
	Tags           Tags   `json:"tags"`
	IsInternalUser bool   `json:"is_internal_user"`
}

// A User of GET /api/users.
type User struct {
	Name             string        `json:"name"`
	PasswordHash     string        `json:"password_hash"` // base64; empty: no login with a password
	HashingAlgorithm string        `json:"hashing_algorithm"`
	Tags             Tags          `json:"tags"`
	Limits           Object[int64] `json:"limits"`
}

// PutUser is the body of PUT /api/users/{name}. Without Password and PasswordHash, the user cannot log in with a
// password. Tags must be present.
type PutUser struct {
	Password         *string `json:"password,omitempty"`
	PasswordHash     *string `json:"password_hash,omitempty"`
	HashingAlgorithm string  `json:"hashing_algorithm,omitempty"`
	Tags             *Tags   `json:"tags,omitempty"`
}

// BulkDelete is the body of POST /api/users/bulk-delete.
type BulkDelete struct {
	Users []string `json:"users"`
}

// HashedPassword answers GET /api/auth/hash_password/{password}.
type HashedPassword struct {
	OK string `json:"ok"` // base64
}

// A Permission of GET /api/permissions.
type Permission struct {
	User      string `json:"user"`
	VHost     string `json:"vhost"`
	Configure string `json:"configure"`
	Write     string `json:"write"`
	Read      string `json:"read"`
}

// OwnPermissions are what the caller may do in a virtual host, GET /api/x/permissions/{vhost}. The
// expressions are empty where it has no permissions.
type OwnPermissions struct {
	VHost     string `json:"vhost"`
	Configure string `json:"configure"`
	Write     string `json:"write"`
	Read      string `json:"read"`
	// DeadLetters says by tag, such as office-redrive, whether the caller may do what the tag allows.
	DeadLetters map[string]bool `json:"dead_letters"`
}

// PutPermission is the body of PUT /api/permissions/{vhost}/{user}. All three must be present.
type PutPermission struct {
	Configure *string `json:"configure"`
	Write     *string `json:"write"`
	Read      *string `json:"read"`
}

// A TopicPermission of GET /api/topic-permissions.
type TopicPermission struct {
	User     string `json:"user"`
	VHost    string `json:"vhost"`
	Exchange string `json:"exchange"`
	Write    string `json:"write"`
	Read     string `json:"read"`
}

// PutTopicPermission is the body of PUT /api/topic-permissions/{vhost}/{user}. All three must be present.
type PutTopicPermission struct {
	Exchange *string `json:"exchange"`
	Write    *string `json:"write"`
	Read     *string `json:"read"`
}

// UserLimits is an element of GET /api/user-limits.
type UserLimits struct {
	User  string        `json:"user"`
	Value Object[int64] `json:"value"`
}

// PutLimit is the body of PUT /api/vhost-limits/{vhost}/{name} and /api/user-limits/{user}/{name}.
type PutLimit struct {
	Value *Number `json:"value"`
}
