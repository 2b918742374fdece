package amqp

import "encoding/binary"

// Flags tells which of the basic properties are present: the property flags of the wire. Bit 0, which announces
// another word of flags, is never set here.
type Flags uint16

// The basic properties, in their order on the wire.
// Source: AMQP basic, content header.
const (
	FlagContentType Flags = 1 << (15 - iota)
	FlagContentEncoding
	FlagHeaders
	FlagDeliveryMode
	FlagPriority
	FlagCorrelationID
	FlagReplyTo
	FlagExpiration
	FlagMessageID
	FlagTimestamp
	FlagType
	FlagUserID
	FlagAppID
	FlagClusterID

	flagUnknown  Flags = 1 << 1 // no property has this bit
	flagContinue Flags = 1 << 0
)

// Persistent is the delivery mode of a message that is kept on disk; any other, or none, is transient.
const Persistent uint8 = 2

// Properties are the basic properties of a message. A field counts only if its flag is in Has: an empty string that is
// present differs from one that is absent.
type Properties struct {
	Has             Flags
	ContentType     string
	ContentEncoding string
	Headers         Table
	DeliveryMode    uint8
	Priority        uint8
	CorrelationID   string
	ReplyTo         string
	Expiration      string // decimal milliseconds, unchecked
	MessageID       string
	Timestamp       uint64 // seconds since the Unix epoch
	Type            string
	UserID          string
	AppID           string
	ClusterID       string
}

// ParseProperties decodes what follows the body size in a content header: property flags, then the property list, and
// nothing after it. The result owns its memory. Errors are *Error with code 502.
//
//	flags(2) { flags(2) }* property*    another flags word follows while bit 0 is set
func ParseProperties(raw []byte) (Properties, error) {
	has, list, err := cutFlags(raw)
	if err != nil {
		return Properties{}, err
	}
	p := Properties{Has: has}
	c := cursor{rest: list}
	for flag := FlagContentType; flag >= FlagClusterID; flag >>= 1 {
		if has&flag == 0 {
			continue
		}
		switch flag {
		case FlagHeaders:
			c.table(&p.Headers)
		case FlagDeliveryMode:
			p.DeliveryMode = c.octet()
		case FlagPriority:
			p.Priority = c.octet()
		case FlagTimestamp:
			p.Timestamp = c.timestamp()
		default:
			*p.text(flag) = string(c.short())
		}
	}
	if err := c.end(); err != nil {
		return Properties{}, err
	}
	return p, nil
}

// AppendProperties appends the flags and list of the properties in p.Has. Strings over ShortStringMax octets are cut:
// see Check.
func AppendProperties(b []byte, p *Properties) []byte {
	has := p.Has &^ (flagUnknown | flagContinue)
	b = binary.BigEndian.AppendUint16(b, uint16(has))
	for flag := FlagContentType; flag >= FlagClusterID; flag >>= 1 {
		if has&flag == 0 {
			continue
		}
		switch flag {
		case FlagHeaders:
			b = AppendTable(b, p.Headers)
		case FlagDeliveryMode:
			b = append(b, p.DeliveryMode)
		case FlagPriority:
			b = append(b, p.Priority)
		case FlagTimestamp:
			b = binary.BigEndian.AppendUint64(b, p.Timestamp)
		default:
			b = AppendShortString(b, *p.text(flag))
		}
	}
	return b
}

// Check reports what keeps p from being encoded faithfully: a string that is too long, or headers that Table.Check
// refuses. Decoded properties pass; it is meant for those made from other input, such as JSON.
func (p *Properties) Check() error {
	for flag := FlagContentType; flag >= FlagClusterID; flag >>= 1 {
		if s := p.text(flag); p.Has&flag != 0 && s != nil && len(*s) > ShortStringMax {
			return malformed("basic properties: value of %d octets, at most %d allowed", len(*s), ShortStringMax)
		}
	}
	if p.Has&FlagHeaders == 0 {
		return nil
	}
	return p.Headers.Check()
}

// text returns where the short string of that flag is kept, nil for properties that are none.
func (p *Properties) text(flag Flags) *string {
	switch flag {
	case FlagContentType:
		return &p.ContentType
	case FlagContentEncoding:
		return &p.ContentEncoding
	case FlagCorrelationID:
		return &p.CorrelationID
	case FlagReplyTo:
		return &p.ReplyTo
	case FlagExpiration:
		return &p.Expiration
	case FlagMessageID:
		return &p.MessageID
	case FlagType:
		return &p.Type
	case FlagUserID:
		return &p.UserID
	case FlagAppID:
		return &p.AppID
	case FlagClusterID:
		return &p.ClusterID
	}
	return nil
}

// cutFlags splits raw after its flags words. No property is known beyond the first word, so no other bit may be set.
func cutFlags(raw []byte) (has Flags, list []byte, err error) {
	for word := 0; ; word++ {
		if len(raw) < 2 {
			return 0, nil, malformed("basic properties: flags missing")
		}
		flags := Flags(binary.BigEndian.Uint16(raw))
		raw = raw[2:]
		if word == 0 {
			has = flags &^ flagContinue
		}
		if has&flagUnknown != 0 || word > 0 && flags&^flagContinue != 0 {
			return 0, nil, malformed("basic properties: flag of no known property")
		}
		if flags&flagContinue == 0 {
			return has, raw, nil
		}
	}
}

// cursor takes properties from the front of rest. After a failure, which end reports, it yields zero values.
type cursor struct {
	rest   []byte
	failed error
}

func (c *cursor) take(n int) []byte {
	if c.failed != nil || n > len(c.rest) {
		c.fail()
		return nil
	}
	p := c.rest[:n]
	c.rest = c.rest[n:]
	return p
}

func (c *cursor) octet() byte {
	if p := c.take(1); p != nil {
		return p[0]
	}
	return 0
}

func (c *cursor) timestamp() uint64 {
	if p := c.take(8); p != nil {
		return binary.BigEndian.Uint64(p)
	}
	return 0
}

func (c *cursor) short() []byte {
	s, rest, ok := cutShort(c.rest)
	if c.failed != nil || !ok {
		c.fail()
		return nil
	}
	c.rest = rest
	return s
}

func (c *cursor) table(t *Table) {
	if c.failed != nil {
		return
	}
	parsed, rest, err := ParseTable(c.rest)
	if err != nil {
		c.failed = err
		return
	}
	*t, c.rest = parsed, rest
}

func (c *cursor) rawTable() []byte {
	if c.failed != nil {
		return nil
	}
	raw, rest, err := SkipTable(c.rest)
	if err != nil {
		c.failed = err
		return nil
	}
	c.rest = rest
	return raw
}

func (c *cursor) fail() {
	if c.failed == nil {
		c.failed = malformed("basic properties: longer than the octets present")
	}
}

// end reports the first failure, or that something follows the last property.
func (c *cursor) end() error {
	if c.failed == nil && len(c.rest) > 0 {
		return malformed("basic properties: %d octets after the last property", len(c.rest))
	}
	return c.failed
}
