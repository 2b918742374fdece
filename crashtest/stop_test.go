//go:build linux

package crashtest

import (
	"fmt"
	"strings"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"
)

// If this fails, a broker that is stopped cleanly loses messages, keeps transient data, or does not close the
// connections of its clients with a reason.
func TestCleanStop(t *testing.T) {
	t.Parallel()
	const messages, unacked = 1000, 10
	dir := t.TempDir()
	b := start(t, dir)
	conn := b.dial()
	closed := conn.NotifyClose(make(chan *amqp.Error, 1))
	ch := channelOn(t, conn)
	declare(t, ch, "durable", true, nil)
	declare(t, ch, "volatile", false, nil)
	var bodies [][]byte
	for i := range messages {
		bodies = append(bodies, fmt.Appendf(nil, "%d", i))
	}
	publish(t, ch, "durable", bodies...)
	publish(t, ch, "volatile", bodies[:10]...)
	for range 10 {
		must(t, ch.Publish("", "durable", false, false, amqp.Publishing{DeliveryMode: amqp.Transient, Body: []byte("transient")}))
	}
	for range unacked {
		_, ok, err := ch.Get("durable", false)
		must(t, err)
		if !ok {
			t.Fatal("nothing to get")
		}
	}
	b.terminate()
	if err := await(t, "connection.close", closed); err.Code != amqp.ConnectionForced || !err.Server {
		t.Errorf("the connection was closed with %v, want 320 from the broker", err)
	}
	if code := b.awaitExit(); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}

	b = start(t, dir)
	ch = b.channel()
	for i := range messages {
		d, ok, err := ch.Get("durable", true)
		must(t, err)
		if !ok || string(d.Body) != string(bodies[i]) || d.Redelivered != (i < unacked) {
			t.Fatalf("message %d: got %v %q, redelivered %v", i, ok, d.Body, d.Redelivered)
		}
	}
	if d, ok, err := ch.Get("durable", true); err != nil || ok {
		t.Errorf("one message too many: %q %v", d.Body, err)
	}
	_, err := ch.QueueDeclarePassive("volatile", false, false, false, false, nil)
	refusal(t, err, amqp.NotFound)
}

// If this fails, two brokers can write to the same data, or the second one does not report why it does not start.
func TestSecondBroker(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := start(t, dir)
	second := launch(t, dir)
	if code := second.awaitExit(); code <= 0 {
		t.Errorf("exit code %d, want a failure", code)
	}
	if said := second.stderr.tail(20); !strings.Contains(said, dir) || !strings.Contains(said, "in use") {
		t.Errorf("it does not say that %s is in use:\n%s", dir, said)
	}
	ch := first.channel()
	declare(t, ch, "still", true, nil)
	publish(t, ch, "still", []byte("there"))
	first.kill()
	start(t, dir) // the lock of a killed broker is no lock
}
