package management

import (
	"encoding/json"
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/topology"
)

func TestExchangeTypesHaveTheirPlugins(t *testing.T) {
	// If this fails, tools that look for a plugin before they declare an exchange do not find it.
	t.Parallel()
	for _, x := range topology.Types() {
		if x.Description == "" || x.Plugin != "" && !slices.Contains(api.Plugins(), x.Plugin) {
			t.Errorf("%+v is not described, or its plugin is not listed", x)
		}
	}
}

func TestOverview(t *testing.T) {
	// If this fails, tools take the broker for dead: they all ask here first.
	t.Parallel()
	d := open(t)
	d.want(201, "PUT", "/api/queues/%2F/q", "")
	o := read[api.Overview](d, "/api/overview")
	if o.Node != "rabbit@test" || o.ClusterName != "rabbit@test" || o.ProductVersion != "1.2.3" || o.RabbitMQVersion != api.RabbitMQVersion ||
		len(o.ExchangeTypes) != 10 || len(o.Listeners) != 2 || len(o.Contexts) != 1 || o.ObjectTotals.Queues != 1 || o.ObjectTotals.Exchanges != 7 {
		t.Errorf("%+v", o)
	}
	named := d.with(func(o *Options) {
		o.ClusterTags, o.NodeTags, o.NoStatistics = map[string]string{"a": "b"}, map[string]string{"c": "d"}, true
	})
	if o := read[api.Overview](named, "/api/overview"); o.ClusterTags["a"] != "b" || o.NodeTags["c"] != "d" || !o.DisableStats {
		t.Errorf("what was configured: %+v", o)
	}
	for query, want := range map[string]bool{"": false, "?disable_stats=false": true, "?disable_stats=true": false} {
		if got := named.want(200, "GET", "/api/queues"+query, "").Body.String(); strings.Contains(got, `"messages"`) != want {
			t.Errorf("statistics of queues%s: %s", query, got)
		}
	}
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(d.want(200, "GET", "/api/overview", "").Body.Bytes(), &raw); err != nil {
		t.Fatal(err)
	}
	if string(raw["message_stats"]) != "{}" {
		t.Errorf("an idle overview's message_stats: %s", raw["message_stats"])
	}
	if got := d.want(200, "GET", "/api/version", "").Body.String(); got != `"1.2.3"` {
		t.Errorf("version %s", got)
	}
	if got := d.want(200, "GET", "/api/whoami", "").Body.String(); got != `{"name":"guest","tags":["administrator"],"is_internal_user":true}` {
		t.Errorf("whoami %s", got)
	}
	d.want(204, "PUT", "/api/cluster-name", `{"name":"ours"}`)
	if got := read[api.ClusterName](d, "/api/cluster-name"); got.Name != "ours" {
		t.Errorf("cluster name %v", got)
	}
	n := read[[]api.Node](d, "/api/nodes")
	if len(n) != 1 || n[0].OSPid == "" || !n[0].Running || n[0].FDTotal == 0 || n[0].FDTotal >= 1<<32 || n[0].ProcTotal >= 1<<32 || n[0].MemLimit == 0 {
		t.Errorf("nodes %+v", n)
	}
	if one := read[api.Node](d, "/api/nodes/rabbit@test"); one.Name != n[0].Name || one.Applications[0].Name != "rabbit" ||
		!slices.Equal(one.EnabledPlugins, api.Plugins()) || !slices.ContainsFunc(one.ExchangeTypes, func(x api.ExchangeType) bool { return x.Name == "x-recent-history" }) {
		t.Errorf("node %+v", one)
	}
	flags := read[[]api.FeatureFlag](d, "/api/feature-flags")
	if i := slices.IndexFunc(flags, func(f api.FeatureFlag) bool { return f.Name == "stream_queue" }); i < 0 || flags[i].State != "enabled" {
		t.Errorf("feature flags %+v", flags)
	}
	for _, path := range []string{"extensions"} {
		if got := d.want(200, "GET", "/api/"+path, "").Body.String(); got != "[]" {
			t.Errorf("%s: %s", path, got)
		}
	}
}

func TestHealthChecks(t *testing.T) {
	// If this fails, an orchestrator kills a healthy broker or keeps a sick one.
	t.Parallel()
	d := open(t)
	for path, want := range map[string]string{
		"health/checks/alarms":                      `{"status":"ok"}`,
		"health/checks/local-alarms":                `{"status":"ok"}`,
		"health/checks/virtual-hosts":               `{"status":"ok"}`,
		"health/checks/is-in-service":               `{"status":"ok"}`,
		"health/checks/port-listener/5672":          `{"status":"ok","port":5672}`,
		"health/checks/protocol-listener/amqp091":   `{"status":"ok","protocols":["amqp091"]}`,
		"health/checks/protocol-listener/amqp,ui":   `{"status":"ok","protocols":["amqp","ui"]}`,
		"health/checks/node-is-quorum-critical":     `{"status":"ok","reason":"single node cluster"}`,
		"health/checks/reached-target-cluster-size": `{"status":"ok","online":1,"target":1}`,
		"aliveness-test/%2F":                        `{"status":"ok"}`,
	} {
		if got := d.want(200, "GET", "/api/"+path, "").Body.String(); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	w := d.want(503, "GET", "/api/health/checks/port-listener/1", "")
	if got, want := w.Body.String(), `{"status":"failed","reason":"No active listener on port 1","missing":1,"ports":[5672,15672]}`; got != want {
		t.Errorf("port: %s", got)
	}
	w = d.want(503, "GET", "/api/health/checks/protocol-listener/mqtt", "")
	if got, want := w.Body.String(), `{"status":"failed","reason":"No active listener for protocol mqtt","missing":["mqtt"],"protocols":["amqp","http"]}`; got != want {
		t.Errorf("protocol: %s", got)
	}
	d.refused(400, "bad_request", "not a port", "GET", "/api/health/checks/port-listener/x", "")
	d.want(404, "GET", "/api/aliveness-test/none", "")
}

func TestVHostsAndUsers(t *testing.T) {
	// If this fails, a deployment tool cannot set up who may do what.
	t.Parallel()
	d := open(t)
	d.want(201, "PUT", "/api/vhosts/a%2Fb", `{"description":"ours","tags":"x, y","default_queue_type":"quorum"}`)
	d.refused(400, "bad_request", "tracing: not supported", "PUT", "/api/vhosts/a%2Fb", `{"tracing":"true"}`)
	d.want(204, "PUT", "/api/vhosts/a%2Fb", `{"tracing":false}`)
	if v := read[api.VHost](d, "/api/vhosts/a%2Fb"); v.Description != "" || len(v.Tags) != 0 || v.DefaultQueueType != "quorum" {
		t.Errorf("vhost described anew: %+v", v)
	}
	d.want(204, "PUT", "/api/vhosts/a%2Fb", `{"description":"ours","tags":"x, y"}`)
	d.want(204, "POST", "/api/definitions", `{"vhosts":[{"name":"a/b","tracing":true}]}`)
	d.want(201, "PUT", "/api/vhosts/old", `{"defaultqueuetype":"quorum"}`)
	if old := read[api.VHost](d, "/api/vhosts/old"); old.DefaultQueueType != "quorum" {
		t.Errorf("default queue type by its first name: %+v", old)
	}
	d.want(204, "DELETE", "/api/vhosts/old", "")
	v := read[api.VHost](d, "/api/vhosts/a%2Fb")
	if v.Name != "a/b" || v.Description != "ours" || !reflect.DeepEqual(v.Tags, api.Tags{"x", "y"}) || v.DefaultQueueType != "quorum" ||
		v.Tracing || v.ClusterState["rabbit@test"] != "running" || v.Metadata.Description != "ours" {
		t.Errorf("vhost %+v", v)
	}
	if p := read[[]api.Permission](d, "/api/vhosts/a%2Fb/permissions"); len(p) != 1 || p[0].User != "guest" || p[0].Read != ".*" {
		t.Errorf("who made the vhost may not use it: %v", p)
	}
	d.want(204, "POST", "/api/vhosts/a%2Fb/deletion/protection", "")
	d.refused(412, "precondition_failed", "protected", "DELETE", "/api/vhosts/a%2Fb", "")
	d.want(204, "DELETE", "/api/vhosts/a%2Fb/deletion/protection", "")

	d.want(201, "PUT", "/api/users/u", `{"password":"test12","tags":["management","custom"]}`)
	d.want(204, "PUT", "/api/users/u", `{"password_hash":"kI3GCqW5JLMJa4iX1lo7X4D6XbYqlLgxIs30+P6tENUV2POR","tags":"management,custom"}`)
	u := read[api.User](d, "/api/users/u")
	if !reflect.DeepEqual(u.Tags, api.Tags{"management", "custom"}) || u.HashingAlgorithm != "rabbit_password_hashing_sha256" ||
		u.PasswordHash != "kI3GCqW5JLMJa4iX1lo7X4D6XbYqlLgxIs30+P6tENUV2POR" {
		t.Errorf("user %+v", u)
	}
	if who := read[api.WhoAmI](d.as("u:test12"), "/api/whoami"); who.Name != "u" {
		t.Errorf("a hash from outside does not let in: %+v", who)
	}
	if without := read[[]api.User](d, "/api/users/without-permissions"); len(without) != 1 || without[0].Name != "u" {
		t.Errorf("without permissions: %v", without)
	}
	d.want(201, "PUT", "/api/permissions/a%2Fb/u", `{"configure":"c","write":"w","read":"r"}`)
	d.want(204, "PUT", "/api/permissions/a%2Fb/u", `{"configure":"c","write":"w","read":"r"}`)
	if p := read[api.Permission](d, "/api/permissions/a%2Fb/u"); p != (api.Permission{User: "u", VHost: "a/b", Configure: "c", Write: "w", Read: "r"}) {
		t.Errorf("permission %+v", p)
	}
	if p := read[[]api.Permission](d, "/api/users/u/permissions"); len(p) != 1 {
		t.Errorf("permissions of u: %v", p)
	}
	d.want(201, "PUT", "/api/topic-permissions/a%2Fb/u", `{"exchange":"amq.topic","write":"w","read":"r"}`)
	if p := read[[]api.TopicPermission](d, "/api/topic-permissions/a%2Fb/u"); len(p) != 1 || p[0].Exchange != "amq.topic" {
		t.Errorf("topic permission %+v", p)
	}
	d.want(204, "DELETE", "/api/topic-permissions/a%2Fb/u/amq.topic", "")
	d.want(404, "DELETE", "/api/topic-permissions/a%2Fb/u", "")
	d.want(204, "DELETE", "/api/permissions/a%2Fb/u", "")

	d.want(204, "PUT", "/api/vhost-limits/a%2Fb/max-queues", `{"value":7.0}`)
	d.want(204, "PUT", "/api/user-limits/u/max-channels", `{"value":3}`)
	if got := d.want(200, "GET", "/api/vhost-limits", "").Body.String(); got != `[{"vhost":"a/b","value":{"max-queues":7}}]` {
		t.Errorf("vhost limits %s", got)
	}
	if got := d.want(200, "GET", "/api/user-limits/u", "").Body.String(); got != `[{"user":"u","value":{"max-channels":3}}]` {
		t.Errorf("user limits %s", got)
	}
	d.want(204, "DELETE", "/api/vhost-limits/a%2Fb/max-queues", "")
	d.want(404, "PUT", "/api/vhost-limits/none/max-queues", `{"value":7}`)
	d.want(201, "PUT", "/api/users/p", `{"tags":"protected"}`)
	d.want(400, "DELETE", "/api/users/p", "")
	d.want(400, "POST", "/api/users/bulk-delete", `{"users":["u","p"]}`)
	d.refused(400, "bad_request", "no_such_user 'none'", "POST", "/api/users/bulk-delete", `{"users":["u","none"]}`)
	d.want(200, "GET", "/api/users/u", "")
	d.want(204, "POST", "/api/users/bulk-delete", `{"users":["u"]}`)
	d.want(404, "GET", "/api/users/u", "")
	d.want(204, "DELETE", "/api/vhosts/a%2Fb", "")
	d.want(404, "GET", "/api/vhosts/a%2Fb", "")

	d.want(201, "PUT", "/api/global-parameters/g", `{"value":{"a":[1,2]}}`)
	if got := d.want(200, "GET", "/api/global-parameters/g", "").Body.String(); got != `{"name":"g","value":{"a":[1,2]}}` {
		t.Errorf("global parameter %s", got)
	}
	d.want(204, "DELETE", "/api/global-parameters/g", "")
	if got := d.want(200, "GET", "/api/auth/hash_password/secret", "").Body.String(); len(got) < 50 {
		t.Errorf("hash %s", got)
	}
}

func TestPolicies(t *testing.T) {
	// If this fails, a dead-letter policy does not reach live queues.
	t.Parallel()
	d := open(t)
	d.want(201, "PUT", "/api/queues/%2F/work", `{"durable":true}`)
	const body = `{"pattern":"^w","definition":{"dead-letter-exchange":"my-dlx","max-length":50},"apply-to":"queues","priority":2}`
	d.want(201, "PUT", "/api/policies/%2F/DLX", body)
	d.want(204, "PUT", "/api/policies/%2F/DLX", body)
	d.want(201, "PUT", "/api/operator-policies/%2F/limit", `{"pattern":"","definition":{"max-length":10}}`)
	want := `{"vhost":"/","name":"DLX","pattern":"^w","apply-to":"queues","definition":{"dead-letter-exchange":"my-dlx","max-length":50},"priority":2}`
	if got := d.want(200, "GET", "/api/policies/%2F/DLX", "").Body.String(); got != want {
		t.Errorf("policy %s", got)
	}
	if got := d.want(200, "GET", "/api/policies", "").Body.String(); got != "["+want+"]" {
		t.Errorf("policies %s", got)
	}
	var q map[string]json.RawMessage
	if err := json.Unmarshal(d.want(200, "GET", "/api/queues/%2F/work", "").Body.Bytes(), &q); err != nil {
		t.Fatal(err)
	}
	if string(q["policy"]) != `"DLX"` || string(q["operator_policy"]) != `"limit"` || string(q["arguments"]) != "{}" ||
		string(q["effective_policy_definition"]) != `{"dead-letter-exchange":"my-dlx","max-length":10}` {
		t.Errorf("queue under policies: %s %s %s", q["policy"], q["operator_policy"], q["effective_policy_definition"])
	}
	if got := d.want(200, "GET", "/api/parameters/operator_policy", "").Body.String(); got !=
		`[{"vhost":"/","component":"operator_policy","name":"limit","value":{"pattern":"","apply-to":"all","definition":{"max-length":10},"priority":0}}]` {
		t.Errorf("parameters %s", got)
	}
	d.want(204, "DELETE", "/api/policies/%2F/DLX", "")
	d.want(204, "DELETE", "/api/operator-policies/%2F/limit", "")
	d.want(404, "GET", "/api/policies/%2F/DLX", "")
	if got := d.want(200, "GET", "/api/policies/%2F", "").Body.String(); got != "[]" {
		t.Errorf("policies %s", got)
	}
}

func TestQueues(t *testing.T) {
	// If this fails, tools that declare queues see drift or break on a field.
	t.Parallel()
	d := open(t)
	const body = `{"durable":"true","arguments":{"x-message-ttl":5000,"x-dead-letter-exchange":"","x-dead-letter-routing-key":"grave"}}`
	d.want(201, "PUT", "/api/queues/%2F/q", body)
	d.want(204, "PUT", "/api/queues/%2F/q", body)
	d.refused(400, "bad_request", "PRECONDITION_FAILED - inequivalent arg 'x-", "PUT", "/api/queues/%2F/q", `{"durable":true,"arguments":{"x-message-ttl":1}}`)
	var q map[string]any
	if err := json.Unmarshal(d.want(200, "GET", "/api/queues/%2f/q", "").Body.Bytes(), &q); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]any{
		"name": "q", "vhost": "/", "type": "classic", "durable": true, "auto_delete": false, "exclusive": false, "state": "running",
		"node": "rabbit@test", "messages": 0.0, "messages_ready": 0.0, "messages_unacknowledged": 0.0, "consumers": 0.0,
		"policy": nil, "operator_policy": nil, "exclusive_consumer_tag": nil, "effective_policy_definition": map[string]any{},
		"messages_details": map[string]any{"rate": 0.0},
		"arguments":        map[string]any{"x-message-ttl": 5000.0, "x-dead-letter-exchange": "", "x-dead-letter-routing-key": "grave"},
	} {
		if got, there := q[name]; !there || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	if got := d.want(200, "GET", "/api/queues/%2F/q/bindings", "").Body.String(); got !=
		`[{"source":"","vhost":"/","destination":"q","destination_type":"queue","routing_key":"q","arguments":{},"properties_key":"q"}]` {
		t.Errorf("bindings %s", got)
	}
	if all := read[[]api.Queue](d, "/api/queues/detailed"); len(all) != 1 {
		t.Errorf("detailed: %v", all)
	}
	d.want(200, "POST", "/api/exchanges/%2F/amq.default/publish", `{"properties":{},"routing_key":"q","payload":"x","payload_encoding":"string"}`)
	d.refused(400, "bad_request", "not empty", "DELETE", "/api/queues/%2F/q?if-empty=true", "")
	d.want(204, "DELETE", "/api/queues/%2F/q/contents", "")
	d.want(204, "DELETE", "/api/queues/%2F/q?if-empty=true&if-unused=true", "")
	d.want(404, "GET", "/api/queues/%2F/q", "")
	d.refused(404, "Object Not Found", "Not Found", "POST", "/api/queues/%2F/q/actions", `{"action":"sync"}`)
}

func TestExchangesAndBindings(t *testing.T) {
	// If this fails, Terraform loses the bindings it made, or a key cannot be addressed.
	t.Parallel()
	d := open(t)
	d.want(201, "PUT", "/api/exchanges/%2F/x", `{"type":"topic","durable":true,"internal":"false","arguments":{"alternate-exchange":"y"}}`)
	d.want(204, "PUT", "/api/exchanges/%2F/x", `{"type":"topic","durable":true,"arguments":{"alternate-exchange":"y"}}`)
	if got := d.want(200, "GET", "/api/exchanges/%2F/x", "").Body.String(); got != `{"name":"x","vhost":"/","type":"topic","durable":true,`+
		`"auto_delete":false,"internal":false,"arguments":{"alternate-exchange":"y"},"policy":null,"user_who_performed_action":"rmq-internal","incoming":[],"outgoing":[]}` {
		t.Errorf("exchange %s", got)
	}
	if x := read[api.Exchange](d, "/api/exchanges/%2F/amq.default"); x.Name != "" || x.Type != "direct" {
		t.Errorf("default exchange %+v", x)
	}
	d.want(201, "PUT", "/api/queues/%2F/q", "")
	for _, c := range []struct{ body, location string }{
		{`{}`, "q/~"},
		{``, "q/~"},
		{`{"routing_key":"plain.key"}`, "q/plain.key"},
		{`{"routing_key":"a #/ü%+~"}`, "q/a%2520%2523%252F%25C3%25BC%2525%252B%257E"},
	} {
		w := d.want(201, "POST", "/api/bindings/%2F/e/x/q/q", c.body)
		if got := w.Header().Get("Location"); got != c.location {
			t.Errorf("%s: Location %s, want %s", c.body, got, c.location)
		}
		_, last, _ := strings.Cut(w.Header().Get("Location"), "/")
		b := read[api.Binding](d, "/api/bindings/%2F/e/x/q/q/"+last)
		unescaped, err := url.PathUnescape(last)
		if err != nil || b.PropertiesKey != unescaped || !strings.Contains(c.body, b.RoutingKey) {
			t.Errorf("%s: found %+v", last, b)
		}
	}
	once := read[api.Binding](d, "/api/bindings/%2F/e/x/q/q/"+url.PathEscape("a #/ü%+~"))
	if once.RoutingKey != "a #/ü%+~" {
		t.Errorf("key escaped once: %+v", once)
	}
	w := d.want(201, "POST", "/api/bindings/%2F/e/x/e/amq.headers", `{"routing_key":"k","arguments":{"n":1}}`)
	to := strings.TrimPrefix(w.Header().Get("Location"), "amq.headers/")
	if !strings.HasPrefix(to, "k~") {
		t.Errorf("Location with arguments: %s", w.Header().Get("Location"))
	}
	for path, n := range map[string]int{
		"bindings":                                       5,
		"bindings/%2F":                                   5,
		"bindings/%2F/e/x/q/q":                           3,
		"bindings/%2F/e//q/q":                            1,
		"bindings/%2F/e/amq.default/q/q":                 1,
		"bindings/%2F/e/x/e/amq.headers":                 1,
		"exchanges/%2F/x/bindings/source":                4,
		"exchanges/%2F/x/bindings/destination":           0,
		"exchanges/%2F/amq.headers/bindings/destination": 1,
		"queues/%2F/q/bindings":                          4,
	} {
		if all := read[[]api.Binding](d, "/api/"+path); len(all) != n {
			t.Errorf("%s: %d bindings, want %d: %+v", path, len(all), n, all)
		}
	}
	d.want(204, "DELETE", "/api/bindings/%2F/e/x/e/amq.headers/"+to, "")
	d.want(404, "DELETE", "/api/bindings/%2F/e/x/e/amq.headers/"+to, "")
	d.want(204, "DELETE", "/api/bindings/%2F/e/x/q/q/~", "")
	d.refused(400, "bad_request", "in use", "DELETE", "/api/exchanges/%2F/x?if-unused=true", "")
	d.want(204, "DELETE", "/api/exchanges/%2F/x", "")
}

func TestNames(t *testing.T) {
	// If this fails, what has an odd name cannot be reached, or the wrong thing is.
	t.Parallel()
	d := open(t)
	for _, name := range []string{"a/b", "a%2Fb", "a+b", "a b", "#?&;=", "~", "ünï✓", ".", "..", "detail", "%", "a//b", "/"} {
		escaped := strings.ReplaceAll(url.PathEscape(name), ".", "%2E")
		d.want(201, "PUT", "/api/queues/%2F/"+escaped, "")
		d.want(204, "PUT", "/api/queues/%2F/"+escaped+"/", "")
		if q := read[api.Queue](d, "/api/queues/%2F/"+escaped); q.Name != name {
			t.Errorf("%s: %q", escaped, q.Name)
		}
		d.want(201, "PUT", "/api/vhosts/v"+escaped, "")
		if v := read[api.VHost](d, "/api/vhosts/v"+escaped); v.Name != "v"+name {
			t.Errorf("%s: %q", escaped, v.Name)
		}
	}
}

func TestLists(t *testing.T) {
	// If this fails, lists of many queues cannot be paged, sorted or narrowed, or KEDA scales by the wrong queue.
	t.Parallel()
	d := open(t)
	for i := range 12 {
		d.want(201, "PUT", fmt.Sprintf("/api/queues/%%2F/q%02d", i), "")
	}
	d.want(201, "PUT", "/api/vhosts/other", "")
	d.want(201, "PUT", "/api/queues/other/Q00", `{"auto_delete":true}`)
	p := read[api.Page[api.Queue]](d, "/api/queues?page=2&page_size=5&pagination=true")
	if p.TotalCount != 13 || p.FilteredCount != 13 || p.ItemCount != 5 || p.Page != 2 || p.PageSize != 5 || p.PageCount != 3 || p.Items[0].Name != "q05" {
		t.Errorf("page %+v", p)
	}
	p = read[api.Page[api.Queue]](d, "/api/queues?page=1&name=q00")
	if p.TotalCount != 13 || p.FilteredCount != 2 || p.PageCount != 1 || p.PageSize != 100 {
		t.Errorf("by name %+v", p)
	}
	p = read[api.Page[api.Queue]](d, "/api/queues/%2F?page=1&use_regex=true&name=%5Eq0%5B12%5D%24")
	if p.TotalCount != 12 || p.FilteredCount != 2 || p.Items[1].Name != "q02" {
		t.Errorf("by regex %+v", p)
	}
	p = read[api.Page[api.Queue]](d, "/api/queues?page=1&name=nothing")
	if p.FilteredCount != 0 || len(p.Items) != 0 {
		t.Errorf("nothing %+v", p)
	}
	if all := read[[]api.Queue](d, "/api/queues?sort=name&sort_reverse=true"); all[0].Name != "q11" || all[12].Name != "Q00" {
		t.Errorf("sorted: %s … %s", all[0].Name, all[12].Name)
	}
	if all := read[[]api.Queue](d, "/api/queues?sort=messages_details.rate"); len(all) != 13 {
		t.Errorf("sorted by a rate: %d", len(all))
	}
	if got := d.want(200, "GET", "/api/queues/other?columns=name,messages_details.rate,none", "").Body.String(); got != `[{"name":"Q00","messages_details":{"rate":0}}]` {
		t.Errorf("columns: %s", got)
	}
	if got := d.want(200, "GET", "/api/queues/other/Q00?columns=name", "").Body.String(); got != `{"name":"Q00"}` {
		t.Errorf("columns of one: %s", got)
	}
	if got := d.want(200, "GET", "/api/queues?page=1&page_size=1&columns=vhost", "").Body.String(); !strings.Contains(got, `"items":[{"vhost":"/"}]`) || !strings.Contains(got, `"page_count":13`) {
		t.Errorf("columns of a page: %s", got)
	}
	if w := d.send("GET", "/api/queues?columns=name", "", "X-Vhost", "other"); w.Body.String() != `[{"name":"Q00"}]` {
		t.Errorf("x-vhost: %s", w.Body)
	}
	if got := d.want(200, "GET", "/api/queues/other?disable_stats=true", "").Body.String(); strings.Contains(got, "messages") || !strings.Contains(got, `"arguments":{}`) {
		t.Errorf("disable_stats: %s", got)
	}
	if got := d.want(200, "GET", "/api/queues/other?disable_stats=true&enable_queue_totals=true", "").Body.String(); !strings.Contains(got, `"messages_ready":0`) {
		t.Errorf("enable_queue_totals: %s", got)
	}
}
