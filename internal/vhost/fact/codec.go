package fact

import (
	"encoding/binary"
	"errors"

	"github.com/bartleby-mq/bartleby/internal/amqp"
)

var ErrTruncated = errors.New("fact: data ends too soon")

func AppendText[S string | []byte](b []byte, s S) []byte {
	b = binary.AppendUvarint(b, uint64(len(s)))
	return append(b, s...)
}

func appendTexts(b []byte, list []string) []byte {
	b = binary.AppendUvarint(b, uint64(len(list)))
	for _, s := range list {
		b = AppendText(b, s)
	}
	return b
}

// Bits packs booleans into one octet, the first lowest.
func Bits(list ...bool) byte {
	var b byte
	for i, on := range list {
		if on {
			b |= 1 << i
		}
	}
	return b
}

// Decoder takes our own encodings apart. After the first error every read yields zero.
type Decoder struct {
	Rest []byte
	Err  error
}

func (r *Decoder) fail() {
	if r.Err == nil {
		r.Err = ErrTruncated
	}
	r.Rest = nil
}

func (r *Decoder) Byte() byte {
	if len(r.Rest) == 0 {
		r.fail()
		return 0
	}
	b := r.Rest[0]
	r.Rest = r.Rest[1:]
	return b
}

func (r *Decoder) Fixed() uint64 {
	if len(r.Rest) < 8 {
		r.fail()
		return 0
	}
	n := binary.BigEndian.Uint64(r.Rest)
	r.Rest = r.Rest[8:]
	return n
}

func (r *Decoder) Uint() uint64 {
	v, n := binary.Uvarint(r.Rest)
	if n <= 0 {
		r.fail()
		return 0
	}
	r.Rest = r.Rest[n:]
	return v
}

func (r *Decoder) Int() int64 {
	v, n := binary.Varint(r.Rest)
	if n <= 0 {
		r.fail()
		return 0
	}
	r.Rest = r.Rest[n:]
	return v
}

// Bytes takes a length and as many octets; they alias the input.
func (r *Decoder) Bytes() []byte {
	n := r.Uint()
	if n > uint64(len(r.Rest)) {
		r.fail()
		return nil
	}
	b := r.Rest[:n]
	r.Rest = r.Rest[n:]
	return b
}

func (r *Decoder) Text() string { return string(r.Bytes()) }

func (r *Decoder) texts() []string {
	n := r.Uint()
	if n > uint64(len(r.Rest)) {
		r.fail()
		return nil
	}
	list := make([]string, 0, n)
	for ; n > 0; n-- {
		list = append(list, r.Text())
	}
	return list
}

func (r *Decoder) table() amqp.Table {
	t, rest, err := amqp.ParseTable(r.Rest)
	if err != nil {
		r.fail()
		return nil
	}
	r.Rest = rest
	return t
}

// sized takes a 4-octet length and as many octets.
func (r *Decoder) sized() []byte {
	if len(r.Rest) < 4 {
		r.fail()
		return nil
	}
	n := binary.BigEndian.Uint32(r.Rest)
	if uint64(n)+4 > uint64(len(r.Rest)) {
		r.fail()
		return nil
	}
	b := r.Rest[4 : 4+n]
	r.Rest = r.Rest[4+n:]
	return b
}
