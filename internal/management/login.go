package management

import (
	"crypto/subtle"
	"net/http"
	"net/netip"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/access"
)

// need is the tag that a route asks for.
type need string

const (
	anybody       need = ""
	management    need = access.TagManagement
	policymaker   need = access.TagPolicymaker
	monitoring    need = access.TagMonitoring
	administrator need = access.TagAdministrator
)

// A caller is who asks: a user, or who knows the broker's secret. The latter has no name: the engine takes it for the
// broker itself, whom no permission is denied.
type caller struct {
	name   string
	user   *access.User
	secret bool
}

// secretName is how the holder of the secret is shown.
const secretName = "local-administrator"

func (c *caller) may(tag string) bool { return c.secret || c.user != nil && c.user.ActsAs(tag) }

func (c *caller) shownName() string {
	if c.secret {
		return secretName
	}
	return c.name
}

func (c *caller) tags() []string {
	if c.secret {
		return []string{access.TagAdministrator}
	}
	return c.user.Tags
}

// logIn finds out who calls, and whether the tags suffice. Source: RabbitMQ management API; reference http-api 1.5.
func (r *request) logIn(asks need) error {
	header := r.Header.Get("Authorization")
	if header == "" {
		return &loginNeeded{}
	}
	if scheme, token, _ := strings.Cut(header, " "); strings.EqualFold(scheme, "Bearer") {
		secret := r.server.options.Secret
		if secret == "" || subtle.ConstantTimeCompare([]byte(strings.TrimSpace(token)), []byte(secret)) != 1 {
			return errLogin
		}
		r.caller = caller{secret: true}
		return nil
	}
	name, password, ok := r.BasicAuth()
	if !ok || r.server.options.NoBasicAuth {
		return errLogin
	}
	if ok, reason := r.view.Authenticate(name, password); !ok {
		r.server.options.Log.Warn("HTTP access denied", "user", name, "reason", reason, "from", r.RemoteAddr)
		return errLogin
	}
	if !access.MayComeFrom(r.server.options.LoopbackUsers, name, peerOf(r.Request)) {
		return notAuthorised("User can only log in via localhost")
	}
	user, _ := r.view.User(name)
	r.caller = caller{name: name, user: user}
	switch {
	case !user.ActsAs(access.TagManagement):
		return notAuthorised("Not management user")
	case !user.ActsAs(string(asks)):
		return notAuthorised("Not %s user", asks)
	}
	return nil
}

// peerOf is where a request comes from; the zero address, which no rule takes for a remote one, only if it came by a
// Unix socket.
func peerOf(r *http.Request) netip.Addr {
	if at, err := netip.ParseAddrPort(r.RemoteAddr); err == nil {
		return at.Addr()
	}
	if r.RemoteAddr == "" || r.RemoteAddr == "@" || strings.HasPrefix(r.RemoteAddr, "/") {
		return netip.Addr{}
	}
	return netip.IPv6Unspecified()
}
