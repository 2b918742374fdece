package engine

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/bartleby-mq/bartleby/internal/accounts"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// TestUncommittedTransactionsAreBounded says that transactions that nobody commits hold any amount of memory; that what
// was committed, rolled back or dropped counts on; or that one user's take the space of all others.
func TestUncommittedTransactionsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := start(t, newDisk(), func(o *Options) { o.Uncommitted = Budget{Node: 10 << 20, User: 6 << 20, Connection: 4 << 20} })
		defer stop(t, e)
		for _, u := range []string{"u", "w"} {
			change(t, e, accounts.Command{Kind: accounts.PutUser, User: u},
				accounts.Command{Kind: accounts.SetPermission, User: u, VHost: "/", Configure: ".*",
					Write: ".*", Read: ".*"})
		}
		body := strings.Repeat("x", 1<<20-1024)
		begin := vhost.Command{Kind: vhost.SelectTx, NoWait: true}
		hold := func(user string, n int) *client {
			c := attach(t, e, user)
			c.post(begin)
			for range n {
				c.post(publish("q", body))
			}
			return c
		}
		counts := func(mib int) {
			t.Helper()
			synctest.Wait()
			if n := int((e.Uncommitted().Bytes + 1<<19) >> 20); n != mib {
				t.Errorf("%d MiB are counted, not %d", n, mib)
			}
		}
		const beyond = "closed RESOURCE_ERROR - transactions of "

		a := hold("u", 4)
		a.expect()
		counts(4)
		a.open()
		a.post(begin, publish("q", body)) // on another channel
		a.expect(beyond + "this connection hold more than 4194304 bytes that are not committed")
		counts(4)

		b := hold("u", 3)
		b.expect(beyond + "user 'u' hold more than 6291456 bytes that are not committed")
		counts(4)
		c := hold("w", 4)
		c.expect()
		d := hold("w", 2)
		d.expect()
		counts(10)
		b.open()
		b.post(begin, publish("q", body))
		b.expect(beyond + "all clients hold more than 10485760 bytes that are not committed")

		d.post(vhost.Command{Kind: vhost.RollbackTx, NoWait: true})
		counts(8)
		c.post(vhost.Command{Kind: vhost.CommitTx, NoWait: true}) // so much goes in portions
		counts(4)
		a.session.Close()
		counts(0)
		c.post(publish("q", body), vhost.Command{Kind: vhost.CommitTx, NoWait: true})
		c.expect()
		counts(0)
		if n := e.Uncommitted().Refused; n != 3 {
			t.Errorf("%d refused", n)
		}
		for _, r := range e.allRunners() {
			if n := len(r.uncommitted.all) + len(e.uncommitted.mu.users); n != 0 {
				t.Errorf("%d are counted when nobody holds anything", n)
			}
		}
	})
}

// TestChannelsAndConsumersAreBounded says that channels and consumers take any amount of memory; that what was
// cancelled or closed, or whose queue was deleted, counts on; or that those who take all keep away a small client.
func TestChannelsAndConsumersAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := start(t, newDisk(), func(o *Options) {
			o.Subscribed = Budget{Node: 200 << 10, User: 150 << 10, Connection: 100 << 10}
		})
		defer stop(t, e)
		for _, u := range []string{"u", "w"} {
			change(t, e, accounts.Command{Kind: accounts.PutUser, User: u},
				accounts.Command{Kind: accounts.SetPermission, User: u, VHost: "/", Configure: ".*",
					Write: ".*", Read: ".*"})
		}
		listen := func(c *client, queue string, from, n int) {
			for i := range n {
				d := vhost.Definition{Name: queue, ConsumerTag: fmt.Sprintf("%0200d", from+i)}
				c.post(vhost.Command{Kind: vhost.Consume, NoWait: true, Definition: &d})
			}
		}
		counts := func(least, most int64) {
			t.Helper()
			synctest.Wait()
			if n := e.Subscribed().Bytes; n < least || n > most {
				t.Errorf("%d bytes are counted, not %d to %d", n, least, most)
			}
		}
		const each = 440
		a := attach(t, e, "u")
		a.post(declare("q"))
		listen(a, "q", 0, 220)
		a.expect()
		counts(220*each, 220*each+2000)
		listen(a, "q", 220, 20)
		const beyond = "closed RESOURCE_ERROR - channels and consumers of "
		a.expect(beyond + "this connection use more than 102400 bytes of memory")
		counts(0, 2000)

		a.open()
		listen(a, "q", 0, 220)
		b := attach(t, e, "u")
		listen(b, "q", 0, 150)
		b.expect(beyond + "user 'u' use more than 153600 bytes of memory")
		c := attach(t, e, "w")
		listen(c, "q", 0, 220)
		c.expect()
		d := attach(t, e, "w")
		listen(d, "q", 0, 100) // less than what is always free
		d.expect()
		listen(d, "q", 100, 30)
		d.expect(beyond + "all clients use more than 204800 bytes of memory")
		for i := range 220 {
			cancel := vhost.Definition{ConsumerTag: fmt.Sprintf("%0200d", i)}
			a.post(vhost.Command{Kind: vhost.Cancel, NoWait: true, Definition: &cancel})
		}
		a.expect()
		counts(220*each, 220*each+4000)
		a.post(vhost.Command{Kind: vhost.DeleteQueue, NoWait: true, Definition: &vhost.Definition{Name: "q"}})
		counts(0, 4000)
		for _, x := range []*client{a, b, c, d} {
			x.session.Close()
		}
		counts(0, 0)
		if n := e.Subscribed().Refused; n != 3 {
			t.Errorf("%d refused", n)
		}
	})
}
