package vhost

import (
	"encoding/binary"
	"errors"

	"github.com/bartleby-mq/bartleby/internal/amqp"
)

var errTruncated = errors.New("vhost: data ends too soon")

func appendText[S string | []byte](b []byte, s S) []byte {
	b = binary.AppendUvarint(b, uint64(len(s)))
	return append(b, s...)
}

func appendTexts(b []byte, list []string) []byte {
	b = binary.AppendUvarint(b, uint64(len(list)))
	for _, s := range list {
		b = appendText(b, s)
	}
	return b
}

// bits packs booleans into one octet, the first lowest.
func bits(list ...bool) byte {
	var b byte
	for i, on := range list {
		if on {
			b |= 1 << i
		}
	}
	return b
}

// decoder takes our own encodings apart. After the first error every read yields zero.
type decoder struct {
	rest []byte
	err  error
}

func (r *decoder) fail() {
	if r.err == nil {
		r.err = errTruncated
	}
	r.rest = nil
}

func (r *decoder) byte() byte {
	if len(r.rest) == 0 {
		r.fail()
		return 0
	}
	b := r.rest[0]
	r.rest = r.rest[1:]
	return b
}

func (r *decoder) fixed() uint64 {
	if len(r.rest) < 8 {
		r.fail()
		return 0
	}
	n := binary.BigEndian.Uint64(r.rest)
	r.rest = r.rest[8:]
	return n
}

func (r *decoder) uint() uint64 {
	v, n := binary.Uvarint(r.rest)
	if n <= 0 {
		r.fail()
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

func (r *decoder) int() int64 {
	v, n := binary.Varint(r.rest)
	if n <= 0 {
		r.fail()
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

// bytes takes a length and as many octets; they alias the input.
func (r *decoder) bytes() []byte {
	n := r.uint()
	if n > uint64(len(r.rest)) {
		r.fail()
		return nil
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

func (r *decoder) text() string { return string(r.bytes()) }

func (r *decoder) texts() []string {
	n := r.uint()
	if n > uint64(len(r.rest)) {
		r.fail()
		return nil
	}
	list := make([]string, 0, n)
	for ; n > 0; n-- {
		list = append(list, r.text())
	}
	return list
}

func (r *decoder) table() amqp.Table {
	t, rest, err := amqp.ParseTable(r.rest)
	if err != nil {
		r.fail()
		return nil
	}
	r.rest = rest
	return t
}

// sized takes a 4-octet length and as many octets.
func (r *decoder) sized() []byte {
	if len(r.rest) < 4 {
		r.fail()
		return nil
	}
	n := binary.BigEndian.Uint32(r.rest)
	if uint64(n)+4 > uint64(len(r.rest)) {
		r.fail()
		return nil
	}
	b := r.rest[4 : 4+n]
	r.rest = r.rest[4+n:]
	return b
}
