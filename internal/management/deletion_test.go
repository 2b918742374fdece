package management

import (
	"net/http/httptest"
	"strings"
	"testing"
)

func TestRequestsThatMeetADeletionAnswerNotFound(t *testing.T) {
	// If this fails, a request whose virtual host is deleted while it runs says that the broker is broken, or that the
	// caller has no rights.
	t.Parallel()
	d := open(t)
	for path, body := range map[string]string{
		"POST /api/queues/brief/q/get":                    `{"count":1,"ackmode":"ack_requeue_true","encoding":"auto"}`,
		"POST /api/exchanges/brief/amq.default/publish":   `{"properties":{},"routing_key":"q","payload":"","payload_encoding":"string"}`,
		"PUT /api/queues/brief/q":                         `{"durable":true}`,
		"PUT /api/policies/brief/p":                       `{"pattern":"x","definition":{"max-length":1}}`,
		"POST /api/x/redrives/brief":                      `{"source":{"queue":"q"}}`,
		"POST /api/bindings/brief/e/amq.direct/q/q":       `{"routing_key":"k"}`,
		"PUT /api/exchanges/brief/x":                      `{"type":"fanout"}`,
		"PUT /api/parameters/operator_policy/brief/other": `{"value":{"pattern":"x","definition":{"max-length":1}}}`,
	} {
		for _, again := range []bool{false, true} { // one of the same name may be there at once
			d.want(201, "PUT", "/api/vhosts/brief", "")
			d.want(201, "PUT", "/api/queues/brief/q", `{"durable":true}`)
			deleted := false
			met := &measuredBody{text: strings.NewReader(body), measure: func() {
				if deleted {
					return
				}
				deleted = true
				d.want(204, "DELETE", "/api/vhosts/brief", "")
				if again {
					d.want(201, "PUT", "/api/vhosts/brief", "")
				}
			}}
			method, path, _ := strings.Cut(path, " ")
			r := httptest.NewRequest(method, path, met)
			r.RemoteAddr = d.from
			r.SetBasicAuth("guest", "guest")
			w := httptest.NewRecorder()
			d.server.ServeHTTP(w, r)
			if !deleted {
				t.Errorf("%s %s does not read its body: %d %s", method, path, w.Code, w.Body)
			}
			if w.Code != 404 && !again || w.Code == 401 || w.Code >= 500 {
				t.Errorf("%s %s, deleted, there again %v: %d %s", method, path, again, w.Code, w.Body)
			}
			d.send("DELETE", "/api/vhosts/brief", "")
		}
	}
}
