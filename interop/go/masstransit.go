package main

import (
	"errors"
	"fmt"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// What MassTransit declares for a receive endpoint: a fanout exchange for the type of a message, bound to a fanout
// exchange of the endpoint, bound to the queue of that name. Messages that fail, and those no consumer knows, the
// client moves itself: it publishes them to NAME_error or NAME_skipped with headers about the fault, and acknowledges
// them.
//
// For delayed redelivery, and for what is scheduled, it publishes to NAME_delay, an exchange of the type
// x-delayed-message to which that of the endpoint is bound.

const (
	masstransitMessage  = "Interop.Contracts:SubmitOrder"
	masstransitEndpoint = "submit-order"
	masstransitBody     = `{"messageType":["urn:message:Interop.Contracts:SubmitOrder"],"message":{"orderId":42}}`
)

// masstransitPair declares an exchange and the queue of the same name behind it.
func (s *session) masstransitPair(name string, arguments amqp.Table) error {
	return errors.Join(
		s.durableExchange(name, amqp.ExchangeFanout),
		s.durableQueue(name, arguments),
		s.channel.QueueBind(name, "", name, false, nil))
}

// masstransitSetup declares the endpoint with these arguments of its queue, and consumes it.
func (s *session) masstransitSetup(arguments amqp.Table) (*inbox, error) {
	err := errors.Join(
		s.durableExchange(masstransitMessage, amqp.ExchangeFanout),
		s.masstransitPair(masstransitEndpoint, arguments),
		s.channel.ExchangeBind(masstransitEndpoint, "", masstransitMessage, false, nil),
		s.channel.Qos(16, 0, false))
	if err != nil {
		return nil, err
	}
	return s.consume(masstransitEndpoint, false)
}

// masstransitPublish publishes a message as the client does, and takes it from the endpoint.
func (s *session) masstransitPublish(endpoint *inbox, expiration string) (arrival, error) {
	_, err := s.send(masstransitMessage, "", amqp.Publishing{
		ContentType: "application/vnd.masstransit+json", DeliveryMode: amqp.Persistent, MessageId: "9a3e0000-5d1c-0015-1b3a-08dc0a5e7f01",
		Expiration: expiration, Headers: amqp.Table{"publishId": "1"}, Body: []byte(masstransitBody),
	})
	if err != nil {
		return arrival{}, err
	}
	l, err := endpoint.take()
	if err != nil {
		return arrival{}, err
	}
	return l, l.wantCame(masstransitMessage, "", masstransitBody)
}

// masstransitMove declares the queue for such messages with the arguments of the endpoint's, publishes the message to
// it, mandatory, with more headers, and acknowledges the original when that is confirmed.
func (s *session) masstransitMove(l arrival, to string, arguments amqp.Table, expiration string, more amqp.Table) error {
	if err := s.masstransitPair(to, arguments); err != nil {
		return err
	}
	headers := amqp.Table{"MT-Host-MachineName": "interop"}
	for _, table := range []amqp.Table{l.Headers, more} {
		for name, value := range table {
			headers[name] = value
		}
	}
	p, err := s.publish(to, l.RoutingKey, true, amqp.Publishing{
		ContentType: l.ContentType, DeliveryMode: l.DeliveryMode, MessageId: l.MessageId, Expiration: expiration, Headers: headers, Body: l.Body,
	})
	if err == nil && !p.acked {
		err = fmt.Errorf("%s refused the message", to)
	}
	return errors.Join(err, l.Ack(false))
}

// wantMoved fails unless one message lies in a queue as it was moved there, and none in the endpoint's.
func (s *session) wantMoved(to, expiration string, more amqp.Table) error {
	moved, err := s.consume(to, true)
	if err != nil {
		return err
	}
	l, err := moved.take()
	if err != nil {
		return err
	}
	more["publishId"] = "1"
	for name, value := range more {
		if l.Headers[name] != value {
			return fmt.Errorf("header %s is %v, want %v", name, l.Headers[name], value)
		}
	}
	if l.Expiration != expiration || l.ContentType != "application/vnd.masstransit+json" || l.DeliveryMode != amqp.Persistent {
		return fmt.Errorf("properties changed: %+v", l.Delivery)
	}
	return errors.Join(l.wantCame(to, "", masstransitBody), moved.wantEmpty(), s.wantReady(masstransitEndpoint, 0))
}

// Broken if a message that failed did not end in the error queue, a quorum queue as its source, with the headers of the
// fault and without the expiration of the original, which would end it there.
func masstransitMovesFaults(s *session) error {
	quorum := amqp.Table{"x-queue-type": "quorum", "x-quorum-initial-group-size": int32(1)}
	endpoint, err := s.masstransitSetup(quorum)
	if err != nil {
		return err
	}
	l, err := s.masstransitPublish(endpoint, "30000")
	if err != nil {
		return err
	}
	fault := amqp.Table{
		"MT-Reason": "fault", "MT-Fault-ExceptionType": "System.InvalidOperationException", "MT-Fault-Message": "no such customer",
		"MT-Fault-Timestamp": time.Now().UTC().Format(time.RFC3339Nano), "MT-Fault-RetryCount": "2",
		"MT-Fault-StackTrace": fmt.Sprintf("   at Interop.Consumer.Consume() in %0600d", 1),
	}
	to := masstransitEndpoint + "_error"
	if err := s.masstransitMove(l, to, quorum, "", fault); err != nil {
		return err
	}
	return s.wantMoved(to, "", fault)
}

// Broken if a message that no consumer knows did not end in the queue of the skipped ones, with its expiration.
func masstransitSkips(s *session) error {
	endpoint, err := s.masstransitSetup(nil)
	if err != nil {
		return err
	}
	l, err := s.masstransitPublish(endpoint, "30000")
	if err != nil {
		return err
	}
	to, reason := masstransitEndpoint+"_skipped", amqp.Table{"MT-Reason": "dead-letter"}
	if err := s.masstransitMove(l, to, nil, "30000", reason); err != nil {
		return err
	}
	return s.wantMoved(to, "30000", reason)
}

// Broken if the broker did not dead-letter for an endpoint with BindDeadLetterQueue: what is rejected, and requests
// that nobody took before their time to live ended.
func masstransitDeadLetterQueue(s *session) error {
	dlx := masstransitEndpoint + "_dlx"
	if err := s.masstransitPair(dlx, nil); err != nil {
		return err
	}
	endpoint, err := s.masstransitSetup(amqp.Table{"x-dead-letter-exchange": dlx})
	if err != nil {
		return err
	}
	dead, err := s.consume(dlx, true)
	if err != nil {
		return err
	}
	begun := time.Now()
	l, err := s.masstransitPublish(endpoint, "")
	if err != nil {
		return err
	}
	if err := l.Reject(false); err != nil {
		return err
	}
	if l, err = dead.take(); err != nil {
		return err
	}
	rejected := death{reason: "rejected", queue: masstransitEndpoint, exchange: masstransitMessage}
	if err := errors.Join(l.wantCame(dlx, "", masstransitBody), l.wantDied(begun, rejected)); err != nil {
		return err
	}

	if err := s.channel.Cancel(endpoint.tag, false); err != nil {
		return err
	}
	p, err := s.send(masstransitMessage, "", amqp.Publishing{Expiration: "300", Body: []byte("request")})
	if err != nil {
		return err
	}
	if l, err = dead.take(); err != nil {
		return err
	}
	expired := death{reason: "expired", queue: masstransitEndpoint, exchange: masstransitMessage, originalExpiration: "300"}
	return errors.Join(
		l.wantCame(dlx, "", "request"), l.wantDied(p.begun, expired), l.wantAfter(300*time.Millisecond, p),
		dead.wantEmpty())
}

// Broken if a message that a quorum endpoint gives back, for its transport failed, came without the number of its
// deliveries, by which MassTransit knows that it is redelivered.
func masstransitQuorumRedelivery(s *session) error {
	endpoint, err := s.masstransitSetup(amqp.Table{"x-queue-type": "quorum"})
	if err != nil {
		return err
	}
	l, err := s.masstransitPublish(endpoint, "")
	if err != nil {
		return err
	}
	if l.Headers["x-delivery-count"] != nil {
		return fmt.Errorf("the first delivery has the delivery count %v", l.Headers["x-delivery-count"])
	}
	for n := range int64(3) {
		if err := l.Nack(false, true); err != nil {
			return err
		}
		if l, err = endpoint.take(); err != nil {
			return err
		}
		if l.Headers["x-delivery-count"] != n+1 || !l.Redelivered {
			return fmt.Errorf("delivery count %v, redelivered %v; want %d, true", l.Headers["x-delivery-count"], l.Redelivered, n+1)
		}
	}
	return errors.Join(l.Ack(false), endpoint.wantEmpty(), s.wantReady(masstransitEndpoint, 0))
}

// Broken if a message that an endpoint put off came back early, late, or not through the exchange of the delay.
func masstransitDelayedRedelivery(s *session) error {
	endpoint, err := s.masstransitSetup(nil)
	if err != nil {
		return err
	}
	l, err := s.masstransitPublish(endpoint, "")
	if err != nil {
		return err
	}
	later := masstransitEndpoint + "_delay"
	if err := s.channel.ExchangeDelete(later, false, false); err != nil {
		return err
	}
	s.exchanges = append(s.exchanges, later)
	for n := range int32(3) {
		// It declares both anew for each endpoint to which it sends, which must change nothing.
		err := errors.Join(
			s.channel.ExchangeDeclare(later, "x-delayed-message", true, false, false, false, amqp.Table{"x-delayed-type": "fanout"}),
			s.channel.ExchangeBind(masstransitEndpoint, "", later, false, nil))
		if err != nil {
			return err
		}
		delay := time.Duration(n+1) * 300 * time.Millisecond
		headers := l.Headers
		headers["MT-Redelivery-Count"], headers["x-delay"] = n+1, delay.Milliseconds()
		p, err := s.send(later, "", amqp.Publishing{
			ContentType: l.ContentType, DeliveryMode: l.DeliveryMode, MessageId: l.MessageId, Headers: headers, Body: l.Body,
		})
		if err := errors.Join(err, l.Ack(false)); err != nil {
			return err
		}
		if l, err = endpoint.take(); err != nil {
			return err
		}
		if l.Headers["MT-Redelivery-Count"] != n+1 || l.Headers["publishId"] != "1" {
			return fmt.Errorf("redelivery %d came with the headers %v", n+1, l.Headers)
		}
		if err := l.wantDelayed(later, "", masstransitBody, delay, p); err != nil {
			return fmt.Errorf("redelivery %d: %w", n+1, err)
		}
	}
	return errors.Join(l.Ack(false), endpoint.wantEmpty(), s.wantReady(masstransitEndpoint, 0))
}
