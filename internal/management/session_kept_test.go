package management

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bartleby-mq/bartleby/internal/vfs"
)

// restartedWith starts a broker anew on a disk; b goes on with its cookie.
func restartedWith(t *testing.T, fs vfs.FS, b *browser) (after *browser, stop func()) {
	t.Helper()
	d, stop := startOn(t, fs, true)
	return &browser{d, b.cookie, b.token}, stop
}

func TestSessionsOutliveARestart(t *testing.T) {
	// If this fails, a restart of the broker logs out who uses the console, or logs in who has logged out.
	t.Parallel()
	fs := vfs.NewMem(1)
	d, stop := startOn(t, fs, true)
	d.want(201, "PUT", "/api/users/clerk", `{"password":"p","tags":"administrator"}`)
	guest := func() *browser { return logInAsBrowser(t, d, "guest", "guest") }
	stays, leaves, idle, expelled := guest(), guest(), guest(), logInAsBrowser(t, d, "clerk", "p")
	leaves.ask("DELETE", "/api/x/session", "")
	d.want(204, "PUT", "/api/users/clerk", `{"password":"r","tags":"administrator"}`)
	killed := readFile(t, fs, sessionsFile) // kill -9 would leave this file
	d.server.sessions.mu.of[digestOf(idle.cookie.Value)].used = time.Now().Add(-sessionIdle - time.Minute)
	stop()
	stopped := readFile(t, fs, sessionsFile)
	for _, secret := range []string{stays.cookie.Value, stays.token} {
		if bytes.Contains(stopped, []byte(secret)) {
			t.Error("the file has what logs somebody in")
		}
	}
	for _, c := range []struct {
		what string
		file []byte
		idle int // the status of the session that was idle too long when the broker stopped
	}{{"a stop", stopped, http.StatusUnauthorized}, {"a kill", killed, http.StatusOK}} {
		writeFile(t, fs, sessionsFile, c.file)
		b, stop := restartedWith(t, fs, stays)
		if code, _ := b.ask("PUT", "/api/vhosts/v", "", tokenHeader, b.token); code != 201 && code != 204 {
			t.Errorf("a change after %s: %d", c.what, code)
		}
		for _, gone := range []struct {
			who  string
			of   *browser
			want int
		}{{"logged out", leaves, 401}, {"has another password", expelled, 401}, {"was idle", idle, c.idle}} {
			of := &browser{b.door, gone.of.cookie, gone.of.token}
			if code, _ := of.ask("GET", "/api/whoami", ""); code != gone.want {
				t.Errorf("after %s, who %s: %d, want %d", c.what, gone.who, code, gone.want)
			}
		}
		stop()
	}
	memory := vfs.NewMem(3)
	d, stop = startOn(t, memory, false)
	logInAsBrowser(t, d, "guest", "guest")
	stop()
	if names, err := memory.List("."); err != nil || slices.Contains(names, sessionsFile) {
		t.Errorf("of a broker that keeps nothing there are %v, %v", names, err)
	}
}

func TestTheUseOfASessionIsWritten(t *testing.T) {
	// If this fails, a kill -9 logs out who logged in eight hours ago and worked in the console all the time.
	t.Parallel()
	fs := vfs.NewMem(1)
	d, stop := startOn(t, fs, true)
	defer func() { stop() }()
	b := logInAsBrowser(t, d, "guest", "guest")
	one := d.server.sessions.mu.of[digestOf(b.cookie.Value)]
	one.used, one.written = time.Now().Add(-7*time.Hour), time.Now().Add(-7*time.Hour)
	b.ask("GET", "/api/whoami", "")
	var stored []storedSession
	err := json.Unmarshal(readFile(t, fs, sessionsFile), &stored)
	if err != nil || len(stored) != 1 || time.Since(stored[0].Used) > time.Hour {
		t.Errorf("on disk: %+v, %v", stored, err)
	}
}

func TestSessionsThatCannotBeUsed(t *testing.T) {
	// If this fails, a bad file of sessions stops the broker, or logs somebody in.
	t.Parallel()
	digest := sha256.New().Sum(nil)
	of := func(n int, cookie []byte, user string, used time.Time) []byte {
		b, err := json.Marshal(slices.Repeat([]storedSession{{cookie, user, digest, used}}, n))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	now := time.Now()
	for what, c := range map[string]struct {
		file []byte
		says string
	}{
		"cut":               {[]byte(`[{"cookie":"`), "unexpected end"},
		"empty":             {nil, "unexpected end"},
		"of a short digest": {of(1, []byte("x"), "guest", now), "wrong length"},
		"of many":           {of(sessionsMax+1, digest, "guest", now), "the maximum is"},
		"too large":         {make([]byte, sessionsFileMax+1), "the maximum is"},
		"from the future":   {of(1, digest, "guest", now.Add(time.Hour)), ""},
		"of a missing user": {of(1, digest, "none", now), ""},
	} {
		fs := vfs.NewMem(1)
		_, stop := startOn(t, fs, true)
		stop()
		writeFile(t, fs, sessionsFile, c.file)
		var text strings.Builder
		d, stop := startLogging(t, fs, true, &text)
		if !strings.Contains(text.String(), c.says) || (c.says == "") != (text.String() == "") {
			t.Errorf("%s: logged %q", what, text.String())
		}
		b := logInAsBrowser(t, d, "guest", "guest")
		if code, _ := b.ask("GET", "/api/whoami", ""); code != 200 {
			t.Errorf("%s: a new session: %d", what, code)
		}
		stop()
	}
}
