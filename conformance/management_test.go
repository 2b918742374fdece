package conformance

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"

	amqp "github.com/rabbitmq/amqp091-go"
)

// A reply is what the management API answered.
type reply struct {
	status int
	header http.Header
	body   []byte
}

// ask sends a request to the management API; path parts are escaped here.
func (t *T) ask(method string, body any, path ...string) reply {
	t.Helper()
	return t.askAs(t.broker.uri.Username, t.broker.uri.Password, method, body, path...)
}

// askAs is ask for another user.
func (t *T) askAs(user, password, method string, body any, path ...string) reply {
	t.Helper()
	return t.request(user, password, method, body, address(path...))
}

// address is a path below /api, whose parts are escaped here.
func address(path ...string) string {
	var all strings.Builder
	for _, p := range path {
		all.WriteString("/" + url.PathEscape(p))
	}
	return all.String()
}

// request is askAs for a path that is escaped, and may have a query behind it.
func (t *T) request(user, password, method string, body any, path string) reply {
	t.Helper()
	target := t.broker.http + "/api" + path
	text, err := json.Marshal(body)
	t.must(err)
	req, err := http.NewRequest(method, target, bytes.NewReader(text))
	t.must(err)
	req.Header.Set("Content-Type", "application/json")
	req.SetBasicAuth(user, password)
	client := http.Client{Timeout: patience}
	res, err := client.Do(req)
	t.must(err)
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	t.must(err)
	return reply{res.StatusCode, res.Header, answer}
}

// manage is ask for what must succeed.
func (t *T) manage(method string, body any, path ...string) {
	t.Helper()
	if r := t.ask(method, body, path...); r.status >= 300 {
		t.Fatalf("%s %v: %d %s", method, path, r.status, r.body)
	}
}

// object is the body of a JSON request.
type object map[string]any

// ownVhost gives the case a vhost of its own, for what concerns all queues of a vhost. It goes with the case.
func (t *T) ownVhost() {
	t.Helper()
	name := t.name("vhost")
	t.manage("PUT", object{}, "vhosts", name)
	t.Cleanup(func() { t.manage("DELETE", nil, "vhosts", name) })
	t.manage("PUT", object{"configure": ".*", "write": ".*", "read": ".*"}, "permissions", name, t.broker.uri.Username)
	t.vhost = name
}

// policy sets a policy for the queues of the case's vhost.
func (t *T) policy(name, pattern string, priority int, definition object) {
	t.Helper()
	t.applyPolicy("policies", name, pattern, "queues", priority, definition)
}

// operatorPolicy sets an operator policy for the queues of the case's vhost.
func (t *T) operatorPolicy(name, pattern string, priority int, definition object) {
	t.Helper()
	t.applyPolicy("operator-policies", name, pattern, "queues", priority, definition)
}

func (t *T) applyPolicy(kind, name, pattern, applyTo string, priority int, definition object) {
	t.Helper()
	t.manage("PUT", object{"pattern": pattern, "definition": definition, "priority": priority, "apply-to": applyTo},
		kind, t.vhost, name)
}

// A grant is a user's permissions on the case's vhost.
type grant struct{ configure, write, read string }

// as makes a user with these permissions, who goes with the case, and opens a channel of theirs.
func (t *T) as(g grant) (*channel, string) {
	t.Helper()
	user := t.name("user")
	t.manage("PUT", object{"password": "secret", "tags": ""}, "users", user)
	t.Cleanup(func() { t.manage("DELETE", nil, "users", user) })
	t.manage("PUT", object{"configure": g.configure, "write": g.write, "read": g.read}, "permissions", t.vhost, user)
	c, err := t.dial(user, "secret", t.vhost)
	t.must(err)
	return c.channel(), user
}

// text is the property of a message that a table header holds, or empty.
func text(d amqp.Delivery, header string) string {
	s, _ := d.Headers[header].(string)
	return s
}
