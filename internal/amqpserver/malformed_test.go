package amqpserver

import (
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/vhost"
	"github.com/bartleby-mq/bartleby/internal/wire"
)

// frame is any frame, sound or not.
func frame(kind byte, channel uint16, payload string, end byte) []byte {
	b := binary.BigEndian.AppendUint16([]byte{kind}, channel)
	b = binary.BigEndian.AppendUint32(b, uint32(len(payload)))
	return append(append(b, payload...), end)
}

func method(channel uint16, m wire.Method) []byte { return wire.AppendMethod(nil, channel, m) }

// publishing is a whole message in one body frame.
func publishing(channel uint16, key, body string) []byte {
	b := wire.AppendPublish(nil, channel, "", key, false)
	b = wire.AppendContentHeader(b, channel, uint64(len(body)), []byte{0, 0})
	return wire.AppendBody(b, channel, []byte(body), 0)
}

// If it failed, bad input would get an answer that clients do not know, or would disturb what came before it.
func TestMalformedInputEndsTheConnection(t *testing.T) {
	t.Parallel()
	header := func(channel uint16, size uint64) []byte {
		return wire.AppendContentHeader(nil, channel, size, []byte{0, 0})
	}
	publish := wire.AppendPublish(nil, 1, "", "q", false)
	for _, test := range []struct {
		name string
		say  [][]byte // after channel 1 was opened
		code uint16
		text string // its beginning
		of   wire.MethodID
	}{
		{"frame too large", [][]byte{{1, 0, 1, 0, 2, 0, 1}}, 501, "FRAME_ERROR - type 1, all octets = <<>>: {frame_too_large,131073,131064}", 0},
		{"wrong end", [][]byte{frame(1, 1, "\x00\x3c\x00\x50\x00\x00\x00\x00\x00\x00\x00\x01\x00", 0)}, 501, "FRAME_ERROR - type 1, all octets = <<0,60,0,80,0,0,0,0,0,0,0,1,0>>: {invalid_frame_end_marker,0}", 0},
		{"unknown frame type", [][]byte{frame(9, 1, "", 0xCE)}, 501, "FRAME_ERROR - ", 0},
		{"heartbeat on a channel", [][]byte{frame(8, 1, "", 0xCE)}, 505, "UNEXPECTED_FRAME - ", 0},
		{"header on channel 0", [][]byte{header(0, 1)}, 505, "UNEXPECTED_FRAME - ", 0},
		{"body without a method", [][]byte{frame(3, 1, "x", 0xCE)}, 505, "UNEXPECTED_FRAME - expected method frame, got non method frame instead", 0},
		{"header without a method", [][]byte{header(1, 1)}, 505, "UNEXPECTED_FRAME - expected method frame", 0},
		{"header on a channel that is not open", [][]byte{header(2, 1)}, 505, "UNEXPECTED_FRAME - expected method frame", 0},
		{"method while a header is due", [][]byte{publish, method(1, &wire.BasicQos{})}, 505, "UNEXPECTED_FRAME - expected content header for class 60, got non content header frame instead", wire.IDBasicPublish},
		{"body while a header is due", [][]byte{publish, frame(3, 1, "x", 0xCE)}, 505, "UNEXPECTED_FRAME - expected content header for class 60", wire.IDBasicPublish},
		{"method while a body is due", [][]byte{publish, header(1, 5), method(1, &wire.BasicQos{})}, 505, "UNEXPECTED_FRAME - expected content body, got non content body frame instead", wire.IDBasicPublish},
		{"second header", [][]byte{publish, header(1, 5), header(1, 5)}, 505, "UNEXPECTED_FRAME - expected content body", wire.IDBasicPublish},
		{"header of another class", [][]byte{publish, frame(2, 1, "\x00\x32\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00", 0xCE)}, 505, "UNEXPECTED_FRAME - expected content header for class 60, got one for class 50 instead", 0},
		{"body longer than announced", [][]byte{publish, header(1, 2), frame(3, 1, "xyz", 0xCE)}, 501, "FRAME_ERROR - ", 0},
		{"method cut short", [][]byte{frame(1, 1, "\x00", 0xCE)}, 501, "FRAME_ERROR - ", 0},
		{"arguments cut short", [][]byte{frame(1, 1, "\x00\x3c\x00\x50\x00", 0xCE)}, 502, "SYNTAX_ERROR - ", wire.IDBasicAck},
		{"unknown type tag in a table", [][]byte{frame(1, 1, "\x00\x32\x00\x0a\x00\x00\x01q\x00\x00\x00\x00\x04\x01ay\x00", 0xCE)}, 502, "SYNTAX_ERROR - ", wire.IDQueueDeclare},
		{"name that is not UTF-8", [][]byte{frame(1, 1, "\x00\x32\x00\x0a\x00\x00\x01\xff\x00\x00\x00\x00\x00", 0xCE)}, 501, "FRAME_ERROR - ", wire.IDQueueDeclare},
		{"unknown method", [][]byte{frame(1, 1, "\x00\x3c\x00\xff", 0xCE)}, 503, "COMMAND_INVALID - ", wire.MethodID(60<<16 | 255)},
		{"connection method on a channel", [][]byte{method(1, &wire.ConnectionOpen{})}, 503, "COMMAND_INVALID - ", wire.IDConnectionOpen},
		{"channel method on channel 0", [][]byte{method(0, &wire.ChannelOpen{})}, 504, "CHANNEL_ERROR - unexpected method in connection state running", wire.IDChannelOpen},
		{"handshake again", [][]byte{method(0, &wire.ConnectionTuneOk{})}, 504, "CHANNEL_ERROR - unexpected method in connection state running", wire.IDConnectionTuneOk},
		{"method before channel.open", [][]byte{method(2, &wire.BasicQos{})}, 504, "CHANNEL_ERROR - expected 'channel.open'", wire.IDBasicQos},
		{"second channel.open", [][]byte{method(1, &wire.ChannelOpen{})}, 504, "CHANNEL_ERROR - second 'channel.open' seen", wire.IDChannelOpen},
		{"channel number too high", [][]byte{method(2048, &wire.ChannelOpen{})}, 530, "NOT_ALLOWED - number of channels opened (1) has reached the negotiated channel_max (2047)", wire.IDChannelOpen},
		{"recover without requeue", [][]byte{method(1, &wire.BasicRecover{})}, 540, "NOT_IMPLEMENTED - requeue=false", wire.IDBasicRecover},
		{"channel.flow off", [][]byte{method(1, &wire.ChannelFlow{})}, 540, "NOT_IMPLEMENTED - active=false", wire.IDChannelFlow},
	} {
		inBubble(t, nil, func(b *bed) {
			c := b.open(0)
			c.openChannel(1)
			c.raw(slices.Concat(publishing(1, "q", "before"), slices.Concat(test.say...), publishing(1, "q", "after")))
			got := expect[*wire.ConnectionClose](c, 0)
			if got.ReplyCode != test.code || !strings.HasPrefix(got.ReplyText, test.text) ||
				wire.MethodID(uint32(got.ClassID)<<16|uint32(got.MethodID)) != test.of {
				c.Errorf("%s: told %+v", test.name, got)
			}
			if !c.session.isClosed() {
				c.Errorf("%s: still attached", test.name)
			}
			published := c.session.got(vhost.Publish)
			if len(published) != 1 || string(published[0].Body) != "before" {
				c.Errorf("%s: published %+v", test.name, published)
			}
			c.raw(publishing(1, "q", "later")) // ignored
			c.send(0, &wire.ConnectionCloseOk{})
			c.expectEnd()
			if len(c.session.got(vhost.Publish)) != 1 {
				c.Errorf("%s: published after connection.close", test.name)
			}
		})
	}
}

// If it failed, an oversized message would take memory or the whole connection.
func TestOversizedMessageClosesItsChannel(t *testing.T) {
	t.Parallel()
	inBubble(t, func(o *Options) { o.MessageMax = 10 }, func(b *bed) {
		c := b.open(0)
		c.openChannel(1)
		c.openChannel(2)
		c.send(1, &wire.ConfirmSelect{})
		c.raw(slices.Concat(publishing(1, "q", "0123456789"), publishing(1, "q", "0123456789a"), publishing(1, "q", "ignored"),
			publishing(2, "q", "other")))
		expect[*wire.ConfirmSelectOk](c, 1)
		got := expect[*wire.ChannelClose](c, 1)
		want := wire.ChannelClose{ReplyCode: 406, ClassID: 60, MethodID: 40,
			ReplyText: "PRECONDITION_FAILED - message size 11 is larger than configured max size 10"}
		if *got != want {
			c.Errorf("told %+v", got)
		}
		c.send(1, &wire.BasicQos{}) // still ignored
		c.send(1, &wire.ChannelCloseOk{})
		c.openChannel(1)
		c.raw(publishing(1, "q", "again"))
		c.expectQuiet()
		var bodies []string
		for _, p := range c.session.got(vhost.Publish) {
			bodies = append(bodies, string(p.Body))
		}
		if !slices.Equal(bodies, []string{"0123456789", "other", "again"}) {
			c.Errorf("published %q", bodies)
		}
	})
}

// If it failed, a refusal would reach the client under a wrong method, or twice, or let later commands through.
func TestRefusalsOfTheEngine(t *testing.T) {
	t.Parallel()
	inBubble(t, nil, func(b *bed) {
		b.script.answer = func(s *scriptSession, c *vhost.Command) bool {
			switch {
			case c.Kind == vhost.Consume:
				s.closeWith(c, amqp.NotFound("no queue 'q' in vhost '/'"))
			case c.Kind == vhost.Qos && c.Definition.PrefetchSize > 0:
				s.closeWith(c, amqp.NotImplemented("prefetch_size!=0 (1)"))
			default:
				return false
			}
			return true
		}
		c := b.open(0)
		c.openChannel(1)
		c.openChannel(2)
		c.raw(slices.Concat(method(1, &wire.BasicConsume{Queue: "q"}), method(1, &wire.BasicConsume{Queue: "q"}), method(2, &wire.BasicQos{})))
		got := expect[*wire.ChannelClose](c, 1)
		if *got != (wire.ChannelClose{ReplyCode: 404, ReplyText: "NOT_FOUND - no queue 'q' in vhost '/'", ClassID: 60, MethodID: 20}) {
			c.Errorf("told %+v", got)
		}
		expect[*wire.BasicQosOk](c, 2)
		c.raw(slices.Concat(publishing(1, "q", "ignored"), method(1, &wire.ChannelCloseOk{})))
		c.openChannel(1)
		c.raw(slices.Concat(method(1, &wire.BasicQos{PrefetchSize: 1}), method(2, &wire.BasicQos{})))
		if got := expect[*wire.ConnectionClose](c, 0); got.ReplyCode != 540 || got.ClassID != 60 || got.MethodID != 10 {
			c.Errorf("told %+v", got)
		}
		c.expectQuiet()
		if n := len(c.session.got(vhost.Publish)); n != 0 {
			c.Errorf("%d messages published on a closed channel", n)
		}
	})
}
