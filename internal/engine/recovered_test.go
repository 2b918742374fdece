package engine

import (
	"testing"
	"testing/synctest"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// TestRecoveredIsLogged says that what the first step after a crash decides never reaches the log: here, what
// was with a consumer is ready again, so that its queue is too long and its head becomes a dead letter.
func TestRecoveredIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		e := start(t, d)
		c := attach(t, e, "")
		c.post(declare("grave"), declare("work", append(dlxArgs("", "grave"),
			amqp.Field{Name: "x-max-length", Value: amqp.Int32(2)})...), confirms())
		c.post(consume("work"), publish("work", "a"), publish("work", "b"),
			vhost.Command{Kind: vhost.Cancel, NoWait: true, Definition: &vhost.Definition{ConsumerTag: "c"}})
		c.post(publish("work", "c"), publish("work", "d"))
		c.expect("confirm 1", "deliver a", "confirm 2", "deliver b", "confirm 3", "confirm 4")
		for range 2 {
			d.crash()
			e.Close()
			d.crash()
			e = start(t, d)
			if work, grave := ready(t, e, "work"), ready(t, e, "grave"); work != 2 || grave != 2 {
				t.Errorf("%d ready, %d dead letters; want 2 of each", work, grave)
			}
		}
		defer stop(t, e)
		c = attach(t, e, "")
		c.post(get("grave"), get("grave"), get("grave"), get("work"), get("work"), get("work"))
		c.expect("got a", "got b", "none", "got c", "got d", "none")
	})
}
