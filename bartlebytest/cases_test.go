package bartlebytest_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/rabbitmq/amqp091-go"

	"github.com/bartleby-mq/bartleby/bartlebytest"
)

const day = 24 * time.Hour

// advance moves the clock by d: a millisecond before that nothing is in the queue, then one message is.
func (c client) advance(b *bartlebytest.Broker, d time.Duration, queue string) {
	c.t.Helper()
	b.Advance(d - time.Millisecond)
	if n := c.count(queue); n != 0 {
		c.t.Fatalf("%d messages in %s a millisecond early, after %v", n, queue, d)
	}
	b.Advance(time.Millisecond)
	if n := c.count(queue); n != 1 {
		c.t.Fatalf("%d messages in %s after %v, want 1", n, queue, d)
	}
}

// If this fails, an unpaid order is not cancelled after exactly 15 minutes, or a paid one
// is cancelled.
func TestOrderCancelledAfter15Minutes(t *testing.T) {
	t.Parallel()
	b := bartlebytest.Start(t)
	c := connect(t, b)
	c.queue("orders.cancel", nil)
	c.queue("orders.unpaid", deadLettersTo("orders.cancel", 15*60*1000))
	c.publish("", "orders.unpaid", "order 42", nil)
	c.publish("", "orders.unpaid", "order 43", nil)
	b.Advance(10 * time.Minute)
	c.ack(c.get("orders.unpaid", "order 42")) // paid
	c.advance(b, 5*time.Minute, "orders.cancel")
	m := c.get("orders.cancel", "order 43")
	death := m.Headers["x-death"].([]any)[0].(amqp091.Table)
	if death["reason"] != "expired" || death["queue"] != "orders.unpaid" || !death["time"].(time.Time).Equal(b.Now().Truncate(time.Second)) {
		t.Errorf("the death is %v", death)
	}
}

// If this fails, a reminder three days before a membership ends arrives at another time, through a delayed exchange or
// by an absolute delivery time.
func TestReminderThreeDaysBefore(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"delay", "instant"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			b := bartlebytest.Start(t)
			c := connect(t, b)
			if err := c.ch.ExchangeDeclare("later", "x-delayed-message", true, false, false, false, amqp091.Table{"x-delayed-type": "direct"}); err != nil {
				t.Fatal(err)
			}
			c.queue("reminders", nil)
			if err := c.ch.QueueBind("reminders", "remind", "later", false, nil); err != nil {
				t.Fatal(err)
			}
			ends := b.Now().Add(365 * day)
			if way == "delay" {
				c.publish("later", "remind", "three days left", amqp091.Table{"x-delay": (362 * day).Milliseconds()})
			} else {
				c.publish("", "reminders", "three days left", amqp091.Table{"x-opt-delivery-time": ends.Add(-3 * day).UnixMilli()})
			}
			b.Advance(362*day - time.Millisecond)
			if _, ok, err := c.ch.Get("reminders", true); ok || err != nil {
				t.Fatalf("a millisecond early: %v, %v", ok, err)
			}
			b.Advance(time.Millisecond)
			c.get("reminders", "three days left")
			if left := ends.Sub(b.Now()); left != 3*day {
				t.Errorf("%v are left", left)
			}
		})
	}
}

// If this fails, a failed task is not retried after 10 minutes, 30 minutes and an hour, through a queue for each
// delay.
func TestRetriesThroughQueues(t *testing.T) {
	t.Parallel()
	climb(t, []time.Duration{10 * time.Minute, 30 * time.Minute, time.Hour})
}

// If this fails, a retry ladder of 30 days cannot be tested.
func TestLadderOf30Days(t *testing.T) {
	t.Parallel()
	climb(t, []time.Duration{time.Hour, 23 * time.Hour, 2 * day, 4 * day, 8 * day, 15 * day})
}

// climb lets a task fail until it has waited in a queue for each wait.
func climb(t *testing.T, waits []time.Duration) {
	t.Helper()
	b := bartlebytest.Start(t)
	c := connect(t, b)
	c.queue("tasks", nil)
	for i, w := range waits {
		c.queue("retry."+strconv.Itoa(i), deadLettersTo("tasks", w.Milliseconds()))
	}
	begun := b.Now()
	c.publish("", "tasks", "task", nil)
	var all time.Duration
	for i, w := range waits {
		m := c.get("tasks", "task")
		c.publish("", "retry."+strconv.Itoa(i), "task", m.Headers)
		c.ack(m)
		c.advance(b, w, "tasks")
		all += w
	}
	if passed := b.Now().Sub(begun); passed != all {
		t.Errorf("%v have passed, want %v", passed, all)
	}
	c.ack(c.get("tasks", "task"))
}

// If this fails, a returned task does not wait 10 minutes, 30 minutes and an hour, or is not a dead
// letter after the last attempt.
func TestRetriesByLadder(t *testing.T) {
	t.Parallel()
	b := bartlebytest.Start(t)
	c := connect(t, b)
	c.queue("failed", nil)
	args := deadLettersTo("failed", 0)
	args["x-delayed-retry-type"], args["x-delayed-retry-steps"], args["x-delayed-retry-attempts"] = "all", "10m,30m,1h", 3
	c.queue("tasks", args)
	c.publish("", "tasks", "task", nil)
	for _, w := range []time.Duration{10 * time.Minute, 30 * time.Minute, time.Hour} {
		c.nack(c.get("tasks", "task"))
		b.Advance(w - time.Millisecond)
		if _, ok, err := c.ch.Get("tasks", true); ok || err != nil {
			t.Fatalf("a millisecond before %v: %v, %v", w, ok, err)
		}
		b.Advance(time.Millisecond)
	}
	c.nack(c.get("tasks", "task"))
	if m := c.get("failed", "task"); m.Headers["x-first-death-reason"] != "delivery_limit" {
		t.Errorf("the headers are %v", m.Headers)
	}
}

// If this fails, Advance returns before all due events have happened, or they happen in another order than they were
// due, on one run in two hundred.
func TestAdvanceWaitsForAll(t *testing.T) {
	t.Parallel()
	const runs, each = 200, 20
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	b := bartlebytest.Start(t)
	c := connect(t, b)
	if err := c.ch.ExchangeDeclare("later", "x-delayed-message", true, false, false, false, amqp091.Table{"x-delayed-type": "direct"}); err != nil {
		t.Fatal(err)
	}
	c.queue("got", nil)
	c.queue("told", nil)
	c.queue("second", deadLettersTo("got", time.Minute.Milliseconds())) // what comes here dies a second time
	if err := c.ch.QueueBind("got", "got", "later", false, nil); err != nil {
		t.Fatal(err)
	}
	if err := c.ch.QueueBind("told", "got", "later", false, nil); err != nil {
		t.Fatal(err)
	}
	c.queue("first", deadLettersTo("second", 0))
	told, err := c.ch.Consume("told", "", true, false, false, false, nil)
	if err != nil {
		t.Fatal(err)
	}
	for run := range runs {
		due := make([]string, 0, each) // bodies by their instants, which are all different
		for place, ms := range rnd.Perm(each) {
			body := fmt.Sprintf("%d.%02d", run, ms)
			wait := time.Minute + time.Duration(ms)*time.Second
			if place%2 == 0 {
				c.publish("later", "got", body, amqp091.Table{"x-delay": wait.Milliseconds()})
				continue
			}
			confirm, err := c.ch.PublishWithDeferredConfirm("", "first", false, false, amqp091.Publishing{
				Body: []byte(body), DeliveryMode: amqp091.Persistent, Expiration: strconv.FormatInt((wait - time.Minute).Milliseconds(), 10),
			})
			if err != nil || !confirm.Wait() {
				t.Fatal("not confirmed", err)
			}
		}
		for ms := range each {
			due = append(due, fmt.Sprintf("%d.%02d", run, ms))
		}
		b.Advance(time.Minute - time.Millisecond)
		if n := c.count("got"); n != 0 {
			t.Fatalf("seed %d, run %d: %d messages early", seed, run, n)
		}
		b.Advance(each * time.Second)
		for _, body := range due {
			m, ok, err := c.ch.Get("got", true)
			if err != nil || !ok || string(m.Body) != body {
				t.Fatalf("seed %d, run %d: got %q, found: %v, error %v; want %q", seed, run, m.Body, ok, err, body)
			}
		}
		for range each / 2 {
			select {
			case <-told:
			case <-time.After(10 * time.Second):
				t.Fatalf("seed %d, run %d: a due message is not on its way to its consumer", seed, run)
			}
		}
	}
}
