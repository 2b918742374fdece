package vhost

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

var errRecord = errors.New("vhost: record is malformed")

// content is a record taken apart; its slices alias the record.
type content struct {
	exchange, key    []byte
	cc, bcc          [][]byte
	properties, body []byte
}

func appendRecord(b []byte, c *content) []byte {
	extra := len(c.cc)+len(c.bcc) > 0
	if extra {
		b = append(b, recordHasExtraKeys)
	} else {
		b = append(b, 0)
	}
	b = amqp.AppendShortString(b, c.exchange)
	b = amqp.AppendShortString(b, c.key)
	if extra {
		b = appendKeys(b, c.cc)
		b = appendKeys(b, c.bcc)
	}
	b = binary.BigEndian.AppendUint32(b, uint32(len(c.properties)))
	b = append(b, c.properties...)
	return append(b, c.body...)
}

func appendKeys(b []byte, keys [][]byte) []byte {
	b = binary.BigEndian.AppendUint16(b, uint16(len(keys)))
	for _, k := range keys {
		b = binary.BigEndian.AppendUint32(b, uint32(len(k)))
		b = append(b, k...)
	}
	return b
}

// parseRecord takes a record apart. Records are our own bytes under a checksum: an error is a mistake of ours.
func parseRecord(r []byte) (c content, err error) {
	if len(r) < 1 {
		return c, errRecord
	}
	flags, r := r[0], r[1:]
	var ok bool
	if c.exchange, r, ok = cutShort(r); !ok {
		return c, errRecord
	}
	if c.key, r, ok = cutShort(r); !ok {
		return c, errRecord
	}
	if flags&recordHasExtraKeys != 0 {
		if c.cc, r, ok = cutKeys(r); !ok {
			return c, errRecord
		}
		if c.bcc, r, ok = cutKeys(r); !ok {
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
	c.properties, c.body = r[:n], r[n:]
	return c, nil
}

func cutShort(r []byte) (s, rest []byte, ok bool) {
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

// keys are all routing keys of the publish: its own, CC, BCC.
func (c *content) keys() []string {
	keys := []string{string(c.key)}
	for _, k := range c.cc {
		keys = append(keys, string(k))
	}
	for _, k := range c.bcc {
		keys = append(keys, string(k))
	}
	return keys
}

// publicKeys are the routing keys that a death names: without BCC. Source: RabbitMQ dlx#effects.
func (c *content) publicKeys() []string { return c.keys()[:1+len(c.cc)] }
