package engine

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/bartleby-mq/bartleby/internal/accounts"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// TestObjectsAreBounded says that queues, exchanges and bindings take any amount of memory; that one virtual host
// leaves nothing to others; that those that exist cannot be declared again at the limit; that what is deleted, or was
// in a deleted virtual host, still counts; or that nothing counts after a restart.
func TestObjectsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most, own = 100_000, 87_500
		const refusal = "closed PRECONDITION_FAILED - queues, exchanges and bindings of "
		disk := newDisk()
		e := start(t, disk, func(o *Options) { o.ObjectsMax = most })
		change(t, e, accounts.Command{Kind: accounts.PutVHost, VHost: "v"})
		c, other := attach(t, e, ""), attachTo(t, e, "v")
		bind := func(i int) vhost.Command {
			return vhost.Command{Kind: vhost.BindQueue, NoWait: true, Definition: &vhost.Definition{
				Name: "q", Source: "amq.topic", RoutingKey: fmt.Sprint(i, ".a.b.c.d.e.f"),
			}}
		}
		exchange := func(name string) vhost.Command {
			d := vhost.Definition{Name: name, Type: "topic", Durable: true}
			return vhost.Command{Kind: vhost.DeclareExchange, NoWait: true, Definition: &d}
		}
		refused := func(c *client, another vhost.Command, whose string) bool {
			c.post(another)
			got := strings.Join(c.take(), " ")
			if got == "" {
				return false
			}
			c.open()
			if !strings.HasPrefix(got, refusal+whose+" use ") {
				t.Errorf("%q", got)
			}
			return true
		}
		c.post(declare("q"))
		n := 0
		for !refused(c, bind(n), "virtual host '/'") {
			n++
		}
		if now := e.Objects().Bytes; now < own || now > own+10_000 || n < own/2000 {
			t.Errorf("%d bindings, %d bytes", n, now)
		}
		if !refused(c, declare("other"), "virtual host '/'") || !refused(c, exchange("other"), "virtual host '/'") {
			t.Error("a queue or an exchange is declared")
		}
		c.post(declare("q"), bind(0), exchange("amq.topic"))
		c.expect()
		others := 0
		for !refused(other, exchange(fmt.Sprint("x", others)), "all virtual hosts") {
			others++
		}
		if o := e.Objects(); others < 5 || o.Refused != 4 || o.Max != most || o.Bytes < most || o.Bytes > most+1000 {
			t.Errorf("%d exchanges in another virtual host, %+v", others, o)
		}
		change(t, e, accounts.Command{Kind: accounts.DeleteVHost, VHost: "v"})
		synctest.Wait()
		before := e.Objects().Bytes
		if before > own+2000 {
			t.Errorf("%d bytes are counted when a virtual host is deleted", before)
		}
		stop(t, e)
		e = start(t, disk, func(o *Options) { o.ObjectsMax = most })
		defer func() { stop(t, e) }()
		if now := e.Objects().Bytes; now != before {
			t.Errorf("%d bytes are counted after a restart, %d before", now, before)
		}
		c = attach(t, e, "")
		c.post(vhost.Command{Kind: vhost.DeleteQueue, NoWait: true, Definition: &vhost.Definition{Name: "q"}})
		c.expect()
		if now := e.Objects().Bytes; now > own/10 {
			t.Errorf("%d bytes are counted when the queue is deleted", now)
		}
		c.post(exchange("other"))
		c.expect()
	})
}
