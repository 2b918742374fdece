package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// NServiceBus delays messages with 28 levels, each a topic exchange and a queue of the same name. The queue of level n
// holds a message for 2^n seconds and dead-letters it to the exchange of level n-1. The routing key spells the delay in
// seconds as binary digits, the highest level first, and ends in the endpoint: a 1 leads into a level's queue, a 0 past
// it to the next exchange. After level 0 comes the exchange of the delivery, to which endpoints bind their own.

const nservicebusLevels = 28

// A nservicebusTopology is one generation of that infrastructure.
type nservicebusTopology struct {
	prefix    string     // of all names
	arguments amqp.Table // of every level's queue, besides its TTL and where its messages go
	endpoint  string     // the queue and the fanout exchange of the endpoint that receives
	queue     amqp.Table // the arguments of that queue
}

// nservicebusV2 is what the transport declares since its version 7.
func nservicebusV2() nservicebusTopology {
	return nservicebusTopology{
		prefix: "nsb.v2.",
		arguments: amqp.Table{
			"x-queue-type": "quorum", "x-dead-letter-strategy": "at-least-once", "x-overflow": "reject-publish",
		},
		endpoint: "Interop.Sales", queue: amqp.Table{"x-queue-type": "quorum"},
	}
}

// nservicebusV1 is what versions before that declared.
func nservicebusV1() nservicebusTopology {
	return nservicebusTopology{prefix: "nsb.", arguments: amqp.Table{"x-queue-mode": "lazy"}, endpoint: "Interop.Sales6"}
}

func (t nservicebusTopology) level(n int) string {
	return fmt.Sprintf("%sdelay-level-%02d", t.prefix, n)
}

func (t nservicebusTopology) delivery() string { return t.prefix + "delay-delivery" }

// levelArguments are those of the queue of level n.
func (t nservicebusTopology) levelArguments(n int) amqp.Table {
	next := t.delivery()
	if n > 0 {
		next = t.level(n - 1)
	}
	table := amqp.Table{"x-message-ttl": int64(1) << n * 1000, "x-dead-letter-exchange": next}
	for name, value := range t.arguments {
		table[name] = value
	}
	return table
}

// declare declares all levels, in the order the transport does. Doing it again changes nothing.
func (t nservicebusTopology) declare(s *session) error {
	durable := func(exchange, kind string) error {
		return s.channel.ExchangeDeclare(exchange, kind, true, false, false, false, nil)
	}
	wildcards := ""
	for n := nservicebusLevels - 1; n >= 0; n-- {
		level := t.level(n)
		err := errors.Join(
			durable(level, amqp.ExchangeTopic),
			s.redeclare(level, t.levelArguments(n)),
			s.channel.QueueBind(level, wildcards+"1.#", level, false, nil))
		if err != nil {
			return err
		}
		wildcards += "*."
	}
	wildcards = ""
	for n := nservicebusLevels - 1; n >= 1; n-- {
		if err := s.channel.ExchangeBind(t.level(n-1), wildcards+"0.#", t.level(n), false, nil); err != nil {
			return err
		}
		wildcards += "*."
	}
	return errors.Join(
		durable(t.delivery(), amqp.ExchangeTopic),
		s.channel.ExchangeBind(t.delivery(), wildcards+"0.#", t.level(0), false, nil),
		s.redeclare(t.endpoint, t.queue),
		durable(t.endpoint, amqp.ExchangeFanout),
		s.channel.QueueBind(t.endpoint, "", t.endpoint, false, nil))
}

// clear deletes what may be left of an earlier run, and has it deleted again at the end of this one.
func (t nservicebusTopology) clear(s *session) error {
	names := []string{t.endpoint}
	for n := range nservicebusLevels {
		names = append(names, t.level(n))
	}
	s.queues, s.exchanges = names, append(names, t.delivery())
	return s.clean()
}

// key is the routing key of a message with a delay, and level the exchange it is published to.
func (t nservicebusTopology) key(seconds int) (key string, level int) {
	digits := fmt.Sprintf("%0*b", nservicebusLevels, seconds)
	if first := strings.IndexByte(digits, '1'); first >= 0 {
		level = nservicebusLevels - 1 - first
	}
	return strings.Join(strings.Split(digits, ""), ".") + "." + t.endpoint, level
}

// send publishes as the transport does: it binds the endpoint's exchange to that of the delivery each time.
func (t nservicebusTopology) send(s *session, seconds int) (published, error) {
	if err := s.channel.ExchangeBind(t.endpoint, "#."+t.endpoint, t.delivery(), false, nil); err != nil {
		return published{}, err
	}
	key, level := t.key(seconds)
	p, err := s.publish(t.level(level), key, true, amqp.Publishing{
		DeliveryMode: amqp.Persistent, MessageId: fmt.Sprint("delay-", seconds), Type: "Interop.Messages.Remind", ContentType: "application/json",
		Headers: amqp.Table{
			"NServiceBus.Transport.RabbitMQ.DelayInSeconds": int32(seconds),
			"NServiceBus.Transport.RabbitMQ.ConfirmationId": fmt.Sprint(seconds + 1),
		},
		Body: fmt.Append(nil, seconds),
	})
	if err == nil && !p.acked {
		err = fmt.Errorf("a message with a delay of %d s was refused", seconds)
	}
	return p, err
}

// deaths are the waits of a message with a delay, the newest first.
func (t nservicebusTopology) deaths(seconds int) []death {
	key, first := t.key(seconds)
	var waits []death
	for n := range nservicebusLevels {
		if seconds&(1<<n) == 0 {
			continue
		}
		// A message is published to its first level. It leaves a level for the next, whether that holds it or not.
		exchange, queue := t.level(first), t.level(n)
		for above := n + 1; above <= first; above++ {
			if seconds&(1<<above) != 0 {
				exchange = t.level(above - 1)
				break
			}
		}
		waits = append(waits, death{reason: "expired", queue: queue, exchange: exchange, key: key})
	}
	return waits
}

// wantDelayed checks a message that came after its delay, through all its levels.
func (t nservicebusTopology) wantDelayed(l arrival, seconds int, p published) error {
	key, first := t.key(seconds)
	if l.MessageId != fmt.Sprint("delay-", seconds) {
		return fmt.Errorf("message %q came, want the one with a delay of %d s", l.MessageId, seconds)
	}
	if l.Headers["NServiceBus.Transport.RabbitMQ.DelayInSeconds"] != int32(seconds) {
		return fmt.Errorf("the message came with headers %v", l.Headers)
	}
	if err := l.wantAfter(time.Duration(seconds)*time.Second, p); err != nil {
		return fmt.Errorf("delay of %d s: %w", seconds, err)
	}
	if seconds == 0 {
		return errors.Join(l.wantCame(t.level(first), key, "0"), l.Ack(false))
	}
	// The last wait's queue names the exchange by which the message came.
	waits, last := t.deaths(seconds), t.delivery()
	for n := range nservicebusLevels {
		if seconds&(1<<n) != 0 {
			if n > 0 {
				last = t.level(n - 1)
			}
			break
		}
	}
	return errors.Join(l.wantCame(last, key, fmt.Sprint(seconds)), l.wantDied(p.begun, waits...), l.Ack(false))
}

// check declares all, sends messages with several delays, the longest first, and wants them in the order of the delays.
func (t nservicebusTopology) check(s *session, delays []int) error {
	if err := t.clear(s); err != nil {
		return err
	}
	for range 2 { // a second endpoint that starts declares it all again
		if err := t.declare(s); err != nil {
			return err
		}
	}
	endpoint, err := s.consume(t.endpoint, false)
	if err != nil {
		return err
	}
	sent := make([]published, len(delays))
	for n := len(delays) - 1; n >= 0; n-- {
		if sent[n], err = t.send(s, delays[n]); err != nil {
			return err
		}
	}
	for n, seconds := range delays {
		l, err := endpoint.take()
		if err != nil {
			return err
		}
		if err := t.wantDelayed(l, seconds, sent[n]); err != nil {
			return err
		}
	}
	return errors.Join(endpoint.wantEmpty(), s.wantReady(t.endpoint, 0))
}

// Broken if the 28 quorum queues could not be declared, twice, with TTLs up to four years, if a delay came early, late
// or out of order, or if what a message carries of its waits were wrong.
func nservicebusDelays(s *session) error { return nservicebusV2().check(s, []int{0, 1, 2, 3, 5}) }

// Broken if the same did not work with the older, classic and lazy queues.
func nservicebus6Delays(s *session) error { return nservicebusV1().check(s, []int{0, 1, 3}) }

// Broken if a message whose delay ends before its endpoint has ever been bound were lost, or were not delivered as soon
// as it is: at-least-once holds it in the queue of the last level. RabbitMQ tries again after three minutes only.
func nservicebusHolds(s *session) error {
	t := nservicebusV2()
	if err := errors.Join(t.clear(s), t.declare(s)); err != nil {
		return err
	}
	endpoint, err := s.consume(t.endpoint, false)
	if err != nil {
		return err
	}
	key, level := t.key(1)
	p, err := s.send(t.level(level), key, amqp.Publishing{DeliveryMode: amqp.Persistent, Body: []byte("early bird")})
	if err != nil {
		return err
	}
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for ready := 1; ready > 0; <-look.C {
		if ready, err = s.ready(t.level(level)); err != nil {
			return err
		}
		if time.Since(p.confirmed) > time.Second+lateMax {
			return errors.New("the message did not expire")
		}
	}
	if err := endpoint.wantEmpty(); err != nil {
		return err
	}
	if err := s.channel.ExchangeBind(t.endpoint, "#."+t.endpoint, t.delivery(), false, nil); err != nil {
		return err
	}
	l, err := endpoint.take()
	if err != nil {
		return err
	}
	return errors.Join(
		l.wantCame(t.delivery(), key, "early bird"),
		l.wantDied(p.begun, death{reason: "expired", queue: t.level(level), exchange: t.level(level), key: key}),
		l.Ack(false))
}
