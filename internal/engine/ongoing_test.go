package engine

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// TestCommandsWaitForOngoingOnes says that a command is stepped while one of the same connection goes on in portions,
// that it never is, or that a connection which ends in between keeps something.
func TestCommandsWaitForOngoingOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := start(t, newDisk())
		defer stop(t, e)
		if err := e.look(context.Background(), "/", false, func(v *vhost.VHost) { v.BoundSteps(1) }); err != nil {
			t.Fatal(err)
		}
		a, b := attach(t, e, ""), attach(t, e, "")
		const n = 50
		a.post(declare("q"))
		for range n {
			a.post(publish("q", "m"))
		}
		a.post(consume("q"))
		if got := a.take(); len(got) != n {
			t.Fatalf("%d effects", len(got))
		}
		requeue := vhost.Command{Kind: vhost.Nack, Multiple: true, Requeue: true}
		cancel := vhost.Command{Kind: vhost.Cancel, NoWait: true, Definition: &vhost.Definition{ConsumerTag: "c"}}
		purge := vhost.Command{Kind: vhost.PurgeQueue, Definition: &vhost.Definition{Name: "q"}}
		a.post(cancel, requeue, get("q"), requeue, purge, get("q"))
		a.expect("got m", "done", "none")
		b.expect()
		a.post(vhost.Command{Kind: vhost.SelectTx}, publish("q", "in"), publish("q", "a"), publish("q", "transaction"),
			vhost.Command{Kind: vhost.CommitTx}, get("q"), get("q"), get("q"), get("q"))
		a.expect("done", "done", "got in", "got a", "got transaction", "none")
		a.open()
		wide := publish("", "wide")
		wide.Exchange = []byte("amq.fanout")
		a.post(confirms())
		for _, name := range []string{"w1", "w2", "w3", "w4", "w5"} {
			a.post(declare(name), vhost.Command{Kind: vhost.BindQueue, NoWait: true, Definition: &vhost.Definition{Name: name, Source: "amq.fanout"}})
		}
		a.post(wide, get("w5"), publish("w5", "later"), wide, get("w5"), get("w5"))
		a.expect("confirm 1", "got wide", "confirm 2", "confirm 3", "got later", "got wide")
		a.open()
		a.post(publish("q", "1"), publish("q", "2"), publish("q", "3"), consume("q"))
		a.take()
		a.post(requeue, consume("q"))
		a.session.Close()
		b.expect()
		b.post(get("q"), get("q"), get("q"), get("q"))
		if got := b.take(); !slices.Equal(got, []string{"got 1", "got 2", "got 3", "none"}) {
			t.Errorf("got %q", got)
		}
	})
}
