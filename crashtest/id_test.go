//go:build linux

package crashtest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strconv"

	amqp "github.com/rabbitmq/amqp091-go"
)

// An id is in the body of a message and says which it is; no two are alike. It says all that is peculiar to the
// message, so that whoever finds it knows what was sent.
//
//	63      48 47       40 39     32 31                0
//	│  round  │ publisher │ session │ number, from 1   │
//
// The messages of a session came on one channel, in the order of their numbers.
type id uint64

func newID(round, publisher, session, number int) id {
	return id(round)<<48 | id(publisher&0xff)<<40 | id(session&0xff)<<32 | id(number)
}

// stream is what the message has in common with all others of its session.
func (i id) stream() uint32 { return uint32(i >> 32) }

func (i id) round() int { return int(i >> 48) }

func (i id) hash() uint64 { return uint64(i) * 0x9e3779b97f4a7c15 >> 24 }

// transient is one message in eight: it need not survive the process, and must not.
func (i id) transient() bool { return i.hash()%8 == 0 }

func (i id) priority() uint8 { return uint8(i.hash() >> 3 % 4) }

func (i id) String() string {
	return fmt.Sprintf("%d.%d.%d.%d", i>>48, i>>40&0xff, i>>32&0xff, uint32(i))
}

// body is what a message of this id carries: the id, then bytes that follow from it. Most are small, some are large.
func (i id) body() []byte {
	h := i.hash() >> 8
	size := 32 + int(h%480)
	switch {
	case h>>16%2048 == 0:
		size = 300 << 10 // more than one frame
	case h>>16%128 == 1:
		size = 20 << 10
	}
	b := bytes.Repeat([]byte{byte(i)}, 8+size)
	binary.BigEndian.PutUint64(b, uint64(i))
	return b
}

func (i id) publishing() amqp.Publishing {
	p := amqp.Publishing{
		DeliveryMode: amqp.Persistent, Priority: i.priority(), Body: i.body(),
		Headers: amqp.Table{"number": strconv.FormatUint(uint64(i), 10)},
	}
	if i.transient() {
		p.DeliveryMode = amqp.Transient
	}
	return p
}

// idOf reads an id back, and tells whether the body is whole and the properties are what was sent.
func idOf(d *amqp.Delivery) (id, error) {
	if len(d.Body) < 8 {
		return 0, fmt.Errorf("a body of %d bytes", len(d.Body))
	}
	i := id(binary.BigEndian.Uint64(d.Body))
	sent := i.publishing()
	switch {
	case !bytes.Equal(d.Body, sent.Body):
		return i, fmt.Errorf("message %v came back with another body", i)
	case d.DeliveryMode != sent.DeliveryMode || d.Priority != sent.Priority || d.Headers["number"] != sent.Headers["number"]:
		return i, fmt.Errorf("message %v came back with other properties: mode %d, priority %d, %v", i, d.DeliveryMode, d.Priority, d.Headers)
	}
	return i, nil
}
