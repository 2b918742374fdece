package management

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// later is a door with a delayed exchange "later" that leads to the queue "q".
func later(t *testing.T) *door {
	t.Helper()
	d := open(t)
	d.want(201, "PUT", "/api/exchanges/%2F/later", `{"type":"x-delayed-message","durable":true,"arguments":{"x-delayed-type":"topic"}}`)
	d.want(201, "PUT", "/api/queues/%2F/q", `{"durable":true}`)
	d.want(201, "POST", "/api/bindings/%2F/e/later/q/q", `{"routing_key":"#"}`)
	return d
}

// delay publishes a message to the delayed exchange, and returns its ID; more are further properties.
func (d *door) delay(exchange, key, payload string, ms int, more string) string {
	d.t.Helper()
	return d.schedule(exchange, key, payload, fmt.Sprintf(`"x-delay":%d`, ms), more)
}

// schedule is delay with headers that say more than a delay.
func (d *door) schedule(exchange, key, payload, headers, more string) string {
	d.t.Helper()
	w := d.want(200, "POST", "/api/exchanges/%2F/"+exchange+"/publish", fmt.Sprintf(
		`{"properties":{"headers":{%s,"n":%q}%s},"routing_key":%q,"payload":%q,"payload_encoding":"string"}`, headers, payload[:min(len(payload), 100)], more, key, payload))
	var p api.Published
	if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || !p.Routed || len(p.Scheduled) != 1 {
		d.t.Fatalf("published: %s", w.Body)
	}
	return p.Scheduled[0]
}

func (d *door) advance(ms int) {
	d.t.Helper()
	d.want(200, "POST", "/api/x/clock/advance", fmt.Sprintf(`{"ms":%d}`, ms))
}

// arrived takes all from a queue and joins the payloads.
func (d *door) arrived(queue string) string {
	d.t.Helper()
	var all []string
	for _, m := range d.take(queue, `{"count":10000,"ackmode":"ack_requeue_false","encoding":"auto"}`) {
		all = append(all, m.Payload)
	}
	return strings.Join(all, " ")
}

// change posts a body and reads what became of the messages.
func (d *door) change(path, body string) api.Changed {
	d.t.Helper()
	var c api.Changed
	w := d.want(200, "POST", path, body)
	if err := json.Unmarshal(w.Body.Bytes(), &c); err != nil {
		d.t.Fatalf("%v in %s", err, w.Body)
	}
	return c
}

const scheduled = "/api/x/scheduled/%2F"

// all lists everything in portions, and gives the IDs by payload header n.
func (d *door) ids(path string) (ids map[string]string, order []string) {
	d.t.Helper()
	ids = map[string]string{}
	after := ""
	for {
		page := read[api.WaitingPage](d, path+"?limit=2&after="+after)
		for _, m := range page.Items {
			headers, _ := amqp.Table(m.Properties).Get("headers")
			n, _ := headers.Table.Get("n")
			ids[n.Str] = m.ID
			order = append(order, n.Str)
		}
		if page.Next == nil {
			return ids, order
		}
		after = *page.Next
	}
}

func TestScheduledAreCounted(t *testing.T) {
	// If this fails, nobody sees how much waits in delayed exchanges, until when, or what a deletion leaves behind.
	t.Parallel()
	d := later(t)
	if w := d.want(200, "GET", scheduled, "").Body.String(); w != `{"vhost":"/","messages":0,"bytes":0,"next_due":null,"next_due_ms":null,`+
		`"exchanges":[{"vhost":"/","exchange":"later","messages":0,"bytes":0,"next_due":null,"next_due_ms":null,"orphan":false}]}` {
		t.Errorf("nothing: %s", w)
	}
	d.want(201, "PUT", "/api/exchanges/%2F/also", `{"type":"x-delayed-message","arguments":{"x-delayed-type":"fanout"}}`)
	d.delay("later", "k", "ab", 5000, "")
	d.delay("later", "k", "cde", 2000, "")
	d.delay("also", "k", "f", 1000, "")
	s := read[api.Schedules](d, scheduled)
	if s.Messages != 3 || s.Bytes != 6 || *s.NextDueMS != 1_700_000_001_000 || *s.NextDue != "2023-11-14T22:13:21.000Z" || len(s.Exchanges) != 2 ||
		s.Exchanges[1].Messages != 2 || s.Exchanges[1].Bytes != 5 || *s.Exchanges[1].NextDueMS > 1_700_000_002_000 {
		t.Errorf("of one vhost: %+v", s)
	}
	if all := read[[]api.Schedule](d, "/api/x/scheduled"); len(all) != 2 || all[0].Exchange != "also" || all[1].Orphan {
		t.Errorf("of all: %+v", all)
	}
	if x := read[api.Exchange](d, "/api/exchanges/%2F/later"); x.MessagesDelayed == nil || *x.MessagesDelayed != 2 {
		t.Errorf("exchange: %+v", x)
	}
	if x := read[api.Exchange](d, "/api/exchanges/%2F/amq.direct"); x.MessagesDelayed != nil {
		t.Errorf("an exchange that delays nothing: %+v", x)
	}
	if w := d.want(204, "DELETE", "/api/exchanges/%2F/later", ""); w.Header().Get(api.ScheduledHeader) != "2" {
		t.Errorf("deleting says %q", w.Header())
	}
	if s := read[api.Schedules](d, scheduled); s.Messages != 3 || !s.Exchanges[1].Orphan || s.Exchanges[1].Exchange != "later" {
		t.Errorf("left behind: %+v", s)
	}
	if page := read[api.WaitingPage](d, scheduled+"/later"); len(page.Items) != 2 {
		t.Errorf("left behind: %+v", page)
	}
	if w := d.want(200, "DELETE", scheduled+"/later", "").Body.String(); w != `{"purged":2}` {
		t.Errorf("purged: %s", w)
	}
	d.want(404, "GET", scheduled+"/later", "")
	d.want(404, "DELETE", scheduled+"/later", "")
	if w := d.want(204, "DELETE", "/api/vhosts/%2F", ""); w.Header().Get(api.ScheduledHeader) != "1" {
		t.Errorf("deleting a vhost says %q", w.Header())
	}
}

func TestScheduledAreListed(t *testing.T) {
	// If this fails, scheduled messages cannot be found, come in another order than they fire, or paging loses or
	// doubles some.
	t.Parallel()
	d := later(t)
	for i, ms := range []int{500, 100, 300, 200, 100, 400} {
		d.delay("later", fmt.Sprintf("k.%d", i%2), fmt.Sprint(i), ms, fmt.Sprintf(`,"message_id":"m%d"`, i))
	}
	ids, order := d.ids(scheduled + "/later")
	if got := strings.Join(order, " "); got != "1 4 3 2 5 0" || len(ids) != 6 {
		t.Errorf("in order: %s", got)
	}
	first := read[api.WaitingPage](d, scheduled+"/later?limit=1").Items[0]
	if first.DueMS != 1_700_000_000_100 || first.Due != "2023-11-14T22:13:20.100Z" || first.InMS != 100 || first.Exchange != "later" ||
		first.RoutingKey != "k.1" || *first.MessageID != "m1" || first.PayloadBytes != 1 || first.Payload != nil || first.Why != "" || first.Queue != "" {
		t.Errorf("the first: %+v", first)
	}
	for query, want := range map[string]string{
		"message_id=m3": "3", "routing_key=k.0": "4 2 0", "header=n:2": "2", "header=n:2&routing_key=k.1": "", "header=x-delay:-100": "1 4",
		"from=1700000000200": "3 2 5 0", "until=1700000000200": "1 4", "from=2023-11-14T22:13:20.2Z&until=2023-11-14T22:13:20.400Z": "3 2",
		"from=1700000000100&until=1700000000300&routing_key=k.1": "1 3",
	} {
		var got []string
		for _, m := range read[api.WaitingPage](d, scheduled+"/later?payload=true&"+query).Items {
			got = append(got, *m.Payload)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v, want %s", query, got, want)
		}
	}
	one := read[api.Waiting](d, scheduled+"/later/"+ids["5"]+"?encoding=base64")
	if one.ID != ids["5"] || *one.Payload != "NQ==" || one.PayloadEncoding != "base64" || one.InMS != 400 {
		t.Errorf("one: %+v", one)
	}
	d.advance(100)
	d.refused(409, "already_fired", "fired already", "GET", scheduled+"/later/"+ids["4"], "")
	if got := d.arrived("q"); got != "1 4" {
		t.Errorf("fired: %s", got)
	}
}

func TestScanIsBounded(t *testing.T) {
	// If this fails, a search through a long backlog takes for ever, holds all others up, or misses what it looked for.
	t.Parallel()
	d := later(t)
	const n = 256*20 + 50 // more than one request reads
	var commands []vhost.Command
	for i := range n {
		headers := amqp.Table{{Name: "x-delay", Value: amqp.Int64(int64(1000 + i))}, {Name: "n", Value: amqp.Int64(int64(i))}}
		p := amqp.Properties{Has: amqp.FlagHeaders, Headers: headers}
		commands = append(commands, vhost.Command{Kind: vhost.Publish, Exchange: []byte("later"), Properties: amqp.AppendProperties(nil, &p)})
	}
	if _, err := d.engine.Do(t.Context(), "/", authz.Broker(), commands...); err != nil {
		t.Fatal(err)
	}
	query := url.Values{"header": {fmt.Sprint("n:", n-1)}}
	page := read[api.WaitingPage](d, scheduled+"/later?"+query.Encode())
	if len(page.Items) != 0 || page.Next == nil {
		t.Fatalf("the first part: %+v", page)
	}
	query.Set("after", *page.Next)
	if page = read[api.WaitingPage](d, scheduled+"/later?"+query.Encode()); len(page.Items) != 1 || page.Next != nil {
		t.Errorf("the second: %+v", page)
	}
	big := strings.Repeat("x", 3<<20)
	for i := range 6 {
		d.delay("later", "k", big, 10_000_000+i, "")
	}
	page = read[api.WaitingPage](d, scheduled+"/later?payload=true&from=1700010000000")
	if len(page.Items) == 0 || len(page.Items) > 2 || page.Next == nil {
		t.Errorf("large ones: %d", len(page.Items))
	}
	if page = read[api.WaitingPage](d, scheduled+"/later?payload=true&truncate=1&from=1700010000000"); len(page.Items) != 6 {
		t.Errorf("the beginnings of large ones: %d, next %v", len(page.Items), page.Next)
	}
}

func TestCancelRescheduleFire(t *testing.T) {
	// If this fails, a scheduled message cannot be called off, moved or sent early, or is told to be what it is not.
	t.Parallel()
	d := later(t)
	for i := range 6 {
		d.delay("later", "k", fmt.Sprint(i), 1000, "")
	}
	ids, _ := d.ids(scheduled + "/later")
	at := func(n string) string { return scheduled + "/later/" + ids[n] }
	want := func(method, path, body, outcome string) {
		t.Helper()
		id := strings.TrimSuffix(strings.TrimPrefix(path, scheduled+"/later/"), "/fire")
		if w := d.want(200, method, path, body).Body.String(); w != fmt.Sprintf(`{"id":"%s","outcome":"%s"}`, id, outcome) {
			t.Errorf("%s %s: %s", method, path, w)
		}
	}
	want("DELETE", at("0"), "", "cancelled")
	want("DELETE", at("0"), "", "cancelled")
	want("PATCH", at("1"), `{"in":500}`, "rescheduled")
	want("PATCH", at("2"), `{"at":"2023-11-14T22:13:22Z"}`, "rescheduled")
	want("PATCH", at("3"), `{"at":"1700000003000"}`, "rescheduled")
	want("POST", at("4")+"/fire", "", "fired")
	if got := d.arrived("q"); got != "4" {
		t.Errorf("fired at once: %s", got)
	}
	d.refused(409, "cancelled", "was cancelled", "PATCH", at("0"), `{"in":1}`)
	d.refused(409, "cancelled", "was cancelled", "POST", at("0")+"/fire", "")
	d.refused(409, "already_fired", "fired already", "DELETE", at("4"), "")
	d.refused(409, "already_fired", "fired already", "PATCH", at("4"), `{"in":1}`)
	for _, step := range []struct {
		ms   int
		want string
	}{{499, ""}, {1, "1"}, {499, ""}, {1, "5"}, {1000, "2"}, {999, ""}, {1, "3"}} {
		d.advance(step.ms)
		if got := d.arrived("q"); got != step.want {
			t.Errorf("after %d ms more: %q, want %q", step.ms, got, step.want)
		}
	}
	d.delay("later", "k", "soon", 1000, "")
	ids, _ = d.ids(scheduled + "/later")
	want("PATCH", at("soon"), `{"at":0}`, "rescheduled")
	d.advance(0)
	if got := d.arrived("q"); got != "soon" {
		t.Errorf("moved to the past: %q", got)
	}
}

func TestManyAtOnce(t *testing.T) {
	// If this fails, many messages at once are changed only in part, or somebody is told another's outcome.
	t.Parallel()
	d := later(t)
	for i := range 8 {
		d.delay("later", fmt.Sprintf("k.%d", i%4), fmt.Sprint(i), 1000, fmt.Sprintf(`,"message_id":"m%d"`, i))
	}
	d.want(201, "PUT", "/api/exchanges/%2F/other", `{"type":"x-delayed-message","durable":true,"arguments":{"x-delayed-type":"fanout"}}`)
	d.delay("other", "k", "o", 1000, "")
	ids, _ := d.ids(scheduled + "/later")
	foreign, _ := d.ids(scheduled + "/other")
	body := func(more string, names ...string) string {
		var list []string
		for _, n := range names {
			list = append(list, ids[n])
		}
		list = append(list, foreign["o"], ids["0"][:strings.Index(ids["0"], "-")]+"-99999")
		text, _ := json.Marshal(list)
		return `{"ids":` + string(text) + more + `}`
	}
	outcomes := func(c api.Changed) string {
		var all []string
		for _, r := range c.Results {
			all = append(all, r.Outcome)
		}
		return fmt.Sprint(c.Count, " ", strings.Join(all, " "))
	}
	const path = scheduled + "/later/"
	if got := outcomes(d.change(path+"cancel", body("", "0", "1", "0"))); got != "2 cancelled cancelled cancelled unknown unknown" {
		t.Errorf("cancelled: %s", got)
	}
	if got := outcomes(d.change(path+"fire", body("", "2", "1"))); got != "1 fired cancelled unknown unknown" {
		t.Errorf("fired: %s", got)
	}
	if got := outcomes(d.change(path+"reschedule", body(`,"in":5000`, "3", "2", "1"))); got != "1 rescheduled already_fired cancelled unknown unknown" {
		t.Errorf("rescheduled: %s", got)
	}
	c := d.change(path+"cancel", `{"filter":{"routing_key":"k.0"}}`)
	if outcomes(c) != "1 cancelled" || c.Results[0].ID != ids["4"] || c.Next != nil {
		t.Errorf("by routing key: %+v", c)
	}
	if c = d.change(path+"reschedule", `{"at":1700000009000,"filter":{"until":1700000002000},"limit":2}`); outcomes(c) != "2 rescheduled rescheduled" || c.Next == nil {
		t.Errorf("by instant: %+v", c)
	}
	c = d.change(path+"reschedule", `{"at":1700000009000,"filter":{"until":1700000002000},"limit":2,"after":"`+*c.Next+`"}`)
	if outcomes(c) != "1 rescheduled" || c.Next != nil {
		t.Errorf("the rest: %+v", c)
	}
	if c = d.change(path+"fire", `{"filter":{"message_id":"m6","headers":{"n":"6","x-delay":-1000}}}`); outcomes(c) != "1 fired" {
		t.Errorf("by header: %+v", c)
	}
	if got := d.arrived("q"); got != "2 6" {
		t.Errorf("arrived: %s", got)
	}
	d.advance(5000)
	if got := d.arrived("q"); got != "3" {
		t.Errorf("then: %s", got)
	}
	d.advance(4000)
	if got := d.arrived("q"); got != "5 7" {
		t.Errorf("at last: %s", got)
	}
}

func TestScheduledBadInput(t *testing.T) {
	// If this fails, a mistake in a request cancels, moves or fires what nobody meant, or its answer does not say what
	// is wrong.
	t.Parallel()
	d := later(t)
	d.delay("later", "k", "x", 1000, "")
	ids, _ := d.ids(scheduled + "/later")
	const path = scheduled + "/later"
	id := ids["x"]
	many, _ := json.Marshal(slices.Repeat([]string{id}, 1001))
	for _, c := range []struct {
		status                     int
		reason, method, path, body string
	}{
		{404, "Not Found", "GET", "/api/x/scheduled/none", ""},
		{404, "Not Found", "GET", scheduled + "/none", ""},
		{404, "not of type x-delayed-message", "GET", scheduled + "/amq.direct", ""},
		{404, "not of type x-delayed-message", "DELETE", scheduled + "/amq.direct", ""},
		{404, "Not Found", "POST", scheduled + "/none/cancel", `{"ids":[]}`},
		{404, "Not Found", "GET", path + "/nonsense", ""},
		{404, "Not Found", "GET", path + "/1-1-1", ""},
		{404, "Not Found", "GET", path + "/0-0", ""},
		{404, "Not Found", "DELETE", path + "/+" + id, ""},
		{404, "Not Found", "DELETE", path + "/" + id + "00000", ""},
		{404, "Not Found", "PATCH", path + "/99999999999-1", `{"in":1}`},
		{405, "", "PUT", path, ""},
		{400, "key_missing,at", "PATCH", path + "/" + id, ""},
		{400, "not both", "PATCH", path + "/" + id, `{"at":1,"in":1}`},
		{400, "must not be negative", "PATCH", path + "/" + id, `{"in":-1}`},
		{400, "not a time", "PATCH", path + "/" + id, `{"at":-1}`},
		{400, "not a time", "PATCH", path + "/" + id, `{"at":"tomorrow"}`},
		{400, "not a time", "PATCH", path + "/" + id, `{"at":1.5}`},
		{400, "not a time", "PATCH", path + "/" + id, `{"at":[1]}`},
		{400, "'5' has no unit: write 5s, or 5ms", "PATCH", path + "/" + id, `{"in":"5"}`},
		{400, "the maximum delay is", "PATCH", path + "/" + id, `{"in":315360000001}`},
		{400, "the maximum delay is", "PATCH", path + "/" + id, `{"in":9223372036854775807}`},
		{400, "the maximum delay is", "PATCH", path + "/" + id, `{"at":9223372036854775807}`},
		{400, "unknown field", "PATCH", path + "/" + id, `{"on":1}`},
		{400, "not_json", "PATCH", path + "/" + id, `{`},
		{400, "key_missing,ids", "POST", path + "/cancel", ""},
		{400, "not the id", "POST", path + "/cancel", `{"ids":["x"]}`},
		{400, "not the id", "POST", path + "/cancel", `{"ids":["01-2"]}`},
		{400, "number", "POST", path + "/cancel", `{"ids":[1]}`},
		{400, "string", "POST", path + "/cancel", `{"ids":"` + id + `"}`},
		{400, "1001 ids", "POST", path + "/cancel", `{"ids":` + string(many) + `}`},
		{400, "not both", "POST", path + "/cancel", `{"ids":[],"filter":{"routing_key":"k"}}`},
		{400, "require 'filter'", "POST", path + "/cancel", `{"ids":[],"limit":1}`},
		{400, "needs at least one of", "POST", path + "/cancel", `{"filter":{}}`},
		{400, "unknown field", "POST", path + "/cancel", `{"filter":{"key":"k"}}`},
		{400, "string, a number or a boolean", "POST", path + "/cancel", `{"filter":{"headers":{"h":{}}}}`},
		{400, "1 to 1000", "POST", path + "/cancel", `{"filter":{"routing_key":"k"},"limit":1001}`},
		{400, "1 to 1000", "POST", path + "/cancel", `{"filter":{"routing_key":"k"},"limit":0}`},
		{400, "'next'", "POST", path + "/cancel", `{"filter":{"routing_key":"k"},"after":"x"}`},
		{400, "unknown field", "POST", path + "/cancel", `{"ids":[],"in":1}`},
		{400, "key_missing,at", "POST", path + "/reschedule", `{"ids":[]}`},
		{400, "the maximum delay is", "POST", path + "/reschedule", `{"ids":["0-0"],"in":315360000001}`},
		{400, "ends in '/'", "DELETE", path + "/", ""},
		{400, "unknown parameter 'routing_key'", "DELETE", path + "?routing_key=k", ""},
		{400, "from 1 to 1000", "GET", path + "?limit=0", ""},
		{400, "from 1 to 1000", "GET", path + "?limit=1001", ""},
		{400, "'next'", "GET", path + "?after=1", ""},
		{400, "'next'", "GET", path + "?after=-1-1", ""},
		{400, "'next'", "GET", path + "?after=1-2-3", ""},
		{400, "'next'", "GET", path + "?after=99999999999999999999-1", ""},
		{400, "name:value", "GET", path + "?header=n", ""},
		{400, "at most 16", "GET", path + "?" + strings.Repeat("header=n:1&", 17), ""},
		{400, "from: ", "GET", path + "?from=yesterday", ""},
		{400, "until: ", "GET", path + "?until=-1", ""},
		{400, "auto or base64", "GET", path + "?payload=true&encoding=x", ""},
		{400, "negative", "GET", path + "/" + id + "?truncate=-1", ""},
		{404, "Not Found", "GET", "/api/x/waiting/%2F/none", ""},
		{404, "Not Found", "POST", "/api/x/waiting/%2F/none/retry", `{"all":true}`},
		{400, "key_missing,ids", "POST", "/api/x/waiting/%2F/q/retry", `{}`},
		{400, "excludes", "POST", "/api/x/waiting/%2F/q/retry", `{"all":true,"ids":[]}`},
		{400, "not a boolean", "POST", "/api/x/waiting/%2F/q/retry", `{"all":"yes"}`},
		{404, "Not Found", "POST", "/api/x/waiting/%2F/none/cancel", `{"ids":["1-0"]}`},
		{404, "Not Found", "POST", "/api/x/waiting/%2F/none/reschedule", `{"ids":["1-0"],"in":1}`},
		{400, "key_missing,ids", "POST", "/api/x/waiting/%2F/q/cancel", `{}`},
		{400, "unknown field", "POST", "/api/x/waiting/%2F/q/cancel", `{"all":true}`},
		{400, "key_missing,at", "POST", "/api/x/waiting/%2F/q/reschedule", `{"ids":["1-0"]}`},
		{400, "the maximum delay is", "POST", "/api/x/waiting/%2F/q/reschedule", `{"ids":["1-0"],"in":315360000001}`},
	} {
		w := d.send(c.method, c.path, c.body)
		var e api.Error
		if err := json.Unmarshal(w.Body.Bytes(), &e); err != nil || w.Code != c.status || !strings.Contains(e.Reason, c.reason) {
			t.Errorf("%s %s %s: %d %s, want %d %s", c.method, c.path, c.body[:min(len(c.body), 80)], w.Code, w.Body, c.status, c.reason)
		}
	}
	if page := read[api.WaitingPage](d, path); len(page.Items) != 1 || page.Items[0].InMS != 1000 {
		t.Errorf("what nobody named: %+v", page)
	}
	for _, c := range []string{"1", "%2B1", "1.5", "true"} { // the last may be read: no panic is what counts
		d.send("GET", path+"?after="+c, "")
	}
}

func TestScheduledAndPermissions(t *testing.T) {
	// If this fails, a user reads, calls off or sends messages through an exchange that it must not touch.
	t.Parallel()
	d := later(t)
	d.delay("later", "k", "x", 1000, "")
	ids, _ := d.ids(scheduled + "/later")
	one := scheduled + "/later/" + ids["x"]
	for user, permissions := range map[string]string{
		"r": `{"configure":"","write":"","read":"^later$"}`, "w": `{"configure":"","write":"^later$","read":""}`,
		"q": `{"configure":"","write":"","read":"^q$"}`,
	} {
		d.want(201, "PUT", "/api/users/"+user, `{"password":"p","tags":"management"}`)
		d.want(201, "PUT", "/api/permissions/%2F/"+user, permissions)
	}
	d.want(201, "PUT", "/api/users/out", `{"password":"p","tags":"management"}`)
	d.want(201, "PUT", "/api/users/watch", `{"password":"p","tags":"monitoring"}`)
	r, w, q, watch := d.as("r:p"), d.as("w:p"), d.as("q:p"), d.as("watch:p")
	const kind, refused = "not_authorised", "Access refused: "
	d.as("out:p").want(404, "GET", scheduled+"/later", "")
	if all := read[[]api.Schedule](d.as("out:p"), "/api/x/scheduled"); len(all) != 0 {
		t.Errorf("who has no access to the vhost sees %v", all)
	}
	if all := read[[]api.Schedule](watch, "/api/x/scheduled"); len(all) != 1 {
		t.Errorf("who watches over the node sees %v", all)
	}
	watch.refused(401, kind, "access virtual host", "GET", scheduled+"/later", "")
	q.refused(401, kind, refused, "GET", scheduled+"/later", "")
	w.refused(401, kind, refused, "GET", scheduled+"/later", "")
	w.refused(401, kind, refused, "GET", one, "")
	w.refused(401, kind, refused, "POST", scheduled+"/later/cancel", `{"filter":{"routing_key":"k"}}`)
	r.want(200, "GET", one, "")
	for _, c := range [][3]string{{"DELETE", one, ""}, {"PATCH", one, `{"in":1}`}, {"POST", one + "/fire", ""}, {"DELETE", scheduled + "/later", ""},
		{"POST", scheduled + "/later/cancel", `{"ids":[]}`}, {"POST", scheduled + "/later/fire", `{"ids":[]}`}} {
		r.refused(401, kind, refused, c[0], c[1], c[2])
	}
	w.want(200, "PATCH", one, `{"in":1}`)
	w.want(200, "DELETE", one, "")
	w.want(200, "DELETE", scheduled+"/later", "")
	w.refused(401, kind, refused, "GET", "/api/x/waiting/%2F/q", "")
	w.refused(401, kind, refused, "POST", "/api/x/waiting/%2F/q/retry", `{"all":true}`)
	w.refused(401, kind, refused, "POST", "/api/x/waiting/%2F/q/cancel", `{"ids":[]}`)
	w.refused(401, kind, refused, "POST", "/api/x/waiting/%2F/q/reschedule", `{"ids":[],"in":1}`)
	q.want(200, "POST", "/api/x/waiting/%2F/q/retry", `{"all":true}`)
	q.want(200, "POST", "/api/x/waiting/%2F/q/cancel", `{"ids":[]}`)
	q.want(200, "POST", "/api/x/waiting/%2F/q/reschedule", `{"ids":[],"in":1}`)
}

func TestCancelAgainstFire(t *testing.T) {
	// If this fails, a message that was cancelled is delivered, or one that was told to have fired is not.
	t.Parallel()
	d := later(t)
	const n = 200
	for i := range n {
		d.delay("later", "k", fmt.Sprint(i), 1000, "")
	}
	ids, _ := d.ids(scheduled + "/later")
	var names []string
	for name := range ids {
		names = append(names, name)
	}
	cancelled := make([]bool, n)
	var all sync.WaitGroup
	all.Go(func() { d.advance(1000) })
	for part := range 4 {
		all.Go(func() {
			for i := part; i < n; i += 4 {
				switch w := d.send("DELETE", scheduled+"/later/"+ids[names[i]], ""); w.Code {
				case http.StatusOK:
					cancelled[i] = true
				case http.StatusConflict:
				default:
					t.Errorf("%s: %d %s", names[i], w.Code, w.Body)
				}
			}
		})
	}
	all.Wait()
	arrived := map[string]int{}
	for _, name := range strings.Fields(d.arrived("q")) {
		arrived[name]++
	}
	for i, name := range names {
		if want := 1; arrived[name] != want && !cancelled[i] || cancelled[i] && arrived[name] != 0 {
			t.Errorf("%s: cancelled %v, arrived %d times", name, cancelled[i], arrived[name])
		}
	}
	if s := read[api.Schedules](d, scheduled); s.Messages != 0 {
		t.Errorf("left: %+v", s)
	}
}
