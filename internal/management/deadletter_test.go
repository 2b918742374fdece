package management

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/accounts"
	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/management/deadletter"
	"github.com/bartleby-mq/bartleby/internal/management/web"
)

// withDeadLetters fills a new broker: n messages that came to exchange orders with key new were rejected in queue work,
// and are in queue dead. They have the header n, from 0 on, and the header tenant, acme and other by turns.
func withDeadLetters(t *testing.T, n int) *door {
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

// Where the messages of the two queues are.
const (
	deadLetters = "/api/x/queues/%2F/dead/messages"
	deadInWork  = "/api/x/queues/%2F" + "/work" + "/messages"
)

// messageIDs lists them in the order in which they are shown, through all portions.
func messageIDs(d *door, path string) string {
	d.t.Helper()
	var ids []string
	for after := ""; ; {
		page := read[api.MessagePage](d, path+after)
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
	d := withDeadLetters(t, 5)
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
	l := read[api.MessagePage](d, deadLetters+"?limit=1").Items[0]
	if l.Place != "queue" || l.Queue != "dead" || l.VHost != "/" || l.State != "ready" || l.Exchange != "" || l.RoutingKeys[0] != "dead" ||
		!l.Persistent || l.Size != 11 || len(l.Deaths) != 1 || l.Deaths[0].Exchange != "orders" || l.First.Queue != "work" ||
		l.Last.Reason != "rejected" || *l.At != "2023-11-14T22:13:20.000Z" || l.Payload != nil || l.Properties != nil || l.Cause != nil || l.Due != nil {
		t.Errorf("shown %+v", l)
	}
	if l := read[api.MessagePage](d, deadLetters+"?limit=1&payload=true&truncate=3").Items[0]; *l.Payload != `{"o` || !l.Truncated || len(l.Properties) != 3 {
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
	d := withLostLetters(t)
	d.queueWith("w", `"x-delayed-retry-type":"all","x-delayed-retry-min":60000`)
	d.publish("amq.default", "w", "waits")
	d.take("w", `{"count":1,"ackmode":"reject_requeue_true","encoding":"auto"}`)
	d.publish("amq.default", "w", "ready")
	page := read[api.MessagePage](d, "/api/x/queues/%2F/w/messages?payload=true")
	states := map[string]string{}
	for _, l := range page.Items {
		states[*l.Payload] = l.State
	}
	if states["waits"] != "waiting" || states["ready"] != "ready" || page.Next != nil {
		t.Errorf("%v", states)
	}
	lost := read[api.MessagePage](d, "/api/x/lost-letters/%2F/messages?payload=true&filter=cause:no_exchange&order=newest")
	if len(lost.Items) != 3 || lost.Items[0].Place != "lost" || lost.Items[0].State != "lost" || *lost.Items[0].Cause != "no_exchange" ||
		*lost.Items[0].Payload != "q 2" || lost.Items[0].ID != "3" {
		t.Errorf("lost: %+v", lost)
	}
	if l := read[api.StoredMessage](d, "/api/x/lost-letters/%2F/messages/4"); *l.Payload != "r 0" || l.Last.Queue != "r" {
		t.Errorf("one: %+v", l)
	}
	d.want(404, "GET", "/api/x/lost-letters/%2F/messages/9", "")
	d.want(404, "GET", "/api/x/lost-letters/none/messages", "")
}

func TestOneDeadLetter(t *testing.T) {
	// If this fails, a message cannot be looked at whole, or its payload is a page of ours to a browser.
	t.Parallel()
	d := withDeadLetters(t, 1)
	d.want(200, "POST", "/api/exchanges/%2F/amq.default/publish", `{"routing_key":"dead","payload":"<b>Größe</b>","payload_encoding":"string","properties":{}}`)
	page := read[api.MessagePage](d, deadLetters)
	id := page.Items[1].ID
	for query, want := range map[string]string{"": "<b>Größe</b>", "?offset=3&limit=4": "Grö", "?offset=3&limit=3": "Gr", "?offset=99": "", "?encoding=base64&limit=3": "PGI+"} {
		l := read[api.StoredMessage](d, deadLetters+"/"+id+query)
		if *l.Payload != want || l.Truncated != (query != "") || l.Size != 14 || len(l.Deaths) > 0 || l.At != nil || l.First != nil {
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
	d := withDeadLetters(t, 2)
	id := read[api.MessagePage](d, deadLetters).Items[0].ID
	d.operator("none", "management", "", "", "^work$").refused(401, "not_authorised", "Access refused: ", "GET", deadLetters, "")
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
	if l := read[api.StoredMessage](plain, deadLetters+"/"+id); l.Payload != nil || l.Properties != nil ||
		l.MessageID != "m0" {
		t.Errorf("without the tag %+v", l)
	}
	for _, tags := range []string{"management,office-payload", "management,office", "administrator"} {
		d.operator("reader", tags, "", "", "^dead$")
		reader := strict.as("reader:p")
		if l := read[api.StoredMessage](reader, deadLetters+"/"+id); l.Payload == nil {
			t.Errorf("%s sees no payload", tags)
		}
		reader.want(200, "GET", deadLetters+"?filter=header.tenant:acme", "")
		d.want(204, "DELETE", "/api/users/reader", "")
	}
}

func decoded[T any](d *door, text []byte) (v T) {
	d.t.Helper()
	if err := json.Unmarshal(text, &v); err != nil {
		d.t.Fatalf("%v in %s", err, text)
	}
	return v
}

func TestSearchAndGroups(t *testing.T) {
	// If this fails, dead letters are not found, or not counted as what they have in common.
	t.Parallel()
	d := withDeadLetters(t, 5)
	d.queueWith("q", `"x-dead-letter-exchange":"nowhere"`)
	d.reject("q", 2)
	const search = "/api/x/letters/%2F"
	if page := read[api.MessagePage](d, search); len(page.Items) != 7 || page.Next != nil || page.Partial {
		t.Errorf("all: %+v", page)
	}
	if page := read[api.MessagePage](d, search+"?filter=header.tenant:other&payload=true"); len(page.Items) != 2 || page.Items[0].Payload == nil || page.Items[0].Queue != "dead" {
		t.Errorf("some: %+v", page)
	}
	if page := read[api.MessagePage](d, search+"?filter=state:lost"); len(page.Items) != 2 || page.Items[0].Place != "lost" {
		t.Errorf("lost: %+v", page)
	}
	d.want(201, "PUT", "/api/x/notes/%2F/header:tenant/acme", `{"text":"they know"}`)
	g := read[api.Groups](d, search+"/groups?by=header:tenant")
	if g.By != "header:tenant" || g.Total != 5 || g.Without != 2 || g.None != "-header.tenant:*" || g.Others != 0 || len(g.Groups) != 2 || g.Groups[0].Value != "acme" || g.Groups[0].Count != 3 ||
		g.Groups[0].Note != "they know" || g.Groups[1].Note != "" || len(g.Groups[0].Spark) != 24 || g.Groups[0].Sample == nil || g.Groups[0].Sample.Queue != "dead" {
		t.Errorf("groups: %+v", g)
	}
	if g := read[api.Groups](d, search+"/groups?by=header:tenant&filter=header.tenant:*"); g.Without != 0 || g.None != "" {
		t.Errorf("all have it: %+v", g)
	}
	if g := read[api.Groups](d, search+"/groups?by=exception"); g.Without != 7 || g.None != "-exception:*" || g.Total != 0 {
		t.Errorf("none has it: %+v", g)
	}
	if page := read[api.MessagePage](d, search+"?filter="+url.QueryEscape(g.Groups[0].Filter)); len(page.Items) != 3 {
		t.Errorf("of the group %q: %+v", g.Groups[0].Filter, page)
	}
	for query, reason := range map[string]string{
		"/groups?by=moon": "moon", "?filter=nope:1": "nope", "?after=scan:x": "'next' of an earlier", "?limit=0": "from 1", "?order=x": "oldest",
	} {
		d.refused(400, "bad_request", reason, "GET", search+query, "")
	}
	d.want(404, "GET", "/api/x/letters/none", "")
	d.want(404, "GET", "/api/x/letters/none/groups?by=reason", "")

	m := d.operator("m", "management", "", "", "^dead$")
	if page := read[api.MessagePage](m, search); len(page.Items) != 5 {
		t.Errorf("seen by one who may not read q: %+v", page)
	}
	strict := d.with(func(o *Options) { o.StrictOffice = true }).as("m:p")
	strict.want(200, "GET", search+"/groups?by=reason", "")
	strict.refused(401, "not_authorised", "Not office-payload user", "GET", search+"/groups?by=header:tenant", "")
	strict.refused(401, "not_authorised", "Not office-payload user", "GET", "/api/x/notes/%2F/header:tenant/acme", "")
	if notes := read[[]api.Note](strict, "/api/x/notes/%2F"); len(notes) != 0 {
		t.Errorf("notes tell of payloads: %+v", notes)
	}
}

func TestNotes(t *testing.T) {
	// If this fails, what operators know of a group of dead letters is lost, or not in a backup of
	// definitions.
	t.Parallel()
	d := open(t)
	const at = "/api/x/notes/%2F/exception/a%2Fb%20%C3%BC"
	d.want(404, "GET", at, "")
	d.want(201, "PUT", at, `{"text":"card network down"}`)
	d.want(204, "PUT", at, `{"text":"card network is up again"}`)
	n := read[api.Note](d, at)
	if n.By != "exception" || n.Value != "a/b ü" || n.Text != "card network is up again" || n.User != "guest" || n.At == "" || n.VHost != "/" {
		t.Errorf("%+v", n)
	}
	if all := read[[]api.Note](d, "/api/x/notes/%2F"); len(all) != 1 || all[0] != n {
		t.Errorf("%+v", all)
	}
	other := open(t)
	other.want(204, "POST", "/api/definitions", d.want(200, "GET", "/api/definitions", "").Body.String())
	if got := read[api.Note](other, at); got != n {
		t.Errorf("restored %+v", got)
	}
	d.want(201, "PUT", "/api/vhosts/other", "")
	d.want(201, "PUT", "/api/users/p", `{"password":"p","tags":"policymaker"}`)
	d.want(201, "PUT", "/api/permissions/other/p", `{"configure":".*","write":".*","read":".*"}`)
	if got := d.as("p:p").want(200, "GET", "/api/global-parameters", "").Body.String(); strings.Contains(got, "card network") {
		t.Errorf("seen from another virtual host: %s", got)
	}
	d.want(204, "PUT", at, `{"text":""}`)
	d.want(204, "PUT", at, `{}`)
	d.want(404, "GET", at, "")
	d.want(201, "PUT", "/api/x/notes/%2F/exchange/", `{"text":"sent to queues directly"}`)
	if n := read[api.Note](d, "/api/x/notes/%2F/exchange"); n.By != "exchange" || n.Value != "" || n.Text != "sent to queues directly" {
		t.Errorf("on the group without a value: %+v", n)
	}
	d.refused(400, "bad_request", "dead letters cannot be grouped by", "PUT", "/api/x/notes/%2F/moon/x", `{"text":"x"}`)
	d.refused(400, "bad_request", "at most 4096 bytes", "PUT", at, `{"text":"`+strings.Repeat("x", 4097)+`"}`)
	d.refused(400, "bad_request", "txet", "PUT", at, `{"txet":"x"}`)
	d.want(404, "PUT", "/api/x/notes/none/reason/x", `{"text":"x"}`)
}

func TestNotesBelongToTheirMakers(t *testing.T) {
	// If this fails, somebody writes over what another has noted, or notes something on a queue that it may not read.
	t.Parallel()
	d := open(t)
	const mine, orders, secret = "/api/x/notes/%2F/reason/rejected", "/api/x/notes/%2F/queue/orders", "/api/x/notes/%2F/source/secret"
	ann, bob := d.operator("ann", "management", "", "", "^orders$"), d.operator("bob", "policymaker", ".*", ".*", "^orders$")
	ann.want(201, "PUT", mine, `{"text":"by ann"}`)
	ann.want(204, "PUT", mine, `{"text":"by ann again"}`)
	for _, body := range []string{`{"text":"by bob"}`, `{}`} {
		bob.refused(401, "not_authorised", "the note belongs to user 'ann'", "PUT", mine, body)
	}
	name := deadletter.NoteName("/", "reason", "rejected")
	bob.refused(401, "not_authorised", "Not administrator user", "PUT", "/api/global-parameters/"+name, `{"value":1}`)
	bob.refused(401, "not_authorised", "Not administrator user", "DELETE", "/api/global-parameters/"+name, "")
	d.want(204, "PUT", mine, `{"text":"by guest, who is an administrator"}`)
	ann.refused(401, "not_authorised", "the note belongs to user 'guest'", "PUT", mine, `{}`)

	bob.want(201, "PUT", orders, `{"text":"x"}`)
	ann.want(200, "GET", orders, "")
	ann.refused(401, "not_authorised", "Access refused: ", "PUT", secret, `{"text":"x"}`)
	d.want(201, "PUT", secret, `{"text":"x"}`)
	ann.refused(401, "not_authorised", "Access refused: ", "GET", secret, "")
	ann.refused(401, "not_authorised", "Access refused: ", "PUT", secret, `{}`)
	if all := read[[]api.Note](ann, "/api/x/notes/%2F"); len(all) != 2 {
		t.Errorf("seen by ann: %+v", all)
	}
	if all := read[[]api.GlobalParameter](bob, "/api/global-parameters"); len(all) != 3 { // with the cluster's ID
		t.Errorf("seen by bob: %+v", all)
	}
	if all := read[[]api.Note](d, "/api/x/notes/%2F"); len(all) != 3 {
		t.Errorf("seen by an administrator: %+v", all)
	}
}

func TestNotesTellNothingOfDeadLettersThatOneMayNotSee(t *testing.T) {
	// If this fails, notes on groups show what dead letters carry to users who may not read any queue that
	// has them.
	t.Parallel()
	d := open(t)
	const on = "/api/x/notes/%2F/header:customer/acme"
	d.want(201, "PUT", on, `{"text":"has not paid"}`)
	d.want(201, "PUT", "/api/x/notes/%2F/exception/no%20such%20card", `{"text":"of acme"}`)
	d.want(201, "PUT", "/api/x/notes/%2F/reason/expired", `{"text":"slow again"}`)
	nobody := d.operator("nobody", "policymaker", "^x$", "^x$", "^x$")
	all, monitor := d.operator("all", "policymaker", "", "", ".*"), d.operator("monitor", "monitoring,policymaker", "", "", "^x$")
	own := d.operator("own", "policymaker", "", "", "^x$")
	own.want(201, "PUT", "/api/x/notes/%2F/header:customer/mine", `{"text":"is mine"}`)
	for who, want := range map[*door]int{nobody: 1, all: 4, monitor: 4, own: 2} {
		if notes := read[[]api.Note](who, "/api/x/notes/%2F"); len(notes) != want {
			t.Errorf("%d notes expected, shown %+v", want, notes)
		}
		if shown := read[[]api.GlobalParameter](who, "/api/global-parameters"); len(shown) != want+1 { // with the cluster's ID
			t.Errorf("%d global parameters, %d notes expected", len(shown), want)
		}
	}
	nobody.refused(401, "not_authorised", "Access refused: ", "GET", on, "")
	all.want(200, "GET", on, "")
}

func TestNotesAreBounded(t *testing.T) {
	// If this fails, whoever may look at dead letters fills what every checkpoint of users carries; or the
	// notes of a virtual host stay when it is gone.
	t.Parallel()
	d := open(t)
	d.want(201, "PUT", "/api/vhosts/other", "")
	var commands []accounts.Command
	for i := range 500 {
		text, err := web.Encode(api.Note{VHost: "other", By: "key", Value: fmt.Sprint(i), Text: "x", User: "guest"})
		if err != nil {
			t.Fatal(err)
		}
		commands = append(commands, accounts.Command{Kind: accounts.SetGlobalParameter,
			Name: deadletter.NoteName("other", "key", fmt.Sprint(i)), Value: text})
	}
	if _, err := d.engine.ChangeAccounts(t.Context(), commands...); err != nil {
		t.Fatal(err)
	}
	d.refused(400, "bad_request", "at most 500 notes", "PUT", "/api/x/notes/other/reason/x", `{"text":"x"}`)
	d.want(204, "PUT", "/api/x/notes/other/key/1", `{"text":"changed"}`)
	d.want(204, "DELETE", "/api/vhosts/other", "")
	d.want(201, "PUT", "/api/x/notes/%2F/reason/x", `{"text":"x"}`)
	d.want(201, "PUT", "/api/vhosts/other", "")
	if all := read[[]api.Note](d, "/api/x/notes/other"); len(all) != 0 {
		t.Errorf("%d notes are there of what was deleted", len(all))
	}
}

func TestSummary(t *testing.T) {
	// If this fails, the overview says nothing of dead letters, or something else than there is.
	t.Parallel()
	d := withDeadLetters(t, 3)
	d.queueWith("q", `"x-dead-letter-exchange":"nowhere"`)
	d.reject("q", 2)
	d.queueWith("plain", "")
	d.reject("plain", 1)
	s := read[api.DeadLettersSummary](d, "/api/x/letters/%2F/summary")
	if s.Died["rejected"] != 6 || s.NoDLX != 1 || s.Arrived != 3 || s.Waiting != 3 || s.Lost.Messages != 2 || len(s.Queues) != 1 || s.Queues[0].Name != "dead" ||
		s.Queues[0].Messages != 3 || s.OldestSec == nil {
		t.Errorf("%+v", s)
	}
	if all := read[[]api.DeadLettersSummary](d, "/api/x/letters"); len(all) != 1 || all[0].VHost != "/" {
		t.Errorf("%+v", all)
	}
	d.want(404, "GET", "/api/x/letters/none/summary", "")
}
