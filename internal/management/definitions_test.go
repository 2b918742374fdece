package management

import (
	"bytes"
	"mime/multipart"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestDefinitions(t *testing.T) {
	// If this fails, a backup of what was declared cannot be restored into an empty broker.
	t.Parallel()
	d := open(t)
	for _, c := range [][2]string{
		{"vhosts/v", `{"description":"d","tags":"a","default_queue_type":"classic"}`},
		{"users/u", `{"password":"p","tags":"management"}`},
		{"permissions/v/u", `{"configure":"c","write":"w","read":"r"}`},
		{"topic-permissions/v/u", `{"exchange":"amq.topic","write":"w","read":"r"}`},
		{"exchanges/v/x", `{"type":"fanout","durable":true,"internal":true,"arguments":{"alternate-exchange":"y"}}`},
		{"queues/v/q", `{"durable":true,"arguments":{"x-message-ttl":1000}}`},
		{"queues/v/qq", `{"durable":true,"arguments":{"x-queue-type":"quorum"}}`},
		{"policies/v/p", `{"pattern":"q","definition":{"max-length":5},"priority":3,"apply-to":"queues"}`},
		{"operator-policies/v/o", `{"pattern":"q","definition":{"expires":5000}}`},
		{"global-parameters/g", `{"value":[1]}`},
	} {
		d.want(201, "PUT", "/api/"+c[0], c[1])
	}
	d.want(204, "PUT", "/api/vhost-limits/v/max-queues", `{"value":9}`)
	d.want(204, "PUT", "/api/user-limits/u/max-channels", `{"value":8}`)
	d.want(201, "POST", "/api/bindings/v/e/x/q/q", `{"routing_key":"k","arguments":{"a":1}}`)
	d.want(201, "POST", "/api/bindings/v/e/x/e/amq.fanout", "")

	all := d.send("GET", "/api/definitions?download=back\"up.json", "")
	if got := all.Header().Get("Content-Disposition"); got != `attachment; filename="backup.json"` {
		t.Errorf("download: %s", got)
	}
	other := open(t)
	other.want(204, "POST", "/api/definitions", all.Body.String())
	if again := other.want(200, "GET", "/api/definitions", ""); !bytes.Equal(again.Body.Bytes(), all.Body.Bytes()) {
		t.Errorf("exported %s\nimported %s", all.Body, again.Body)
	}
	other.want(204, "POST", "/api/all-configuration", all.Body.String())
	other.as("u:p").want(200, "GET", "/api/whoami", "")

	one := d.want(200, "GET", "/api/definitions/v", "").Body.String()
	if strings.Contains(one, `"vhost"`) || strings.Contains(one, `"users"`) {
		t.Errorf("one vhost: %s", one)
	}
	other.want(201, "PUT", "/api/vhosts/w", "")
	other.want(204, "POST", "/api/definitions/w", one)
	if got := other.want(200, "GET", "/api/definitions/w", "").Body.String(); got != strings.Replace(strings.Replace(one, `_name":"v"`, `_name":"w"`, 1), `'v'`, `'w'`, 1) {
		t.Errorf("one vhost\n%s\ninto another\n%s", one, got)
	}
	other.refused(400, "bad_request", "/api/definitions/{vhost}", "POST", "/api/definitions", one)
	other.refused(400, "bad_request", "not_json", "POST", "/api/definitions", "{")
	other.refused(400, "bad_request", "component shovel", "POST", "/api/definitions", `{"parameters":[{"vhost":"/","component":"shovel","name":"s","value":{}}]}`)
	other.refused(400, "bad_request", "no exchange 'none'", "POST", "/api/definitions/%2F", `{"bindings":[{"source":"amq.direct","destination":"none","destination_type":"exchange"}]}`)
	other.want(204, "POST", "/api/definitions/%2F", `{"bindings":[{"source":"amq.direct","destination":"amq.gen-1","destination_type":"queue"}]}`)
	other.refused(400, "bad_request", "both_password_and_password_hash_are_provided", "POST", "/api/definitions", `{"users":[{"name":"z","password":"p","password_hash":""}]}`)
	other.want(204, "POST", "/api/definitions", `{"queues":[{"name":"q"},{"vhost":"/","name":"amq.gen-1"}],"vhosts":[{"name":"l","limits":[]}]}`)
	other.want(404, "POST", "/api/definitions/none", "{}")
}

func TestDefinitionsUpload(t *testing.T) {
	// If this fails, the console's upload of definitions does nothing.
	t.Parallel()
	d := open(t)
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	file, err := form.CreateFormFile("file", "defs.json")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.Write([]byte(`{"queues":[{"vhost":"/","name":"q","durable":true,"auto_delete":false,"arguments":{}}]}`)); err != nil {
		t.Fatal(err)
	}
	if err := form.Close(); err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest("POST", "/api/definitions", &body)
	r.RemoteAddr = d.from
	r.SetBasicAuth("guest", "guest")
	r.Header.Set("Content-Type", form.FormDataContentType())
	w := httptest.NewRecorder()
	d.server.ServeHTTP(w, r)
	if w.Code != 204 {
		t.Fatalf("upload: %d %s", w.Code, w.Body)
	}
	d.want(200, "GET", "/api/queues/%2F/q", "")
}
