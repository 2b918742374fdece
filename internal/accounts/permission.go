package accounts

import (
	"cmp"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/regex"
)

// An Operation is one of the three that permissions tell apart.
type Operation uint8

// Source: RabbitMQ access-control#permissions.
const (
	Configure Operation = iota + 1 // create, change, destroy
	Write                          // put messages in
	Read                           // take messages out
)

// String is the word that refusals use.
func (op Operation) String() string {
	switch op {
	case Configure:
		return "configure"
	case Write:
		return "write"
	case Read:
		return "read"
	}
	return "unknown"
}

// DefaultExchange is the name under which permissions and refusals know the exchange with the empty name.
const DefaultExchange = "amq.default"

// A Permission lets a user into a virtual host and says what it may do there.
type Permission struct {
	User, VHost            string
	Configure, Write, Read string

	configure, write, read pattern
	bytes                  int // what it takes of permissionsBytesMax
}

// A TopicPermission restricts the keys that a user may write to and read from at one topic exchange.
type TopicPermission struct {
	User, VHost, Exchange string
	Write, Read           string // {username} and {vhost} stand for the user's and the virtual host's name

	write, read pattern
	bytes       int // what it takes of topicsBytesMax
}

type grant struct{ user, vhost string }

type topicGrant struct{ user, vhost, exchange string }

// A pattern is an expression with what it was compiled to.
type pattern struct {
	text string
	re   *regexp.Regexp // nil if text needs none, or does not compile
}

// bytes is about what the pattern takes of the memory.
func (p pattern) bytes() int {
	if p.re == nil {
		return len(p.text)
	}
	return len(p.text) + instructionBytes*regex.Size(p.text)
}

// compile takes RE2 syntax. What does not compile matches nothing.
func compile(text string) (pattern, error) {
	if text == "" || text == ".*" {
		return pattern{text: text}, nil
	}
	re, err := regexp.Compile(text)
	return pattern{text, re}, err
}

// matches searches the expression in name. The empty one matches only the empty name, ".*" is by far the most common.
func (p pattern) matches(name string) bool {
	switch p.text {
	case "":
		return name == ""
	case ".*":
		return true
	}
	return p.re != nil && p.re.MatchString(name)
}

// expand puts the names in the place of the variables, quoted. Others, such as {client_id}, stay as they are.
// Source: RabbitMQ access-control#topic-authorisation.
func expand(text, user, vhost string) string {
	return strings.NewReplacer("{username}", regexp.QuoteMeta(user), "{vhost}", regexp.QuoteMeta(vhost)).Replace(text)
}

func newPermission(f Fact) (*Permission, error) {
	p := &Permission{User: f.User, VHost: f.VHost, Configure: f.Configure, Write: f.Write, Read: f.Read}
	var errs [3]error
	p.configure, errs[0] = compile(p.Configure)
	p.write, errs[1] = compile(p.Write)
	p.read, errs[2] = compile(p.Read)
	p.bytes = max(0, p.configure.bytes()+p.write.bytes()+p.read.bytes()-permissionBytesFree)
	return p, cmp.Or(errs[:]...)
}

func newTopicPermission(f Fact) (*TopicPermission, error) {
	t := &TopicPermission{User: f.User, VHost: f.VHost, Exchange: f.Exchange, Write: f.Write, Read: f.Read}
	var errs [2]error
	t.write, errs[0] = compile(expand(t.Write, t.User, t.VHost))
	t.read, errs[1] = compile(expand(t.Read, t.User, t.VHost))
	t.bytes = topicCost + len(t.User) + len(t.VHost) + len(t.Exchange) + t.write.bytes() + t.read.bytes()
	return t, cmp.Or(errs[:]...)
}

func (p *Permission) fact() Fact {
	return Fact{
		Kind: PermissionSet, User: p.User, VHost: p.VHost, Configure: p.Configure, Write: p.Write, Read: p.Read,
	}
}

func (t *TopicPermission) fact() Fact {
	return Fact{
		Kind: TopicPermissionSet, User: t.User, VHost: t.VHost, Exchange: t.Exchange, Write: t.Write, Read: t.Read,
	}
}

// Permission finds what user may do in vhost.
func (v *View) Permission(user, vhost string) (*Permission, bool) {
	p, ok := v.permissions.rows[grant{user, vhost}]
	return p, ok
}

// Permissions lists all permissions, by virtual host and user.
func (v *View) Permissions() []*Permission {
	return v.permissions.sorted(func(a, b *Permission) int {
		return cmp.Or(cmp.Compare(a.VHost, b.VHost), cmp.Compare(a.User, b.User))
	})
}

// TopicPermissions lists all topic permissions, by virtual host, user and exchange.
func (v *View) TopicPermissions() []*TopicPermission {
	return v.topics.sorted(func(a, b *TopicPermission) int {
		return cmp.Or(cmp.Compare(a.VHost, b.VHost), cmp.Compare(a.User, b.User), cmp.Compare(a.Exchange, b.Exchange))
	})
}

// HasAccess reports whether user may enter vhost: any permission there will do.
func (v *View) HasAccess(user, vhost string) bool {
	_, ok := v.permissions.rows[grant{user, vhost}]
	return ok
}

// Allowed reports whether user may do op on the queue or exchange name in vhost. The expression is searched in the
// name, not anchored; the default exchange goes under DefaultExchange.
// Source: RabbitMQ access-control#permissions.
func (v *View) Allowed(user, vhost string, op Operation, name string) bool {
	p, ok := v.permissions.rows[grant{user, vhost}]
	if !ok {
		return false
	}
	if name == "" {
		name = DefaultExchange
	}
	switch op {
	case Configure:
		return p.configure.matches(name)
	case Write:
		return p.write.matches(name)
	case Read:
		return p.read.matches(name)
	}
	return false
}

// TopicAllowed reports whether user may Write to or Read from the topic exchange with this routing or binding key.
// Without a topic permission for the exchange it may. Source: RabbitMQ access-control#topic-authorisation.
func (v *View) TopicAllowed(user, vhost, exchange string, op Operation, key string) bool {
	t, ok := v.topics.rows[topicGrant{user, vhost, exchange}]
	if !ok {
		return true
	}
	switch op {
	case Write:
		return t.write.matches(key)
	case Read:
		return t.read.matches(key)
	}
	return false
}

// TopicRestricted reports whether TopicAllowed depends on the key.
func (v *View) TopicRestricted(user, vhost, exchange string) bool {
	_, ok := v.topics.rows[topicGrant{user, vhost, exchange}]
	return ok
}

// MayComeFrom reports whether user may log in from the address. Those in loopbackOnly may only from this machine;
// an invalid address stands for a Unix socket. Source: RabbitMQ access-control#loopback-users.
func MayComeFrom(loopbackOnly []string, user string, from netip.Addr) bool {
	return !slices.Contains(loopbackOnly, user) || !from.IsValid() || from.Unmap().IsLoopback()
}
