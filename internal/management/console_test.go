package management

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/management/console"
)

const forPages = "text/html,application/xhtml+xml,*/*;q=0.8"

func TestConsoleServing(t *testing.T) {
	// If this fails, a browser does not get the console, gets an old one, or a tool gets a page where it wants JSON.
	t.Parallel()
	for _, prefix := range []string{"", "/rabbit"} {
		d := open(t).with(func(o *Options) { o.PathPrefix = prefix }).as("")
		for _, at := range []string{"/", "/letters", "/queues/%2F/a%2Fb", "/no/such/page"} {
			w := d.send("GET", prefix+at, "", "Accept", forPages)
			if w.Code != 200 || !strings.Contains(w.Body.String(), `<script type="module" src="`+prefix+"/assets/") {
				t.Errorf("GET %s: %d %s", at, w.Code, w.Body)
			}
			for name, want := range map[string]string{
				"Cache-Control": "no-cache", "Content-Security-Policy": console.Policy, "X-Content-Type-Options": "nosniff",
				"X-Frame-Options": "DENY", "Content-Type": "text/html; charset=utf-8",
			} {
				if got := w.Header().Get(name); got != want {
					t.Errorf("GET %s: %s: %s, want %s", at, name, got, want)
				}
			}
		}
		for _, c := range []struct{ at, accept string }{
			{"/letters", "application/json"}, {"/letters", "*/*"}, {"/cli/rabbitmqadmin", forPages}, {"/api", forPages}, {"/api/nothing", forPages},
			{"/assets/0000000000000000/lib/app.js", forPages},
		} {
			if w := d.send("GET", prefix+c.at, "", "Accept", c.accept); w.Code != 404 {
				t.Errorf("GET %s for %s: %d", c.at, c.accept, w.Code)
			}
		}
		if w := d.send("POST", prefix+"/", "", "Accept", forPages); w.Code != 404 {
			t.Errorf("POST /: %d", w.Code)
		}
		if prefix != "" {
			if w := d.send("GET", prefix, ""); w.Code != 301 || w.Header().Get("Location") != prefix+"/" {
				t.Errorf("GET %s: %d %s", prefix, w.Code, w.Header().Get("Location"))
			}
		}
	}
}

// attribute is an address in a page.
var attribute = regexp.MustCompile(`(?:href|src)="([^"]+)"`)

func TestConsoleAssets(t *testing.T) {
	// If this fails, the first page names a file that is not there, browsers ask again for what never changes, or the
	// policy would have to allow code that is written into a page.
	t.Parallel()
	d := open(t).as("")
	index := d.send("GET", "/", "", "Accept", forPages).Body.String()
	found := attribute.FindAllStringSubmatch(index, -1)
	if len(found) < 20 {
		t.Fatalf("only %d files: %s", len(found), index)
	}
	for _, m := range found {
		w := d.send("GET", m[1], "")
		if w.Code != 200 || w.Header().Get("Cache-Control") != "public, max-age=31536000, immutable" || w.Header().Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %d %v", m[1], w.Code, w.Header())
		}
		z := d.send("GET", m[1], "", "Accept-Encoding", "gzip")
		if w.Body.Len() > 1000 && (z.Header().Get("Content-Encoding") != "gzip" || z.Body.Len() >= w.Body.Len()) {
			t.Errorf("%s is not compressed", m[1])
		}
		if n := d.send("GET", m[1], "", "If-None-Match", w.Header().Get("Etag")); n.Code != 304 || n.Body.Len() != 0 {
			t.Errorf("%s again: %d", m[1], n.Code)
		}
		if h := d.send("HEAD", m[1], ""); h.Code != 200 || h.Body.Len() != 0 || h.Header().Get("Content-Length") == "0" {
			t.Errorf("HEAD %s: %d, %d bytes", m[1], h.Code, h.Body.Len())
		}
	}
	if regexp.MustCompile(`<script[^>]*>[^<]|<style|\son[a-z]+="|\sstyle="`).MatchString(index) {
		t.Error("the page holds code or style of its own")
	}
}

// browser is a client that keeps the session's cookie.
type browser struct {
	*door
	cookie *http.Cookie
	token  string
}

func (b *browser) ask(method, path, body string, headers ...string) (int, string) {
	headers = append(headers, "Cookie", b.cookie.String())
	w := b.as("").send(method, path, body, headers...)
	return w.Code, w.Body.String()
}

func logInAsBrowser(t *testing.T, d *door, name, password string) *browser {
	t.Helper()
	w := d.as("").send("POST", "/api/x/session", "username="+name+"&password="+password, "Content-Type", "application/x-www-form-urlencoded")
	var s api.Session
	if w.Code != 200 || json.Unmarshal(w.Body.Bytes(), &s) != nil || s.User == nil || s.Token == "" {
		t.Fatalf("login: %d %s", w.Code, w.Body)
	}
	cookies := w.Result().Cookies()
	if len(cookies) != 1 || !cookies[0].HttpOnly || cookies[0].SameSite != http.SameSiteStrictMode || cookies[0].Path != "/" {
		t.Fatalf("cookies: %v", w.Header()["Set-Cookie"])
	}
	return &browser{d, &http.Cookie{Name: cookies[0].Name, Value: cookies[0].Value}, s.Token}
}

func TestSessions(t *testing.T) {
	// If this fails, somebody stays logged in who must not, a page of another origin acts for a user, or a browser asks
	// for passwords in a dialog of its own.
	t.Parallel()
	d := open(t)
	d.want(201, "PUT", "/api/users/clerk", `{"password":"p","tags":"administrator"}`)
	nobody := d.as("")
	for _, form := range []string{"username=clerk&password=q", "username=&password=", "username=none&password=p"} {
		if w := nobody.send("POST", "/api/x/session", form, "Content-Type", "application/x-www-form-urlencoded"); w.Code != 401 || w.Header().Get("Set-Cookie") != "" || w.Header().Get("Www-Authenticate") != "" {
			t.Errorf("%s: %d %v", form, w.Code, w.Header())
		}
	}
	if got := read[api.Session](nobody, "/api/x/session"); got.User != nil || got.Token != "" {
		t.Errorf("without a cookie: %+v", got)
	}
	b := logInAsBrowser(t, d, "clerk", "p")
	if code, body := b.ask("GET", "/api/whoami", ""); code != 200 || !strings.Contains(body, `"clerk"`) {
		t.Errorf("whoami: %d %s", code, body)
	}
	for _, token := range []string{"", "none", "x" + b.token[1:]} {
		if code, _ := b.ask("PUT", "/api/vhosts/v", "", tokenHeader, token); code != 401 {
			t.Errorf("a change with the token %q: %d", token, code)
		}
	}
	if code, body := b.ask("PUT", "/api/vhosts/v", "", tokenHeader, b.token); code != 201 {
		t.Errorf("a change: %d %s", code, body)
	}
	far := *d
	far.from = "192.0.2.1:5"
	d.server.options.LoopbackUsers = []string{"clerk"}
	if code, _ := (&browser{&far, b.cookie, b.token}).ask("GET", "/api/whoami", ""); code != 401 {
		t.Errorf("a cookie from afar: %d", code)
	}
	for what, end := range map[string]func(b *browser){
		"logging out":        func(b *browser) { b.ask("DELETE", "/api/x/session", "") },
		"another password":   func(*browser) { d.want(204, "PUT", "/api/users/clerk", `{"password":"r","tags":"administrator"}`) },
		"the tag taken away": func(*browser) { d.want(204, "PUT", "/api/users/clerk", `{"password":"p","tags":""}`) },
		"the user's end":     func(*browser) { d.want(204, "DELETE", "/api/users/clerk", "") },
		"idleness": func(*browser) {
			for one := range maps.Values(d.server.sessions.mu.of) {
				one.used = one.used.Add(-sessionIdle - 1)
			}
		},
	} {
		d.send("PUT", "/api/users/clerk", `{"password":"p","tags":"administrator"}`)
		b := logInAsBrowser(t, d, "clerk", "p")
		end(b)
		if code, _ := b.ask("GET", "/api/whoami", ""); code != 401 {
			t.Errorf("after %s: %d", what, code)
		}
		why := map[string]string{
			"another password": passwordChanged, "the tag taken away": passwordChanged, "the user's end": userDeleted,
		}[what]
		_, body := b.ask("GET", "/api/x/session", "")
		if strings.Contains(body, `"ended"`) != (why != "") || !strings.Contains(body, why) {
			t.Errorf("after %s the session says %s", what, body)
		}
	}
}

func TestSessionsAreBounded(t *testing.T) {
	// If this fails, logging in again and again fills the memory.
	t.Parallel()
	var s sessions
	first := s.open("a", nil, at0)
	for i := range sessionsMax {
		s.open(fmt.Sprint(i), nil, at0.Add(1))
	}
	if _, ok := s.find(first, at0.Add(2)); ok || len(s.mu.of) != sessionsMax {
		t.Errorf("%d sessions; the oldest is there: %v", len(s.mu.of), ok)
	}
	var own sessions // one user's leave those of others alone
	other := own.open("other", nil, at0)
	first = own.open("a", nil, at0)
	for range userSessionsMax {
		own.open("a", nil, at0.Add(1))
	}
	if _, ok := own.find(first, at0.Add(2)); ok || len(own.mu.of) != userSessionsMax+1 {
		t.Errorf("%d sessions of a user; the oldest is there: %v", len(own.mu.of), ok)
	}
	if _, ok := own.find(other, at0.Add(2)); !ok {
		t.Error("who logs in often ends the session of another")
	}
}
