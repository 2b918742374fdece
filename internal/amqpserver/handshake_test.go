package amqpserver

import (
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bartleby-mq/bartleby/internal/accounts"
	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/wire"
)

// If it failed, clients would not get in, or would take us for another server.
func TestHandshakeTellsAndLearns(t *testing.T) {
	t.Parallel()
	plain := "\x00guest\x00guest"
	amqPlain := string(amqp.AppendTable(nil, amqp.Table{
		{Name: "LOGIN", Value: amqp.String("guest")}, {Name: "PASSWORD", Value: amqp.Binary("guest")},
	})[4:])
	for _, test := range []struct{ header, mechanism, response string }{
		{wire.ProtocolHeader, "PLAIN", plain},
		{wire.ProtocolHeader, "AMQPLAIN", amqPlain},
		{wire.ProtocolHeader, "ANONYMOUS", "anybody"},
		{headerOf09, "PLAIN", plain},
	} {
		inBubble(t, nil, func(b *bed) {
			c := b.dial().listen()
			c.raw([]byte(test.header))
			start := expect[*wire.ConnectionStart](c, 0)
			if start.Mechanisms != "PLAIN AMQPLAIN ANONYMOUS" || start.Locales != "en_US" || start.VersionMajor != 0 || start.VersionMinor != 9 {
				c.Errorf("start is %+v", start)
			}
			for name, want := range map[string]string{"product": "RabbitMQ", "version": "4.2.0", "cluster_name": "rabbit@localhost"} {
				if v, _ := start.ServerProperties.Get(name); v.Str != want {
					c.Errorf("server property %s is %q, want %q", name, v.Str, want)
				}
			}
			able, _ := start.ServerProperties.Get("capabilities")
			if len(able.Table) != 9 || !capability(start.ServerProperties, "basic.nack") {
				c.Errorf("capabilities are %+v", able.Table)
			}
			c.send(0, startOk(test.mechanism, test.response, true))
			tune := expect[*wire.ConnectionTune](c, 0)
			if *tune != (wire.ConnectionTune{ChannelMax: 2047, FrameMax: 131072, Heartbeat: 60}) {
				c.Errorf("tune is %+v", tune)
			}
			c.send(0, &wire.ConnectionTuneOk{ChannelMax: 7, FrameMax: 8192, Heartbeat: 10})
			c.raw(wire.AppendHeartbeat(nil))
			c.send(0, &wire.ConnectionOpen{VirtualHost: "/"})
			expect[*wire.ConnectionOpenOk](c, 0)
			session := <-b.script.sessions
			if i := session.info; i.User != "guest" || i.VHost != "/" || !i.CancelNotify || i.Protocol != "AMQP 0-9-1" || i.Name == "" {
				c.Errorf("attached as %+v", i)
			}
			p := b.server.Connections()[0]
			if p.State != "running" || p.User != "guest" || p.VHost != "/" || p.ChannelMax != 7 || p.FrameMax != 8192 ||
				p.Heartbeat != 10*time.Second || p.UserProvidedName != "test" || p.AuthMechanism != test.mechanism || p.Received == 0 || p.Reads == 0 || p.Writes == 0 {
				c.Errorf("picture is %+v", p)
			}
		})
	}
}

// If it failed, clients would be told another name of the cluster than was set.
func TestClusterNameIsTold(t *testing.T) {
	t.Parallel()
	inBubble(t, nil, func(b *bed) {
		m := accounts.New()
		c := accounts.Command{Kind: accounts.SetGlobalParameter, Name: accounts.ClusterNameParameter,
			Value: []byte(`"shop"`)}
		if err := m.Step(c, &accounts.Outcome{}); err != nil {
			t.Fatal(err)
		}
		b.script.view = m.View()
		client := b.dial().listen()
		client.raw([]byte(wire.ProtocolHeader))
		if v, _ := expect[*wire.ConnectionStart](client, 0).ServerProperties.Get("cluster_name"); v.Str != "shop" {
			t.Errorf("the cluster is called %q", v.Str)
		}
	})
}

// If it failed, a stranger's first octets would be taken for a handshake, or he would not learn what we speak.
func TestForeignProtocolIsAnsweredWithOurs(t *testing.T) {
	t.Parallel()
	for _, header := range []string{"AMQP\x00\x01\x00\x00", "AMQP\x00\x00\x0a\x00", "GET / HTTP/1.1\r\n", "AMQP\x01\x01\x08\x00", "\xff\xff\xff\xff\xff\xff\xff\xff"} {
		inBubble(t, nil, func(b *bed) {
			c := b.dial()
			go func() { _, _ = c.Write([]byte(header)) }()
			answer, _ := io.ReadAll(c)
			if string(answer) != wire.ProtocolHeader {
				c.Errorf("%q was answered with %q", header, answer)
			}
			c.Conn.Close()
		})
	}
}

// If it failed, wrong logins would get in, be told more than they may know, or could be tried at full speed.
func TestRefusedLogins(t *testing.T) {
	t.Parallel()
	far := &net.TCPAddr{IP: net.IPv4(192, 0, 2, 7), Port: 4000}
	near := &net.TCPAddr{IP: net.IPv6loopback, Port: 4000}
	for _, test := range []struct {
		name, mechanism, response string
		from                      net.Addr
		told                      bool // if the client can be told
		passes                    bool
	}{
		{"wrong password", "PLAIN", "\x00guest\x00wrong", nil, true, false},
		{"empty password", "PLAIN", "\x00guest\x00", nil, true, false},
		{"no such user", "PLAIN", "\x00nobody\x00guest", nil, true, false},
		{"from afar", "PLAIN", "\x00guest\x00guest", far, true, false},
		{"from here", "PLAIN", "\x00guest\x00guest", near, true, true},
		{"anonymous from afar", "ANONYMOUS", "", far, true, false},
		{"malformed", "PLAIN", "guest\x00guest", nil, false, false},
		{"malformed table", "AMQPLAIN", "\x05LOGIN", nil, false, false},
		{"unknown mechanism", "EXTERNAL", "", nil, false, false},
	} {
		for _, capable := range []bool{true, false} {
			inBubble(t, nil, func(b *bed) {
				c := b.dialAs(test.from).listen()
				c.raw([]byte(wire.ProtocolHeader))
				expect[*wire.ConnectionStart](c, 0)
				began := time.Now()
				c.send(0, startOk(test.mechanism, test.response, capable))
				switch {
				case test.passes:
					expect[*wire.ConnectionTune](c, 0)
					return
				case test.told && capable:
					got := expect[*wire.ConnectionClose](c, 0)
					want := wire.ConnectionClose{ReplyCode: 403, ClassID: 10, MethodID: 11, ReplyText: "ACCESS_REFUSED - Login was refused using " +
						"authentication mechanism " + test.mechanism + ". For details see the broker logfile."}
					if *got != want {
						c.Errorf("%s: told %+v", test.name, got)
					}
					c.expectEnd()
				default:
					c.expectEnd()
					if wait := c.at.Sub(began); wait != refusalDelay {
						c.Errorf("%s: closed after %v", test.name, wait)
					}
				}
			})
		}
	}
}

// If it failed, clients could raise limits that protect us, or a frame would be larger than a buffer.
func TestRefusedTuning(t *testing.T) {
	t.Parallel()
	for _, test := range []wire.ConnectionTuneOk{
		{ChannelMax: 2048, FrameMax: 131072},
		{ChannelMax: 0, FrameMax: 131072},
		{ChannelMax: 2047, FrameMax: 131073},
		{ChannelMax: 2047, FrameMax: 0},
		{ChannelMax: 2047, FrameMax: 4095},
	} {
		inBubble(t, nil, func(b *bed) {
			c := b.dial().listen()
			c.raw([]byte(wire.ProtocolHeader))
			expect[*wire.ConnectionStart](c, 0)
			c.send(0, startOk("PLAIN", "\x00guest\x00guest", true))
			expect[*wire.ConnectionTune](c, 0)
			began := time.Now()
			c.send(0, &test)
			c.expectEnd()
			if wait := c.at.Sub(began); wait != refusalDelay {
				c.Errorf("%+v: closed after %v", test, wait)
			}
		})
	}
}

// If it failed, a client would not learn that its virtual host is missing or closed to it.
func TestRefusedVirtualHostIsTold(t *testing.T) {
	t.Parallel()
	inBubble(t, nil, func(b *bed) {
		b.script.refuse = amqp.NotAllowed("vhost %s not found", "x")
		c := b.dial().listen()
		c.raw([]byte(wire.ProtocolHeader))
		c.send(0, startOk("PLAIN", "\x00guest\x00guest", false))
		c.send(0, &wire.ConnectionTuneOk{ChannelMax: 1, FrameMax: 8192})
		c.send(0, &wire.ConnectionOpen{VirtualHost: "x"})
		expect[*wire.ConnectionStart](c, 0)
		expect[*wire.ConnectionTune](c, 0)
		got := expect[*wire.ConnectionClose](c, 0)
		if *got != (wire.ConnectionClose{ReplyCode: 530, ReplyText: "NOT_ALLOWED - vhost x not found", ClassID: 10, MethodID: 40}) {
			c.Errorf("told %+v", got)
		}
		c.send(0, &wire.ConnectionCloseOk{})
		c.expectEnd()
	})
}

// If it failed, clients that say nothing, or too much, before they log in would hold our memory.
func TestHandshakeIsBounded(t *testing.T) {
	t.Parallel()
	for name, say := range map[string]string{
		"nothing":         "",
		"half a header":   "AMQP",
		"half a frame":    wire.ProtocolHeader + "\x01\x00\x00",
		"heartbeats only": wire.ProtocolHeader + strings.Repeat(string(wire.AppendHeartbeat(nil)), 3),
	} {
		inBubble(t, nil, func(b *bed) {
			began := time.Now()
			c := b.dial().listen()
			c.raw([]byte(say))
			if strings.HasPrefix(say, wire.ProtocolHeader) {
				expect[*wire.ConnectionStart](c, 0)
			}
			c.expectEnd()
			if wait := c.at.Sub(began); wait != 10*time.Second {
				c.Errorf("%s: closed after %v", name, wait)
			}
		})
	}
	inBubble(t, nil, func(b *bed) {
		c := b.dial().listen()
		c.raw([]byte(wire.ProtocolHeader))
		expect[*wire.ConnectionStart](c, 0)
		began := time.Now()
		c.raw([]byte{wire.FrameMethod, 0, 0, 0, 0, 0x40, 0}) // 16 KiB announced
		c.expectEnd()
		if wait := c.at.Sub(began); wait != refusalDelay {
			c.Errorf("oversized frame: closed after %v", wait)
		}
	})
}

// If it failed, a broker that shuts down would wait for clients that have not logged in.
func TestCloseDuringHandshake(t *testing.T) {
	t.Parallel()
	inBubble(t, nil, func(b *bed) {
		c := b.dial().listen()
		c.raw([]byte(wire.ProtocolHeader))
		expect[*wire.ConnectionStart](c, 0)
		done := make(chan error)
		go func() { done <- b.server.Close(b.Context()) }()
		if got := expect[*wire.ConnectionClose](c, 0); got.ReplyCode != 320 {
			c.Errorf("told %+v", got)
		}
		c.send(0, &wire.ConnectionCloseOk{})
		if err := <-done; err != nil {
			c.Error(err)
		}
		synctest.Wait()
	})
}

// If it failed, the Java client over Netty would lose connection.start, which it is not ready for when it has sent its
// header.
func TestStartDoesNotComeAtOnce(t *testing.T) {
	t.Parallel()
	inBubble(t, nil, func(b *bed) {
		c, begun := b.dial().listen(), time.Now()
		c.raw([]byte(wire.ProtocolHeader))
		expect[*wire.ConnectionStart](c, 0)
		if wait := time.Since(begun); wait != startPause {
			t.Errorf("it came after %v", wait)
		}
	})
}
