package wire

import (
	"bytes"
	"reflect"
	"testing"
)

func FuzzParseFrame(f *testing.F) {
	for _, c := range golden {
		f.Add([]byte(c.wire), uint32(4096))
	}
	f.Add(AppendHeartbeat(nil), uint32(0))
	f.Add([]byte("\x01\x00\x01\xff\xff\xff\xff"), uint32(0))
	f.Add([]byte("\x03\x00\x01\x00\x00\x00\x02hi\x00"), uint32(8192))
	f.Fuzz(func(t *testing.T, b []byte, frameMax uint32) {
		// If it fails, some octets panic the frame parser, or it reports more than is there.
		frame, n, err := ParseFrame(b, frameMax)
		if err != nil || n == 0 {
			if n != 0 || frame.Payload != nil {
				t.Fatalf("frame %+v, %d with %v", frame, n, err)
			}
			return
		}
		again, start := beginFrame(nil, frame.Type, frame.Channel)
		again = endFrame(append(again, frame.Payload...), start)
		if !bytes.Equal(again, b[:n]) {
			t.Fatalf("encoded %x, from %x", again, b[:n])
		}
	})
}

func FuzzParseMethod(f *testing.F) {
	for _, m := range everyMethod(f) {
		f.Add(payload(m))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		// If it fails, some arguments panic, or do not survive decoding and encoding.
		m, err := ParseMethod(b)
		if err != nil {
			return
		}
		again, err := ParseMethod(payload(m))
		if err != nil || !reflect.DeepEqual(again, m) {
			t.Fatalf("again %+v, %v, want %+v", again, err, m)
		}
		quick(t, m.ID(), b[4:])
	})
}

// quick fails t if the quick parsers refuse what ParseMethod took.
func quick(t *testing.T, id MethodID, arguments []byte) {
	var err error
	switch id {
	case IDBasicPublish:
		_, err = ParsePublish(arguments)
	case IDBasicDeliver:
		_, err = ParseDeliver(arguments)
	case IDBasicAck:
		_, err = ParseAck(arguments)
	case IDBasicNack:
		_, err = ParseNack(arguments)
	case IDBasicReject:
		_, err = ParseReject(arguments)
	}
	if err != nil {
		t.Fatalf("%v: %v", id, err)
	}
}

func FuzzParsePublish(f *testing.F) {
	f.Add([]byte("\x00\x00\x01x\x02rk\x01"))
	f.Add([]byte("\x00\x00\xff\x00\x00"))
	f.Fuzz(func(t *testing.T, arguments []byte) {
		// If it fails, a publish panics the quick parser, or is read otherwise than by the general one.
		v, err := ParsePublish(arguments)
		m, generalErr := ParseMethod(append([]byte{0, 60, 0, 40}, arguments...))
		if (err == nil) != (generalErr == nil) {
			t.Fatalf("quick %v, general %v", err, generalErr)
		}
		if err != nil {
			return
		}
		want, ok := m.(*BasicPublish)
		if !ok || string(v.Exchange) != want.Exchange || string(v.RoutingKey) != want.RoutingKey ||
			v.Mandatory != want.Mandatory || v.Immediate != want.Immediate {
			t.Fatalf("quick %+v, general %+v", v, m)
		}
	})
}

func FuzzParseContentHeader(f *testing.F) {
	f.Add([]byte("\x00\x3c\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x10\x00\x02"))
	f.Add([]byte("\x00\x3c\x00\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		// If it fails, a content header panics or does not survive decoding and encoding.
		header, err := ParseContentHeader(b)
		if err != nil {
			return
		}
		again := AppendContentHeader(nil, 1, header.BodySize, header.Properties)
		if got := again[frameHeaderSize : len(again)-1]; !bytes.Equal(got, b) {
			t.Fatalf("encoded %x, from %x", got, b)
		}
	})
}
