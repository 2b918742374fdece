package fact

import (
	"encoding/binary"
	"errors"
	"slices"

	"github.com/bartleby-mq/bartleby/internal/amqp"
)

// A record is a message as it was published, in the log or in volatile memory:
//
//	flags(1) exchange(shortstr) key(shortstr) [cc(keys) bcc(keys)] size(4) properties(size) body(the rest)
//	keys = count(2) { size(4) octets(size) }*
//
// flags bit 0: cc and bcc follow. Properties are the raw octets of the content header, BCC taken out.
const recordHasExtraKeys = 1

var errRecord = errors.New("fact: record is malformed")

// A Head is what a record has in front of the body: all by which it is decided where a message goes. Its slices alias
// the record.
type Head struct {
	Exchange, Key []byte
	CC, BCC       [][]byte
	Properties    []byte
}

// Record is a record taken apart; its slices alias the record.
type Record struct {
	Head
	Body []byte
}

// AppendRecord appends the record of a message.
func AppendRecord(b []byte, c *Head, body []byte) []byte { return append(AppendHead(b, c), body...) }

// AppendHead appends what a record has in front of the body.
func AppendHead(b []byte, c *Head) []byte {
	extra := len(c.CC)+len(c.BCC) > 0
	if extra {
		b = append(b, recordHasExtraKeys)
	} else {
		b = append(b, 0)
	}
	b = amqp.AppendShortString(b, c.Exchange)
	b = amqp.AppendShortString(b, c.Key)
	if extra {
		b = appendKeys(b, c.CC)
		b = appendKeys(b, c.BCC)
	}
	b = binary.BigEndian.AppendUint32(b, uint32(len(c.Properties)))
	return append(b, c.Properties...)
}

func appendKeys(b []byte, keys [][]byte) []byte {
	b = binary.BigEndian.AppendUint16(b, uint16(len(keys)))
	for _, k := range keys {
		b = binary.BigEndian.AppendUint32(b, uint32(len(k)))
		b = append(b, k...)
	}
	return b
}

// ParseRecord takes a record apart. Records are our own bytes under a checksum: an error is a mistake of ours.
func ParseRecord(r []byte) (c Record, err error) {
	n := c.parse(r)
	if n > len(r) {
		return Record{}, errRecord
	}
	c.Body = r[n:]
	return c, nil
}

// ParseHead takes the head of a record apart, of which r is the beginning. n is how long the head is; if r is shorter,
// h is empty, and n is how much of the record must be there to know more.
func ParseHead(r []byte) (h Head, n int) {
	if n = h.parse(r); n > len(r) {
		h = Head{}
	}
	return h, n
}

// parse is ParseHead; if r is too short, some of h is missing. Each part begins where the one before it ends. Every
// delivery passes here.
func (h *Head) parse(r []byte) (at int) {
	h.Exchange, at = cutShort(r, 1)
	h.Key, at = cutShort(r, at)
	if at <= len(r) && r[0]&recordHasExtraKeys != 0 {
		h.CC, at = cutKeys(r, at)
		h.BCC, at = cutKeys(r, at)
	}
	h.Properties, at = cutLong(r, at)
	return at
}

// cutShort returns the octets whose number stands at a place of r, in one octet, and where they end: behind the end of
// r if they, or what comes before them, are not all there.
func cutShort(r []byte, at int) (s []byte, end int) {
	if at >= len(r) {
		return nil, max(at, len(r)+1)
	}
	if end = at + 1 + int(r[at]); end > len(r) {
		return nil, end
	}
	return r[at+1 : end], end
}

// cutLong is cutShort for a number in four octets.
func cutLong(r []byte, at int) (s []byte, end int) {
	if at > len(r)-4 {
		return nil, max(at, len(r)+1)
	}
	if end = at + 4 + int(binary.BigEndian.Uint32(r[at:])); end > len(r) {
		return nil, end
	}
	return r[at+4 : end], end
}

// cutKeys is cutShort for keys.
func cutKeys(r []byte, at int) (keys [][]byte, end int) {
	if at > len(r)-2 {
		return nil, max(at, len(r)+1)
	}
	end = at + 2
	for n := binary.BigEndian.Uint16(r[at:]); n > 0 && end <= len(r); n-- {
		var k []byte
		k, end = cutLong(r, end)
		keys = append(keys, k)
	}
	return keys, end
}

// Address returns the exchange and the key in the beginning of a record, nil if they are not in it.
func Address(r []byte) (exchange, key []byte) {
	var h Head
	h.parse(r)
	return h.Exchange, h.Key
}

// Keys are all routing keys of the publish: its own, CC, BCC.
func (h *Head) Keys() []string {
	keys := []string{string(h.Key)}
	for _, k := range h.CC {
		keys = append(keys, string(k))
	}
	for _, k := range h.BCC {
		keys = append(keys, string(k))
	}
	return keys
}

// Public are the routing keys of a hop as its death names them: without BCC, if they are those of the publish.
// Source: RabbitMQ dlx#effects.
func (h *Head) Public(keys []string) []string {
	if len(h.BCC) > 0 && slices.Equal(keys, h.Keys()) {
		return keys[:1+len(h.CC)]
	}
	return keys
}
