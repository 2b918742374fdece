package main

import (
	"errors"
	"fmt"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// What vladimir-yuldashev/laravel-queue-rabbitmq declares and publishes for the queue "default" with the option
// reroute_failed: later() and release() declare a queue for their delay each time, with twice the delay as its lease,
// and publish into it by the default exchange. php-amqplib sends integers as signed 32-bit numbers.

const laravelQueue = "default"

// laravelDelay is the name and the arguments of the queue for a delay.
func laravelDelay(delay time.Duration) (string, amqp.Table) {
	ttl := int32(delay.Milliseconds())
	return fmt.Sprintf("%s.delay.%d", laravelQueue, ttl), amqp.Table{
		"x-dead-letter-exchange":    "",
		"x-dead-letter-routing-key": laravelQueue,
		"x-message-ttl":             ttl,
		"x-expires":                 2 * ttl,
	}
}

// laravelSetup declares the queue of the jobs and that of the failed ones.
func (s *session) laravelSetup() error {
	return errors.Join(
		s.durableQueue(laravelQueue, amqp.Table{"x-dead-letter-exchange": "", "x-dead-letter-routing-key": laravelQueue + ".failed"}),
		s.durableQueue(laravelQueue+".failed", nil))
}

// laravelLater declares the queue for a delay and publishes a job into it. It reports the moments before and after the
// queue was declared.
func (s *session) laravelLater(delay time.Duration, attempts int32, job string) (p published, begun, declared time.Time, err error) {
	queue, arguments := laravelDelay(delay)
	begun = time.Now()
	if err = s.redeclare(queue, arguments); err != nil {
		return p, begun, declared, err
	}
	declared = time.Now()
	returns := s.channel.NotifyReturn(make(chan amqp.Return, 1))
	p, err = s.publish("", queue, true, amqp.Publishing{
		ContentType: "application/json", DeliveryMode: amqp.Persistent, CorrelationId: job,
		Headers: amqp.Table{"laravel": amqp.Table{"attempts": attempts}},
		Body:    fmt.Appendf(nil, `{"id":%q}`, job),
	})
	select {
	case r := <-returns:
		err = errors.Join(err, fmt.Errorf("the job came back: %d %s", r.ReplyCode, r.ReplyText))
	default:
	}
	return p, begun, declared, err
}

// wantJob fails unless the message is a job that waited in its delay queue, and came not early and not late.
func (l arrival) wantJob(delay time.Duration, attempts int32, job string, p published) error {
	queue, _ := laravelDelay(delay)
	meta, _ := l.Headers["laravel"].(amqp.Table)
	if l.CorrelationId != job || meta["attempts"] != attempts {
		return fmt.Errorf("job %q came with headers %v, want %q after %d attempts", l.CorrelationId, l.Headers, job, attempts)
	}
	return errors.Join(
		l.wantCame("", laravelQueue, fmt.Sprintf(`{"id":%q}`, job)),
		l.wantDied(p.begun, death{reason: "expired", queue: queue, key: queue}),
		l.wantAfter(delay, p))
}

// Broken if a delayed job came early or late; if its queue died although the next job declared it again, or outlived
// its lease after the last. The second job is due when the lease of the first would have ended.
func laravelDelays(s *session) error {
	const delay = time.Second
	if err := s.laravelSetup(); err != nil {
		return err
	}
	worker, err := s.consume(laravelQueue, false)
	if err != nil {
		return err
	}
	queue, arguments := laravelDelay(delay)
	if err := s.durableQueue(queue, arguments); err != nil {
		return err
	}
	life, err := s.sentinel(queue)
	if err != nil {
		return err
	}
	var begun, declared time.Time
	for _, job := range []string{"first", "second"} {
		var p published
		if p, begun, declared, err = s.laravelLater(delay, 0, job); err != nil {
			return err
		}
		l, err := worker.take()
		if err != nil {
			return err
		}
		if err := errors.Join(l.wantJob(delay, 0, job, p), l.Ack(false)); err != nil {
			return err
		}
	}
	if lives, err := life.lives(); err != nil || !lives {
		return errors.Join(err, errors.New("the queue died although it was declared again"))
	}
	return life.wantGone(2*delay, begun, declared)
}

// Broken if a job that is released again and again, each time by a new message, did not come back after each delay, or
// if one that failed for good did not end in the queue of the failed ones.
func laravelReleasesAndFails(s *session) error {
	if err := s.laravelSetup(); err != nil {
		return err
	}
	worker, err := s.consume(laravelQueue, false)
	if err != nil {
		return err
	}
	var l arrival
	var p published
	for n, delay := range []time.Duration{400 * time.Millisecond, 800 * time.Millisecond, 400 * time.Millisecond} {
		queue, arguments := laravelDelay(delay)
		if n < 2 {
			err = s.durableQueue(queue, arguments)
		}
		if err != nil {
			return err
		}
		if p, _, _, err = s.laravelLater(delay, int32(n), "invoice"); err != nil {
			return err
		}
		if n > 0 {
			err = l.Ack(false)
		}
		if err != nil {
			return err
		}
		if l, err = worker.take(); err != nil {
			return err
		}
		if err := l.wantJob(delay, int32(n), "invoice", p); err != nil {
			return err
		}
	}
	if err := l.Reject(false); err != nil {
		return err
	}
	failed, err := s.consume(laravelQueue+".failed", true)
	if err != nil {
		return err
	}
	if l, err = failed.take(); err != nil {
		return err
	}
	waited, _ := laravelDelay(400 * time.Millisecond)
	return errors.Join(
		l.wantCame("", laravelQueue+".failed", `{"id":"invoice"}`),
		l.wantDied(p.begun,
			death{reason: "rejected", queue: laravelQueue, key: laravelQueue},
			death{reason: "expired", queue: waited, key: waited}),
		s.wantReady(laravelQueue, 0))
}

// Broken if a delay queue could not be declared again with integers of another width, which a client in another
// language sends, or could be with another lease or target, silently.
func laravelOtherArguments(s *session) error {
	queue, arguments := laravelDelay(time.Minute)
	if err := s.durableQueue(queue, arguments); err != nil {
		return err
	}
	wide := amqp.Table{}
	for name, value := range arguments {
		if n, ok := value.(int32); ok {
			value = int64(n)
		}
		wide[name] = value
	}
	if err := s.redeclare(queue, wide); err != nil {
		return fmt.Errorf("with 64-bit integers: %w", err)
	}
	for name, value := range map[string]any{"x-expires": int32(60_000), "x-message-ttl": int32(1), "x-dead-letter-routing-key": "other"} {
		other := amqp.Table{}
		for n, v := range arguments {
			other[n] = v
		}
		other[name] = value
		channel, err := s.connection.Channel()
		if err != nil {
			return err
		}
		_, err = channel.QueueDeclare(queue, true, false, false, false, other)
		var refused *amqp.Error
		if !errors.As(err, &refused) || refused.Code != amqp.PreconditionFailed {
			return fmt.Errorf("with another %s: %v, want 406", name, err)
		}
	}
	return nil
}
