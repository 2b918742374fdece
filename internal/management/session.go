package management

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
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
// second token that a changing request has to show in a header, which a page of another origin cannot set.
const (
	sessionCookie = "bartleby_session"
	tokenHeader   = "X-Csrf-Token"
	// sessionIdle is how long a session lasts without a request. Source: RabbitMQ management.login_session_timeout.
	sessionIdle = 8 * time.Hour
	// sessionsMax bounds them, userSessionsMax those of one user; the one that was idle longest gives way.
	sessionsMax, userSessionsMax = 10_000, 200
)

// A session is a browser that logged in. It ends with its user's password.
type session struct {
	name  string
	token string // that changes have to show
	hash  []byte // of the password it was opened with
	used  time.Time
}

// sessions are those of a server, by the digest of their cookie: the memory holds nothing that logs anybody in.
type sessions struct {
	mu struct {
		sync.Mutex
		of map[[sha256.Size]byte]*session
	}
}

// open begins a session and returns its cookie's value.
func (s *sessions) open(name string, hash []byte, now time.Time) (cookie string, opened session) {
	cookie = rand.Text() + rand.Text()
	made := &session{name: name, token: rand.Text(), hash: bytes.Clone(hash), used: now}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.of == nil {
		s.mu.of = map[[sha256.Size]byte]*session{}
	}
	s.evict(name, now)
	s.mu.of[sha256.Sum256([]byte(cookie))] = made
	return cookie, *made
}

// evict makes space for one more of a user: those that ended go; if that is not enough, the user's that was idle
// longest, or that of anybody.
func (s *sessions) evict(name string, now time.Time) {
	var oldest, own [sha256.Size]byte
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
	key := sha256.Sum256([]byte(cookie))
	one, ok := s.mu.of[key]
	if !ok {
		return session{}, false
	}
	if now.Sub(one.used) > sessionIdle {
		delete(s.mu.of, key)
		return session{}, false
	}
	one.used = now
	return *one, true
}

func (s *sessions) close(cookie string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.mu.of, sha256.Sum256([]byte(cookie)))
}

// session finds who calls by the cookie; nil if there is none, or it is worth nothing any more.
func (s *Server) session(r *web.Request) *session {
	cookie, err := r.Cookie(sessionCookie)
	if err != nil || s.options.NoBasicAuth {
		return nil
	}
	found, ok := s.sessions.find(cookie.Value, time.Now())
	if !ok {
		return nil
	}
	user, ok := r.View.User(found.name)
	if !ok || !bytes.Equal(user.Hash, found.hash) ||
		!accounts.MayComeFrom(s.options.LoopbackUsers, found.name, peerOf(r.Request)) {
		s.sessions.close(cookie.Value)
		return nil
	}
	return &found
}

// logInBySession is logIn by the cookie. A browser is never told to ask for a password itself: the console does.
func (s *Server) logInBySession(r *web.Request, asks authz.Tag) error {
	found := s.session(r)
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
	found := s.session(r)
	if found == nil {
		return web.OK(api.Session{})
	}
	s.enterAs(r, authz.Principal{User: found.name, From: peerOf(r.Request)})
	return showSession(r, found)
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
	cookie, opened := s.sessions.open(name, passwordHash(r, name), time.Now())
	a, err := showSession(r, &opened)
	a.Header = http.Header{"Set-Cookie": {sessionHeader(r, cookie, 0)}}
	return a, err
}

// deleteSession ends it.
func (s *Server) deleteSession(r *web.Request) (web.Answer, error) {
	if cookie, err := r.Cookie(sessionCookie); err == nil {
		s.sessions.close(cookie.Value)
	}
	return web.Answer{Status: http.StatusNoContent, Header: http.Header{"Set-Cookie": {sessionHeader(r, "", -1)}}}, nil
}

func showSession(r *web.Request, s *session) (web.Answer, error) {
	who := whoAmI(r)
	return web.OK(api.Session{User: &who, Token: s.token})
}

// cookie is the header that sets the session's cookie.
func sessionHeader(r *web.Request, value string, age int) string {
	c := http.Cookie{
		Name: sessionCookie, Value: value, Path: r.PathPrefix + "/", MaxAge: age,
		HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: r.TLS != nil,
	}
	return c.String()
}
