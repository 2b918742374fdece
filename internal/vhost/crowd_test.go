package vhost

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/deadline"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// TestCrowdsLeaveInOrder says that of many messages that are due within a second some leave early, out of the order of
// their instants, or, of one instant, out of the order in which they came; or that some never leave, also over a
// restart in the middle.
func TestCrowdsLeaveInOrder(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		step    deadline.Instant // of the clock, ms
		restart string           // in the middle
	}{{"in time", 1, ""}, {"late", 97, ""}, {"over a restart", 7, "log"}, {"over a checkpoint", 7, "checkpoint"}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld()
			do := func(list ...Command) {
				t.Helper()
				if err := w.batch(list...); err != nil {
					t.Fatal(err)
				}
			}
			do(open("a")...)
			do(Command{Kind: DeclareQueue, Channel: 1, Definition: &Definition{Name: "q", Durable: true}},
				Command{Kind: DeclareExchange, Channel: 1, Definition: &Definition{Name: "d", Type: "x-delayed-message", Durable: true,
					Arguments: amqp.Table{{Name: "x-delayed-type", Value: amqp.String("fanout")}}}},
				Command{Kind: BindQueue, Channel: 1, Definition: &Definition{Name: "q", Source: "d"}})
			dice := rand.New(rand.NewPCG(1, 0))
			type waiting struct {
				n   int
				due deadline.Instant
			}
			var all []waiting
			for n := range 3000 {
				delay := 100 + dice.Int64N(1000)
				p := amqp.AppendProperties(nil, &amqp.Properties{Has: amqp.FlagHeaders | amqp.FlagDeliveryMode, DeliveryMode: amqp.Persistent, Headers: amqp.Table{{Name: "x-delay", Value: amqp.Int64(delay)}}})
				do(Command{Kind: Publish, Channel: 1, Exchange: []byte("d"), Properties: p, Body: []byte(strconv.Itoa(n))})
				all = append(all, waiting{n, w.now + deadline.Instant(delay)})
			}
			slices.SortStableFunc(all, func(a, b waiting) int { return cmp.Compare(a.due, b.due) })
			end := w.now + 1200
			half := w.now + 500
			for ; w.now <= end; w.now += c.step {
				if c.restart != "" && w.now >= half {
					var saved []byte
					if c.restart == "checkpoint" {
						saved = w.v.snapshot()
					}
					if err := w.restart(saved); err != nil {
						t.Fatal(err)
					}
					w.seal()
					w.begin()
					do(open("a")...)
					c.restart = ""
				}
				for at, ok := w.v.Due(); ok && at <= w.now; at, ok = w.v.Due() {
					do(Command{Kind: Tick})
				}
				due := 0
				for due < len(all) && all[due].due <= w.now {
					due++
				}
				q, _ := w.v.Reader().Queue("q")
				if q.Ready != due {
					t.Fatalf("at %d %d have come, %d were due", w.now, q.Ready, due)
				}
				if err := w.v.Check(); err != nil {
					t.Fatal(err)
				}
			}
			for i, want := range all {
				if _, err := w.step(Command{Kind: Get, Channel: 1, Definition: getAuto}); err != nil {
					t.Fatal(err)
				}
				got := w.out.Effects[len(w.out.Effects)-1]
				w.seal()
				content, err := fact.ParseRecord(w.v.record(got.Message.Ref))
				if err != nil {
					t.Fatal(err)
				}
				if string(content.Body) != strconv.Itoa(want.n) {
					t.Fatalf("number %d is message %s, not %d", i, content.Body, want.n)
				}
				w.begin()
			}
		})
	}
}
