package management

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/management/stats"
)

func TestLoginForm(t *testing.T) {
	// If this fails, the console cannot log in, or lets in who must not, or attempts are not counted.
	t.Parallel()
	d := open(t)
	none := d.as("")
	w := none.send("POST", "/api/login", "username=guest&password=guest", "Content-Type", "application/x-www-form-urlencoded")
	var in api.LoggedIn
	if err := json.Unmarshal(w.Body.Bytes(), &in); err != nil || w.Code != 200 || in.User.Name != "guest" || in.Token.Type != "basic" {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	if w := none.send("GET", "/api/whoami", "", "Authorization", in.Token.Type+" "+in.Token.Value); w.Code != 200 {
		t.Errorf("with the token: %d %s", w.Code, w.Body)
	}
	form := []string{"Content-Type", "application/x-www-form-urlencoded"}
	for body, status := range map[string]int{
		"username=guest&password=wrong": 401, "username=guest": 400, "%": 400, "password=" + strings.Repeat("x", 5000): 400,
	} {
		if w := none.send("POST", "/api/login", body, form...); w.Code != status {
			t.Errorf("%.40s: %d %s, want %d", body, w.Code, w.Body, status)
		}
	}
	far := d.as("")
	far.from = "192.0.2.1:40000"
	if w := far.send("POST", "/api/login", "username=guest&password=guest", form...); w.Code != 401 {
		t.Errorf("guest from afar: %d", w.Code)
	}
	none.want(204, "DELETE", "/api/login", "")
	got := read[[]api.LoginAttempts](d, "/api/auth/attempts/rabbit@test")
	if len(got) != 2 || got[0].Protocol != "amqp091" || got[0].Attempts != 0 || got[1].Protocol != "http" || got[1].Failed != 1 ||
		got[1].Succeeded < 3 || got[1].Attempts != got[1].Failed+got[1].Succeeded {
		t.Errorf("attempts %+v", got)
	}
	d.want(204, "DELETE", "/api/auth/attempts/rabbit@test", "")
	if got := read[[]api.LoginAttempts](d, "/api/auth/attempts/rabbit@test"); got[1].Failed != 0 || got[1].Succeeded != 1 {
		t.Errorf("after a reset %+v", got)
	}
}

func TestCertificates(t *testing.T) {
	// If this fails, nobody is warned before a certificate runs out.
	t.Parallel()
	soon := time.Now().AddDate(0, 0, 10)
	d := open(t).with(func(o *Options) {
		o.Listeners = func() []Listener {
			return []Listener{{Protocol: "amqp", Port: 5672}, {Protocol: "amqp/ssl", Address: "::", Port: 5671, TLS: true, Certificate: "/etc/cert.pem", CertificateExpires: soon}}
		}
	})
	d.want(200, "GET", "/api/health/checks/certificate-expiration/9/days", "")
	d.want(200, "GET", "/api/health/checks/certificate-expiration/1/weeks", "")
	for _, path := range []string{"11/days", "2/weeks", "1/months", "1/years"} {
		w := d.want(503, "GET", "/api/health/checks/certificate-expiration/"+path, "")
		var h api.Health
		if err := json.Unmarshal(w.Body.Bytes(), &h); err != nil || len(h.Expired) != 1 || h.Expired[0].Port != 5671 ||
			h.Expired[0].CertFile != "/etc/cert.pem" || h.Expired[0].CertFileExpiresOn != soon.UTC().Format(time.DateTime) {
			t.Errorf("%s: %s", path, w.Body)
		}
	}
	d.refused(400, "bad_request", "not recognised", "GET", "/api/health/checks/certificate-expiration/1/hours", "")
	d.refused(400, "bad_request", "integer", "GET", "/api/health/checks/certificate-expiration/soon/days", "")
	d.refused(400, "bad_request", "integer", "GET", "/api/health/checks/certificate-expiration/-1/days", "")
}

func TestSmallEndpoints(t *testing.T) {
	// If this fails, a tool that asks what only some ask is told that this is no RabbitMQ.
	t.Parallel()
	d := open(t)
	d.want(201, "PUT", "/api/queues/%2F/q", `{"durable":true,"arguments":{"x-queue-type":"quorum"}}`)
	d.want(201, "PUT", "/api/queues/%2F/c", `{}`)
	const node = "rabbit@test"
	for _, c := range []struct {
		status             int
		method, path, body string
	}{
		{200, "GET", "health/checks/metadata-store/initialized", ""},
		{200, "GET", "health/checks/metadata-store/initialized/with-data", ""},
		{200, "GET", "health/checks/quorum-queues-without-elected-leaders/all-vhosts", ""},
		{200, "GET", "health/checks/quorum-queues-without-elected-leaders/all-vhosts/pattern/%5Eq", ""},
		{200, "GET", "health/checks/quorum-queues-without-elected-leaders/vhost/%2F", ""},
		{200, "GET", "health/checks/quorum-queues-without-elected-leaders/vhost/%2F/pattern/.*", ""},
		{400, "GET", "health/checks/quorum-queues-without-elected-leaders/vhost/%2F/pattern/%5B", ""},
		{404, "GET", "health/checks/quorum-queues-without-elected-leaders/vhost/none", ""},
		{200, "GET", "healthchecks/node", ""},
		{200, "GET", "healthchecks/node/" + node, ""},
		{404, "GET", "healthchecks/node/other", ""},
		{204, "POST", "vhosts/%2F/start/" + node, ""},
		{404, "POST", "vhosts/none/start/" + node, ""},
		{404, "POST", "vhosts/%2F/start/other", ""},
		{204, "PUT", "feature-flags/stream_queue/enable", "{}"},
		{400, "PUT", "feature-flags/none/enable", "{}"},
		{204, "DELETE", "reset", ""},
		{204, "DELETE", "reset/" + node, ""},
		{404, "DELETE", "reset/other", ""},
		{200, "GET", "queues/quorum/%2F/q/status", ""},
		{400, "GET", "queues/quorum/%2F/c/status", ""},
		{404, "GET", "queues/quorum/%2F/none/status", ""},
		{204, "POST", "queues/quorum/%2F/q/replicas/add", `{"node":"` + node + `"}`},
		{400, "POST", "queues/quorum/%2F/q/replicas/add", `{"node":"other"}`},
		{400, "POST", "queues/quorum/%2F/q/replicas/add", `{}`},
		{400, "DELETE", "queues/quorum/%2F/q/replicas/delete", `{"node":"` + node + `"}`},
		{400, "DELETE", "queues/quorum/%2F/q/replicas/delete", `{"node":"other"}`},
		{204, "POST", "queues/quorum/replicas/on/" + node + "/grow", `{"strategy":"all"}`},
		{404, "POST", "queues/quorum/replicas/on/other/grow", `{}`},
		{400, "DELETE", "queues/quorum/replicas/on/" + node + "/shrink", ""},
		{200, "GET", "shovels/vhost/%2F/s", ""},
		{200, "GET", "federation-links/%2F", ""},
		{200, "GET", "users/guest/queues", ""},
		{404, "GET", "users/none/queues", ""},
		{200, "GET", "auth/attempts/" + node + "/source", ""},
		{404, "GET", "auth/attempts/other", ""},
		{404, "GET", "config/effective", ""},
		{404, "GET", "nodes/other/memory", ""},
		{404, "GET", "stream/connections", ""},
	} {
		w := d.want(c.status, c.method, "/api/"+c.path, c.body)
		if c.status/100 != 2 && !strings.Contains(w.Body.String(), `"reason":`) {
			t.Errorf("%s: %s", c.path, w.Body)
		}
	}
	full := d.with(func(o *Options) { o.ConnectionsMax = 1 })
	full.as("").want(200, "GET", "/api/health/checks/below-node-connection-limit", "")
	d.roster.mu.conns = []stats.Connection{{Name: "a"}}
	full.as("").want(503, "GET", "/api/health/checks/below-node-connection-limit", "")
	if got := read[[]api.DeprecatedFeature](d, "/api/deprecated-features"); len(got) == 0 || got[1].Name != "global_qos" || got[1].Phase != "permitted_by_default" {
		t.Errorf("deprecated features %+v", got)
	}
	effective := d.with(func(o *Options) { o.Effective = func() string { return "heartbeat = 60\n" } })
	w := effective.send("GET", "/api/config/effective", "", "Accept", "text/plain")
	if w.Code != 200 || w.Body.String() != "heartbeat = 60\n" || w.Header().Get("Content-Type") != "text/plain; charset=utf-8" {
		t.Errorf("configuration: %d %v %s", w.Code, w.Header(), w.Body)
	}
}

func TestNodeMemory(t *testing.T) {
	// If this fails, exporters that ask what memory is used for get nothing, or a sum that is none.
	t.Parallel()
	d := open(t)
	m := read[api.NodeMemory](d, "/api/nodes/rabbit@test/memory").Memory
	var total api.MemoryTotal
	if err := json.Unmarshal(m.Total, &total); err != nil || total.RSS != 100_000 || total.Allocated <= 0 || total.Erlang <= 0 || m.Strategy != "rss" {
		t.Errorf("%+v: %v", m, err)
	}
	if m.QueueProcs <= 0 || m.OtherProc <= 0 {
		t.Errorf("%+v", m)
	}
	if n := read[api.Node](d, "/api/nodes/rabbit@test?memory=true"); n.Memory == nil || n.Memory.QueueProcs <= 0 {
		t.Errorf("with the node %+v", n.Memory)
	}
	if w := d.want(200, "GET", "/api/nodes", ""); strings.Contains(w.Body.String(), `"memory":`) {
		t.Errorf("unasked: %s", w.Body)
	}
	shares := read[map[string]map[string]int](d, "/api/nodes/rabbit@test/memory/relative")["memory"]
	sum := 0
	for name, n := range shares {
		if name != "total" {
			sum += n
		}
	}
	if shares["total"] != 100 || sum < 95 || sum > 105 {
		t.Errorf("shares %v", shares)
	}
	if w := d.send("GET", "/api/nodes/rabbit@test/memory", "", "Accept", "text/html"); w.Code != http.StatusNotAcceptable {
		t.Errorf("html: %d", w.Code)
	}
}
