//go:build linux

package crashtest

import (
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"
)

// If this fails, clients can see the death of a persistent message before its dead letter in a durable queue is on the
// disk.
func TestKillVolatileToDurable(t *testing.T) {
	t.Parallel()
	to := func(queue string, more amqp.Table) amqp.Table {
		args := amqp.Table{"x-dead-letter-exchange": "", "x-dead-letter-routing-key": queue}
		for k, v := range more {
			args[k] = v
		}
		return args
	}
	// Each way ends when a client has seen the death of one persistent message, "dying".
	for _, way := range []struct {
		name, reason, queue string // of the death before which the message was in the durable queue
		die                 func(t *testing.T, ch *amqp.Channel)
	}{
		{"reject", "rejected", "source", func(t *testing.T, ch *amqp.Channel) {
			declare(t, ch, "source", false, to("dead", nil))
			publish(t, ch, "source", []byte("dying"))
			reject(t, ch, "source")
			awaitCount(t, ch, "dead")
		}},
		{"maxlen", "maxlen", "source", func(t *testing.T, ch *amqp.Channel) {
			declare(t, ch, "source", false, to("dead", amqp.Table{"x-max-length": 1}))
			publish(t, ch, "source", []byte("dying"), []byte("successor"))
			awaitCount(t, ch, "dead")
		}},
		{"expire", "expired", "source", func(t *testing.T, ch *amqp.Channel) {
			declare(t, ch, "source", false, to("dead", amqp.Table{"x-message-ttl": 10}))
			publish(t, ch, "source", []byte("dying"))
			awaitDelivery(t, ch, "dead")
		}},
		{"two hops", "expired", "middle", func(t *testing.T, ch *amqp.Channel) {
			declare(t, ch, "middle", false, to("dead", amqp.Table{"x-message-ttl": 1}))
			declare(t, ch, "source", false, to("middle", nil))
			publish(t, ch, "source", []byte("dying"))
			reject(t, ch, "source")
			awaitDelivery(t, ch, "dead")
		}},
	} {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			b := start(t, dir)
			ch := b.channel()
			declare(t, ch, "dead", true, nil)
			way.die(t, ch)
			b.kill()

			b = start(t, dir)
			ch = b.channel()
			d, ok, err := ch.Get("dead", false)
			must(t, err)
			if !ok || string(d.Body) != "dying" {
				t.Fatalf("got %v %q, want the dead letter", ok, d.Body)
			}
			s := shape{name: way.queue, reason: way.reason}
			d.Headers["x-death"] = d.Headers["x-death"].([]any)[:1]
			if wrong := s.wrongDeath(&d); wrong != "" {
				t.Error(wrong)
			}
			if n := depth(t, ch, "dead"); n != 0 {
				t.Errorf("%d more dead letters", n)
			}
			_, err = ch.QueueDeclarePassive("source", false, false, false, false, nil)
			refusal(t, err, amqp.NotFound)
		})
	}
}

func reject(t testing.TB, ch *amqp.Channel, queue string) {
	t.Helper()
	d, ok, err := ch.Get(queue, false)
	must(t, err)
	if !ok {
		t.Fatalf("nothing in %s", queue)
	}
	must(t, d.Nack(false, false))
}

// awaitCount asks once: what died before the question must be in the answer.
func awaitCount(t testing.TB, ch *amqp.Channel, queue string) {
	t.Helper()
	if n := depth(t, ch, queue); n != 1 {
		t.Fatalf("%d messages in %s, want 1", n, queue)
	}
}

func awaitDelivery(t testing.TB, ch *amqp.Channel, queue string) {
	t.Helper()
	deliveries, err := ch.Consume(queue, "", false, false, false, false, nil)
	must(t, err)
	await(t, "the dead letter", deliveries)
}
