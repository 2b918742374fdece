package management

import (
	"crypto/subtle"
	"encoding/base64"
	"net/http"
	"net/netip"
	"strings"
	"sync"

	"github.com/bartleby-mq/bartleby/internal/accounts"
	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/engine"
	"github.com/bartleby-mq/bartleby/internal/management/web"
)

func (s *Server) loginEndpoints() []web.Endpoint {
	return []web.Endpoint{
		{
			Pattern: "POST login", Tag: authz.Anybody, Serve: s.postLogin, Audit: web.Unaudited,
			Summary: "Logs in with the form fields username and password", Out: api.LoggedIn{},
		},
		{Pattern: "DELETE login", Tag: authz.Anybody, Serve: deleteLogin, Audit: web.Unaudited, Summary: "Logs out"},
		{
			Pattern: "GET auth/attempts/{node}", Tag: authz.Administrator, Serve: s.getAttempts,
			Summary: "Login attempts over HTTP", Out: api.List[api.LoginAttempts]{},
		},
		{
			Pattern: "DELETE auth/attempts/{node}", Tag: authz.Administrator, Serve: s.resetAttempts,
			Summary: "Resets the counters of login attempts",
		},
		{
			Pattern: "GET auth/attempts/{node}/source", Tag: authz.Administrator, Serve: getAttemptSources,
			Summary: "Login attempts by source: not counted", Out: api.List[api.Object[anything]]{},
		},
		{
			Pattern: "DELETE auth/attempts/{node}/source", Tag: authz.Administrator, Serve: s.resetAttempts,
			Summary: "Resets the counters of login attempts by source",
		},
	}
}

// enterAs makes a principal the one who asks.
func (s *Server) enterAs(r *web.Request, who authz.Principal) { r.Caller = s.rights(r.View, who) }

// rights are those of a principal by a view.
func (s *Server) rights(view *accounts.View, who authz.Principal) authz.Rights {
	return authz.Of(view, who, s.options.StrictOffice)
}

// passwordHash is that of a user who has just logged in.
func passwordHash(r *web.Request, name string) []byte {
	if u, ok := r.View.User(name); ok {
		return u.Hash
	}
	return nil
}

// logIn finds out who calls, and whether the tags suffice. Source: RabbitMQ management API;
// docs/compat/http-api.md#1.5.
func (s *Server) logIn(r *web.Request, asks authz.Tag) error {
	header := r.Header.Get("Authorization")
	if header == "" {
		if _, err := r.Cookie(sessionCookie); err == nil || r.Header.Get(tokenHeader) != "" {
			return s.logInBySession(r, asks)
		}
		return &web.LoginNeededError{}
	}
	if scheme, token, _ := strings.Cut(header, " "); strings.EqualFold(scheme, "Bearer") {
		secret := s.options.Secret
		if secret == "" || subtle.ConstantTimeCompare([]byte(strings.TrimSpace(token)), []byte(secret)) != 1 {
			return web.ErrLogin
		}
		s.enterAs(r, authz.Broker())
		return nil
	}
	name, password, ok := r.BasicAuth()
	if !ok {
		return web.ErrLogin
	}
	return s.logInAs(r, name, password, asks)
}

// logInAs is logIn with a name and a password, wherever they were found.
func (s *Server) logInAs(r *web.Request, name, password string, asks authz.Tag) error {
	if s.options.NoBasicAuth {
		return web.ErrLogin
	}
	in, reason := r.Engine.LogIn(name, password, peerOf(r.Request))
	if in == nil {
		r.Engine.NoteLogin(engine.LoginHTTP, false)
		r.Log.Warn("HTTP access denied", "user", name, "reason", reason, "from", r.RemoteAddr)
		return web.ErrLogin
	}
	r.Engine.NoteLogin(engine.LoginHTTP, true)
	if !accounts.MayComeFrom(s.options.LoopbackUsers, name, peerOf(r.Request)) {
		return web.NotAuthorised("User can only log in via localhost")
	}
	r.View = in // the user may have been made since the request's arrival
	s.enterAs(r, authz.Principal{User: name, From: peerOf(r.Request)})
	return r.Caller.Route(asks)
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
func (s *Server) postLogin(r *web.Request) (web.Answer, error) {
	name, password, err := readLogin(r)
	if err != nil {
		return web.Answer{}, err
	}
	if err := s.logInAs(r, name, password, authz.Management); err != nil {
		return web.Answer{}, err
	}
	in := api.LoggedIn{User: whoAmI(r)}
	in.Token.Type, in.Token.Value = "basic", base64.StdEncoding.EncodeToString([]byte(name+":"+password))
	return web.OK(in)
}

// readLogin takes name and password from a form.
func readLogin(r *web.Request) (name, password string, err error) {
	r.Body = http.MaxBytesReader(nil, r.Body, loginBytesMax)
	if err := r.ParseForm(); err != nil {
		return "", "", web.BadRequest("the request body is not a form: %v", err)
	}
	err = web.NeedKeys(web.Needed("username", r.PostForm.Has("username")), web.Needed("password", r.PostForm.Has("password")))
	return r.PostForm.Get("username"), r.PostForm.Get("password"), err
}

// deleteLogin has nothing to do: who logs in there keeps the password and sends it along.
func deleteLogin(*web.Request) (web.Answer, error) { return web.NoContent() }

// getAttempts shows how often somebody logged in with a password, by protocol.
func (s *Server) getAttempts(r *web.Request) (web.Answer, error) {
	if err := r.NeedNode(); err != nil {
		return web.Answer{}, err
	}
	a := &s.attempts
	a.mu.Lock()
	defer a.mu.Unlock()
	var all []api.LoginAttempts
	for p := range engine.LoginProtocols {
		n, before := r.Engine.Logins(p), a.mu.before[p]
		in, out := n.Succeeded-before.Succeeded, n.Failed-before.Failed
		all = append(all, api.LoginAttempts{Protocol: p.String(), Attempts: in + out, Succeeded: in, Failed: out})
	}
	return web.ListAll(r, all)
}

// getAttemptSources has nothing to show: attempts are not counted by where they come from, which would be a list that
// strangers make longer. Source: RabbitMQ track_auth_attempt_source, off.
func getAttemptSources(r *web.Request) (web.Answer, error) {
	if err := r.NeedNode(); err != nil {
		return web.Answer{}, err
	}
	return getNone(r)
}

func (s *Server) resetAttempts(r *web.Request) (web.Answer, error) {
	if err := r.NeedNode(); err != nil {
		return web.Answer{}, err
	}
	a := &s.attempts
	a.mu.Lock()
	defer a.mu.Unlock()
	for p := range engine.LoginProtocols {
		a.mu.before[p] = r.Engine.Logins(p)
	}
	return web.NoContent()
}
