package conformance

import (
	amqp "github.com/rabbitmq/amqp091-go"
)

// directReply is the name that stands for answers without a queue.
const directReply = "amq.rabbitmq.reply-to"

// replyTo asks for an answer.
func replyTo(name string) edit { return func(m *amqp.Publishing) { m.ReplyTo = name } }

// answers consumes direct replies.
func (ch *channel) answers() <-chan amqp.Delivery {
	in, err := ch.Consume(directReply, "", true, false, false, false, nil)
	ch.t.must(err)
	return in
}

var replyCases = []Case{
	{
		Topic: surface, Section: 15, Name: "direct-reply",
		Rule: "A request has the name amq.rabbitmq.reply-to in reply-to; the reply to the name that the request " +
			"arrives with reaches the requesting channel, once.",
		Run: func(t *T) {
			asking, serving := t.channel(), t.channel()
			q := serving.queue("requests")
			in := asking.answers()
			asking.publish("", q, "question", replyTo(directReply))
			request := serving.take(q, 1)[0]
			if request.ReplyTo == directReply || len(request.ReplyTo) <= len(directReply)+1 {
				t.equal("reply-to of the request", request.ReplyTo, directReply+".…")
			}
			serving.publish("", request.ReplyTo, "answer", func(m *amqp.Publishing) { m.CorrelationId = "7" })
			answer := await(t, "the answer", in)
			t.equal("answer", []any{string(answer.Body), answer.CorrelationId, answer.Exchange, answer.RoutingKey, answer.Redelivered},
				[]any{"answer", "7", "", request.ReplyTo, false})
			silent(t, "a second answer", in)
		},
	},
	{
		Topic: surface, Section: 15, Name: "direct-reply-declared",
		Rule: "The reply-to name of a request can be declared passively while the requesting channel is open: one " +
			"consumer, no message; afterwards it does not exist.",
		Run: func(t *T) {
			asking, serving := t.channel(), t.channel()
			q := serving.queue("requests")
			asking.answers()
			asking.publish("", q, "question", replyTo(directReply))
			name := serving.take(q, 1)[0].ReplyTo
			d, err := serving.QueueDeclarePassive(name, false, false, false, false, nil)
			t.must(err)
			t.equal("declared", []any{d.Messages, d.Consumers}, []any{0, 1})
			t.must(asking.Close())
			_, err = serving.QueueDeclarePassive(name, false, false, false, false, nil)
			t.refusal(err, 404, "NOT_FOUND - no queue '"+name+"' in vhost '"+t.vhost+"'")
		},
	},
	{
		Topic: surface, Section: 15, Name: "direct-reply-name-declared",
		Rule: "The name amq.rabbitmq.reply-to can be declared by every user, passively or with any flags and " +
			"arguments: one consumer, no message.",
		Run: func(t *T) {
			ch, _ := t.as(grant{"^$", "^$", "^$"})
			d, err := ch.QueueDeclarePassive(directReply, false, false, false, false, nil)
			t.must(err)
			t.equal("declared passively", d, amqp.Queue{Name: directReply, Messages: 0, Consumers: 1})
			d, err = ch.QueueDeclare(directReply, true, true, true, false, amqp.Table{"x-queue-type": "quorum", "x-message-ttl": "soon"})
			t.must(err)
			t.equal("declared", d, amqp.Queue{Name: directReply, Messages: 0, Consumers: 1})
			t.must(ch.Close())
		},
	},
	{
		Topic: surface, Section: 15, Name: "direct-reply-consumed-as-last-declared",
		Rule: "The name amq.rabbitmq.reply-to, when declared, is the last declared queue: an empty name consumes " +
			"from it.",
		Run: func(t *T) {
			ch := t.channel()
			q := ch.queue("requests")
			_, err := ch.QueueDeclarePassive(directReply, false, false, false, false, nil)
			t.must(err)
			in, err := ch.Consume("", "", true, false, false, false, nil)
			t.must(err)
			ch.publish("", q, "question", replyTo(directReply))
			ch.publish("", ch.fetch(q, 1)[0].ReplyTo, "answer")
			t.equal("answer", string(await(t, "the answer", in).Body), "answer")
		},
	},
	{
		Topic: surface, Section: 15, Name: "direct-reply-name-is-no-queue",
		Rule: "Longer names that begin with amq.rabbitmq.reply-to are not queues: declare, get, purge and consume " +
			"are refused with 404; delete succeeds.",
		Run: func(t *T) {
			conn := t.connect()
			other := directReply + ".nobody"
			ch := conn.channel()
			n, err := ch.QueueDelete(directReply, false, false, false)
			t.must(err)
			t.equal("deleted", n, 0)
			_, err = ch.QueueDelete(other, false, false, false)
			t.must(err)
			_, err = ch.QueuePurge(directReply, false)
			t.refusal(err, 404, t.noQueue(directReply))
			_, _, err = conn.channel().Get(directReply, true)
			t.refusal(err, 404, t.noQueue(directReply))
			_, err = conn.channel().Consume(other, "", true, false, false, false, nil)
			t.refusal(err, 404, t.noQueue(other))
			for _, name := range []string{other, directReply + "X"} {
				_, err = conn.channel().QueueDeclare(name, false, false, false, false, nil)
				t.refusal(err, 404, t.noQueue(name))
			}
		},
	},
	{
		Topic: surface, Section: 15, Name: "direct-reply-without-consumer",
		Rule: "A request for direct replies without a consumer for them is refused with 406.",
		Run: func(t *T) {
			ch := t.channel()
			ch.publish("", t.name("q"), "m", replyTo(directReply))
			ch.refused(406, "PRECONDITION_FAILED - fast reply consumer does not exist")
		},
	},
	{
		Topic: surface, Section: 15, Name: "direct-reply-acknowledged",
		Rule: "Direct replies cannot be consumed with acks: 406.",
		Run: func(t *T) {
			_, err := t.channel().Consume(directReply, "", false, false, false, false, nil)
			t.refusal(err, 406, "PRECONDITION_FAILED - reply consumer cannot acknowledge")
		},
	},
	{
		Topic: surface, Section: 15, Name: "direct-reply-twice",
		Rule: "A channel has one consumer of direct replies: a second is refused with 406.",
		Run: func(t *T) {
			ch := t.channel()
			ch.answers()
			_, err := ch.Consume(directReply, "", true, false, false, false, nil)
			t.refusal(err, 406, "PRECONDITION_FAILED - reply consumer already set")
		},
	},
	{
		Topic: surface, Section: 15, Name: "direct-reply-again-after-cancel",
		Rule: "After a consumer of direct replies is cancelled, another can start.",
		Run: func(t *T) {
			ch := t.channel()
			_, err := ch.Consume(directReply, "tag", true, false, false, false, nil)
			t.must(err)
			t.must(ch.Cancel("tag", false))
			in := ch.answers()
			q := ch.queue("requests")
			ch.publish("", q, "question", replyTo(directReply))
			ch.publish("", ch.fetch(q, 1)[0].ReplyTo, "answer")
			t.equal("answer", string(await(t, "the answer", in).Body), "answer")
		},
	},
}
