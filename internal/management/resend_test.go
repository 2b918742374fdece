package management

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/management/web"
)

func TestResend(t *testing.T) {
	// If this fails, a message that is mended by hand loses its headers' types, its history, or is there twice.
	t.Parallel()
	d := withDeadLetters(t, 2)
	first := read[api.MessagePage](d, deadLetters+"?payload=true").Items[0]
	at := deadLetters + "/" + first.ID + "/resend"
	trial := decoded[api.Resent](d, d.want(200, "POST", at, `{"dry_run":true,"payload":"x"}`).Body.Bytes())
	if trial.Outcome != "redriven" || strings.Join(trial.Queues, " ") != "work" {
		t.Errorf("tried %+v", trial)
	}
	properties, err := web.Encode(first.Properties)
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.Replace(string(properties), "acme", "ACME", 1)
	r := decoded[api.Resent](d, d.want(200, "POST", at, `{"payload":"{\"order\":7}","properties":`+changed+`}`).Body.Bytes())
	if r.Outcome != "redriven" || strings.Join(r.Queues, " ") != "work" || r.EditedFrom != "queue/dead/"+first.ID {
		t.Errorf("resent %+v", r)
	}
	d.want(404, "GET", deadLetters+"/"+first.ID, "")
	l := read[api.MessagePage](d, deadInWork+"?payload=true").Items[0]
	headers, _ := amqp.Table(l.Properties).Get("headers")
	text, err := web.Encode(api.Arguments(headers.Table))
	if err != nil || *l.Payload != `{"order":7}` || l.MessageID != "m0" || l.Redrives != 1 || len(l.Deaths) != 1 ||
		!strings.Contains(string(text), `"tenant":"ACME"`) || !strings.Contains(string(text), `"x-edited-from":"queue/dead/`+first.ID+`"`) ||
		strings.Count(string(text), `"x-death"`) != 1 {
		t.Errorf("%v %+v\n%s", err, l, text)
	}
	if audit := d.want(200, "GET", "/api/x/audit", "").Body.String(); strings.Count(audit, `"payload_before"`) != 1 || strings.Contains(audit, "ACME") {
		t.Errorf("audit: %s", audit)
	}

	second := read[api.MessagePage](d, deadLetters).Items[0].ID
	at = deadLetters + "/" + second + "/resend"
	const same = `"exchange":"amq.default","routing_key":"dead","keep":true,"payload":"AP8=","payload_encoding":"base64"}`
	d.refused(409, "same_queue", "would go to queue 'dead', where the original is now", "POST", at, "{"+same)
	trial = decoded[api.Resent](d, d.want(200, "POST", at, `{"dry_run":true,`+same).Body.Bytes())
	if trial.Outcome != "same_queue" {
		t.Errorf("tried without force: %+v", trial)
	}
	d.want(200, "POST", at, `{"force":true,`+same)
	page := read[api.MessagePage](d, deadLetters+"?payload=true")
	if len(page.Items) != 2 || page.Items[0].ID != second || *page.Items[1].Payload != "AP8=" || page.Items[1].PayloadEncoding != "base64" {
		t.Errorf("kept: %+v", page)
	}
	for body, reason := range map[string]string{
		`{"payload":"x","payload_encoding":"hex"}`: "string or base64", `{"payload":"!","payload_encoding":"base64"}`: "not base64",
		`{"properties":{"priority":"high"}}`: "wrong type", `{"properties":{"user_id":"other"}}`: "your own", `{"palyoad":"x"}`: "palyoad",
		`{"routing_key":"` + strings.Repeat("k", 256) + `"}`: "255", `{"properties":{"bogus":1}}`: `unknown field "bogus"`,
		`{"properties":{"expiration":"abc"}}`: "invalid expiration", `{"properties":{"expiration":"-1"}}`: "invalid expiration",
		`{"target":{"to":"origin"},"exchange":"x"}`: "not both", `{"target":{"to":"on"}}`: "lost letters only",
		`{"target":{"to":"elsewhere","exchange":"x"}}`: "queue or origin",
		`{"properties":{"headers":{"CC":"zz"}}}`:       "unacceptable_type_in_header", `{"properties":{"headers":{"x-opt-delivery-time":"soon"}}}`: "x-opt-delivery-time",
	} {
		d.refused(400, "bad_request", reason, "POST", at, body)
		d.refused(400, "bad_request", reason, "POST", at, `{"dry_run":true,`+body[1:])
	}
	d.refused(404, "not_found", "exchange_not_found", "POST", at, `{"exchange":"none"}`)
	d.refused(409, "conflict", "no_route", "POST", at, `{"exchange":"amq.direct","routing_key":"nowhere"}`)
	d.want(404, "POST", deadLetters+"/99/resend", `{}`)
}

func TestResendToOtherKeys(t *testing.T) {
	// If this fails, a trial of an edit, or the edit, tells of other queues than those to which the message goes.
	t.Parallel()
	d := open(t)
	d.queueWith("grave", "")
	for _, q := range []string{"d1", "d2", "d3", "b"} {
		d.queueWith(q, `"x-dead-letter-exchange":"","x-dead-letter-routing-key":"grave"`)
		d.want(http.StatusCreated, "POST", "/api/bindings/%2F/e/amq.direct/q/"+q, fmt.Sprintf(`{"routing_key":%q}`, q))
	}
	d.want(http.StatusCreated, "POST", "/api/bindings/%2F/e/amq.headers/q/d3", `{"arguments":{"to":"d3","x-match":"all"}}`)
	d.want(200, "POST", "/api/exchanges/%2F/amq.direct/publish", `{"routing_key":"d1","payload":"x","payload_encoding":"string","properties":{"headers":{"CC":["d2"],"BCC":["b"]}}}`)
	d.take("d1", `{"count":1,"ackmode":"reject_requeue_false","encoding":"auto"}`)
	at := "/api/x/queues/%2F/grave/messages/1/resend"
	for body, want := range map[string]string{
		`{"keep":true}`: "d1",
		`{"keep":true,"properties":{"headers":{"CC":["d3"]}}}`:                                    "d1",
		`{"keep":true,"target":{"to":"queue","queue":"d2"}}`:                                      "d2",
		`{"keep":true,"target":{"to":"origin"}}`:                                                  "b d1 d2",
		`{"keep":true,"target":{"to":"origin"},"properties":{"headers":{"CC":["d3"]}}}`:           "b d1 d3",
		`{"keep":true,"target":{"to":"origin"},"properties":{"headers":{}}}`:                      "b d1",
		`{"keep":true,"target":{"to":"origin"},"properties":{"headers":{"BCC":["d3"]}}}`:          "b d1 d3",
		`{"keep":true,"routing_key":"d2"}`:                                                        "d2",
		`{"keep":true,"exchange":"amq.headers","properties":{"headers":{"to":"d3"}}}`:             "d3",
		`{"keep":true,"exchange":"amq.headers","properties":{"headers":{"to":"d3","CC":["d1"]}}}`: "d3",
	} {
		for _, q := range []string{"d1", "d2", "d3", "b"} {
			d.want(204, "DELETE", "/api/queues/%2F/"+q+"/contents", "")
		}
		dry := decoded[api.Resent](d, d.want(200, "POST", at, `{"dry_run":true,`+body[1:]).Body.Bytes())
		sent := decoded[api.Resent](d, d.want(200, "POST", at, body).Body.Bytes())
		var arrived []string
		for _, q := range []string{"b", "d1", "d2", "d3"} {
			if len(read[api.MessagePage](d, "/api/x/queues/%2F/"+q+"/messages").Items) > 0 {
				arrived = append(arrived, q)
			}
		}
		slices.Sort(dry.Queues)
		slices.Sort(sent.Queues)
		if d, s, a := strings.Join(dry.Queues, " "), strings.Join(sent.Queues, " "), strings.Join(arrived, " "); d != want || s != want || a != want {
			t.Errorf("%s: tried %s, told %s, arrived in %s, expected %s", body, d, s, a, want)
		}
	}
	d.want(204, "DELETE", "/api/queues/%2F/d3/contents", "")
	d.want(200, "POST", at, `{"exchange":"amq.direct","routing_key":"d3","properties":{"headers":{"CC":["d1"]},"expiration":"60000"}}`)
	if l := read[api.MessagePage](d, "/api/x/queues/%2F/d3/messages").Items; len(l) != 1 || l[0].Expires == nil {
		t.Errorf("with an expiration: %+v", l)
	}
}

func TestResendLost(t *testing.T) {
	// If this fails, a lost letter cannot be mended.
	t.Parallel()
	d := withLostLetters(t)
	d.queueWith("mended", "")
	d.want(200, "POST", "/api/x/lost-letters/%2F/messages/2/resend", `{"exchange":"","routing_key":"mended","payload":"better"}`)
	if got := d.take("mended", `{"count":1,"ackmode":"ack_requeue_false","encoding":"auto"}`); len(got) != 1 || got[0].Payload != "better" {
		t.Errorf("%+v", got)
	}
	d.want(404, "GET", "/api/x/lost-letters/%2F/messages/2", "")
}

func TestWhoMayEdit(t *testing.T) {
	// If this fails, somebody publishes by an edit where it may not, or in a strict office without the tag.
	t.Parallel()
	d := withDeadLetters(t, 1)
	at := deadLetters + "/" + read[api.MessagePage](d, deadLetters).Items[0].ID + "/resend"
	d.operator("reader", "management", "", "", "^dead$").
		refused(401, "not_authorised", "Access refused: ", "POST", at, `{}`)
	d.as("reader:p").refused(401, "not_authorised", "Access refused: ", "POST", at, `{"exchange":"amq.fanout"}`)
	writer := d.operator("writer", "management", "", "^orders$", "^dead$")
	writer.refused(401, "not_authorised", "Access refused: ", "POST", at, `{"exchange":"amq.fanout"}`)
	strict := d.with(func(o *Options) { o.StrictOffice = true })
	strict.as("writer:p").refused(401, "not_authorised", "Not office-edit user", "POST", at, `{}`)
	writer.refused(401, "not_authorised", "Not policymaker user", "POST", "/api/x/lost-letters/%2F/messages/1/resend", `{}`)
	writer.want(200, "POST", at, `{"payload":"mended"}`)
}

func TestTopicsOfAnEdit(t *testing.T) {
	// If this fails, somebody publishes by an edit with keys with which it may not publish: by CC, BCC, or what the
	// original had of them.
	t.Parallel()
	d := open(t)
	d.queueWith("grave", "")
	for _, q := range []string{"a", "b"} {
		d.queueWith(q, `"x-dead-letter-exchange":"","x-dead-letter-routing-key":"grave"`)
		d.want(http.StatusCreated, "POST", "/api/bindings/%2F/e/amq.topic/q/"+q, fmt.Sprintf(`{"routing_key":"%s.#"}`, q))
	}
	for _, headers := range []string{`{}`, `{"BCC":["b.1"]}`} {
		d.want(200, "POST", "/api/exchanges/%2F/amq.topic/publish", `{"routing_key":"a.1","payload":"x","payload_encoding":"string","properties":{"headers":`+headers+`}}`)
	}
	d.take("a", `{"count":2,"ackmode":"reject_requeue_false","encoding":"auto"}`)
	d.want(204, "DELETE", "/api/queues/%2F/b/contents", "")
	tee := d.operator("tee", "management", "", ".*", ".*")
	d.want(http.StatusCreated, "PUT", "/api/topic-permissions/%2F/tee", `{"exchange":"amq.topic","write":"^a\\.","read":""}`)
	const one, withBCC = "/api/x/queues/%2F/grave/messages/1/resend", "/api/x/queues/%2F/grave/messages/2/resend"
	for body, at := range map[string]string{
		`{"target":{"to":"origin"},"keep":true,"properties":{"headers":{"CC":["b.1"]}}}`:        one,
		`{"target":{"to":"origin"},"keep":true,"properties":{"headers":{"BCC":["a.2","b.1"]}}}`: one,
		`{"keep":true,"exchange":"amq.topic","routing_key":"b.1"}`:                              one,
		`{"target":{"to":"origin"},"keep":true}`:                                                withBCC,
		`{"target":{"to":"origin"},"keep":true,"properties":{}}`:                                withBCC,
		`{"target":{"to":"origin"},"keep":true,"payload":"something"}`:                          withBCC,
	} {
		tee.refused(401, "not_authorised", "Access refused: ", "POST", at, body)
		tee.refused(401, "not_authorised", "Access refused: ", "POST", at, `{"dry_run":true,`+body[1:])
	}
	tee.want(200, "POST", withBCC, `{"keep":true,"exchange":"amq.topic","routing_key":"a.3"}`)
	tee.want(200, "POST", one, `{"target":{"to":"origin"},"keep":true,"properties":{"headers":{"CC":["a.2"]}}}`)
	if n := len(read[api.MessagePage](d, "/api/x/queues/%2F/b/messages").Items); n != 0 {
		t.Errorf("%d came where they must not", n)
	}
}

// If this fails, a few exports of large messages raise a memory alarm, and so block all publishers.
func TestExportsOfLargeMessagesAreCounted(t *testing.T) {
	const size, n = 8 << 20, 3
	d := open(t)
	d.queueWith("large", "")
	body := strings.Repeat("0123456789abcdef", size/16)
	for range n {
		d.want(200, "POST", "/api/exchanges/%2F/amq.default/publish", `{"properties":{"delivery_mode":2},"routing_key":"large","payload":"`+body+`","payload_encoding":"string"}`)
	}
	const export = "/api/x/letters/%2F/export?queue=large"
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	file := d.want(200, "GET", export, "").Body
	runtime.ReadMemStats(&after)
	grown := 3 * uint64(file.Len()) // for what the recorder of this test holds, which grows by doubling
	if got := after.TotalAlloc - before.TotalAlloc; !raceDetector && got > grown+n*3*size {
		t.Errorf("an export of %d messages of %d bytes allocated %d bytes", n, size, got)
	}
	d.queueWith("restored", "")
	w := d.want(200, "POST", "/api/x/letters/%2F/import?queue=restored", file.String())
	if in := decoded[api.Imported](d, w.Body.Bytes()); in.Imported != n || in.Failed != 0 {
		t.Errorf("imported again: %+v", in)
	}
	d.server.Memory.Total, d.server.Memory.Each, d.server.Memory.Patience = 16<<20, 16<<20, time.Nanosecond
	other := web.Account{Budget: &d.server.Memory, User: "guest"}
	if err := other.Take(t.Context(), 10<<20); err != nil { // as another export does
		t.Fatal(err)
	}
	id := read[api.MessagePage](d, "/api/x/queues/%2F/large/messages").Items[0].ID
	for _, path := range []string{export, "/api/x/queues/%2F/large/messages/" + string(id) + "/payload"} {
		d.refused(503, "service_unavailable", "all memory", "GET", path, "")
	}
	other.End()
	if taken, _ := d.server.Memory.Usage(); taken != 0 {
		t.Errorf("%d bytes are still counted", taken)
	}
}

func TestExportAndImport(t *testing.T) {
	// If this fails, messages that were put aside in a file do not come back as they were.
	t.Parallel()
	d := withDeadLetters(t, 3)
	const search = "/api/x/letters/%2F"
	w := d.want(200, "GET", search+"/export?queue=dead&filter=header.tenant:acme", "")
	file := w.Body.String()
	if h := w.Header(); strings.Count(file, "\n") != 2 || h.Get("Content-Type") != "application/x-ndjson" ||
		h.Get(http.TrailerPrefix+api.ExportTrailer) != "2" {
		t.Errorf("%s %v", file, w.Header())
	}
	if all := d.want(200, "GET", search+"/export", "").Body.String(); strings.Count(all, "\n") != 3 {
		t.Errorf("of all places: %s", all)
	}
	s := httptest.NewServer(d.server)
	defer s.Close()
	c := &api.Client{Base: s.URL, Token: testSecret}
	for query, want := range map[string]string{"": "3", "?lost=true": "0"} {
		trailer, err := c.Download(t.Context(), io.Discard, api.Path("x", "letters", "/", "export")+query)
		if got := trailer.Get(api.ExportTrailer); err != nil || got != want {
			t.Errorf("export%s: %s messages, %v, want %s", query, got, err, want)
		}
	}
	if none := d.want(200, "GET", search+"/export?lost=true", "").Body.String(); none != "" {
		t.Errorf("lost: %s", none)
	}
	d.queueWith("restored", "")
	in := func(query, body string) (n api.Imported) {
		t.Helper()
		return decoded[api.Imported](d, d.want(200, "POST", search+"/import"+query, body).Body.Bytes())
	}
	if n := in("?queue=restored&once=true", file); n.Read != 2 || n.Imported != 2 || n.Failed != 0 {
		t.Errorf("restored %+v", n)
	}
	if n := in("?queue=restored&once=true", file+file); n.Read != 4 || n.Skipped != 4 || n.Imported != 0 {
		t.Errorf("twice: %+v", n)
	}
	// The first is another message with that number.
	changed := strings.Replace(file, `"properties_raw":"`, `"properties_raw":"AAA=","was":"`, 1)
	if n := in("?queue=dead&once=true", file+changed); n.Read != 4 || n.Skipped != 3 || n.Imported != 1 {
		t.Errorf("where they still are: %+v", n)
	}
	d.want(204, "DELETE", "/api/queues/%2F/dead/contents", "")
	if n := in("?queue=dead&once=true", file); n.Imported != 2 || n.Skipped != 0 {
		t.Errorf("where they were: %+v", n)
	}
	l := read[api.MessagePage](d, "/api/x/queues/%2F/restored/messages?payload=true").Items[0]
	if *l.Payload != `{"order":0}` || l.MessageID != "m0" || !l.Persistent {
		t.Errorf("restored %+v", l)
	}
	if got := messageIDs(d, "/api/x/queues/%2F/restored/messages?filter=header.tenant:acme%20header.n:2"); got != "m2" {
		t.Errorf("headers: %s", got)
	}
	if n := in("?origin=true", file); n.Imported != 2 || messageIDs(d, deadInWork+"?order=oldest") != "m0 m2" {
		t.Errorf("to the origin: %+v", n)
	}
	if n := in("?exchange=amq.direct&routing_key=nowhere", file); n.Unrouted != 2 || n.Imported != 0 {
		t.Errorf("to nowhere: %+v", n)
	}
	n := in("?exchange=orders&routing_key=new", "\n{}\nnonsense\n{\"payload\":\"plain\"}\n{\"payload\":\"!\",\"payload_encoding\":\"base64\"}")
	if n.Read != 4 || n.Imported != 1 || n.Failed != 3 || n.Wrong[0].Line != 1 || !strings.Contains(n.Wrong[0].Reason, "payload is missing") || n.Wrong[1].Reason != "not_json" {
		t.Errorf("by hand: %+v", n)
	}
	if n := in("?queue=restored", `{"payload":"a"}`+"\n"+`{"payload":"b","properties":{"expiration":"abc"}}`+"\n"+`{"payload":"c","properties":{"headers":{"CC":"zz"}}}`+"\n"+`{"payload":"d","properties":{"expiration":"60000"}}`); n.Imported != 2 || n.Failed != 2 || n.Wrong[0].Line != 2 || n.Wrong[1].Line != 3 {
		t.Errorf("lines that no publisher may send: %+v", n)
	}
	if n := in("?origin=true", `{"payload":"a","exchange":"gone","routing_keys":["k"]}`+"\n"+file); n.Imported != 2 || n.Failed != 1 || !strings.Contains(n.Wrong[0].Reason, "no exchange 'gone'") {
		t.Errorf("one to an exchange that is gone: %+v", n)
	}
	foreign := `{"payload":"a","properties":{"user_id":"boss"}}` + "\n" + `{"payload":"b","properties":{"user_id":"sue"}}`
	for name, want := range map[string]int64{"sue": 1, "imp": 2, "adm": 2} {
		tags := map[string]string{"sue": "management", "imp": "management,impersonator", "adm": "administrator"}[name]
		who := d.operator(name, tags, ".*", ".*", ".*")
		n := decoded[api.Imported](d, who.want(200, "POST", search+"/import?exchange=orders&routing_key=new", strings.ReplaceAll(foreign, "sue", name)).Body.Bytes())
		if n.Imported != want || n.Imported+n.Failed != 2 || want == 1 && (n.Wrong[0].Line != 1 || !strings.Contains(n.Wrong[0].Reason, "user ID")) {
			t.Errorf("with the name of somebody else, as %s: %+v", name, n)
		}
	}
	for query, reason := range map[string]string{
		"": "exactly one of", "?queue=dead&origin=true": "exactly one of", "?queue=dead&routing_key=x": "requires 'exchange'", "?origin=true&once=true": "requires 'queue'",
		"?exchange=&routing_key=" + strings.Repeat("k", 256): "255",
	} {
		d.refused(400, "bad_request", reason, "POST", search+"/import"+query, file)
	}
	d.refused(404, "not_found", "queue_not_found", "POST", search+"/import?queue=none", file)
	d.refused(404, "not_found", "exchange_not_found", "POST", search+"/import?exchange=none", file)
	d.refused(400, "bad_request", "not both", "GET", search+"/export?queue=dead&lost=true", "")
	d.want(404, "GET", search+"/export?queue=none", "")
	d.refused(400, "bad_request", "nope", "GET", search+"/export?filter=nope:1", "")

	m := d.operator("m", "management", "", "^orders$", "^dead$")
	m.refused(401, "not_authorised", "Access refused: ", "GET", search+"/export?queue=work", "")
	m.refused(401, "not_authorised", "Access refused: ", "POST", search+"/import?queue=restored", file)
	if n := decoded[api.Imported](d, m.want(200, "POST", search+"/import?origin=true",
		file).Body.Bytes()); n.Imported != 2 {
		t.Errorf("by one who may: %+v", n)
	}
	strict := d.with(func(o *Options) { o.StrictOffice = true }).as("m:p")
	strict.refused(401, "not_authorised", "Not office-payload user", "GET", search+"/export?queue=dead", "")
	strict.refused(401, "not_authorised", "Not office-redrive user", "POST", search+"/import?origin=true", file)
	audit := d.want(200, "GET", "/api/x/audit", "").Body.String()
	if !strings.Contains(audit, fmt.Sprintf("%s/export?queue=dead", search)) || !strings.Contains(audit, `"imported":2`) {
		t.Errorf("audit: %s", audit)
	}
}

func TestImportOnce(t *testing.T) {
	// If this fails, messages that were never imported are left out, since others had their numbers, or those
	// that were are imported again.
	t.Parallel()
	d := open(t)
	const search = "/api/x/letters/%2F"
	d.queueWith("copy", "")
	publish := func(text string) {
		t.Helper()
		d.want(200, "POST", "/api/exchanges/%2F/amq.default/publish", `{"routing_key":"src","payload":"`+text+`","payload_encoding":"string","properties":{}}`)
	}
	export := func() string {
		t.Helper()
		return d.want(200, "GET", search+"/export?queue=src", "").Body.String()
	}
	once := func(file string, imported, skipped int64) {
		t.Helper()
		n := decoded[api.Imported](d, d.want(200, "POST", search+"/import?queue=copy&once=true", file).Body.Bytes())
		if n.Imported != imported || n.Skipped != skipped || n.Failed != 0 {
			t.Errorf("imported %+v", n)
		}
	}
	const counting = `"x-delivery-limit":9`
	d.queueWith("src", counting)
	publish("first 1")
	publish("first 2")
	once(export(), 2, 0)
	d.take("src", `{"count":2,"ackmode":"ack_requeue_true","encoding":"auto"}`) // has returned, and is the same
	once(export(), 0, 2)
	d.want(204, "DELETE", "/api/queues/%2F/src", "")
	d.queueWith("src", counting)
	publish("second 1")
	publish("second 2")
	once(export()+export(), 2, 2)
	once(export(), 0, 2)
}

func TestPublishersExpiration(t *testing.T) {
	// If this fails, a message that is edited, or imported to where it came from, lives longer than its
	// publisher wanted, or ends where it was put aside.
	t.Parallel()
	d := open(t)
	d.queueWith("grave", "")
	d.queueWith("work", `"x-dead-letter-exchange":"","x-dead-letter-routing-key":"grave"`)
	d.want(200, "POST", "/api/exchanges/%2F/amq.default/publish", `{"routing_key":"work","payload":"x","payload_encoding":"string","properties":{"expiration":"500000"}}`)
	d.take("work", `{"count":1,"ackmode":"reject_requeue_false","encoding":"auto"}`)
	file := d.want(200, "GET", "/api/x/letters/%2F/export?queue=grave", "").Body.String()
	const at = "/api/x/queues/%2F/grave/messages/1/resend"
	for body, want := range map[string]string{
		`{"keep":true,"payload":"n"}`: "500000", `{"keep":true,"properties":{"headers":{"a":1}}}`: "500000",
		`{"keep":true,"exchange":"","routing_key":"work"}`: "", `{"keep":true,"exchange":"","routing_key":"work","properties":{"expiration":"7000"}}`: "7000",
		`{"keep":true,"properties":{"expiration":"600000"}}`: "600000", `{"keep":true,"properties":{"expiration":null}}`: "", "import": "500000",
	} {
		d.want(204, "DELETE", "/api/queues/%2F"+"/work"+"/contents", "")
		if body == "import" {
			d.want(200, "POST", "/api/x/letters/%2F/import?origin=true", file)
		} else {
			d.want(200, "POST", at, body)
		}
		l := read[api.MessagePage](d, deadInWork+"?payload=true").Items
		if got, _ := amqp.Table(l[0].Properties).Get("expiration"); len(l) != 1 || got.Str != want || (l[0].Expires != nil) != (want != "") {
			t.Errorf("%s: %+v", body, l)
		}
	}
}

func TestRepublishedEditAndImport(t *testing.T) {
	// If this fails, what a consumer has published where failures go is brought back there, and not to where it came
	// from.
	t.Parallel()
	d := open(t)
	for _, q := range []string{"work", "errors"} {
		d.queueWith(q, "")
		d.want(http.StatusCreated, "POST", "/api/bindings/%2F/e/amq.direct/q/"+q, fmt.Sprintf(`{"routing_key":%q}`, q))
	}
	d.want(200, "POST", "/api/exchanges/%2F/amq.direct/publish", `{"routing_key":"errors","payload":"x","payload_encoding":"string","properties":{"headers":`+
		`{"x-exception-message":"no price","x-original-exchange":"amq.topic","x-original-routingKey":"new"}}}`)
	const at, search = "/api/x/queues/%2F/errors/messages/1/resend", "/api/x/letters/%2F"
	d.operator("may", "management", "", "^amq\\.direct$", ".*").
		refused(401, "not_authorised", "Access refused: ", "POST", at, `{"payload":"y"}`)
	d.refused(409, "conflict", "no_route", "POST", at, `{"payload":"y"}`)
	file := d.want(200, "GET", search+"/export?queue=errors", "").Body.String()
	d.want(http.StatusCreated, "POST", "/api/bindings/%2F/e/amq.topic/q/work", `{"routing_key":"new"}`)
	if dry := decoded[api.Resent](d, d.want(200, "POST", at, `{"payload":"y","dry_run":true}`).Body.Bytes()); strings.Join(dry.Queues, " ") != "work" {
		t.Errorf("tried %+v", dry)
	}
	if sent := decoded[api.Resent](d, d.want(200, "POST", at, `{"payload":"y"}`).Body.Bytes()); strings.Join(sent.Queues, " ") != "work" {
		t.Errorf("sent %+v", sent)
	}
	d.want(200, "POST", search+"/import?origin=true", file)
	d.want(200, "POST", search+"/import?exchange=amq.topic", file)
	if n := len(read[api.MessagePage](d, deadInWork).Items); n != 3 {
		t.Errorf("%d of 3 came back", n)
	}
}
