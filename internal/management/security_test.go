package management

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/vfs"
)

func TestEveryRouteAsksForItsTag(t *testing.T) {
	// If this fails, somebody without the tag for it, without a password, or with a wrong one, is served.
	t.Parallel()
	d := open(t)
	levels := []authz.Tag{"", authz.Management, authz.Policymaker, authz.Monitoring, authz.Administrator}
	for _, tag := range levels {
		d.want(201, "PUT", "/api/users/u"+string(tag), fmt.Sprintf(`{"password":"p","tags":%q}`, tag))
		d.want(201, "PUT", "/api/permissions/%2F/u"+string(tag), `{"configure":".*","write":".*","read":".*"}`)
	}
	view := d.engine.Accounts()
	for _, r := range d.server.endpoints() {
		path := "/api/" + strings.ReplaceAll(r.Route(), "*", "x")
		if r.Tag == authz.Anybody {
			continue
		}
		for _, tag := range levels {
			if u, _ := view.User("u" + string(tag)); u.ActsAs(string(r.Tag)) {
				continue
			}
			d.as("u"+string(tag)+":p").refused(401, "not_authorised", "Not", r.Method(), path, "")
		}
		d.as("uadministrator:q").refused(401, "not_authorized", "Not_Authorized", r.Method(), path, "")
		d.as("").want(401, r.Method(), path, "")
		far := *d
		far.from = "192.0.2.1:5"
		far.refused(401, "not_authorised", "localhost", r.Method(), path, "")
	}
	if now := d.engine.Accounts(); now.Version() != view.Version() {
		t.Error("who was refused changed something")
	}
}

func TestOpenToAnybody(t *testing.T) {
	// If this fails, more is served without a password than SECURITY.md says.
	t.Parallel()
	d := open(t)
	var got []string
	for _, r := range d.server.endpoints() {
		if r.Tag == authz.Anybody {
			got = append(got, r.Method()+" "+r.Route())
		}
	}
	slices.Sort(got)
	want := []string{
		"DELETE login", "DELETE x/session",
		"GET health/checks/below-node-connection-limit", "GET health/checks/is-in-service",
		"GET health/checks/reached-target-cluster-size", "GET health/checks/ready-to-serve-clients",
		"GET version", "GET x/openapi.json", "GET x/session",
		"POST login", "POST x/session",
	}
	if !slices.Equal(got, want) {
		t.Errorf("without a password: %q\nwant %q", got, want)
	}
}

func TestHashesAreForAdministrators(t *testing.T) {
	// If this fails, somebody who is no administrator is shown password hashes, or messages without a permission.
	t.Parallel()
	d := open(t)
	d.want(201, "PUT", "/api/users/watch", `{"password":"p","tags":"monitoring,policymaker"}`)
	d.want(201, "PUT", "/api/permissions/%2F/watch", `{"configure":"","write":"","read":""}`)
	d.want(201, "PUT", "/api/queues/%2F/q", `{"durable":true}`)
	u, _ := d.engine.Accounts().User("guest")
	hash := base64.StdEncoding.EncodeToString(u.Hash)
	watch := d.as("watch:p")
	for _, r := range d.server.endpoints() {
		if r.Changes() {
			continue
		}
		path := "/api/" + strings.NewReplacer("queues/*/*", "queues/%2F/q", "*", "%2F").Replace(r.Route())
		if w := watch.send("GET", path, ""); strings.Contains(w.Body.String(), hash) {
			t.Errorf("GET %s shows a password hash", path)
		}
	}
	watch.want(401, "POST", "/api/queues/%2F/q/get", `{"count":1,"ackmode":"ack_requeue_true","encoding":"auto"}`)
	watch.want(401, "POST", "/api/exchanges/%2F/amq.default/publish", `{"properties":{},"routing_key":"q","payload":"x","payload_encoding":"string"}`)
	watch.want(401, "DELETE", "/api/queues/%2F/q/contents", "")
	watch.want(401, "DELETE", "/api/queues/%2F/q", "")
}

func TestPagesOfOtherOrigins(t *testing.T) {
	// If this fails, a page that an administrator looks at changes the broker with the password that the browser knows.
	t.Parallel()
	d := open(t)
	post := func(d *door, headers ...string) int {
		return d.send("POST", "/api/definitions", `{"vhosts":[{"name":"v"}]}`, append(headers, "Content-Type", "text/plain")...).Code
	}
	for _, c := range []struct {
		headers []string
		status  int
	}{
		{nil, 204},
		{[]string{"Sec-Fetch-Site", "same-origin"}, 204},
		{[]string{"Sec-Fetch-Site", "cross-site", "Origin", "https://evil.example"}, 403},
		{[]string{"Origin", "https://evil.example"}, 403},
		{[]string{"Origin", "http://example.com"}, 204}, // this host, of a browser that says no more
	} {
		if got := post(d, c.headers...); got != c.status {
			t.Errorf("%v: %d, want %d", c.headers, got, c.status)
		}
	}
	for origins, status := range map[string]int{"https://console.example": 204, "*": 204, "https://other.example": 403, "nonsense": 403} {
		d := open(t)
		d.server.origins = (&CORS{AllowOrigins: []string{origins}}).protection()
		if got := post(d, "Sec-Fetch-Site", "cross-site", "Origin", "https://console.example"); got != status {
			t.Errorf("with %s allowed: %d, want %d", origins, got, status)
		}
	}
}

func TestNoPasswordOnTheDisk(t *testing.T) {
	// If this fails, whoever reads the data directory or a backup reads passwords.
	t.Parallel()
	const secret = "correct horse battery staple"
	dir := t.TempDir()
	e := disk(t, vfs.Dir(dir))
	s := New(Options{Engine: e, Secret: testSecret, Log: quiet()})
	d := &door{t: t, server: s, engine: e, from: "127.0.0.1:1"}
	by := []string{"Authorization", "Bearer " + testSecret}
	body, err := json.Marshal(map[string]any{"users": []any{map[string]any{"name": "a", "password": secret, "tags": ""}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range [][3]string{
		{"PUT", "/api/users/b", `{"password":"` + secret + `","tags":""}`},
		{"POST", "/api/definitions", string(body)},
	} {
		if w := d.send(c[0], c[1], c[2], by...); w.Code >= http.StatusBadRequest {
			t.Fatalf("%s: %d %s", c[1], w.Code, w.Body)
		}
	}
	for _, name := range []string{"a", "b"} {
		if in, _ := e.Accounts().Authenticate(name, secret); !in {
			t.Errorf("%s cannot log in", name)
		}
	}
	var log []api.Deed
	if w := d.send("GET", "/api/x/audit", "", by...); json.Unmarshal(w.Body.Bytes(), &log) != nil || len(log) != 2 || strings.Contains(w.Body.String(), secret) {
		t.Errorf("the audit log is %s", w.Body)
	}
	s.Close()
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	files := 0
	err = filepath.WalkDir(dir, func(path string, about os.DirEntry, err error) error {
		if err != nil || about.IsDir() {
			return err
		}
		files++
		text, err := os.ReadFile(path)
		if strings.Contains(string(text), secret) {
			t.Errorf("%s holds a password", path)
		}
		return err
	})
	if err != nil || files == 0 {
		t.Errorf("%d files: %v", files, err)
	}
}
