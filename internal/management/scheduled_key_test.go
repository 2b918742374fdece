package management

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/api"
)

// keyed publishes a message to the exchange "later" under a key, and returns its ID.
func (d *door) keyed(key, payload string, ms int) string {
	d.t.Helper()
	return d.schedule("later", "k", payload, fmt.Sprintf(`"x-delay":%d,"x-schedule-key":%q`, ms, key), "")
}

func TestPublishTellsIDs(t *testing.T) {
	// If this fails, who publishes over HTTP cannot tell which message waits, or sees an answer that is not RabbitMQ's.
	t.Parallel()
	d := later(t)
	d.want(201, "PUT", "/api/exchanges/%2F/also", `{"type":"x-delayed-message","arguments":{"x-delayed-type":"fanout"}}`)
	d.want(201, "PUT", "/api/exchanges/%2F/both", `{"type":"fanout"}`)
	for _, x := range []string{"later", "also"} {
		d.want(201, "POST", "/api/bindings/%2F/e/both/e/"+x, `{}`)
	}
	publish := func(exchange, headers string) string {
		t.Helper()
		return d.want(200, "POST", "/api/exchanges/%2F/"+exchange+"/publish",
			`{"properties":{"headers":{`+headers+`}},"routing_key":"q","payload":"m","payload_encoding":"string"}`).Body.String()
	}
	for exchange, want := range map[string]string{"later": `{"routed":true}`, "amq.default": `{"routed":true}`, "also": `{"routed":false}`} {
		if got := publish(exchange, `"x-delay":0`); got != want {
			t.Errorf("%s at once: %s, want %s", exchange, got, want)
		}
	}
	var p api.Published
	if err := json.Unmarshal([]byte(publish("both", `"x-delay":1000`)), &p); err != nil || !p.Routed || len(p.Scheduled) != 2 {
		t.Fatalf("in two exchanges: %+v, %v", p, err)
	}
	found := map[string]int{}
	for _, x := range []string{"later", "also"} {
		for _, m := range read[api.WaitingPage](d, scheduled+"/"+x).Items {
			found[m.ID]++
		}
	}
	if len(found) != 2 || found[p.Scheduled[0]] != 1 || found[p.Scheduled[1]] != 1 {
		t.Errorf("told %v, listed %v", p.Scheduled, found)
	}
	d.want(200, "DELETE", scheduled+"/later/"+d.keyed("a", "m", 1000), "")
}

func TestPutUnderAKey(t *testing.T) {
	// If this fails, a message cannot be scheduled under a key in one request, stands beside the one whose place it
	// takes, or comes at another time than asked for.
	t.Parallel()
	d := later(t)
	const path = scheduled + "/later/key/order%207"
	put := func(body string) (p api.Published) {
		t.Helper()
		if err := json.Unmarshal(d.want(200, "PUT", path, body).Body.Bytes(), &p); err != nil || !p.Routed {
			t.Fatalf("%s: %+v, %v", body, p, err)
		}
		return p
	}
	old := put(`{"routing_key":"k","payload":"old","in":1000}`)
	p := put(`{"routing_key":"k","payload":"bmV3","payload_encoding":"base64","properties":{"message_id":"7","headers":{"a":1}},"at":"2023-11-14T22:13:25Z"}`)
	if len(old.Scheduled) != 1 || len(p.Scheduled) != 1 {
		t.Fatalf("told %v and %v", old, p)
	}
	if m := read[api.Waiting](d, path); m.ID != p.Scheduled[0] || *m.Payload != "new" || m.DueMS != 1_700_000_005_000 || *m.MessageID != "7" {
		t.Errorf("shown: %+v", m)
	}
	d.refused(409, "cancelled", "was cancelled", "GET", scheduled+"/later/"+old.Scheduled[0], "")
	for want, body := range map[string]string{
		"key_missing":       `{"payload":"","in":1}`,
		"not both":          `{"routing_key":"","payload":"","in":1,"at":1}`,
		"must not be neg":   `{"routing_key":"","payload":"","in":-1}`,
		"header x-delay":    `{"routing_key":"","payload":"","in":1,"properties":{"headers":{"x-delay":5}}}`,
		"header x-schedule": `{"routing_key":"","payload":"","in":1,"properties":{"headers":{"x-schedule-key":"b"}}}`,
		"the maximum":       `{"routing_key":"","payload":"","in":9223372036854775807}`,
	} {
		d.refused(400, "bad_request", want, "PUT", path, body)
	}
	d.want(404, "PUT", scheduled+"/none/key/a", `{"routing_key":"","payload":"","in":1}`)
	d.refused(404, "not_found", "x-delayed-message", "PUT", scheduled+"/amq.direct/key/a", `{"routing_key":"","payload":"","in":1}`)
	if m := read[api.Waiting](d, path); m.ID != p.Scheduled[0] {
		t.Errorf("after refusals %+v", m)
	}
	if p := put(`{"routing_key":"k","payload":"now","in":0}`); p.Scheduled != nil || d.arrived("q") != "now" {
		t.Errorf("now: %+v", p)
	}
	d.refused(409, "cancelled", "was cancelled", "GET", path, "")
}

func TestScheduledByKey(t *testing.T) {
	// If this fails, a message cannot be shown, called off, moved or sent early by the name that its publisher gave it.
	t.Parallel()
	d := later(t)
	const odd, path = "order 7/ü%2F", scheduled + "/later/key/order%207%2F%C3%BC%252F"
	first := d.keyed(odd, "old", 1000)
	id := d.keyed(odd, "new", 1000)
	if m := read[api.Waiting](d, path); m.ID != id || *m.Payload != "new" {
		t.Errorf("shown: %+v", m)
	}
	d.refused(409, "cancelled", "was cancelled", "GET", scheduled+"/later/"+first, "")
	want := func(method, path, body, id, outcome string) {
		t.Helper()
		if w := d.want(200, method, path, body).Body.String(); w != fmt.Sprintf(`{"id":"%s","outcome":"%s"}`, id, outcome) {
			t.Errorf("%s %s: %s", method, path, w)
		}
	}
	want("PATCH", path, `{"in":5000}`, id, "rescheduled")
	if m := read[api.Waiting](d, path); m.InMS != 5000 {
		t.Errorf("moved: %+v", m)
	}
	d.refused(400, "bad_request", "must not be negative", "PATCH", path, `{"in":-1}`)
	want("POST", path+"/fire", "", id, "fired")
	if got := d.arrived("q"); got != "new" {
		t.Errorf("fired: %s", got)
	}
	want("DELETE", scheduled+"/later/key/key", "", d.keyed("key", "m", 1000), "cancelled")
	id = d.keyed("fire", "m", 1000)
	for range 2 {
		want("DELETE", scheduled+"/later/key/fire", "", id, "cancelled")
	}
	for _, c := range []struct{ path, outcome string }{{path, "already_fired"}, {scheduled + "/later/key/fire", "cancelled"}} {
		d.refused(409, c.outcome, "the message ", "GET", c.path, "")
		d.refused(409, c.outcome, "the message ", "PATCH", c.path, `{"in":1}`)
		d.refused(409, c.outcome, "the message ", "POST", c.path+"/fire", "")
	}
	d.refused(409, "already_fired", "fired already", "DELETE", path, "")
	for _, key := range []string{"none", "", strings.Repeat("x", 300)} {
		for method, body := range map[string]string{"GET": "", "DELETE": "", "PATCH": `{"in":1}`} {
			d.want(404, method, scheduled+"/later/key/"+key, body)
		}
		d.want(404, "POST", scheduled+"/later/key/"+key+"/fire", "")
	}
	d.want(404, "DELETE", scheduled+"/none/key/a", "")
	d.want(404, "DELETE", scheduled+"/amq.direct/key/a", "")
	d.want(405, "POST", scheduled+"/later/key/a", "")
}

func TestKeysAndPermissions(t *testing.T) {
	// If this fails, a user reads, calls off or sends messages by their keys through an exchange that it must not
	// touch.
	t.Parallel()
	d := later(t)
	id := d.keyed("a", "m", 1000)
	const path = scheduled + "/later/key/a"
	for user, permissions := range map[string]string{
		"r": `{"configure":"","write":"","read":"^later$"}`, "w": `{"configure":"","write":"^later$","read":""}`,
	} {
		d.want(201, "PUT", "/api/users/"+user, `{"password":"p","tags":"management"}`)
		d.want(201, "PUT", "/api/permissions/%2F/"+user, permissions)
	}
	r, w := d.as("r:p"), d.as("w:p")
	const kind, refused = "not_authorised", "Access refused: "
	for _, key := range []string{"a", "none"} { // nor is it told which keys there are
		at := scheduled + "/later/key/" + key
		w.refused(401, kind, refused, "GET", at, "")
		r.refused(401, kind, refused, "DELETE", at, "")
		r.refused(401, kind, refused, "PATCH", at, `{"in":1}`)
		r.refused(401, kind, refused, "POST", at+"/fire", "")
	}
	if m := read[api.Waiting](r, path); m.ID != id {
		t.Errorf("shown: %+v", m)
	}
	w.want(200, "PATCH", path, `{"in":1}`)
	w.want(200, "POST", path+"/fire", "")
}

func TestKeysAgainstReplacement(t *testing.T) {
	// If this fails, cancelling by key while the key goes to another message tells of a message that was not cancelled,
	// or ends one that nobody was told of.
	t.Parallel()
	d := later(t)
	const n = 100
	cancelled := map[string]bool{}
	var all sync.WaitGroup
	var ids []string
	all.Go(func() {
		for range n {
			w := d.send("DELETE", scheduled+"/later/key/a", "")
			var o api.WaitingOutcome
			switch err := json.Unmarshal(w.Body.Bytes(), &o); {
			case w.Code == http.StatusOK && err == nil && o.Outcome == "cancelled":
				cancelled[o.ID] = true
			case w.Code != http.StatusNotFound:
				t.Errorf("%d %s", w.Code, w.Body)
			}
		}
	})
	for i := range n {
		ids = append(ids, d.keyed("a", fmt.Sprint(i), 1000))
	}
	all.Wait()
	for id := range cancelled {
		if !slices.Contains(ids, id) {
			t.Errorf("%s was cancelled, and nobody published it", id)
		}
	}
	last := ids[n-1]
	page := read[api.WaitingPage](d, scheduled+"/later")
	if waits := len(page.Items) == 1 && page.Items[0].ID == last; waits == cancelled[last] || len(page.Items) > 1 {
		t.Errorf("left: %+v; the last is %s, cancelled: %v", page.Items, last, cancelled[last])
	}
}

func TestListUnderAKey(t *testing.T) {
	// If this fails, the console cannot find a message by its schedule key, or finds one that waits no more.
	t.Parallel()
	d := later(t)
	d.keyed("other", "m", 1000)
	id := d.keyed("order 7", "m", 1000)
	under := func(key string) []api.Waiting { return read[api.WaitingPage](d, scheduled+"/later?key="+key).Items }
	if got := under("order%207"); len(got) != 1 || got[0].ID != id {
		t.Errorf("found %+v, want %s", got, id)
	}
	if got := under("order"); len(got) != 0 {
		t.Errorf("a part of a key finds %+v", got)
	}
	d.want(200, "DELETE", scheduled+"/later/"+id, "")
	if got := under("order%207"); len(got) != 0 {
		t.Errorf("what was cancelled is found: %+v", got)
	}
}
