//go:build linux

package crashtest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

const (
	frameEnd  = 0xce
	assaults  = 600
	attackers = 8
	// garbageAllowed is what the memory may have grown by when all attackers are gone: what a collector leaves for
	// later.
	garbageAllowed = 64 << 20
)

var preamble = []byte("AMQP\x00\x00\x09\x01")

// An assault is what one connection sends before it ends.
type assault struct {
	name string
	send func(r *rand.Rand) []byte
}

func waysToAttack() []assault {
	return []assault{
		{"nothing", func(*rand.Rand) []byte { return nil }},
		{"another protocol", func(*rand.Rand) []byte { return []byte("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n") }},
		{"noise", func(r *rand.Rand) []byte { return noise(r, 1+r.IntN(4096)) }},
		{"half a preamble", func(r *rand.Rand) []byte { return preamble[:1+r.IntN(7)] }},
		{"noise after the preamble", func(r *rand.Rand) []byte { return append(bytes.Clone(preamble), noise(r, 1+r.IntN(4096))...) }},
		{"an oversized frame", func(*rand.Rand) []byte {
			return append(bytes.Clone(preamble), frame(1, 0, nil, 0xffffffff)...)
		}},
		{"noise in frames", func(r *rand.Rand) []byte {
			b := session(r)
			for range 1 + r.IntN(8) {
				b = append(b, frame(byte(1+r.IntN(8)), uint16(r.IntN(3)), noise(r, r.IntN(512)), 0)...)
			}
			return b
		}},
		{"a frame beyond frame-max", func(r *rand.Rand) []byte {
			return append(session(r), frame(3, 1, make([]byte, 200<<10), 0)...)
		}},
		{"no frame end", func(r *rand.Rand) []byte {
			b := append(session(r), frame(1, 1, noise(r, 16), 0)...)
			b[len(b)-1] = 0
			return b
		}},
		{"half a message", func(r *rand.Rand) []byte {
			b := message(64 << 10)
			return append(session(r), b[:len(b)-1-r.IntN(60<<10)]...)
		}},
		{"a message of 2^62 bytes", func(r *rand.Rand) []byte {
			b := append(session(r), basicPublish()...)
			return append(b, header(1<<62)...)
		}},
		{"a message with too much body", func(r *rand.Rand) []byte {
			b := append(session(r), basicPublish()...)
			return append(append(b, header(4)...), frame(3, 1, make([]byte, 5), 0)...)
		}},
		{"a session with a byte changed", func(r *rand.Rand) []byte {
			b := append(session(r), message(1000)...)
			b[r.IntN(len(b))] ^= byte(1 << r.IntN(8))
			return b
		}},
	}
}

// If this fails, a client that sends arbitrary bytes can stop the broker, make it leak memory, or disturb other
// clients.
func TestMalformed(t *testing.T) {
	random := dice(t)
	b := start(t, t.TempDir())
	ch := b.channel()
	declare(t, ch, "ping", true, nil)
	declare(t, ch, "target", true, nil)
	pings(t, ch, 100)
	all := waysToAttack()
	wave := func() {
		var attacking sync.WaitGroup
		for range attackers {
			r := rand.New(rand.NewPCG(random.Uint64(), random.Uint64()))
			attacking.Go(func() {
				for range assaults / attackers {
					a := all[r.IntN(len(all))]
					if err := b.attack(a.send(r), r); err != nil {
						t.Errorf("%s: %v", a.name, err)
					}
				}
			})
		}
		pings(t, ch, 200)
		attacking.Wait()
	}
	sockets := b.sockets()
	wave() // what is made once, such as threads and buffers, is made now
	eventually(t, "all attackers' sockets are closed", func() bool { return b.sockets() <= sockets })
	before, goroutines := b.figure("VmRSS"), b.goroutines()
	wave()
	wave()
	eventually(t, "all attackers' sockets are closed", func() bool { return b.sockets() <= sockets })
	after := b.figure("VmRSS")
	t.Logf("%d assaults; RSS %d MiB before the last two thirds, %d MiB after; %d sockets", 3*assaults, before>>20, after>>20, b.sockets())
	if after > before+garbageAllowed {
		t.Errorf("memory grew from %d to %d MiB", before>>20, after>>20)
	}
	eventually(t, "all attackers' goroutines are gone", func() bool { return b.goroutines() <= goroutines+2 })
	publish(t, ch, "target", []byte("still here"))
	if said := b.stderr.tail(1 << 20); bytes.Contains([]byte(said), []byte("goroutine ")) {
		t.Error("the broker's log tells of a panic")
	}
}

// attack sends bytes on a connection of its own, then ends it: in order, or by a reset. It fails if the broker neither
// answers nor closes in time; what it answers is of no interest here.
func (b *broker) attack(bytes []byte, r *rand.Rand) error {
	conn, err := net.DialTimeout("tcp", b.addr("amqp"), patience)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	if _, err := conn.Write(bytes); err != nil {
		return only(err)
	}
	switch r.IntN(3) {
	case 0: // reset, with answers unread
		return conn.(*net.TCPConn).SetLinger(0)
	case 1: // half closed: the broker must notice and end its half
		if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
			return only(err)
		}
		_, err := io.Copy(io.Discard, conn)
		return only(err)
	}
	return nil
}

// only returns err if it is a deadline: every other end is what an attacker may expect.
func only(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return err
	}
	return nil
}

func noise(r *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// frame makes a frame, with a size that is not its own if size is not zero.
func frame(kind byte, channel uint16, payload []byte, size uint32) []byte {
	if size == 0 {
		size = uint32(len(payload))
	}
	b := binary.BigEndian.AppendUint16([]byte{kind}, channel)
	b = binary.BigEndian.AppendUint32(b, size)
	return append(append(b, payload...), frameEnd)
}

// method makes a method frame.
func method(channel, class, number uint16, args ...byte) []byte {
	b := binary.BigEndian.AppendUint16(nil, class)
	b = binary.BigEndian.AppendUint16(b, number)
	return frame(1, channel, append(b, args...), 0)
}

func short(s string) []byte { return append([]byte{byte(len(s))}, s...) }

// session logs in, tunes, opens the vhost and channel 1, without waiting for answers.
func session(*rand.Rand) []byte { return sessionOf("guest") }

// sessionOf is session of a user whose password is the name.
func sessionOf(user string) []byte {
	login := "\x00" + user + "\x00" + user
	startOK := binary.BigEndian.AppendUint32(nil, 0)
	startOK = append(startOK, short("PLAIN")...)
	startOK = binary.BigEndian.AppendUint32(startOK, uint32(len(login)))
	startOK = append(append(startOK, login...), short("en_US")...)
	b := bytes.Clone(preamble)
	b = append(b, method(0, 10, 11, startOK...)...)
	b = append(b, method(0, 10, 31, 0x07, 0xff, 0, 2, 0, 0, 0, 0)...)
	b = append(b, method(0, 10, 40, append(short("/"), 0, 0)...)...)
	return append(b, method(1, 20, 10, 0)...)
}

func basicPublish() []byte {
	return method(1, 60, 40, append(append([]byte{0, 0}, append(short(""), short("target")...)...), 0)...)
}

func header(size uint64) []byte {
	b := []byte{0, 60, 0, 0}
	b = binary.BigEndian.AppendUint64(b, size)
	return frame(2, 1, append(b, 0, 0), 0)
}

// message publishes one message in frames of 4 KiB.
func message(size int) []byte {
	b := append(basicPublish(), header(uint64(size))...)
	for size > 0 {
		n := min(size, 4<<10)
		b = append(b, frame(3, 1, make([]byte, n), 0)...)
		size -= n
	}
	return b
}

// If this fails, clients that disconnect in the middle of a message leave memory or objects in the broker.
func TestDyingClients(t *testing.T) {
	random := dice(t)
	b := start(t, t.TempDir())
	ch := b.channel()
	declare(t, ch, "target", true, nil)
	sockets := b.sockets()
	for range 100 {
		conn, valve, err := b.dialValve(beat)
		must(t, err)
		own := channelOn(t, conn)
		declare(t, own, "own", false, amqp.Table{"x-expires": 60_000})
		must(t, own.Qos(10, 0, false))
		_, err = own.Consume("target", "", false, false, false, false, nil)
		must(t, err)
		must(t, own.Publish("", "target", false, false, persistent(make([]byte, random.IntN(100)<<10))))
		must(t, valve.Conn.(*net.TCPConn).SetLinger(0))
		must(t, valve.Close())
	}
	eventually(t, "all sockets are closed", func() bool { return b.sockets() <= sockets })
	n := depth(t, ch, "target") // nobody acked
	q, err := ch.QueueDeclarePassive("target", true, false, false, false, nil)
	must(t, err)
	if q.Consumers != 0 {
		t.Errorf("%d consumers are left", q.Consumers)
	}
	t.Logf("%d of 100 messages of clients that died arrived", n)
	deliveries, err := ch.Consume("target", "", true, false, false, false, nil)
	must(t, err)
	for k := range n {
		d := await(t, "a message that had been unacked", deliveries)
		if len(d.Body)%(1<<10) != 0 {
			t.Errorf("message %d has %d bytes: half a message", k, len(d.Body))
		}
	}
}
