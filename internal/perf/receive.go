package perf

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/wire"
)

// errInterrupted ends a receive on a link that interrupt was called on.
var errInterrupted = errors.New("interrupted")

// delivery is what the generator wants to know of one basic.deliver.
type delivery struct {
	tag         uint64
	id          uint64 // the first 8 octets of the body
	stamp       int64  // the next 8
	redelivered bool
	dead        bool // carries an x-death header
	short       bool // the body is not of the generator's making: under stampBytes
}

// settled is a basic.ack or basic.nack from the broker: the answer to one publish, or to all up to it.
type settled struct {
	tag      uint64
	multiple bool
	nacked   bool
}

// received is what one read brought. Its slices are valid until the link's next receive.
type received struct {
	deliveries []delivery
	settled    []settled
	returned   int         // messages that came back as unroutable
	reply      wire.Method // the answer to a call; it ends the batch
}

// receive returns what the frames already read, or else one more read of the socket, hold. Errors are errInterrupted,
// what the broker says as it closes channel, connection or consumer, and those of the network.
func (l *link) receive() (*received, error) {
	l.got = received{deliveries: l.got.deliveries[:0], settled: l.got.settled[:0]}
	for {
		some, err := l.decode()
		if err != nil {
			return nil, err
		}
		if some {
			return &l.got, nil
		}
		if err := l.fill(); err != nil {
			return nil, err
		}
	}
}

// fill reads once.
func (l *link) fill() error {
	// What is left of the last read is less than a frame.
	l.end = copy(l.in, l.in[l.start:l.end])
	l.start = 0
	n, err := l.conn.Read(l.in[l.end:])
	l.end += n
	if n > 0 {
		return nil
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return errInterrupted
	}
	return err
}

// decode takes all whole frames that were read, up to the first reply, and reports whether they amount to anything.
func (l *link) decode() (some bool, err error) {
	for l.got.reply == nil {
		f, n, err := wire.ParseFrame(l.in[l.start:l.end], frameMax)
		if err != nil {
			return false, err
		}
		if n == 0 {
			break
		}
		l.start += n
		switch f.Type {
		case wire.FrameMethod:
			err = l.method(f)
		case wire.FrameHeader:
			err = l.header(f.Payload)
		case wire.FrameBody:
			err = l.body(f.Payload)
		}
		if err != nil {
			return false, err
		}
	}
	return len(l.got.deliveries) > 0 || len(l.got.settled) > 0 || l.got.returned > 0 || l.got.reply != nil, nil
}

func (l *link) method(f wire.Frame) error {
	id, arguments, err := wire.CutMethod(f.Payload)
	if err != nil {
		return err
	}
	switch id {
	case wire.IDBasicDeliver:
		l.partial.returned, l.partial.header = false, true
		return l.deliver(arguments)
	case wire.IDBasicReturn:
		l.partial.returned, l.partial.header = true, true
		return nil
	case wire.IDBasicAck:
		m, err := wire.ParseAck(arguments)
		l.got.settled = append(l.got.settled, settled{tag: m.DeliveryTag, multiple: m.Multiple})
		return err
	case wire.IDBasicNack:
		m, err := wire.ParseNack(arguments)
		l.got.settled = append(l.got.settled, settled{tag: m.DeliveryTag, multiple: m.Multiple, nacked: true})
		return err
	}
	m, err := wire.ParseMethod(f.Payload)
	if err != nil {
		return err
	}
	switch m := m.(type) {
	case *wire.ConnectionClose:
		return fmt.Errorf("the broker closes the connection: %d %s", m.ReplyCode, m.ReplyText)
	case *wire.ChannelClose:
		return fmt.Errorf("the broker closes the channel: %d %s", m.ReplyCode, m.ReplyText)
	case *wire.BasicCancel:
		return fmt.Errorf("the broker cancels consumer %s", m.ConsumerTag)
	}
	l.got.reply = m
	return nil
}

// deliver takes delivery tag and redelivered from the arguments of basic.deliver. Decoding the rest would be a
// third of what a message costs here: see BenchmarkReceive.
func (l *link) deliver(arguments []byte) error {
	const tagBytes, flagBytes = 8, 1
	if len(arguments) > 0 {
		arguments = arguments[min(1+int(arguments[0]), len(arguments)):] // the consumer tag
	}
	if len(arguments) < tagBytes+flagBytes {
		return errors.New("a truncated basic.deliver")
	}
	l.partial.delivery = delivery{tag: binary.BigEndian.Uint64(arguments), redelivered: arguments[tagBytes]&1 != 0}
	return nil
}

func (l *link) header(payload []byte) error {
	h, err := wire.ParseContentHeader(payload)
	if err != nil {
		return err
	}
	if !l.partial.header {
		return errors.New("a content header without a method")
	}
	l.partial.header, l.partial.left, l.partial.have = false, h.BodySize, 0
	l.partial.dead = hasDeath(h.Properties)
	if h.BodySize == 0 {
		l.finish()
	}
	return nil
}

func (l *link) body(payload []byte) error {
	if l.partial.header || uint64(len(payload)) > l.partial.left {
		return errors.New("a body frame without a header")
	}
	l.partial.have += copy(l.partial.first[l.partial.have:], payload)
	l.partial.left -= uint64(len(payload))
	if l.partial.left == 0 {
		l.finish()
	}
	return nil
}

// finish takes the content that has become whole into what was received.
func (l *link) finish() {
	p := &l.partial
	if p.returned {
		l.got.returned++
		return
	}
	p.short = p.have < stampBytes
	p.id = binary.BigEndian.Uint64(p.first[:])
	p.stamp = int64(binary.BigEndian.Uint64(p.first[8:]))
	l.got.deliveries = append(l.got.deliveries, p.delivery)
}

// hasDeath reports whether encoded properties hold an x-death array that is not empty. It looks for its name and tag
// instead of parsing: the headers of a dead letter are most of it, and decoding them would cost more than the rest.
func hasDeath(properties []byte) bool {
	if len(properties) < 2 || amqp.Flags(binary.BigEndian.Uint16(properties))&amqp.FlagHeaders == 0 {
		return false
	}
	_, array, ok := bytes.Cut(properties, deathField)
	return ok && len(array) >= 4 && binary.BigEndian.Uint32(array) > 0
}

// deathField is how the x-death array begins in an encoded table: length, name, tag.
var deathField = []byte("\x07x-deathA")
