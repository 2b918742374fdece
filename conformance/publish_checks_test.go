package conformance

import amqp "github.com/rabbitmq/amqp091-go"

// userID says who published a message.
func userID(name string) edit { return func(m *amqp.Publishing) { m.UserId = name } }

var publishCheckCases = []Case{
	{
		Topic: surface, Section: 11, Name: "immediate-before-all",
		Rule: "An immediate publish is refused with 540 even if the exchange does not exist.",
		Run: func(t *T) {
			s := t.session(login{})
			s.send(methodOf(1, basicPublish, uint16(0), t.name("no-x"), "k", byte(2)))
			s.send(headerOf(1, 0))
			s.refused(540, "NOT_IMPLEMENTED - immediate=true")
		},
	},
	{
		Topic: surface, Section: 11, Name: "existence-after-permission",
		Rule: "A publish without the write permission is refused with 403, also if the exchange does not exist.",
		Run: func(t *T) {
			ch, user := t.as(grant{".*", "^$", ".*"})
			x := t.name("no-x")
			ch.publish(x, "k", "m")
			t.refusalLike(await(t, "channel.close", ch.closed), 403,
				"access to exchange '"+x+"' in vhost '"+t.vhost+"' refused for user '"+user+"'")
		},
	},
	publishedWrong("internal-before-expiration", "An internal exchange is refused with 403 before the expiration is looked at.", 403,
		func(ch *channel) {
			x := ch.t.name("inner")
			ch.t.must(ch.ExchangeDeclare(x, "fanout", false, false, true, false, nil))
			ch.t.forget("", x)
			ch.publish(x, "k", "m", expiration("soon"))
		}),
	publishedWrong("reply-to-before-expiration", "A reply-to without its consumer is refused before a bad expiration.", 406,
		func(ch *channel) {
			ch.publish("", "k", "m", expiration("soon"), replyTo(directReply))
		}, "PRECONDITION_FAILED - fast reply consumer does not exist"),
	{
		Topic: surface, Section: 11, Name: "expiration-before-user-id",
		Rule:  "An invalid expiration is refused before a user-id of another user.",
		Since: "4.0", Before: "the user-id is checked first",
		Run: func(t *T) {
			ch := t.channel()
			ch.publish("", "k", "m", expiration("soon"), userID("other"))
			part := "user_id property set to 'other'"
			if t.since() {
				part = "invalid expiration 'soon'"
			}
			t.refusalLike(await(t, "channel.close", ch.closed), 406, "PRECONDITION_FAILED - "+part)
		},
	},
	publishedWrong("expiration-without-a-route", "A bad expiration is refused even where the message would have gone nowhere.", 406,
		func(ch *channel) { ch.publish("amq.direct", ch.t.name("nowhere"), "m", expiration("soon")) },
		"PRECONDITION_FAILED - invalid expiration 'soon'"),
	{
		Topic: surface, Section: 15, Name: "cc-of-numbers",
		Rule: "Entries of a CC header that are not strings are ignored.",
		Run: func(t *T) {
			ch := t.channel()
			q, cc := ch.queue("q"), ch.queue("cc")
			ch.publish("", q, "m", headers(amqp.Table{"CC": []any{int32(5), cc}}))
			t.equal("by key and by CC", []string{string(ch.get(q).Body), string(ch.get(cc).Body)}, []string{"m", "m"})
		},
	},
	{
		Topic: surface, Section: 11, Name: "nothing-counts-after-a-refusal",
		Rule: "Publishes that follow a refused one on the same channel reach no queue, and get no confirm.",
		Run: func(t *T) {
			s, other := t.session(login{}), t.channel()
			q := other.queue("q")
			s.sendMethod(1, confirmSelect, byte(0))
			s.want(confirmSelectOk)
			s.send(join(methodOf(1, basicPublish, uint16(0), t.name("no-x"), "k", byte(0)), headerOf(1, 0), publishOf(1, q, "after")))
			s.want(channelClose)
			s.sendMethod(1, channelCloseOk)
			s.sendMethod(1, channelOpen, "")
			s.want(channelOpenOk)
			other.put("", q, "fence")
			t.equal("in the queue", other.drain(q), []string{"fence"})
		},
	},
	{
		Topic: surface, Section: 11, Name: "delivery-mode-passes",
		Rule: "Every delivery-mode is accepted, and reaches the consumer unchanged; all except 2 mean transient.",
		Run: func(t *T) {
			ch := t.channel()
			q := ch.queue("q")
			for _, mode := range []uint8{0, 1, 2} {
				ch.publish("", q, "m", func(m *amqp.Publishing) { m.DeliveryMode = mode })
				t.equal("delivery-mode", ch.get(q).DeliveryMode, mode)
			}
		},
	},
	{
		Topic: surface, Section: 11, Name: "priority-outside-priority-queues",
		Rule: "In a classic queue without x-max-priority a message's priority has no effect, and reaches the consumer.",
		Run: func(t *T) {
			ch := t.channel()
			q := ch.queue("q")
			for i, m := range []string{"low", "high"} {
				ch.publish("", q, m, func(m *amqp.Publishing) { m.Priority = uint8(9 * i) })
			}
			all := ch.fetch(q, 2)
			t.equal("order", bodies(all), []string{"low", "high"})
			t.equal("priority", all[1].Priority, uint8(9))
		},
	},
	{
		Topic: surface, Section: 16, Name: "return-is-whole",
		Rule: "basic.return carries every property and header of the message.",
		Run: func(t *T) {
			ch := t.channel()
			ch.publishMandatory("amq.direct", t.name("nowhere"), "m", expiration("60000"), func(m *amqp.Publishing) {
				m.ContentType, m.MessageId, m.Priority, m.DeliveryMode = "text/plain", "id", 3, 2
				m.Headers = amqp.Table{"k": "v", "CC": []any{t.name("cc")}}
			})
			r := await(t, "basic.return", ch.returns)
			t.equal("properties", []any{r.ContentType, r.MessageId, r.Priority, r.DeliveryMode, r.Expiration},
				[]any{"text/plain", "id", uint8(3), uint8(2), "60000"})
			t.equal("headers", r.Headers, amqp.Table{"k": "v", "CC": []any{t.name("cc")}})
		},
	},
	{
		Topic: surface, Section: 11, Name: "dead-letters-are-not-returned",
		Rule: "A mandatory message that dies and is then routed to no queue is not returned.",
		Run: func(t *T) {
			ch := t.channel()
			q := ch.queue("q", dlx("amq.direct"))
			ch.publishMandatory("", q, "m")
			t.must(ch.get(q).Reject(false))
			ch.put("", q, "fence")
			silent(t, "basic.return", ch.returns)
		},
	},
	{
		Topic: surface, Section: 15, Name: "direct-reply-cannot-be-bound",
		Rule: "The name amq.rabbitmq.reply-to cannot be bound: there is no such queue, 404.",
		Run: func(t *T) {
			err := t.channel().QueueBind(directReply, "k", "amq.direct", false, nil)
			t.refusal(err, 404, t.noQueue(directReply))
		},
	},
	{
		Topic: surface, Section: 15, Name: "direct-reply-to-closed-channel",
		Rule:  "A direct reply to a closed channel counts as routed: even with mandatory it is not returned.",
		Since: "4.2", Before: "it is returned",
		Choice: noSilentLoss, Differs: "it is returned (on purpose: the replying client learns that the requester is gone)",
		Run: func(t *T) {
			ch := t.channel()
			q := ch.queue("q")
			asking := t.channel()
			asking.answers()
			asking.publish("", q, "request", replyTo(directReply))
			to := ch.take(q, 1)[0].ReplyTo
			t.must(asking.Close())
			ch.confirm()
			ch.publishMandatory("", to, "answer")
			ch.confirmed(true)
			if t.since() && !t.differs() {
				silent(t, "basic.return", ch.returns)
				return
			}
			t.equal("text", await(t, "basic.return", ch.returns).ReplyText, "NO_ROUTE")
		},
	},
	{
		Topic: surface, Section: 15, Name: "direct-reply-mandatory",
		Rule:  "A direct reply that reaches its channel is routed: even with mandatory it is not returned.",
		Since: "4.2", Before: "it is returned, although it was delivered",
		Run: func(t *T) {
			ch := t.channel()
			q := ch.queue("q")
			in := ch.answers()
			ch.publish("", q, "request", replyTo(directReply))
			to := ch.get(q).ReplyTo
			ch.publishMandatory("", to, "answer")
			await(t, "the answer", in)
			ch.settled()
			t.equal("returned", len(ch.returns) == 0, t.since())
		},
	},
	{
		Topic: surface, Section: 15, Name: "direct-reply-delivery",
		Rule: "A direct reply is delivered with the default exchange and the generated name as its routing key.",
		Run: func(t *T) {
			ch := t.channel()
			q := ch.queue("q")
			in := ch.answers()
			ch.publish("", q, "request", replyTo(directReply))
			to := ch.get(q).ReplyTo
			ch.publish("", to, "answer")
			d := await(t, "the answer", in)
			t.equal("exchange and key", []string{d.Exchange, d.RoutingKey}, []string{"", to})
		},
	},
}

// publishedWrong is a case of a publish that breaks more than one rule: what is looked at first shows in the answer.
func publishedWrong(name, rule string, code int, publish func(ch *channel), text ...string) Case {
	return Case{
		Topic: surface, Section: 11, Name: name, Rule: rule,
		Run: func(t *T) {
			ch := t.channel()
			publish(ch)
			part := ""
			if len(text) > 0 {
				part = text[0]
			}
			t.refusalLike(await(t, "channel.close", ch.closed), code, part)
		},
	}
}
