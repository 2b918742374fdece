package management

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/management/metrics"
	"github.com/bartleby-mq/bartleby/internal/management/stats"
	"github.com/bartleby-mq/bartleby/internal/management/web"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// scraped is a page of metrics as a scraper reads it.
type scraped struct {
	t      testing.TB
	values map[string]float64 // by name and labels as written
	kinds  map[string]string  // by family
	help   map[string]string
}

var seriesLine = regexp.MustCompile(`^([a-z_]+)(\{([a-z_]+="([^"\\]|\\.)*",?)+\})? (\S+)$`)

// scrapePage reads a page and fails if it is not well formed: each family once, with its series behind it and nobody
// else's.
func scrapePage(d *door, path string, headers ...string) *scraped {
	d.t.Helper()
	w := d.send("GET", path, "", headers...)
	if w.Code != http.StatusOK {
		d.t.Fatalf("GET %s: %d %s", path, w.Code, w.Body)
	}
	open := strings.HasPrefix(w.Header().Get("Content-Type"), "application/openmetrics-text")
	text := w.Body.String()
	if open {
		var ok bool
		if text, ok = strings.CutSuffix(text, "# EOF\n"); !ok {
			d.t.Errorf("GET %s: no # EOF in the end", path)
		}
	}
	p := &scraped{d.t, map[string]float64{}, map[string]string{}, map[string]string{}}
	family := ""
	for _, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		words := strings.SplitN(line, " ", 4)
		switch {
		case words[0] == "#" && words[1] == "HELP":
			if family = words[2]; p.help[family] != "" {
				d.t.Errorf("GET %s: %s is there twice", path, family)
			}
			p.help[family] = words[3]
			continue
		case words[0] == "#":
			p.kinds[words[2]] = words[3]
			continue
		}
		m := seriesLine.FindStringSubmatch(line)
		if m == nil {
			d.t.Fatalf("GET %s: %q is no series", path, line)
		}
		name := m[1]
		switch p.kinds[family] {
		case "histogram":
			name = strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(name, "_bucket"), "_sum"), "_count")
		case "counter":
			if !strings.HasSuffix(name, "_total") {
				d.t.Errorf("GET %s: counter %s", path, name)
			}
			if open {
				name = strings.TrimSuffix(name, "_total")
			}
		}
		if name != family {
			d.t.Errorf("GET %s: %s stands under %s", path, line, family)
		}
		value, err := strconv.ParseFloat(m[5], 64)
		if err != nil {
			d.t.Fatalf("GET %s: %s: %v", path, line, err)
		}
		if _, twice := p.values[m[1]+m[2]]; twice {
			d.t.Errorf("GET %s: %s is there twice", path, m[1]+m[2])
		}
		p.values[m[1]+m[2]] = value
	}
	return p
}

// want checks series.
func (p *scraped) want(series map[string]float64) {
	p.t.Helper()
	for name, want := range series {
		if got, ok := p.values[name]; !ok {
			p.t.Errorf("%s is missing", name)
		} else if got != want {
			p.t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
}

// names are those of the series.
func (p *scraped) names() map[string]bool {
	names := map[string]bool{}
	for series := range p.values {
		name, _, _ := strings.Cut(series, "{")
		names[name] = true
	}
	return names
}

// busy is a door on a broker that has seen some of everything: publishes, gets, deaths, delays.
func busy(t *testing.T) *door {
	d := open(t)
	d.want(201, "PUT", "/api/queues/%2F/q", `{"arguments":{"x-dead-letter-exchange":"dlx"}}`)
	d.want(201, "PUT", "/api/queues/%2F/qq", `{"durable":true,"arguments":{"x-queue-type":"quorum"}}`)
	d.want(201, "PUT", "/api/queues/%2F/dead", `{}`)
	d.want(201, "PUT", "/api/queues/%2F/short", `{"arguments":{"x-message-ttl":100}}`)
	d.want(201, "PUT", "/api/exchanges/%2F/dlx", `{"type":"fanout"}`)
	d.want(201, "POST", "/api/bindings/%2F/e/dlx/q/dead", `{}`)
	d.want(201, "PUT", "/api/exchanges/%2F/later", `{"type":"x-delayed-message","arguments":{"x-delayed-type":"fanout"}}`)
	do := func(commands ...vhost.Command) {
		t.Helper()
		if _, err := d.engine.Do(t.Context(), "/", authz.Broker(), commands...); err != nil {
			t.Fatal(err)
		}
	}
	publish := func(key, body string) vhost.Command {
		return vhost.Command{Kind: vhost.Publish, Key: []byte(key), Properties: amqp.AppendProperties(nil, &amqp.Properties{}), Body: []byte(body)}
	}
	get := func(queue string, noAck bool) vhost.Command {
		return vhost.Command{Kind: vhost.Get, Definition: &vhost.Definition{Name: queue, NoAck: noAck}}
	}
	confirms := vhost.Command{Kind: vhost.SelectConfirms, NoWait: true}
	long := strings.Repeat("x", 200)
	do(confirms, publish("q", long), publish("q", long), publish("q", long), publish("q", long), publish("q", long), publish("qq", "y"))
	do(publish("nobody", "z"), publish("short", "s"))
	do(get("q", false), vhost.Command{Kind: vhost.Ack, Tag: 1}, get("q", false), vhost.Command{Kind: vhost.Nack, Tag: 2},
		get("q", false), vhost.Command{Kind: vhost.Nack, Tag: 3, Requeue: true}, get("q", true), get("dead", false), get("dead", false))
	do(vhost.Command{Kind: vhost.Publish, Exchange: []byte("later"), Key: []byte("k"), Body: []byte("later"), Properties: amqp.AppendProperties(nil,
		&amqp.Properties{Has: amqp.FlagHeaders, Headers: amqp.Table{{Name: "x-delay", Value: amqp.Int64(60_000)}}})})
	d.advance(1000)
	d.roster.mu.Lock()
	d.roster.mu.conns = []stats.Connection{{Name: "c", User: "guest", VHost: "/", State: "running", Channels: 2, ConnectedAt: time.Unix(1, 0), Received: 100, Sent: 50, Reads: 7, Writes: 5, Pending: 3}}
	d.roster.mu.Unlock()
	return d
}

func TestAggregatedMetrics(t *testing.T) {
	// If this fails, dashboards for RabbitMQ show something else of the same traffic than with a RabbitMQ 3.10 and 4.
	t.Parallel()
	p := scrapePage(busy(t), "/metrics")
	const classic, quorum = `{protocol="amqp091",queue_type="rabbit_classic_queue"}`, `{protocol="amqp091",queue_type="rabbit_quorum_queue"}`
	p.want(map[string]float64{
		`rabbitmq_global_messages_received_total{protocol="amqp091"}`:           9,
		`rabbitmq_global_messages_received_total{protocol="amqp10"}`:            0,
		`rabbitmq_global_messages_received_confirm_total{protocol="amqp091"}`:   6,
		`rabbitmq_global_messages_confirmed_total{protocol="amqp091"}`:          6,
		`rabbitmq_global_messages_routed_total{protocol="amqp091"}`:             8,
		`rabbitmq_global_messages_unroutable_dropped_total{protocol="amqp091"}`: 1,
		`rabbitmq_global_publishers{protocol="amqp091"}`:                        0,
		`rabbitmq_global_consumers{protocol="amqp091"}`:                         0,
		`rabbitmq_global_messages_delivered_total` + classic:                    5,
		`rabbitmq_global_messages_delivered_total` + quorum:                     0,
		`rabbitmq_global_messages_delivered_get_manual_ack_total` + classic:     4,
		`rabbitmq_global_messages_delivered_get_auto_ack_total` + classic:       1,
		`rabbitmq_global_messages_redelivered_total` + classic:                  1,
		`rabbitmq_global_messages_acknowledged_total` + classic:                 1,
		`rabbitmq_global_messages_get_empty_total` + classic:                    1,
		`rabbitmq_message_size_bytes_bucket{protocol="amqp091",le="100.0"}`:     4,
		`rabbitmq_message_size_bytes_bucket{protocol="amqp091",le="1e+06"}`:     9,
		`rabbitmq_message_size_bytes_bucket{protocol="amqp091",le="+Inf"}`:      9,
		`rabbitmq_message_size_bytes_sum{protocol="amqp091"}`:                   1008,
		`rabbitmq_queues`:                                                                 4,
		`rabbitmq_queues_created_total`:                                                   4,
		`rabbitmq_queue_messages_ready`:                                                   4,
		`rabbitmq_connections`:                                                            1,
		`rabbitmq_channels`:                                                               2,
		`rabbitmq_connection_incoming_bytes_total`:                                        100,
		`rabbitmq_connection_incoming_packets_total`:                                      7,
		`rabbitmq_connection_pending_packets`:                                             3,
		`rabbitmq_io_seek_ops_total`:                                                      0,
		`rabbitmq_queue_index_write_ops_total`:                                            0,
		`rabbitmq_channel_messages_published_total`:                                       9,
		`rabbitmq_channel_messages_unroutable_dropped_total`:                              1,
		`rabbitmq_channel_get_ack_total`:                                                  4,
		`rabbitmq_auth_attempts_failed_total{protocol="http"}`:                            0,
		`bartleby_dead_letters_total{vhost="/",reason="rejected",outcome="routed"}`:       1,
		`bartleby_dead_letters_total{vhost="/",reason="expired",outcome="no_dlx"}`:        1,
		`bartleby_dead_letters_total{vhost="/",reason="expired",outcome="cycle_dropped"}`: 0,
		`bartleby_dead_letter_hops_count{vhost="/"}`:                                      1,
		`bartleby_dead_letter_route_seconds_count{strategy="at_most_once"}`:               1,
		`bartleby_dlq_queues{vhost="/"}`:                                                  1,
		`bartleby_dlq_messages{vhost="/"}`:                                                1,
		`bartleby_dlq_arrivals_total{vhost="/"}`:                                          1,
		`bartleby_dlq_oldest_message_age_seconds{vhost="/"}`:                              1,
		`bartleby_dlx_misconfigured{vhost="/",problem="no_consumer"}`:                     1,
		`bartleby_dlx_misconfigured{vhost="/",problem="loop"}`:                            0,
		`bartleby_delayed_messages{vhost="/"}`:                                            1,
	})
	if v := p.values["rabbitmq_auth_attempts_succeeded_total{protocol=\"http\"}"]; v < 7 {
		t.Errorf("%v logins over HTTP", v)
	}
	for name := range p.values {
		if strings.Contains(name, `queue="`) || strings.Contains(name, `exchange="`) {
			t.Errorf("an object among the totals: %s", name)
		}
	}
}

func TestPerObjectMetrics(t *testing.T) {
	// If this fails, what is shown of single queues, exchanges, channels or connections is missing or wrong.
	t.Parallel()
	d := busy(t)
	p := scrapePage(d, "/metrics/per-object")
	p.want(map[string]float64{
		`rabbitmq_queue_messages_ready{vhost="/",queue="q"}`:                                             2,
		`rabbitmq_queue_messages{vhost="/",queue="dead"}`:                                                1,
		`rabbitmq_queue_info{vhost="/",queue="qq",queue_type="rabbit_quorum_queue",membership="leader"}`: 1,
		`rabbitmq_queue_get_ack_total{vhost="/",queue="q"}`:                                              3,
		`rabbitmq_queue_exchange_messages_published_total{vhost="/",queue="q",exchange=""}`:              5,
		`rabbitmq_exchange_messages_published_total{vhost="/",exchange=""}`:                              8,
		`rabbitmq_exchange_messages_published_total{vhost="/",exchange="later"}`:                         1,
		`rabbitmq_exchange_messages_unroutable_dropped_total{vhost="/",exchange=""}`:                     1,
		`rabbitmq_connection_incoming_bytes_total{channel="c",connection="c",user="guest",vhost="/"}`:    100,
		`rabbitmq_connection_outgoing_packets_total{channel="c",connection="c",user="guest",vhost="/"}`:  5,
		`rabbitmq_cluster_vhost_status{vhost="/"}`:                                                       1,
		`rabbitmq_cluster_exchange_bindings{vhost="/",exchange="dlx",type="fanout"}`:                     1,
		`rabbitmq_cluster_exchange_name{vhost="/",exchange="later",type="x-delayed-message"}`:            1,
		`bartleby_queue_dead_letters_total{vhost="/",queue="short",reason="expired"}`:                    1,
		`bartleby_dlq_messages{vhost="/",queue="dead"}`:                                                  1,
		`bartleby_dlq_departures_total{vhost="/",queue="dead",how="consumed"}`:                           0,
		`bartleby_delayed_messages{vhost="/",exchange="later"}`:                                          1,
		`rabbitmq_connections`: 1,
		`rabbitmq_global_messages_received_total{protocol="amqp091"}`:     9,
		`bartleby_dlq_oldest_message_age_seconds{vhost="/",queue="dead"}`: 1,
	})
	if _, there := p.values[`bartleby_dlq_messages{vhost="/",queue="q"}`]; there {
		t.Error("a queue that no dead letters come to is shown as if they did")
	}
}

func TestDetailedMetrics(t *testing.T) {
	// If this fails, a query for some families of some virtual hosts or queues gets others, or another name than
	// RabbitMQ's.
	t.Parallel()
	d := busy(t)
	d.want(201, "PUT", "/api/vhosts/other", `{}`)
	d.want(201, "PUT", "/api/queues/other/q", `{}`)
	p := scrapePage(d, "/metrics/detailed?family=queue_coarse_metrics&family=queue_consumer_count&vhost=%2F&queue=%5Eq")
	var queues []string
	for name := range p.values {
		if strings.HasPrefix(name, "rabbitmq_detailed_queue_messages{") {
			queues = append(queues, name)
		}
	}
	slices.Sort(queues)
	if want := []string{`rabbitmq_detailed_queue_messages{vhost="/",queue="q"}`, `rabbitmq_detailed_queue_messages{vhost="/",queue="qq"}`}; !slices.Equal(queues, want) {
		t.Errorf("queues %v, want %v", queues, want)
	}
	got := slices.Sorted(func(yield func(string) bool) {
		for name := range p.names() {
			if !yield(name) {
				return
			}
		}
	})
	want := []string{"rabbitmq_build_info", "rabbitmq_detailed_queue_consumers", "rabbitmq_detailed_queue_info", "rabbitmq_detailed_queue_messages",
		"rabbitmq_detailed_queue_messages_ready", "rabbitmq_detailed_queue_messages_unacked", "rabbitmq_identity_info"}
	if !slices.Equal(got, want) {
		t.Errorf("names %v, want %v", got, want)
	}
	for _, path := range []string{"/metrics/detailed", "/metrics/detailed?family=nonsense"} {
		if n := scrapePage(d, path).names(); len(n) != 2 || !n["rabbitmq_identity_info"] {
			t.Errorf("GET %s: %v", path, n)
		}
	}
	for _, name := range metrics.FamilyNames() {
		scrapePage(d, "/metrics/detailed?family="+name)
	}
}

func TestMetricsIdentity(t *testing.T) {
	// If this fails, queries of dashboards join on no series, or on more than one.
	t.Parallel()
	d := busy(t)
	for path, endpoint := range map[string]string{
		"/metrics": "aggregated", "/metrics/per-object": "per-object", "/metrics/detailed": "detailed", "/metrics/memory-breakdown": "memory-breakdown",
	} {
		p, n := scrapePage(d, path), 0
		for name := range p.values {
			if strings.HasPrefix(name, "rabbitmq_identity_info{") {
				n++
				if !strings.Contains(name, `rabbitmq_node="rabbit@test"`) || !strings.Contains(name, `rabbitmq_endpoint="`+endpoint+`"`) {
					t.Errorf("GET %s: %s", path, name)
				}
			}
		}
		if n != 1 {
			t.Errorf("GET %s: %d identities", path, n)
		}
	}
	d.want(204, "PUT", "/api/global-parameters/internal_cluster_id", `{"value":"rabbitmq-cluster-id-x"}`)
	if w := d.want(200, "GET", "/metrics", ""); !strings.Contains(w.Body.String(), `rabbitmq_cluster_permanent_id="rabbitmq-cluster-id-x"`) {
		t.Error("the cluster's own ID is not shown")
	}
	if p := scrapePage(d, "/metrics/memory-breakdown"); p.values["rabbitmq_memory_total_bytes"] <= 0 {
		t.Error("no memory is used")
	}
}

func TestOpenMetrics(t *testing.T) {
	// If this fails, a scraper that prefers OpenMetrics, as Prometheus does, gets what it cannot read.
	t.Parallel()
	d := busy(t)
	const accept = "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1"
	for _, path := range []string{"/metrics", "/metrics/per-object", "/metrics/memory-breakdown"} {
		plain, open := scrapePage(d, path), scrapePage(d, path, "Accept", accept)
		if len(plain.values) != len(open.values) {
			t.Errorf("GET %s: %d series, %d as OpenMetrics", path, len(plain.values), len(open.values))
		}
	}
	for accept, open := range map[string]bool{"text/plain": false, "*/*": false, "": false, "application/openmetrics-text;q=0": false, accept: true} {
		kind := d.send("GET", "/metrics", "", "Accept", accept).Header().Get("Content-Type")
		if strings.HasPrefix(kind, "application/openmetrics-text; version=1.0.0") != open {
			t.Errorf("Accept %q: %s", accept, kind)
		}
	}
}

func TestMetricsRefusals(t *testing.T) {
	// If this fails, a scrape of what there is not is answered with something, or changes may be asked for.
	t.Parallel()
	d := open(t)
	d.want(404, "GET", "/metrics/nonsense", "")
	d.want(404, "GET", "/metricsandmore", "")
	d.want(405, "POST", "/metrics", "")
	d.want(405, "DELETE", "/metrics/per-object", "")
	d.want(200, "HEAD", "/metrics", "")
	d.refused(400, "bad_request", "not a regular expression", "GET", "/metrics/detailed?family=queue_metrics&queue=(", "")
	d.refused(400, "bad_request", "must not exceed", "GET", "/metrics/detailed?queue="+strings.Repeat("a", web.PatternBytesMax+1), "")
	if w := d.send("GET", "/metrics", "", "Accept-Encoding", "gzip"); w.Header().Get("Content-Encoding") != "gzip" || w.Body.Len() == 0 {
		t.Errorf("with gzip: %v", w.Header())
	}
	d.want(201, "PUT", "/api/users/plain", `{"password":"p","tags":"management"}`)
	locked := d.with(func(o *Options) { o.Metrics = metrics.Options{Path: "/m", LogIn: true, PerObject: true} })
	for user, status := range map[string]int{"": 401, "guest:wrong": 401, "plain:p": 401, "guest:guest": 200} {
		for where, w := range map[string]*httptest.ResponseRecorder{
			"own port": locked.as(user).sendTo(locked.server.Metrics(), "GET", "/m"), "beside the API": locked.as(user).send("GET", "/metrics", ""),
		} {
			if w.Code != status {
				t.Errorf("%s, %q: %d, want %d", where, user, w.Code, status)
			}
			if status == 200 && !strings.Contains(w.Body.String(), `rabbitmq_endpoint="per-object"`) {
				t.Errorf("%s: return_per_object_metrics is not heeded", where)
			}
		}
	}
}

func TestCountersNeverGoBack(t *testing.T) {
	// If this fails, a counter falls when a connection, queue or virtual host goes, and rates jump.
	t.Parallel()
	d := busy(t)
	d.want(201, "PUT", "/api/vhosts/other", `{}`)
	d.want(201, "PUT", "/api/queues/other/q", `{}`)
	d.want(200, "POST", "/api/exchanges/other/amq.default/publish", `{"properties":{},"routing_key":"q","payload":"x","payload_encoding":"string"}`)
	before := scrapePage(d, "/metrics")
	d.want(204, "DELETE", "/api/vhosts/other", "")
	d.want(204, "DELETE", "/api/queues/%2F/q", "")
	d.roster.mu.Lock()
	d.roster.mu.conns = nil
	d.roster.mu.Unlock()
	after := scrapePage(d, "/metrics")
	for name, was := range before.values {
		family, _, _ := strings.Cut(name, "{")
		if before.kinds[family] == "counter" && !strings.Contains(name, `vhost="other"`) && after.values[name] < was {
			t.Errorf("%s went from %v to %v", name, was, after.values[name])
		}
	}
	after.want(map[string]float64{
		"rabbitmq_connection_incoming_bytes_total": 100, "rabbitmq_connections": 0, "rabbitmq_queues_deleted_total": 1,
		`rabbitmq_global_messages_received_total{protocol="amqp091"}`: 10,
	})
}

func TestAnswerTimes(t *testing.T) {
	// If this fails, it cannot be seen which requests are slow, or whoever sends many different ones fills the memory.
	t.Parallel()
	d := open(t)
	d.want(200, "GET", "/api/queues/%2F", "")
	d.want(200, "GET", "/api/queues/%2F", "")
	for i := range 20 {
		d.want(404, "GET", fmt.Sprintf("/api/nowhere%d", i), "")
		d.send(fmt.Sprint("M", i), "/api/queues/%2F", "")
	}
	p := scrapePage(d, "/metrics")
	p.want(map[string]float64{
		"bartleby_http_memory_bytes": 0, "bartleby_http_memory_refused_total": 0,
		`bartleby_http_request_seconds_count{route="queues/*",method="GET",code="200"}`:            2,
		`bartleby_http_request_seconds_bucket{route="queues/*",method="GET",code="200",le="+Inf"}`: 2,
		`bartleby_http_request_seconds_count{route="other",method="GET",code="404"}`:               20,
		`bartleby_http_request_seconds_count{route="other",method="other",code="405"}`:             20,
	})
}

func TestLabelEscapes(t *testing.T) {
	// If this fails, the name of a queue breaks the page for all.
	t.Parallel()
	d := open(t)
	if _, err := d.engine.Do(t.Context(), "/", authz.Broker(), vhost.Command{Kind: vhost.DeclareQueue, Definition: &vhost.Definition{Name: "a\"b\\c\nd"}}); err != nil {
		t.Fatal(err)
	}
	scrapePage(d, "/metrics/per-object").want(map[string]float64{`rabbitmq_queue_messages{vhost="/",queue="a\"b\\c\nd"}`: 0})
}

func TestMisconfigured(t *testing.T) {
	// If this fails, a dead-letter exchange that is missing, leads nowhere or round is not told of before something
	// dies.
	t.Parallel()
	d := open(t)
	d.want(201, "PUT", "/api/exchanges/%2F/void", `{"type":"fanout"}`)
	for name, arguments := range map[string]string{
		"missing": `"x-dead-letter-exchange":"nowhere"`, "unbound": `"x-dead-letter-exchange":"void"`,
		"a": `"x-dead-letter-exchange":"","x-dead-letter-routing-key":"b","x-message-ttl":1000`,
		"b": `"x-dead-letter-exchange":"","x-dead-letter-routing-key":"a","x-max-length":10`,
		"c": `"x-dead-letter-exchange":"","x-dead-letter-routing-key":"d","x-message-ttl":1000`,
		"d": `"x-dead-letter-exchange":"","x-dead-letter-routing-key":"c"`, // from here a rejection is needed
	} {
		d.want(201, "PUT", "/api/queues/%2F/"+name, fmt.Sprintf(`{"arguments":{%s}}`, arguments))
	}
	p := scrapePage(d, "/metrics")
	for problem, want := range map[string]float64{"missing_dlx": 1, "no_binding": 1, "loop": 2, "no_consumer": 0} {
		p.want(map[string]float64{fmt.Sprintf(`bartleby_dlx_misconfigured{vhost="/",problem=%q}`, problem): want})
	}
	p.want(map[string]float64{
		`bartleby_dlq_queues{vhost="/"}`:                       0, // all are in cycles with a TTL
		`bartleby_lint_findings{vhost="/",severity="error"}`:   2, // missing, unbound
		`bartleby_lint_findings{vhost="/",severity="warning"}`: 2, // the loops
		`bartleby_lint_findings{vhost="/",severity="note"}`:    1, // a small limit
	})
	d.want(201, "PUT", "/api/exchanges/%2F/nowhere", `{"type":"fanout"}`)
	d.want(201, "POST", "/api/bindings/%2F/e/nowhere/q/d", `{}`)
	// On a busy machine the first count took long, and stands for a multiple of that time.
	const missing = `bartleby_dlx_misconfigured{vhost="/",problem="missing_dlx"}`
	p = scrapePage(d, "/metrics")
	for ends := time.Now().Add(20 * time.Second); p.values[missing] != 0 && time.Now().Before(ends); <-time.After(time.Millisecond) {
		p = scrapePage(d, "/metrics")
	}
	p.want(map[string]float64{
		missing: 0, `bartleby_lint_findings{vhost="/",severity="error"}`: 1,
	})
}

// sendTo sends a request to one of the server's other handlers.
func (d *door) sendTo(h http.Handler, method, path string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, nil)
	r.RemoteAddr = d.from
	if name, password, ok := strings.Cut(d.user, ":"); ok {
		r.SetBasicAuth(name, password)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}
