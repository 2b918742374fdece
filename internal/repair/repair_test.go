package repair_test

import (
	"context"
	"path/filepath"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/bartleby-mq/bartleby"
)

func TestASoundDirectoryIsSound(t *testing.T) {
	t.Parallel()
	// A check would cry wolf, or a repair change what needs none.
	for _, killed := range []bool{true, false} {
		dir := image(t, killed)
		r, err := bartleby.Check(dir)
		must(t, err)
		if r.State != bartleby.Sound || len(r.Damage) > 0 || r.Losses() > 0 || len(r.Steps) > 0 {
			t.Fatalf("killed %t: %+v", killed, r)
		}
		for _, h := range r.VHosts {
			want := workCount + 1 + workCount/30 + deadCount + heldCount + largeCount
			if h.Messages != want || h.Held != heldCount || h.LostLetters != lostCount || h.Queues != 7 || !h.Starts {
				t.Fatalf("killed %t: %d messages, want %d: %+v", killed, h.Messages, want, h)
			}
		}
		r.Print(t.Output(), dir)
	}
}

func TestScheduledMessagesAreCounted(t *testing.T) {
	t.Parallel()
	// If it fails, a backup looks as if it had lost what waits for its time.
	dir := filepath.Join(t.TempDir(), "data")
	b, err := try(dir)
	must(t, err)
	ch, closeIt, err := dial(b, "/")
	must(t, err)
	must(t, ch.Confirm(false))
	of := amqp.Table{"x-delayed-type": "direct"}
	must(t, ch.ExchangeDeclare("later", "x-delayed-message", true, false, false, false, of))
	c, err := ch.PublishWithDeferredConfirm("later", "k", false, false, amqp.Publishing{
		DeliveryMode: amqp.Persistent, Headers: amqp.Table{"x-delay": int32(3_600_000)}, Body: []byte("x"),
	})
	must(t, err)
	c.Wait()
	closeIt()
	must(t, b.Close(context.Background()))
	r, err := bartleby.Check(dir)
	must(t, err)
	if h := r.VHosts[0]; h.Scheduled != 1 || h.Messages != 0 {
		t.Errorf("%d messages are scheduled, %d are in queues", h.Scheduled, h.Messages)
	}
}
