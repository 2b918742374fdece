package perf

import (
	"bytes"
	"errors"
	"io"
	"net"
	"reflect"
	"strings"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/wire"
)

// script plays the broker on one end of a pipe: it writes and expects octets in turn.
type script struct {
	t    *testing.T
	conn net.Conn
}

func (s *script) expect(want []byte) {
	got := make([]byte, len(want))
	if _, err := io.ReadFull(s.conn, got); err != nil || !bytes.Equal(got, want) {
		s.t.Errorf("the client says %q, %v, want %q", got, err, want)
	}
}

func (s *script) answer(ch uint16, m wire.Method) { s.conn.Write(wire.AppendMethod(nil, ch, m)) }

func method(ch uint16, m wire.Method) []byte { return wire.AppendMethod(nil, ch, m) }

var you = target{user: "u", password: "p", vhost: "v/1"}

// open shakes hands up to channel.open-ok.
func (s *script) open(frameMax uint32) {
	s.expect([]byte(wire.ProtocolHeader))
	s.answer(0, &wire.ConnectionStart{VersionMinor: 9, Mechanisms: "PLAIN", Locales: "en_US", ServerProperties: amqp.Table{
		{Name: "product", Value: amqp.String("scripted")}, {Name: "version", Value: amqp.String("7")},
		{Name: "platform", Value: amqp.String("Paper 1")},
	}})
	s.expect(method(0, &wire.ConnectionStartOk{
		ClientProperties: introduction,
		Mechanism:        "PLAIN", Response: "\x00u\x00p", Locale: "en_US",
	}))
	s.answer(0, &wire.ConnectionTune{ChannelMax: 9, FrameMax: frameMax, Heartbeat: 60})
	agreed := uint32(128 << 10)
	if frameMax > 0 { // 0 is no limit
		agreed = min(agreed, frameMax)
	}
	s.expect(method(0, &wire.ConnectionTuneOk{ChannelMax: 9, FrameMax: agreed}))
	s.expect(method(0, &wire.ConnectionOpen{VirtualHost: "v/1"}))
	s.answer(0, &wire.ConnectionOpenOk{})
	s.expect(method(1, &wire.ChannelOpen{}))
	s.answer(1, &wire.ChannelOpenOk{})
}

// scripted opens a link to a script that goes on with play, and waits for its end when the test is over.
func scripted(t *testing.T, frameMax uint32, play func(s *script)) *link {
	t.Helper()
	client, server := net.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		s := &script{t, server}
		s.open(frameMax)
		play(s)
		server.Close()
	}()
	t.Cleanup(func() {
		client.Close()
		<-done
	})
	l, err := newLink(client, you, make([]byte, readBytes))
	if err == nil {
		err = l.open()
	}
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestHandshake(t *testing.T) {
	// If this fails, the generator cannot log in to a broker, or exceeds the frame size that it agreed to.
	t.Parallel()
	for offered, agreed := range map[uint32]uint32{4096: 4096, 131072: 131072, 1 << 20: 131072, 0: 131072} {
		l := scripted(t, offered, func(s *script) {
			s.expect(method(0, &wire.ConnectionClose{ReplyCode: 200, ReplyText: "done"}))
			s.answer(0, &wire.ConnectionCloseOk{})
		})
		if l.frameMax != agreed || l.product != "scripted 7 (Paper 1)" {
			t.Errorf("offered %d: frames of %d, product %q", offered, l.frameMax, l.product)
		}
		if err := l.close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}
}

func TestRefusalsAreTold(t *testing.T) {
	// If this fails, the reason why a broker ends connection, channel or consumer is not shown.
	t.Parallel()
	for _, c := range []struct {
		m    wire.Method
		want string
	}{
		{&wire.ConnectionClose{ReplyCode: 530, ReplyText: "no such vhost"}, "closes the connection: 530 no such vhost"},
		{&wire.ChannelClose{ReplyCode: 404, ReplyText: "no queue"}, "closes the channel: 404 no queue"},
		{&wire.BasicCancel{ConsumerTag: "c0"}, "cancels consumer c0"},
		{&wire.BasicQosOk{}, "got basic.qos-ok"},
	} {
		l := scripted(t, 4096, func(s *script) {
			s.expect(method(1, &wire.ConfirmSelect{}))
			s.answer(1, c.m)
		})
		if _, err := call[*wire.ConfirmSelectOk](l, &wire.ConfirmSelect{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: error %v, want %q", c.m.ID(), err, c.want)
		}
	}
}

// traffic is what a broker sends: deliveries of one and several frames, confirms, a return.
func traffic() ([]byte, []delivery, []settled) {
	death := amqp.AppendProperties(nil, &amqp.Properties{Has: amqp.FlagHeaders, Headers: amqp.Table{
		{Name: "x-first-death-queue", Value: amqp.String("q")},
		{Name: "x-death", Value: amqp.Array(amqp.TableValue(nil))},
	}})
	none := amqp.AppendProperties(nil, &amqp.Properties{Has: amqp.FlagHeaders, Headers: amqp.Table{{Name: "x-death", Value: amqp.Array()}}})
	body := append([]byte("\x00\x01\x00\x00\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00\x03"), make([]byte, 5000)...)
	content := func(b, properties, body []byte, most uint32) []byte {
		b = wire.AppendContentHeader(b, channel, uint64(len(body)), properties)
		return wire.AppendBody(b, channel, body, most)
	}
	b := wire.AppendDeliver(nil, channel, "c0", 1, false, nil, []byte("q"))
	b = content(b, death, body, 4096)
	b = wire.AppendAck(b, channel, 5, true)
	b = wire.AppendDeliver(b, channel, "c0", 2, true, nil, []byte("q"))
	b = content(b, none, body[:16], wire.FrameOverhead+10) // the stamp lies in two frames
	b = wire.AppendReturn(b, channel, 312, "NO_ROUTE", nil, []byte("q"))
	b = content(b, []byte{0, 0}, body[:16], 0)
	b = wire.AppendHeartbeat(b)
	b = wire.AppendNack(b, channel, 6, false, false)
	b = wire.AppendDeliver(b, channel, "c0", 3, false, nil, []byte("q"))
	b = content(b, []byte{0, 0}, nil, 0)
	return b, []delivery{
		{tag: 1, id: messageID(1, 2), stamp: 3, dead: true},
		{tag: 2, id: messageID(1, 2), stamp: 3, redelivered: true},
		{tag: 3, id: messageID(1, 2), stamp: 3, short: true},
	}, []settled{{tag: 5, multiple: true}, {tag: 6, nacked: true}}
}

func TestReceiveAcrossReads(t *testing.T) {
	// If this fails, messages are misread depending on how the network cuts them.
	t.Parallel()
	octets, deliveries, answers := traffic()
	for _, step := range []int{1, 7, 100, len(octets)} {
		l := scripted(t, 4096, func(s *script) {
			for rest := octets; len(rest) > 0; rest = rest[min(step, len(rest)):] {
				s.conn.Write(rest[:min(step, len(rest))])
			}
		})
		var all received
		for {
			got, err := l.receive()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			all.deliveries = append(all.deliveries, got.deliveries...)
			all.settled = append(all.settled, got.settled...)
			all.returned += got.returned
		}
		if !reflect.DeepEqual(all.deliveries, deliveries) || !reflect.DeepEqual(all.settled, answers) || all.returned != 1 {
			t.Errorf("cut by %d: %+v", step, all)
		}
	}
}

func TestInterrupt(t *testing.T) {
	// If this fails, a consumer cannot be told to stop, or loses what comes after it was.
	t.Parallel()
	send := make(chan struct{})
	l := scripted(t, 4096, func(s *script) {
		<-send
		s.conn.Write(wire.AppendAck(nil, channel, 1, false))
	})
	l.interrupt()
	if _, err := l.receive(); !errors.Is(err, errInterrupted) {
		t.Fatalf("error %v", err)
	}
	l.resume()
	close(send)
	if got, err := l.receive(); err != nil || len(got.settled) != 1 {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestMalformedTrafficEndsTheRun(t *testing.T) {
	// If this fails, a broker's broken frames are taken for messages.
	t.Parallel()
	for name, octets := range map[string][]byte{
		"frame end":           append(wire.AppendHeartbeat(nil)[:7], 0),
		"header alone":        wire.AppendContentHeader(nil, channel, 16, []byte{0, 0}),
		"body alone":          wire.AppendBody(nil, channel, []byte("x"), 0),
		"body longer":         wire.AppendBody(wire.AppendContentHeader(wire.AppendDeliver(nil, channel, "c", 1, false, nil, nil), channel, 1, []byte{0, 0}), channel, []byte("xy"), 0),
		"method cut short":    {wire.FrameMethod, 0, 1, 0, 0, 0, 1, 60, wire.FrameEnd},
		"delivery cut short":  {wire.FrameMethod, 0, 1, 0, 0, 0, 5, 0, 60, 0, 60, 1, wire.FrameEnd},
		"method of no class":  {wire.FrameMethod, 0, 1, 0, 0, 0, 4, 9, 9, 9, 9, wire.FrameEnd},
		"frame of no type":    {77, 0, 1, 0, 0, 0, 0},
		"frame beyond bounds": {wire.FrameBody, 0, 1, 255, 255, 255, 255},
	} {
		l := scripted(t, 4096, func(s *script) { s.conn.Write(octets) })
		if got, err := l.receive(); err == nil || errors.Is(err, io.EOF) {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
	}
}

func TestTarget(t *testing.T) {
	// If this fails, URLs that other clients take lead elsewhere.
	t.Parallel()
	for raw, want := range map[string]target{
		"amqp://":                          {"localhost:5672", "guest", "guest", "/"},
		"amqp://a:b%20c@h:1/":              {"h:1", "a", "b c", "/"},
		"amqp://[::1]/x":                   {"[::1]:5672", "guest", "guest", "x"},
		"amqp://guest:guest@h/%2Fa%2F%25b": {"h:5672", "guest", "guest", "/a/%b"},
	} {
		if got, err := parseTarget(raw); err != nil || got != want {
			t.Errorf("%s: %+v, %v, want %+v", raw, got, err, want)
		}
	}
	for _, raw := range []string{"", "h:5672", "amqps://h/", "amqp://h:x/"} {
		if got, err := parseTarget(raw); err == nil {
			t.Errorf("%q: %+v", raw, got)
		}
	}
}
