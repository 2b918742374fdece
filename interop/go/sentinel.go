package main

import (
	"errors"
	"fmt"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// A sentinel tells when a queue is deleted and does not prolong its life, as looking at the queue itself would: an
// exchange that is deleted with its last binding, which is the queue's.
type sentinel struct {
	connection *amqp.Connection
	exchange   string
}

func (s *session) sentinel(queue string) (sentinel, error) {
	exchange := s.prefix + "sentinel." + queue
	if err := s.channel.ExchangeDelete(exchange, false, false); err != nil {
		return sentinel{}, err
	}
	s.exchanges = append(s.exchanges, exchange)
	if err := s.channel.ExchangeDeclare(exchange, amqp.ExchangeFanout, false, true, false, false, nil); err != nil {
		return sentinel{}, err
	}
	return sentinel{s.connection, exchange}, s.channel.QueueBind(queue, "", exchange, false, nil)
}

// lives tells whether the queue is still there.
func (n sentinel) lives() (bool, error) {
	channel, err := n.connection.Channel()
	if err != nil {
		return false, err
	}
	err = channel.ExchangeDeclarePassive(n.exchange, amqp.ExchangeFanout, false, true, false, false, nil)
	var refused *amqp.Error
	if errors.As(err, &refused) && refused.Code == amqp.NotFound {
		return false, nil
	}
	return err == nil, errors.Join(err, channel.Close())
}

// wantGone waits until the queue is deleted and fails if that is earlier than lease after begun, the moment before it
// was declared for the last time, or much later than lease after declared, the moment after.
func (n sentinel) wantGone(lease time.Duration, begun, declared time.Time) error {
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for {
		lives, err := n.lives()
		if err != nil {
			return err
		}
		now := time.Now()
		switch {
		case !lives && now.Sub(begun) < lease:
			return fmt.Errorf("the queue has gone %v after its last declaration, want %v", now.Sub(begun), lease)
		case !lives:
			return nil
		case now.Sub(declared) > lease+lateMax:
			return fmt.Errorf("the queue is there %v after its last declaration, want %v", now.Sub(declared), lease)
		}
		<-look.C
	}
}
