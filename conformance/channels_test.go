package conformance

import amqp "github.com/rabbitmq/amqp091-go"

var channelCases = []Case{
	{
		Topic: surface, Section: 6, Name: "second-channel-open",
		Rule: "A second channel.open on an open channel ends the connection with 504.",
		Run: func(t *T) {
			s := t.session(login{})
			s.sendMethod(1, channelOpen, "")
			s.refused(504, "CHANNEL_ERROR - second 'channel.open' seen")
		},
	},
	{
		Topic: surface, Section: 6, Name: "method-before-channel-open",
		Rule: "A method on a channel that is not open ends the connection with 504.",
		Run: func(t *T) {
			s := t.session(login{})
			s.sendMethod(7, basicQos, uint32(0), uint16(1), byte(0))
			s.refused(504, "CHANNEL_ERROR - expected 'channel.open'")
		},
	},
	{
		Topic: surface, Section: 6, Name: "channel-number-above-maximum",
		Rule:   "The negotiated maximum limits the number of channels; a channel's number may be higher.",
		Choice: byTheBook, Differs: "a number above the maximum ends the connection with 530 or 504 (on purpose: the protocol says so)",
		Run: func(t *T) {
			s := t.session(login{channelMax: 3})
			s.sendMethod(4, channelOpen, "")
			if !t.differs() {
				s.want(channelOpenOk)
				return
			}
			if code, text := s.closing(); code != 530 && code != 504 {
				t.Fatalf("got %d %s", code, text)
			}
		},
	},
	{
		Topic: surface, Section: 6, Name: "too-many-channels",
		Rule:   "Opening one channel more than negotiated ends the connection with 530.",
		Choice: byTheBook, Differs: "it may be 504 instead, because the number is above the maximum",
		Run: func(t *T) {
			s := t.session(login{channelMax: 2})
			s.sendMethod(2, channelOpen, "")
			s.want(channelOpenOk)
			s.sendMethod(3, channelOpen, "")
			code, text := s.closing()
			if t.differs() && code == 504 {
				return
			}
			t.equal("code", code, uint16(530))
			t.equal("text", text, "NOT_ALLOWED - number of channels opened (2) has reached the negotiated channel_max (2)")
		},
	},
	{
		Topic: surface, Section: 7, Name: "channel-number-is-reusable",
		Rule: "A channel number is free again as soon as the channel is closed.",
		Run: func(t *T) {
			s := t.session(login{})
			for range 5 {
				s.sendMethod(1, channelClose, uint16(200), "bye", uint16(0), uint16(0))
				s.want(channelCloseOk)
				s.sendMethod(1, channelOpen, "")
				s.want(channelOpenOk)
			}
		},
	},
	{
		Topic: surface, Section: 7, Name: "channel-is-deaf-after-error",
		Rule: "After the broker has closed a channel, everything except close and close-ok on it is ignored, content " +
			"included.",
		Run: func(t *T) {
			s := t.session(login{})
			q := s.exclusive("q")
			s.sendMethod(1, basicAck, uint64(99), byte(0))
			s.send(publishOf(1, q, "ignored"))
			s.sendMethod(1, basicAck, uint64(98), byte(0)) // a second error, unanswered
			a := s.want(channelClose)
			t.equal("code", a.uint16(), uint16(406))
			t.equal("text", a.short(), "PRECONDITION_FAILED - unknown delivery tag 99")
			t.equal("failed method", methodID{a.uint16(), a.uint16()}, basicAck)
			s.send(publishOf(1, q, "ignored too"))
			s.sendMethod(1, channelCloseOk)
			s.sendMethod(1, channelOpen, "")
			s.want(channelOpenOk)
			s.sendMethod(1, basicGet, uint16(0), q, byte(1))
			s.want(basicGetEmpty)
		},
	},
	{
		Topic: surface, Section: 7, Name: "close-crosses-close",
		Rule: "A channel.close that crosses the broker's own is answered by close-ok.",
		Run: func(t *T) {
			s := t.session(login{})
			s.send(join(methodOf(1, basicAck, uint64(99), byte(0)), methodOf(1, channelClose, uint16(200), "bye", uint16(0), uint16(0))))
			s.want(channelClose)
			s.want(channelCloseOk)
			s.sendMethod(1, channelCloseOk)
			s.sendMethod(1, channelOpen, "")
			s.want(channelOpenOk)
		},
	},
	{
		Topic: surface, Section: 7, Name: "error-leaves-other-channels",
		Rule: "An error on one channel does not affect the other channels of the connection.",
		Run: func(t *T) {
			conn := t.connect()
			bad, good := conn.channel(), conn.channel()
			t.must(bad.Ack(7, false))
			bad.refused(406, "PRECONDITION_FAILED - unknown delivery tag 7")
			q := good.queue("q")
			good.publish("", q, "m")
			t.equal("body", string(good.get(q).Body), "m")
		},
	},
	{
		Topic: surface, Section: 7, Name: "flow-active",
		Rule: "channel.flow with active true is answered by flow-ok true.",
		Run: func(t *T) {
			s := t.session(login{})
			s.sendMethod(1, channelFlow, byte(1))
			t.equal("active", s.want(channelFlowOk).octet(), byte(1))
		},
	},
	{
		Topic: surface, Section: 7, Name: "access-request",
		Rule: "access.request, long obsolete, is answered with ticket 1.",
		Run: func(t *T) {
			s := t.session(login{})
			s.sendMethod(1, accessRequest, "/data", byte(0))
			t.equal("ticket", s.want(accessRequestOk).uint16(), uint16(1))
		},
	},
	notImplemented("flow-inactive", "channel.flow with active false ends the connection with 540.",
		"active=false", methodOf(1, channelFlow, byte(0))),
	notImplemented("qos-prefetch-size", "basic.qos with a prefetch size ends the connection with 540.",
		"prefetch_size!=0 (1024)", methodOf(1, basicQos, uint32(1024), uint16(1), byte(0))),
	notImplemented("recover-without-requeue", "basic.recover without requeue ends the connection with 540.",
		"requeue=false", methodOf(1, basicRecover, byte(0))),
	notImplemented("publish-immediate", "basic.publish with immediate ends the connection with 540.",
		"immediate=true", methodOf(1, basicPublish, uint16(0), "", "q", byte(2)), headerOf(1, 0)),
	{
		Topic: surface, Section: 7, Name: "connection-close-takes-exclusive-queues",
		Rule: "The broker answers connection.close after it has deleted the connection's exclusive queues.",
		Run: func(t *T) {
			s, other := t.session(login{}), t.connect()
			q := s.exclusive("q")
			s.sendMethod(0, connectionClose, uint16(200), "bye", uint16(0), uint16(0))
			s.want(connectionCloseOk)
			_, err := other.channel().QueueDeclarePassive(q, false, false, false, false, nil)
			t.refusal(err, 404, "NOT_FOUND - no queue '"+q+"' in vhost '"+t.vhost+"'")
		},
	},
	{
		Topic: surface, Section: 9, Name: "dead-client-loses-exclusive-queues",
		Rule: "A connection's exclusive queues are deleted when its socket closes without connection.close.",
		Run: func(t *T) {
			s, ch := t.session(login{}), t.channel()
			x := ch.exchange("x", "fanout")
			q := s.exclusive("q")
			s.sendMethod(1, queueBind, uint16(0), q, x, "", byte(0), emptyTable)
			s.want(queueBindOk)
			t.must(s.Close())
			// The binding goes with the queue, which shows without touching the queue.
			t.eventually("the end of the queue", func() bool {
				ch.publishMandatory(x, "", "m")
				ch.settled()
				select {
				case <-ch.returns:
					return true
				default:
					return false
				}
			})
			t.gone(q)
		},
	},
	{
		Topic: surface, Section: 7, Name: "channel-close-requeues",
		Rule: "Closing a channel returns its unacked messages, in order and flagged as redelivered.",
		Run: func(t *T) {
			conn := t.connect()
			ch, other := conn.channel(), conn.channel()
			q := ch.queue("q")
			ch.publish("", q, "a")
			ch.publish("", q, "b")
			ch.fetch(q, 2)
			t.must(ch.Close())
			all := other.take(q, 2)
			t.equal("order", bodies(all), []string{"a", "b"})
			t.equal("redelivered", []bool{all[0].Redelivered, all[1].Redelivered}, []bool{true, true})
		},
	},
	{
		Topic: surface, Section: 7, Name: "dead-client-requeues",
		Rule: "When a socket closes without connection.close, unacked messages of its channels are returned, even in " +
			"the middle of a publish.",
		Run: func(t *T) {
			ch := t.channel()
			q := ch.queue("q")
			ch.publish("", q, "held")
			ch.settled()
			s := t.session(login{})
			s.sendMethod(1, basicGet, uint16(0), q, byte(0))
			s.want(basicGetOk)
			s.content()
			s.send(methodOf(1, basicPublish, uint16(0), "", q, byte(0)))
			s.send(headerOf(1, 1000))
			s.send(bodyOf(1, "half"))
			t.must(s.Close())
			d := ch.take(q, 1)[0]
			t.equal("body", string(d.Body), "held")
			t.equal("redelivered", d.Redelivered, true)
			t.equal("depth", ch.depth(q), 0)
		},
	},
	{
		Topic: surface, Section: 13, Name: "consumer-tag-reuse",
		Rule: "A consumer tag that is in use on the channel ends the connection with 530.",
		Run: func(t *T) {
			ch := t.channel()
			q := ch.queue("q")
			_, err := ch.Consume(q, "one", false, false, false, false, nil)
			t.must(err)
			_, err = ch.Consume(q, "one", false, false, false, false, nil)
			t.refusal(err, 530, "NOT_ALLOWED - attempt to reuse consumer tag 'one'")
		},
	},
	{
		Topic: surface, Section: 13, Name: "consumer-tag-on-two-channels",
		Rule: "The same consumer tag may be used on two channels of a connection.",
		Run: func(t *T) {
			conn := t.connect()
			one, two := conn.channel(), conn.channel()
			q := one.queue("q")
			for _, ch := range []*channel{one, two} {
				_, err := ch.Consume(q, "tag", false, false, false, false, amqp.Table{})
				t.must(err)
			}
		},
	},
}

// notImplemented is a case of a feature of the protocol that RabbitMQ never had.
func notImplemented(name, rule, text string, input ...[]byte) Case {
	return Case{
		Topic: surface, Section: 6, Name: name, Rule: rule,
		Run: func(t *T) {
			s := t.session(login{})
			s.send(join(input...))
			s.refused(540, "NOT_IMPLEMENTED - "+text)
		},
	}
}
