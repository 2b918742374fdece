package engine

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bartleby-mq/bartleby/internal/accounts"
	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/journal"
	"github.com/bartleby-mq/bartleby/internal/vfs"
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
	c.session.Close()
	synctest.Wait()
	return published
}

// settleAll gets messages of a queue and acks or rejects them until none is left, or until nothing has come for a
// while. It tells how many it got.
func settleAll(t *testing.T, e *Engine, queue string, settle func(n int) vhost.CommandKind) (n int) {
	t.Helper()
	c := &client{t: t, events: make(chan string, 10_000)}
	var err error
	if c.session, err = e.Attach(c, ConnInfo{Principal: authz.Broker(), Name: "test", VHost: "/", Window: 1 << 40}); err != nil {
		t.Fatal(err)
	}
	c.open()
	defer c.session.Close()
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
			for range 20 { // what could not move dies when there is space: what has moved makes some
				settleAll(t, e, "dead", acks)
				if settleAll(t, e, "work", acks) == 0 && e.Alarms() == 0 {
					break
				}
			}
			if e.Alarms() != 0 || e.Waiting() != nil {
				t.Fatalf("all was taken from a full disk, and publishers wait: %v, %+v, %v", e.Alarms(),
					e.writer.journal.Stats(), e.writer.spaceFor())
			}
			if s := e.Storage(t.Context()); s.VHosts[0].PutOff != 0 {
				t.Errorf("there is room, and %d messages are said to wait for it", s.VHosts[0].PutOff)
			}
			again := attach(t, e, "")
			again.post(confirms(), publish("work", "m"))
			again.expect("confirm 1")
			stop(t, e)
		})
	}
}

// TestMuchAtOnceOnAFullDisk says that the log needs a file larger than usual for what came at once, and waits for ever
// on a disk that has space for no other file, with the reserve untouched.
func TestMuchAtOnceOnAFullDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		d.Budget(8 << 20)
		e := start(t, d, smallDisk)
		c := attach(t, e, "")
		c.post(declare("work"), confirms())
		c.take()
		d.budget(0)
		var many []vhost.Command
		for range 8 {
			many = append(many, publish("work", string(make([]byte, 15_000))))
		}
		c.post(many...)
		synctest.Wait()
		time.Sleep(5 * time.Second) // of the bubble
		if w := e.Waiting(); w != nil {
			t.Errorf("the log waits: %v, %+v", w.Err, e.writer.journal.Stats())
		}
		if n := settleAll(t, e, "work", acks); n != len(many) {
			t.Errorf("%d of %d messages came", n, len(many))
		}
		stop(t, e)
	})
}

// TestALargeMessageOnAFullDisk says that a message for which the disk has no space, as large as it
// is, stops all others.
func TestALargeMessageOnAFullDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		d.Budget(8 << 20)
		e := start(t, d, smallDisk)
		c := attach(t, e, "")
		c.post(declare("work"), confirms(), publish("work", "m"))
		c.expect("confirm 1")
		d.budget(0)
		c.post(publish("work", string(make([]byte, 300_000))))
		synctest.Wait()
		time.Sleep(8 * time.Second) // of the bubble
		if w := e.Waiting(); w != nil {
			t.Errorf("the log waits: %v", w.Err)
		}
		if n := settleAll(t, e, "work", acks); n != 1 {
			t.Errorf("%d messages, want the one that was confirmed", n)
		}
		stop(t, e)
	})
}

// TestADiskThatFillsUpDuringCheckpoints says that publishers live on the reserve while the
// checkpoints of many virtual hosts take long: when another process then takes the space that
// was to complete it, nothing can be acked any more, also after a restart.
func TestADiskThatFillsUpDuringCheckpoints(t *testing.T) {
	small := func(o *Options) { o.Journal = journal.Options{SegmentBytes: 64 << 10, ReserveBytes: 512 << 10} }
	for filled := range 10 {
		synctest.Test(t, func(t *testing.T) {
			d := newDisk()
			d.Budget(8 << 20)
			e := start(t, d, small)
			for i := range 3 * portionStates {
				change(t, e, accounts.Command{Kind: accounts.PutVHost, VHost: fmt.Sprint(i)})
				attachTo(t, e, fmt.Sprint(i)).post(declare("work"))
			}
			c := attach(t, e, "")
			first := string(make([]byte, filled*5000)) // so that segments end at any point
			c.post(declare("work"), confirms(), publish("work", first))
			c.take()
			next := make(chan struct{})
			d.Before(func(c vfs.Call) error {
				if c.Op == "sync" && strings.HasSuffix(c.Name, ".checkpoint") {
					<-next
				}
				return nil
			})
			e.checkpointSoon()
			large := publish("work", string(make([]byte, 21_000)))
			for n := range 3 { // during that many portions of checkpoints
				for written := true; written; written = len(c.take()) > 0 {
					c.post(large)
				}
				if n < 2 {
					for range portionStates {
						next <- struct{}{}
						synctest.Wait()
					}
				}
			}
			posted := make(chan struct{})
			go func() { // as much as can be on its way
				defer close(posted)
				for range 4 {
					c.post(large)
				}
			}()
			synctest.Wait()
			d.Budget(0)
			close(next)
			<-posted
			synctest.Wait()
			d.kill(e)
			e = start(t, d, small)
			there := ready(t, e, "work")
			if n := settleAll(t, e, "work", acks); n != there || e.Waiting() != nil {
				t.Errorf("%d of %d messages were acked: %+v", n, there, e.writer.journal.Stats())
			}
			stop(t, e)
		})
	}
}
