package wire

import (
	"encoding/binary"
	"unicode/utf8"

	"github.com/bartleby-mq/bartleby/internal/amqp"
)

// Reader takes arguments from the front of a byte slice. After the first failure, which Err and End report, it yields
// zero values. The zero Reader is empty. A Reader is used by one goroutine.
type Reader struct {
	rest []byte
	err  error
	bits byte  // the octet that Bit takes from
	bit  uint8 // how many of its bits are taken; 0 when Bit shall begin a new one
}

// NewReader returns a Reader of b, which it only reads.
func NewReader(b []byte) Reader { return Reader{rest: b} }

// Err returns the first failure, nil or an *amqp.Error.
func (r *Reader) Err() error { return r.err }

// End returns the first failure; octets that nobody took are one.
func (r *Reader) End() error {
	if r.err == nil && len(r.rest) > 0 {
		r.err = amqp.SyntaxError("%d octets after the last argument", len(r.rest))
	}
	return r.err
}

// Uint8 takes an octet.
func (r *Reader) Uint8() uint8 {
	if p := r.take(1); p != nil {
		return p[0]
	}
	return 0
}

// Uint16 takes a short.
func (r *Reader) Uint16() uint16 {
	if p := r.take(2); p != nil {
		return binary.BigEndian.Uint16(p)
	}
	return 0
}

// Uint32 takes a long.
func (r *Reader) Uint32() uint32 {
	if p := r.take(4); p != nil {
		return binary.BigEndian.Uint32(p)
	}
	return 0
}

// Uint64 takes a longlong or a timestamp.
func (r *Reader) Uint64() uint64 {
	if p := r.take(8); p != nil {
		return binary.BigEndian.Uint64(p)
	}
	return 0
}

// Bit takes a bit. Consecutive bits come from one octet, lowest first.
func (r *Reader) Bit() bool {
	taken := r.bit % 8
	if taken == 0 {
		r.bits = r.Uint8()
	}
	r.bit = taken + 1
	return r.bits>>taken&1 != 0
}

// ShortStr takes a short string, which must be UTF-8.
// Source: RabbitMQ, malformed names.
func (r *Reader) ShortStr() string {
	p := r.ShortBytes()
	if !utf8.Valid(p) {
		r.fail(amqp.FrameError("Malformed UTF-8 in shortstr"))
		return ""
	}
	return string(p)
}

// ShortBytes takes a short string of any octets, as a part of the input.
func (r *Reader) ShortBytes() []byte { return r.take(int(r.Uint8())) }

// LongStr takes a long string of any octets.
func (r *Reader) LongStr() string {
	size := r.Uint32()
	if uint64(size) > uint64(len(r.rest)) {
		r.short()
		return ""
	}
	return string(r.take(int(size)))
}

// Table takes a field table.
func (r *Reader) Table() amqp.Table {
	r.bit = 0
	if r.err != nil {
		return nil
	}
	t, rest, err := amqp.ParseTable(r.rest)
	if err != nil {
		r.fail(err)
		return nil
	}
	r.rest = rest
	return t
}

// take returns the next n octets, nil if they are not all there.
func (r *Reader) take(n int) []byte {
	r.bit = 0
	if n > len(r.rest) {
		r.short()
		return nil
	}
	p := r.rest[:n:n]
	r.rest = r.rest[n:]
	return p
}

func (r *Reader) short() { r.fail(amqp.SyntaxError("arguments longer than the octets present")) }

// fail keeps the first failure and leaves nothing to take.
func (r *Reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
	r.rest = nil
}

// bits packs up to eight bits into an octet, the first lowest.
func bits(values ...bool) (octet byte) {
	for i, v := range values {
		if v {
			octet |= 1 << i
		}
	}
	return octet
}
