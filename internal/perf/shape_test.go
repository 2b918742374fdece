package perf

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/wire"
)

// message is one publish as the broker reads it.
type message struct {
	exchange   string
	queue      string
	id         uint64
	stamp      int64
	size       int
	properties amqp.Properties
}

func parseMessages(t *testing.T, b []byte, frameMax uint32) (all []message) {
	t.Helper()
	var m message
	var body []byte
	for len(b) > 0 {
		f, n, err := wire.ParseFrame(b, frameMax)
		if err != nil || n == 0 {
			t.Fatalf("%d octets left: %v", len(b), err)
		}
		b = b[n:]
		switch f.Type {
		case wire.FrameMethod:
			parsed, err := wire.ParseMethod(f.Payload)
			if err != nil {
				t.Fatal(err)
			}
			m.exchange, m.queue, body = parsed.(*wire.BasicPublish).Exchange, parsed.(*wire.BasicPublish).RoutingKey, nil
		case wire.FrameHeader:
			h, err := wire.ParseContentHeader(f.Payload)
			if err != nil {
				t.Fatal(err)
			}
			m.size = int(h.BodySize)
			if m.properties, err = amqp.ParseProperties(h.Properties); err != nil {
				t.Fatal(err)
			}
		case wire.FrameBody:
			if body = append(body, f.Payload...); len(body) == m.size {
				m.id, m.stamp = binary.BigEndian.Uint64(body), int64(binary.BigEndian.Uint64(body[8:]))
				all = append(all, m)
			}
		}
	}
	return all
}

func TestRingNumbersMessages(t *testing.T) {
	// If this fails, messages carry wrong numbers, go to the wrong queue or are cut wrongly into frames.
	t.Parallel()
	to := lane{queues: []string{"q0", "q1", "q2"}, stream: 4}
	for _, size := range []int{16, 1000, 9000} {
		r := newRing(to, size, mixed(), 4096)
		for first := int64(0); first < int64(3*len(r.ends)); {
			n := min(r.most(first), 100)
			b, err := r.batch(first, n, 1000+first)
			if err != nil {
				t.Fatal(err)
			}
			got := parseMessages(t, b, 4096)
			if len(got) != n {
				t.Fatalf("%d messages, want %d", len(got), n)
			}
			for i, m := range got {
				k := first + int64(i)
				want := message{
					queue: to.queues[k%3], id: messageID(4+int(k%3), k/3), stamp: 1000 + first, size: size,
					properties: m.properties,
				}
				if m.queue != want.queue || m.id != want.id || m.stamp != want.stamp || m.size != size ||
					m.properties.DeliveryMode != amqp.Persistent || len(m.properties.Expiration) != (int(k)%len(r.ends)+1)%7 {
					t.Fatalf("message %d: %+v, want %+v", k, m, want)
				}
			}
			first += int64(n)
		}
	}
}

func plainProperties() amqp.Properties { return amqp.Properties{} }

// mixed returns properties of different lengths, in turns.
func mixed() func() amqp.Properties {
	n := 0
	return func() amqp.Properties {
		n++
		return amqp.Properties{
			Has: amqp.FlagExpiration | amqp.FlagDeliveryMode, Expiration: strings.Repeat("1", n%7), DeliveryMode: amqp.Persistent,
		}
	}
}

func TestNothingIsAllocatedPerMessage(t *testing.T) {
	// If this fails, the generator takes more of the machine that it shares with the broker than it has to.
	to := lane{queues: []string{"q0"}}
	r := newRing(to, 16, plainProperties, 4096)
	l, octets := fedLink(r)
	book := newLedger(1, true, func(int) int64 { return 1 << 20 })
	book.seen[0].add(1 << 20)
	answers := newConfirms(1000)
	pass := func() {
		l.in, l.start, l.end = octets, 0, len(octets)
		got, err := l.receive()
		if err != nil || len(got.deliveries) != len(r.ends) {
			t.Fatalf("%d deliveries, %v", len(got.deliveries), err)
		}
		for i := range got.deliveries {
			book.note(&got.deliveries[i])
		}
		answers.note(100, 1)
		answers.settle(settled{multiple: true}, 2, 0)
		if _, err := r.batch(0, len(r.ends), 1); err != nil {
			t.Fatal(err)
		}
	}
	if n := testing.AllocsPerRun(10, pass); n != 0 {
		t.Errorf("%v allocations for %d messages", n, len(r.ends))
	}
}

// fedLink returns a link and the deliveries of all messages of a ring, as octets that it can be given as read.
func fedLink(r *ring) (*link, []byte) {
	var octets []byte
	b, _ := r.batch(0, len(r.ends), 1)
	for _, end := range r.ends {
		octets = wire.AppendDeliver(octets, channel, "c0", 1, false, nil, []byte("q0"))
		octets = wire.AppendContentHeader(octets, channel, 16, []byte{0, 0})
		octets = wire.AppendBody(octets, channel, b[end-r.tail:end-r.tail+16], 0)
	}
	return &link{}, octets
}

// What the generator itself costs per message, without system calls.
func BenchmarkPublish(b *testing.B) {
	r := newRing(lane{queues: []string{"q0"}}, 16, plainProperties, 4096)
	for first := int64(0); first < int64(b.N); first += int64(len(r.ends)) {
		if _, err := r.batch(0, len(r.ends), 1); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkReceive(b *testing.B) {
	r := newRing(lane{queues: []string{"q0"}}, 16, plainProperties, 4096)
	l, octets := fedLink(r)
	for n := 0; n < b.N; n += len(r.ends) {
		l.in, l.start, l.end = octets, 0, len(octets)
		got, err := l.receive()
		if err != nil {
			b.Fatal(err)
		}
		book := newLedger(1, true, func(int) int64 { return 1 << 20 })
		for i := range got.deliveries {
			book.note(&got.deliveries[i])
		}
	}
}
