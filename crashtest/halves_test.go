//go:build linux

package crashtest

import (
	"bytes"
	"encoding/binary"
	"net"
	"sync"
	"testing"
	"time"
)

const (
	halvesWatermark = "512MB"
	halvesAllowed   = 640_000_000 // octets of resident memory, whatever clients send

	halvesLast = 5 * time.Second // for which an attack goes on when all its connections were made
	mebibyte   = 1 << 20
)

// A siegeOfHalves is what many connections send, each as often and as far as the broker takes it.
type siegeOfHalves struct {
	name        string
	connections int
	user        string // and password
	send        func(to net.Conn) error
}

// half is the beginning of a message on a channel: so many octets of a body that is announced as 16 MiB.
func half(channel uint16, sent int) []byte {
	b := onChannel(channel, basicPublish())
	b = append(b, onChannel(channel, header(16*mebibyte))...)
	for ; sent > 0; sent -= 100_000 {
		b = append(b, frame(3, channel, make([]byte, min(sent, 100_000)), 0)...)
	}
	return b
}

// onChannel makes a frame that is of channel 1 one of another.
func onChannel(channel uint16, frame []byte) []byte {
	binary.BigEndian.PutUint16(frame[1:], channel)
	return frame
}

// onChannels opens channels 2 to most after channel 1, which a session has, and sends on all of them.
func onChannels(most uint16, on func(channel uint16) []byte) func(net.Conn) error {
	return func(to net.Conn) error {
		for n := range most {
			var b []byte
			if n > 0 {
				b = method(n+1, 20, 10, 0)
			}
			if _, err := to.Write(append(b, on(n+1)...)); err != nil {
				return err
			}
		}
		return nil
	}
}

// forever sends the same again and again.
func forever(what []byte) func(net.Conn) error {
	return func(to net.Conn) error {
		for {
			if _, err := to.Write(what); err != nil {
				return err
			}
		}
	}
}

// manyHeaders is a message of 100 KiB of properties, all of whose body is missing.
func manyHeaders(channel uint16) []byte {
	table := append([]byte{1, 'h', 'S'}, binary.BigEndian.AppendUint32(nil, 100<<10)...)
	table = append(table, make([]byte, 100<<10)...)
	b := binary.BigEndian.AppendUint64([]byte{0, 60, 0, 0}, 1000)
	b = append(b, 0x20, 0)
	b = binary.BigEndian.AppendUint32(b, uint32(len(table)))
	return append(onChannel(channel, basicPublish()), frame(2, channel, append(b, table...), 0)...)
}

// unroutable is a mandatory message to nobody: all of it comes back.
func unroutable() []byte {
	b := method(1, 60, 40, append(append([]byte{0, 0}, append(short(""), short("nobody")...)...), 1)...)
	return append(append(b, header(100_000)...), frame(3, 1, make([]byte, 100_000), 0)...)
}

// If this fails, clients that send incomplete messages, or do not read, can use up the memory of the node, or lock out
// other clients.
func TestHalfSentMessages(t *testing.T) {
	b := start(t, t.TempDir(), "--vm_memory_high_watermark.absolute="+halvesWatermark)
	ch := b.channel()
	declare(t, ch, "target", true, nil)
	declare(t, ch, "ping", true, nil)
	b.change("PUT", "/api/users/poor", map[string]any{"password": "poor", "tags": ""})
	b.change("PUT", "/api/permissions/%2F/poor", map[string]any{"configure": "", "write": "", "read": ""})
	sockets := b.sockets()
	for _, s := range []siegeOfHalves{
		{"halves of who may not publish", 150, "poor", onChannels(1, func(n uint16) []byte { return half(n, 15_400_000) })},
		{"halves of who may publish", 150, "guest", onChannels(1, func(n uint16) []byte { return half(n, 15_400_000) })},
		{"199 channels", 1, "poor", onChannels(199, func(n uint16) []byte { return half(n, 15_400_000) })},
		{"199 channels of who may publish", 1, "guest", onChannels(199, func(n uint16) []byte { return half(n, 15_400_000) })},
		{"2047 channels", 1, "poor", onChannels(2047, func(n uint16) []byte { return half(n, 60_000) })},
		{"2047 channels of who may publish", 20, "guest", onChannels(2047, func(n uint16) []byte { return half(n, mebibyte) })},
		{"properties without bodies", 20, "poor", onChannels(2047, manyHeaders)},
		{"halves of frames", 1000, "poor", onChannels(1, func(uint16) []byte { return frame(1, 1, make([]byte, 100_000), 0)[:90_000] })},
		{"beginnings of frames", 1000, "poor", onChannels(1, func(uint16) []byte { return frame(1, 1, make([]byte, 100_000), 0)[:100] })},
		{"answers that nobody reads", 100, "guest", forever(bytes.Repeat(unroutable(), 10))},
	} {
		b.besiege(t, s)
		eventually(t, "all attackers' sockets are closed", func() bool { return b.sockets() <= sockets })
		pings(t, ch, 20)
	}
	b.change("PUT", "/api/x/resource-limits", map[string]any{"disk_free_limit": map[string]any{"absolute": "100TB"}})
	b.besiege(t, siegeOfHalves{"small messages under an alarm", 150, "guest", forever(bytes.Repeat(append(basicPublish(), header(0)...), 1000))})
	b.change("PUT", "/api/x/resource-limits", map[string]any{"disk_free_limit": map[string]any{"absolute": 0}})
	eventually(t, "all attackers' sockets are closed", func() bool { return b.sockets() <= sockets })
	pings(t, ch, 20)
}

// besiege lets all connections of a siege send, and fails if memory grows over what is allowed.
func (b *broker) besiege(t *testing.T, s siegeOfHalves) {
	t.Helper()
	var sending sync.WaitGroup
	var worst int64
	look := func() { worst = max(worst, b.figure("VmRSS")) }
	var all []net.Conn
	for range s.connections {
		conn, err := net.DialTimeout("tcp", b.addr("amqp"), patience)
		must(t, err)
		all = append(all, conn)
		begin := sessionOf(s.user)
		sending.Go(func() {
			if _, err := conn.Write(begin); err == nil {
				_ = s.send(conn) // its error is what an attacker may expect
			}
		})
		look()
	}
	for begun := time.Now(); time.Since(begun) < halvesLast; {
		look()
	}
	for _, conn := range all {
		must(t, conn.(*net.TCPConn).SetLinger(0))
		_ = conn.Close()
	}
	sending.Wait()
	t.Logf("%s: RSS %d MB at the worst", s.name, worst/1_000_000)
	if worst > halvesAllowed {
		t.Errorf("%s: %d MB of memory", s.name, worst/1_000_000)
	}
}
