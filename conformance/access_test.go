package conformance

import (
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

var accessCases = []Case{
	{
		Topic: policies, Section: 10, Name: "dlx-by-policy-is-not-checked",
		Rule: "Permissions on a dead-letter exchange set by policy are not checked: a user without write permission " +
			"on it can declare the queue, and messages are dead-lettered.",
		Run: func(t *T) {
			t.ownVhost()
			owner := t.channel()
			x := owner.exchange("x", "fanout")
			dlq := owner.bound("dlq", x, "")
			t.policy("p", "q$", 0, object{"dead-letter-exchange": x})
			ch, _ := t.as(grant{".*", "^$", ".*"})
			q := ch.queue("q")
			owner.put("", q, "m")
			t.must(ch.get(q).Reject(false))
			owner.take(dlq, 1)
		},
	},
	{
		Topic: policies, Section: 10, Name: "write-to-the-default-exchange-alone",
		Rule: "A user with write permission on amq.default only can publish to the default exchange and not to " +
			"amq.direct.",
		Run: func(t *T) {
			q := t.channel().queue("q")
			ch, user := t.as(grant{"^$", `^amq\.default$`, ".*"})
			ch.put("", q, "m")
			ch.publish("amq.direct", "k", "m")
			t.refusalLike(await(t, "channel.close", ch.closed), 403,
				"access to exchange 'amq.direct' in vhost '"+t.vhost+"' refused for user '"+user+"'")
		},
	},
	passively("queue", func(ch *channel, q, x string) error {
		_, err := ch.QueueDeclarePassive(q, false, false, false, false, nil)
		return err
	}),
	passively("exchange", func(ch *channel, q, x string) error {
		return ch.ExchangeDeclarePassive(x, "direct", false, false, false, false, nil)
	}),
	{
		Topic: policies, Section: 10, Name: "passive-with-any-permission",
		Rule: "Any one of the three permissions is enough for a passive declaration.",
		Run: func(t *T) {
			q := t.channel().queue("q")
			_, user := t.as(everything)
			for _, g := range []grant{{".*", "^$", "^$"}, {"^$", ".*", "^$"}, {"^$", "^$", ".*"}} {
				t.manage("PUT", object{"configure": g.configure, "write": g.write, "read": g.read}, "permissions", t.vhost, user)
				conn, err := t.dial(user, "secret", t.vhost)
				t.must(err)
				t.equal("depth", conn.channel().depth(q), 0)
			}
		},
	},
	{
		Topic: policies, Section: 10, Name: "empty-permission",
		Rule: "An empty expression matches only the empty name: it allows nothing.",
		Run: func(t *T) {
			q := t.channel().queue("q")
			ch, user := t.as(grant{"", "", ""})
			_, _, err := ch.Get(q, true)
			t.refusalLike(err, 403, "access to queue '"+q+"' in vhost '"+t.vhost+"' refused for user '"+user+"'")
		},
	},
	{
		Topic: policies, Section: 10, Name: "permission-invalid",
		Rule: "A permission that is not a regular expression is refused with 400.",
		Run: func(t *T) {
			_, user := t.as(everything)
			r := t.ask("PUT", object{"configure": "[", "write": ".*", "read": ".*"}, "permissions", t.vhost, user)
			t.equal("status", r.status, 400)
		},
	},
	{
		Topic: policies, Section: 10, Name: "permission-removed",
		Rule:   "A removed permission may remain effective for objects that a channel has used before.",
		Choice: operators, Differs: "it ends immediately (on purpose: removing a permission must take effect)",
		Run: func(t *T) {
			q := t.channel().queue("q")
			ch, user := t.as(everything)
			ch.empty(q)
			t.manage("PUT", object{"configure": ".*", "write": ".*", "read": "^$"}, "permissions", t.vhost, user)
			_, _, err := ch.Get(q, true)
			if t.differs() {
				t.refusalLike(err, 403, "access to queue '"+q+"'")
			} else {
				t.must(err)
			}
		},
	},
	{
		Topic: policies, Section: 10, Name: "consumer-without-its-permission",
		Rule: "A consumer whose user loses the read permission gets basic.cancel.", Alone: true,
		Run: func(t *T) {
			q := t.channel().queue("q")
			ch, user := t.as(everything)
			ch.consumeFor(q, "tag", nil)
			t.manage("PUT", object{"configure": ".*", "write": ".*", "read": "^$"}, "permissions", t.vhost, user)
			t.equal("cancelled", await(t, "basic.cancel", ch.cancels), "tag")
		},
	},
	{
		Topic: policies, Section: 11, Name: "topic-bcc",
		Rule:  "A topic permission must match BCC keys too.",
		Since: "4.0", Before: "only the routing key of the publish is checked",
		Run: func(t *T) {
			owner := t.channel()
			x := owner.exchange("x", "topic")
			owner.bound("q", x, "#")
			ch, user := t.as(everything)
			t.manage("PUT", object{"exchange": x, "write": `^a\.`, "read": ".*"}, "topic-permissions", t.vhost, user)
			ch.publish(x, "a.b", "m", headers(amqp.Table{"BCC": []any{"b.c"}}))
			if t.since() {
				ch.topicRefused("write", "b.c", x, user)
			} else {
				ch.settled()
			}
		},
	},
	{
		Topic: policies, Section: 11, Name: "topic-variables",
		Rule: "In a topic permission, {username} and {vhost} are replaced by the user and the virtual host.",
		Run: func(t *T) {
			owner := t.channel()
			x := owner.exchange("x", "topic")
			q := owner.bound("q", x, "#")
			ch, user := t.as(everything)
			t.manage("PUT", object{"exchange": x, "write": `^{username}\.x$`, "read": ".*"}, "topic-permissions", t.vhost, user)
			ch.publish(x, user+".x", "m")
			ch.get(q)
			ch.publish(x, "other.x", "m")
			ch.topicRefused("write", "other.x", x, user)
		},
	},
	{
		Topic: policies, Section: 11, Name: "topic-exchange-binding",
		Rule: "Binding an exchange to a topic exchange also requires the topic read permission.",
		Run: func(t *T) {
			owner := t.channel()
			x, y := owner.exchange("x", "topic"), owner.exchange("y", "fanout")
			ch, user := t.as(everything)
			t.manage("PUT", object{"exchange": x, "write": ".*", "read": `^a\.`}, "topic-permissions", t.vhost, user)
			t.must(ch.ExchangeBind(y, "a.#", x, false, nil))
			t.refusalLike(ch.ExchangeBind(y, "b.#", x, false, nil), 403, "access to topic 'b.#' in exchange '"+x+"'")
		},
	},
	{
		Topic: policies, Section: 11, Name: "topic-not-at-death",
		Rule: "Dead-lettering requires no topic permission.",
		Run: func(t *T) {
			owner := t.channel()
			x := owner.exchange("x", "topic")
			dlq, q := owner.bound("dlq", x, "#"), owner.queue("q", dlx(x))
			ch, user := t.as(everything)
			t.manage("PUT", object{"exchange": x, "write": "^$", "read": "^$"}, "topic-permissions", t.vhost, user)
			ch.publish("", q, "m")
			t.must(ch.get(q).Reject(false))
			owner.take(dlq, 1)
		},
	},
	{
		Topic: policies, Section: 12, Name: "alternate-exchange-mandatory",
		Rule: "A mandatory message that only the alternate exchange routes is not returned, and keeps its exchange's " +
			"name.",
		Run: func(t *T) {
			ch := t.channel()
			y := ch.exchange("y", "fanout")
			x := ch.exchange("x", "direct", amqp.Table{"alternate-exchange": y})
			q := ch.bound("q", y, "")
			ch.publishMandatory(x, "nowhere", "m")
			t.equal("exchange", ch.get(q).Exchange, x)
			silent(t, "basic.return", ch.returns)
		},
	},
	{
		Topic: policies, Section: 12, Name: "alternate-exchange-not-after-a-refusal",
		Rule: "A message that a full queue refuses does not go to the alternate exchange.",
		Run: func(t *T) {
			ch := t.channel()
			y := ch.exchange("y", "fanout")
			x := ch.exchange("x", "direct", amqp.Table{"alternate-exchange": y})
			full, rest := ch.bound("full", x, "k", atMost(1, "reject-publish")), ch.bound("rest", y, "")
			ch.put("", full, "first")
			ch.publish(x, "k", "m")
			ch.confirmed(false)
			t.pass(50 * time.Millisecond)
			ch.empty(rest)
		},
	},
}

// passively is a case of a passive declaration by a user who may do nothing.
func passively(what string, declare func(ch *channel, q, x string) error) Case {
	return Case{
		Topic: policies, Section: 10, Name: "passive-" + what + "-without-permission",
		Rule:  "A passive declaration requires one of the three permissions on the " + what + ": 403 otherwise.",
		Since: "4.3", Before: "it requires none", Newer: true,
		Run: func(t *T) {
			owner := t.channel()
			q, x := owner.queue("q"), owner.exchange("x", "direct")
			ch, user := t.as(grant{"^$", "^$", "^$"})
			err := declare(ch, q, x)
			if !t.since() {
				t.must(err)
				return
			}
			name := map[string]string{"queue": q, "exchange": x}[what]
			t.refusal(err, 403, "ACCESS_REFUSED - configure access to "+what+" '"+name+"' in vhost '"+t.vhost+"' refused for user '"+user+"'")
		},
	}
}
