package management

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/bartleby-mq/bartleby/internal/engine"
)

const (
	// sessionsFile is the file of sessions in the data directory. What cannot be read of it is ignored: its users log
	// in again.
	sessionsFile = "sessions"
	// sessionsFileMax bounds its bytes: sessionsMax sessions of users with names of 255 bytes, each byte escaped.
	sessionsFileMax = 32 << 20
)

// storedSession is a session in the file. The digests say neither the cookie nor the password.
type storedSession struct {
	Cookie   []byte    `json:"cookie"` // SHA-256 of the cookie's value
	User     string    `json:"user"`
	Password []byte    `json:"password"` // SHA-256 of the stored hash of the password
	Used     time.Time `json:"used"`     // the last request that was known when the file was written
}

// encode returns what the file has of the sessions, nil if nothing has changed since the last call and always is false.
func (s *sessions) encode(always bool) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.mu.changed && !always {
		return nil, nil
	}
	s.mu.changed = false
	all := make([]storedSession, 0, len(s.mu.of))
	for cookie, one := range s.mu.of {
		if one.ended != "" {
			continue
		}
		all = append(all, storedSession{cookie[:], one.name, one.password[:], one.used})
		one.written = one.used
	}
	return json.Marshal(all)
}

// decode takes over the sessions of a file, without those that ended before now.
func (s *sessions) decode(b []byte, now time.Time) error {
	var all []storedSession
	if err := json.Unmarshal(b, &all); err != nil {
		return err
	}
	if len(all) > sessionsMax {
		return fmt.Errorf("it has %d sessions: the maximum is %d", len(all), sessionsMax)
	}
	of := make(map[digest]*session, len(all))
	for _, one := range all {
		if len(one.Cookie) != len(digest{}) || len(one.Password) != len(digest{}) {
			return errors.New("a digest has the wrong length")
		}
		if one.Used.After(now) { // the clock was set back
			one.Used = now
		}
		if now.Sub(one.Used) > sessionIdle {
			continue
		}
		of[digest(one.Cookie)] = &session{
			name: one.User, password: digest(one.Password), used: one.Used, written: one.Used,
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.of = of
	return nil
}

// restoreSessions takes over the sessions of the last run, so that a restart does not log anybody out.
func (s *Server) restoreSessions() {
	if !s.options.KeepReadings {
		return
	}
	b, err := s.Engine.KeptFile(sessionsFile, sessionsFileMax)
	if err == nil && b != nil {
		err = s.sessions.decode(b, time.Now())
	}
	if err != nil {
		s.Log.Warn("cannot read the sessions of the last run: users of the console log in again",
			"file", sessionsFile, "error", err)
	}
}

// storeSessions writes the sessions: when one began or ended, and always at a stop, since the times of the last
// requests change all the time. What cannot be written is tried again with the next change.
func (s *Server) storeSessions(always bool) {
	if !s.options.KeepReadings {
		return
	}
	s.sessions.writing.Lock()
	defer s.sessions.writing.Unlock()
	b, err := s.sessions.encode(always)
	if err == nil && b != nil {
		err = s.Engine.KeepFile(sessionsFile, b)
	}
	if err == nil {
		return
	}
	s.sessions.mu.Lock()
	s.sessions.mu.changed = true
	s.sessions.mu.Unlock()
	if !errors.Is(err, engine.ErrLowOnDisk) {
		s.Log.Warn("cannot write the sessions: after a restart users of the console log in again",
			"file", sessionsFile, "error", err)
	}
}
