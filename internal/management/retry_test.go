package management

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bartleby-mq/bartleby/internal/api"
)

func TestWaitingInQueues(t *testing.T) {
	// If this fails, nobody sees why a queue's messages do not come, until when, or gets them out before.
	t.Parallel()
	d := open(t)
	d.queueWith("q", `"x-delayed-retry-type":"all","x-delayed-retry-min":1000,"x-delayed-retry-max":60000`)
	const path = "/api/x/waiting/%2F/q"
	if page := read[api.WaitingPage](d, path); len(page.Items) != 0 || page.Next != nil {
		t.Errorf("nothing: %+v", page)
	}
	for i := range 3 {
		d.publish("amq.default", "q", fmt.Sprint(i))
		d.advance(1)
		d.take("q", `{"count":1,"ackmode":"reject_requeue_true","encoding":"auto"}`)
	}
	d.want(200, "POST", "/api/exchanges/%2F/amq.default/publish",
		`{"properties":{"headers":{"x-opt-delivery-time":1700000000500}},"routing_key":"q","payload":"timed","payload_encoding":"string"}`)
	page := read[api.WaitingPage](d, path+"?payload=true")
	if len(page.Items) != 4 || page.Next != nil {
		t.Fatalf("waiting: %+v", page)
	}
	timed, first := page.Items[0], page.Items[1]
	if timed.Why != "delivery-time" || timed.DueMS != 1_700_000_000_500 || timed.InMS != 497 || *timed.Returns != 0 || timed.Queue != "q" || *timed.Payload != "timed" {
		t.Errorf("timed: %+v", timed)
	}
	if first.Why != "retry" || *first.Returns != 1 || first.DueMS != 1_700_000_001_001 || first.RoutingKey != "q" || first.Exchange != "" {
		t.Errorf("returned: %+v", first)
	}
	ids := map[string]bool{}
	for _, m := range read[api.MessagePage](d, "/api/x/queues/%2F/q/messages").Items {
		ids[m.WaitingID] = true
	}
	if !ids[first.ID] || !ids[timed.ID] {
		t.Errorf("the messages have the waiting IDs %v", ids)
	}
	if half := read[api.WaitingPage](d, path+"?limit=2"); len(half.Items) != 2 || half.Next == nil ||
		len(read[api.WaitingPage](d, path+"?limit=2&after="+*half.Next).Items) != 2 {
		t.Errorf("in portions: %+v", half)
	}
	if c := d.change(path+"/retry", `{"ids":["`+first.ID+`","0-7"]}`); c.Count != 1 || c.Results[0].Outcome != "fired" || c.Results[1].Outcome != "unknown" {
		t.Errorf("one: %+v", c)
	}
	if got := d.arrived("q"); got != "0" {
		t.Errorf("ready: %q", got)
	}
	if c := d.change(path+"/retry", `{"filter":{"from":1700000001000}}`); c.Count != 2 || c.Outcomes["fired"] != 2 {
		t.Errorf("by instant: %+v", c)
	}
	if c := d.change(path+"/retry", `{"all":true}`); c.Count != 1 || d.queue("q").MessagesReady != 3 || d.queue("q").MessagesDelayed != 0 {
		t.Errorf("all: %+v", c)
	}
	if c := d.change(path+"/retry", `{"all":true}`); c.Count != 0 || len(c.Results) != 0 {
		t.Errorf("none left: %+v", c)
	}
	d.arrived("q")
	const n = 2300
	for range n {
		d.publish("amq.default", "q", "x")
	}
	d.take("q", `{"count":10000,"ackmode":"reject_requeue_true","encoding":"auto"}`)
	if c := d.change(path+"/retry", `{"all":true}`); c.Count != n || c.Outcomes["fired"] != n || len(c.Results) != 0 {
		t.Errorf("many: %d %v", c.Count, c.Outcomes)
	}
	if got := d.queue("q").MessagesReady; got != n {
		t.Errorf("ready: %d", got)
	}
}

func TestDeliveryTimesInQueuesAreChanged(t *testing.T) {
	// If this fails, a message that was published to a queue for later comes when nobody wants it any more, or expires
	// before it is delivered; or one that a consumer returned is deleted as if it had never been delivered.
	t.Parallel()
	d := open(t)
	d.queueWith("q", `"x-delayed-retry-type":"all","x-delayed-retry-min":1000`)
	const path = "/api/x/waiting/%2F/q"
	for _, name := range []string{"later", "gone", "sooner"} {
		d.want(200, "POST", "/api/exchanges/%2F/amq.default/publish",
			`{"properties":{"expiration":"500","message_id":"`+name+`","headers":{"x-opt-delivery-time":1700000000500}},
			"routing_key":"q","payload":"`+name+`","payload_encoding":"string"}`)
	}
	ids := map[string]string{}
	for _, m := range read[api.WaitingPage](d, path+"?payload=true").Items {
		ids[*m.Payload] = m.ID
	}
	change := func(how, body string, count int, outcomes ...string) {
		t.Helper()
		c := d.change(path+"/"+how, body)
		var got []string
		for _, r := range c.Results {
			got = append(got, r.Outcome)
		}
		if c.Count != count || !slices.Equal(got, outcomes) {
			t.Errorf("%s %s: %+v, want %d, %v", how, body, c, count, outcomes)
		}
	}
	named := func(name string) string { return `{"ids":["` + ids[name] + `"]}` }
	change("reschedule", `{"ids":["`+ids["later"]+`","9-9"],"in":5000}`, 1, "rescheduled", "unknown")
	change("reschedule", `{"filter":{"message_id":"sooner"},"in":"100ms"}`, 1, "rescheduled")
	change("cancel", named("gone"), 1, "cancelled")
	change("cancel", named("gone"), 0, "unknown")
	d.advance(100)
	if q := d.queue("q"); q.MessagesReady != 1 || q.MessagesDelayed != 1 {
		t.Errorf("after 100 ms %d are ready, %d wait", q.MessagesReady, q.MessagesDelayed)
	}
	d.take("q", `{"count":1,"ackmode":"reject_requeue_true","encoding":"auto"}`)
	change("cancel", named("sooner"), 0, "waits_for_retry")
	d.advance(4999) // the retry expires meanwhile
	page := read[api.WaitingPage](d, path)
	if q := d.queue("q"); q.MessagesReady != 1 || len(page.Items) != 0 || d.arrived("q") != "later" {
		t.Errorf("after 5 s %d are ready, %d wait", q.MessagesReady, len(page.Items))
	}
}

func TestRetryIsDescribed(t *testing.T) {
	// If this fails, a queue does not say how it spaces its retries.
	t.Parallel()
	d := open(t)
	const kind = `"x-delayed-retry-type":"failed",`
	for i, c := range [][2]string{
		{`"x-delayed-retry-min":1000`, "failed (min: 1000ms, max: 1000ms)"},
		{`"x-delayed-retry-min":1000,"x-delayed-retry-max":5000,"x-delayed-retry-backoff":"exponential"`, "failed (min: 1000ms, max: 5000ms, backoff: exponential)"},
		{`"x-delayed-retry-min":1000,"x-delayed-retry-backoff":"exponential"`, "failed (min: 1000ms, backoff: exponential)"},
		{`"x-delayed-retry-min":1000,"x-delayed-retry-backoff":"fixed"`, "failed (min: 1000ms, backoff: fixed)"},
		{`"x-delayed-retry-steps":"10m,1h","x-delayed-retry-jitter":5,"x-delayed-retry-attempts":3`, "failed (steps: 600000ms 3600000ms, jitter: 5%, attempts: 3)"},
		{`"x-delayed-retry-max":1000`, ""},
	} {
		name := fmt.Sprint("q", i)
		d.queueWith(name, kind+c[0])
		if got := d.queue(name).DelayedRetry; got != c[1] {
			t.Errorf("%s: %q, want %q", c[0], got, c[1])
		}
	}
}

func TestTimeMetrics(t *testing.T) {
	// If this fails, dashboards do not show that the broker is late, or how much waits.
	t.Parallel()
	d := later(t)
	d.queueWith("short", `"x-message-ttl":100,"x-expires":300`)
	d.publish("amq.default", "short", "x")
	for i := range 3 {
		d.delay("later", "k", fmt.Sprint(i), 50+i, "")
	}
	d.delay("later", "k", "left", 5000, "")
	d.delay("later", "k", "far", 31*86_400_000, "")
	d.advance(1000)
	text := d.want(200, "GET", "/metrics", "").Body.String()
	const name, expiry = "bartleby_delivery_delay_lateness_seconds", "bartleby_expiry_lateness_seconds"
	for _, line := range []string{
		"# TYPE " + name + " histogram",
		name + `_bucket{vhost="/",kind="exchange",le="0.0"} 3`,
		name + `_bucket{vhost="/",kind="exchange",le="0.001"} 3`,
		name + `_bucket{vhost="/",kind="exchange",le="+Inf"} 3`,
		name + `_count{vhost="/",kind="exchange"} 3`,
		name + `_sum{vhost="/",kind="exchange"} 0`,
		expiry + `_count{vhost="/",scope="message"} 1`,
		expiry + `_count{vhost="/",scope="queue"} 1`,
		name + `_count{vhost="/",kind="retry"} 0`,
		`bartleby_delayed_published_total{vhost="/"} 5`,
		`bartleby_delayed_released_total{vhost="/"} 3`,
		`bartleby_delayed_cancelled_total{vhost="/"} 0`,
		`bartleby_delayed_overdue_messages{vhost="/"} 0`,
		`bartleby_expired_messages_total{vhost="/",disposition="dropped"} 1`,
		`bartleby_overdue_seconds{vhost="/"} 0`,
		`bartleby_delayed_messages{vhost="/"} 2`,
		`bartleby_delayed_bytes{vhost="/"} 7`,
		`bartleby_delayed_orphans{vhost="/"} 0`,
		`bartleby_delayed_due_within{vhost="/",window="1m"} 1`,
		`bartleby_delayed_due_within{vhost="/",window="1h"} 0`,
		`bartleby_delayed_due_within{vhost="/",window="later"} 1`,
	} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("metrics lack %s", line)
		}
	}
}

func TestDueByTheWallClock(t *testing.T) {
	// If this fails, messages seem due at another time than they fire where the machine's clock is behind what it once
	// was.
	t.Parallel()
	clock := &wrongClock{}
	clock.wall.Store(time.Unix(1_700_003_600, 0).UnixNano())
	d := openWith(t, clock)
	d.want(201, "PUT", "/api/exchanges/%2F/later", `{"type":"x-delayed-message","durable":true,"arguments":{"x-delayed-type":"fanout"}}`)
	d.delay("later", "k", "0", 10_000, "")
	d.delay("later", "k", "1", 20_000, "")
	clock.wall.Add(-int64(time.Hour))
	d.want(201, "PUT", "/api/queues/%2F/q", "") // the virtual host looks at its clock
	page := read[api.WaitingPage](d, scheduled+"/later")
	if len(page.Items) != 2 || page.Items[0].InMS != 10_000 || page.Items[0].DueMS != 1_700_000_010_000 {
		t.Fatalf("listed: %+v", page)
	}
	if s := read[api.Schedules](d, scheduled); *s.NextDueMS != 1_700_000_010_000 {
		t.Errorf("next due: %+v", s)
	}
	for query, want := range map[string]int{"from=1700000010001": 1, "until=1700000010001": 1, "from=9223372036854775807": 0, "until=9223372036854775807": 2} {
		if got := read[api.WaitingPage](d, scheduled+"/later?"+query); len(got.Items) != want {
			t.Errorf("%s: %+v", query, got)
		}
	}
	d.want(200, "PATCH", scheduled+"/later/"+page.Items[1].ID, `{"in":5000}`)
	if at := read[api.Waiting](d, scheduled+"/later/"+page.Items[1].ID); at.InMS != 5000 || at.DueMS != 1_700_000_005_000 {
		t.Errorf("moved: %+v", at)
	}
	if text := d.want(200, "GET", "/metrics", "").Body.String(); !strings.Contains(text, `bartleby_overdue_seconds{vhost="/"} 0`+"\n") {
		t.Error("something is overdue that is not")
	}
}
