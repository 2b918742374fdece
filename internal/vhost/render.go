package vhost

import (
	"encoding/binary"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// rendered is what an encoded history says beside the headers that it stands for.
type rendered struct {
	exchange, key []byte // of the last hop
	hideCC        bool
	recordTTL     bool // a death has the expiration of the record
	resent        fact.RedriveMark
}

// appendDeathHeaders appends the fields that an encoded history stands for, sorted by name, as they are in a
// field table: x-death, x-death-total, x-first-death-* and x-last-death-*. It goes from bytes to bytes, since every
// delivery of a dead letter passes here. expiration is the property in the record. The exchange and key of the last hop
// alias p.
// Source: RabbitMQ dlx#effects; docs/compat/dead-lettering.md#5, #6, #15.
func appendDeathHeaders(b, p, expiration []byte, d Dialect) (_ []byte, x rendered, err error) {
	r := fact.Decoder{Rest: p}
	x.exchange, x.key = readLastHop(&r)
	r.Uint() // share
	var origins [2]struct {
		reason          fact.Reason
		queue, exchange []byte
	}
	for i := range origins {
		o := &origins[i]
		o.reason, o.queue, o.exchange = fact.Reason(r.Byte()), r.Bytes(), r.Bytes()
	}
	x.hideCC = origins[0].reason&fact.ReasonMarked != 0
	origins[0].reason &^= fact.ReasonMarked
	marked := origins[1].reason
	origins[1].reason &^= fact.ReasonMarked | fact.ReasonTimed
	if marked&fact.ReasonMarked != 0 {
		x.resent = fact.ReadRedrive(&r)
	}
	if marked&fact.ReasonTimed != 0 {
		r.Int()
	}
	deaths := r.Uint()
	if deaths == 0 {
		return b, x, r.Err // it was lost before it could die
	}
	b = appendName(b, "x-death", amqp.KindArray)
	b, start := beginSized(b)
	total := uint64(0)
	for n := deaths; n > 0 && r.Err == nil; n-- {
		one := readDeath(&r, expiration)
		b = appendDeath(b, &one, d, deaths > 1)
		total, x.recordTTL = total+one.count, x.recordTTL || one.recordTTL
	}
	endSized(b, start)
	if d&DialectTotal != 0 {
		b = appendName(b, "x-death-total", amqp.KindInt64)
		b = binary.BigEndian.AppendUint64(b, total)
	}
	for i, prefix := range [2]string{"x-first-death-", "x-last-death-"} {
		o := &origins[i]
		if o.reason == 0 || i == 1 && d&Dialect3 != 0 {
			continue
		}
		b = appendNamed(b, prefix, "exchange", o.exchange)
		b = appendNamed(b, prefix, "queue", o.queue)
		b = appendNamed(b, prefix, "reason", o.reason.Word(d))
	}
	return b, x, r.Err
}

// readLastHop reads the exchange and the first key of the last hop, and passes over the other keys.
func readLastHop(r *fact.Decoder) (exchange, key []byte) {
	exchange = r.Bytes()
	for n, i := r.Uint(), uint64(0); i < n && r.Err == nil; i++ {
		if k := r.Bytes(); i == 0 {
			key = k
		}
	}
	return exchange, key
}

// death is one entry of an encoded history.
type death struct {
	reason                      fact.Reason
	count                       uint64
	time                        int64
	queue, exchange, expiration []byte
	keys                        fact.Decoder // at their number
	expires, recordTTL          bool
}

func readDeath(r *fact.Decoder, expiration []byte) death {
	marked := r.Byte()
	d := death{reason: fact.Reason(marked &^ (fact.ReasonMarked | fact.ReasonTimed)), expires: marked&fact.ReasonMarked != 0}
	d.queue, d.count, d.time = r.Bytes(), r.Uint(), r.Int()
	d.exchange, d.keys = r.Bytes(), *r
	for n := r.Uint(); n > 0 && r.Err == nil; n-- {
		r.Bytes()
	}
	switch {
	case marked&fact.ReasonTimed != 0:
		d.expires, d.recordTTL, d.expiration = true, true, expiration
	case d.expires:
		d.expiration = r.Bytes()
	}
	return d
}

// The order of an entry's fields, by initials: RabbitMQ 4.x's; that of up to 3.12 for the first entry that a message
// gets; and the one for arrays that it has handled again, which is alphabetical. Source:
// docs/compat/dead-lettering.md#5.
const (
	fieldOrder       = "ocrqtek"
	fieldOrder3      = "crqteko"
	fieldOrder3Again = "ceoqrkt"
)

// appendDeath appends one entry of x-death.
func appendDeath(b []byte, d *death, dialect Dialect, several bool) []byte {
	order := fieldOrder
	if dialect&Dialect3 != 0 {
		order = fieldOrder3
		if several || d.count > 1 {
			order = fieldOrder3Again
		}
	}
	b = append(b, amqp.KindTable)
	b, start := beginSized(b)
	for _, field := range []byte(order) {
		switch field {
		case 'o':
			if d.expires {
				b = appendField(b, "original-expiration", d.expiration)
			}
		case 'c':
			b = appendName(b, "count", amqp.KindInt64)
			b = binary.BigEndian.AppendUint64(b, d.count)
		case 'r':
			b = appendField(b, "reason", d.reason.Word(dialect))
		case 'q':
			b = appendField(b, "queue", d.queue)
		case 't':
			b = appendName(b, "time", amqp.KindTimestamp)
			b = binary.BigEndian.AppendUint64(b, uint64(d.time))
		case 'e':
			b = appendField(b, "exchange", d.exchange)
		case 'k':
			b = appendName(b, "routing-keys", amqp.KindArray)
			var list int
			b, list = beginSized(b)
			for n := d.keys.Uint(); n > 0 && d.keys.Err == nil; n-- {
				b = append(b, amqp.KindString)
				b = amqp.AppendLongString(b, d.keys.Bytes())
			}
			endSized(b, list)
		}
	}
	endSized(b, start)
	return b
}

func appendName(b []byte, name string, kind byte) []byte {
	return append(amqp.AppendShortString(b, name), kind)
}

func appendField[S string | []byte](b []byte, name string, value S) []byte {
	return amqp.AppendLongString(appendName(b, name, amqp.KindString), value)
}

func appendNamed[S string | []byte](b []byte, prefix, name string, value S) []byte {
	b = append(b, byte(len(prefix)+len(name)))
	b = append(b, prefix...)
	b = append(b, name...)
	return amqp.AppendLongString(append(b, amqp.KindString), value)
}

func beginSized(b []byte) ([]byte, int) { return append(b, 0, 0, 0, 0), len(b) + 4 }

func endSized(b []byte, start int) { binary.BigEndian.PutUint32(b[start-4:], uint32(len(b)-start)) }

// appendProperties appends raw properties with other headers, and without the properties in drop, of which
// only expiration is known here. raw passes amqp.PropertyScan, so that the places of both are known.
func appendProperties(b, raw []byte, scan *amqp.PropertyScan, headers []byte, drop amqp.Flags) []byte {
	flags := scan.Flags&^drop | amqp.FlagHeaders
	b = binary.BigEndian.AppendUint16(b, uint16(flags))
	rest := raw[2:]
	for more := raw[1] & 1; more != 0; rest = rest[2:] { // further flags words: empty, or Scan had refused them
		more = rest[1] & 1
	}
	at := 0 // of the headers in rest: after content-type and content-encoding
	for _, f := range [2]amqp.Flags{amqp.FlagContentType, amqp.FlagContentEncoding} {
		if scan.Flags&f != 0 {
			at += 1 + int(rest[at])
		}
	}
	b = append(b, rest[:at]...)
	b = append(b, headers...)
	rest = rest[at+len(scan.Headers):]
	if scan.Flags&drop == 0 {
		return append(b, rest...)
	}
	at = 0
	if scan.Flags&amqp.FlagDeliveryMode != 0 {
		at++
	}
	if scan.Flags&amqp.FlagPriority != 0 {
		at++
	}
	for _, f := range [2]amqp.Flags{amqp.FlagCorrelationID, amqp.FlagReplyTo} {
		if scan.Flags&f != 0 {
			at += 1 + int(rest[at])
		}
	}
	b = append(b, rest[:at]...)
	return append(b, rest[at+1+len(scan.Expiration):]...)
}
