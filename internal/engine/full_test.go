package engine

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/journal"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// smallDisk is a journal of small segments with a small reserve.
func smallDisk(o *Options) {
	o.Journal = journal.Options{SegmentBytes: 64 << 10, ReserveBytes: 192 << 10}
}

// fillDisk publishes until publishers have to wait.
func fillDisk(t *testing.T, e *Engine, queue string) (published int) {
	t.Helper()
	c := attach(t, e, "")
	body := string(make([]byte, 15000))
	for ; e.Alarms() == 0; published++ {
		if published > 20_000 {
			t.Fatal("the disk is never full")
		}
		c.post(publish(queue, body))
		synctest.Wait()
	}
	c.link.Close()
	synctest.Wait()
	return published
}

// settleAll gets messages of a queue and acks or rejects them until none is left, or until nothing has come for a while. It
// tells how many it got.
func settleAll(t *testing.T, e *Engine, queue string, settle func(n int) vhost.CommandKind) (n int) {
	t.Helper()
	c := &client{t: t, events: make(chan string, 10_000)}
	var err error
	if c.link, err = e.Attach(c, ConnInfo{Principal: authz.Broker(), Name: "test", VHost: "/", Window: 1 << 40}); err != nil {
		t.Fatal(err)
	}
	c.open()
	defer c.link.Close()
	tag, idle := uint64(0), 0
	for idle < 60 {
		var got []string
		for range 10 {
			c.post(vhost.Command{Kind: vhost.Get, Definition: &vhost.Definition{Name: queue}})
		}
		got = c.take()
		some := false
		for _, x := range got {
			if strings.HasPrefix(x, "got") {
				n++
				tag++
				some = true
				c.post(vhost.Command{Kind: settle(n), Tag: tag})
			}
		}
		if idle++; some {
			idle = 0
		}
		time.Sleep(100 * time.Millisecond) // of the bubble
		synctest.Wait()
	}
	return n
}

func acks(int) vhost.CommandKind { return vhost.Ack }

// TestRejectsOnAFullDisk says that consumers who reject most of what they get use up what acks need: nothing can be
// written any more, and the vhost answers nobody.
func TestRejectsOnAFullDisk(t *testing.T) {
	for _, kill := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			d := newDisk()
			d.Budget(8 << 20)
			e := start(t, d, smallDisk)
			c := attach(t, e, "")
			work := declare("work")
			work.Definition.Arguments = amqp.Table{
				{Name: "x-dead-letter-exchange", Value: amqp.String("")}, {Name: "x-dead-letter-routing-key", Value: amqp.String("dead")},
			}
			c.post(work, declare("dead"))
			c.take()
			published := fillDisk(t, e, "work")
			d.budget(0)
			n := settleAll(t, e, "work", func(n int) vhost.CommandKind {
				if n%10 == 0 {
					return vhost.Ack
				}
				return vhost.Reject
			})
			if n < published-1 {
				t.Errorf("%d of %d messages came from the queue", n, published)
			}
			if kill {
				d.kill(e)
				e = start(t, d, smallDisk)
			}
			for range 20 { // what could not move dies when there is room: what has moved makes some
				settleAll(t, e, "dead", acks)
				if settleAll(t, e, "work", acks) == 0 && e.Alarms() == 0 {
					break
				}
			}
			if e.Alarms() != 0 || e.Waiting() != nil {
				t.Fatalf("all was taken from a full disk, and publishers wait: %v, %+v, %v", e.Alarms(), e.scribe.journal.Stats(), e.scribe.roomFor())
			}
			again := attach(t, e, "")
			again.post(confirms(), publish("work", "m"))
			again.expect("confirm 1")
			stop(t, e)
		})
	}
}
