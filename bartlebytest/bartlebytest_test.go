package bartlebytest_test

import (
	"testing"
	"time"

	"github.com/rabbitmq/amqp091-go"

	"github.com/bartleby-mq/bartleby/bartlebytest"
)

// If this fails, a message that expires after a fortnight cannot be tested in a moment.
func TestExpiryUnderATestClock(t *testing.T) {
	t.Parallel()
	b := bartlebytest.Start(t)
	conn, err := amqp091.Dial(b.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ch, err := conn.Channel()
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range []struct {
		name string
		args amqp091.Table
	}{
		{"orders.unpaid", amqp091.Table{"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "orders.cancel", "x-message-ttl": int32(15 * 60 * 1000)}},
		{"orders.cancel", nil},
	} {
		if _, err := ch.QueueDeclare(q.name, true, false, false, false, q.args); err != nil {
			t.Fatal(err)
		}
	}
	if err := ch.Confirm(false); err != nil {
		t.Fatal(err)
	}
	confirm, err := ch.PublishWithDeferredConfirm("", "orders.unpaid", false, false, amqp091.Publishing{Body: []byte("42"), DeliveryMode: 2})
	if err != nil {
		t.Fatal(err)
	}
	if !confirm.Wait() {
		t.Fatal("not confirmed")
	}
	b.Advance(15*time.Minute - time.Millisecond)
	if _, ok, err := ch.Get("orders.cancel", true); err != nil || ok {
		t.Fatalf("a millisecond early: got a message: %v, error %v", ok, err)
	}
	b.Advance(time.Millisecond)
	m, ok, err := ch.Get("orders.cancel", true)
	if err != nil || !ok {
		t.Fatalf("not there after 15 minutes: %v", err)
	}
	death := m.Headers["x-death"].([]any)[0].(amqp091.Table)
	if string(m.Body) != "42" || death["reason"] != "expired" || death["queue"] != "orders.unpaid" {
		t.Fatalf("got %q with %v", m.Body, m.Headers)
	}
}
