package management

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/settings"
)

// reject makes dead letters of n messages that it publishes to a queue.
func (d *door) reject(queue string, n int) {
	d.t.Helper()
	for i := range n {
		d.publish("amq.default", queue, fmt.Sprintf("%s %d", queue, i))
	}
	if got := len(d.take(queue, fmt.Sprintf(`{"count":%d,"ackmode":"reject_requeue_false","encoding":"auto"}`, n))); got != n {
		d.t.Fatalf("%d messages of %s rejected, not %d", got, queue, n)
	}
}

func (d *door) queueWith(name, arguments string) {
	d.t.Helper()
	d.want(http.StatusCreated, "PUT", "/api/queues/%2F/"+name, `{"durable":true,"arguments":{`+arguments+`}}`)
}

// withLostLetters fills a new broker's lost store: three lost letters without an exchange, one without a route.
func withLostLetters(t *testing.T) *door {
	t.Helper()
	d := open(t)
	d.queueWith("q", `"x-dead-letter-exchange":"later"`)
	d.queueWith("r", `"x-dead-letter-exchange":"amq.direct","x-dead-letter-routing-key":"nowhere"`)
	d.reject("q", 3)
	d.reject("r", 1)
	return d
}

func TestOptions(t *testing.T) {
	// If this fails, an option is not set, not taken back, or a wrong one is taken in silence.
	t.Parallel()
	d := open(t)
	const path = "/api/x/options/%2F"
	if got := d.want(200, "GET", path, "").Body.String(); got != "{}" {
		t.Errorf("at first %s", got)
	}
	d.want(204, "PUT", path, `{"lost-letters-max-bytes":1000,"dialect":"apsaramq","ttl-in-dlq":true}`)
	d.want(204, "PUT", path, `{"lost-letters-max-bytes":null,"consumer-timeout":5000}`)
	if got := d.want(200, "GET", path, "").Body.String(); got != `{"consumer-timeout":5000,"dialect":"apsaramq","ttl-in-dlq":true}` {
		t.Errorf("set: %s", got)
	}
	const effective = `{"dialect":"apsaramq","lost-letters-max-bytes":67108864,"lost-letters-max-age":604800000,"consumer-timeout":5000,"sync":"default",` +
		`"death-total":true,"reject-reasons":true,"delivery-limit":16,"hops-max":16,"ttl-in-loops":false,"ttl-in-dlq":true,` +
		`"dlx-by-argument-only":true,"strict-names":true,"dead-letter-queues":{}}`
	if got := d.want(200, "GET", path+"?effective=true", "").Body.String(); got != effective {
		t.Errorf("in force: %s", got)
	}
	d.want(204, "DELETE", path+"/dialect", "")
	d.want(404, "DELETE", path+"/dialect", "")
	d.refused(400, "bad_request", "'x' is not an option of a virtual host", "PUT", path, `{"x":1}`)
	d.refused(400, "bad_request", "is not a valid value of the option 'dialect'", "PUT", path, `{"dialect":"latin"}`)
	d.refused(400, "bad_request", "not_json", "PUT", path, `{"dialect":`)
	d.want(404, "GET", "/api/x/options/none", "")
	d.want(404, "PUT", "/api/x/options/none", "{}")
	for i, name := range settings.OptionNames() {
		if i >= len(api.VHostOptions) || api.VHostOptions[i].Name != name {
			t.Errorf("help does not know %s", name)
		}
	}
	d.refused(400, "bad_request", "'nosuch' is not an option of a virtual host: dialect, ", "PUT", path, `{"nosuch":1}`)
	d.refused(400, "bad_request", "strict-names", "DELETE", path+"/nosuch", "")
	d.refused(400, "bad_request", "default, always, interval or never", "PUT", path, `{"sync":"sometimes"}`)
	d.refused(400, "bad_request", "true or false", "PUT", path, `{"strict-names":"yes"}`)

	d.want(201, "PUT", "/api/users/m", `{"password":"p","tags":"management"}`)
	d.want(404, "GET", "/api/x/options/none", "")
	m := d.as("m:p")
	m.want(404, "GET", path, "")
	d.want(201, "PUT", "/api/permissions/%2F/m", `{"configure":".*","write":".*","read":".*"}`)
	m.want(200, "GET", path, "")
	m.refused(401, "not_authorised", "Not policymaker user", "PUT", path, "{}")
	m.refused(401, "not_authorised", "Not policymaker user", "DELETE", path+"/consumer-timeout", "")
}

func TestOptionsInDefinitions(t *testing.T) {
	// If this fails, a broker that is restored from its definitions follows other rules than before.
	t.Parallel()
	d := open(t)
	d.want(204, "PUT", "/api/x/options/%2F", `{"dialect":"apsaramq","hops-max":3}`)
	d.queueWith("q", "")
	for _, path := range []string{"/api/definitions", "/api/definitions/%2F"} {
		export := d.want(200, "GET", path, "").Body.String()
		const want = `"component":"bartleby-options","name":"options","value":{"dialect":"apsaramq","hops-max":3}}`
		if !strings.Contains(export, want) {
			t.Fatalf("%s lacks %s: %s", path, want, export)
		}
		other := open(t)
		other.want(204, "PUT", "/api/x/options/%2F", `{"consumer-timeout":1}`)
		other.want(204, "POST", path, export)
		if got := other.want(200, "GET", "/api/x/options/%2F", "").Body.String(); got != `{"dialect":"apsaramq","hops-max":3}` {
			t.Errorf("imported %s", got)
		}
	}
	d.refused(400, "bad_request", "'x' is not an option", "POST", "/api/definitions/%2F",
		`{"parameters":[{"component":"bartleby-options","name":"options","value":{"x":1}}]}`)
	d.want(204, "PUT", "/api/parameters/bartleby-options/%2F/options", `{"value":{"hops-max":4}}`)
	if got := d.want(200, "GET", "/api/x/options/%2F", "").Body.String(); got != `{"hops-max":4}` {
		t.Errorf("as a parameter %s", got)
	}
	d.want(204, "DELETE", "/api/parameters/bartleby-options/%2F/options", "")
	d.want(404, "DELETE", "/api/parameters/bartleby-options/%2F/options", "")
}

func TestLostLetters(t *testing.T) {
	// If this fails, lost letters that RabbitMQ would have dropped are kept but cannot be found.
	t.Parallel()
	d := withLostLetters(t)
	d.want(201, "PUT", "/api/vhosts/empty", "")
	if got := d.want(200, "GET", "/api/x/lost-letters", "").Body.String(); !strings.HasPrefix(got, `[{"vhost":"/","messages":4,"bytes":`) ||
		!strings.HasSuffix(got, `,"by_cause":{"no_exchange":3,"no_route":1},"evicted":0},{"vhost":"empty","messages":0,"bytes":0,"by_cause":{},"evicted":0}]`) {
		t.Errorf("counted %s", got)
	}
	const path = "/api/x/lost-letters/%2F"
	var ids []uint64
	after := ""
	for range 3 {
		page := read[api.LostLetters](d, path+"?limit=2&cause=no_exchange"+after)
		for _, l := range page.Items {
			ids = append(ids, l.ID)
			if l.Cause != "no_exchange" || l.Queue != "q" || l.Reason != "rejected" || l.Exchange != "later" || l.Target != nil ||
				!slices.Equal(l.RoutingKeys, []string{"q"}) || !l.Persistent || l.At != "2023-11-14T22:13:20.000Z" || l.Size == 0 {
				t.Errorf("%+v", l)
			}
			if len(l.Deaths) != 1 || l.Deaths[0].Count != 1 || l.Deaths[0].Queue != "q" || l.Deaths[0].Time != 1_700_000_000 {
				t.Errorf("deaths %+v", l.Deaths)
			}
		}
		if page.Next == nil {
			break
		}
		after = fmt.Sprintf("&after=%d", *page.Next)
	}
	if !slices.Equal(ids, []uint64{1, 2, 3}) {
		t.Errorf("in portions: %v", ids)
	}
	if page := read[api.LostLetters](d, path); len(page.Items) != 4 || page.Next != nil || page.Items[3].RoutingKeys[0] != "nowhere" {
		t.Errorf("whole: %+v", page)
	}
	one := read[api.LostLetterContent](d, path+"/2")
	headers, _ := amqp.Table(one.Properties).Get("headers")
	if _, ok := headers.Table.Get("x-death"); !ok || one.ID != 2 || one.Payload != "q 1" || one.PayloadEncoding != "string" || one.PayloadBytes != 3 {
		t.Errorf("one: %+v", one)
	}
	if one := read[api.LostLetterContent](d, path+"/2?encoding=base64&truncate=1"); one.Payload != "cQ==" || one.PayloadBytes != 3 {
		t.Errorf("the beginning, in base64: %+v", one)
	}
	for _, wrong := range []string{"/5", "/0", "/x", "/18446744073709551616"} {
		d.want(404, "GET", path+wrong, "")
	}
	d.want(404, "GET", "/api/x/lost-letters/none", "")
	d.want(405, "GET", path+"/republish", "")
	for query, reason := range map[string]string{
		"?limit=501": "from 1 to 500", "?limit=0": "from 1", "?after=-1": "a message id", "?cause=bad": "unknown cause 'bad'; known are no_exchange, ",
		"/1?encoding=x": "auto or base64", "/1?truncate=-1": "negative", "/1?truncate=x": "number of bytes",
	} {
		d.refused(400, "bad_request", reason, "GET", path+query, "")
	}
}

func TestLostLettersAndPermissions(t *testing.T) {
	// If this fails, a user reads, moves or deletes messages of a queue that it must not touch.
	t.Parallel()
	d := withLostLetters(t)
	d.want(201, "PUT", "/api/users/m", `{"password":"p","tags":"management"}`)
	d.want(201, "PUT", "/api/users/p", `{"password":"p","tags":"policymaker"}`)
	d.want(201, "PUT", "/api/users/w", `{"password":"p","tags":"monitoring"}`)
	const path = "/api/x/lost-letters/%2F"
	d.as("m:p").want(404, "GET", path, "")
	d.as("w:p").refused(401, "not_authorised", "access virtual host", "GET", path, "")
	for _, u := range []string{"m", "p"} {
		d.want(201, "PUT", "/api/permissions/%2F/"+u, `{"configure":"","write":"^amq\\.fanout$","read":"^r$"}`)
	}
	m, p := d.as("m:p"), d.as("p:p")
	if page := read[api.LostLetters](m, path); len(page.Items) != 1 || page.Items[0].Queue != "r" || page.Next != nil {
		t.Errorf("seen: %+v", page)
	}
	m.want(200, "GET", path+"/4", "")
	m.refused(401, "not_authorised", "Access refused: ", "GET", path+"/1", "")
	m.refused(401, "not_authorised", "Not policymaker user", "DELETE", path+"/4", "")
	m.refused(401, "not_authorised", "Not policymaker user", "DELETE", path, "")
	m.refused(401, "not_authorised", "Not policymaker user", "POST", path+"/republish", `{"all":true}`)
	p.refused(401, "not_authorised", "Access refused: ", "POST", path+"/republish",
		`{"all":true,"exchange":"amq.default","routing_key":"q"}`)
	d.want(201, "PUT", "/api/topic-permissions/%2F/p", `{"exchange":"amq.topic","write":"^a","read":""}`)
	d.want(204, "PUT", "/api/permissions/%2F/p", `{"configure":"","write":"^amq\\.(fanout|topic)$","read":"^r$"}`)
	p.refused(401, "not_authorised", "Access refused: ", "POST", path+"/republish",
		`{"ids":[1],"exchange":"amq.topic","routing_key":"b"}`)
	p.want(200, "POST", path+"/republish", `{"ids":[1],"exchange":"amq.topic","routing_key":"a"}`)
	p.want(200, "POST", path+"/republish", `{"ids":[1]}`)
	p.want(204, "DELETE", path+"/4", "")
}

func TestRepublish(t *testing.T) {
	// If this fails, lost letters cannot be brought back, are brought back twice, or are gone without having arrived.
	t.Parallel()
	d := withLostLetters(t)
	const path = "/api/x/lost-letters/%2F"
	send := func(body string) string {
		t.Helper()
		return d.want(200, "POST", path+"/republish", body).Body.String()
	}
	if got := send(`{"ids":[1,"4",9]}`); got != `{"outcomes":{"no_exchange":1,"no_route":1,"unknown":1},"letters":[`+
		`{"id":1,"outcome":"no_exchange"},{"id":4,"outcome":"no_route"},{"id":9,"outcome":"unknown"}]}` {
		t.Errorf("too early: %s", got)
	}
	d.want(201, "PUT", "/api/exchanges/%2F/later", `{"type":"fanout","durable":true}`)
	d.queueWith("grave", "")
	d.queueWith("full", `"x-max-length":0,"x-overflow":"reject-publish"`)
	d.want(201, "POST", "/api/bindings/%2F/e/later/q/grave", "")
	if got := send(`{"ids":[2,2]}`); got != `{"outcomes":{"redriven":1,"unknown":1},"letters":[{"id":2,"outcome":"redriven"},{"id":2,"outcome":"unknown"}]}` {
		t.Errorf("one: %s", got)
	}
	if got := send(`{"ids":[1],"exchange":"amq.default","routing_key":"full"}`); got != `{"outcomes":{"refused":1},"letters":[{"id":1,"outcome":"refused"}]}` {
		t.Errorf("to a full queue: %s", got)
	}
	if got := send(`{"all":true,"cause":"no_exchange"}`); got != `{"outcomes":{"redriven":2},"letters":[{"id":1,"outcome":"redriven"},{"id":3,"outcome":"redriven"}]}` {
		t.Errorf("all of a cause: %s", got)
	}
	if got := send(`{"all":true,"exchange":"amq.default","routing_key":"grave"}`); got != `{"outcomes":{"redriven":1},"letters":[{"id":4,"outcome":"redriven"}]}` {
		t.Errorf("elsewhere: %s", got)
	}
	if got := send(`{"all":true}`); got != `{"outcomes":{}}` {
		t.Errorf("nothing left: %s", got)
	}
	var seen []string
	for _, m := range d.take("grave", `{"count":9,"ackmode":"ack_requeue_true","encoding":"auto"}`) {
		seen = append(seen, m.Payload+" "+m.Exchange+" "+m.RoutingKey)
	}
	if got := strings.Join(seen, ", "); got != "q 1 later q, q 0 later q, q 2 later q, r 0  grave" {
		t.Errorf("arrived: %s", got)
	}
	for body, reason := range map[string]string{
		`{}`: "{key_missing,ids}", `{"ids":[1],"all":true}`: "not both", `{"ids":["x"]}`: "not an integer", `{"all":true,"cause":"x"}`: "unknown cause",
		`{"all":true,"routing_key":"x"}`: "{key_missing,exchange}", `{"all":true,"cuase":"cycle"}`: "cuase",
		`{"all":true,"exchange":"","routing_key":"` + strings.Repeat("k", 256) + `"}`: "255",
	} {
		d.refused(400, "bad_request", reason, "POST", path+"/republish", body)
	}
	d.refused(404, "not_found", "exchange_not_found", "POST", path+"/republish", `{"all":true,"exchange":"none","routing_key":""}`)
	d.want(404, "POST", "/api/x/lost-letters/none/republish", `{"all":true}`)
}

func TestRepublishManyAndDiscard(t *testing.T) {
	// If this fails, more lost letters than one command takes are not all handled, or lost letters that die
	// again are chased for ever.
	t.Parallel()
	d := open(t)
	const n = 2300
	d.queueWith("q", `"x-max-length":0,"x-dead-letter-exchange":"later"`)
	for range n {
		d.publish("amq.default", "q", "x")
	}
	const path = "/api/x/lost-letters/%2F"
	d.want(201, "PUT", "/api/exchanges/%2F/later", `{"type":"fanout","durable":true}`)
	d.want(201, "POST", "/api/bindings/%2F/e/later/q/q", "") // where they die again, and would come round: a cycle
	if got := d.want(200, "POST", path+"/republish", `{"all":true}`).Body.String(); got != fmt.Sprintf(`{"outcomes":{"redriven":%d}}`, n) {
		t.Errorf("republished: %s", got)
	}
	if got := read[[]api.LostTotals](d, "/api/x/lost-letters")[0].ByCause; !maps.Equal(got, api.Object[uint64]{"cycle": n}) {
		t.Errorf("back in the lost store: %v", got)
	}
	first := read[api.LostLetters](d, path+"?limit=1").Items[0]
	if first.ID != n+1 || first.Target == nil || *first.Target != "q" || first.Deaths[0].Count != 2 {
		t.Errorf("the first: %+v", first)
	}
	d.want(204, "DELETE", fmt.Sprintf("%s/%d", path, first.ID), "")
	d.want(404, "DELETE", fmt.Sprintf("%s/%d", path, first.ID), "")
	d.want(404, "DELETE", path+"/x", "")
	if got := d.want(200, "DELETE", path+"?cause=no_route", "").Body.String(); got != `{"outcomes":{}}` {
		t.Errorf("none of that cause: %s", got)
	}
	d.refused(400, "bad_request", "unknown cause", "DELETE", path+"?cause=x", "")
	if got := d.want(200, "DELETE", path+"?cause=cycle", "").Body.String(); got != fmt.Sprintf(`{"outcomes":{"discarded":%d}}`, n-1) {
		t.Errorf("discarded: %s", got)
	}
	d.want(404, "DELETE", "/api/x/lost-letters/none", "")
}

func TestHeldAndWaiting(t *testing.T) {
	// If this fails, messages that are neither ready nor unacked are invisible, or a queue seems to lose them.
	t.Parallel()
	d := open(t)
	d.queueWith("q", `"x-dead-letter-exchange":"x","x-dead-letter-strategy":"at-least-once","x-delayed-retry-type":"all","x-delayed-retry-min":1000,"x-delivery-limit":5`)
	d.want(201, "PUT", "/api/exchanges/%2F/x", `{"type":"fanout","durable":true}`)
	d.queueWith("t", "")
	d.queueWith("full", `"x-max-length":0,"x-overflow":"reject-publish"`)
	d.want(201, "POST", "/api/bindings/%2F/e/x/q/t", "")
	d.want(201, "POST", "/api/bindings/%2F/e/x/q/full", "")
	d.reject("q", 3)
	d.publish("amq.default", "q", "waits")
	d.take("q", `{"count":1,"ackmode":"reject_requeue_true","encoding":"auto"}`)
	d.publish("amq.default", "q", "ready")

	q := d.queue("q")
	if q.Messages != 5 || q.MessagesReady != 1 || q.MessagesUnacknowledged != 0 || q.MessagesDLX != 3 || q.MessagesDelayed != 1 {
		t.Errorf("counts %+v, held %d, waiting %d", q.Totals, q.MessagesDLX, q.MessagesDelayed)
	}
	if q.MessageBytes != int64(3*len("q 0")+len("waits")+len("ready")) || q.MessageBytesDLX != int64(3*len("q 0")) {
		t.Errorf("bytes %d, held %d", q.MessageBytes, q.MessageBytesDLX)
	}
	if q.DelayedRetry != "all (min: 1000ms, max: 1000ms)" || q.DeliveryLimit != 5 || d.queue("t").DeliveryLimit != -1 ||
		q.NextDelayedAt == nil || *q.NextDelayedAt != 1_700_000_001_000 || *q.LastDelayedAt != *q.NextDelayedAt {
		t.Errorf("retry %q, limit %d, next %v", q.DelayedRetry, q.DeliveryLimit, q.NextDelayedAt)
	}
	if text := d.want(200, "GET", "/api/queues/%2F/t", "").Body.String(); !strings.Contains(text, `"delivery_limit":"unlimited"`) {
		t.Errorf("no limit: %s", text)
	}
	if o := read[api.Overview](d, "/api/overview"); o.QueueTotals.Messages != 8 || o.QueueTotals.MessagesReady != 4 {
		t.Errorf("overview %+v", o.QueueTotals)
	}

	const path = "/api/x/held/%2F/q"
	page := read[api.HeldDeadLetters](d, path+"?limit=2")
	if len(page.Items) != 2 || page.Next == nil {
		t.Fatalf("held %+v", page)
	}
	l := page.Items[0]
	if l.Cause != "refused" || l.Reason != "rejected" || !slices.Equal(l.Took, []string{"t"}) || l.Since == nil ||
		*l.Since != "2023-11-14T22:13:20.000Z" || l.Exchange != "" || l.Deaths[0].Count != 1 {
		t.Errorf("held %+v", l)
	}
	rest := read[api.HeldDeadLetters](d, path+"?limit=2&after="+*page.Next)
	if len(rest.Items) != 1 || rest.Next != nil || rest.Items[0].ID == l.ID || rest.Items[0].ID == page.Items[1].ID {
		t.Errorf("the rest %+v", rest)
	}
	d.want(404, "GET", "/api/x/held/%2F/none", "")
	d.refused(400, "bad_request", "from 1 to 500", "GET", path+"?limit=0", "")
	d.want(201, "PUT", "/api/users/m", `{"password":"p","tags":"management"}`)
	d.want(201, "PUT", "/api/permissions/%2F/m", `{"configure":".*","write":".*","read":"^t$"}`)
	d.as("m:p").refused(401, "not_authorised", "Access refused: ", "GET", path, "")

	d.want(204, "DELETE", "/api/queues/%2F/q/contents", "")
	if q := d.queue("q"); q.Messages != 0 || q.NextDelayedAt != nil {
		t.Errorf("purged: %+v", q.Totals)
	}
}

func TestDeadLetterMetrics(t *testing.T) {
	// If this fails, dashboards and alerts on dead letters see nothing, or the wrong thing.
	t.Parallel()
	d := withLostLetters(t)
	d.queueWith("plain", `"x-max-length":1`)
	d.queueWith("limited", `"x-delivery-limit":0`)
	d.queueWith("quorum", `"x-queue-type":"quorum","x-dead-letter-exchange":"none","x-dead-letter-strategy":"at-least-once"`)
	d.queueWith("sure", `"x-dead-letter-exchange":"","x-dead-letter-routing-key":"plain","x-dead-letter-strategy":"at-least-once"`)
	d.queueWith("slow", `"x-delayed-retry-type":"all","x-delayed-retry-min":1000`)
	d.reject("sure", 2)
	d.reject("quorum", 2)
	d.publish("amq.default", "limited", "x")
	d.take("limited", `{"count":1,"ackmode":"reject_requeue_true","encoding":"auto"}`)
	d.publish("amq.default", "slow", "x")
	d.take("slow", `{"count":1,"ackmode":"reject_requeue_true","encoding":"auto"}`)
	d.want(204, "DELETE", "/api/x/lost-letters/%2F/1", "")
	text := d.want(200, "GET", "/metrics", "").Body.String()
	const dead, classic, quorum = "rabbitmq_global_messages_dead_lettered_", `{queue_type="rabbit_classic_queue",dead_letter_strategy=`, `{queue_type="rabbit_quorum_queue",dead_letter_strategy=`
	for _, line := range []string{
		dead + "rejected_total" + classic + `"disabled"} 3`, // its exchange is not there
		dead + "rejected_total" + classic + `"at_most_once"} 1`,
		dead + "rejected_total" + classic + `"at_least_once"} 2`,
		dead + "rejected_total" + quorum + `"at_least_once"} 2`,
		dead + "maxlen_total" + classic + `"disabled"} 1`,
		dead + "delivery_limit_total" + classic + `"disabled"} 1`,
		dead + "expired_total" + quorum + `"at_most_once"} 0`,
		dead + "confirmed_total" + classic + `"at_least_once"} 2`,
		dead + "confirmed_total" + quorum + `"at_least_once"} 0`,
		dead + `discarded_total{cause="no_dlx"} 5`,
		dead + `discarded_total{cause="no_route"} 1`,
		dead + `discarded_total{cause="cycle"} 0`,
		dead + `discarded_total{cause="target_full"} 0`,
		`bartleby_lost_letters{vhost="/",cause="no_exchange"} 2`,
		`bartleby_lost_letters{vhost="/",cause="delivery_limit"} 1`,
		`bartleby_letters_lost_total{vhost="/",cause="no_exchange"} 3`,
		`bartleby_letters_lost_total{vhost="/",cause="delivery_limit"} 1`,
		`bartleby_lost_letters_evicted_total{vhost="/"} 0`,
		`bartleby_held_messages{vhost="/",reason="no_exchange"} 2`,
		`bartleby_held_messages{vhost="/",reason="refused"} 0`,
		`bartleby_dead_letters_held_total{vhost="/"} 2`,
		`bartleby_retry_waiting_messages{vhost="/"} 1`,
		`bartleby_cycles_kept_total{vhost="/"} 0`,
		`bartleby_consumer_timeouts_total{vhost="/"} 0`,
		`bartleby_copies_ended_total{vhost="/",cause="redriven"} 0`,
		"rabbitmq_queue_messages 4",
	} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("metrics lack %s", line)
		}
	}
	d.want(204, "PUT", "/api/x/options/%2F", `{"lost-letters-max-bytes":1}`)
	d.want(204, "DELETE", "/api/queues/%2F/q", "")
	d.want(204, "DELETE", "/api/queues/%2F/quorum", "")
	text = d.want(200, "GET", "/metrics", "").Body.String()
	for _, line := range []string{`bartleby_lost_letters_evicted_total{vhost="/"} 4`, `bartleby_lost_letters_bytes{vhost="/"} 0`,
		dead + "rejected_total" + classic + `"disabled"} 3`, dead + "rejected_total" + quorum + `"at_least_once"} 2`} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("after the lost store has no room and queues are gone: metrics lack %s", line)
		}
	}
}
