package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

const (
	waitMax = 10 * time.Second // for anything that should come at once
	lateMax = 1500 * time.Millisecond
)

// A session is one connection with a channel in confirm mode, and the names that were declared through it.
type session struct {
	connection *amqp.Connection
	channel    *amqp.Channel
	prefix     string
	queues     []string
	exchanges  []string
}

func newSession(connection *amqp.Connection, name string) (*session, error) {
	channel, err := connection.Channel()
	if err != nil {
		return nil, fmt.Errorf("open a channel: %w", err)
	}
	if err := channel.Confirm(false); err != nil {
		return nil, fmt.Errorf("confirm mode: %w", err)
	}
	prefix := "interop.go." + strings.ReplaceAll(strings.ToLower(name), " ", "-") + "."
	return &session{connection: connection, channel: channel, prefix: prefix}, nil
}

// clean deletes what was declared, on a channel of its own.
func (s *session) clean() error {
	channel, err := s.connection.Channel()
	if err != nil {
		return err
	}
	for _, name := range s.queues {
		if _, err := channel.QueueDelete(name, false, false, false); err != nil {
			return err
		}
	}
	for _, name := range s.exchanges {
		if err := channel.ExchangeDelete(name, false, false); err != nil {
			return err
		}
	}
	return channel.Close()
}

// queue declares a queue that is not durable, in place of what an earlier run may have left.
func (s *session) queue(name string, arguments amqp.Table) (string, error) {
	name = s.prefix + name
	if _, err := s.channel.QueueDelete(name, false, false, false); err != nil {
		return "", err
	}
	s.queues = append(s.queues, name)
	_, err := s.channel.QueueDeclare(name, false, false, false, false, arguments)
	return name, err
}

func (s *session) exchange(name, kind string) (string, error) {
	name = s.prefix + name
	if err := s.channel.ExchangeDelete(name, false, false); err != nil {
		return "", err
	}
	s.exchanges = append(s.exchanges, name)
	return name, s.channel.ExchangeDeclare(name, kind, false, false, false, false, nil)
}

// durableQueue declares a durable queue of exactly this name, as frameworks do, in place of what may be left of it.
func (s *session) durableQueue(name string, arguments amqp.Table) error {
	if _, err := s.channel.QueueDelete(name, false, false, false); err != nil {
		return err
	}
	s.queues = append(s.queues, name)
	return s.redeclare(name, arguments)
}

// redeclare declares a durable queue again, which must change nothing, or once more if it has expired meanwhile.
func (s *session) redeclare(name string, arguments amqp.Table) error {
	_, err := s.channel.QueueDeclare(name, true, false, false, false, arguments)
	return err
}

// durableExchange declares a durable exchange of exactly this name in place of what may be left of it.
func (s *session) durableExchange(name, kind string) error {
	if err := s.channel.ExchangeDelete(name, false, false); err != nil {
		return err
	}
	s.exchanges = append(s.exchanges, name)
	return s.channel.ExchangeDeclare(name, kind, true, false, false, false, nil)
}

// deadLetterQueue declares a topic exchange with a queue behind it that takes every key, and consumes that queue.
func (s *session) deadLetterQueue() (dlx string, arrivals *inbox, err error) {
	dlx, err = s.exchange("dlx", amqp.ExchangeTopic)
	if err != nil {
		return "", nil, err
	}
	dead, err := s.queue("dead", nil)
	if err != nil {
		return "", nil, err
	}
	if err := s.channel.QueueBind(dead, "#", dlx, false, nil); err != nil {
		return "", nil, err
	}
	arrivals, err = s.consume(dead, true)
	return dlx, arrivals, err
}

// published tells when a message was sent and when the broker had it.
type published struct {
	begun, confirmed time.Time
	acked            bool
}

// publish sends one message and waits for its confirm.
func (s *session) publish(exchange, key string, mandatory bool, message amqp.Publishing) (published, error) {
	ctx, cancel := context.WithTimeout(context.Background(), waitMax)
	defer cancel()
	begun := time.Now()
	confirm, err := s.channel.PublishWithDeferredConfirmWithContext(ctx, exchange, key, mandatory, false, message)
	if err != nil {
		return published{}, fmt.Errorf("publish: %w", err)
	}
	acked, err := confirm.WaitContext(ctx)
	if err != nil {
		return published{}, fmt.Errorf("wait for the confirm: %w", err)
	}
	return published{begun: begun, confirmed: time.Now(), acked: acked}, nil
}

// send publishes a message that must be confirmed.
func (s *session) send(exchange, key string, message amqp.Publishing) (published, error) {
	p, err := s.publish(exchange, key, false, message)
	if err == nil && !p.acked {
		err = errors.New("the broker refused the message")
	}
	return p, err
}

// ready is how many messages a queue would deliver now.
func (s *session) ready(queue string) (int, error) {
	q, err := s.channel.QueueDeclarePassive(queue, false, false, false, false, nil)
	return q.Messages, err
}

// wantReady fails unless a queue would deliver n messages now.
func (s *session) wantReady(queue string, n int) error {
	got, err := s.ready(queue)
	if err == nil && got != n {
		err = fmt.Errorf("%s has %d messages ready, want %d", queue, got, n)
	}
	return err
}

// An inbox is what one consumer receives.
type inbox struct {
	tag        string // of the consumer
	deliveries <-chan amqp.Delivery
}

// A arrival is a delivery and the moment this program had it.
type arrival struct {
	amqp.Delivery
	at time.Time
}

func (s *session) consume(queue string, autoAck bool) (*inbox, error) {
	tag := s.prefix + queue
	deliveries, err := s.channel.Consume(queue, tag, autoAck, false, false, false, nil)
	return &inbox{tag, deliveries}, err
}

// take waits for the next message.
func (b *inbox) take() (arrival, error) {
	select {
	case d, ok := <-b.deliveries:
		if !ok {
			return arrival{}, errors.New("the consumer has ended")
		}
		return arrival{d, time.Now()}, nil
	case <-time.After(waitMax):
		return arrival{}, fmt.Errorf("no message within %v", waitMax)
	}
}

// wantEmpty fails if something came that nobody took.
func (b *inbox) wantEmpty() error {
	select {
	case d, ok := <-b.deliveries:
		if ok {
			return fmt.Errorf("one message too many: %q", d.Body)
		}
	default:
	}
	return nil
}
