package management

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

// with is the same broker behind a server with other options.
func (d *door) with(change func(*Options)) *door {
	d.t.Helper()
	o := d.server.options
	change(&o)
	other := *d
	other.server = New(o)
	d.t.Cleanup(other.server.Close)
	return &other
}

func TestCORS(t *testing.T) {
	// If this fails, a page of a stranger reads what its visitor may, or a console on another host cannot.
	t.Parallel()
	plain := open(t)
	const console, stranger = "https://console.example", "https://stranger.example"
	listed := plain.with(func(o *Options) { o.CORS = CORS{AllowOrigins: []string{console}, MaxAge: time.Minute} })
	anybody := plain.with(func(o *Options) { o.CORS.AllowOrigins = []string{"*"} })
	for _, c := range []struct {
		d                           *door
		origin, allowed, credential string
	}{
		{plain, console, "", ""}, {plain, "null", "", ""},
		{listed, console, console, "true"}, {listed, stranger, "", ""}, {listed, "null", "", ""}, {listed, "", "", ""},
		{anybody, stranger, "*", ""}, {anybody, "null", "", ""},
	} {
		for _, path := range []string{"/api/overview", "/api/queues/%2F/none"} {
			w := c.d.send("GET", path, "", "Origin", c.origin)
			h := w.Header()
			if h.Get("Access-Control-Allow-Origin") != c.allowed || h.Get("Access-Control-Allow-Credentials") != c.credential {
				t.Errorf("%s from %q: %v", path, c.origin, h)
			}
			if h.Get("Access-Control-Max-Age") != "" {
				t.Errorf("an answer that is no preflight: %v", h)
			}
		}
	}
	ask := []string{"Origin", console, "Access-Control-Request-Method", "PUT", "Access-Control-Request-Headers", "authorization, content-type"}
	h := listed.as("").send("OPTIONS", "/api/queues/%2F/q", "", ask...).Header()
	if h.Get("Access-Control-Max-Age") != "60" || h.Get("Access-Control-Allow-Methods") != "DELETE, GET, HEAD, OPTIONS, PUT" ||
		h.Get("Access-Control-Allow-Headers") != "authorization, content-type" {
		t.Errorf("preflight: %v", h)
	}
	ask[1] = stranger
	if h := listed.as("").send("OPTIONS", "/api/queues/%2F/q", "", ask...).Header(); h.Get("Access-Control-Allow-Methods") != "" {
		t.Errorf("preflight of a stranger: %v", h)
	}
	if h := anybody.send("OPTIONS", "/api/overview", "", ask...).Header(); h.Get("Access-Control-Max-Age") != "1800" {
		t.Errorf("usual age: %v", h)
	}
}

func TestDoorOptions(t *testing.T) {
	// If this fails, what an administrator switched off stays on, or the API is not where it was moved to.
	t.Parallel()
	d := open(t)
	if got := d.send("GET", "/api/overview", "").Header().Get("Content-Security-Policy"); got != "script-src 'self'; object-src 'self'" {
		t.Errorf("content policy %q", got)
	}
	strict := d.with(func(o *Options) {
		o.Headers = http.Header{"Strict-Transport-Security": {"max-age=31536000"}, "content-security-policy": {"default-src 'none'"}}
		o.BodyBytesMax = 50
	})
	h := strict.send("GET", "/api/nonsense", "").Header()
	if h.Get("Strict-Transport-Security") != "max-age=31536000" || h.Get("Content-Security-Policy") != "default-src 'none'" {
		t.Errorf("headers %v", h)
	}
	strict.refused(400, "bad_request", "Exceeded HTTP request body size limit", "PUT", "/api/queues/%2F/q", `{"arguments":{"x-queue-type":"classic", "a":"bcdefghijklmn"}}`)
	strict.want(201, "PUT", "/api/queues/%2F/q", `{"arguments":{"x-queue-type":"classic"}}`)

	moved := d.with(func(o *Options) { o.PathPrefix = "/rabbit/" })
	moved.want(200, "GET", "/rabbit/api/queues/%2F/q", "")
	moved.want(200, "GET", "/rabbit/metrics", "")
	moved.want(404, "GET", "/api/overview", "")
	moved.want(404, "GET", "/rabbitapi/overview", "")

	const operated = `{"vhost":"/","component":"operator_policy","name":"kept","value":{"pattern":"a","definition":{"expires":1}}}`
	d.want(204, "POST", "/api/definitions", `{"parameters":[`+operated+`]}`)
	locked := d.with(func(o *Options) { o.NoOperatorPolicyChanges = true })
	locked.want(204, "POST", "/api/definitions", `{"parameters":[`+operated+`]}`) // as it is
	locked.refused(400, "bad_request", "cannot be changed", "POST", "/api/definitions", `{"parameters":[`+strings.Replace(operated, ":1", ":2", 1)+`]}`)
	for _, method := range []string{"PUT", "DELETE"} {
		locked.refused(405, "method_not_allowed", "", method, "/api/operator-policies/%2F/p", `{"pattern":"","definition":{"expires":1}}`)
	}
	locked.want(200, "GET", "/api/operator-policies/%2F", "")

	secret := d.with(func(o *Options) { o.NoBasicAuth = true })
	secret.refused(401, "not_authorized", "Not_Authorized", "GET", "/api/overview", "")
	if w := secret.as("").send("GET", "/api/overview", "", "Authorization", "Bearer "+testSecret); w.Code != 200 {
		t.Errorf("the secret: %d %s", w.Code, w.Body)
	}
}
