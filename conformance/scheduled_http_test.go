package conformance

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// A waiting is a kept message as the management API lists it.
type waiting struct {
	ID        string         `json:"id"`
	Due       int64          `json:"due_ms"`
	Key       string         `json:"routing_key"`
	MessageID string         `json:"message_id"`
	Props     map[string]any `json:"properties"`
}

// scheduledIn is what an exchange keeps, in the order of the list.
func (t *T) scheduledIn(exchange string) []waiting {
	t.Helper()
	var all []waiting
	for after := ""; ; {
		var page struct {
			Items []waiting `json:"items"`
			Next  *string   `json:"next"`
		}
		query := url.Values{"limit": {"400"}, "after": {after}}
		if after == "" {
			query.Del("after")
		}
		r := t.request(t.broker.uri.Username, t.broker.uri.Password, "GET", nil, address("x", "scheduled", t.vhost, exchange)+"?"+query.Encode())
		t.equal("status of the list", r.status, http.StatusOK)
		t.must(json.Unmarshal(r.body, &page))
		all = append(all, page.Items...)
		if page.Next == nil {
			return all
		}
		after = *page.Next
	}
}

// change sends a request that changes kept messages, and returns the outcomes.
func (t *T) change(body object, path ...string) verdict {
	t.Helper()
	r := t.ask("POST", body, append([]string{"x", "scheduled", t.vhost}, path...)...)
	t.equal("status of the change", r.status, http.StatusOK)
	var v verdict
	t.must(json.Unmarshal(r.body, &v))
	return v
}

// named is scheduled, with a message-id.
func named(id string, ms int32) edit {
	return func(m *amqp.Publishing) { m.MessageId, m.Headers = id, amqp.Table{"x-delay": ms} }
}

// overHTTP is a case of kept messages as the management API shows and changes them.
func overHTTP(name, rule string, run func(t *T)) Case { return delays(14, name, rule, run) }

var scheduledHTTPCases = []Case{
	overHTTP("scheduled-list", "Scheduled messages are listed by due time, then by the time of publishing, with key, ID and properties.",
		func(t *T) {
			ch := t.channel()
			x := ch.delayed("x", "direct")
			begun := time.Now()
			for id, ms := range []int32{3 * far, far, 2 * far} {
				ch.put(x, fmt.Sprint("key ", id), "m", named(fmt.Sprint(id), ms))
			}
			all := t.scheduledIn(x)
			t.equal("listed", len(all), 3)
			for i, want := range []string{"1", "2", "0"} {
				w := all[i]
				t.equal("message-id and key", []string{w.MessageID, w.Key}, []string{want, "key " + want})
				due := time.Duration(i+1) * far * time.Millisecond
				if in := time.UnixMilli(w.Due).Sub(begun); in < due-time.Millisecond || in > due+slack {
					t.Fatalf("message %s is due after %v, want %v", want, in, due)
				}
			}
		}),
	overHTTP("scheduled-doors-agree", "HTTP and AMQP return the same result for a message: cancelled, fired, or unknown.",
		func(t *T) {
			conn := t.connect()
			ch, cmd := conn.channel(), conn.commander()
			x := ch.delayed("x", "direct")
			q := ch.bound("q", x, "k")
			for id, ms := range []int32{far, 2 * far, 3 * far} {
				ch.put(x, "k", fmt.Sprint(id), named(fmt.Sprint(id), ms))
			}
			all := t.scheduledIn(x)
			t.equal("by HTTP", t.change(object{"ids": []string{all[0].ID, all[0].ID, "1-999"}}, x, "cancel").outcomes(), []string{"cancelled", "cancelled", "unknown"})
			t.equal("by HTTP", t.change(object{"ids": []string{all[1].ID}}, x, "fire").outcomes(), []string{"fired"})
			t.equal("arrived", ch.taken(q, 1), []string{"1"})
			cmd.wants("cancelled", "cancel", x, byID(all[0].ID))
			cmd.wants("already_fired", "cancel", x, byID(all[1].ID))
			cmd.wants("cancelled", "cancel", x, byID(all[2].ID))
			t.equal("after AMQP", t.change(object{"ids": []string{all[0].ID, all[1].ID, all[2].ID}}, x, "cancel").outcomes(),
				[]string{"cancelled", "already_fired", "cancelled"})
			t.equal("left", len(t.scheduledIn(x)), 0)
		}),
	overHTTP("scheduled-published", "Publishing by HTTP returns the ID of a scheduled message; for other messages the response is that of RabbitMQ.",
		func(t *T) {
			ch := t.channel()
			x := ch.delayed("x", "direct")
			q := ch.bound("q", x, "k")
			publish := func(ms int) string {
				body := object{"properties": object{"headers": object{"x-delay": ms}}, "routing_key": "k", "payload": "m", "payload_encoding": "string"}
				return string(t.ask("POST", body, "exchanges", t.vhost, x, "publish").body)
			}
			t.equal("at once", publish(0), `{"routed":true}`)
			t.equal("arrived", ch.taken(q, 1), []string{"m"})
			told := publish(far)
			t.equal("later", told, fmt.Sprintf(`{"routed":true,"scheduled":[%q]}`, t.scheduledIn(x)[0].ID))
		}),
	overHTTP("scheduled-by-key", "A message can be shown, rescheduled, fired and cancelled by its publisher's key; the response has its ID. If no message waits under the key, the key means the last one that did.",
		func(t *T) {
			const key = "order 7/ü%2F"
			ch := t.channel()
			x := ch.delayed("x", "direct")
			q := ch.bound("q", x, "k")
			by := func(method string, body any, more ...string) (status int, id, outcome string) {
				r := t.ask(method, body, append([]string{"x", "scheduled", t.vhost, x, "key", key}, more...)...)
				var one struct{ ID, Outcome string }
				t.must(json.Unmarshal(r.body, &one))
				return r.status, one.ID, one.Outcome
			}
			wants := func(id, outcome, method string, body any, more ...string) {
				t.Helper()
				status, gotID, got := by(method, body, more...)
				t.equal(method, []any{status, gotID, got}, []any{http.StatusOK, id, outcome})
			}
			ch.put(x, "k", "replaced", scheduled(far, key))
			ch.put(x, "k", "m", scheduled(far, key))
			id := t.scheduledIn(x)[0].ID
			wants(id, "", "GET", nil)
			wants(id, "rescheduled", "PATCH", object{"in": 2 * far})
			wants(id, "fired", "POST", nil, "fire")
			t.equal("arrived", ch.taken(q, 1), []string{"m"})
			status, _, _ := by("DELETE", nil)
			t.equal("status when it has fired", status, http.StatusConflict)
			ch.put(x, "k", "n", scheduled(far, key))
			id = t.scheduledIn(x)[0].ID
			wants(id, "cancelled", "DELETE", nil)
			wants(id, "cancelled", "DELETE", nil)
			t.equal("left", len(t.scheduledIn(x)), 0)
		}),
	overHTTP("scheduled-bulk-race", "If one request cancels a thousand messages at their due time, each of them arrives or is cancelled, and the response says which.",
		func(t *T) {
			ch := t.channel()
			x := ch.delayed("x", "fanout")
			q := ch.bound("q", x, "")
			const n = 1000
			for i := range n {
				ch.publish(x, "", fmt.Sprint(i), named(fmt.Sprint(i), int32(800+i%400)))
			}
			ch.put(x, "", "fence", delay(int32(3000)))
			all := t.scheduledIn(x)
			bodyOf := map[string]string{} // by ID
			var ids []string
			for _, w := range all {
				if w.MessageID != "" {
					bodyOf[w.ID] = w.MessageID
					ids = append(ids, w.ID)
				}
			}
			t.equal("listed", len(ids), n)
			t.pass(time.Until(time.UnixMilli(all[n/2].Due)))
			fired := map[string]bool{}
			for _, r := range t.change(object{"ids": ids}, x, "cancel").Results {
				switch r.Outcome {
				case "already_fired":
					fired[bodyOf[r.ID]] = true
				case "cancelled":
				default:
					t.Fatalf("%s is %s", r.ID, r.Outcome)
				}
			}
			arrived := map[string]bool{}
			for _, body := range ch.taken(q, len(fired)+1) {
				arrived[body] = true
			}
			fired["fence"] = true
			t.equal("arrived", arrived, fired)
			ch.empty(q)
			t.Logf("%d of %d were cancelled", n+1-len(fired), n)
		}),
	overHTTP("scheduled-purged", "Purging the scheduled messages of an exchange cancels them, and returns their number.",
		func(t *T) {
			ch := t.channel()
			x := ch.delayed("x", "fanout")
			q := ch.bound("q", x, "")
			for range 3 {
				ch.put(x, "", "m", delay(int32(300)))
			}
			r := t.ask("DELETE", nil, "x", "scheduled", t.vhost, x)
			t.equal("answer", string(r.body), `{"purged":3}`)
			ch.put(x, "", "fence", delay(int32(400)))
			t.equal("arrived", ch.taken(q, 1), []string{"fence"})
			ch.empty(q)
		}),
	overHTTP("scheduled-left-behind", "Deleting an exchange or a vhost returns the number of scheduled messages that it leaves or deletes; those of an exchange can still be listed and cancelled.",
		func(t *T) {
			t.manage("PUT", object{}, "vhosts", t.name("vhost"))
			t.vhost = t.name("vhost")
			t.manage("PUT", object{"configure": ".*", "write": ".*", "read": ".*"}, "permissions", t.vhost, t.broker.uri.Username)
			ch := t.channel()
			x := ch.delayed("x", "direct")
			for i := range 3 {
				ch.put(x, "k", "m", named(fmt.Sprint(i), far))
			}
			const scheduled = "X-Scheduled-Messages"
			r := t.ask("DELETE", nil, "exchanges", t.vhost, x)
			t.equal("exchange", []any{r.status, r.header.Get(scheduled)}, []any{http.StatusNoContent, "3"})
			left := t.scheduledIn(x)
			t.equal("left", len(left), 3)
			t.equal("cancelled", t.change(object{"ids": []string{left[0].ID}}, x, "cancel").outcomes(), []string{"cancelled"})
			r = t.ask("DELETE", nil, "vhosts", t.vhost)
			t.equal("vhost", []any{r.status, r.header.Get(scheduled)}, []any{http.StatusNoContent, "2"})
		}),
}
