package wire

import (
	"bytes"
	"reflect"
	"testing"
)

func TestContentHeaderGolden(t *testing.T) {
	t.Parallel() // If it fails, no message has properties or a size.
	const wire = "\x02\x00\x01\x00\x00\x00\x0f" + "\x00\x3c\x00\x00" + "\x00\x00\x00\x00\x00\x00\x01\x00" + "\x10\x00\x02" + "\xce"
	if got := AppendContentHeader(nil, 1, 256, []byte("\x10\x00\x02")); string(got) != wire {
		t.Errorf("encoded %q, want %q", got, wire)
	}
	f, _, err := ParseFrame([]byte(wire), 4096)
	if err != nil || f.Type != FrameHeader {
		t.Fatalf("frame %+v, %v", f, err)
	}
	header, err := ParseContentHeader(f.Payload)
	if want := (ContentHeader{256, []byte("\x10\x00\x02")}); err != nil || !reflect.DeepEqual(header, want) {
		t.Errorf("decoded %+v, %v", header, err)
	}
}

func TestContentHeaderRefusals(t *testing.T) {
	t.Parallel() // If it fails, a header of another class, or half of one, begins a message.
	_, err := ParseContentHeader([]byte("\x00\x3c\x00\x00\x00\x00\x00\x00\x00\x00\x00"))
	wantRefusal(t, err, 501, "FRAME_ERROR - type 2, all octets = <<0,60,0,0,0,0,0,0,0,0,0>>: unknown_frame")
	_, err = ParseContentHeader([]byte("\x00\x0a\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"))
	wantRefusal(t, err, 505, "UNEXPECTED_FRAME - expected content header for class 60, got one for class 10 instead")
	_, err = ParseContentHeader([]byte("\x00\x3c\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"))
	wantRefusal(t, err, 505, "UNEXPECTED_FRAME - expected content header for class 60, got one of weight 1 instead")
}

func TestAppendBody(t *testing.T) {
	t.Parallel() // If it fails, bodies are torn, or their frames exceed what the client agreed to.
	for _, c := range []struct {
		size     int
		frameMax uint32
		frames   int
	}{
		{0, 4096, 0}, {1, 4096, 1}, {4088, 4096, 1}, {4089, 4096, 2}, {3 * 4088, 4096, 3}, {100000, 0, 1}, {3, 1, 3},
	} {
		body := bytes.Repeat([]byte("abcdefg"), c.size/7+1)[:c.size]
		b := AppendBody(nil, 7, body, c.frameMax)
		if pieces := bytes.Join(BodyPieces(7, body, c.frameMax), nil); !bytes.Equal(pieces, b) {
			t.Errorf("%d octets in frames of %d: pieces differ from the frames", c.size, c.frameMax)
		}
		if got, want := FrameOverhead+contentHeaderSize+2+len(b), ContentSize(2, c.size, c.frameMax); got != want {
			t.Errorf("%d octets in frames of %d: %d, foretold %d", c.size, c.frameMax, got, want)
		}
		var got []byte
		frames := 0
		for len(b) > 0 {
			f, n, err := ParseFrame(b, 0)
			if err != nil || n == 0 || f.Type != FrameBody || f.Channel != 7 || c.frameMax > FrameOverhead && n > int(c.frameMax) {
				t.Fatalf("frame %+v, %d, %v", f, n, err)
			}
			got, b, frames = append(got, f.Payload...), b[n:], frames+1
		}
		if frames != c.frames || !bytes.Equal(got, body) {
			t.Errorf("%d octets in frames of %d: %d frames, %d octets", c.size, c.frameMax, frames, len(got))
		}
	}
}
