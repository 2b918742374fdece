package wire

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/amqp"
)

func TestHotAppendersAgree(t *testing.T) {
	t.Parallel() // If it fails, the quick encoding of a method differs from the general one.
	x, key := []byte("ex"), []byte("key")
	for _, c := range []struct {
		got  []byte
		want Method
	}{
		{AppendPublish(nil, 258, "ex", "key", true), &BasicPublish{Exchange: "ex", RoutingKey: "key", Mandatory: true}},
		{AppendPublish(nil, 258, x, key, false), &BasicPublish{Exchange: "ex", RoutingKey: "key"}},
		{AppendDeliver(nil, 258, "tag", 9, true, x, key), &BasicDeliver{ConsumerTag: "tag", DeliveryTag: 9, Redelivered: true, Exchange: "ex", RoutingKey: "key"}},
		{AppendGetOk(nil, 258, 9, true, x, key, 3), &BasicGetOk{DeliveryTag: 9, Redelivered: true, Exchange: "ex", RoutingKey: "key", MessageCount: 3}},
		{AppendReturn(nil, 258, 312, "NO_ROUTE", x, key), &BasicReturn{ReplyCode: 312, ReplyText: "NO_ROUTE", Exchange: "ex", RoutingKey: "key"}},
		{AppendAck(nil, 258, 9, true), &BasicAck{DeliveryTag: 9, Multiple: true}},
		{AppendNack(nil, 258, 9, true, false), &BasicNack{DeliveryTag: 9, Multiple: true}},
		{AppendNack(nil, 258, 9, false, true), &BasicNack{DeliveryTag: 9, Requeue: true}},
		{AppendReject(nil, 258, 9, true), &BasicReject{DeliveryTag: 9, Requeue: true}},
	} {
		if want := AppendMethod(nil, 258, c.want); !bytes.Equal(c.got, want) {
			t.Errorf("%v: %q, want %q", c.want.ID(), c.got, want)
		}
	}
}

func TestHotParsers(t *testing.T) {
	t.Parallel() // If it fails, the quick decoding of a method differs from the general one.
	arguments := func(m Method) []byte { return m.Append(nil) }
	publish, err := ParsePublish(arguments(&BasicPublish{Exchange: "\xff", RoutingKey: "key", Immediate: true}))
	if want := (PublishView{[]byte("\xff"), []byte("key"), false, true}); err != nil || !reflect.DeepEqual(publish, want) {
		t.Errorf("publish %+v, %v", publish, err)
	}
	deliver, err := ParseDeliver(arguments(&BasicDeliver{"tag", 9, true, "ex", "key"}))
	if want := (DeliverView{[]byte("tag"), 9, true, []byte("ex"), []byte("key")}); err != nil || !reflect.DeepEqual(deliver, want) {
		t.Errorf("deliver %+v, %v", deliver, err)
	}
	ack := BasicAck{DeliveryTag: 9, Multiple: true}
	if got, err := ParseAck(arguments(&ack)); err != nil || got != ack {
		t.Errorf("ack %+v, %v", got, err)
	}
	nack := BasicNack{DeliveryTag: 9, Requeue: true}
	if got, err := ParseNack(arguments(&nack)); err != nil || got != nack {
		t.Errorf("nack %+v, %v", got, err)
	}
	reject := BasicReject{DeliveryTag: 9, Requeue: true}
	if got, err := ParseReject(arguments(&reject)); err != nil || got != reject {
		t.Errorf("reject %+v, %v", got, err)
	}
	for id, parse := range map[MethodID]func([]byte) error{
		IDBasicPublish: func(b []byte) error { _, err := ParsePublish(b); return err },
		IDBasicDeliver: func(b []byte) error { _, err := ParseDeliver(b); return err },
		IDBasicAck:     func(b []byte) error { _, err := ParseAck(b); return err },
		IDBasicNack:    func(b []byte) error { _, err := ParseNack(b); return err },
		IDBasicReject:  func(b []byte) error { _, err := ParseReject(b); return err },
	} {
		whole := arguments(newMethod(id))
		wantBlame(t, parse(whole[:len(whole)-1]), amqp.CodeSyntaxError, id)
		wantBlame(t, parse(append(whole, 0)), amqp.CodeSyntaxError, id)
	}
}

// publishFrames is a persistent message of that many octets as a client sends it.
func publishFrames(body int) []byte {
	b := AppendPublish(nil, 1, "amq.topic", "orders.created.eu", false)
	b = AppendContentHeader(b, 1, uint64(body), []byte("\x10\x00\x02"))
	return AppendBody(b, 1, make([]byte, body), 131072)
}

// readPublish decodes what publishFrames made.
func readPublish(b []byte) error {
	for len(b) > 0 {
		f, n, err := ParseFrame(b, 131072)
		if err != nil {
			return err
		}
		b = b[n:]
		switch f.Type {
		case FrameMethod:
			_, arguments, err := CutMethod(f.Payload)
			if err != nil {
				return err
			}
			if _, err := ParsePublish(arguments); err != nil {
				return err
			}
		case FrameHeader:
			header, err := ParseContentHeader(f.Payload)
			if err != nil {
				return err
			}
			var scan amqp.PropertyScan
			if err := scan.Scan(header.Properties); err != nil {
				return err
			}
		}
	}
	return nil
}

func TestHotPathsDoNotAllocate(t *testing.T) {
	// If it fails, every message costs the garbage collector.
	in := publishFrames(1024)
	room := make([]byte, 0, 4096)
	x, key, body := []byte("ex"), []byte("key"), make([]byte, 1024)
	var failed error
	keep := func(err error) {
		if err != nil {
			failed = err
		}
	}
	ack := (&BasicAck{DeliveryTag: 1}).Append(nil)
	nack := (&BasicNack{DeliveryTag: 1}).Append(nil)
	deliver := (&BasicDeliver{DeliveryTag: 1}).Append(nil)
	for name, f := range map[string]func(){
		"publish":        func() { keep(readPublish(in)) },
		"parse ack":      func() { _, err := ParseAck(ack); keep(err) },
		"parse nack":     func() { _, err := ParseNack(nack); keep(err) },
		"parse reject":   func() { _, err := ParseReject(ack); keep(err) },
		"parse deliver":  func() { _, err := ParseDeliver(deliver); keep(err) },
		"append publish": func() { AppendPublish(room, 1, "ex", "key", true) },
		"append deliver": func() {
			b := AppendDeliver(room, 1, "tag", 1, false, x, key)
			AppendBody(AppendContentHeader(b, 1, 1024, []byte{0, 0}), 1, body, 4096)
		},
		"append get-ok": func() { AppendGetOk(room, 1, 1, false, x, key, 1) },
		"append return": func() { AppendReturn(room, 1, 312, "NO_ROUTE", x, key) },
		"append ack":    func() { AppendAck(room, 1, 1, true) },
		"append nack":   func() { AppendNack(room, 1, 1, true, false) },
		"append reject": func() { AppendReject(room, 1, 1, false) },
	} {
		if n := testing.AllocsPerRun(100, f); n != 0 || failed != nil {
			t.Errorf("%s: %v allocations, %v", name, n, failed)
		}
	}
}

func BenchmarkReadPublish(b *testing.B) {
	in := publishFrames(256)
	b.SetBytes(int64(len(in)))
	b.ReportAllocs()
	for b.Loop() {
		if err := readPublish(in); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAppendDeliver(b *testing.B) {
	x, key, properties, body := []byte("amq.topic"), []byte("orders.created.eu"), []byte("\x10\x00\x02"), make([]byte, 256)
	var out []byte
	b.ReportAllocs()
	for b.Loop() {
		out = AppendDeliver(out[:0], 1, "amq.ctag-0123456789", 42, false, x, key)
		out = AppendContentHeader(out, 1, uint64(len(body)), properties)
		out = AppendBody(out, 1, body, 131072)
	}
	b.SetBytes(int64(len(out)))
}
