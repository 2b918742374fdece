package main

import (
	"errors"
	"fmt"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// What Symfony Messenger's AMQP transport declares and publishes with the DSN amqp://localhost/%2f/messages: a fanout
// exchange and a queue "messages", a direct exchange "delays", and for each delay a queue of its own, whose messages
// expire into the transport's exchange, or into the queue alone when a message is tried again. PHP's extension sends
// integers as signed 64-bit numbers.

const symfonyTransport = "messages"

// A symfonyDelay is the queue that holds messages for one delay.
type symfonyDelay struct {
	queue     string // also its binding key, and the routing key of its messages
	arguments amqp.Table
	delay     time.Duration
}

// symfonyDelayed is the delay queue of messages that were dispatched with a DelayStamp.
func symfonyDelayed(delay time.Duration) symfonyDelay {
	return symfonyDelay{fmt.Sprintf("delay_%s__%d_delay", symfonyTransport, delay.Milliseconds()), amqp.Table{
		"x-message-ttl":             delay.Milliseconds(),
		"x-expires":                 delay.Milliseconds() + 10_000,
		"x-dead-letter-exchange":    symfonyTransport,
		"x-dead-letter-routing-key": "",
	}, delay}
}

// symfonyRetry is the delay queue of messages that are tried again by the queue they failed in.
func symfonyRetry(delay time.Duration) symfonyDelay {
	return symfonyDelay{fmt.Sprintf("delay_%s_%s_%d_retry", symfonyTransport, symfonyTransport, delay.Milliseconds()), amqp.Table{
		"x-message-ttl":             delay.Milliseconds(),
		"x-expires":                 delay.Milliseconds() + 10_000,
		"x-dead-letter-exchange":    "",
		"x-dead-letter-routing-key": symfonyTransport,
	}, delay}
}

// symfonySetup declares what the transport declares first, and consumes its queue.
func (s *session) symfonySetup() (*inbox, error) {
	err := errors.Join(
		s.durableExchange(symfonyTransport, amqp.ExchangeFanout),
		s.durableQueue(symfonyTransport, nil),
		s.channel.QueueBind(symfonyTransport, "", symfonyTransport, false, nil),
		s.durableExchange("delays", amqp.ExchangeDirect))
	if err != nil {
		return nil, err
	}
	return s.consume(symfonyTransport, false)
}

// symfonyFirst deletes what may be left of a delay queue.
func (s *session) symfonyFirst(d symfonyDelay) error {
	s.queues = append(s.queues, d.queue)
	_, err := s.channel.QueueDelete(d.queue, false, false, false)
	return err
}

// symfonySend declares the delay queue, as the transport does for every message, and publishes through it.
func (s *session) symfonySend(d symfonyDelay, headers amqp.Table, body string) (published, error) {
	if err := s.redeclare(d.queue, d.arguments); err != nil {
		return published{}, err
	}
	if err := s.channel.QueueBind(d.queue, d.queue, "delays", false, nil); err != nil {
		return published{}, err
	}
	return s.send("delays", d.queue, amqp.Publishing{
		ContentType: "application/json", DeliveryMode: amqp.Persistent, Timestamp: time.Now(), Headers: headers, Body: []byte(body),
	})
}

// Broken if a message with a DelayStamp came early or late, by another exchange, or if the same queue could not be
// declared again for the next message of the same delay, or if messages of one delay overtook each other.
func symfonyDelays(s *session) error {
	worker, err := s.symfonySetup()
	if err != nil {
		return err
	}
	d := symfonyDelayed(700 * time.Millisecond)
	if err := s.symfonyFirst(d); err != nil {
		return err
	}
	bodies := []string{`{"order":1}`, `{"order":2}`, `{"order":3}`}
	sent := make([]published, len(bodies))
	for n, body := range bodies {
		if sent[n], err = s.symfonySend(d, amqp.Table{"type": `App\Message\SendReceipt`}, body); err != nil {
			return err
		}
	}
	for n, body := range bodies {
		l, err := worker.take()
		if err != nil {
			return err
		}
		if l.Headers["type"] != `App\Message\SendReceipt` || l.ContentType != "application/json" {
			return fmt.Errorf("the message came with headers %v and content type %q", l.Headers, l.ContentType)
		}
		err = errors.Join(
			l.wantCame(symfonyTransport, "", body),
			l.wantDied(sent[n].begun, death{reason: "expired", queue: d.queue, exchange: "delays", key: d.queue}),
			l.wantAfter(d.delay, sent[n]),
			l.Ack(false))
		if err != nil {
			return err
		}
	}
	return errors.Join(worker.wantEmpty(), s.wantReady(d.queue, 0), s.wantReady(symfonyTransport, 0))
}

// Broken if a failed message, sent again with the headers it came with, x-death among them, did not come back to its
// queue after each of its growing delays.
func symfonyRetries(s *session) error {
	worker, err := s.symfonySetup()
	if err != nil {
		return err
	}
	if _, err := s.send(symfonyTransport, "", amqp.Publishing{
		ContentType: "application/json", DeliveryMode: amqp.Persistent, Timestamp: time.Now(),
		Headers: amqp.Table{"type": `App\Message\Charge`}, Body: []byte(`{"amount":5}`),
	}); err != nil {
		return err
	}
	failed, err := worker.take()
	if err != nil {
		return err
	}
	// max_retries 3, delay 300, multiplier 2; then once more the first, as a message that is sent by hand again.
	for _, delay := range []time.Duration{300 * time.Millisecond, 600 * time.Millisecond, 1200 * time.Millisecond, 300 * time.Millisecond} {
		d := symfonyRetry(delay)
		if err := s.symfonyFirst(d); err != nil {
			return err
		}
		p, err := s.symfonySend(d, failed.Headers, string(failed.Body))
		if err != nil {
			return err
		}
		if err := failed.Nack(false, false); err != nil {
			return err
		}
		if failed, err = worker.take(); err != nil {
			return err
		}
		if err := failed.symfonyRetried(d, p); err != nil {
			return err
		}
	}
	return errors.Join(failed.Ack(false), worker.wantEmpty(), s.wantReady(symfonyTransport, 0))
}

// symfonyRetried checks a message that comes back from a retry queue. The newest death is the wait in that queue; the
// older ones, which the client sent, RabbitMQ 3 adds to, and RabbitMQ 4 begins anew.
func (l arrival) symfonyRetried(d symfonyDelay, p published) error {
	deaths, _ := l.Headers["x-death"].([]any)
	if len(deaths) == 0 {
		return errors.New("the message came without x-death")
	}
	newest, _ := deaths[0].(amqp.Table)
	if newest["queue"] != d.queue || newest["exchange"] != "delays" || newest["reason"] != "expired" {
		return fmt.Errorf("the newest death is %v, want one in %s", newest, d.queue)
	}
	if series4 && (len(deaths) != 1 || newest["count"] != int64(1)) {
		return fmt.Errorf("deaths that the client sent count: %v", deaths)
	}
	return errors.Join(l.wantCame("", symfonyTransport, `{"amount":5}`), l.wantAfter(d.delay, p))
}

// Broken if a delay queue that is declared again for each message died under them, or outlived its lease after the
// last. The option delay.arguments makes the lease shorter than the ten seconds the transport adds to the delay.
func symfonyRenewsLease(s *session) error {
	worker, err := s.symfonySetup()
	if err != nil {
		return err
	}
	const lease = 1500 * time.Millisecond
	d := symfonyDelayed(200 * time.Millisecond)
	d.arguments["x-expires"] = lease.Milliseconds()
	if err := s.symfonyFirst(d); err != nil {
		return err
	}
	if err := s.redeclare(d.queue, d.arguments); err != nil {
		return err
	}
	born := time.Now()
	life, err := s.sentinel(d.queue)
	if err != nil {
		return err
	}
	var begun, declared time.Time
	for time.Since(born) < lease+200*time.Millisecond {
		begun = time.Now()
		p, err := s.symfonySend(d, nil, "again")
		if err != nil {
			return err
		}
		declared = time.Now()
		l, err := worker.take()
		if err != nil {
			return err
		}
		if err := errors.Join(l.wantCame(symfonyTransport, "", "again"), l.wantAfter(d.delay, p), l.Ack(false)); err != nil {
			return err
		}
	}
	if lives, err := life.lives(); err != nil || !lives {
		return errors.Join(err, errors.New("the queue died although it was declared again"))
	}
	return life.wantGone(lease, begun, declared)
}
