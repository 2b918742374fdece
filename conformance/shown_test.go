package conformance

import (
	"encoding/json"
	"regexp"

	amqp "github.com/rabbitmq/amqp091-go"
)

// shownCases are about what the management API shows.
var shownCases = []Case{
	{
		Topic: surface, Section: 2, Name: "void-is-shown-as-undefined",
		Rule: "The management API shows a void argument or header as the text \"undefined\", also inside lists and " +
			"tables.",
		Run: func(t *T) {
			void := amqp.Table{"x-void": nil, "x-list": []any{nil}, "x-table": amqp.Table{"v": nil}}
			const shown = `{"x-list":["undefined"],"x-table":{"v":"undefined"},"x-void":"undefined"}`
			ch := t.channel()
			q, x := ch.queue("q", void), t.name("x")
			t.must(ch.ExchangeDeclare(x, "direct", false, true, false, false, void))
			t.must(ch.QueueBind(q, "k", x, false, void))
			ch.put("", q, "m", func(p *amqp.Publishing) { p.Headers = void })
			ch.awaitDepth(q, 1)
			for _, of := range [][]string{{"queues", t.vhost, q}, {"exchanges", t.vhost, x}} {
				var object struct{ Arguments map[string]any }
				t.must(json.Unmarshal(t.ask("GET", nil, of...).body, &object))
				delete(object.Arguments, "x-queue-type") // RabbitMQ adds it since 4.0
				t.equal(of[0], t.sorted(object.Arguments), shown)
			}
			var bindings []struct{ Arguments map[string]any }
			t.must(json.Unmarshal(t.ask("GET", nil, "bindings", t.vhost, "e", x, "q", q).body, &bindings))
			t.equal("bindings", t.sorted(bindings[0].Arguments), shown)
			var messages []struct {
				Properties struct{ Headers map[string]any }
			}
			got := t.ask("POST", object{"count": 1, "ackmode": "ack_requeue_false", "encoding": "auto"}, "queues", t.vhost, q, "get")
			t.must(json.Unmarshal(got.body, &messages))
			t.equal("headers", t.sorted(messages[0].Properties.Headers), shown)
		},
	},
	{
		Topic: surface, Section: 2, Name: "cluster-has-an-id",
		Rule: "The global parameter internal_cluster_id identifies a cluster.",
		Run: func(t *T) {
			var all []struct {
				Name  string
				Value any
			}
			t.must(json.Unmarshal(t.ask("GET", nil, "global-parameters").body, &all))
			for _, p := range all {
				if p.Name == "internal_cluster_id" {
					id, _ := p.Value.(string)
					t.equal("form of "+id, regexp.MustCompile(`^rabbitmq-cluster-id-[-_A-Za-z0-9]{22}$`).MatchString(id), true)
					return
				}
			}
			t.Errorf("there is no internal_cluster_id: %v", all)
		},
	},
	{
		Topic: surface, Section: 2, Name: "deprecated-features-in-use", Since: "4.0", Before: "there is no list of deprecated features",
		Rule: "The management API reports transient queues that are not exclusive as a deprecated feature in use.",
		Run: func(t *T) {
			ch := t.channel()
			_, err := ch.QueueDeclare(t.name("q"), false, true, false, false, nil)
			t.must(err)
			used := t.ask("GET", nil, "deprecated-features", "used")
			if !t.since() {
				t.equal("status", used.status, 404)
				return
			}
			var all []struct{ Name string }
			t.must(json.Unmarshal(used.body, &all))
			names := map[string]bool{}
			for _, f := range all {
				names[f.Name] = true
			}
			t.equal("transient_nonexcl_queues is used", names["transient_nonexcl_queues"], true)
		},
	},
	{
		Topic: surface, Section: 9, Name: "arguments-of-very-many-values",
		Rule:   "The arguments of a queue may have as many values as fit into a frame.",
		Choice: sense, Differs: "more than 4,096 values are refused with 406 (each takes a hundred bytes of memory while the queue exists)",
		Run: func(t *T) {
			values := make([]any, 5000)
			ch, q := t.channel(), t.name("q")
			_, err := ch.QueueDeclare(q, false, true, false, false, amqp.Table{"x-list": values})
			if t.differs() {
				t.refusalLike(err, 406, "PRECONDITION_FAILED - the arguments have 5001 values: the maximum is 4096")
				r := t.ask("PUT", object{"arguments": object{"x-list": make([]int, 5000)}}, "queues", t.vhost, q)
				t.equal("status", r.status, 400)
				return
			}
			t.forget(q, "")
			t.must(err)
		},
	},
}

// sorted is a value as JSON, its keys in order.
func (t *T) sorted(value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	t.must(err)
	return string(text)
}
