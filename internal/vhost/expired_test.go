package vhost

import (
	"testing"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/settings"
)

// expiredWorld has a hundred messages that expire at once, a live one behind them, and a consumer that has
// one message.
func expiredWorld(t *testing.T) *world {
	w := newWorld()
	must(t, w, open("a")...)
	must(t, w, declareWith("dead"), declareWith("q", textOf("x-dead-letter-exchange", ""), textOf("x-dead-letter-routing-key", "dead")),
		Command{Kind: Qos, Channel: 1, Definition: &Definition{Prefetch: 1}},
		Command{Kind: Consume, Channel: 1, Definition: &Definition{Name: "q", ConsumerTag: "c"}}, publishTo("q", amqp.Persistent, "first"))
	for range 100 {
		c := publishTo("q", amqp.Persistent, "m")
		c.Properties = amqp.AppendProperties(nil, &amqp.Properties{
			Has: amqp.FlagDeliveryMode | amqp.FlagExpiration, DeliveryMode: amqp.Persistent, Expiration: "1000",
		})
		must(t, w, c)
	}
	must(t, w, publishTo("q", amqp.Persistent, "live"))
	w.now += 1000
	w.v.BoundSteps(10 * workOfFact)
	return w
}

// stepOf plays one step of a batch of its own, and returns its effects and how many copies were made in it.
func stepOf(t *testing.T, w *world, c Command) (effects []Effect, made uint64) {
	t.Helper()
	before := w.v.Reader().Books().Made
	refused, err := w.step(c)
	if refused != nil || err != nil {
		t.Fatal(refused, err)
	}
	w.seal()
	effects = append(effects, w.out.Effects...)
	w.begin()
	return effects, w.v.Reader().Books().Made - before
}

// TestExpiredHeadsLeaveInPortions says that a consumer, or a get, that comes to very many expired messages
// has all of them die in one step, or never comes to the message behind them.
func TestExpiredHeadsLeaveInPortions(t *testing.T) {
	t.Parallel()
	for _, c := range []Command{{Kind: Ack, Channel: 1, Tag: 1}, {Kind: Get, Channel: 1, Definition: &Definition{Name: "q"}}} {
		w := expiredWorld(t)
		if c.Kind == Get {
			must(t, w, Command{Kind: Cancel, Channel: 1, Definition: &Definition{ConsumerTag: "c"}})
		}
		delivered, steps := 0, 0
		for x := c; ; x = (Command{Kind: Tick}) {
			effects, made := stepOf(t, w, x)
			if made > 21 {
				t.Errorf("a step made %d dead letters", made)
			}
			for _, e := range effects {
				if e.Kind == Deliver || e.Kind == DeliverGot {
					delivered++
				}
			}
			steps++
			if at, due := w.v.Due(); !due || at > w.now {
				break
			}
		}
		if q, _ := w.v.Reader().Queue("dead"); delivered != 1 || q.Ready != 100 || steps < 5 || w.v.Busy(1) {
			t.Errorf("command %d: %d delivered, %d dead letters in %d steps", c.Kind, delivered, q.Ready, steps)
		}
		if err := w.audit(); err != nil {
			t.Error(err)
		}
	}
}

// TestGetAmongExpiredEnds says that a get which waits for ticks outlives its channel, or its queue.
func TestGetAmongExpiredEnds(t *testing.T) {
	t.Parallel()
	for _, end := range []Command{{Kind: Disconnect, Conn: 1}, {Kind: DeleteQueue, Channel: 2, Definition: &Definition{Name: "q"}}} {
		w := expiredWorld(t)
		must(t, w, Command{Kind: Connect, Conn: 2, Window: 1 << 30, Definition: &Definition{Name: "b"}},
			Command{Kind: OpenChannel, Conn: 2, Channel: 2, Number: 1}, Command{Kind: Cancel, Channel: 1, Definition: &Definition{ConsumerTag: "c"}})
		effects, _ := stepOf(t, w, Command{Kind: Get, Channel: 1, Definition: &Definition{Name: "q"}})
		if len(effects) != 0 || !w.v.Busy(1) {
			t.Fatalf("%+v", effects)
		}
		effects, _ = stepOf(t, w, end)
		none := 0
		for at, due := w.v.Due(); due && at <= w.now; at, due = w.v.Due() {
			more, _ := stepOf(t, w, Command{Kind: Tick})
			effects = append(effects, more...)
		}
		for _, e := range effects {
			if e.Kind == DeliverNone {
				none++
			}
		}
		if want := 0; end.Kind == DeleteQueue {
			want = 1
			if none != want {
				t.Errorf("%d answers to a get from a queue that was deleted", none)
			}
		} else if none != want {
			t.Errorf("%d answers to a get of a connection that has gone", none)
		}
		if err := w.audit(); err != nil {
			t.Error(err)
		}
	}
}

// TestTimeoutsComeInPortions says that a consumer which takes too long with very many messages gives all
// back in one step, that it keeps some, or that a return counts as a failure.
func TestTimeoutsComeInPortions(t *testing.T) {
	t.Parallel()
	for _, notified := range []bool{false, true} {
		w := newWorld()
		must(t, w, open("a")...)
		w.v.conns[1].cancelNotify = notified
		must(t, w, declareWith("q", textOf("x-queue-type", "quorum"), textOf("x-delivery-count-mode", "failed")),
			Command{Kind: Consume, Channel: 1, Definition: &Definition{Name: "q", ConsumerTag: "c"}})
		for range 100 {
			must(t, w, publishTo("q", amqp.Persistent, "m"))
		}
		w.v.BoundSteps(10 * workOfFact)
		w.now += settings.ConsumerTimeoutMax
		ended, returned := 0, 0
		for at, due := w.v.Due(); due && at <= w.now; at, due = w.v.Due() {
			effects, _ := stepOf(t, w, Command{Kind: Tick})
			for _, e := range effects {
				if e.Kind == Closed || e.Kind == Cancelled {
					ended++
				}
			}
			q, _ := w.v.Reader().Queue("q")
			if q.Ready-returned > 20 {
				t.Errorf("a step returned %d messages", q.Ready-returned)
			}
			returned = q.Ready
		}
		q := w.v.queueNamed("q")
		q.messages.Each(0, func(seq queue.Seq, _ *queue.Entry) bool {
			if n := q.count(q.messages.Side(seq)); n != 0 {
				t.Errorf("message %d has failed %d times", seq, n)
			}
			return true
		})
		if returned != 100 || ended != 1 || (w.v.channels[1] != nil) != notified {
			t.Errorf("%d messages came back, %d ends", returned, ended)
		}
		if err := w.audit(); err != nil {
			t.Error(err)
		}
	}
}
