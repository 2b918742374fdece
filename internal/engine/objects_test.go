package engine

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/bartleby-mq/bartleby/internal/accounts"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// TestObjectsAreBounded says that queues, exchanges and bindings take any amount of memory; that those that exist
// cannot be declared again at the limit; that what is deleted, or was in a deleted virtual host, still counts; or
// that nothing counts after a restart.
func TestObjectsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most = 100_000
		const refusal = "closed PRECONDITION_FAILED - queues, exchanges and bindings of all virtual hosts use 10"
		disk := newDisk()
		e := start(t, disk, func(o *Options) { o.ObjectsMax = most })
		c := attach(t, e, "")
		bind := func(i int) vhost.Command {
			return vhost.Command{Kind: vhost.BindQueue, NoWait: true, Definition: &vhost.Definition{
				Name: "q", Source: "amq.topic", RoutingKey: fmt.Sprint(i, ".a.b.c.d.e.f"),
			}}
		}
		exchange := func(name string) vhost.Command {
			d := vhost.Definition{Name: name, Type: "topic", Durable: true}
			return vhost.Command{Kind: vhost.DeclareExchange, NoWait: true, Definition: &d}
		}
		c.post(declare("q"))
		c.expect()
		change(t, e, accounts.Command{Kind: accounts.PutVHost, VHost: "v"})
		in := attachTo(t, e, "v")
		in.post(declare("q"), declare("r"))
		in.expect()
		n := 0
		for ; e.Objects().Bytes < most; n++ {
			c.post(bind(n))
			c.expect()
		}
		if n < most/2000 || n > most/1000 {
			t.Errorf("%d bindings", n)
		}
		c.post(declare("q"), bind(0), exchange("amq.topic"))
		c.expect()
		for _, another := range []vhost.Command{bind(n), declare("other"), exchange("other")} {
			c.post(another)
			if got := strings.Join(c.take(), " "); !strings.HasPrefix(got, refusal) {
				t.Errorf("%q", got)
			}
			c.open()
		}
		if o := e.Objects(); o.Refused != 3 || o.Max != most {
			t.Errorf("%+v", o)
		}
		change(t, e, accounts.Command{Kind: accounts.DeleteVHost, VHost: "v"})
		synctest.Wait()
		if now := e.Objects().Bytes; now > most-1000 {
			t.Errorf("%d bytes are counted when a virtual host is deleted", now)
		}
		before := e.Objects().Bytes
		stop(t, e)
		e = start(t, disk, func(o *Options) { o.ObjectsMax = most })
		defer func() { stop(t, e) }()
		if now := e.Objects().Bytes; now != before {
			t.Errorf("%d bytes are counted after a restart, %d before", now, before)
		}
		c = attach(t, e, "")
		c.post(vhost.Command{Kind: vhost.DeleteQueue, NoWait: true, Definition: &vhost.Definition{Name: "q"}})
		c.expect()
		if now := e.Objects().Bytes; now > most/10 {
			t.Errorf("%d bytes are counted when the queue is deleted", now)
		}
		c.post(exchange("other"))
		c.expect()
	})
}
