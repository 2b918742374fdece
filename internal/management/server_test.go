package management

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/engine"
	"github.com/bartleby-mq/bartleby/internal/engine/resource"
	"github.com/bartleby-mq/bartleby/internal/journal"
	"github.com/bartleby-mq/bartleby/internal/management/stats"
	"github.com/bartleby-mq/bartleby/internal/vfs"
)

// A door is a server on a broker of its own, in memory, with a clock that stands still.
type door struct {
	t      testing.TB
	server *Server
	engine *engine.Engine
	roster *fakeRoster
	user   string // Basic credentials, user:password; empty: none
	from   string // address of the peer
}

const testSecret = "a secret of the test"

func open(t *testing.T) *door {
	t.Helper()
	return openWith(t, engine.NewTestClock(time.Unix(1_700_000_000, 0)))
}

func openWith(t testing.TB, clock engine.Clock) *door {
	t.Helper()
	quiet := slog.New(slog.NewTextHandler(io.Discard, nil))
	e, err := engine.Open(engine.Options{
		FS: vfs.NewMem(1), Journal: journal.Options{SegmentBytes: 1 << 20, ReserveBytes: -1}, Clock: clock, Log: quiet, Machine: machine{},
		ObjectsMax: 1 << 30,
	})
	if err != nil {
		t.Fatal(err)
	}
	roster := &fakeRoster{}
	s := New(Options{
		Engine: e, Roster: roster, Secret: testSecret, Node: "rabbit@test", Version: "1.2.3", Log: quiet,
		Listeners: func() []Listener {
			return []Listener{{Protocol: "amqp", Address: "127.0.0.1", Port: 5672}, {Protocol: "http", Address: "::", Port: 15672}}
		},
	})
	s.sampler.Stop() // tests take readings at instants of theirs
	t.Cleanup(func() {
		s.Close()
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return &door{t: t, server: s, engine: e, roster: roster, user: "guest:guest", from: "127.0.0.1:40000"}
}

// as is the same door with other credentials.
func (d *door) as(user string) *door {
	o := *d
	o.user = user
	return &o
}

// send sends a request; headers are name, value, name, value.
func (d *door) send(method, path, body string, headers ...string) *httptest.ResponseRecorder {
	d.t.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.RemoteAddr = d.from
	if name, password, ok := strings.Cut(d.user, ":"); ok {
		r.SetBasicAuth(name, password)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	d.server.ServeHTTP(w, r)
	return w
}

// want sends a request and checks the status.
func (d *door) want(status int, method, path, body string) *httptest.ResponseRecorder {
	d.t.Helper()
	w := d.send(method, path, body)
	if w.Code != status {
		d.t.Fatalf("%s %s %s: %d %s, want %d", method, path, body, w.Code, w.Body, status)
	}
	return w
}

// read reads what is at the path.
func read[T any](d *door, path string) T {
	d.t.Helper()
	var v T
	w := d.want(http.StatusOK, "GET", path, "")
	if err := json.Unmarshal(w.Body.Bytes(), &v); err != nil {
		d.t.Fatalf("GET %s: %v in %s", path, err, w.Body)
	}
	return v
}

// refused checks status, error and reason, of which the given part must be there.
func (d *door) refused(status int, kind, reason, method, path, body string) {
	d.t.Helper()
	w := d.want(status, method, path, body)
	var e api.Error
	if err := json.Unmarshal(w.Body.Bytes(), &e); err != nil {
		d.t.Fatalf("%s %s: %v in %q", method, path, err, w.Body)
	}
	if e.Kind != kind || !strings.Contains(e.Reason, reason) {
		d.t.Errorf("%s %s %s: %q %q, want %q %q", method, path, body, e.Kind, e.Reason, kind, reason)
	}
}

// machine is a machine with figures that never change.
type machine struct{}

// Read implements resource.Machine.
func (machine) Read() resource.Usage {
	return resource.Usage{MemoryUsed: 100_000, MemoryMax: 1_000_000, DiskFree: 70_000_000}
}

// GiveBack implements resource.Machine.
func (machine) GiveBack() {}

// Aim implements resource.Machine.
func (machine) Aim(int64) {}

type fakeRoster struct {
	mu struct {
		sync.Mutex
		conns  []stats.Connection
		closed []string
	}
}

func (f *fakeRoster) Connections() []stats.Connection {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.mu.conns)
}

func (f *fakeRoster) Doors() stats.Doors {
	return stats.Doors{UnfinishedBytes: 1, UnfinishedWaiting: 2, UnfinishedEnded: 3, SendTimeouts: 4}
}

func (f *fakeRoster) CloseConnection(name, reason string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mu.closed = append(f.mu.closed, name+": "+reason)
	return true
}

func TestLogin(t *testing.T) {
	// If this fails, somebody gets in who must not, or a browser pops up a dialog.
	t.Parallel()
	d := open(t)
	w := d.as("").want(401, "GET", "/api/overview", "")
	if got := w.Header().Get("Www-Authenticate"); got != `Basic realm="RabbitMQ Management"` || w.Body.Len() != 0 {
		t.Errorf("without credentials: %q %q", got, w.Body)
	}
	d.as("guest:wrong").refused(401, "not_authorized", "Not_Authorized", "GET", "/api/overview", "")
	if w := d.as("guest:wrong").send("GET", "/api/overview", ""); w.Header().Get("Www-Authenticate") != "" {
		t.Error("wrong credentials make a browser ask")
	}
	far := d.as("guest:guest")
	far.from = "192.0.2.1:40000"
	far.refused(401, "not_authorised", "User can only log in via localhost", "GET", "/api/overview", "")
	d.want(201, "PUT", "/api/users/plain", `{"password":"p","tags":""}`)
	d.as("plain:p").refused(401, "not_authorised", "Not management user", "GET", "/api/overview", "")
	far.as("plain:p").refused(401, "not_authorised", "Not management user", "GET", "/api/overview", "")

	none := d.as("")
	for token, status := range map[string]int{testSecret: 200, "another": 401, "": 401} {
		if w := none.send("GET", "/api/whoami", "", "Authorization", "Bearer "+token); w.Code != status {
			t.Errorf("token %q: %d %s", token, w.Code, w.Body)
		}
	}
	d.server.options.Secret = ""
	if w := none.send("GET", "/api/whoami", "", "Authorization", "Bearer "); w.Code != 401 {
		t.Errorf("the empty token passes for no secret: %d", w.Code)
	}
	for _, path := range []string{"version", "health/checks/is-in-service", "health/checks/ready-to-serve-clients",
		"health/checks/below-node-connection-limit", "health/checks/reached-target-cluster-size"} {
		none.want(200, "GET", "/api/"+path, "")
	}
}

func TestTags(t *testing.T) {
	// If this fails, a user reaches what its tag does not give, or is told 403, which clients do not know here.
	t.Parallel()
	d := open(t)
	for _, tag := range []string{"management", "policymaker", "monitoring", "administrator"} {
		d.want(201, "PUT", "/api/users/"+tag, fmt.Sprintf(`{"password":"p","tags":%q}`, tag))
		if tag != "administrator" {
			d.want(201, "PUT", "/api/permissions/%2F/"+tag, `{"configure":"","write":"","read":""}`)
		}
	}
	d.want(201, "PUT", "/api/vhosts/hidden", "")
	for _, c := range []struct{ method, path, body, allowed string }{
		{"GET", "overview", "", "management policymaker monitoring administrator"},
		{"GET", "nodes", "", "monitoring administrator"},
		{"GET", "users", "", "administrator"},
		{"PUT", "users/x", `{"tags":""}`, "administrator"},
		{"GET", "policies/%2F", "", "management policymaker monitoring administrator"},
		{"GET", "parameters", "", "policymaker administrator"},
		{"PUT", "operator-policies/%2F/p", `{"pattern":"a","definition":{"expires":5}}`, "administrator guest"},
		{"GET", "permissions", "", "administrator"},
		{"GET", "vhosts/hidden", "", "monitoring administrator"},
		{"DELETE", "vhosts/none", "", "administrator"},
	} {
		for _, tag := range []string{"management", "policymaker", "monitoring", "administrator"} {
			w := d.as(tag+":p").send(c.method, "/api/"+c.path, c.body)
			refused := w.Code == 401 || w.Code == 404 && c.path == "vhosts/hidden"
			if refused == strings.Contains(c.allowed, tag) && !strings.Contains(c.allowed, "guest") {
				t.Errorf("%s %s as %s: %d %s", c.method, c.path, tag, w.Code, w.Body)
			}
		}
	}
	d.as("policymaker:p").want(201, "PUT", "/api/policies/%2F/p", `{"pattern":"a","definition":{"expires":5}}`)
	d.as("monitoring:p").refused(401, "not_authorised", "Not policymaker user", "PUT", "/api/policies/%2F/q", `{"pattern":"a","definition":{"expires":5}}`)
	d.as("administrator:p").refused(401, "not_authorised", "", "PUT", "/api/queues/%2F/q", "")
	d.as("management:p").refused(401, "not_authorised", "Access refused: configure access to queue 'q' in vhost '/' refused for user 'management'", "PUT", "/api/queues/%2F/q", "")
	d.as("management:p").refused(404, "Object Not Found", "Not Found", "GET", "/api/queues/hidden", "")
	if got := read[[]api.VHost](d.as("management:p"), "/api/vhosts"); len(got) != 1 || got[0].Name != "/" {
		t.Errorf("a user sees vhosts that it cannot enter: %v", got)
	}
}

func TestBadInput(t *testing.T) {
	// If this fails, a tool shows its user a wrong or an empty reason, or takes a refusal for a success.
	t.Parallel()
	d := open(t)
	const gone, notFound = "Object Not Found", "Not Found"
	for _, c := range []struct {
		status                           int
		kind, reason, method, path, body string
	}{
		{404, gone, notFound, "GET", "/api/nonsense", ""},
		{404, gone, notFound, "GET", "/api", ""},
		{404, gone, notFound, "GET", "/api/", ""},
		{404, gone, notFound, "GET", "/nothing", ""},
		{404, gone, notFound, "GET", "/api/queues/none", ""},
		{404, gone, notFound, "GET", "/api/queues/%2F/none", ""},
		{404, gone, notFound, "DELETE", "/api/queues/%2F/none", ""},
		{404, gone, notFound, "DELETE", "/api/queues/%2F/none/contents", ""},
		{404, gone, notFound, "GET", "/api/queues/%2F/none/bindings", ""},
		{404, gone, notFound, "GET", "/api/exchanges/%2F/none", ""},
		{404, gone, notFound, "DELETE", "/api/exchanges/%2F/none", ""},
		{404, gone, notFound, "GET", "/api/exchanges/%2F/none/bindings/source", ""},
		{404, "not_found", "no queue 'none' in vhost '/'", "POST", "/api/bindings/%2F/e/amq.direct/q/none", "{}"},
		{404, "not_found", "no exchange 'none' in vhost '/'", "POST", "/api/bindings/%2F/e/none/q/none", "{}"},
		{404, "not_found", "no exchange 'none' in vhost '/'", "POST", "/api/bindings/%2F/e/amq.direct/e/none", "{}"},
		{404, "not_found", "vhost_not_found", "POST", "/api/bindings/none/e/amq.direct/q/q", "{}"},
		{404, "not_found", "vhost_not_found", "PUT", "/api/queues/none/q", "{}"},
		{404, "not_found", "vhost_not_found", "PUT", "/api/exchanges/none/x", `{"type":"direct"}`},
		{404, "not_found", "vhost_not_found", "PUT", "/api/policies/none/p", `{"pattern":"","definition":{"expires":1}}`},
		{404, "not_found", "vhost_not_found", "PUT", "/api/parameters/c/none/p", `{"value":1}`},
		{404, gone, notFound, "DELETE", "/api/queues/none/q", ""},
		{404, gone, notFound, "DELETE", "/api/parameters/policy/%2F/none", ""},
		{400, "bad_request", "Validation failed\n\npriority should be a number, actually was <<\"5\">>", "PUT", "/api/policies/%2F/p", `{"pattern":"","definition":{"expires":1},"priority":"5"}`},
		{400, "bad_request", "Validation failed\n\npattern should be a binary but was 5", "PUT", "/api/policies/%2F/p", `{"pattern":5,"definition":{"expires":1}}`},
		{400, "bad_request", "Validation failed\n\nmax-queues should be a number, actually was <<\"5\">>", "PUT", "/api/vhost-limits/%2F/max-queues", `{"value":"5"}`},
		{400, "bad_request", "max-channels should be a number, actually was true", "PUT", "/api/user-limits/guest/max-channels", `{"value":true}`},
		{400, "bad_request", "Validation failed\n\nmax-queues should be a number, actually was <<\"5\">>", "PUT", "/api/parameters/vhost-limits/%2F/limits", `{"value":{"max-queues":"5"}}`},
		{404, gone, notFound, "GET", "/api/bindings/%2F/e/none/e/amq.topic", ""},
		{404, gone, notFound, "GET", "/api/users/none", ""},
		{404, gone, notFound, "DELETE", "/api/users/none", ""},
		{404, gone, notFound, "GET", "/api/vhosts/none", ""},
		{404, gone, notFound, "DELETE", "/api/vhosts/none", ""},
		{404, gone, notFound, "GET", "/api/permissions/%2F/none", ""},
		{404, gone, notFound, "DELETE", "/api/permissions/%2F/none", ""},
		{404, gone, notFound, "GET", "/api/topic-permissions/%2F/guest", ""},
		{404, gone, notFound, "GET", "/api/policies/%2F/none", ""},
		{404, gone, notFound, "DELETE", "/api/policies/%2F/none", ""},
		{404, gone, notFound, "GET", "/api/global-parameters/none", ""},
		{404, gone, notFound, "GET", "/api/nodes/none", ""},
		{404, gone, notFound, "GET", "/api/connections/none", ""},
		{404, gone, notFound, "GET", "/api/channels/none", ""},
		{404, "not_found", "vhost_not_found", "POST", "/api/exchanges/none/x/publish", "{}"},
		{404, "not_found", "exchange_not_found", "POST", "/api/exchanges/%2F/none/publish", "{}"},
		{404, "not_found", "queue_not_found", "POST", "/api/queues/%2F/none/get", `{"count":1,"ackmode":"ack_requeue_true","encoding":"auto"}`},
		{405, "method_not_allowed", "", "POST", "/api/overview", ""},
		{405, "method_not_allowed", "", "PUT", "/api/queues", ""},
		{400, "bad_request", "not_json", "PUT", "/api/vhosts/v", `{"description":"\ud800"}`},
		{400, "bad_request", "not_json", "PUT", "/api/vhosts/v", "{\"description\":\"\xff\"}"},
		{400, "bad_request", "'tags' occurs twice", "PUT", "/api/users/u", `{"tags":"","tags":"administrator"}`},
		{400, "bad_request", "tags_not_present", "PUT", "/api/users/u", `{"Tags":"administrator"}`},
		{400, "bad_request", "nested deeper than 32", "PUT", "/api/global-parameters/p", `{"value":` + strings.Repeat("[", 33) + strings.Repeat("]", 33) + "}"},
		{400, "bad_request", "reserved for the broker", "PUT", "/api/users/local-administrator", `{"tags":""}`},
		{400, "bad_request", "not_json", "PUT", "/api/queues/%2F/q", "{"},
		{400, "bad_request", "not_json", "PUT", "/api/queues/%2F/q", "[]"},
		{400, "bad_request", "not_json", "PUT", "/api/queues/%2F/q", "17"},
		{400, "bad_request", "encoded twice", "PUT", "/api/queues/%2F/q", `"{}"`},
		{400, "bad_request", "boolean", "PUT", "/api/queues/%2F/q", `{"durable":"perhaps"}`},
		{400, "bad_request", "object", "PUT", "/api/queues/%2F/q", `{"arguments":[1]}`},
		{400, "bad_request", "invalid arg 'x-message-ttl'", "PUT", "/api/queues/%2F/q", `{"arguments":{"x-message-ttl":-1}}`},
		{400, "bad_request", "queue type 'stream' of queue 'q' in vhost '/' is not supported", "PUT", "/api/queues/%2F/q", `{"durable":true,"arguments":{"x-queue-type":"stream"}}`},
		{400, "bad_request", "Node nope@x could not be contacted", "PUT", "/api/queues/%2F/q", `{"node":"nope@x"}`},
		{400, "bad_request", "1 to 255 bytes", "PUT", "/api/queues/%2F/" + strings.Repeat("q", 256), ""},
		{401, "not_authorised", "Access refused: queue name 'amq.mine' contains reserved prefix 'amq.*'", "PUT", "/api/queues/%2F/amq.mine", ""},
		{401, "not_authorised", "Access refused: ", "PUT", "/api/exchanges/%2F/amq.mine", `{"type":"direct"}`},
		{401, "not_authorised", "Access refused: ", "DELETE", "/api/exchanges/%2F/amq.direct", ""},
		{400, "bad_request", "[{key_missing,type}]", "PUT", "/api/exchanges/%2F/x", "{}"},
		{400, "bad_request", "unknown exchange type 'odd'", "PUT", "/api/exchanges/%2F/x", `{"type":"odd"}`},
		{400, "bad_request", "inequivalent arg 'type'", "PUT", "/api/exchanges/%2F/amq.direct", `{"type":"topic","durable":true}`},
		{400, "bad_request", "tags_not_present", "PUT", "/api/users/u", `{"password":"p"}`},
		{400, "bad_request", "both_password_and_password_hash_are_provided", "PUT", "/api/users/u", `{"tags":"","password":"p","password_hash":"cGFzcw=="}`},
		{400, "bad_request", "base64", "PUT", "/api/users/u", `{"tags":"","password_hash":"*"}`},
		{400, "bad_request", "hashing_algorithm", "PUT", "/api/users/u", `{"tags":"","password":"p","hashing_algorithm":"rot13"}`},
		{400, "bad_request", "maximum of 32", "PUT", "/api/users/u", `{"tags":"` + strings.Repeat("t,", 33) + `"}`},
		{400, "bad_request", "[{key_missing,write},{key_missing,read}]", "PUT", "/api/permissions/%2F/guest", `{"configure":""}`},
		{400, "bad_request", "vhost_or_user_not_found", "PUT", "/api/permissions/%2F/none", `{"configure":"","write":"","read":""}`},
		{400, "bad_request", "vhost_or_user_not_found", "PUT", "/api/permissions/none/guest", `{"configure":"","write":"","read":""}`},
		{400, "bad_request", "look-around", "PUT", "/api/permissions/%2F/guest", `{"configure":"^(?!amq).*","write":"","read":""}`},
		{400, "bad_request", "without lookaheads", "PUT", "/api/policies/%2F/p", `{"pattern":"^(?!amq).*","definition":{"expires":1}}`},
		{400, "invalid_pagination_parameters", "without lookaheads", "GET", "/api/queues?page=1&use_regex=true&name=a(%3F%3Db)", ""},
		{400, "bad_request", "invalid regular expression", "PUT", "/api/permissions/%2F/guest", `{"configure":"[","write":"","read":""}`},
		{400, "bad_request", "[{key_missing,pattern}]", "PUT", "/api/policies/%2F/p", `{"definition":{"expires":1}}`},
		{400, "bad_request", "Validation failed\n\nno policy provided", "PUT", "/api/policies/%2F/p", `{"pattern":"","definition":{}}`},
		{400, "bad_request", `Validation failed`, "PUT", "/api/policies/%2F/p", `{"pattern":"","definition":{"x-message-ttl":5}}`},
		{400, "bad_request", "is not a valid message TTL", "PUT", "/api/policies/%2F/p", `{"pattern":"","definition":{"message-ttl":"1000"}}`},
		{400, "bad_request", "not recognised", "PUT", "/api/operator-policies/%2F/p", `{"pattern":"","definition":{"dead-letter-exchange":"x"}}`},
		{400, "bad_request", "component shovel not found", "PUT", "/api/parameters/shovel/%2F/s", `{"value":{}}`},
		{400, "bad_request", "Unrecognised terms", "PUT", "/api/vhost-limits/%2F/max-mail", `{"value":1}`},
		{400, "bad_request", "unsupported default queue type", "PUT", "/api/vhosts/v", `{"default_queue_type":"odd"}`},
		{400, "bad_request", "key_missing,payload}", "POST", "/api/exchanges/%2F/amq.direct/publish", `{"properties":{},"routing_key":""}`},
		{400, "bad_request", "base64", "POST", "/api/exchanges/%2F/amq.direct/publish", `{"properties":{},"routing_key":"","payload":"*","payload_encoding":"base64"}`},
		{400, "bad_request", "'priority'", "POST", "/api/exchanges/%2F/amq.direct/publish", `{"properties":{"priority":300},"routing_key":"","payload":"","payload_encoding":"string"}`},
		{400, "bad_request", "ms must be", "POST", "/api/x/clock/advance", `{"ms":-1}`},
		{400, "invalid_pagination_parameters", "page", "GET", "/api/queues?page=zero", ""},
		{400, "invalid_pagination_parameters", "page_size", "GET", "/api/queues?page=1&page_size=501", ""},
		{400, "invalid_pagination_parameters", "regular expression", "GET", "/api/queues?page=1&use_regex=true&name=%5B", ""},
		{400, "page_out_of_range", "beyond", "GET", "/api/exchanges?page=9", ""},
		{400, "bad_request", "size limit", "POST", "/api/bindings/%2F/e/amq.direct/e/amq.topic", `{"routing_key":"` + strings.Repeat("k", 6000) + `"}`},
		{400, "bad_request", "255", "POST", "/api/bindings/%2F/e/amq.direct/e/amq.topic", `{"routing_key":"` + strings.Repeat("k", 256) + `"}`},
	} {
		d.refused(c.status, c.kind, c.reason, c.method, c.path, c.body)
	}
	if w := d.send("PUT", "/api/overview", ""); w.Header().Get("Allow") != "GET, HEAD, OPTIONS" {
		t.Errorf("Allow: %q", w.Header().Get("Allow"))
	}
	if w := d.as("").send("OPTIONS", "/api/queues/%2F/q", ""); w.Code != 200 || !strings.Contains(w.Header().Get("Allow"), "DELETE") {
		t.Errorf("OPTIONS: %d %q", w.Code, w.Header().Get("Allow"))
	}
	if w := d.send("GET", "/api/overview", "", "Accept", "text/html"); w.Code != 406 {
		t.Errorf("Accept without JSON: %d", w.Code)
	}
	big := `{"arguments":{"x":"` + strings.Repeat("x", 10<<20) + `"}}`
	d.refused(400, "bad_request", "Exceeded HTTP request body size limit", "PUT", "/api/queues/%2F/q", big)
}

func TestAnswers(t *testing.T) {
	// If this fails, caches, compressed transfer or HEAD go wrong for every client.
	t.Parallel()
	d := open(t)
	w := d.send("GET", "/api/exchanges", "", "Accept-Encoding", "gzip, br")
	if w.Header().Get("Content-Encoding") != "gzip" || w.Header().Get("Cache-Control") != "no-cache" ||
		w.Header().Get("Vary") != "accept, accept-encoding, origin" || w.Header().Get("Content-Type") != "application/json" {
		t.Errorf("headers %v", w.Header())
	}
	z, err := gzip.NewReader(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil || !json.Valid(text) {
		t.Errorf("compressed: %v in %s", err, text)
	}
	plain := d.want(200, "GET", "/api/exchanges/", "").Body.Bytes()
	if !bytes.Equal(text, plain) {
		t.Errorf("compressed and plain, with a slash behind, differ")
	}
	head := d.want(200, "HEAD", "/api/exchanges", "")
	if head.Body.Len() != 0 || head.Header().Get("Content-Length") != fmt.Sprint(len(plain)) {
		t.Errorf("HEAD: %d bytes, length %s", head.Body.Len(), head.Header().Get("Content-Length"))
	}
}
