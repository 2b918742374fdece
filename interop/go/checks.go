package main

import (
	"errors"
	"fmt"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// Broken if a rejected message did not arrive in the dead-letter queue with its history and properties.
func rejectReachesDeadLetterQueue(s *session) error {
	dlx, deadLetters, err := s.deadLetterQueue()
	if err != nil {
		return err
	}
	normal, err := s.exchange("exchange", amqp.ExchangeTopic)
	if err != nil {
		return err
	}
	work, err := s.queue("work", amqp.Table{"x-dead-letter-exchange": dlx, "x-dead-letter-routing-key": "dl.key"})
	if err != nil {
		return err
	}
	if err := s.channel.QueueBind(work, "*.normal.key", normal, false, nil); err != nil {
		return err
	}
	rejecting, err := s.consume(work, false)
	if err != nil {
		return err
	}

	p, err := s.send(normal, "a.normal.key", amqp.Publishing{
		ContentType: "text/plain", DeliveryMode: amqp.Persistent, MessageId: "m-1",
		Headers: amqp.Table{"tenant": "blue"}, Body: []byte("unwanted"),
	})
	if err != nil {
		return err
	}
	rejected, err := rejecting.take()
	if err != nil {
		return err
	}
	if err := rejected.Reject(false); err != nil {
		return err
	}

	l, err := deadLetters.take()
	if err != nil {
		return err
	}
	if l.ContentType != "text/plain" || l.DeliveryMode != amqp.Persistent || l.MessageId != "m-1" || l.Headers["tenant"] != "blue" {
		return fmt.Errorf("properties changed: %+v", l.Delivery)
	}
	return errors.Join(
		l.wantCame(dlx, "dl.key", "unwanted"),
		l.wantDied(p.begun, death{reason: "rejected", queue: work, exchange: normal, key: "a.normal.key"}),
		s.wantReady(work, 0),
		deadLetters.wantEmpty())
}

// Broken if a message that is requeued died, or came back without the redelivered flag.
func requeueIsNoDeath(s *session) error {
	dlx, deadLetters, err := s.deadLetterQueue()
	if err != nil {
		return err
	}
	work, err := s.queue("work", amqp.Table{"x-dead-letter-exchange": dlx})
	if err != nil {
		return err
	}
	arrivals, err := s.consume(work, false)
	if err != nil {
		return err
	}
	if _, err := s.send("", work, amqp.Publishing{Body: []byte("again")}); err != nil {
		return err
	}
	l, err := arrivals.take()
	if err != nil {
		return err
	}
	if err := l.Nack(false, true); err != nil {
		return err
	}
	l, err = arrivals.take()
	if err != nil {
		return err
	}
	if !l.Redelivered || l.Headers["x-death"] != nil {
		return fmt.Errorf("came back with redelivered %v and headers %v", l.Redelivered, l.Headers)
	}
	return errors.Join(l.Ack(false), s.wantReady(work, 0), deadLetters.wantEmpty())
}

const delay = 500 * time.Millisecond

// Broken if a message expired early or late by its own expiration, or kept it.
func ownExpiration(s *session) error {
	return expires(s, nil, "500")
}

// Broken if a message expired early or late by the TTL of its queue, or got an expiration of its own.
func queueTTL(s *session) error {
	return expires(s, amqp.Table{"x-message-ttl": int32(delay.Milliseconds())}, "")
}

// expires waits for one message to expire after delay, by what arguments or its expiration say.
func expires(s *session, arguments amqp.Table, expiration string) error {
	dlx, deadLetters, err := s.deadLetterQueue()
	if err != nil {
		return err
	}
	table := amqp.Table{"x-dead-letter-exchange": dlx}
	for name, value := range arguments {
		table[name] = value
	}
	work, err := s.queue("work", table)
	if err != nil {
		return err
	}
	p, err := s.send("", work, amqp.Publishing{Expiration: expiration, Body: []byte("too late")})
	if err != nil {
		return err
	}
	l, err := deadLetters.take()
	if err != nil {
		return err
	}
	return errors.Join(
		l.wantCame(dlx, work, "too late"),
		l.wantDied(p.begun, death{reason: "expired", queue: work, key: work, originalExpiration: expiration}),
		l.wantAfter(delay, p),
		s.wantReady(work, 0))
}

// Broken if a full queue let another message die than its oldest.
func maxlenDropsOldest(s *session) error {
	dlx, deadLetters, err := s.deadLetterQueue()
	if err != nil {
		return err
	}
	work, err := s.queue("work", amqp.Table{"x-dead-letter-exchange": dlx, "x-max-length": int32(2)})
	if err != nil {
		return err
	}
	begun := time.Now()
	for _, body := range []string{"1", "2", "3"} {
		if _, err := s.send("", work, amqp.Publishing{Body: []byte(body)}); err != nil {
			return err
		}
	}
	l, err := deadLetters.take()
	if err != nil {
		return err
	}
	return errors.Join(
		l.wantCame(dlx, work, "1"),
		l.wantDied(begun, death{reason: "maxlen", queue: work, key: work}),
		s.wantReady(work, 2),
		deadLetters.wantEmpty())
}

// Broken if a message that is stored were not confirmed, or one that is refused were.
func confirms(s *session) error {
	work, err := s.queue("work", amqp.Table{"x-max-length": int32(1), "x-overflow": "reject-publish"})
	if err != nil {
		return err
	}
	if _, err := s.send("", work, amqp.Publishing{Body: []byte("stored")}); err != nil {
		return err
	}
	p, err := s.publish("", work, false, amqp.Publishing{Body: []byte("refused")})
	if err != nil {
		return err
	}
	if p.acked {
		return errors.New("a message over the limit was confirmed")
	}
	return s.wantReady(work, 1)
}

// Broken if a message without a queue did not come back, before its confirm, to a publisher who asked for it.
func mandatoryReturns(s *session) error {
	exchange, err := s.exchange("exchange", amqp.ExchangeDirect)
	if err != nil {
		return err
	}
	returns := s.channel.NotifyReturn(make(chan amqp.Return, 1))
	p, err := s.publish(exchange, "nowhere", true, amqp.Publishing{Body: []byte("back")})
	if err != nil {
		return err
	}
	if !p.acked {
		return errors.New("a message that was returned must be confirmed")
	}
	select {
	case r := <-returns:
		if r.ReplyCode != amqp.NoRoute || r.ReplyText != "NO_ROUTE" || r.Exchange != exchange || r.RoutingKey != "nowhere" ||
			string(r.Body) != "back" {
			return fmt.Errorf("returned: %+v", r)
		}
		return nil
	default:
		return errors.New("the confirm came before the return")
	}
}

// Broken if a consumer held more messages than its prefetch, or got none after it settled one.
func prefetch(s *session) error {
	work, err := s.queue("work", nil)
	if err != nil {
		return err
	}
	for _, body := range []string{"0", "1", "2", "3", "4"} {
		if _, err := s.send("", work, amqp.Publishing{Body: []byte(body)}); err != nil {
			return err
		}
	}
	if err := s.channel.Qos(3, 0, false); err != nil {
		return err
	}
	arrivals, err := s.consume(work, false)
	if err != nil {
		return err
	}
	var first arrival
	for n := range 3 {
		l, err := arrivals.take()
		if err != nil {
			return err
		}
		if n == 0 {
			first = l
		}
	}
	if err := errors.Join(s.wantReady(work, 2), arrivals.wantEmpty(), first.Ack(false)); err != nil {
		return err
	}
	fourth, err := arrivals.take()
	if err != nil {
		return err
	}
	return errors.Join(fourth.wantCame("", work, "3"), s.wantReady(work, 1))
}

// Broken if a consumer were not told that its queue has gone.
func queueDeleteCancelsConsumer(s *session) error {
	work, err := s.queue("work", nil)
	if err != nil {
		return err
	}
	cancelled := s.channel.NotifyCancel(make(chan string, 1))
	if _, err := s.channel.Consume(work, "doomed", true, false, false, false, nil); err != nil {
		return err
	}
	other, err := s.connection.Channel()
	if err != nil {
		return err
	}
	if _, err := other.QueueDelete(work, false, false, false); err != nil {
		return err
	}
	select {
	case tag := <-cancelled:
		if tag != "doomed" {
			return fmt.Errorf("the consumer %q was cancelled", tag)
		}
		return nil
	case <-time.After(waitMax):
		return fmt.Errorf("no cancellation within %v", waitMax)
	}
}
