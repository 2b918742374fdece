package management

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base32"
	"net/http"
	"sync"
	"time"

	"github.com/bartleby-mq/bartleby/internal/accounts"
	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/management/web"
)

func (s *Server) sessionEndpoints() []web.Endpoint {
	return []web.Endpoint{
		{
			Pattern: "GET x/session", Tag: authz.Anybody, Serve: s.getSession,
			Summary: "The console session: its user (null if not logged in) and the token required for changes",
			Out:     api.Session{},
		},
		{
			Pattern: "POST x/session", Tag: authz.Anybody, Serve: s.postSession, Audit: web.Unaudited,
			Summary: "Logs in to the console: takes username and password as a form and sets a cookie", Out: api.Session{},
		},
		{Pattern: "DELETE x/session", Tag: authz.Anybody, Serve: s.deleteSession, Audit: web.Unaudited, Summary: "Ends the session"},
	}
}

// Sessions are how browsers stay logged in: a cookie that no script can read and no page of another origin sends, and a
// second token that a changing request has to show in a header, which a page of another origin cannot set. They outlive
// a restart of the broker (session_kept.go).
const (
	sessionCookie = "bartleby_session"
	tokenHeader   = "X-Csrf-Token"
	// sessionIdle is how long a session lasts without a request. Source: RabbitMQ management.login_session_timeout.
	sessionIdle = 8 * time.Hour
	// sessionStale is by how much the time of use on disk may be too early: a crash ends a session so much sooner.
	sessionStale = 10 * time.Minute
	// sessionsMax bounds them, userSessionsMax those of one user; the one that was idle longest gives way.
	sessionsMax, userSessionsMax = 10_000, 200
)

// A session is a browser that logged in. It ends with its user's password.
type session struct {
	name     string
	password digest // of the stored hash of the password it was opened with
	used     time.Time
	written  time.Time // used, as it is on disk
	ended    string    // why it is over; "" while it is not. It stays for who asks why, in memory alone
}

// Why a session ends before its time, as api.Session says.
const (
	passwordChanged = "password_changed"
	userDeleted     = "user_deleted"
)

// digest is what is stored of a secret.
type digest [sha256.Size]byte

func digestOf[S string | []byte](secret S) digest { return sha256.Sum256([]byte(secret)) }

// sessions are those of a server, by the digest of their cookie: neither memory nor disk holds what logs anybody in.
type sessions struct {
	mu struct {
		sync.Mutex
		of      map[digest]*session
		changed bool // since they were written
	}
	writing sync.Mutex // held by who writes them
}

// open begins a session of a user with this stored hash of the password, and returns its cookie's value.
func (s *sessions) open(name string, hash []byte, now time.Time) (cookie string) {
	cookie = rand.Text() + rand.Text()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.of == nil {
		s.mu.of = map[digest]*session{}
	}
	s.evict(name, now)
	s.mu.of[digestOf(cookie)] = &session{name: name, password: digestOf(hash), used: now}
	s.mu.changed = true
	return cookie
}

// tokenOf is what changes have to show in a session with this cookie.
func tokenOf(cookie string) string {
	sum := digestOf("token of " + cookie)
	return base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:])
}

// evict makes space for one more of a user: those that ended go; if that is not enough, the user's that was idle
// longest, or that of anybody.
func (s *sessions) evict(name string, now time.Time) {
	var oldest, own digest
	var at, ownAt time.Time
	users := 0
	for key, one := range s.mu.of {
		if now.Sub(one.used) > sessionIdle {
			delete(s.mu.of, key)
			continue
		}
		if at.IsZero() || one.used.Before(at) {
			oldest, at = key, one.used
		}
		if one.name != name {
			continue
		}
		if users++; ownAt.IsZero() || one.used.Before(ownAt) {
			own, ownAt = key, one.used
		}
	}
	switch {
	case users >= userSessionsMax:
		delete(s.mu.of, own)
	case len(s.mu.of) >= sessionsMax:
		delete(s.mu.of, oldest)
	}
}

// find returns the session of a cookie, and notes that it is in use.
func (s *sessions) find(cookie string, now time.Time) (session, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := digestOf(cookie)
	one, ok := s.mu.of[key]
	if !ok || one.ended != "" {
		return session{}, false
	}
	if now.Sub(one.used) > sessionIdle {
		delete(s.mu.of, key)
		return session{}, false
	}
	one.used = now
	if now.Sub(one.written) > sessionStale {
		s.mu.changed = true
	}
	return *one, true
}

// close ends the session of a cookie.
func (s *sessions) close(cookie string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := digestOf(cookie)
	_, was := s.mu.of[key]
	delete(s.mu.of, key)
	s.mu.changed = s.mu.changed || was
}

// end ends the session of a cookie, and keeps why.
func (s *sessions) end(cookie, why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if one, ok := s.mu.of[digestOf(cookie)]; ok {
		one.ended, s.mu.changed = why, true
	}
}

// whyEnded is why the session of a cookie ended; "" if that is not known.
func (s *sessions) whyEnded(cookie string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if one, ok := s.mu.of[digestOf(cookie)]; ok {
		return one.ended
	}
	return ""
}

// visitor is who calls in a session.
type visitor struct {
	name  string
	token string // that changes have to show
}

// visitor finds who calls by the cookie; nil if there is none, or its session has ended.
func (s *Server) visitor(r *web.Request) *visitor {
	cookie, err := r.Cookie(sessionCookie)
	if err != nil || s.options.NoBasicAuth {
		return nil
	}
	found, ok := s.sessions.find(cookie.Value, time.Now())
	if !ok {
		return nil
	}
	user, ok := r.View.User(found.name)
	switch {
	case !ok:
		s.endSession(cookie.Value, userDeleted)
		return nil
	case digestOf(user.Hash) != found.password:
		s.endSession(cookie.Value, passwordChanged)
		return nil
	case !accounts.MayComeFrom(s.options.LoopbackUsers, found.name, peerOf(r.Request)):
		s.endSession(cookie.Value, "")
		return nil
	}
	if found.used.Sub(found.written) > sessionStale {
		s.storeSessions(false)
	}
	return &visitor{found.name, tokenOf(cookie.Value)}
}

// endSession ends the session of a cookie, on disk as well; why is kept for its browser unless it is "".
func (s *Server) endSession(cookie, why string) {
	if why != "" {
		s.sessions.end(cookie, why)
	} else {
		s.sessions.close(cookie)
	}
	s.storeSessions(false)
}

// logInBySession is logIn by the cookie. A browser is never told to ask for a password itself: the console does.
func (s *Server) logInBySession(r *web.Request, asks authz.Tag) error {
	found := s.visitor(r)
	if found == nil {
		return web.ErrLogin
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead &&
		subtle.ConstantTimeCompare([]byte(r.Header.Get(tokenHeader)), []byte(found.token)) != 1 {
		return web.NotAuthorised("The header %s does not have the session's token", tokenHeader)
	}
	s.enterAs(r, authz.Principal{User: found.name, From: peerOf(r.Request)})
	return r.Caller.Route(asks)
}

// getSession shows who is logged in, and with which token changes are asked for. Whoever is not is told so with 200:
// the console asks before it knows.
func (s *Server) getSession(r *web.Request) (web.Answer, error) {
	found := s.visitor(r)
	if found == nil {
		var over api.Session
		if cookie, err := r.Cookie(sessionCookie); err == nil {
			over.Ended = s.sessions.whyEnded(cookie.Value)
		}
		return web.OK(over)
	}
	s.enterAs(r, authz.Principal{User: found.name, From: peerOf(r.Request)})
	return showSession(r, found.token)
}

// postSession takes name and password as a form, and opens a session.
func (s *Server) postSession(r *web.Request) (web.Answer, error) {
	name, password, err := readLogin(r)
	if err != nil {
		return web.Answer{}, err
	}
	if err := s.logInAs(r, name, password, authz.Management); err != nil {
		return web.Answer{}, err
	}
	cookie := s.sessions.open(name, passwordHash(r, name), time.Now())
	s.storeSessions(false)
	a, err := showSession(r, tokenOf(cookie))
	a.Header = http.Header{"Set-Cookie": {sessionHeader(r, cookie, 0)}}
	return a, err
}

// deleteSession ends it.
func (s *Server) deleteSession(r *web.Request) (web.Answer, error) {
	if cookie, err := r.Cookie(sessionCookie); err == nil {
		s.endSession(cookie.Value, "")
	}
	return web.Answer{Status: http.StatusNoContent, Header: http.Header{"Set-Cookie": {sessionHeader(r, "", -1)}}}, nil
}

func showSession(r *web.Request, token string) (web.Answer, error) {
	who := whoAmI(r)
	return web.OK(api.Session{User: &who, Token: token})
}

// cookie is the header that sets the session's cookie.
func sessionHeader(r *web.Request, value string, age int) string {
	c := http.Cookie{
		Name: sessionCookie, Value: value, Path: r.PathPrefix + "/", MaxAge: age,
		HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: r.TLS != nil,
	}
	return c.String()
}
