package engine

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bartleby-mq/bartleby/internal/accounts"
	"github.com/bartleby-mq/bartleby/internal/journal"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// fill publishes until the disk has no space left.
func fill(t *testing.T, e *Engine, d *disk) {
	t.Helper()
	d.budget(0)
	filler := attach(t, e, "")
	body := strings.Repeat("x", 8<<10)
	for range 1000 {
		if e.Alarms() != 0 {
			return
		}
		filler.post(publish("work", body), confirms())
		synctest.Wait()
	}
	t.Fatal("the disk is never full")
}

// until reads events until that one.
func (c *client) until(event string) {
	for e := range c.events {
		if e == event {
			return
		}
	}
}

// TestPublishersLearnOfAFullDisk says that a publisher is not told that it has to wait, or that it goes on; or that a
// consumer is told so, or has to wait itself.
func TestPublishersLearnOfAFullDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		e := start(t, d, func(o *Options) { o.Journal = journal.Options{SegmentBytes: 64 << 10, ReserveBytes: 256 << 10} })
		defer stop(t, e)
		before, first, consumer, leaves := attach(t, e, ""), attach(t, e, ""), attach(t, e, ""), attach(t, e, "")
		before.post(declare("work"), declare("side"), confirms(), publish("side", "a"), publish("side", "b"), publish("side", "c"))
		before.expect("confirm 1", "confirm 2", "confirm 3")
		leaves.post(publish("side", "d"))

		fill(t, e, d)
		before.expect("blocked low on disk")
		leaves.expect("blocked low on disk")
		first.expect()
		first.post(confirms(), publish("side", "e"))
		first.expect("blocked low on disk")
		consumer.post(vhost.Command{Kind: vhost.Qos, NoWait: true, Definition: &vhost.Definition{Prefetch: 1}}, consume("side"))
		consumer.expect("deliver a")
		consumer.post(vhost.Command{Kind: vhost.Ack, Tag: 1})
		consumer.expect("deliver b")

		before.post(consume("side"), vhost.Command{Kind: vhost.Ack, Tag: 1}) // not held back: it publishes nothing
		before.expect("deliver c", "deliver d")
		before.post(publish("side", "f"), vhost.Command{Kind: vhost.Ack, Tag: 2})
		before.session.Written(1 << 20) // gives back what it took all the same
		before.expect()
		publishing := before.channel
		before.open() // a channel that does not publish goes on
		before.post(get("side"))
		before.expect("none")
		before.channel = publishing
		leaves.post(publish("side", "never"))
		leaves.session.Close()

		d.budget(-1)
		first.until("confirm 1")
		before.until("confirm 4")
		synctest.Wait()
		for name, c := range map[string]*client{"who published before": before, "who published during it": first} {
			if got := c.take(); len(got) == 0 || got[0] != "unblocked" {
				t.Errorf("%s was told %q", name, got)
			}
		}
		consumer.expect()
		if err := e.Query(t.Context(), "/", func(v vhost.Reader) {
			q, _ := v.Queue("side")
			if q.Stats.Acked != 3 || q.Ready+q.Unacked != 3 {
				t.Errorf("%d acked, %d left: the acks of a connection that had to wait are lost", q.Stats.Acked, q.Ready+q.Unacked)
			}
		}); err != nil {
			t.Error(err)
		}
	})
}

// If it failed, the body of a message that its user may not publish would be taken first; or a client whose message has
// not arrived whole when an alarm begins would not learn that it has to wait.
func TestAnnouncedMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		e := start(t, d, func(o *Options) { o.Journal = journal.Options{SegmentBytes: 64 << 10, ReserveBytes: 256 << 10} })
		defer stop(t, e)
		announce := func(exchange, key string) vhost.Command {
			return vhost.Command{Kind: vhost.Announce, Exchange: []byte(exchange), Key: []byte(key), Properties: properties(1)}
		}
		change(t, e, accounts.Command{Kind: accounts.PutUser, User: "u"},
			accounts.Command{Kind: accounts.SetPermission, User: "u", VHost: "/", Write: "^(work|amq.topic|none)$"},
			accounts.Command{Kind: accounts.SetTopicPermission, User: "u", VHost: "/", Exchange: "amq.topic",
				Write: "^mine$", Read: ""})
		for _, one := range []struct{ exchange, key, answer string }{
			{"", "work", "closed ACCESS_REFUSED - write access to exchange 'amq.default' in vhost '/' refused for user 'u'"},
			{"none", "work", "closed NOT_FOUND - no exchange 'none' in vhost '/'"},
			{"amq.topic", "theirs", "closed ACCESS_REFUSED - write access to topic 'theirs' in exchange 'amq.topic' in vhost '/' refused for user 'u'"},
		} {
			u := attach(t, e, "u")
			u.post(announce(one.exchange, one.key))
			u.expect(one.answer)
		}
		u, before := attach(t, e, "u"), attach(t, e, "")
		u.post(announce("amq.topic", "mine"))
		u.expect()
		before.post(declare("work"), announce("", "work"))
		before.expect()
		fill(t, e, d)
		u.expect("blocked low on disk")
		before.expect("blocked low on disk")
		during := attach(t, e, "")
		during.post(announce("", "work"))
		during.expect("blocked low on disk")
		d.budget(-1)
		during.until("unblocked")
	})
}

// If it failed, what is published just as an alarm ends would overtake what its connection published before.
func TestWhatWaitedGoesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		e := start(t, d, func(o *Options) { o.Journal = journal.Options{SegmentBytes: 64 << 10, ReserveBytes: 256 << 10} })
		defer stop(t, e)
		c := attach(t, e, "")
		c.post(declare("work"), declare("side"), confirms())
		fill(t, e, d)
		c.post(publish("side", "1"), publish("side", "2"))
		synctest.Wait()
		busy, free := make(chan struct{}), make(chan struct{})
		look := func(fn func()) {
			go func() {
				if err := e.Query(t.Context(), "/", func(vhost.Reader) { fn() }); err != nil {
					t.Error(err)
				}
			}()
		}
		look(func() {
			close(busy)
			<-free
		})
		<-busy
		look(func() { // in the same round as the next publish, and before it
			for d.budget(-1); e.Alarms() != 0; {
				<-time.After(100 * time.Millisecond)
			}
		})
		synctest.Wait()
		c.post(publish("side", "3"))
		close(free)
		c.until("confirm 3")
		reader := attach(t, e, "")
		reader.post(consume("side"))
		reader.expect("deliver 1", "deliver 2", "deliver 3")
	})
}
