package conformance

import (
	"encoding/json"
	"fmt"
	"html"
	"strings"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

var policyCases = []Case{
	{
		Topic: policies, Section: 7, Name: "policy-dlx-on-a-live-queue",
		Rule: "A dead-letter exchange and key set by policy take effect immediately, also for messages already " +
			"queued or delivered, until the policy is cleared.",
		Run: func(t *T) {
			t.ownVhost()
			ch := t.channel()
			q, dlq := ch.queue("q"), ch.queue("dlq")
			for _, m := range []string{"queued", "delivered", "after"} {
				ch.publish("", q, m)
			}
			held := ch.fetch(q, 3)
			t.must(held[0].Nack(false, true))
			t.policy("DLX", "^"+q+"$", 0, object{"dead-letter-exchange": "", "dead-letter-routing-key": dlq})
			t.must(held[1].Reject(false))
			t.must(ch.get(q).Reject(false))
			t.equal("dead letters", ch.taken(dlq, 2), []string{"delivered", "queued"})
			t.manage("DELETE", nil, "policies", t.vhost, "DLX")
			t.must(held[2].Reject(false))
			ch.settled()
			ch.empty(dlq)
		},
	},
	{
		Topic: dead, Section: 13, Name: "policy-dlx-changed",
		Rule: "A message that was queued before a policy named another dead-letter exchange goes to the new one.",
		Run: func(t *T) {
			t.ownVhost()
			ch := t.channel()
			a, b := ch.exchange("a", "fanout"), ch.exchange("b", "fanout")
			old, now := ch.bound("old", a, ""), ch.bound("now", b, "")
			q := ch.queue("q")
			t.policy("p", "^"+q+"$", 0, object{"dead-letter-exchange": a})
			ch.publish("", q, "m")
			t.policy("p", "^"+q+"$", 0, object{"dead-letter-exchange": b})
			t.must(ch.get(q).Reject(false))
			t.equal("exchange", ch.take(now, 1)[0].Exchange, b)
			ch.empty(old)
		},
	},
	{
		Topic: policies, Section: 6, Name: "argument-dlx-beats-policy",
		Rule: "For the dead-letter exchange and the dead-letter key, separately, the argument overrides the policy.",
		Run: func(t *T) {
			t.ownVhost()
			ch := t.channel()
			a, p := ch.exchange("adlx", "direct"), ch.exchange("pdlx", "direct")
			dlq, wrong := ch.bound("dlq", a, "pk"), ch.bound("wrong", p, "pk")
			q := ch.queue("q", dlx(a))
			t.policy("p", "^"+q+"$", 0, object{"dead-letter-exchange": p, "dead-letter-routing-key": "pk"})
			ch.publish("", q, "m")
			t.must(ch.get(q).Reject(false))
			d := ch.take(dlq, 1)[0]
			t.equal("exchange and key", []string{d.Exchange, d.RoutingKey}, []string{a, "pk"})
			ch.empty(wrong)
		},
	},
	{
		Topic: dead, Section: 13, Name: "policy-key-without-dlx",
		Rule: "A dead-letter key by policy without any dead-letter exchange has no effect.",
		Run: func(t *T) {
			t.ownVhost()
			ch := t.channel()
			q, dlq := ch.queue("q"), ch.queue("dlq")
			t.policy("p", "^"+q+"$", 0, object{"dead-letter-routing-key": dlq})
			ch.publish("", q, "m")
			t.must(ch.get(q).Reject(false))
			t.equal("depths", []int{ch.depth(q), ch.depth(dlq)}, []int{0, 0})
		},
	},
	{
		Topic: dead, Section: 13, Name: "key-argument-needs-dlx-argument",
		Rule: "A dead-letter key as argument requires a dead-letter exchange as argument, even if a policy sets one.",
		Run: func(t *T) {
			t.ownVhost()
			t.policy("p", ".*", 0, object{"dead-letter-exchange": ""})
			q := t.name("q")
			_, err := t.channel().QueueDeclare(q, false, false, false, false, amqp.Table{"x-dead-letter-routing-key": "k"})
			t.refusal(err, 406, t.invalid("x-dead-letter-routing-key", q)+": routing_key_but_no_dlx_defined")
		},
	},
	{
		Topic: policies, Section: 2, Name: "highest-priority-alone",
		Rule: "Only the matching policy with the highest priority applies; when it is deleted, the next one does.",
		Run: func(t *T) {
			t.ownVhost()
			ch := t.channel()
			q := ch.queue("q")
			t.policy("low", "^"+q+"$", 0, object{"max-length": 1})
			t.policy("high", "^"+q+"$", 1, object{"max-length-bytes": 1000})
			for range 3 {
				ch.put("", q, "m")
			}
			t.equal("without the low one", ch.depth(q), 3)
			t.manage("DELETE", nil, "policies", t.vhost, "high")
			ch.awaitDepth(q, 1)
		},
	},
	{
		Topic: policies, Section: 1, Name: "pattern-is-searched",
		Rule: "A policy's pattern is not anchored: it may match any part of the name.",
		Run: func(t *T) {
			t.ownVhost()
			ch := t.channel()
			one, two := ch.queue("dl-a"), ch.queue("x-dl-a.end")
			t.policy("p", `\.dl-`, 0, object{"max-length": 0})
			ch.put("", one, "m")
			ch.put("", two, "m")
			t.equal("depths", []int{ch.depth(one), ch.depth(two)}, []int{0, 1})
			t.policy("p", `dl-`, 0, object{"max-length": 0})
			ch.awaitDepth(two, 0)
		},
	},
	{
		Topic: policies, Section: 1, Name: "policy-for-exchanges-only",
		Rule: "A policy for exchanges does not apply to queues.",
		Run: func(t *T) {
			t.ownVhost()
			ch := t.channel()
			t.applyPolicy("policies", "p", ".*", "exchanges", 0, object{"max-length": 0})
			q := ch.queue("q")
			ch.publish("", q, "m")
			ch.get(q)
		},
	},
	{
		Topic: policies, Section: 1, Name: "policy-before-the-queue",
		Rule: "A policy also applies to queues declared later, including queues with generated names.",
		Run: func(t *T) {
			t.ownVhost()
			ch := t.channel()
			t.policy("p", "^amq.gen", 0, object{"max-length": 1})
			q, err := ch.QueueDeclare("", false, false, true, false, nil)
			t.must(err)
			ch.publish("", q.Name, "m1")
			ch.publish("", q.Name, "m2")
			t.equal("kept", ch.drain(q.Name), []string{"m2"})
		},
	},
	{
		Topic: policies, Section: 7, Name: "max-length-lowered",
		Rule: "Lowering max-length by policy drops the excess from the head immediately, dead-lettered in order with " +
			"reason maxlen.",
		Run: func(t *T) {
			t.ownVhost()
			ch := t.channel()
			dlq := ch.queue("dlq")
			q := ch.queue("q", to(dlq))
			for i := range 5 {
				ch.publish("", q, fmt.Sprint(i))
			}
			ch.awaitDepth(q, 5)
			t.policy("p", "^"+q+"$", 0, object{"max-length": 2})
			all := ch.take(dlq, 3)
			t.equal("dropped", bodies(all), []string{"0", "1", "2"})
			t.equal("reason", t.deaths(all[2])[0].Reason, "maxlen")
			t.equal("kept", ch.depth(q), 2)
		},
	},
	{
		Topic: policies, Section: 6, Name: "smaller-max-length",
		Rule: "The smaller max-length of argument and policy applies.",
		Run: func(t *T) {
			t.ownVhost()
			ch := t.channel()
			small, large := ch.queue("small", atMost(2, "")), ch.queue("large", atMost(9, ""))
			t.policy("p", ".*", 0, object{"max-length": 4})
			for range 6 {
				ch.publish("", small, "m")
				ch.publish("", large, "m")
			}
			t.equal("kept", []int{len(ch.drain(small)), len(ch.drain(large))}, []int{2, 4})
		},
	},
	{
		Topic: policies, Section: 6, Name: "smaller-ttl",
		Rule: "The smaller message TTL of argument and policy applies.",
		Run: func(t *T) {
			t.ownVhost()
			t.policy("p", ".*", 0, object{"message-ttl": 100})
			ch := t.channel()
			q := ch.queue("q", ms(60000))
			ch.put("", q, "m")
			ch.awaitDepth(q, 0)
		},
	},
	{
		Topic: expiry, Section: 2, Name: "policy-ttl-is-not-retroactive",
		Rule: "A TTL set by policy applies to messages that arrive later, not to those already queued.",
		Run: func(t *T) {
			t.ownVhost()
			ch := t.channel()
			q := ch.queue("q")
			for range 3 {
				ch.publish("", q, "old")
			}
			ch.awaitDepth(q, 3)
			t.policy("p", "^"+q+"$", 0, object{"message-ttl": 20})
			t.pass(time.Second) // nothing tells when RabbitMQ has told the queue of the policy
			t.equal("after", ch.depth(q), 3)
			ch.publish("", q, "new")
			t.pass(100 * time.Millisecond)
			t.equal("left", bodies(ch.fetch(q, 3)), []string{"old", "old", "old"})
			ch.empty(q)
		},
	},
	{
		Topic: policies, Section: 7, Name: "policy-expires",
		Rule: "A policy with expires deletes existing idle queues.",
		Run: func(t *T) {
			t.ownVhost()
			q := t.channel().queue("q")
			t.policy("p", "^"+q+"$", 0, object{"expires": 200})
			t.pass(700 * time.Millisecond)
			t.gone(q)
		},
	},
	{
		Topic: policies, Section: 7, Name: "policy-overflow",
		Rule: "An overflow behaviour set by policy applies from the next publish.",
		Run: func(t *T) {
			t.ownVhost()
			ch := t.channel()
			q := ch.queue("q", atMost(1, ""))
			ch.confirm()
			ch.publish("", q, "m1")
			ch.confirmed(true)
			t.policy("p", "^"+q+"$", 0, object{"overflow": "reject-publish"})
			ch.publish("", q, "m2")
			ch.confirmed(false)
			t.equal("kept", string(ch.get(q).Body), "m1")
		},
	},
	{
		Topic: policies, Section: 6, Name: "argument-overflow-beats-policy",
		Rule: "For overflow the argument overrides the policy.",
		Run: func(t *T) {
			t.ownVhost()
			ch := t.channel()
			t.policy("p", ".*", 0, object{"overflow": "reject-publish"})
			q := ch.queue("q", atMost(1, "drop-head"))
			ch.confirm()
			for _, m := range []string{"m1", "m2"} {
				ch.publish("", q, m)
				ch.confirmed(true)
			}
			t.equal("kept", string(ch.get(q).Body), "m2")
		},
	},
	{
		Topic: policies, Section: 6, Name: "operator-overflow-against-argument",
		Rule:  "For overflow the argument also overrides the operator policy.",
		Since: "4.0", Before: "an operator policy cannot set overflow",
		Choice: operators, Differs: "the operator policy has precedence (on purpose: clients must not be able to remove limits of operators)",
		Run: func(t *T) {
			t.ownVhost()
			if !t.since() {
				r := t.ask("PUT", object{"pattern": ".*", "definition": object{"overflow": "reject-publish"}}, "operator-policies", t.vhost, "op")
				t.refusedRequest(r, "are not recognised policy settings")
				return
			}
			ch := t.channel()
			t.operatorPolicy("op", ".*", 0, object{"overflow": "reject-publish"})
			q := ch.queue("q", atMost(1, "drop-head"))
			ch.confirm()
			ch.publish("", q, "m1")
			ch.confirmed(true)
			ch.publish("", q, "m2")
			ch.confirmed(!t.differs())
		},
	},
	{
		Topic: expiry, Section: 6, Name: "length-and-overflow-in-one-policy",
		Rule:   "A policy with a length and reject-publish, set on a longer queue, applies the length first and drops the excess.",
		Choice: strictLimit, Differs: "nothing is dropped (on purpose: the overflow behaviour is applied first)",
		Run: func(t *T) {
			t.ownVhost()
			ch := t.channel()
			dlq := ch.queue("dlq")
			q := ch.queue("q", to(dlq))
			for i := range 5 {
				ch.publish("", q, fmt.Sprint(i))
			}
			ch.awaitDepth(q, 5)
			t.policy("p", "^"+q+"$", 0, object{"max-length": 1, "overflow": "reject-publish"})
			if t.differs() {
				t.equal("kept", ch.depth(q), 5)
			} else {
				ch.awaitDepth(q, 1)
			}
		},
	},
	{
		Topic: policies, Section: 5, Name: "operator-policy-minimum",
		Rule: "The smaller max-length of policy and operator policy applies.",
		Run: func(t *T) {
			t.ownVhost()
			ch := t.channel()
			one, two := ch.queue("one"), ch.queue("two")
			t.policy("p1", "^"+one+"$", 0, object{"max-length": 5})
			t.operatorPolicy("o1", "^"+one+"$", 0, object{"max-length": 2})
			t.policy("p2", "^"+two+"$", 0, object{"max-length": 2})
			t.operatorPolicy("o2", "^"+two+"$", 0, object{"max-length": 5})
			for range 6 {
				ch.publish("", one, "m")
				ch.publish("", two, "m")
			}
			t.equal("kept", []int{len(ch.drain(one)), len(ch.drain(two))}, []int{2, 2})
		},
	},
	{
		Topic: policies, Section: 5, Name: "operator-policy-beside-policy",
		Rule: "Keys of the policy and keys of the operator policy all apply.",
		Run: func(t *T) {
			t.ownVhost()
			ch := t.channel()
			q, dlq := ch.queue("q"), ch.queue("dlq")
			t.policy("p", "^"+q+"$", 0, object{"dead-letter-exchange": "", "dead-letter-routing-key": dlq})
			t.operatorPolicy("o", "^"+q+"$", 0, object{"max-length": 1})
			ch.publish("", q, "m1")
			ch.publish("", q, "m2")
			t.equal("dead letters", ch.taken(dlq, 1), []string{"m1"})
		},
	},
	{
		Topic: policies, Section: 3, Name: "policy-key-of-another-type",
		Rule:   "A policy with a key that a classic queue does not have, such as delivery-limit, is completely ignored for that queue.",
		Choice: restOfPolicy, Differs: "the other keys apply (on purpose: a protecting policy must not be ignored)",
		Run: func(t *T) {
			t.ownVhost()
			ch := t.channel()
			q, dlq := ch.queue("q"), ch.queue("dlq")
			t.policy("p", "^"+q+"$", 0, object{"dead-letter-exchange": "", "dead-letter-routing-key": dlq, "delivery-limit": 5})
			ch.publish("", q, "m")
			t.must(ch.get(q).Reject(false))
			if t.differs() {
				t.equal("dead letters", ch.taken(dlq, 1), []string{"m"})
			} else {
				t.equal("depths", []int{ch.depth(q), ch.depth(dlq)}, []int{0, 0})
			}
		},
	},
	{
		Topic: policies, Section: 12, Name: "policy-alternate-exchange",
		Rule: "An alternate exchange can be set by policy, and takes effect immediately.",
		Run: func(t *T) {
			t.ownVhost()
			ch := t.channel()
			x, ae := ch.exchange("x", "direct"), ch.exchange("ae", "fanout")
			q := ch.bound("q", ae, "")
			t.applyPolicy("policies", "p", "^"+x+"$", "exchanges", 0, object{"alternate-exchange": ae})
			ch.publish(x, "k", "m")
			t.equal("exchange", ch.get(q).Exchange, x)
		},
	},
	{
		Topic: policies, Section: 9, Name: "policy-status",
		Rule: "Setting a policy returns 201 if it is new and 204 if it replaces one; requesting a missing one " +
			"returns 404.",
		Run: func(t *T) {
			t.ownVhost()
			body := object{"pattern": "^q", "definition": object{"max-length": 1}, "priority": 0, "apply-to": "queues"}
			t.equal("new", t.ask("PUT", body, "policies", t.vhost, "p").status, 201)
			t.equal("replaced", t.ask("PUT", body, "policies", t.vhost, "p").status, 204)
			t.equal("deleted", t.ask("DELETE", nil, "policies", t.vhost, "p").status, 204)
			t.equal("missing", t.ask("DELETE", nil, "policies", t.vhost, "p").status, 404)
		},
	},
	{
		Topic: policies, Section: 9, Name: "queue-shows-its-policy",
		Rule: "The management API shows a queue's policy, operator policy and arguments.",
		Run: func(t *T) {
			t.ownVhost()
			q := t.channel().queue("q", ms(60000), amqp.Table{"x-queue-type": "classic"})
			t.policy("p", "^"+q+"$", 0, object{"max-length": 7})
			t.operatorPolicy("o", "^"+q+"$", 0, object{"expires": 60000})
			var got struct {
				Policy    string         `json:"policy"`
				Operator  string         `json:"operator_policy"`
				Arguments map[string]any `json:"arguments"`
				Effective map[string]any `json:"effective_policy_definition"`
			}
			// RabbitMQ shows what the queue last reported, every five seconds.
			t.eventually("policy and operator policy of the queue", func() bool {
				t.must(json.Unmarshal(t.ask("GET", nil, "queues", t.vhost, q).body, &got))
				return got.Policy == "p" && got.Operator == "o"
			})
			t.equal("arguments", got.Arguments, map[string]any{"x-message-ttl": 60000.0, "x-queue-type": "classic"})
			t.equal("effective", got.Effective, map[string]any{"max-length": 7.0, "expires": 60000.0})
		},
	},
	{
		Topic: policies, Section: 9, Name: "default-type-among-the-arguments",
		Rule: "A queue declared without a type shows the default type of its vhost among its arguments.", Since: "4.0", Before: "it shows only the arguments of the declaration",
		Choice: asSaid, Differs: "it shows only the arguments of the declaration (on purpose: tools compare the two)",
		Run: func(t *T) {
			t.ownVhost()
			q := t.channel().queue("q", ms(60000))
			var got struct {
				Arguments map[string]any `json:"arguments"`
			}
			t.must(json.Unmarshal(t.ask("GET", nil, "queues", t.vhost, q).body, &got))
			want := map[string]any{"x-message-ttl": 60000.0}
			if t.since() && !t.differs() {
				want["x-queue-type"] = "classic"
			}
			t.equal("arguments", got.Arguments, want)
		},
	},
}

var validationCases = []Case{
	invalidPolicy("message-ttl-text", "policies", object{"message-ttl": "1000"}, `<<"1000">> is not a valid message TTL`),
	invalidPolicy("message-ttl-negative", "policies", object{"message-ttl": -1}, "-1 is not a valid message TTL"),
	invalidPolicy("overflow-unknown", "policies", object{"overflow": "drop-tail"}, `<<"drop-tail">> is not a valid overflow value`),
	invalidPolicy("expires-zero", "policies", object{"expires": 0}, "0 is not a valid queue expiry"),
	invalidPolicy("max-length-negative", "policies", object{"max-length": -1}, "-1 is not a valid maximum length"),
	invalidPolicy("max-length-bytes-text", "policies", object{"max-length-bytes": "9"}, `<<"9">> is not a valid maximum length in bytes`),
	invalidPolicy("dlx-number", "policies", object{"dead-letter-exchange": 5}, "5 is not a valid dead letter exchange name"),
	invalidPolicy("dlrk-number", "policies", object{"dead-letter-routing-key": 5}, "5 is not a valid dead letter routing key"),
	invalidPolicy("alternate-exchange-number", "policies", object{"alternate-exchange": 5}, "5 is not a valid alternate exchange name"),
	invalidPolicy("unknown-key", "policies", object{"x-message-ttl": 5}, "are not recognised policy settings"),
	invalidPolicy("empty", "policies", object{}, "no policy provided"),
	invalidPolicy("operator-dlx", "operator-policies", object{"dead-letter-exchange": "x"}, "are not recognised policy settings"),
	{
		Topic: policies, Section: 1, Name: "policy-pattern-invalid",
		Rule: "A policy whose pattern is not a regular expression is refused with 400.",
		Run: func(t *T) {
			t.ownVhost()
			r := t.ask("PUT", object{"pattern": "[", "definition": object{"max-length": 1}}, "policies", t.vhost, "p")
			t.refusedRequest(r, "pattern should be regular expression but is invalid")
		},
	},
	{
		Topic: policies, Section: 4, Name: "policy-apply-to-invalid",
		Rule: "A policy with an unknown apply-to is refused with 400.",
		Run: func(t *T) {
			t.ownVhost()
			r := t.ask("PUT", object{"pattern": "q", "definition": object{"max-length": 1}, "apply-to": "things"}, "policies", t.vhost, "p")
			t.refusedRequest(r, "apply-to 'things' unrecognised")
		},
	},
	{
		Topic: policies, Section: 9, Name: "policy-without-pattern",
		Rule: "A policy without a pattern is refused with 400, which names the missing key.",
		Run: func(t *T) {
			t.ownVhost()
			t.refusedRequest(t.ask("PUT", object{"definition": object{"max-length": 1}}, "policies", t.vhost, "p"), "pattern")
		},
	},
}

// invalidPolicy is a case of a policy definition that is refused, and leaves nothing behind.
func invalidPolicy(name, kind string, definition object, reason string) Case {
	return Case{
		Topic: policies, Section: 4, Name: "policy-" + name,
		Rule: "An invalid policy is refused with 400, is not stored, and the reason says: " + reason + ".",
		Run: func(t *T) {
			t.ownVhost()
			t.refusedRequest(t.ask("PUT", object{"pattern": "q", "definition": definition}, kind, t.vhost, "p"), reason)
			t.equal("stored", t.ask("GET", nil, kind, t.vhost, "p").status, 404)
		},
	}
}

// refusedRequest fails the case unless the management API answered 400 with this part of a reason.
func (t *T) refusedRequest(r reply, part string) {
	t.Helper()
	var got struct{ Error, Reason string }
	t.must(json.Unmarshal(r.body, &got))
	// Some versions escape the text for a web page.
	got.Reason = html.UnescapeString(got.Reason)
	if r.status != 400 || got.Error != "bad_request" || !strings.Contains(got.Reason, part) {
		t.Fatalf("got %d %s, want 400 with %q", r.status, r.body, part)
	}
}
