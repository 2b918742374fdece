package amqpserver

import (
	"encoding/binary"
	"sync/atomic"

	"github.com/bartleby-mq/bartleby/internal/vhost"
	"github.com/bartleby-mq/bartleby/internal/wire"
)

// input cuts frames out of what the socket brings, in place. The reader owns it; the counter may be read by all.
//
//	load.buf:  | cut already | start: not cut yet :end | space for the next read |
type input struct {
	socket   *socket
	buffers  *buffers
	received atomic.Uint64 // octets
	reads    atomic.Uint64 // that brought them

	frameMax   uint32 // as negotiated; before that, what a login may take
	load       *load  // of this read; nil if nothing has come that is not cut
	start, end int
	free       int // octets lent for the read under way
	size       int // of the next buffer: what the last read lets expect

	tight func() bool   // there is little space: read into tiny buffers; may be nil
	hold  func(n int64) // counts the octets of a large buffer that waits for the rest of a frame; may be nil
	held  int64         // those

	// place says where the payload of a large body frame goes, of so many octets, if not into the buffer; may be nil.
	place  func(channel uint16, size int) []byte
	placed wire.Frame // the frame under way whose payload is read to its place; its type is zero if there is none
	rest   []byte     // of its payload: what has not come
	direct int        // octets of rest that were lent for the read under way
}

// frame cuts the next frame, ok if it is there whole. It lives as long as the load. Errors are *amqp.Error.
func (in *input) frame() (f wire.Frame, ok bool, err error) {
	switch {
	case in.start == in.end:
		return wire.Frame{}, false, nil
	case in.placed.Type != 0: // of which all but the end has come
		f, in.placed = in.placed, wire.Frame{}
		in.start++
		return f, true, wire.CheckEnd(f, in.load.buf[in.start-1])
	}
	f, n, err := wire.ParseFrame(in.load.buf[in.start:in.end], in.frameMax)
	if n == 0 && err == nil {
		in.begin()
	}
	in.start += n
	return f, n > 0, err
}

// begin puts what has come of a large body frame in its place, where the rest of it will be read to.
func (in *input) begin() {
	begun := in.load.buf[in.start:in.end]
	f, size, ok := wire.BodyBegun(begun)
	if !ok || in.place == nil || size-len(f.Payload) < placedMin {
		return
	}
	payload := in.place(f.Channel, size)
	if payload == nil {
		return
	}
	in.rest = payload[copy(payload, f.Payload):]
	f.Payload = payload
	in.placed, in.start = f, in.end
}

// begun is how many octets have come of the frame under way.
func (in *input) begun() int {
	if in.placed.Type != 0 {
		return len(in.placed.Payload) - len(in.rest)
	}
	return in.end - in.start
}

// uncut puts the frame back that was cut last.
func (in *input) uncut(f wire.Frame) { in.start -= len(f.Payload) + wire.FrameOverhead }

// position is how many octets came before those that are not cut yet.
func (in *input) position() uint64 { return in.received.Load() - uint64(in.end-in.start) }

// add appends a command to those of this read. The pointer, for the fields to be filled in, holds until the next add.
func (in *input) add(kind vhost.CommandKind, channel vhost.ChannelID) *vhost.Command {
	commands := in.load.Commands
	if n := len(commands); n < cap(commands) {
		commands = commands[:n+1] // zero there: see recycle
	} else {
		commands = append(commands, vhost.Command{})
	}
	in.load.Commands = commands
	c := &commands[len(commands)-1]
	c.Kind, c.Channel = kind, channel
	return c
}

// isFull reports whether the commands of this read are as many, or take as much, as one batch may have.
func (in *input) isFull() bool {
	l := in.load
	return l != nil && (len(l.Commands) >= batchCommandsMax || l.made >= batchMadeMax)
}

// take gives away the load with its commands and goes on without; nil if there are no commands.
func (in *input) take() *load {
	full := in.load
	if full == nil || len(full.Commands) == 0 {
		return nil
	}
	if in.start == in.end {
		in.drop()
		return full
	}
	in.load = in.buffers.load(in.bufferSize(full))
	in.move(full)
	return full
}

// drop goes on without a load.
func (in *input) drop() { in.load, in.start, in.end = nil, 0, 0 }

// fill reads once: at least one octet, or the socket's error. Nothing may point into the load but its tail.
func (in *input) fill() error {
	in.free = 0
	n, err := in.socket.readLent(in)
	if in.held > 0 {
		in.hold(-in.held)
		in.held = 0
	}
	if n == 0 {
		return err
	}
	in.received.Add(uint64(n))
	in.reads.Add(1)
	if in.direct > 0 {
		m := min(n, in.direct)
		in.rest = in.rest[m:]
		in.end += n - m
		in.size = readBufferSmall // what comes of the next message before its body
		return nil
	}
	in.end += n
	switch {
	case n == in.free && len(in.load.buf) <= readBufferTiny:
		in.size = readBufferSmall
	case n == in.free && in.frameMax > loginFrameMax:
		in.size = readBufferLarge
	case n < readBufferTiny/2:
		in.size = readBufferTiny
	case n < readBufferSmall/2:
		in.size = readBufferSmall
	}
	return nil
}

// nextSize is the size of the next buffer, unless what is there takes more.
func (in *input) nextSize() int {
	if in.tight != nil && in.tight() {
		return readBufferTiny
	}
	return in.size
}

// lend is that of lender.
func (in *input) lend() (first, then []byte) {
	if in.direct = min(len(in.rest), readBufferLarge); in.direct > 0 {
		return in.lendRest()
	}
	switch {
	case in.load == nil:
		in.load = in.buffers.load(in.nextSize())
	case in.start == in.end:
		in.start, in.end = 0, 0
	case in.bufferSize(in.load) > len(in.load.buf):
		in.moveTo(in.bufferSize(in.load))
	case in.start+in.whole(in.load) > len(in.load.buf):
		in.move(in.load)
	}
	in.free = len(in.load.buf) - in.end
	return in.load.buf[in.end:], nil
}

// lendRest lends the place of a payload. Behind it there is little space for what comes next: that would be copied.
func (in *input) lendRest() (first, then []byte) {
	first = in.rest[:in.direct]
	if len(first) < len(in.rest) {
		return first, nil
	}
	if in.load == nil {
		in.load = in.buffers.load(min(in.nextSize(), readBufferSmall))
	}
	in.start, in.end = 0, 0
	return first, in.load.buf[:min(len(in.load.buf), placedTail)]
}

// idle is that of lender.
func (in *input) idle() bool {
	if in.start < in.end {
		return in.waitForRest()
	}
	in.buffers.recycle(in.load)
	in.drop()
	return true
}

// waitForRest keeps what has come of a frame while the rest of it does not come: in a small buffer if it is little, or
// else counted. It reports true if there is another buffer now.
func (in *input) waitForRest() bool {
	rest := in.end - in.start
	switch size := len(in.load.buf); {
	case size > readBufferTiny && rest <= readBufferTiny/2:
		in.moveTo(readBufferTiny)
		return true
	case size <= 2*readBufferSmall:
		return false
	case rest <= readBufferSmall/2:
		in.moveTo(readBufferSmall)
		return true
	case in.hold != nil && in.held == 0:
		in.held = int64(size)
		in.hold(in.held)
	}
	return false
}

// moveTo goes on with another load, whose buffer has space for size octets at least.
func (in *input) moveTo(size int) {
	was := in.load
	in.load = in.buffers.load(size)
	in.move(was)
	in.buffers.recycle(was)
}

// move copies what is not cut yet to the beginning of the present load.
func (in *input) move(from *load) {
	in.end = copy(in.load.buf, from.buf[in.start:in.end])
	in.start = 0
}

// bufferSize is the size of a buffer in which what is not cut yet fits, and the frame at start as a
// whole, if one has begun.
func (in *input) bufferSize(from *load) int {
	return max(in.nextSize(), in.whole(from), in.end-in.start)
}

// whole is how many octets the frame at start takes; one more than there are while that is not known. It
// believes in no size beyond frameMax.
func (in *input) whole(from *load) int {
	begun := from.buf[in.start:in.end]
	if len(begun) < wire.FrameOverhead-1 {
		return len(begun) + 1
	}
	return int(min(binary.BigEndian.Uint32(begun[3:]), in.frameMax)) + wire.FrameOverhead
}
