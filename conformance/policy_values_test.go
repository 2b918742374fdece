package conformance

import "strings"

var policyValueCases = []Case{
	invalidPolicy("delivery-limit-text", "policies", object{"delivery-limit": "5"}, `<<"5">> is not a valid delivery limit`),
	invalidPolicy("dead-letter-strategy-unknown", "policies", object{"dead-letter-strategy": "twice"}, `<<"twice">> is not a valid dead letter strategy`),
	invalidPolicy("max-length-text", "policies", object{"max-length": "9"}, `<<"9">> is not a valid maximum length`),
	invalidPolicy("expires-text", "policies", object{"expires": "9"}, `<<"9">> is not a valid queue expiry`),
	invalidPolicy("max-in-memory-length-negative", "policies", object{"max-in-memory-length": -1}, "-1 is not a valid maximum memory in bytes"),
	invalidPolicy("queue-mode-unknown", "policies", object{"queue-mode": "eager"}, `<<"eager">> is not a valid queue-mode value`),
	invalidPolicy("queue-version-unknown", "policies", object{"queue-version": 3}, "3 is not a valid queue-version value"),
	invalidPolicy("queue-leader-locator-unknown", "policies", object{"queue-leader-locator": "here"}, `<<"here">> is not a valid queue leader locator value`),
	invalidPolicy("max-age-unknown", "policies", object{"max-age": "1z"}, `<<"1z">> is not a valid max age`),
	invalidPolicy("operator-unknown-key", "operator-policies", object{"dead-letter-routing-key": "k"}, "are not recognised policy settings"),
	invalidPolicy("operator-max-length-negative", "operator-policies", object{"max-length": -1}, "-1 is not a valid maximum length"),
	newerPolicy("delayed-retry-type-unknown", object{"delayed-retry-type": "sometimes"},
		`<<"sometimes">> is not a valid delayed retry type. Must be one of: all, failed, returned, disabled`),
	newerPolicy("delayed-retry-min-zero", object{"delayed-retry-min": 0}, "0 is not a valid delayed retry minimum delay. Must be a positive integer"),
	newerPolicy("delayed-retry-max-zero", object{"delayed-retry-max": 0}, "0 is not a valid delayed retry maximum delay. Must be a positive integer"),
	newerPolicy("delayed-retry-without-min", object{"delayed-retry-type": "all"}, "delayed-retry-min is required when delayed-retry-type is all"),
	newerPolicy("delayed-retry-max-below-min", object{"delayed-retry-type": "all", "delayed-retry-min": 2000, "delayed-retry-max": 1000},
		"delayed-retry-max (1000) must not be smaller than delayed-retry-min (2000)"),
	newerPolicy("consumer-disconnected-timeout-text", object{"consumer-disconnected-timeout": "1"}, `<<"1">> is not a valid consumer disconnected timeout`),
	policySince("3.13", "target-group-size-zero", object{"target-group-size": 0}, "0 is not a valid qq target count value"),
	policySince("3.13", "consumer-timeout-negative", object{"consumer-timeout": -1}, "-1 is not a valid consumer timeout"),
	{
		Topic: policies, Section: 4, Name: "policy-dead-letter-queue",
		Rule:   "dead-letter-queue is no policy key: a policy with it is refused with 400, and not stored.",
		Choice: marks, Differs: "it marks queues as dead-letter queues; other values than booleans are refused " +
			"(on purpose: users mark the queues that clients publish failed messages to)",
		Run: func(t *T) {
			t.ownVhost()
			put := func(value any) reply {
				definition := object{"dead-letter-queue": value}
				return t.ask("PUT", object{"pattern": "q", "definition": definition}, "policies", t.vhost, "p")
			}
			if t.differs() {
				t.refusedRequest(put("yes"), `<<"yes">> is not a valid mark of a dead letter queue`)
				t.equal("status", put(true).status, 201)
				return
			}
			t.refusedRequest(put(true), "are not recognised policy settings")
			t.equal("stored", t.ask("GET", nil, "policies", t.vhost, "p").status, 404)
		},
	},
	{
		Topic: policies, Section: 4, Name: "policy-priority-text",
		Rule: "A policy whose priority is not a number is refused with 400.",
		Run: func(t *T) {
			t.ownVhost()
			r := t.ask("PUT", object{"pattern": "q", "definition": object{"max-length": 1}, "priority": "high"}, "policies", t.vhost, "p")
			t.refusedRequest(r, "priority should be a number, actually was")
		},
	},
	{
		Topic: policies, Section: 4, Name: "policy-definition-text",
		Rule: "A policy whose definition is not an object is not stored.",
		Run: func(t *T) {
			t.ownVhost()
			r := t.ask("PUT", object{"pattern": "q", "definition": "max-length"}, "policies", t.vhost, "p")
			if r.status < 400 { // up to 4.0 it is a 500 without a word
				t.Fatalf("got %d %s", r.status, r.body)
			}
			t.equal("stored", t.ask("GET", nil, "policies", t.vhost, "p").status, 404)
		},
	},
	{
		Topic: policies, Section: 1, Name: "policy-pattern-long",
		Rule:  "A policy whose pattern has more than 1024 octets is refused with 400.",
		Since: "4.3", Before: "it is accepted", Newer: true,
		Run: func(t *T) {
			t.ownVhost()
			r := t.ask("PUT", object{"pattern": strings.Repeat("q", 1025), "definition": object{"max-length": 1}}, "policies", t.vhost, "p")
			if t.since() {
				t.refusedRequest(r, "pattern must not exceed 1024 bytes")
			} else {
				t.equal("status", r.status, 201)
			}
		},
	},
	{
		Topic: policies, Section: 1, Name: "policy-pattern-with-lookaround",
		Rule:   "A policy's pattern may have lookarounds and back references.",
		Choice: sense, Differs: "it is refused with 400 as an invalid regular expression (on purpose: such patterns may take unlimited time)",
		Run: func(t *T) {
			t.ownVhost()
			for _, pattern := range []string{"^(?!amq)", `(a)\1`} {
				r := t.ask("PUT", object{"pattern": pattern, "definition": object{"max-length": 1}}, "policies", t.vhost, "p")
				if t.differs() {
					t.refusedRequest(r, "pattern should be regular expression but is invalid")
				} else if r.status >= 300 {
					t.Fatalf("got %d %s", r.status, r.body)
				}
			}
		},
	},
	{
		Topic: policies, Section: 3, Name: "inert-keys",
		Rule: "A policy with a key that exchanges do not have, such as max-length, applies to them with its other " +
			"keys.",
		Run: func(t *T) {
			t.ownVhost()
			ch := t.channel()
			x, ae := ch.exchange("x", "direct"), ch.exchange("ae", "fanout")
			q := ch.bound("q", ae, "")
			t.applyPolicy("policies", "p", "x$", "all", 0, object{"alternate-exchange": ae, "max-length": 5})
			ch.publish(x, "k", "m")
			ch.get(q)
		},
	},
}

// newerPolicy is policySince for the keys of RabbitMQ 4.3, which Bartleby has already.
func newerPolicy(name string, definition object, reason string) Case {
	c := policySince("4.3", name, definition, reason)
	c.Newer = true
	return c
}

// policySince is a case of a policy that is refused: for its value, or before its series for its key.
func policySince(series, name string, definition object, reason string) Case {
	return Case{
		Topic: policies, Section: 4, Name: "policy-" + name,
		Rule:  "An invalid policy is refused with 400, is not stored, and the reason says: " + reason + ".",
		Since: series, Before: "there is no such policy key",
		Run: func(t *T) {
			t.ownVhost()
			part := "are not recognised policy settings"
			if t.since() {
				part = reason
			}
			t.refusedRequest(t.ask("PUT", object{"pattern": "q", "definition": definition}, "policies", t.vhost, "p"), part)
			t.equal("stored", t.ask("GET", nil, "policies", t.vhost, "p").status, 404)
		},
	}
}
