package accounts

import (
	"cmp"
	"encoding/json"
	"slices"
)

// A View is an immutable picture of the state. Any number of goroutines may read it; what its methods return is
// shared and must not be changed.
type View struct {
	version      uint64
	nextLogID    uint32
	users        table[string, *User]
	vhosts       table[string, *VHost]
	permissions  table[grant, *Permission]
	largeBytes   int // of the permissions, see permissionsBytesMax
	topics       table[topicGrant, *TopicPermission]
	topicsBytes  int // of all of them
	globals      table[string, *GlobalParameter]
	globalsBytes int // of all of them, names and values
	audit        auditLog
	importing    *Import
}

// share marks every table as held by a View as well.
func (v *View) share() {
	v.users.shared = true
	v.vhosts.shared = true
	v.permissions.shared = true
	v.topics.shared = true
	v.globals.shared = true
}

// Version grows with every change but those of the audit log. Whoever keeps an answer of a View keeps it no longer than
// the version stands. It starts anew with the process.
func (v *View) Version() uint64 { return v.version }

// A User may log in.
type User struct {
	Name      string
	Hash      []byte // empty: no login with a password
	Algorithm Algorithm
	Tags      []string
	Limits    []Limit // sorted by name
}

// Names that no user can be given: the audit log calls so whoever has the secret of the data directory, and the broker
// itself.
const (
	LocalAdministrator = "local-administrator"
	LocalBroker        = "local-broker"
)

// The tags that mean something. Source: RabbitMQ management#permissions; validated-user-id for the last one.
const (
	TagManagement    = "management"
	TagPolicymaker   = "policymaker"
	TagMonitoring    = "monitoring"
	TagAdministrator = "administrator"
	TagImpersonator  = "impersonator" // may publish with another's name as user-id
)

// Tagged reports whether u carries exactly this tag.
func (u *User) Tagged(tag string) bool { return slices.Contains(u.Tags, tag) }

// ActsAs reports whether u carries the tag or one that includes it: administrator includes policymaker and
// monitoring, each of which includes management. Source: RabbitMQ management#permissions.
func (u *User) ActsAs(tag string) bool {
	if u.Tagged(tag) {
		return true
	}
	switch tag {
	case TagManagement:
		return u.Tagged(TagPolicymaker) || u.Tagged(TagMonitoring) || u.Tagged(TagAdministrator)
	case TagPolicymaker, TagMonitoring:
		return u.Tagged(TagAdministrator)
	}
	return false
}

// A VHost is a virtual host as this machine knows it.
type VHost struct {
	Name             string
	LogID            uint32 // the number of its log, for ever
	Description      string
	Tags             []string
	DefaultQueueType string // "" is classic
	Tracing          bool
	Protected        bool
	Limits           []Limit // sorted by name
}

// A Limit is a number that something may not exceed; negative is no limit.
type Limit struct {
	Name  string
	Value int64
}

// Limit is the limit of that name, ok only if it restricts anything.
func (u *User) Limit(name string) (n int64, ok bool) { return findLimit(u.Limits, name) }

// Limit is the limit of that name, ok only if it restricts anything.
func (h *VHost) Limit(name string) (n int64, ok bool) { return findLimit(h.Limits, name) }

func findLimit(limits []Limit, name string) (int64, bool) {
	for _, l := range limits {
		if l.Name == name {
			return l.Value, l.Value >= 0
		}
	}
	return 0, false
}

// withLimit is a fresh list with one limit set.
func withLimit(limits []Limit, l Limit) []Limit {
	limits = append(withoutLimit(limits, l.Name), l)
	slices.SortFunc(limits, func(a, b Limit) int { return cmp.Compare(a.Name, b.Name) })
	return limits
}

// withoutLimit is a fresh list with one limit taken out.
func withoutLimit(limits []Limit, name string) []Limit {
	return slices.DeleteFunc(slices.Clone(limits), func(l Limit) bool { return l.Name == name })
}

// A GlobalParameter is a JSON value under a name, for the whole node or cluster.
type GlobalParameter struct {
	Name  string
	Value []byte // compact JSON
}

// User finds a user.
func (v *View) User(name string) (*User, bool) {
	u, ok := v.users.rows[name]
	return u, ok
}

// Users lists the users by name.
func (v *View) Users() []*User {
	return v.users.sorted(func(a, b *User) int { return cmp.Compare(a.Name, b.Name) })
}

// VHost finds a virtual host.
func (v *View) VHost(name string) (*VHost, bool) {
	h, ok := v.vhosts.rows[name]
	return h, ok
}

// VHosts lists the virtual hosts by name.
func (v *View) VHosts() []*VHost {
	return v.vhosts.sorted(func(a, b *VHost) int { return cmp.Compare(a.Name, b.Name) })
}

// CountVHosts tells how many virtual hosts there are.
func (v *View) CountVHosts() int { return len(v.vhosts.rows) }

// VHostsBeside lists, by name, the virtual hosts that another view does not have: of that name, with that log.
func (v *View) VHostsBeside(other *View) (beside []*VHost) {
	for name, h := range v.vhosts.rows {
		if o, ok := other.VHost(name); !ok || o.LogID != h.LogID {
			beside = append(beside, h)
		}
	}
	slices.SortFunc(beside, func(a, b *VHost) int { return cmp.Compare(a.Name, b.Name) })
	return beside
}

// GlobalParameter finds a global parameter.
func (v *View) GlobalParameter(name string) (*GlobalParameter, bool) {
	g, ok := v.globals.rows[name]
	return g, ok
}

// ClusterNameParameter is the global parameter that holds the cluster's name, a string in JSON.
// Source: RabbitMQ global parameters.
const ClusterNameParameter = "cluster_name"

// ClusterIDParameter is the global parameter that holds an ID that no other cluster has, a string in JSON, made at the
// first start.
// Source: RabbitMQ internal_cluster_id.
const ClusterIDParameter = "internal_cluster_id"

// ClusterName is what the cluster is called, "" if nobody has named it.
func (v *View) ClusterName() string {
	var name string
	if g, ok := v.GlobalParameter(ClusterNameParameter); !ok || json.Unmarshal(g.Value, &name) != nil {
		return ""
	}
	return name
}

// GlobalParameters lists the global parameters by name.
func (v *View) GlobalParameters() []*GlobalParameter {
	return v.globals.sorted(func(a, b *GlobalParameter) int { return cmp.Compare(a.Name, b.Name) })
}

// Authenticate checks a password. The reason says why not, for the log; a client learns only that it was refused.
// An empty password never passes. Source: RabbitMQ access-control#authentication.
func (v *View) Authenticate(user, password string) (ok bool, reason string) {
	u, known := v.users.rows[user]
	if !known {
		u = &User{} // as much work as for a known one
	}
	matches := u.Algorithm.verifies(u.Hash, password)
	switch {
	case !known:
		return false, "no such user"
	case password == "":
		return false, "a blank password is prohibited"
	case len(u.Hash) == 0:
		return false, "the user has no password"
	case !matches:
		return false, "invalid credentials"
	}
	return true, ""
}

func (u *User) fact() Fact {
	return Fact{Kind: UserPut, User: u.Name, Hash: u.Hash, Algorithm: u.Algorithm, Tags: u.Tags}
}

func (h *VHost) fact() Fact {
	return Fact{
		Kind: VHostPut, VHost: h.Name, LogID: h.LogID, Description: h.Description, Tags: h.Tags,
		DefaultQueueType: h.DefaultQueueType, Tracing: h.Tracing, Protected: h.Protected,
	}
}

func (g *GlobalParameter) fact() Fact {
	return Fact{Kind: GlobalParameterSet, Name: g.Name, Value: g.Value}
}

func sizeOfGlobal(name string, value []byte) int { return len(name) + len(value) }

// sizeOfGlobal is what a global parameter takes of globalsBytes, 0 if there is none of that name.
func (v *View) sizeOfGlobal(name string) int {
	g, ok := v.globals.rows[name]
	if !ok {
		return 0
	}
	return sizeOfGlobal(g.Name, g.Value)
}
