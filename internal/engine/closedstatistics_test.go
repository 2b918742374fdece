package engine

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/bartleby-mq/bartleby/internal/accounts"
	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// TestCountsOutliveVHosts says that totals of the node go back when a vhost is deleted or is opened anew.
func TestCountsOutliveVHosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		e := start(t, d)
		defer stop(t, e)
		change(t, e, accounts.Command{Kind: accounts.PutVHost, VHost: "v"})
		for _, name := range []string{"v", "/"} {
			if _, err := e.Do(t.Context(), name, authz.Broker(), declare("q"), publish("q", "one"), publish("none", "two"), get("q")); err != nil {
				t.Fatal(err)
			}
		}
		if r := e.Retired(); r.Traffic.Received != 0 || len(r.Queues) != 0 {
			t.Errorf("of vhosts that live: %+v", r)
		}
		change(t, e, accounts.Command{Kind: accounts.DeleteVHost, VHost: "v"})
		if r := e.Retired(); r.Traffic.Received != 2 || r.Traffic.Dropped != 1 || r.Queues["classic"].Got != 1 || r.Traffic.Publishers != 0 {
			t.Errorf("of a deleted vhost: %+v", r)
		}
		d.failNextSync(errors.New("no"))
		if _, err := e.Do(t.Context(), "/", authz.Broker(), publish("q", "lost")); err == nil {
			t.Fatal("a failed sync was not noticed")
		}
		synctest.Wait()
		if r := e.Retired(); r.Traffic.Received != 5 || r.Queues["classic"].Published != 3 {
			t.Errorf("of a vhost that was opened anew too: %+v", r)
		}
	})
}

// TestChurn says that connections or channels that came and went are not counted, or the engine's own are.
func TestChurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := start(t, newDisk())
		defer stop(t, e)
		if _, err := e.Do(t.Context(), "/", authz.Broker(), declare("q")); err != nil {
			t.Fatal(err)
		}
		if n := e.Churn(); n != (Churn{}) {
			t.Errorf("of no client: %+v", n)
		}
		c := attach(t, e, "guest")
		c.post(vhost.Command{Kind: vhost.CloseChannel})
		synctest.Wait()
		if n := e.Churn(); n != (Churn{ConnectionsOpened: 1, ChannelsOpened: 1, ChannelsClosed: 1}) {
			t.Errorf("after a channel: %+v", n)
		}
		c.session.Close()
		if n := e.Churn(); n.ConnectionsClosed != 1 {
			t.Errorf("after a connection: %+v", n)
		}
	})
}
