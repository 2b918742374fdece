package main

import (
	"fmt"
	"reflect"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// wantCame fails unless the message came through this exchange with this key and body, for the first time.
func (l arrival) wantCame(exchange, key, body string) error {
	if l.Exchange != exchange || l.RoutingKey != key || string(l.Body) != body || l.Redelivered {
		return fmt.Errorf("came %q by %q with key %q, redelivered %v; want %q by %q with key %q",
			l.Body, l.Exchange, l.RoutingKey, l.Redelivered, body, exchange, key)
	}
	return nil
}

// A death is what a check expects in x-death, apart from the time.
type death struct {
	reason, queue, exchange, key string
	originalExpiration           string // empty: absent
}

// wantDied checks all that the broker writes into a message that died, want being its deaths, the newest
// first. The client keeps the wire types apart: a longstr is a string, a signed 64-bit number an int64, a
// timestamp a time.Time.
func (l arrival) wantDied(since time.Time, want ...death) error {
	deaths, ok := l.Headers["x-death"].([]any)
	if !ok || len(deaths) != len(want) {
		return fmt.Errorf("x-death is %v, want an array of %d", l.Headers["x-death"], len(want))
	}
	for n, w := range want {
		if err := w.check(deaths[n], since); err != nil {
			return fmt.Errorf("x-death, entry %d: %w", n, err)
		}
	}
	if l.Expiration != "" {
		return fmt.Errorf("the dead letter has the expiration %q", l.Expiration)
	}
	return l.wantDeathHeaders(want[len(want)-1], want[0])
}

// check fails unless an entry of x-death is this death, once, after since.
func (d death) check(value any, since time.Time) error {
	entry, ok := value.(amqp.Table)
	if !ok {
		return fmt.Errorf("a %T, want a table", value)
	}
	died, ok := entry["time"].(time.Time)
	if !ok || died.Before(since.Truncate(time.Second)) || died.After(time.Now()) {
		return fmt.Errorf("died at %v, published at %v", entry["time"], since)
	}
	expected := amqp.Table{
		"time": died, "count": int64(1), "reason": d.reason, "queue": d.queue,
		"exchange": d.exchange, "routing-keys": []any{d.key},
	}
	if d.originalExpiration != "" {
		expected["original-expiration"] = d.originalExpiration
	}
	if !reflect.DeepEqual(entry, expected) {
		return fmt.Errorf("it is %#v, want %#v", entry, expected)
	}
	return nil
}

// wantDeathHeaders checks x-first-death-*, and x-last-death-*, which RabbitMQ knows since 3.13, if it is to know those.
func (l arrival) wantDeathHeaders(first, last death) error {
	which := map[string]death{"first": first}
	if series4 {
		which["last"] = last
	}
	for w, d := range which {
		for field, value := range map[string]string{"reason": d.reason, "queue": d.queue, "exchange": d.exchange} {
			name := "x-" + w + "-death-" + field
			if l.Headers[name] != value {
				return fmt.Errorf("%s is %v, want %q", name, l.Headers[name], value)
			}
		}
	}
	return nil
}

// wantAfter fails if the message came before delay had passed since its publication began, or much later than
// delay after its confirm. What is late is generous to a busy machine; never being early is held exactly.
func (l arrival) wantAfter(delay time.Duration, p published) error {
	if early := l.at.Sub(p.begun); early < delay {
		return fmt.Errorf("early: %v after publish, want %v", early, delay)
	}
	if late := l.at.Sub(p.confirmed); late > delay+lateMax {
		return fmt.Errorf("late: %v after the confirm, want %v", late, delay)
	}
	return nil
}
