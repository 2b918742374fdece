package conformance

import (
	"strings"

	amqp "github.com/rabbitmq/amqp091-go"
)

// everything is the permissions of a user who may do all.
var everything = grant{".*", ".*", ".*"}

var permissionCases = []Case{
	denied("declare-queue", "configure", grant{"^$", ".*", ".*"}, func(ch *channel, q, x string) (string, error) {
		name := ch.t.name("new")
		_, err := ch.QueueDeclare(name, false, false, true, false, nil)
		return "queue '" + name + "'", err
	}),
	denied("delete-queue", "configure", grant{"^$", ".*", ".*"}, func(ch *channel, q, x string) (string, error) {
		_, err := ch.QueueDelete(q, false, false, false)
		return "queue '" + q + "'", err
	}),
	denied("declare-exchange", "configure", grant{"^$", ".*", ".*"}, func(ch *channel, q, x string) (string, error) {
		name := ch.t.name("new")
		return "exchange '" + name + "'", ch.ExchangeDeclare(name, "direct", false, true, false, false, nil)
	}),
	denied("delete-exchange", "configure", grant{"^$", ".*", ".*"}, func(ch *channel, q, x string) (string, error) {
		return "exchange '" + x + "'", ch.ExchangeDelete(x, false, false)
	}),
	denied("bind-queue", "write", grant{".*", "^$", ".*"}, func(ch *channel, q, x string) (string, error) {
		return "queue '" + q + "'", ch.QueueBind(q, "k", x, false, nil)
	}),
	denied("bind-exchange", "read", grant{".*", ".*", "^$"}, func(ch *channel, q, x string) (string, error) {
		return "exchange '" + x + "'", ch.QueueBind(q, "k", x, false, nil)
	}),
	denied("unbind", "write", grant{".*", "^$", ".*"}, func(ch *channel, q, x string) (string, error) {
		return "queue '" + q + "'", ch.QueueUnbind(q, "k", x, nil)
	}),
	denied("unbind-missing-queue", "write", grant{".*", "^$", ".*"}, func(ch *channel, q, x string) (string, error) {
		none := ch.t.name("none")
		return "queue '" + none + "'", ch.QueueUnbind(none, "k", x, nil)
	}),
	denied("unbind-missing-exchange", "read", grant{".*", ".*", "^$"}, func(ch *channel, q, x string) (string, error) {
		none := ch.t.name("none")
		return "exchange '" + none + "'", ch.QueueUnbind(q, "k", none, nil)
	}),
	denied("unbind-exchanges-missing", "write", grant{".*", "^$", ".*"}, func(ch *channel, q, x string) (string, error) {
		none := ch.t.name("none")
		return "exchange '" + none + "'", ch.ExchangeUnbind(none, "k", x, false, nil)
	}),
	denied("bind-exchanges-destination", "write", grant{".*", "^$", ".*"}, func(ch *channel, q, x string) (string, error) {
		return "exchange '" + x + "'", ch.ExchangeBind(x, "k", "amq.fanout", false, nil)
	}),
	denied("bind-exchanges-source", "read", grant{".*", ".*", "^$"}, func(ch *channel, q, x string) (string, error) {
		return "exchange 'amq.fanout'", ch.ExchangeBind(x, "k", "amq.fanout", false, nil)
	}),
	denied("get", "read", grant{".*", ".*", "^$"}, func(ch *channel, q, x string) (string, error) {
		_, _, err := ch.Get(q, true)
		return "queue '" + q + "'", err
	}),
	denied("consume", "read", grant{".*", ".*", "^$"}, func(ch *channel, q, x string) (string, error) {
		_, err := ch.Consume(q, "", true, false, false, false, nil)
		return "queue '" + q + "'", err
	}),
	denied("purge", "read", grant{".*", ".*", "^$"}, func(ch *channel, q, x string) (string, error) {
		_, err := ch.QueuePurge(q, false)
		return "queue '" + q + "'", err
	}),
	denied("publish", "write", grant{".*", "^$", ".*"}, func(ch *channel, q, x string) (string, error) {
		ch.publish(x, "k", "m")
		return "exchange '" + x + "'", await(ch.t, "channel.close", ch.closed)
	}),
	denied("publish-default-exchange", "write", grant{".*", "^$", ".*"}, func(ch *channel, q, x string) (string, error) {
		ch.publish("", q, "m")
		return "exchange 'amq.default'", await(ch.t, "channel.close", ch.closed)
	}),
	denied("declare-with-dlx", "write", grant{".*", "^other$", ".*"}, func(ch *channel, q, x string) (string, error) {
		_, err := ch.QueueDeclare(ch.t.name("new"), false, false, true, false, dlx(x))
		return "exchange '" + x + "'", err
	}),
	denied("declare-with-default-dlx", "write", grant{".*", "^other$", ".*"}, func(ch *channel, q, x string) (string, error) {
		_, err := ch.QueueDeclare(ch.t.name("new"), false, false, true, false, dlx(""))
		return "exchange 'amq.default'", err
	}),
	denied("declare-with-dlx-unreadable", "read", grant{".*", ".*", "^$"}, func(ch *channel, q, x string) (string, error) {
		name := ch.t.name("new")
		_, err := ch.QueueDeclare(name, false, false, true, false, dlx(x))
		return "queue '" + name + "'", err
	}),
	denied("declare-with-alternate", "write", grant{".*", "^other$", ".*"}, func(ch *channel, q, x string) (string, error) {
		err := ch.ExchangeDeclare(ch.t.name("new"), "direct", false, true, false, false, amqp.Table{"alternate-exchange": x})
		return "exchange '" + x + "'", err
	}),
	{
		Topic: policies, Section: 10, Name: "dlx-not-checked-again",
		Rule: "Declaring an existing queue again does not check permissions on its dead-letter exchange.",
		Run: func(t *T) {
			q := t.channel().queue("q", dlx("somewhere"))
			ch, _ := t.as(grant{".*", "^$", "^$"})
			_, err := ch.QueueDeclare(q, false, false, false, false, dlx("somewhere"))
			t.must(err)
		},
	},
	{
		Topic: policies, Section: 10, Name: "no-permission-at-death",
		Rule: "When a message dies, no permission is checked: it reaches an exchange to which neither publisher nor " +
			"consumer may write.",
		Run: func(t *T) {
			owner := t.channel()
			x := owner.exchange("x", "fanout")
			dlq, q := owner.bound("dlq", x, ""), owner.queue("q", dlx(x))
			ch, _ := t.as(grant{"^$", `^amq\.default$`, ".*"})
			ch.publish("", q, "m")
			t.must(ch.get(q).Reject(false))
			t.equal("dead letters", owner.taken(dlq, 1), []string{"m"})
		},
	},
	{
		Topic: policies, Section: 10, Name: "permission-is-searched",
		Rule: "A permission's regular expression is not anchored: it may match any part of the name.",
		Run: func(t *T) {
			q := t.channel().queue("myq2")
			ch, _ := t.as(grant{"^$", "^$", "q2"})
			ch.empty(q)
		},
	},
	{
		Topic: policies, Section: 10, Name: "default-exchange-has-a-name",
		Rule: "In permissions the default exchange is named amq.default.",
		Run: func(t *T) {
			q := t.channel().queue("q")
			ch, _ := t.as(grant{"^$", `^amq\.default$`, ".*"})
			ch.publish("", q, "m")
			ch.get(q)
		},
	},
	{
		Topic: policies, Section: 10, Name: "settling-needs-no-permission",
		Rule: "Acks, rejects, prefetch and confirms require no permission.",
		Run: func(t *T) {
			owner := t.channel()
			q := owner.queue("q")
			owner.publish("", q, "m")
			owner.settled()
			ch, _ := t.as(grant{"^$", "^$", ".*"})
			t.must(ch.Qos(5, 0, false))
			ch.confirm()
			d := ch.get(q)
			t.must(d.Nack(false, true))
			t.must(ch.get(q).Ack(false))
			ch.settled()
		},
	},
	{
		Topic: policies, Section: 10, Name: "user-id-needs-the-login",
		Rule: "A user-id that differs from the login is refused, except for a user with the tag impersonator.",
		Run: func(t *T) {
			q := t.channel().queue("q")
			ch, user := t.as(everything)
			ch.publish("", q, "m", func(m *amqp.Publishing) { m.UserId = "other" })
			ch.refused(406, "PRECONDITION_FAILED - user_id property set to 'other' but authenticated user was '"+user+"'")
			t.manage("PUT", object{"password": "secret", "tags": "impersonator"}, "users", user)
			conn, err := t.dial(user, "secret", t.vhost)
			t.must(err)
			again := conn.channel()
			again.publish("", q, "m", func(m *amqp.Publishing) { m.UserId = "other" })
			t.equal("user-id", again.get(q).UserId, "other")
		},
	},
}

// denied is a case of an operation that a user lacks one permission for. do returns the object that
// the text names, and the broker's error.
func denied(name, permission string, g grant, do func(ch *channel, q, x string) (string, error)) Case {
	return Case{
		Topic: policies, Section: 10, Name: "denied-" + name,
		Rule:  "Without the " + permission + " permission, this operation is refused with 403, and the text names permission, object and user (" + name + ").",
		Since: "3.13", Before: "the text does not name the permission",
		Run: func(t *T) {
			owner := t.channel()
			q, x := owner.queue("q"), owner.exchange("x", "direct")
			ch, user := t.as(g)
			named, err := do(ch, q, x)
			t.refusal(err, 403, "ACCESS_REFUSED - "+t.permission(permission)+"access to "+named+" in vhost '"+t.vhost+"' refused for user '"+user+"'")
		},
	}
}

// permission is the word of a refusal that names the permission, which earlier series do not have.
func (t *T) permission(word string) string {
	if t.since() {
		return word + " "
	}
	return ""
}

var topicPermissionCases = []Case{
	{
		Topic: policies, Section: 11, Name: "topic-write",
		Rule:  "A topic permission must match every routing key of a publish, CC included.",
		Since: "4.0", Before: "only the routing key of the publish is checked, not CC",
		Run: func(t *T) {
			owner := t.channel()
			x := owner.exchange("x", "topic")
			q := owner.bound("q", x, "#")
			ch, user := t.as(everything)
			t.manage("PUT", object{"exchange": x, "write": `^a\.`, "read": ".*"}, "topic-permissions", t.vhost, user)
			ch.publish(x, "a.b", "m")
			ch.get(q)
			ch.publish(x, "a.b", "m", headers(amqp.Table{"CC": []any{"b.c"}}))
			if t.since() {
				ch.topicRefused("write", "b.c", x, user)
				return
			}
			ch.get(q)
			ch.publish(x, "b.c", "m")
			ch.topicRefused("write", "b.c", x, user)
		},
	},
	{
		Topic: policies, Section: 11, Name: "topic-read",
		Rule: "A topic permission for reading must match the binding key.",
		Run: func(t *T) {
			owner := t.channel()
			x, q := owner.exchange("x", "topic"), owner.queue("q")
			ch, user := t.as(everything)
			t.manage("PUT", object{"exchange": x, "write": ".*", "read": `^a\.`}, "topic-permissions", t.vhost, user)
			t.must(ch.QueueBind(q, "a.#", x, false, nil))
			t.refusalLike(ch.QueueBind(q, "b.#", x, false, nil), 403, "access to topic 'b.#' in exchange '"+x+"' in vhost '"+t.vhost+"' refused for user '"+user+"'")
		},
	},
	{
		Topic: policies, Section: 11, Name: "topic-without-record",
		Rule: "A topic exchange for which the user has no topic permission is not restricted.",
		Run: func(t *T) {
			owner := t.channel()
			x, y := owner.exchange("x", "topic"), owner.exchange("y", "topic")
			q := owner.bound("q", y, "#")
			ch, user := t.as(everything)
			t.manage("PUT", object{"exchange": x, "write": "^$", "read": "^$"}, "topic-permissions", t.vhost, user)
			ch.publish(y, "any.key", "m")
			ch.get(q)
		},
	},
}

// topicRefused waits for the refusal of a topic; what comes before 'access' depends on the series.
func (ch *channel) topicRefused(permission, key, exchange, user string) {
	ch.t.Helper()
	e := await(ch.t, "channel.close", ch.closed)
	e.Reason = strings.Replace(e.Reason, "ACCESS_REFUSED - "+permission+" access", "ACCESS_REFUSED - access", 1)
	ch.t.refusal(e, 403, "ACCESS_REFUSED - access to topic '"+key+"' in exchange '"+exchange+"' in vhost '"+ch.t.vhost+"' refused for user '"+user+"'")
}
