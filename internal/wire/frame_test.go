package wire

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/amqp"
)

// golden pairs frames with what they decode to, written by hand from the protocol description.
var golden = []struct {
	name    string
	wire    string
	channel uint16
	method  Method
}{
	{
		"connection.tune", "\x01\x00\x00\x00\x00\x00\x0c" + "\x00\x0a\x00\x1e" + "\x07\xff" + "\x00\x02\x00\x00" + "\x00\x3c" + "\xce",
		0, &ConnectionTune{ChannelMax: 2047, FrameMax: 131072, Heartbeat: 60},
	},
	{
		"connection.open", "\x01\x00\x00\x00\x00\x00\x08" + "\x00\x0a\x00\x28" + "\x01/" + "\x00" + "\x00" + "\xce",
		0, &ConnectionOpen{VirtualHost: "/"},
	},
	{
		"connection.start-ok", "\x01\x00\x00\x00\x00\x00\x29" + "\x00\x0a\x00\x0b" + "\x00\x00\x00\x09\x01pS\x00\x00\x00\x02go" +
			"\x05PLAIN" + "\x00\x00\x00\x08\x00ab\x00\xffcde" + "\x05en_US" + "\xce",
		0, &ConnectionStartOk{
			ClientProperties: amqp.Table{{Name: "p", Value: amqp.String("go")}}, Mechanism: "PLAIN", Response: "\x00ab\x00\xffcde", Locale: "en_US",
		},
	},
	{
		"connection.close", "\x01\x00\x00\x00\x00\x00\x0d" + "\x00\x0a\x00\x32" + "\x01\x40" + "\x02hi" + "\x00\x3c" + "\x00\x28" + "\xce",
		0, &ConnectionClose{ReplyCode: 320, ReplyText: "hi", ClassID: 60, MethodID: 40},
	},
	{
		"channel.open-ok", "\x01\x00\x01\x00\x00\x00\x08" + "\x00\x14\x00\x0b" + "\x00\x00\x00\x00" + "\xce",
		1, &ChannelOpenOk{},
	},
	{
		"exchange.unbind-ok", "\x01\x01\x00\x00\x00\x00\x04" + "\x00\x28\x00\x33" + "\xce",
		256, &ExchangeUnbindOk{},
	},
	{
		"queue.declare", "\x01\x00\x02\x00\x00\x00\x16" + "\x00\x32\x00\x0a" + "\x00\x00" + "\x01q" + "\x12" +
			"\x00\x00\x00\x09\x03ttlI\x00\x00\x03\xe8" + "\xce",
		2, &QueueDeclare{Queue: "q", Durable: true, NoWait: true, Arguments: amqp.Table{{Name: "ttl", Value: amqp.Int32(1000)}}},
	},
	{
		"basic.publish", "\x01\x00\x01\x00\x00\x00\x0c" + "\x00\x3c\x00\x28" + "\x00\x00" + "\x01x" + "\x02rk" + "\x01" + "\xce",
		1, &BasicPublish{Exchange: "x", RoutingKey: "rk", Mandatory: true},
	},
	{
		"basic.deliver", "\x01\x00\x01\x00\x00\x00\x14" + "\x00\x3c\x00\x3c" + "\x01c" + "\x00\x00\x00\x00\x00\x00\x01\x02" + "\x01" + "\x00" + "\x03key" + "\xce",
		1, &BasicDeliver{ConsumerTag: "c", DeliveryTag: 258, Redelivered: true, RoutingKey: "key"},
	},
	{
		"basic.nack", "\x01\x00\x01\x00\x00\x00\x0d" + "\x00\x3c\x00\x78" + "\x00\x00\x00\x00\x00\x00\x00\x07" + "\x02" + "\xce",
		1, &BasicNack{DeliveryTag: 7, Requeue: true},
	},
	{
		"confirm.select", "\x01\x00\x01\x00\x00\x00\x05" + "\x00\x55\x00\x0a" + "\x01" + "\xce",
		1, &ConfirmSelect{NoWait: true},
	},
	{
		"access.request", "\x01\x00\x01\x00\x00\x00\x0b" + "\x00\x1e\x00\x0a" + "\x05/data" + "\x1d" + "\xce",
		1, &AccessRequest{Realm: "/data", Exclusive: true, Active: true, Write: true, Read: true},
	},
}

func TestGoldenFrames(t *testing.T) {
	t.Parallel() // If it fails, no client understands us, or we none.
	for _, c := range golden {
		t.Run(c.name, func(t *testing.T) {
			if got := AppendMethod([]byte("before"), c.channel, c.method); string(got) != "before"+c.wire {
				t.Errorf("encoded %q, want %q", got[len("before"):], c.wire)
			}
			f, n, err := ParseFrame([]byte(c.wire+"more"), 4096)
			if err != nil || n != len(c.wire) || f.Type != FrameMethod || f.Channel != c.channel {
				t.Fatalf("frame %+v, %d, %v", f, n, err)
			}
			m, err := ParseMethod(f.Payload)
			if err != nil || !reflect.DeepEqual(m, c.method) {
				t.Errorf("decoded %+v, %v, want %+v", m, err, c.method)
			}
			if got := m.ID().String(); got != c.name {
				t.Errorf("name %q", got)
			}
			for i := range c.wire {
				if f, n, err := ParseFrame([]byte(c.wire[:i]), 4096); n != 0 || err != nil {
					t.Errorf("first %d octets: %+v, %d, %v", i, f, n, err)
				}
			}
		})
	}
}

func TestHeartbeat(t *testing.T) {
	t.Parallel() // If it fails, idle connections die.
	const wire = "\x08\x00\x00\x00\x00\x00\x00\xce"
	if got := AppendHeartbeat(nil); string(got) != wire {
		t.Errorf("encoded %q", got)
	}
	f, n, err := ParseFrame([]byte(wire), 4096)
	if err != nil || n != 8 || f.Type != FrameHeartbeat || len(f.Payload) != 0 {
		t.Errorf("decoded %+v, %d, %v", f, n, err)
	}
}

func TestFrameRefusals(t *testing.T) {
	t.Parallel() // If it fails, a broken or hostile peer is not cut off, or told something else than by RabbitMQ.
	for _, c := range []struct {
		name, wire string
		frameMax   uint32
		code       uint16
		text       string
	}{
		{"too large", "\x01\x00\x01\x00\x00\x10\x01", 4096, 501, "FRAME_ERROR - type 1, all octets = <<>>: {frame_too_large,4097,4088}"},
		{"huge", "\x03\x00\x01\xff\xff\xff\xff", 4096, 501, "FRAME_ERROR - type 3, all octets = <<>>: {frame_too_large,4294967295,4088}"},
		{"end marker", "\x03\x00\x01\x00\x00\x00\x02hi\x00", 4096, 501, `FRAME_ERROR - type 3, all octets = <<"hi">>: {invalid_frame_end_marker,0}`},
		{
			"end marker, long", "\x03\x00\x01\x00\x00\x00\x12abcdefghijklmnopqr\xcd", 0, 501,
			`FRAME_ERROR - type 3, first 16 octets = <<"abcdefghijklmnop">>: {invalid_frame_end_marker,205}`,
		},
		{"unknown type", "\x04\x00\x01\x00\x00\x00\x02\x00\xff\xce", 4096, 501, "FRAME_ERROR - type 4, all octets = <<0,255>>: unknown_frame"},
		{"unknown type, payload to come", "GET / HTTP/1.1", 0, 501, `FRAME_ERROR - type 71, all octets = <<"TTP/1.1">>: unknown_frame`},
		{"heartbeat with payload", "\x08\x00\x00\x00\x00\x00\x01\x05\xce", 4096, 501, "FRAME_ERROR - type 8, all octets = <<5>>: unknown_frame"},
		{"heartbeat on a channel", "\x08\x00\x01\x00\x00\x00\x00\xce", 4096, 505, "UNEXPECTED_FRAME - type 8, all octets = <<>>"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, n, err := ParseFrame([]byte(c.wire), c.frameMax)
			wantRefusal(t, err, c.code, c.text)
			if n != 0 || f.Payload != nil {
				t.Errorf("frame %+v, %d with an error", f, n)
			}
		})
	}
}

func TestFrameMax(t *testing.T) {
	t.Parallel() // If it fails, legal frames are refused, or RabbitMQ's tolerance for clients that forget the overhead is gone.
	frame := func(payload int) []byte { return AppendBody(nil, 1, make([]byte, payload), 0) }
	for _, payload := range []int{4088, 4096} {
		if _, n, err := ParseFrame(frame(payload), 4096); err != nil || n != payload+8 {
			t.Errorf("payload of %d: %d, %v", payload, n, err)
		}
	}
	if _, _, err := ParseFrame(frame(4097), 4096); err == nil {
		t.Error("payload of 4097: no error")
	}
	if _, n, err := ParseFrame(frame(1<<20), 0); err != nil || n != 1<<20+8 {
		t.Errorf("no limit: %d, %v", n, err)
	}
}

func TestUnexpectedFrame(t *testing.T) {
	t.Parallel() // If it fails, the text for a frame out of place is not RabbitMQ's.
	err := UnexpectedFrame(Frame{Type: FrameBody, Channel: 1, Payload: []byte(strings.Repeat("\x01", 17))})
	wantRefusal(t, err, 505, "UNEXPECTED_FRAME - type 3, first 16 octets = <<1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1>>")
}

func wantRefusal(t *testing.T, err error, code uint16, text string) {
	t.Helper()
	refusal, ok := errors.AsType[*amqp.Error](err)
	if !ok || refusal.Code != code || refusal.Text != text {
		t.Errorf("error %v, want %d %s", err, code, text)
	}
}
