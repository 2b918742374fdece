package amqpserver

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bartleby-mq/bartleby/internal/accounts"
	"github.com/bartleby-mq/bartleby/internal/vhost"
	"github.com/bartleby-mq/bartleby/internal/wire"
)

// block tells the connection that publishing has to wait, or goes on.
func (s *scriptSession) block(blocked bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if blocked {
		s.frontend.Blocked("low on disk")
	} else {
		s.frontend.Unblocked()
	}
	s.frontend.Flush()
}

// If it failed, publishers would not learn why nothing is confirmed, or clients that never asked for it would be sent
// what they do not know.
func TestBlocked(t *testing.T) {
	t.Parallel()
	for _, able := range []bool{true, false} {
		inBubble(t, nil, func(b *bed) {
			c := b.dial().listen()
			c.raw([]byte(wire.ProtocolHeader))
			expect[*wire.ConnectionStart](c, 0)
			c.send(0, startOk("PLAIN", "\x00guest\x00guest", able))
			expect[*wire.ConnectionTune](c, 0)
			c.send(0, &wire.ConnectionTuneOk{ChannelMax: 2047, FrameMax: 128 << 10})
			c.send(0, &wire.ConnectionOpen{VirtualHost: "/"})
			expect[*wire.ConnectionOpenOk](c, 0)
			c.session = <-c.script.sessions
			c.openChannel(1)
			c.session.block(true)
			if able {
				if got := expect[*wire.ConnectionBlocked](c, 0); got.Reason != "low on disk" {
					c.Errorf("told %q", got.Reason)
				}
			}
			if got := b.server.Connections()[0].State; got != "blocked" {
				c.Errorf("state %q", got)
			}
			c.openChannel(2) // all else goes on
			c.session.block(false)
			if able {
				expect[*wire.ConnectionUnblocked](c, 0)
			}
			for _, want := range []string{"running", "flow", "running"} {
				c.session.paced.Store(want == "flow")
				if got := b.server.Connections()[0].State; got != want {
					c.Errorf("state %q, expected %q", got, want)
				}
			}
			c.expectQuiet()
		})
	}
}

// If it failed, thousands of connections that an alarm blocks, or that have much under way together, would hold a large
// buffer each for the little that each has sent, while memory is short: see TestTightReadsAreTiny.
func TestBlockedConnectionsReadLittle(t *testing.T) {
	t.Parallel()
	inBubble(t, func(o *Options) { o.UnfinishedMax = 4 << 20 }, func(b *bed) {
		c := b.open(0)
		c.openChannel(1)
		tiny := func(why string, want bool) {
			t.Helper()
			b.server.mu.Lock()
			defer b.server.mu.Unlock()
			for _, conn := range b.server.mu.conns {
				if got := conn.input.tight(); got != want {
					t.Errorf("%s: reads are tiny: %t", why, got)
				}
			}
		}
		tiny("at first", false)
		c.session.block(true)
		tiny("blocked", true)
		c.session.block(false)
		tiny("not blocked any more", false)
		b.server.underWay.Add(b.server.options.UnfinishedMax)
		tiny("much is under way", true)
		b.server.underWay.Add(-b.server.options.UnfinishedMax)
		tiny("nothing is under way any more", false)
	})
}

// If it failed, what a client published during an alarm would be dropped because it closes its connection; or a client
// that gives up would stay.
func TestBlockedClientCloses(t *testing.T) {
	t.Parallel()
	for _, givesUp := range []bool{false, true} {
		inBubble(t, nil, func(b *bed) {
			c := b.open(10)
			c.openChannel(1)
			c.session.park()
			c.session.block(true)
			c.raw(publishing(1, "q", "first"))
			expect[*wire.ConnectionBlocked](c, 0)
			c.raw(slices.Concat(publishing(1, "q", "last"), method(0, &wire.ConnectionClose{ReplyCode: 200}), []byte("what follows is ignored")))
			for range 10 {
				time.Sleep(time.Minute)
				c.expectBeats()
			}
			if givesUp {
				c.Conn.Close()
				c.expectGone()
				c.session.unpark()
				return
			}
			c.session.unpark()
			expect[*wire.ConnectionCloseOk](c, 0)
			if n := len(c.session.got(vhost.Publish)); n != 2 || !c.session.isClosed() {
				c.Errorf("%d messages published, detached: %v", n, c.session.isClosed())
			}
		})
	}
}

// expectBeats checks that nothing but heartbeats has come, and some of them.
func (c *client) expectBeats() {
	c.Helper()
	synctest.Wait()
	n := len(c.frames)
	for range n {
		if f := <-c.frames; f.Type != wire.FrameHeartbeat {
			c.Fatalf("got frame %+v", f)
		}
	}
	if n == 0 {
		c.Error("no heartbeat")
	}
}

// If it failed, a publisher that waits in silence for space on the disk would be taken for dead; or one that is silent
// when there is space again would not.
func TestBlockedClientMayBeSilent(t *testing.T) {
	t.Parallel()
	inBubble(t, nil, func(b *bed) {
		c := b.open(10)
		c.session.block(true)
		time.Sleep(time.Hour)
		c.session.block(false)
		start := time.Now()
		expect[*wire.ConnectionBlocked](c, 0)
		expect[*wire.ConnectionUnblocked](c, 0)
		c.expectEnd()
		if wait := c.at.Sub(start); wait < 20*time.Second || wait > 30*time.Second {
			c.Errorf("dropped %v after it was unblocked", wait)
		}
	})
}

// If it failed, clients that renew their secret would hang, or keep a connection to which they have no right any more.
func TestUpdateSecret(t *testing.T) {
	t.Parallel()
	inBubble(t, nil, func(b *bed) {
		c := b.open(0)
		c.send(0, &wire.ConnectionUpdateSecret{NewSecret: "new", Reason: "expiry"})
		expect[*wire.ConnectionUpdateSecretOk](c, 0)
		synctest.Wait()
		b.script.view = accounts.New().View()
		c.send(0, &wire.ConnectionUpdateSecret{NewSecret: "new", Reason: "expiry"})
		got := expect[*wire.ConnectionClose](c, 0)
		want := wire.ConnectionClose{
			ReplyCode: 530, ReplyText: "NOT_ALLOWED - access to vhost '/' refused for user 'guest'", ClassID: 10, MethodID: 70,
		}
		if *got != want {
			c.Errorf("refused with %+v", got)
		}
		c.send(0, &wire.ConnectionCloseOk{})
		c.expectEnd()
	})
}

// If it failed, a client could change its secret before it has said who it is.
func TestUpdateSecretTooEarly(t *testing.T) {
	t.Parallel()
	inBubble(t, nil, func(b *bed) {
		c := b.dial().listen()
		c.raw([]byte(wire.ProtocolHeader))
		expect[*wire.ConnectionStart](c, 0)
		c.send(0, startOk("PLAIN", "\x00guest\x00guest", true))
		expect[*wire.ConnectionTune](c, 0)
		c.send(0, &wire.ConnectionTuneOk{ChannelMax: 2047, FrameMax: 128 << 10})
		c.send(0, &wire.ConnectionUpdateSecret{NewSecret: "new"})
		if got := expect[*wire.ConnectionClose](c, 0); got.ReplyCode != 504 || got.ReplyText != "CHANNEL_ERROR - unexpected method in connection state opening" {
			c.Errorf("refused with %+v", got)
		}
		c.send(0, &wire.ConnectionCloseOk{})
		c.expectEnd()
	})
}
