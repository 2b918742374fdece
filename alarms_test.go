package bartleby_test

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rabbitmq/amqp091-go"

	"github.com/bartleby-mq/bartleby"
)

// alarmed is a broker whose limits a test sets.
type alarmed struct {
	*bartleby.Broker
	t *testing.T
}

func startAlarmed(t *testing.T, c bartleby.Config) *alarmed {
	t.Helper()
	c.AMQP, c.Management, c.Log = "127.0.0.1:0", "127.0.0.1:0", slog.New(slog.DiscardHandler)
	b, err := bartleby.Start(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := b.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return &alarmed{b, t}
}

// limit sets limits over HTTP.
func (b *alarmed) limit(body string) {
	b.t.Helper()
	r, err := http.NewRequest(http.MethodPut, "http://"+b.ManagementAddr().String()+"/api/x/resource-limits", strings.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	r.SetBasicAuth("guest", "guest")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusNoContent {
		b.t.Fatalf("%s: %s", body, answer.Status)
	}
}

// dial connects a client, and says where it is told that it has to wait.
func (b *alarmed) dial() (*amqp091.Channel, <-chan amqp091.Blocking) {
	b.t.Helper()
	conn, err := amqp091.Dial(b.URL())
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { conn.Close() })
	told := conn.NotifyBlocked(make(chan amqp091.Blocking, 10))
	ch, err := conn.Channel()
	if err != nil {
		b.t.Fatal(err)
	}
	if err := ch.Confirm(false); err != nil {
		b.t.Fatal(err)
	}
	return ch, told
}

func publish(t *testing.T, ch *amqp091.Channel, body string) *amqp091.DeferredConfirmation {
	t.Helper()
	c, err := ch.PublishWithDeferredConfirm("", "work", false, false, amqp091.Publishing{Body: []byte(body)})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func await[T any](t *testing.T, what string, from <-chan T) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(10 * time.Second):
		t.Fatalf("%s did not arrive", what)
	}
	panic("not reached")
}

func expectBlocked(t *testing.T, told <-chan amqp091.Blocking, want amqp091.Blocking) {
	t.Helper()
	if got := await(t, "connection.blocked or unblocked", told); got != want {
		t.Errorf("blocked is %+v, want %+v", got, want)
	}
}

// If this fails, a client gets no connection.blocked during a memory alarm, can publish nevertheless, or waits forever;
// or a consumer waits with it.
func TestAlarmAsClientsSeeIt(t *testing.T) {
	t.Parallel()
	b := startAlarmed(t, bartleby.Config{})
	ch, told := b.dial()
	if _, err := ch.QueueDeclare("work", false, false, false, false, nil); err != nil {
		t.Fatal(err)
	}
	if c := publish(t, ch, "a"); !c.Wait() {
		t.Fatal("not confirmed")
	}
	consumer, spared := b.dial()

	b.limit(`{"vm_memory_high_watermark":{"relative":0}}`)
	low := amqp091.Blocking{Active: true, Reason: "low on memory"}
	expectBlocked(t, told, low)
	waits := publish(t, ch, "b")
	late, lateTold := b.dial() // connected while the alarm holds
	if _, err := late.QueueDeclare("other", false, false, false, false, nil); err != nil {
		t.Error(err)
	}
	lateWaits := publish(t, late, "c")
	expectBlocked(t, lateTold, low)
	deliveries, err := consumer.Consume("work", "", true, false, false, false, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := await(t, "a", deliveries); string(got.Body) != "a" {
		t.Errorf("got %q", got.Body)
	}
	for _, c := range []*amqp091.DeferredConfirmation{waits, lateWaits} {
		select {
		case <-c.Done():
			t.Error("confirmed during the alarm")
		default:
		}
	}

	b.limit(`{"vm_memory_high_watermark":{"relative":1}}`)
	expectBlocked(t, told, amqp091.Blocking{})
	expectBlocked(t, lateTold, amqp091.Blocking{})
	await(t, "the confirm", waits.Done())
	await(t, "the other confirm", lateWaits.Done())
	if got := string(await(t, "b or c", deliveries).Body) + string(await(t, "c or b", deliveries).Body); got != "bc" && got != "cb" {
		t.Errorf("got %s", got)
	}
	if len(spared) > 0 {
		t.Errorf("a consumer was blocked: %+v", <-spared)
	}
}

// If this fails, the limits of the configuration do not apply, or invalid limits are accepted.
func TestLimitsOfTheConfiguration(t *testing.T) {
	t.Parallel()
	b := startAlarmed(t, bartleby.Config{Data: t.TempDir(), SegmentBytes: 1 << 16, ReserveBytes: -1, DiskFreeLimit: bartleby.Absolute(1 << 60)})
	ch, told := b.dial()
	publish(t, ch, "a")
	expectBlocked(t, told, amqp091.Blocking{Active: true, Reason: "low on disk"})
	b.limit(`{"disk_free_limit":{"absolute":"1k"}}`)
	expectBlocked(t, told, amqp091.Blocking{})
	if b, err := bartleby.Start(bartleby.Config{MemoryHighWatermark: bartleby.Relative(2)}); err == nil {
		b.Close(t.Context())
		t.Error("a watermark of twice the memory is accepted")
	}
}
