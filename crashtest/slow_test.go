//go:build linux

package crashtest

import (
	"slices"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

const (
	backlogMessages = 20_000
	backlogBody     = 10 << 10
	// What the broker may still have handed over while its window was closing.
	inWindow = 2 << 20 / backlogBody
	// What a stalled consumer may cost: its window of 2 MiB, the buffers of both sockets, and what reading them took.
	slowAllowed = 48 << 20
	// What a broker may take in memory while it holds a backlog of 200 MB on the disk.
	memoryAllowed = 200 << 20
)

// If this fails, one client that does not read can exhaust the broker's memory, or slow down other clients.
func TestSlowConsumer(t *testing.T) {
	b := start(t, t.TempDir())
	ch := b.channel()
	declare(t, ch, "backlog", true, nil)
	declare(t, ch, "ping", true, nil)
	body := make([]byte, backlogBody)
	for range backlogMessages / 1000 {
		publish(t, ch, "backlog", slices.Repeat([][]byte{body}, 1000)...)
	}
	rtt := pings(t, ch, 200)
	before, sockets := b.figure("VmRSS"), b.sockets()

	conn, valve, err := b.dialValve(beat)
	must(t, err)
	slow := channelOn(t, conn)
	deliveries, err := slow.Consume("backlog", "", true, false, false, false, nil)
	must(t, err)
	await(t, "the first delivery", deliveries)
	valve.shut()
	var worst int64
	var slowed []time.Duration
	for range 10 {
		slowed = append(slowed, pings(t, ch, 50)...)
		worst = max(worst, b.figure("VmRSS"))
	}
	left := depth(t, ch, "backlog")
	t.Logf("RSS %d MiB before, %d MiB beside the stalled consumer; %d of %d messages left; ping p50 %v, then %v, worst %v",
		before>>20, worst>>20, left, backlogMessages, median(rtt), median(slowed), slices.Max(slowed))
	if worst > before+slowAllowed {
		t.Errorf("memory grew from %d to %d MiB for one consumer that does not read", before>>20, worst>>20)
	}
	if worst > memoryAllowed {
		t.Errorf("%d MiB of memory for a backlog that is on the disk", worst>>20)
	}
	if left < backlogMessages/2 {
		t.Errorf("%d of %d messages went to a consumer that does not read", backlogMessages-left, backlogMessages)
	}
	if slowest := slices.Max(slowed); slowest > 2*time.Second {
		t.Errorf("another connection waited %v for its message", slowest)
	}

	must(t, valve.Close())
	valve.reopen()
	eventually(t, "the stalled connection is gone", func() bool { return b.sockets() <= sockets })
	rest := depth(t, ch, "backlog")
	if rest < left-inWindow {
		t.Errorf("%d messages were left, %d after the consumer's end", left, rest)
	}
	drain(t, b, rest)
	if n := depth(t, ch, "backlog"); n != 0 {
		t.Errorf("%d messages left after the drain", n)
	}
	if after := b.figure("VmRSS"); after > memoryAllowed {
		t.Errorf("%d MiB of memory after the backlog was read", after>>20)
	}
}

// pings measures how long messages take from publisher to consumer, one after the other.
func pings(t testing.TB, ch *amqp.Channel, n int) (all []time.Duration) {
	t.Helper()
	deliveries, err := ch.Consume("ping", "pings", true, false, false, false, nil)
	must(t, err)
	for range n {
		begun := time.Now()
		must(t, ch.Publish("", "ping", false, false, persistent([]byte("ping"))))
		await(t, "a ping", deliveries)
		all = append(all, time.Since(begun))
	}
	must(t, ch.Cancel("pings", false))
	return all
}

func median(all []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(all))
	return sorted[len(sorted)/2]
}

// drain reads n messages of the backlog with a prefetch, and acks them.
func drain(t testing.TB, b *broker, n int) {
	t.Helper()
	ch := b.channel()
	must(t, ch.Qos(500, 0, false))
	deliveries, err := ch.Consume("backlog", "", false, false, false, false, nil)
	must(t, err)
	for k := range n {
		d := await(t, "the rest of the backlog", deliveries)
		if k%100 == 99 || k == n-1 {
			must(t, d.Ack(true))
		}
	}
	depth(t, ch, "backlog") // answered behind the acks
}
