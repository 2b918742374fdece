package vhost

import (
	"testing"

	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// TestDirectRepliesAreBounded says that direct replies to a client that does not read take any amount of memory; that a
// client which reads loses replies that came in a crowd, or those of another; or that nobody learns of what was
// dropped.
func TestDirectRepliesAreBounded(t *testing.T) {
	t.Parallel()
	const window, clients = 2 << 20, 6
	w := newWorld()
	w.out.Trace = false
	must(t, w, open("replier")...)
	for i := fact.ConnID(2); i < 2+clients; i++ {
		must(t, w, Command{Kind: Connect, Conn: i, Window: window, Definition: &Definition{Name: "requester"}},
			Command{Kind: OpenChannel, Conn: i, Channel: ChannelID(i), Number: 1},
			Command{Kind: Consume, Channel: ChannelID(i), Definition: &Definition{Name: DirectReply, NoAck: true}})
	}
	const body = 100_000
	reply := func(to fact.ConnID, n int) (came int, cost int64) {
		t.Helper()
		c := publishTo(w.v.channels[ChannelID(to)].replies.name, 1, "")
		c.Body, c.Mandatory = make([]byte, body), true
		for range n {
			if refused, err := w.step(c); refused != nil || err != nil {
				t.Fatal(refused, err)
			}
		}
		for _, e := range w.out.Effects {
			switch {
			case e.Kind == Deliver:
				came++
				cost += WindowCost(e.Message.Ref.Size)
			case e.Kind != SendBack || e.Channel != 1:
				t.Errorf("effect %+v", e)
			}
		}
		if back := len(w.out.Effects) - came; came+back != n {
			t.Errorf("of %d replies %d came, and %d came back", n, came, back)
		}
		w.seal()
		w.begin()
		if err := w.v.Check(); err != nil {
			t.Fatal(err)
		}
		return came, cost
	}
	came, held := reply(2, 500)
	if held < replyBytesMax || held > replyBytesMax+2*body {
		t.Errorf("%d replies of %d bytes are on their way to a client that does not read", came, held)
	}
	if traffic := w.v.Reader().Traffic(); traffic.RepliesDropped != uint64(500-came) {
		t.Errorf("%d are counted", traffic.RepliesDropped)
	}
	if losses := w.v.TakeLosses(); len(losses) == 0 || losses[0] != (Loss{SlowConnection: "requester"}) {
		t.Errorf("noted: %v", losses)
	}
	if n, _ := reply(3, 100); n != 100 { // of another, who reads
		t.Errorf("%d of 100", n)
	}
	for c := fact.ConnID(3); c < 2+clients; c++ {
		reply(c, 500)
	}
	if most := int64(2 * repliesBytesMax); w.v.replied > most { // each that comes has a smaller share
		t.Errorf("%d bytes are on their way to all, %d at the most", w.v.replied, most)
	}
	must(t, w, Command{Kind: Grant, Conn: 2, Window: held})
	reply(2+clients-1, 500)
	if n, _ := reply(2, 30); n != 30 { // who reads has a share, too
		t.Errorf("%d of 30 while others read nothing", n)
	}
	if n, _ := reply(2, 100); n >= 100 {
		t.Errorf("%d of 100 are more than a share while others read nothing", n)
	}
	for c := fact.ConnID(3); c < 2+clients; c++ {
		must(t, w, Command{Kind: Disconnect, Conn: c})
	}
	must(t, w, Command{Kind: Grant, Conn: 2, Window: held})
	if n, _ := reply(2, 100); n != 100 {
		t.Errorf("%d of 100 when it has read all", n)
	}
}
