package management

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/api"
)

// office fills a new broker: n messages that came to exchange orders with key new were rejected in queue work, and are in
// queue dead. They have the header n, from 0 on, and the header tenant, acme and other by turns.
func office(t *testing.T, n int) *door {
	t.Helper()
	d := open(t)
	d.want(http.StatusCreated, "PUT", "/api/exchanges/%2F/orders", `{"type":"topic","durable":true}`)
	d.queueWith("work", `"x-dead-letter-exchange":"","x-dead-letter-routing-key":"dead"`)
	d.queueWith("dead", "")
	d.want(http.StatusCreated, "POST", "/api/bindings/%2F/e/orders/q/work", `{"routing_key":"new"}`)
	for i := range n {
		d.want(200, "POST", "/api/exchanges/%2F/orders/publish", fmt.Sprintf(
			`{"routing_key":"new","payload":"{\"order\":%d}","payload_encoding":"string","properties":{"delivery_mode":2,"message_id":"m%d","headers":{"n":%d,"tenant":%q}}}`,
			i, i, i, []string{"acme", "other"}[i%2]))
	}
	if got := len(d.take("work", fmt.Sprintf(`{"count":%d,"ackmode":"reject_requeue_false","encoding":"auto"}`, n))); got != n {
		t.Fatalf("%d of %d rejected", got, n)
	}
	return d
}

const deadLetters = "/api/x/queues/%2F/dead/messages"

// messageIDs lists them in the order in which they are shown, through all portions.
func messageIDs(d *door, path string) string {
	d.t.Helper()
	var ids []string
	for after := ""; ; {
		page := read[api.Letters](d, path+after)
		for _, l := range page.Items {
			ids = append(ids, l.MessageID)
		}
		if page.Next == nil {
			return strings.Join(ids, " ")
		}
		after = "&after=" + *page.Next
	}
}

func TestBrowse(t *testing.T) {
	// If this fails, looking at a queue changes it, or shows other messages than it has.
	t.Parallel()
	d := office(t, 5)
	before := d.want(200, "GET", "/api/queues/%2F/dead", "").Body.String()
	for query, want := range map[string]string{
		"?order=oldest":                         "m0 m1 m2 m3 m4",
		"?order=newest":                         "m4 m3 m2 m1 m0",
		"?limit=2":                              "m0 m1 m2 m3 m4",
		"?limit=2&order=newest":                 "m4 m3 m2 m1 m0",
		"?filter=header.tenant:acme":            "m0 m2 m4",
		"?filter=header.tenant:acme&limit=1":    "m0 m2 m4",
		"?filter=-header.tenant:acme":           "m1 m3",
		"?filter=source:work%20exchange:order*": "m0 m1 m2 m3 m4",
		"?filter=body.$.order:%3E2":             "m3 m4",
		"?filter=id:m3":                         "m3",
		"?filter=state:unacked":                 "",
	} {
		if got := messageIDs(d, deadLetters+query); got != want {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
	l := read[api.Letters](d, deadLetters+"?limit=1").Items[0]
	if l.Place != "queue" || l.Queue != "dead" || l.VHost != "/" || l.State != "ready" || l.Exchange != "" || l.RoutingKeys[0] != "dead" ||
		!l.Persistent || l.Size != 11 || len(l.Deaths) != 1 || l.Deaths[0].Exchange != "orders" || l.First.Queue != "work" ||
		l.Last.Reason != "rejected" || *l.At != "2023-11-14T22:13:20.000Z" || l.Payload != nil || l.Properties != nil || l.Cause != nil || l.Due != nil {
		t.Errorf("shown %+v", l)
	}
	if l := read[api.Letters](d, deadLetters+"?limit=1&payload=true&truncate=3").Items[0]; *l.Payload != `{"o` || !l.Truncated || len(l.Properties) != 3 {
		t.Errorf("with payload %+v", l)
	}
	if after := d.want(200, "GET", "/api/queues/%2F/dead", "").Body.String(); after != before {
		t.Errorf("the queue was\n%s and is\n%s", before, after)
	}
	for query, reason := range map[string]string{
		"?order=x": "oldest or newest", "?limit=0": "from 1 to 500", "?limit=x": "integer", "?after=x": "after must be", "?filter=nope:1": "nope",
		"?filter=age:soon": "age", "?encoding=hex": "auto or base64", "?truncate=-1": "number of bytes", "?offset=x": "number of bytes",
	} {
		d.refused(400, "bad_request", reason, "GET", deadLetters+query, "")
	}
	d.want(404, "GET", "/api/x/queues/%2F/none/messages", "")
	d.want(404, "GET", "/api/x/queues/none/dead/messages", "")
}

func TestBrowseEveryState(t *testing.T) {
	// If this fails, messages that are not ready are invisible in the office.
	t.Parallel()
	d := shelf(t)
	d.queueWith("w", `"x-delayed-retry-type":"all","x-delayed-retry-min":60000`)
	d.publish("amq.default", "w", "waits")
	d.take("w", `{"count":1,"ackmode":"reject_requeue_true","encoding":"auto"}`)
	d.publish("amq.default", "w", "ready")
	page := read[api.Letters](d, "/api/x/queues/%2F/w/messages?payload=true")
	states := map[string]string{}
	for _, l := range page.Items {
		states[*l.Payload] = l.State
	}
	if states["waits"] != "waiting" || states["ready"] != "ready" || page.Next != nil {
		t.Errorf("%v", states)
	}
	lost := read[api.Letters](d, "/api/x/lost-letters/%2F/messages?payload=true&filter=cause:no_exchange&order=newest")
	if len(lost.Items) != 3 || lost.Items[0].Place != "lost" || lost.Items[0].State != "lost" || *lost.Items[0].Cause != "no_exchange" ||
		*lost.Items[0].Payload != "q 2" || lost.Items[0].ID != "3" {
		t.Errorf("lost: %+v", lost)
	}
	if l := read[api.Letter](d, "/api/x/lost-letters/%2F/messages/4"); *l.Payload != "r 0" || l.Last.Queue != "r" {
		t.Errorf("one: %+v", l)
	}
	d.want(404, "GET", "/api/x/lost-letters/%2F/messages/9", "")
	d.want(404, "GET", "/api/x/lost-letters/none/messages", "")
}

func TestOneLetter(t *testing.T) {
	// If this fails, a message cannot be looked at whole, or its payload is a page of ours to a browser.
	t.Parallel()
	d := office(t, 1)
	d.want(200, "POST", "/api/exchanges/%2F/amq.default/publish", `{"routing_key":"dead","payload":"<b>Größe</b>","payload_encoding":"string","properties":{}}`)
	page := read[api.Letters](d, deadLetters)
	id := page.Items[1].ID
	for query, want := range map[string]string{"": "<b>Größe</b>", "?offset=3&limit=4": "Grö", "?offset=3&limit=3": "Gr", "?offset=99": "", "?encoding=base64&limit=3": "PGI+"} {
		l := read[api.Letter](d, deadLetters+"/"+id+query)
		if *l.Payload != want || l.Truncated != (query != "") || l.Size != 14 || l.Deaths != nil && len(l.Deaths) > 0 || l.At != nil || l.First != nil {
			t.Errorf("%s: %+v", query, l)
		}
	}
	w := d.want(200, "GET", deadLetters+"/"+id+"/payload", "")
	h := w.Header()
	if w.Body.String() != "<b>Größe</b>" || h.Get("Content-Type") != "application/octet-stream" || h.Get("X-Content-Type-Options") != "nosniff" ||
		h.Get("Content-Disposition") != `attachment; filename="queue-`+id+`.bin"` {
		t.Errorf("%q %v", w.Body, h)
	}
	for _, wrong := range []string{"/x", "/0", "/99", "/18446744073709551616", "/99/payload"} {
		d.want(404, "GET", deadLetters+wrong, "")
	}
	d.refused(400, "bad_request", "limit", "GET", deadLetters+"/"+id+"?limit=x", "")
}

// operator makes a user who may read, write and configure what the expressions say.
func (d *door) operator(name, tags, configure, write, reads string) *door {
	d.t.Helper()
	d.want(http.StatusCreated, "PUT", "/api/users/"+name, fmt.Sprintf(`{"password":"p","tags":%q}`, tags))
	d.want(http.StatusCreated, "PUT", "/api/permissions/%2F/"+name, fmt.Sprintf(`{"configure":%q,"write":%q,"read":%q}`, configure, write, reads))
	return d.as(name + ":p")
}

func TestWhoMayLook(t *testing.T) {
	// If this fails, somebody reads messages that it must not, by a list or by what a filter finds.
	t.Parallel()
	d := office(t, 2)
	id := read[api.Letters](d, deadLetters).Items[0].ID
	d.operator("none", "management", "", "", "^work$").refused(401, "not_authorised", "Access refused.", "GET", deadLetters, "")
	d.operator("ok", "management", "", "", "^dead$").want(200, "GET", deadLetters+"?payload=true", "")
	d.want(201, "PUT", "/api/users/out", `{"password":"p","tags":"management"}`)
	d.as("out:p").want(404, "GET", deadLetters, "")

	strict := d.with(func(o *Options) { o.StrictOffice = true })
	plain := strict.as("ok:p")
	plain.want(200, "GET", deadLetters+"?filter=reason:rejected", "")
	plain.refused(401, "not_authorised", "Not office-payload user", "GET", deadLetters+"?payload=true", "")
	plain.refused(401, "not_authorised", "Not office-payload user", "GET", deadLetters+"?filter=header.tenant:acme", "")
	plain.refused(401, "not_authorised", "Not office-payload user", "GET", deadLetters+"?filter=-acme", "")
	plain.refused(401, "not_authorised", "Not office-payload user", "GET", deadLetters+"/"+id+"/payload", "")
	if l := read[api.Letter](plain, deadLetters+"/"+id); l.Payload != nil || l.Properties != nil || l.MessageID != "m0" {
		t.Errorf("without the tag %+v", l)
	}
	for _, tags := range []string{"management,office-payload", "management,office", "administrator"} {
		d.operator("reader", tags, "", "", "^dead$")
		reader := strict.as("reader:p")
		if l := read[api.Letter](reader, deadLetters+"/"+id); l.Payload == nil {
			t.Errorf("%s sees no payload", tags)
		}
		reader.want(200, "GET", deadLetters+"?filter=header.tenant:acme", "")
		d.want(204, "DELETE", "/api/users/reader", "")
	}
}
