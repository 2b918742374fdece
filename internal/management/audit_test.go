package management

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/accounts"
	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/management/web"
)

// deeds is what the audit log says, oldest first, in short.
func (d *door) deeds() (all []string) {
	d.t.Helper()
	for _, x := range read[[]api.Deed](d, "/api/x/audit?after=0") {
		all = append(all, strings.TrimSuffix(fmt.Sprintf("%s %s %s %d %s", x.User, x.Action, x.Object, x.Status, x.Detail), " "))
	}
	return all
}

func TestAudit(t *testing.T) {
	// If this fails, an administrative change is not in the audit log, or a password is.
	t.Parallel()
	d := open(t)
	d.want(201, "PUT", "/api/users/ann", `{"password":"secret one","tags":"administrator"}`)
	d.want(201, "PUT", "/api/users/bob", `{"password_hash":"c2VjcmV0IHR3bw==","tags":""}`)
	ann := d.as("ann:secret one")
	ann.want(201, "PUT", "/api/vhosts/a%2Fb", "")
	ann.want(201, "PUT", "/api/permissions/%2F/ann", `{"configure":".*","write":".*","read":".*"}`)
	ann.want(201, "PUT", "/api/policies/%2F/p", `{"pattern":"q","definition":{"max-length":5}}`)
	ann.want(204, "PUT", "/api/policies/%2F/p", `{"pattern":"q","definition":{"max-length":5},"priority":0,"apply-to":"all"}`) // is so
	ann.want(204, "PUT", "/api/policies/%2F/p", `{"pattern":"q","definition":{"max-length":6}}`)
	ann.want(201, "PUT", "/api/queues/%2F/q", `{"durable":true}`)
	ann.want(201, "POST", "/api/bindings/%2F/e/amq.direct/q/q", `{"routing_key":"k"}`)
	ann.want(204, "DELETE", "/api/queues/%2F/q/contents", "")
	ann.want(204, "DELETE", "/api/queues/%2F/q?if-empty=true", "")
	ann.want(204, "PUT", "/api/cluster-name", `{"name":"c"}`)
	ann.want(204, "POST", "/api/definitions", `{"users":[{"name":"eve","password":"secret three","tags":""}]}`)
	want := []string{
		`guest PUT /api/users/ann 201 {"password":"(not kept)","tags":"administrator"}`,
		`guest PUT /api/users/bob 201 {"password_hash":"(not kept)","tags":""}`,
		`ann PUT /api/vhosts/a%2Fb 201`,
		`ann PUT /api/permissions/%2F/ann 201 {"configure":".*","read":".*","write":".*"}`,
		`ann PUT /api/policies/%2F/p 201 {"definition":{"max-length":5},"pattern":"q"}`,
		`ann PUT /api/policies/%2F/p 204 {"definition":{"max-length":6},"pattern":"q"}`,
		`ann PUT /api/queues/%2F/q 201 {"durable":true}`,
		`ann POST /api/bindings/%2F/e/amq.direct/q/q 201 {"routing_key":"k"}`,
		`ann DELETE /api/queues/%2F/q/contents 204`,
		`ann DELETE /api/queues/%2F/q?if-empty=true 204`,
		`ann PUT /api/cluster-name 204 {"name":"c"}`,
		`ann POST /api/definitions 204 {"users":1}`,
	}
	if got := d.deeds(); !slices.Equal(got, want) {
		t.Errorf("the audit log is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	all := read[[]api.Deed](d, "/api/x/audit")
	if all[0].ID != 12 || all[11].ID != 1 || all[0].At != "2023-11-14T22:13:20.000Z" || all[0].From != d.from {
		t.Errorf("newest first: %+v", all)
	}
	page := read[api.Page[api.Deed]](d, "/api/x/audit?page=1&page_size=2&name=PUT+/api/users&user=guest")
	if page.TotalCount != 2 || page.FilteredCount != 2 || len(page.Items) != 2 {
		t.Errorf("filtered: %+v", page)
	}
	for name, n := range map[string]int{"a/b": 1, "a%2Fb": 1, "ann": 11, "guest": 2} { // as it is shown, and who did it
		page := read[api.Page[api.Deed]](d, "/api/x/audit?page=1&name="+url.QueryEscape(name))
		if page.FilteredCount != n {
			t.Errorf("%q finds %d deeds", name, page.FilteredCount)
		}
	}
	if got := read[[]api.Deed](d, "/api/x/audit?after=11"); len(got) != 1 {
		t.Errorf("after 11: %+v", got)
	}
	d.refused(400, "bad_request", "after must be", "GET", "/api/x/audit?after=x", "")
	d.as("eve:secret three").want(401, "GET", "/api/x/audit", "")
}

func TestAuditKeepsNoSecret(t *testing.T) {
	// If this fails, a password that was sent where none belongs is kept in the audit log.
	t.Parallel()
	d := open(t).with(func(o *Options) { o.PathPrefix = "/mq" })
	d.want(201, "PUT", "/mq/api/users/ann?password=hush&pa%73%73word=hush&a=b&%zz=hush", `{"paſſword":"hush","PassWord2":["hush"],"tags":"","b":{"xPASSWORDx":{"c":"hush"}}}`)
	if in, _ := d.engine.Accounts().Authenticate("ann", "hush"); in {
		t.Error("a key that is another is taken for the password")
	}
	want := `guest PUT /api/users/ann?password=(not kept)&pa%73%73word=(not kept)&a=b&%zz=(not kept) 201 ` +
		`{"PassWord2":"(not kept)","b":{"xPASSWORDx":"(not kept)"},"paſſword":"(not kept)","tags":""}`
	d.server.PathPrefix = ""
	if got := d.deeds(); !slices.Equal(got, []string{want}) {
		t.Errorf("the audit log is %q, want %q", got, want)
	}
}

func TestAuditPassesOver(t *testing.T) {
	// If this fails, the audit log fills with what changes nothing, or with messages.
	t.Parallel()
	d := open(t)
	d.want(201, "PUT", "/api/queues/%2F/q", `{"durable":true}`)
	for _, c := range [][3]string{
		{"PUT", "queues/%2F/q", `{"durable":true}`},
		{"PUT", "permissions/%2F/guest", `{"configure":".*","write":".*","read":".*"}`},
		{"DELETE", "vhost-limits/%2F/max-queues", ""},
	} {
		d.want(204, c[0], "/api/"+c[1], c[2])
	}
	d.want(200, "POST", "/api/exchanges/%2F/amq.default/publish", `{"properties":{},"routing_key":"q","payload":"x","payload_encoding":"string"}`)
	d.want(200, "POST", "/api/queues/%2F/q/get", `{"count":1,"ackmode":"ack_requeue_false","encoding":"auto"}`)
	d.want(400, "PUT", "/api/users/u", `{}`)
	d.want(404, "DELETE", "/api/users/u", "")
	d.as("guest:no").want(401, "DELETE", "/api/users/guest", "")
	if got := d.deeds(); len(got) != 1 {
		t.Errorf("the audit log is %q", got)
	}
}

func TestAuditOfBackups(t *testing.T) {
	// If this fails, somebody can carry everything away, and nobody learns of it.
	t.Parallel()
	d := open(t)
	d.want(200, "GET", "/api/x/backup", "")
	d.want(200, "HEAD", "/api/x/backup", "")
	if got := d.deeds(); !slices.Equal(got, []string{"guest GET /api/x/backup 200"}) {
		t.Errorf("the audit log is %q", got)
	}
}

func TestAuditOfTheSecret(t *testing.T) {
	// If this fails, what the command line does is in nobody's name.
	t.Parallel()
	d := open(t)
	d.user = ""
	r := d.send("PUT", "/api/vhosts/v", `{"tags":`+strings.Repeat(" ", web.DetailBytesMax)+`[]}`, "Authorization", "Bearer "+testSecret)
	if r.Code != http.StatusCreated {
		t.Fatal(r.Code, r.Body)
	}
	d.user = "guest:guest"
	if got := d.deeds(); !slices.Equal(got,
		[]string{accounts.LocalAdministrator + ` PUT /api/vhosts/v 201 {"bytes":4107}`}) {
		t.Errorf("the audit log is %q", got)
	}
}

func TestAuditOfMany(t *testing.T) {
	// If this fails, records that come at the same time are lost or written twice.
	t.Parallel()
	d := open(t)
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			r := httptest.NewRequest("PUT", fmt.Sprintf("/api/vhosts/v%d", i), strings.NewReader(""))
			r.RemoteAddr = d.from
			r.SetBasicAuth("guest", "guest")
			d.server.ServeHTTP(httptest.NewRecorder(), r)
		})
	}
	all.Wait()
	got := d.deeds()
	slices.Sort(got)
	if len(got) != 50 || len(slices.Compact(got)) != 50 {
		t.Errorf("the audit log has %d records", len(got))
	}
}
