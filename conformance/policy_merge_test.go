package conformance

import (
	"encoding/json"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

var policyMergeCases = []Case{
	{
		Topic: policies, Section: 1, Name: "policy-pattern-anchored",
		Rule: "A policy's pattern may be anchored: then it matches only names with this prefix.",
		Run: func(t *T) {
			t.ownVhost()
			ch := t.channel()
			one, two := ch.queue("dl-a"), "x-"+t.name("dl-a")
			_, err := ch.QueueDeclare(two, false, false, true, false, nil)
			t.must(err)
			t.policy("p", "^"+run, 0, object{"max-length": 0})
			ch.put("", one, "m")
			ch.put("", two, "m")
			t.equal("depths", []int{ch.depth(one), ch.depth(two)}, []int{0, 1})
		},
	},
	{
		Topic: policies, Section: 1, Name: "policy-pattern-case",
		Rule: "A policy's pattern is case-sensitive, and the empty pattern matches every name.",
		Run: func(t *T) {
			t.ownVhost()
			ch := t.channel()
			q := ch.queue("q")
			t.policy("p", "Q$", 0, object{"max-length": 0})
			ch.put("", q, "m")
			t.equal("depth", ch.depth(q), 1)
			t.policy("p", "", 0, object{"max-length": 0})
			ch.awaitDepth(q, 0)
		},
	},
	{
		Topic: policies, Section: 1, Name: "policy-for-one-queue-type",
		Rule:  "A policy for quorum queues does not apply to classic ones.",
		Since: "3.13", Before: "a policy cannot apply to one queue type only",
		Run: func(t *T) {
			t.ownVhost()
			if !t.since() {
				r := t.ask("PUT", object{"pattern": ".*", "definition": object{"max-length": 0}, "apply-to": "quorum_queues"}, "policies", t.vhost, "p")
				t.refusedRequest(r, "apply-to 'quorum_queues' unrecognised")
				return
			}
			ch := t.channel()
			classic, quorum := ch.durable("classic"), ch.durable("quorum", quorum)
			t.applyPolicy("policies", "p", ".*", "quorum_queues", 0, object{"max-length": 0})
			ch.put("", classic, "m")
			ch.put("", quorum, "m")
			t.equal("classic", ch.depth(classic), 1)
			ch.awaitDepth(quorum, 0)
		},
	},
	{
		Topic: policies, Section: 2, Name: "no-ttl-of-the-lesser-policy",
		Rule: "A TTL in a policy of lower priority does not apply until the other policy is cleared.",
		Run: func(t *T) {
			t.ownVhost()
			ch := t.channel()
			q := ch.queue("q")
			t.policy("p1", "q$", 0, object{"message-ttl": 100})
			t.policy("p2", "q$", 1, object{"max-length": 5})
			for range 7 {
				ch.put("", q, "m")
			}
			t.pass(250 * time.Millisecond)
			t.equal("ready", ch.depth(q), 5)
			t.manage("DELETE", nil, "policies", t.vhost, "p2")
			_, err := ch.QueuePurge(q, false)
			t.must(err)
			ch.put("", q, "m")
			ch.awaitDepth(q, 0)
		},
	},
	{
		Topic: policies, Section: 5, Name: "operator-delivery-limit",
		Rule:  "With an unlimited delivery limit in the policy and 3 in the operator policy, 3 applies.",
		Since: "4.0", Before: "a policy cannot set a negative limit",
		Run: func(t *T) {
			t.ownVhost()
			unlimited := object{"pattern": ".q$", "definition": object{"delivery-limit": -1}}
			if !t.since() {
				t.refusedRequest(t.ask("PUT", unlimited, "policies", t.vhost, "p"), "-1 is not a valid delivery limit")
				return
			}
			t.manage("PUT", unlimited, "policies", t.vhost, "p")
			t.operatorPolicy("o", ".q$", 0, object{"delivery-limit": 3})
			ch := t.channel()
			dlq := ch.queue("dlq")
			q := ch.durable("q", quorum, to(dlq))
			ch.put("", q, "m")
			ch.rounds(q, 4, rejected)
			ch.take(dlq, 1)
		},
	},
	{
		Topic: policies, Section: 5, Name: "operator-overflow-against-policy",
		Rule:  "For overflow the operator policy overrides the policy.",
		Since: "4.0", Before: "an operator policy cannot set overflow",
		Run: func(t *T) {
			t.ownVhost()
			t.policy("p", ".*", 0, object{"max-length": 1, "overflow": "drop-head"})
			if !t.since() {
				r := t.ask("PUT", object{"pattern": ".*", "definition": object{"overflow": "reject-publish"}}, "operator-policies", t.vhost, "op")
				t.refusedRequest(r, "are not recognised policy settings")
				return
			}
			t.operatorPolicy("op", ".*", 0, object{"overflow": "reject-publish"})
			ch := t.channel()
			q := ch.queue("q")
			ch.put("", q, "m1")
			ch.publish("", q, "m2")
			ch.confirmed(false)
		},
	},
	{
		Topic: policies, Section: 5, Name: "operator-ttl",
		Rule: "The smaller message TTL of policy and operator policy applies.",
		Run: func(t *T) {
			t.ownVhost()
			ch := t.channel()
			one, two := ch.queue("one"), ch.queue("two")
			t.policy("p1", "one$", 0, object{"message-ttl": 100})
			t.operatorPolicy("o1", "one$", 0, object{"message-ttl": 60000})
			t.policy("p2", "two$", 0, object{"message-ttl": 60000})
			t.operatorPolicy("o2", "two$", 0, object{"message-ttl": 100})
			for _, q := range []string{one, two} {
				ch.put("", q, "m")
				ch.awaitDepth(q, 0)
			}
		},
	},
	{
		Topic: policies, Section: 5, Name: "operator-policy-best-alone",
		Rule: "Only the matching operator policy with the highest priority applies.",
		Run: func(t *T) {
			t.ownVhost()
			ch := t.channel()
			q := ch.queue("q")
			t.operatorPolicy("low", "q$", 0, object{"max-length": 1})
			t.operatorPolicy("high", "q$", 1, object{"max-length-bytes": 1000})
			for range 3 {
				ch.put("", q, "m")
			}
			t.equal("ready", ch.depth(q), 3)
		},
	},
	{
		Topic: policies, Section: 6, Name: "smaller-ttl-by-argument",
		Rule: "A message TTL set by argument applies if it is smaller than that of a policy.",
		Run: func(t *T) {
			t.ownVhost()
			t.policy("p", ".*", 0, object{"message-ttl": 60000})
			ch := t.channel()
			q := ch.queue("q", ms(100))
			ch.put("", q, "m")
			ch.awaitDepth(q, 0)
		},
	},
	{
		Topic: policies, Section: 6, Name: "operator-length-below-argument",
		Rule: "A max-length set by operator policy applies if it is smaller than the argument.",
		Run: func(t *T) {
			t.ownVhost()
			t.operatorPolicy("o", ".*", 0, object{"max-length": 2})
			ch := t.channel()
			q := ch.queue("q", atMost(100, ""))
			for range 4 {
				ch.put("", q, "m")
			}
			t.equal("ready", ch.depth(q), 2)
		},
	},
	{
		Topic: policies, Section: 6, Name: "smaller-expires",
		Rule: "The smaller queue expiry of argument and policy applies.",
		Run: func(t *T) {
			t.ownVhost()
			t.policy("p", ".*", 0, object{"expires": 200})
			q := t.channel().queue("q", amqp.Table{"x-expires": int32(600000)})
			t.pass(700 * time.Millisecond)
			t.gone(q)
		},
	},
	{
		Topic: policies, Section: 6, Name: "argument-alternate-exchange-beats-policy",
		Rule: "For an alternate exchange the argument overrides the policy.",
		Run: func(t *T) {
			t.ownVhost()
			ch := t.channel()
			a, b := ch.exchange("a", "fanout"), ch.exchange("b", "fanout")
			mine, other := ch.bound("mine", a, ""), ch.bound("other", b, "")
			x := ch.exchange("x", "direct", amqp.Table{"alternate-exchange": a})
			t.applyPolicy("policies", "p", "x$", "exchanges", 0, object{"alternate-exchange": b})
			ch.publish(x, "k", "m")
			ch.get(mine)
			ch.empty(other)
		},
	},
	{
		Topic: policies, Section: 9, Name: "policies-exported-and-imported",
		Rule: "The definitions of a virtual host contain its policies: imported into another virtual host they are " +
			"the same.",
		Run: func(t *T) {
			t.ownVhost()
			t.policy("one", "^a", 3, object{"max-length": 5, "dead-letter-exchange": "dlx"})
			t.applyPolicy("policies", "two", "b$", "exchanges", 0, object{"alternate-exchange": "ae"})
			list := func() (names []string) {
				var all []struct {
					Name, Pattern string
					Priority      int
					ApplyTo       string `json:"apply-to"`
					Definition    map[string]any
				}
				t.must(json.Unmarshal(t.ask("GET", nil, "policies", t.vhost).body, &all))
				for _, p := range all {
					text, err := json.Marshal(p)
					t.must(err)
					names = append(names, string(text))
				}
				return names
			}
			before := list()
			var exported object
			t.must(json.Unmarshal(t.ask("GET", nil, "definitions", t.vhost).body, &exported))
			t.manage("DELETE", nil, "policies", t.vhost, "one")
			t.manage("DELETE", nil, "policies", t.vhost, "two")
			t.manage("POST", exported, "definitions", t.vhost)
			t.equal("policies", list(), before)
			t.equal("how many", len(before), 2)
		},
	},
	{
		Topic: policies, Section: 9, Name: "policy-needs-a-tag",
		Rule: "A user with the tag monitoring may not set a policy: 401.",
		Run: func(t *T) {
			t.ownVhost()
			_, user := t.as(everything)
			t.manage("PUT", object{"password": "secret", "tags": "monitoring"}, "users", user)
			body := object{"pattern": "q", "definition": object{"max-length": 1}}
			t.equal("with monitoring", t.askAs(user, "secret", "PUT", body, "policies", t.vhost, "p").status, 401)
			t.manage("PUT", object{"password": "secret", "tags": "policymaker"}, "users", user)
			t.equal("with policymaker", t.askAs(user, "secret", "PUT", body, "policies", t.vhost, "p").status, 201)
			t.equal("an operator policy", t.askAs(user, "secret", "PUT", body, "operator-policies", t.vhost, "p").status, 401)
		},
	},
	{
		Topic: policies, Section: 9, Name: "policy-key-missing",
		Rule: "A policy without a pattern or a definition is refused with 400; the reason names the key.",
		Run: func(t *T) {
			t.ownVhost()
			for key, body := range map[string]object{
				"pattern": {"definition": object{"max-length": 1}}, "definition": {"pattern": "q"},
			} {
				t.refusedRequest(t.ask("PUT", body, "policies", t.vhost, "p"), "[{key_missing,"+key+"}]")
			}
		},
	},
}
