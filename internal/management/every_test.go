package management

import (
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/api"
)

var variable = regexp.MustCompile(`\{(\w+)\}`)

// fill puts names into the variable segments of a path, percent-encoded.
func fill(path string, name func(variable string) string) string {
	return "/api/" + variable.ReplaceAllStringFunc(path, func(v string) string { return url.PathEscape(name(strings.Trim(v, "{}"))) })
}

func TestEveryRouteTakesOddNames(t *testing.T) {
	// If this fails, what has a slash, a blank or a percent sign in its name cannot be seen over HTTP.
	t.Parallel()
	d := open(t)
	const odd = "a/b %2F~#?ü"
	names := map[string]string{
		"vhost": odd, "queue": odd, "exchange": odd, "user": odd, "policy": odd, "source": odd, "destination": odd,
		"node": "rabbit@test", "port": "5672", "protocols": "amqp", "within": "1", "unit": "days", "pattern": ".*", "password": odd,
		"component": "operator_policy", "name": odd, "limit": "max-queues",
	}
	host := url.PathEscape(odd)
	for _, c := range []struct{ path, body string }{
		{"vhosts/" + host, ""}, {"users/" + host, `{"tags":"","password":"p"}`}, {"permissions/" + host + "/" + host, `{"configure":"","write":"","read":""}`},
		{"topic-permissions/" + host + "/" + host, `{"exchange":"amq.topic","write":"","read":""}`},
		{"queues/" + host + "/" + host, `{"arguments":{"x-queue-type":"quorum"},"durable":true}`}, {"exchanges/" + host + "/" + host, `{"type":"x-delayed-message","arguments":{"x-delayed-type":"direct"}}`},
		{"policies/" + host + "/" + host, `{"pattern":"^$","definition":{"expires":5}}`}, {"operator-policies/" + host + "/" + host, `{"pattern":"^$","definition":{"expires":5}}`},
		{"global-parameters/" + host, `{"value":1}`},
	} {
		d.want(201, "PUT", "/api/"+c.path, c.body)
	}
	seen := 0
	for _, e := range d.server.endpoints() {
		method, path := e.Method(), e.Path()
		known := true
		for _, v := range variable.FindAllStringSubmatch(path, -1) {
			_, has := names[v[1]]
			known = known && has
		}
		// What is asked for by ID, and events, have tests of their own; this broker has neither a configuration nor a
		// log of its own.
		if method != http.MethodGet || !known || strings.HasPrefix(path, "x/backup") || strings.HasPrefix(path, "config/") || path == "x/log-level" || path == "x/events" {
			continue
		}
		seen++
		for _, lower := range []bool{false, true} {
			at := fill(path, func(v string) string { return names[v] })
			if lower {
				at = strings.ReplaceAll(at, "%2F", "%2f")
			}
			if w := d.send(method, at, ""); w.Code != 200 {
				t.Errorf("%s: %d %s", at, w.Code, w.Body)
			}
		}
	}
	if seen < 90 {
		t.Errorf("%d paths", seen)
	}
}

func TestEveryRouteRefusesNonsense(t *testing.T) {
	// If this fails, a request that nobody should send is a fault of the broker, or refused without a reason.
	t.Parallel()
	d := open(t)
	bodies := []string{"", "{", "[]", `"x"`, "17", `{"a":{"b":[null,-1e999]}}`, `{"value":{}}`, "\x00\xff", `{"arguments":[1],"ids":"x","users":3,"ms":"soon"}`, `{"pattern":5,"definition":[]}`}
	for _, e := range d.server.endpoints() {
		method, path := e.Method(), e.Path()
		if path == "x/backup" && method == http.MethodGet {
			continue // a file
		}
		for _, name := range []string{"/", "none", "\xff\xfe", strings.Repeat("n", 300), "-1"} {
			at := fill(path, func(string) string { return name })
			for _, body := range bodies {
				w := d.send(method, at, body)
				if w.Code >= 500 && w.Code != http.StatusServiceUnavailable {
					t.Errorf("%s %.60s %q: %d %s", method, at, body, w.Code, w.Body)
				}
				var e api.Error
				if w.Code >= 400 && w.Code < 500 && (json.Unmarshal(w.Body.Bytes(), &e) != nil || e.Kind == "" || e.Reason == "") {
					t.Errorf("%s %.60s %q: %d %q has no reason", method, at, body, w.Code, w.Body)
				}
				if method == http.MethodGet {
					break // nobody reads its body
				}
			}
		}
	}
}
