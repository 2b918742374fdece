package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// delayedExchange declares a delayed exchange that routes by this type, with a queue behind it, and consumes that
// queue.
func (s *session) delayedExchange(kind, key string) (exchange string, arrivals *inbox, err error) {
	exchange = s.prefix + "delayed"
	if err := s.channel.ExchangeDelete(exchange, false, false); err != nil {
		return "", nil, err
	}
	s.exchanges = append(s.exchanges, exchange)
	err = s.channel.ExchangeDeclare(exchange, "x-delayed-message", true, false, false, false, amqp.Table{"x-delayed-type": kind})
	if err != nil {
		return "", nil, err
	}
	work, err := s.queue("work", nil)
	if err != nil {
		return "", nil, err
	}
	if err := s.channel.QueueBind(work, key, exchange, false, nil); err != nil {
		return "", nil, err
	}
	arrivals, err = s.consume(work, true)
	return exchange, arrivals, err
}

// wantDelayed fails unless a message came with this body when its delay was over, with the negated header.
func (l arrival) wantDelayed(exchange, key, body string, delay time.Duration, p published) error {
	if l.Headers["x-delay"] != -delay.Milliseconds() {
		return fmt.Errorf("x-delay is %#v, want int64 %d", l.Headers["x-delay"], -delay.Milliseconds())
	}
	return errors.Join(l.wantCame(exchange, key, body), l.wantAfter(delay, p))
}

// Broken if the command that documents print before they use a delayed exchange failed, or the plugin were not listed.
func delayedPlugin(*session) error {
	plugins, plugin := cmp.Or(os.Getenv("PLUGINS"), "rabbitmq-plugins"), "rabbitmq_delayed_message_exchange"
	if output, err := exec.Command(plugins, "enable", plugin).CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, output)
	}
	list, err := exec.Command(plugins, "list").CombinedOutput()
	if err == nil && !strings.Contains(string(list), "[E*] "+plugin+" ") {
		err = fmt.Errorf("it is not listed as enabled: %s", list)
	}
	return err
}

// Broken if a message was not kept for its delay, whatever the type of the number, or waited for one with a longer
// delay.
func delayedMessages(s *session) error {
	exchange, arrivals, err := s.delayedExchange(amqp.ExchangeTopic, "order.#")
	if err != nil {
		return err
	}
	sent := map[string]published{}
	for body, delay := range map[string]any{"1500": int64(1500), "500": int32(500), "1000": "1000"} {
		sent[body], err = s.send(exchange, "order.42", amqp.Publishing{
			DeliveryMode: amqp.Persistent, Headers: amqp.Table{"x-delay": delay}, Body: []byte(body),
		})
		if err != nil {
			return err
		}
	}
	for _, delay := range []time.Duration{500 * time.Millisecond, time.Second, 1500 * time.Millisecond} {
		l, err := arrivals.take()
		if err != nil {
			return err
		}
		body := fmt.Sprint(delay.Milliseconds())
		if err := l.wantDelayed(exchange, "order.42", body, delay, sent[body]); err != nil {
			return fmt.Errorf("the message of %v: %w", delay, err)
		}
	}
	return arrivals.wantEmpty()
}

// Broken if a consumer could not put off a message that it published anew with a longer delay.
func delayedRetry(s *session) error {
	exchange, arrivals, err := s.delayedExchange(amqp.ExchangeDirect, "task")
	if err != nil {
		return err
	}
	for attempt, delay := range []time.Duration{200 * time.Millisecond, 400 * time.Millisecond, 800 * time.Millisecond} {
		p, err := s.send(exchange, "task", amqp.Publishing{
			Headers: amqp.Table{"x-delay": delay.Milliseconds(), "attempt": int32(attempt)}, Body: []byte("task"),
		})
		if err != nil {
			return err
		}
		l, err := arrivals.take()
		if err != nil {
			return err
		}
		if l.Headers["attempt"] != int32(attempt) {
			return fmt.Errorf("attempt %v came, want %d", l.Headers["attempt"], attempt)
		}
		if err := l.wantDelayed(exchange, "task", "task", delay, p); err != nil {
			return fmt.Errorf("attempt %d: %w", attempt, err)
		}
	}
	return nil
}

// Broken if a mandatory message that is delayed came back: it is not lost, only not routed yet.
func delayedMandatory(s *session) error {
	exchange, arrivals, err := s.delayedExchange(amqp.ExchangeDirect, "task")
	if err != nil {
		return err
	}
	returns := s.channel.NotifyReturn(make(chan amqp.Return, 1))
	p, err := s.publish(exchange, "task", true, amqp.Publishing{Headers: amqp.Table{"x-delay": int32(500)}, Body: []byte("m")})
	if err != nil {
		return err
	}
	if !p.acked {
		return errors.New("a delayed message was refused")
	}
	l, err := arrivals.take()
	if err != nil {
		return err
	}
	select {
	case r := <-returns:
		return fmt.Errorf("returned: %+v", r)
	default:
		return l.wantDelayed(exchange, "task", "m", 500*time.Millisecond, p)
	}
}

// Broken if a delay that means nothing were taken for no delay.
func delayedNonsense(s *session) error {
	exchange, arrivals, err := s.delayedExchange(amqp.ExchangeDirect, "task")
	if err != nil {
		return err
	}
	channel, err := s.connection.Channel()
	if err != nil {
		return err
	}
	closed := channel.NotifyClose(make(chan *amqp.Error, 1))
	if err := channel.Publish(exchange, "task", false, false, amqp.Publishing{Headers: amqp.Table{"x-delay": "soon"}}); err != nil {
		return err
	}
	select {
	case e := <-closed:
		if e == nil || e.Code != amqp.PreconditionFailed || e.Reason != "PRECONDITION_FAILED - invalid x-delay 'soon'" {
			return fmt.Errorf("refused with %v", e)
		}
		return arrivals.wantEmpty()
	case <-time.After(waitMax):
		return fmt.Errorf("not refused within %v", waitMax)
	}
}

// Broken if a message that names the instant of its delivery did not wait in its queue until then.
func deliveryTime(s *session) error {
	work, err := s.queue("work", nil)
	if err != nil {
		return err
	}
	arrivals, err := s.consume(work, true)
	if err != nil {
		return err
	}
	due := time.Now().Add(time.Second).UnixMilli()
	if _, err := s.send("", work, amqp.Publishing{Headers: amqp.Table{"x-opt-delivery-time": due}, Body: []byte("later")}); err != nil {
		return err
	}
	if _, err := s.send("", work, amqp.Publishing{Body: []byte("now")}); err != nil {
		return err
	}
	for _, body := range []string{"now", "later"} {
		l, err := arrivals.take()
		if err != nil {
			return err
		}
		if err := l.wantCame("", work, body); err != nil {
			return err
		}
		if late := l.at.Sub(time.UnixMilli(due)); body == "later" && (late < 0 || late > lateMax) {
			return fmt.Errorf("came %v after its instant", late)
		}
	}
	return nil
}
