package vhost

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// counted plays lines, one batch each, and returns the scenario.
func counted(t *testing.T, lines string) *scenario {
	t.Helper()
	sc := &scenario{world: newWorld(), queues: map[fact.QueueID]string{}, conns: map[string]fact.ConnID{}}
	for _, l := range strings.Split(strings.TrimSpace(lines), "\n") {
		if err := sc.block([]string{strings.TrimSpace(l)}); err != nil {
			t.Fatalf("%s: %v", l, err)
		}
	}
	return sc
}

func TestTrafficCounts(t *testing.T) {
	// If this fails, totals of what clients publish are wrong, and rates on dashboards with them.
	t.Parallel()
	v := counted(t, `
		declare q
		declare small max=1 overflow=reject-publish
		declare q
		declare gone
		delete gone
		exchange x fanout
		bind x -> q
		bind x -> small
		publish x:k "one"
		confirm
		publish x:k "two"
		publish q "three"
		publish x-none:k "refused: no such exchange"
		publish nobody "dropped"
		confirm
		publish nobody "returned" mandatory
		tx
		close
		b1: tx
		b1: publish q "four"
		b1: commit
		b1: publish q "undone"
		b1: rollback`).world.v
	got := v.Reader().Traffic()
	for _, c := range []struct {
		what      string
		got, want uint64
	}{
		{"received", got.Received, 6}, {"with confirms", got.ReceivedConfirms, 3}, {"routed", got.Routed, 6}, {"dropped", got.Dropped, 1},
		{"returned", got.Returned, 1}, {"confirmed", got.Confirmed, 2}, {"declared", got.QueuesDeclared, 4},
		{"created", got.QueuesCreated, 3}, {"deleted", got.QueuesDeleted, 1}, {"publishers", uint64(got.Publishers), 1},
		{"small bodies", got.Sizes.Buckets[0], 6}, {"bytes", got.Sizes.Sum, 3 + 3 + 5 + 7 + 8 + 4},
	} {
		if c.got != c.want {
			t.Errorf("%s: %d, want %d", c.what, c.got, c.want)
		}
	}
	exchanges := map[string]ExchangeStats{}
	v.Reader().ExchangeStats(func(name string, s ExchangeStats) { exchanges[name] = s })
	if want := map[string]ExchangeStats{"x": {Published: 2}, "": {Published: 4, Confirmed: 2, Dropped: 1, Returned: 1}}; !maps.Equal(exchanges, want) {
		t.Errorf("exchanges %+v, want %+v", exchanges, want)
	}
	var inflows []string
	v.Reader().Inflows("q", func(exchange string, n uint64) { inflows = append(inflows, fmt.Sprintf("%q %d", exchange, n)) })
	if slices.Sort(inflows); !slices.Equal(inflows, []string{`"" 2`, `"x" 2`}) {
		t.Errorf("q came by %v", inflows)
	}
}

func TestInflowsForgetExchanges(t *testing.T) {
	// If this fails, a queue remembers each exchange that ever was, or an exchange begins with the counts of another.
	t.Parallel()
	lines := "declare q\n"
	for range 5 {
		lines += "exchange x fanout\nbind x -> q\npublish x:k \"m\"\ndelete-exchange x\n"
	}
	sc := counted(t, lines+"exchange x fanout\nbind x -> q\npublish x:k \"m\"")
	v := sc.world.v
	if n := len(v.queueNamed("q").inflows); n != 1 {
		t.Errorf("%d inflows are known", n)
	}
	v.Reader().Inflows("q", func(exchange string, n uint64) {
		if exchange != "x" || n != 1 {
			t.Errorf("%d by %q", n, exchange)
		}
	})
}

func TestInflowsAreBounded(t *testing.T) {
	// If this fails, many exchanges times many queues take any amount of memory, or what a queue gets most is not
	// known.
	t.Parallel()
	lines := "declare q\nexchange often fanout\nbind often -> q\npublish often:k \"m\"\npublish often:k \"m\"\n"
	for i := range 3 * inflowsMax {
		lines += fmt.Sprintf("exchange x%d fanout\nbind x%d -> q\npublish x%d:k \"m\"\n", i, i, i)
	}
	v := counted(t, lines).world.v
	if n := len(v.queueNamed("q").inflows); n != inflowsMax {
		t.Errorf("%d inflows are known", n)
	}
	got := map[string]uint64{}
	v.Reader().Inflows("q", func(exchange string, n uint64) { got[exchange] = n })
	if last := fmt.Sprint("x", 3*inflowsMax-1); got["often"] != 2 || got[last] != 1 {
		t.Errorf("%v", got)
	}
}

func TestQueueCounts(t *testing.T) {
	// If this fails, deliveries of a queue are counted as what they are not.
	t.Parallel()
	v := counted(t, `
		declare q type=quorum limit=5
		publish q "one"
		get q
		nack 1 requeue
		get q noack
		get q
		publish q "two"
		consume q c
		reject 3 requeue
		ack 4
		publish q "three"
		cancel c
		b1: consume q d noack
		b1: publish q "four"
		b1: cancel d
		b1: publish q "five"
		b1: publish q "six"
		b1: purge q`).world.v
	view, _ := v.Reader().Queue("q")
	s := view.Stats
	got := []uint64{s.Published, s.Delivered, s.DeliveredNoAck, s.Got, s.GotNoAck, s.GotNone, s.Redelivered, s.Acked, s.Purged}
	if want := []uint64{6, 4, 1, 2, 1, 1, 2, 1, 2}; !slices.Equal(got, want) {
		t.Errorf("published, delivered, without ack, got, without ack, in vain, redelivered, acked, purged: %v, want %v", got, want)
	}
	if n := v.Reader().Traffic().Settled; n.Buckets[1] != 1 || n.Sum != 2 {
		t.Errorf("settled at deliveries %+v, want one at the second", n)
	}
}

func TestFates(t *testing.T) {
	// If this fails, it cannot be seen what becomes of dead letters.
	t.Parallel()
	sc := counted(t, `
		declare none ttl=10
		declare dead
		declare fine ttl=10 dlx="" dlrk=dead
		declare missing ttl=10 dlx=nowhere
		exchange x direct
		declare unrouted ttl=10 dlx=x
		declare cycle ttl=10 dlx="" dlrk=cycle
		declare full max=0 overflow=reject-publish
		declare refused ttl=10 dlx="" dlrk=full
		declare held ttl=10 dlx="" dlrk=full strategy=at-least-once
		publish none "m"
		publish fine "m"
		publish missing "m"
		publish unrouted "m"
		publish cycle "m"
		publish refused "m"
		publish held "m"
		advance 1s
		b1: get dead
		b1: reject 1`)
	got := sc.world.v.Reader().Traffic()
	want := map[Fate]uint64{FateNoDLX: 1, FateRouted: 1, FateMissing: 1, FateUnrouted: 1, FateCycle: 1, FateRefused: 1, FateHeld: 1}
	for f := range Fates {
		if n := got.Fates[fact.Expired][f]; n != want[f] {
			t.Errorf("expired, %s: %d, want %d", f, n, want[f])
		}
	}
	if n := got.Fates[fact.Rejected][FateNoDLX]; n != 1 {
		t.Errorf("rejected without a dead-letter exchange: %d", n)
	}
	if got.Hops.Buckets[0] != 6 || got.Placing[AtMostOnce].Buckets[0] != 1 {
		t.Errorf("hops %+v, placed %+v", got.Hops, got.Placing)
	}
	for _, l := range []string{"delete full", "declare full", "advance 10m"} {
		if err := sc.block([]string{l}); err != nil {
			t.Fatal(err)
		}
	}
	if p := sc.world.v.Reader().Traffic().Placing[AtLeastOnce]; p.Sum < 900 || p.Buckets[0] != 0 {
		t.Errorf("a dead letter that was held was placed after %+v", p)
	}
	if s, _ := sc.world.v.Reader().Queue("dead"); s.Stats.DeadLetters != 1 {
		t.Errorf("%d dead letters came to dead", s.Stats.DeadLetters)
	}
}

func TestScheduledCounts(t *testing.T) {
	// If this fails, it cannot be seen what became of scheduled messages.
	t.Parallel()
	sc := counted(t, `
		declare q
		exchange d x-delayed-message x-delayed-type=fanout x-delayed-max-length=4
		bind d -> q
		publish d:k "released" h.x-delay=100
		publish d:k "cancelled" h.x-delay=5000
		publish d:k "lost" h.x-delay=5000
		publish d:k "purged" h.x-delay=50000
		publish d:k "too many" h.x-delay=100
		publish d:k "invalid" h.x-delay="soon"
		unschedule 2-1
		reschedule 2-2 at=6s
		advance 1s
		delete q
		advance 5s
		purge-schedule d`)
	want := Scheduled{Published: 4, Released: 1, Lost: 1, Cancelled: 1, Rescheduled: 1, Purged: 1, Full: 1, Invalid: 1}
	if got := sc.world.v.Reader().Traffic().Scheduled; got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestAddTraffic(t *testing.T) {
	// If this fails, what a vhost has counted is partly forgotten when it ends.
	t.Parallel()
	v := counted(t, `
		declare q dlx="" dlrk=q ttl=10
		publish q "m"
		publish nobody "m"
		exchange d x-delayed-message x-delayed-type=fanout
		publish d:k "m" h.x-delay=100
		advance 1s`).world.v
	one := v.Reader().Traffic()
	sum := one
	sum.Add(&one)
	var zero Traffic
	zero.Add(&one)
	if zero != one {
		t.Errorf("%+v added to nothing is %+v", one, zero)
	}
	if sum.Received != 2*one.Received || sum.Scheduled.Published != 2 || sum.Sizes.Sum != 2*one.Sizes.Sum {
		t.Errorf("twice %+v is %+v", one, sum)
	}
}
