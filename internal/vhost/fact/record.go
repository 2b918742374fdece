package fact

import (
	"encoding/binary"
	"errors"

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

// Record is a record taken apart; its slices alias the record.
type Record struct {
	Exchange, Key    []byte
	CC, BCC          [][]byte
	Properties, Body []byte
}

func AppendRecord(b []byte, c *Record) []byte {
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
	b = append(b, c.Properties...)
	return append(b, c.Body...)
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
	if len(r) < 1 {
		return c, errRecord
	}
	flags, r := r[0], r[1:]
	var ok bool
	if c.Exchange, r, ok = CutShort(r); !ok {
		return c, errRecord
	}
	if c.Key, r, ok = CutShort(r); !ok {
		return c, errRecord
	}
	if flags&recordHasExtraKeys != 0 {
		if c.CC, r, ok = cutKeys(r); !ok {
			return c, errRecord
		}
		if c.BCC, r, ok = cutKeys(r); !ok {
			return c, errRecord
		}
	}
	if len(r) < 4 {
		return c, errRecord
	}
	n := int(binary.BigEndian.Uint32(r))
	if r = r[4:]; n > len(r) {
		return c, errRecord
	}
	c.Properties, c.Body = r[:n], r[n:]
	return c, nil
}

func CutShort(r []byte) (s, rest []byte, ok bool) {
	if len(r) < 1 || len(r) < 1+int(r[0]) {
		return nil, nil, false
	}
	n := 1 + int(r[0])
	return r[1:n], r[n:], true
}

func cutKeys(r []byte) (keys [][]byte, rest []byte, ok bool) {
	if len(r) < 2 {
		return nil, nil, false
	}
	n := int(binary.BigEndian.Uint16(r))
	r = r[2:]
	for range n {
		if len(r) < 4 {
			return nil, nil, false
		}
		size := int(binary.BigEndian.Uint32(r))
		if r = r[4:]; size > len(r) {
			return nil, nil, false
		}
		keys, r = append(keys, r[:size]), r[size:]
	}
	return keys, r, true
}

// Keys are all routing keys of the publish: its own, CC, BCC.
func (c *Record) Keys() []string {
	keys := []string{string(c.Key)}
	for _, k := range c.CC {
		keys = append(keys, string(k))
	}
	for _, k := range c.BCC {
		keys = append(keys, string(k))
	}
	return keys
}

// PublicKeys are the routing keys that a death names: without BCC. Source: RabbitMQ dlx#effects.
func (c *Record) PublicKeys() []string { return c.Keys()[:1+len(c.CC)] }
