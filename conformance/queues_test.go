package conformance

import (
	"regexp"
	"strings"

	amqp "github.com/rabbitmq/amqp091-go"
)

// dashed is a flag's name as part of a case's name.
func dashed(flag string) string { return strings.ReplaceAll(flag, "_", "-") }

// noQueue is the text for a queue that does not exist.
func (t *T) noQueue(q string) string {
	return "NOT_FOUND - no queue '" + q + "' in vhost '" + t.vhost + "'"
}

// locked is the text for an exclusive queue of another connection.
func (t *T) locked(q string) string {
	return "RESOURCE_LOCKED - cannot obtain exclusive access to locked queue '" + q + "' in vhost '" + t.vhost +
		"'. It could be originally declared on another connection or the exclusive property value does not match that of the original declaration."
}

var queueCases = []Case{
	{
		Topic: surface, Section: 9, Name: "server-named-queue",
		Rule: "For an empty queue name the broker generates amq.gen- and 22 characters that are allowed in a URL.",
		Run: func(t *T) {
			q, err := t.channel().QueueDeclare("", false, false, true, false, nil)
			t.must(err)
			if !regexp.MustCompile(`^amq\.gen-[A-Za-z0-9_-]{22}$`).MatchString(q.Name) {
				t.Fatalf("the name is %q", q.Name)
			}
		},
	},
	{
		Topic: surface, Section: 9, Name: "last-declared-queue",
		Rule: "An empty queue name means the queue declared last on the channel; in a binding, an empty key with it " +
			"means the name of that queue.",
		Run: func(t *T) {
			ch := t.channel()
			x := ch.exchange("x", "direct")
			ch.queue("first")
			q := ch.queue("q")
			t.must(ch.QueueBind("", "", x, false, nil))
			ch.publish(x, q, "m")
			d, ok, err := ch.Get("", true)
			t.must(err)
			t.equal("got", ok, true)
			t.equal("body", string(d.Body), "m")
			n, err := ch.QueueDelete("", false, false, false)
			t.must(err)
			t.equal("messages", n, 0)
		},
	},
	{
		Topic: surface, Section: 6, Name: "no-queue-declared-before",
		Rule: "An empty queue name on a channel that declared none is refused with 404.",
		Run: func(t *T) {
			_, _, err := t.channel().Get("", true)
			t.refusal(err, 404, "NOT_FOUND - no previously declared queue")
		},
	},
	{
		Topic: surface, Section: 16, Name: "passive-declare-of-no-name",
		Rule: "A passive declare of the empty name does not mean the queue declared last: 404.",
		Run: func(t *T) {
			ch := t.channel()
			ch.queue("q")
			_, err := ch.QueueDeclarePassive("", false, false, false, false, nil)
			t.refusal(err, 404, t.noQueue(""))
		},
	},
	missingQueue("passive-declare", func(ch *channel, q string) error {
		_, err := ch.QueueDeclarePassive(q, false, false, false, false, nil)
		return err
	}),
	missingQueue("get", func(ch *channel, q string) error { _, _, err := ch.Get(q, true); return err }),
	missingQueue("consume", func(ch *channel, q string) error {
		_, err := ch.Consume(q, "", true, false, false, false, nil)
		return err
	}),
	missingQueue("purge", func(ch *channel, q string) error { _, err := ch.QueuePurge(q, false); return err }),
	missingQueue("bind", func(ch *channel, q string) error { return ch.QueueBind(q, "k", "amq.direct", false, nil) }),
	{
		Topic: surface, Section: 6, Name: "bind-to-missing-exchange",
		Rule: "Binding a queue to a missing exchange is refused with 404.",
		Run: func(t *T) {
			ch, x := t.channel(), t.name("no-x")
			t.refusal(ch.QueueBind(ch.queue("q"), "k", x, false, nil), 404, "NOT_FOUND - no exchange '"+x+"' in vhost '"+t.vhost+"'")
		},
	},
	{
		Topic: surface, Section: 9, Name: "declare-ok-counts",
		Rule: "queue.declare-ok has the number of ready messages and the number of consumers, including those of " +
			"other channels.",
		Run: func(t *T) {
			conn := t.connect()
			ch, other := conn.channel(), conn.channel()
			q := ch.queue("q")
			for range 3 {
				ch.publish("", q, "m")
			}
			ch.get(q)
			t.must(other.Qos(1, 0, false))
			await(t, "a delivery", other.consume(q))
			got, err := ch.QueueDeclarePassive(q, false, false, false, false, nil)
			t.must(err)
			t.equal("counts", got, amqp.Queue{Name: q, Messages: 1, Consumers: 1})
		},
	},
	inequivalentQueue("durable", true, false),
	inequivalentQueue("auto_delete", false, true),
	{
		Topic: surface, Section: 6, Name: "queue-reserved-prefix",
		Rule: "A new queue whose name begins with amq. is refused with 403.",
		Run: func(t *T) {
			q := "amq." + t.name("q")
			_, err := t.channel().QueueDeclare(q, false, false, false, false, nil)
			t.refusal(err, 403, "ACCESS_REFUSED - queue name '"+q+"' contains reserved prefix 'amq.*'")
		},
	},
	{
		Topic: surface, Section: 9, Name: "server-named-queue-declared-again",
		Rule: "A name that begins with amq. is refused with 403 even if the queue exists, unless the declaration is " +
			"passive.",
		Run: func(t *T) {
			ch := t.channel()
			q, err := ch.QueueDeclare("", false, false, true, false, nil)
			t.must(err)
			_, err = ch.QueueDeclarePassive(q.Name, false, false, true, false, nil)
			t.must(err)
			_, err = ch.QueueDeclare(q.Name, false, false, true, false, nil)
			t.refusal(err, 403, "ACCESS_REFUSED - queue name '"+q.Name+"' contains reserved prefix 'amq.*'")
		},
	},
	lockedQueue("declare", func(ch *channel, q string) error {
		_, err := ch.QueueDeclare(q, false, false, true, false, nil)
		return err
	}),
	lockedQueue("passive-declare", func(ch *channel, q string) error {
		_, err := ch.QueueDeclarePassive(q, false, false, true, false, nil)
		return err
	}),
	lockedQueue("bind", func(ch *channel, q string) error { return ch.QueueBind(q, "k", "amq.direct", false, nil) }),
	lockedQueue("consume", func(ch *channel, q string) error {
		_, err := ch.Consume(q, "", true, false, false, false, nil)
		return err
	}),
	lockedQueue("get", func(ch *channel, q string) error { _, _, err := ch.Get(q, true); return err }),
	lockedQueue("purge", func(ch *channel, q string) error { _, err := ch.QueuePurge(q, false); return err }),
	lockedQueue("delete", func(ch *channel, q string) error { _, err := ch.QueueDelete(q, false, false, false); return err }),
	{
		Topic: surface, Section: 9, Name: "exclusive-mismatch",
		Rule: "Declaring a shared queue again as exclusive is refused with 405, even for the connection that " +
			"declared it.",
		Run: func(t *T) {
			ch := t.channel()
			q := ch.queue("q")
			_, err := ch.QueueDeclare(q, false, false, true, false, nil)
			t.refusal(err, 405, t.locked(q))
		},
	},
	{
		Topic: surface, Section: 9, Name: "exclusive-on-two-channels",
		Rule: "An exclusive queue belongs to the connection: any of its channels may use it.",
		Run: func(t *T) {
			conn := t.connect()
			q, err := conn.channel().QueueDeclare(t.name("q"), false, false, true, false, nil)
			t.must(err)
			other := conn.channel()
			other.publish("", q.Name, "m")
			t.equal("body", string(other.get(q.Name).Body), "m")
		},
	},
	{
		Topic: surface, Section: 9, Name: "auto-delete-queue",
		Rule: "An auto-delete queue is deleted with its last consumer, and not before it had one; basic.get does not " +
			"count.",
		Run: func(t *T) {
			ch := t.channel()
			q, err := ch.QueueDeclare(t.name("q"), false, true, false, false, nil)
			t.must(err)
			ch.empty(q.Name)
			for _, tag := range []string{"one", "two"} {
				_, err = ch.Consume(q.Name, tag, true, false, false, false, nil)
				t.must(err)
			}
			t.must(ch.Cancel("one", false))
			t.equal("depth", ch.depth(q.Name), 0)
			t.must(ch.Cancel("two", false))
			_, err = ch.QueueDeclarePassive(q.Name, false, true, false, false, nil)
			t.refusal(err, 404, t.noQueue(q.Name))
		},
	},
	{
		Topic: surface, Section: 9, Name: "auto-delete-by-channel",
		Rule: "An auto-delete queue is also deleted when the channel of its last consumer closes.",
		Run: func(t *T) {
			conn := t.connect()
			ch := conn.channel()
			q, err := ch.QueueDeclare(t.name("q"), false, true, false, false, nil)
			t.must(err)
			ch.consume(q.Name)
			t.must(ch.Close())
			_, err = conn.channel().QueueDeclarePassive(q.Name, false, true, false, false, nil)
			t.refusal(err, 404, t.noQueue(q.Name))
		},
	},
	{
		Topic: surface, Section: 9, Name: "exclusive-is-never-durable",
		Rule: "An exclusive queue is not durable, with either flag: declaring it again with the other flag succeeds.",
		Run: func(t *T) {
			ch := t.channel()
			for _, durable := range []bool{true, false, true} {
				_, err := ch.QueueDeclare(t.name("q"), durable, false, true, false, nil)
				t.must(err)
			}
		},
	},
	{
		Topic: surface, Section: 9, Name: "purge-counts-ready",
		Rule: "queue.purge drops the ready messages and returns their number; unacked ones stay with their consumer.",
		Run: func(t *T) {
			ch := t.channel()
			q := ch.queue("q")
			for _, m := range []string{"a", "b", "c"} {
				ch.publish("", q, m)
			}
			a := ch.get(q)
			n, err := ch.QueuePurge(q, false)
			t.must(err)
			t.equal("purged", n, 2)
			t.must(a.Nack(false, true))
			t.equal("body", string(ch.get(q).Body), "a")
		},
	},
	{
		Topic: surface, Section: 9, Name: "delete-counts-ready",
		Rule: "queue.delete returns the number of ready messages that it deleted.",
		Run: func(t *T) {
			ch := t.channel()
			q := ch.queue("q")
			for range 3 {
				ch.publish("", q, "m")
			}
			ch.get(q)
			n, err := ch.QueueDelete(q, false, false, false)
			t.must(err)
			t.equal("deleted", n, 2)
		},
	},
	{
		Topic: surface, Section: 6, Name: "delete-if-empty",
		Rule: "Deleting a queue if empty is refused with 406 while a message is ready.",
		Run: func(t *T) {
			ch := t.channel()
			q := ch.queue("q")
			ch.publish("", q, "m")
			_, err := ch.QueueDelete(q, false, true, false)
			t.refusal(err, 406, "PRECONDITION_FAILED - queue '"+q+"' in vhost '"+t.vhost+"' not empty")
		},
	},
	{
		Topic: surface, Section: 6, Name: "delete-if-unused",
		Rule: "Deleting a queue if unused is refused with 406 while it has a consumer.",
		Run: func(t *T) {
			ch := t.channel()
			q := ch.queue("q")
			ch.consume(q)
			_, err := ch.QueueDelete(q, true, false, false)
			t.refusal(err, 406, "PRECONDITION_FAILED - queue '"+q+"' in vhost '"+t.vhost+"' in use")
		},
	},
	{
		Topic: surface, Section: 9, Name: "binding-twice-is-one",
		Rule: "The same binding declared twice is one binding, and one unbind removes it.",
		Run: func(t *T) {
			ch := t.channel()
			x := ch.exchange("x", "direct")
			q := ch.bound("q", x, "k")
			ch.bind(q, x, "k")
			ch.publish(x, "k", "m")
			ch.get(q)
			t.must(ch.QueueUnbind(q, "k", x, nil))
			ch.publish(x, "k", "n")
			ch.empty(q)
		},
	},
	{
		Topic: surface, Section: 16, Name: "no-wait-still-fails",
		Rule: "A declare with no-wait that fails closes the channel too.",
		Run: func(t *T) {
			ch := t.channel()
			q := ch.queue("q")
			_, err := ch.QueueDeclare(q, true, false, false, true, nil)
			t.must(err)
			ch.refused(406, "PRECONDITION_FAILED - inequivalent arg 'durable' for queue '"+q+"' in vhost '"+t.vhost+
				"': received 'true' but current is 'false'")
		},
	},
}

// missingQueue is a case of what needs a queue that does not exist.
func missingQueue(name string, do func(ch *channel, q string) error) Case {
	return Case{
		Topic: surface, Section: 6, Name: name + "-of-missing-queue",
		Rule: "An operation on a queue that does not exist is refused with 404 (" + name + ").",
		Run: func(t *T) {
			q := t.name("no-q")
			t.refusal(do(t.channel(), q), 404, t.noQueue(q))
		},
	}
}

// lockedQueue is a case of another connection's exclusive queue.
func lockedQueue(name string, do func(ch *channel, q string) error) Case {
	return Case{
		Topic: surface, Section: 6, Name: "exclusive-queue-" + name,
		Rule: "Another connection's exclusive queue is refused with 405 (" + name + ").",
		Run: func(t *T) {
			q, err := t.channel().QueueDeclare(t.name("q"), false, false, true, false, nil)
			t.must(err)
			t.refusal(do(t.channel(), q.Name), 405, t.locked(q.Name))
		},
	}
}

// inequivalentQueue is a case of a queue declared again with one flag turned on.
func inequivalentQueue(flag string, durable, autoDelete bool) Case {
	return Case{
		Topic: surface, Section: 6, Name: "queue-" + dashed(flag) + "-inequivalent",
		Rule: "Declaring a queue again with another " + flag + " flag is refused with 406.",
		Run: func(t *T) {
			ch := t.channel()
			q := ch.queue("q")
			_, err := ch.QueueDeclare(q, durable, autoDelete, false, false, nil)
			t.refusal(err, 406, "PRECONDITION_FAILED - inequivalent arg '"+flag+"' for queue '"+q+"' in vhost '"+t.vhost+
				"': received 'true' but current is 'false'")
		},
	}
}
