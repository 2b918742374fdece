package amqpserver

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/wire"
)

// If it failed, a large body would arrive changed, or copied twice, from a client on a plain TCP connection.
func TestPayloadsAreReadToTheirPlace(t *testing.T) {
	t.Parallel()
	const seed, frameMax = 20261128, 131072
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	s, peer := pair(t)
	b := newBuffers()
	places := map[*byte]bool{}
	in := input{socket: s, buffers: &b, frameMax: frameMax, size: readBufferSmall}
	in.place = func(channel uint16, size int) []byte {
		if channel == 2 { // some stay in the buffer
			return nil
		}
		p := make([]byte, size)
		places[&p[0]] = true
		return p
	}
	var stream []byte
	var bodies [][]byte
	for range 300 {
		sizes := []int{1 + random.IntN(100), random.IntN(20_000) + 1, frameMax - wire.FrameOverhead}
		body := make([]byte, sizes[random.IntN(3)])
		for i := range body {
			body[i] = byte(random.Uint32())
		}
		bodies = append(bodies, body)
		stream = wire.AppendBody(wire.AppendHeartbeat(stream), 1+uint16(random.IntN(2)), body, frameMax)
	}
	go func() {
		for rest := stream; len(rest) > 0; {
			n := min(len(rest), 1+random.IntN(150_000))
			peer.Write(rest[:n])
			rest = rest[n:]
		}
		peer.Close()
	}()
	placed := 0
	for next := 0; ; {
		f, ok, err := in.frame()
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			if err := in.fill(); errors.Is(err, io.EOF) && next == len(bodies) {
				break
			} else if err != nil {
				t.Fatalf("after %d of %d bodies: %v", next, len(bodies), err)
			}
			continue
		}
		if f.Type == wire.FrameHeartbeat {
			continue
		}
		if !bytes.Equal(f.Payload, bodies[next]) {
			t.Fatalf("body %d of %d octets arrived as %d octets", next, len(bodies[next]), len(f.Payload))
		}
		if places[&f.Payload[0]] {
			placed++
		}
		next++
	}
	if placed < 20 {
		t.Errorf("%d of %d bodies are in their places", placed, len(bodies))
	}
	if got := in.received.Load(); got != uint64(len(stream)) {
		t.Errorf("%d octets counted, %d sent", got, len(stream))
	}
}

// If it failed, a client whose frame ends wrongly would be taken at its word from then on.
func TestPlacedPayloadWithAWrongEnd(t *testing.T) {
	t.Parallel()
	s, peer := pair(t)
	b := newBuffers()
	in := input{socket: s, buffers: &b, frameMax: 131072, size: readBufferTiny}
	in.place = func(_ uint16, size int) []byte { return make([]byte, size) }
	stream := wire.AppendBody(nil, 1, bytes.Repeat([]byte{1}, 100_000), 0)
	stream[len(stream)-1] = 7
	go peer.Write(stream)
	for {
		_, ok, err := in.frame()
		var refusal *amqp.Error
		switch {
		case errors.As(err, &refusal) && refusal.Code == amqp.CodeFrameError:
			return
		case ok || err != nil:
			t.Fatalf("a frame with a wrong end: %t, %v", ok, err)
		}
		if err := in.fill(); err != nil {
			t.Fatal(err)
		}
	}
}
