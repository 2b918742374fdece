package management

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/engine"
	"github.com/bartleby-mq/bartleby/internal/management/stats"
	"github.com/bartleby-mq/bartleby/internal/management/web"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

func (d *door) publish(exchange, key, payload string) {
	d.t.Helper()
	d.want(200, "POST", "/api/exchanges/%2F/"+exchange+"/publish",
		`{"properties":{"delivery_mode":2},"routing_key":"`+key+`","payload":"`+payload+`","payload_encoding":"string"}`)
}

func (d *door) take(queue, body string) []api.Message {
	d.t.Helper()
	w := d.want(200, "POST", "/api/queues/%2F/"+queue+"/get", body)
	var all []api.Message
	if err := json.Unmarshal(w.Body.Bytes(), &all); err != nil {
		d.t.Fatalf("%v in %s", err, w.Body)
	}
	return all
}

func (d *door) queue(name string) api.Queue {
	d.t.Helper()
	return read[api.Queue](d, "/api/queues/%2F/"+name)
}

func TestPublishAndGet(t *testing.T) {
	// If this fails, a message published or looked at over HTTP is changed, lost, or doubled.
	t.Parallel()
	d := open(t)
	d.want(201, "PUT", "/api/queues/%2F/q", "")
	const properties = `{"content_type":"text/plain","headers":{"n":1,"t":{"deep":[true]}},"delivery_mode":2,"priority":4,"correlation_id":"c",` +
		`"expiration":"60000","timestamp":1700000000,"user_id":"guest"}`
	w := d.want(200, "POST", "/api/exchanges/%2F/amq.default/publish",
		`{"properties":`+properties+`,"routing_key":"q","payload":"eHg=","payload_encoding":"base64","unknown":1}`)
	if w.Body.String() != `{"routed":true}` {
		t.Errorf("published: %s", w.Body)
	}
	w = d.want(200, "POST", "/api/exchanges/%2F/amq.default/publish", `{"properties":{},"routing_key":"none","payload":"","payload_encoding":"string"}`)
	if w.Body.String() != `{"routed":false}` {
		t.Errorf("unroutable: %s", w.Body)
	}
	w = d.want(200, "POST", "/api/queues/%2F/q/get", `{"count":"5","ackmode":"ack_requeue_true","encoding":"auto"}`)
	want := `[{"payload_bytes":2,"redelivered":false,"exchange":"","routing_key":"q","message_count":0,"properties":` + properties +
		`,"payload":"xx","payload_encoding":"string"}]`
	if w.Body.String() != want {
		t.Errorf("got %s\nwant %s", w.Body, want)
	}
	all := d.take("q", `{"count":1,"ackmode":"reject_requeue_true","encoding":"base64","truncate":1}`)
	if len(all) != 1 || !all[0].Redelivered || all[0].Payload != "eA==" || all[0].PayloadEncoding != "base64" || all[0].PayloadBytes != 2 {
		t.Errorf("again: %+v", all)
	}
	if all := d.take("q", `{"count":1,"ackmode":"ack_requeue_false","encoding":"auto"}`); len(all) != 1 {
		t.Errorf("taken: %+v", all)
	}
	w = d.want(200, "POST", "/api/queues/%2F/q/get", `{"count":1,"ackmode":"ack_requeue_false","encoding":"auto"}`)
	if w.Body.String() != "[]" {
		t.Errorf("nothing left: %s", w.Body)
	}
	d.refused(400, "bad_request", "user_id", "POST", "/api/exchanges/%2F/amq.default/publish",
		`{"properties":{"user_id":"other"},"routing_key":"q","payload":"","payload_encoding":"string"}`)
}

func TestGetReturnsInOrder(t *testing.T) {
	// If this fails, looking at a queue shows one message many times, or changes its order.
	t.Parallel()
	d := open(t)
	d.want(201, "PUT", "/api/queues/%2F/q", "")
	for _, p := range []string{"a", "b", "c"} {
		d.publish("amq.default", "q", p)
	}
	for round := range 3 {
		var seen []string
		for _, m := range d.take("q", `{"count":10,"ackmode":"ack_requeue_true","encoding":"auto"}`) {
			seen = append(seen, m.Payload)
			if m.Redelivered != (round > 0) {
				t.Errorf("round %d: redelivered %v", round, m.Redelivered)
			}
		}
		if got := strings.Join(seen, " "); got != "a b c" {
			t.Errorf("round %d: %s", round, got)
		}
	}
	if q := d.queue("q"); q.MessagesReady != 3 || q.MessagesUnacknowledged != 0 {
		t.Errorf("left: %+v", q.Totals)
	}
	q := d.queue("q")
	if q.MessageStats.Publish.Total != 3 || q.MessageStats.Get.Total != 9 || q.MessageStats.DeliverGet.Total != 9 {
		t.Errorf("stats %+v", q.MessageStats)
	}
}

func TestDeadLetters(t *testing.T) {
	// If this fails, rejecting in the console loses a message, or its history, or time cannot be moved in a test.
	t.Parallel()
	d := open(t)
	d.want(201, "PUT", "/api/queues/%2F/grave", `{"durable":true}`)
	d.want(201, "PUT", "/api/queues/%2F/work", `{"durable":true,"arguments":{"x-message-ttl":5000,"x-dead-letter-exchange":"","x-dead-letter-routing-key":"grave"}}`)
	d.publish("amq.default", "work", "rejected")
	if n := len(d.take("work", `{"count":1,"ackmode":"reject_requeue_false","encoding":"auto"}`)); n != 1 {
		t.Fatalf("took %d", n)
	}
	d.publish("amq.default", "work", "expired")
	if w := d.want(200, "POST", "/api/x/clock/advance", `{"ms":5000}`); !strings.HasPrefix(w.Body.String(), `{"now":1700000005000,"wall":1700000005000,`) {
		t.Errorf("clock %s", w.Body)
	}
	all := d.take("grave", `{"count":5,"ackmode":"ack_requeue_true","encoding":"auto"}`)
	if len(all) != 2 {
		t.Fatalf("in the grave: %+v", all)
	}
	for i, reason := range []string{"rejected", "expired"} {
		headers, _ := amqp.Table(all[i].Properties).Get("headers")
		first, _ := headers.Table.Get("x-first-death-reason")
		if all[i].Payload != reason || first.Str != reason || all[i].RoutingKey != "grave" {
			t.Errorf("%d: %+v", i, all[i])
		}
	}
	text := d.want(200, "GET", "/metrics", "").Body.String()
	for _, line := range []string{
		`rabbitmq_global_messages_dead_lettered_rejected_total{queue_type="rabbit_classic_queue",dead_letter_strategy="at_most_once"} 1`,
		`rabbitmq_global_messages_dead_lettered_expired_total{queue_type="rabbit_classic_queue",dead_letter_strategy="at_most_once"} 1`,
		`rabbitmq_global_messages_dead_lettered_expired_total{queue_type="rabbit_classic_queue",dead_letter_strategy="disabled"} 0`,
		"rabbitmq_queue_messages_ready 2", "rabbitmq_queue_messages 2", "rabbitmq_queues 2",
		`bartleby_letters_lost_total{vhost="/",cause="no_route"} 0`,
	} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("metrics lack %s:\n%s", line, text)
		}
	}
}

// client is an AMQP client as the engine sees it.
type client struct{}

func (client) Emit(*vhost.Effect)  {}
func (client) Flush()              {}
func (client) Blocked(string)      {}
func (client) Unblocked()          {}
func (client) Stopped(*amqp.Error) {}

func TestConnectionsChannelsConsumers(t *testing.T) {
	// If this fails, operators do not see who is connected, or close somebody else.
	t.Parallel()
	d := open(t)
	const name = "127.0.0.1:50000 -> 127.0.0.1:5672"
	d.roster.mu.conns = []stats.Connection{
		{Name: name, User: "guest", VHost: "/", State: "running", Protocol: "AMQP 0-9-1", PeerHost: "127.0.0.1", PeerPort: 50000,
			Host: "127.0.0.1", Port: 5672, ConnectedAt: time.UnixMilli(1_700_000_000_123), Channels: 1, ChannelMax: 2047, Heartbeat: time.Minute},
		{Name: "far", User: "other", VHost: "/"},
	}
	d.want(201, "PUT", "/api/queues/%2F/q", "")
	session, err := d.engine.Attach(client{}, engine.ConnInfo{Name: name, Principal: authz.Principal{User: "guest"}, VHost: "/"})
	if err != nil {
		t.Fatal(err)
	}
	ch := session.NewChannel()
	session.Submit(&engine.Batch{Commands: []vhost.Command{
		{Kind: vhost.OpenChannel, Conn: session.Conn(), Channel: ch, Number: 1},
		{Kind: vhost.Consume, Conn: session.Conn(), Channel: ch, Definition: &vhost.Definition{Name: "q", ConsumerTag: "c1", Prefetch: 10}},
	}})
	conns := read[[]api.Connection](d, "/api/connections")
	if len(conns) != 2 || conns[0].Name != name || conns[0].ConnectedAt != 1_700_000_000_123 || conns[0].Timeout != 60 {
		t.Errorf("connections %+v", conns)
	}
	if text := d.want(200, "GET", "/api/connections", "").Body.String(); !strings.Contains(text, name) {
		t.Errorf("the name is escaped more than JSON asks: %s", text)
	}
	escaped := "127.0.0.1%3A50000%20-%3E%20127.0.0.1%3A5672"
	if c := read[api.Connection](d, "/api/connections/"+escaped); c.PeerPort != 50000 {
		t.Errorf("connection %+v", c)
	}
	channels := read[[]api.Channel](d, "/api/connections/"+escaped+"/channels")
	if len(channels) != 1 || channels[0].Name != name+" (1)" || channels[0].ConsumerCount != 1 || channels[0].User != "guest" {
		t.Errorf("channels %+v", channels)
	}
	if c := read[api.Channel](d, "/api/channels/"+escaped+"%20(1)"); len(c.ConsumerDetails) != 1 {
		t.Errorf("channel %+v", c)
	}
	consumers := read[[]api.Consumer](d, "/api/consumers/%2F")
	if len(consumers) != 1 || consumers[0].ConsumerTag != "c1" || !consumers[0].AckRequired || consumers[0].Channel.PeerPort != 50000 || !consumers[0].Active {
		t.Errorf("consumers %+v", consumers)
	}
	d.want(201, "PUT", "/api/queues/%2F/idle", "")
	if got := d.want(200, "GET", "/api/queues/%2F/idle?columns=consumer_details", "").Body.String(); got != `{"consumer_details":[]}` {
		t.Errorf("consumers of a queue without: %s", got)
	}
	if q := d.queue("q"); q.Consumers != 1 || len(*q.ConsumerDetails) != 1 {
		t.Errorf("queue %+v", q)
	}
	d.refused(400, "bad_request", "in use", "DELETE", "/api/queues/%2F/q?if-unused=true", "")

	d.want(201, "PUT", "/api/users/m", `{"password":"p","tags":"management"}`)
	m := d.as("m:p")
	if got := m.want(200, "GET", "/api/connections", "").Body.String(); got != "[]" {
		t.Errorf("others' connections are seen: %s", got)
	}
	m.want(404, "DELETE", "/api/connections/far", "")
	d.want(201, "PUT", "/api/users/w", `{"password":"p","tags":"monitoring"}`)
	d.as("w:p").want(401, "DELETE", "/api/connections/far", "")
	d.send("DELETE", "/api/connections/far", "", "X-Reason", "enough")
	d.want(204, "DELETE", "/api/connections/username/guest", "")
	if got := strings.Join(d.roster.mu.closed, "; "); got != "far: enough; "+name+": Closed via management plugin" {
		t.Errorf("closed %s", got)
	}
	session.Close()
	if got := d.want(200, "GET", "/api/consumers", "").Body.String(); got != "[]" {
		t.Errorf("consumers after the end: %s", got)
	}
}

func TestRates(t *testing.T) {
	// If this fails, a console shows speed where nothing moves, or counters fall when a queue is deleted.
	t.Parallel()
	d := open(t)
	d.want(201, "PUT", "/api/queues/%2F/q", "")
	start := time.Unix(2_000_000_000, 0)
	d.server.sampler.Read(start)
	for range 10 {
		d.publish("amq.default", "q", "x")
	}
	d.server.sampler.Read(start.Add(5 * time.Second))
	q := d.queue("q")
	if q.MessageStats.Publish.Rate.Rate != 2 || q.MessagesReadyDetails.Rate != 2 || q.MessagesUnacknowledgedDetails.Rate != 0 {
		t.Errorf("rates %+v %+v", q.MessageStats, q.Totals)
	}
	d.server.sampler.Read(start.Add(10 * time.Second))
	if q := d.queue("q"); q.MessageStats.Publish.Rate.Rate != 0 || q.MessageStats.Publish.Total != 10 {
		t.Errorf("rates at rest %+v", q.MessageStats)
	}
	d.want(204, "DELETE", "/api/queues/%2F/q", "")
	d.server.sampler.Read(start.Add(15 * time.Second))
	if o := read[api.Overview](d, "/api/overview"); o.MessageStats.Publish.Total != 10 || o.QueueTotals.Messages != 0 {
		t.Errorf("overview after the queue is gone: %+v %+v", o.MessageStats, o.QueueTotals)
	}
}

// withLargeAmongSmall fills queue q with so many large messages and small ones behind them.
func (d *door) withLargeAmongSmall(large, size, small int) {
	d.t.Helper()
	d.want(201, "PUT", "/api/queues/%2F/q", `{"durable":true}`)
	for range large {
		d.publish("amq.default", "q", strings.Repeat("x", size))
	}
	for range small {
		d.publish("amq.default", "q", "s")
	}
}

func TestGetTakesWhatFitsByRealSizes(t *testing.T) {
	// If this fails, a few large messages among many small ones are all taken into memory at once by one get, or a get
	// loses what does not fit.
	t.Parallel()
	const large, size, small = 10, 4 << 20, 3000
	d := open(t)
	d.withLargeAmongSmall(large, size, small)
	for _, ackMode := range []string{"ack_requeue_true", "ack_requeue_false"} {
		all, bytes := d.take("q", `{"count":10000,"ackmode":"`+ackMode+`","encoding":"auto"}`), 0
		for _, m := range all {
			bytes += m.PayloadBytes
		}
		if bytes > 32<<20 || len(all) < 7 {
			t.Errorf("%s: %d bytes in %d messages were taken at once", ackMode, bytes, len(all))
		}
	}
	rest := d.take("q", `{"count":10000,"ackmode":"ack_requeue_false","encoding":"auto"}`)
	if len(rest) != large+small-7 || rest[0].PayloadBytes != size || rest[len(rest)-1].MessageCount != 0 {
		t.Errorf("%d messages are left for the next get", len(rest))
	}
}

func TestGetsAreCountedBeforeMessagesAreTaken(t *testing.T) {
	// If this fails, a get takes memory that there is no space for, or answers 503 about messages that it has removed.
	t.Parallel()
	d := open(t)
	d.withLargeAmongSmall(1, 4<<20, 200)
	d.server.Memory.Total, d.server.Memory.Each, d.server.Memory.Patience = 5<<20, 5<<20, time.Nanosecond
	other := web.Account{Budget: &d.server.Memory, User: "guest"}
	if err := other.Take(t.Context(), 2<<20); err != nil {
		t.Fatal(err)
	}
	d.refused(503, "service_unavailable", "all memory", "POST", "/api/queues/%2F/q/get", `{"count":1,"ackmode":"ack_requeue_false","encoding":"auto"}`)
	other.End()
	for _, n := range []int{1, 200} { // one by one: a message that is larger than the budget, or as much as there is
		all := d.take("q", fmt.Sprintf(`{"count":%d,"ackmode":"ack_requeue_false","encoding":"auto"}`, n))
		if len(all) != n {
			t.Errorf("%d messages, not %d", len(all), n)
		}
	}
	if taken, _ := d.server.Memory.Usage(); taken != 0 {
		t.Errorf("%d bytes are counted when nothing is asked for", taken)
	}
}

func TestGetsCountTheHistoriesOfDeadLetters(t *testing.T) {
	// If this fails, small messages that have died often are read without bound.
	t.Parallel()
	d := open(t)
	key := strings.Repeat("k", 250)
	d.queueWith("work", `"x-dead-letter-exchange":"","x-dead-letter-routing-key":"dead"`)
	d.queueWith("dead", "")
	d.want(200, "POST", "/api/exchanges/%2F/amq.default/publish",
		`{"routing_key":"work","payload":"x","payload_encoding":"string","properties":{"headers":{"CC":["`+strings.Repeat(key+`","`+key, 100)+`"]}}}`)
	d.take("work", `{"count":1,"ackmode":"reject_requeue_false","encoding":"auto"}`)
	counted := int64(0)
	if err := d.engine.Query(t.Context(), "/", func(v vhost.Reader) { _, counted, _ = v.GetsAhead("dead", 10, 1<<30) }); err != nil {
		t.Fatal(err)
	}
	if counted < 2*100*250 { // its header, and its keys among its deaths
		t.Errorf("%d bytes are counted for a message and its history", counted)
	}
}

func TestPayloadsAreEncodedInPieces(t *testing.T) {
	// If this fails, the JSON of a payload takes many times its size, or differs from what an encoder
	// makes of it. It is not parallel: it counts what the process allocates.
	const size = 8 << 20
	d := open(t)
	d.want(201, "PUT", "/api/queues/%2F/q", "")
	for _, payload := range []string{strings.Repeat("\x01", size/4), strings.Repeat("a\u2028\u00e9\"<", size/16), strings.Repeat("\xff\x00", size/4), "", "\u00e9"} {
		effects, err := d.engine.Do(t.Context(), "/", authz.Principal{User: "guest"}, vhost.Command{
			Kind: vhost.Publish, Key: []byte("q"), Properties: amqp.AppendProperties(nil, &amqp.Properties{}), Body: []byte(payload)})
		if err != nil {
			t.Fatal(effects, err)
		}
		for _, encoding := range []string{"auto", "base64"} {
			w := &forgetfulClient{}
			took := allocated(func() {
				r := httptest.NewRequest("POST", "/api/queues/%2F/q/get", strings.NewReader(`{"count":1,"ackmode":"ack_requeue_true","encoding":"`+encoding+`"}`))
				r.RemoteAddr = d.from
				r.SetBasicAuth("guest", "guest")
				d.server.ServeHTTP(w, r)
			})
			if most := int64(4*len(payload) + 2<<20); took > most && !raceDetector {
				t.Errorf("a payload of %d bytes takes %d in %s", len(payload), took, encoding)
			}
		}
		got := d.take("q", `{"count":1,"ackmode":"ack_requeue_true","encoding":"base64"}`)
		if text, err := base64.StdEncoding.DecodeString(got[0].Payload); err != nil || string(text) != payload {
			t.Errorf("%d bytes come back as %d, %v", len(payload), len(text), err)
		}
		if got := d.take("q", `{"count":1,"ackmode":"ack_requeue_false","encoding":"auto"}`); got[0].PayloadEncoding == "string" && got[0].Payload != payload {
			t.Errorf("%d bytes come back as %d", len(payload), len(got[0].Payload))
		}
	}
}

// A forgetfulClient is a client that keeps nothing.
type forgetfulClient struct{ header http.Header }

func (w *forgetfulClient) Header() http.Header {
	if w.header == nil {
		w.header = http.Header{}
	}
	return w.header
}
func (w *forgetfulClient) WriteHeader(int)             {}
func (w *forgetfulClient) Write(p []byte) (int, error) { return len(p), nil }
