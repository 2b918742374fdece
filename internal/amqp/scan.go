package amqp

// PropertyScan finds, without allocating, what a broker must know of a message in its encoded properties. Its slices
// are parts of the octets scanned and live as long as they do.
type PropertyScan struct {
	Flags        Flags  // which properties are present
	Headers      []byte // the encoded table with its 4-octet length, for LookupField; nil if absent
	Expiration   []byte // without its length; empty or nil if absent: see Flags
	ReplyTo      []byte // likewise
	UserID       []byte // likewise
	DeliveryMode uint8  // 0 if absent
	Priority     uint8  // 0 if absent
	HasPriority  bool   // Flags has FlagPriority
}

// Scan overwrites s with what it finds in raw, which is as for ParseProperties. It accepts exactly what ParseProperties
// accepts, headers in full depth included, and on error leaves s of no use.
func (s *PropertyScan) Scan(raw []byte) error {
	has, list, err := cutFlags(raw)
	if err != nil {
		return err
	}
	*s = PropertyScan{Flags: has, HasPriority: has&FlagPriority != 0}
	c := cursor{rest: list}
	for flag := FlagContentType; has != 0; flag >>= 1 {
		if has&flag == 0 {
			continue
		}
		has &^= flag
		switch flag {
		case FlagHeaders:
			s.Headers = c.rawTable()
		case FlagDeliveryMode:
			s.DeliveryMode = c.octet()
		case FlagPriority:
			s.Priority = c.octet()
		case FlagTimestamp:
			c.take(8)
		case FlagReplyTo:
			s.ReplyTo = c.short()
		case FlagExpiration:
			s.Expiration = c.short()
		case FlagUserID:
			s.UserID = c.short()
		default:
			c.short()
		}
	}
	return c.end()
}

// Persistent reports whether the message is to be kept on disk.
// Source: AMQP basic, delivery-mode.
func (s *PropertyScan) Persistent() bool { return s.DeliveryMode == Persistent }
