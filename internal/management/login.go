package management

import (
	"crypto/subtle"
	"encoding/base64"
	"net/http"
	"net/netip"
	"strings"
	"sync"

	"github.com/bartleby-mq/bartleby/internal/access"
	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/engine"
)

// The tags that routes ask for.
const (
	anybody       = authz.Anybody
	management    = authz.Management
	policymaker   = authz.Policymaker
	monitoring    = authz.Monitoring
	administrator = authz.Administrator
)

// enterAs makes a principal the one who asks.
func (r *request) enterAs(who authz.Principal) { r.caller = r.server.rights(r.view, who) }

// rights are those of a principal by a view.
func (s *Server) rights(view *access.View, who authz.Principal) authz.Rights {
	return authz.Of(view, who, s.options.StrictOffice)
}

// passwordHash is that of a user who has just logged in.
func (r *request) passwordHash(name string) []byte {
	if u, ok := r.view.User(name); ok {
		return u.Hash
	}
	return nil
}

// logIn finds out who calls, and whether the tags suffice. Source: RabbitMQ management API; reference http-api 1.5.
func (r *request) logIn(asks authz.Tag) error {
	header := r.Header.Get("Authorization")
	if header == "" {
		if _, err := r.Cookie(sessionCookie); err == nil || r.Header.Get(tokenHeader) != "" {
			return r.logInBySession(asks)
		}
		return &loginNeeded{}
	}
	if scheme, token, _ := strings.Cut(header, " "); strings.EqualFold(scheme, "Bearer") {
		secret := r.server.options.Secret
		if secret == "" || subtle.ConstantTimeCompare([]byte(strings.TrimSpace(token)), []byte(secret)) != 1 {
			return errLogin
		}
		r.enterAs(authz.Broker())
		return nil
	}
	name, password, ok := r.BasicAuth()
	if !ok {
		return errLogin
	}
	return r.logInAs(name, password, asks)
}

// logInAs is logIn with a name and a password, wherever they were found.
func (r *request) logInAs(name, password string, asks authz.Tag) error {
	if r.server.options.NoBasicAuth {
		return errLogin
	}
	in, reason := r.server.engine.LogIn(name, password, peerOf(r.Request))
	if in == nil {
		r.server.engine.NoteLogin(engine.LoginHTTP, false)
		r.server.options.Log.Warn("HTTP access denied", "user", name, "reason", reason, "from", r.RemoteAddr)
		return errLogin
	}
	r.server.engine.NoteLogin(engine.LoginHTTP, true)
	if !access.MayComeFrom(r.server.options.LoopbackUsers, name, peerOf(r.Request)) {
		return notAuthorised("User can only log in via localhost")
	}
	r.view = in // the user may have been made since the request's arrival
	r.enterAs(authz.Principal{User: name, From: peerOf(r.Request)})
	return r.caller.Route(asks)
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

// attempts are the logins that were counted when they were reset.
type attempts struct {
	mu struct {
		sync.Mutex
		before [engine.LoginProtocols]engine.Logins
	}
}

// postLogin takes name and password as a form and answers with what to send from then on. Source: RabbitMQ management
// API, login.
func postLogin(r *request) (answer, error) {
	name, password, err := r.readLogin()
	if err != nil {
		return answer{}, err
	}
	if err := r.logInAs(name, password, management); err != nil {
		return answer{}, err
	}
	in := api.LoggedIn{User: r.whoAmI()}
	in.Token.Type, in.Token.Value = "basic", base64.StdEncoding.EncodeToString([]byte(name+":"+password))
	return ok(in)
}

// readLogin takes name and password from a form.
func (r *request) readLogin() (name, password string, err error) {
	r.Body = http.MaxBytesReader(nil, r.Body, loginBytesMax)
	if err := r.ParseForm(); err != nil {
		return "", "", badRequest("the request body is not a form: %v", err)
	}
	err = needKeys(key{"username", r.PostForm.Has("username")}, key{"password", r.PostForm.Has("password")})
	return r.PostForm.Get("username"), r.PostForm.Get("password"), err
}

// deleteLogin has nothing to do: who logs in there keeps the password and sends it along.
func deleteLogin(*request) (answer, error) { return nothing() }

// getAttempts shows how often somebody logged in with a password, by protocol.
func getAttempts(r *request) (answer, error) {
	if err := r.needNode(); err != nil {
		return answer{}, err
	}
	a := &r.server.attempts
	a.mu.Lock()
	defer a.mu.Unlock()
	var all []api.LoginAttempts
	for p := range engine.LoginProtocols {
		n, before := r.server.engine.Logins(p), a.mu.before[p]
		in, out := n.Succeeded-before.Succeeded, n.Failed-before.Failed
		all = append(all, api.LoginAttempts{Protocol: p.String(), Attempts: in + out, Succeeded: in, Failed: out})
	}
	return plain(r, all)
}

// getAttemptSources has nothing to show: attempts are not counted by where they come from, which would be a list that
// strangers make longer. Source: RabbitMQ track_auth_attempt_source, off.
func getAttemptSources(r *request) (answer, error) {
	if err := r.needNode(); err != nil {
		return answer{}, err
	}
	return getNone(r)
}

func resetAttempts(r *request) (answer, error) {
	if err := r.needNode(); err != nil {
		return answer{}, err
	}
	a := &r.server.attempts
	a.mu.Lock()
	defer a.mu.Unlock()
	for p := range engine.LoginProtocols {
		a.mu.before[p] = r.server.engine.Logins(p)
	}
	return nothing()
}
