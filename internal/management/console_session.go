package management

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"sync"
	"time"

	"github.com/bartleby-mq/bartleby/internal/access"
	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/authz"
)

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
	s.tidy(name, now)
	s.mu.of[sha256.Sum256([]byte(cookie))] = made
	return cookie, *made
}

// tidy makes room for one more of a user: those that ended go; if that is not enough, the user's that was idle longest, or that of
// anybody.
func (s *sessions) tidy(name string, now time.Time) {
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
func (r *request) session() *session {
	cookie, err := r.Cookie(sessionCookie)
	if err != nil || r.server.options.NoBasicAuth {
		return nil
	}
	found, ok := r.server.sessions.find(cookie.Value, time.Now())
	if !ok {
		return nil
	}
	user, ok := r.view.User(found.name)
	if !ok || !bytes.Equal(user.Hash, found.hash) || !access.MayComeFrom(r.server.options.LoopbackUsers, found.name, peerOf(r.Request)) {
		r.server.sessions.close(cookie.Value)
		return nil
	}
	return &found
}

// logInBySession is logIn by the cookie. A browser is never told to ask for a password itself: the console does.
func (r *request) logInBySession(asks authz.Tag) error {
	found := r.session()
	if found == nil {
		return errLogin
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead &&
		subtle.ConstantTimeCompare([]byte(r.Header.Get(tokenHeader)), []byte(found.token)) != 1 {
		return notAuthorised("The header %s does not have the session's token", tokenHeader)
	}
	r.enterAs(authz.Principal{User: found.name, From: peerOf(r.Request)})
	return r.caller.Route(asks)
}

// getSession shows who is logged in, and with which token changes are asked for. Whoever is not is told so with 200: the
// console asks before it knows.
func getSession(r *request) (answer, error) {
	found := r.session()
	if found == nil {
		return ok(api.Session{})
	}
	r.enterAs(authz.Principal{User: found.name, From: peerOf(r.Request)})
	return r.showSession(found)
}

// postSession takes name and password as a form, and opens a session.
func postSession(r *request) (answer, error) {
	name, password, err := r.readLogin()
	if err != nil {
		return answer{}, err
	}
	if err := r.logInAs(name, password, management); err != nil {
		return answer{}, err
	}
	cookie, opened := r.server.sessions.open(name, r.passwordHash(name), time.Now())
	a, err := r.showSession(&opened)
	a.header = http.Header{"Set-Cookie": {r.cookie(cookie, 0)}}
	return a, err
}

// deleteSession ends it.
func deleteSession(r *request) (answer, error) {
	if cookie, err := r.Cookie(sessionCookie); err == nil {
		r.server.sessions.close(cookie.Value)
	}
	return answer{status: http.StatusNoContent, header: http.Header{"Set-Cookie": {r.cookie("", -1)}}}, nil
}

func (r *request) showSession(s *session) (answer, error) {
	who := r.whoAmI()
	return ok(api.Session{User: &who, Token: s.token})
}

// cookie is the header that sets the session's cookie.
func (r *request) cookie(value string, age int) string {
	c := http.Cookie{
		Name: sessionCookie, Value: value, Path: r.server.options.PathPrefix + "/", MaxAge: age,
		HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: r.TLS != nil,
	}
	return c.String()
}
