package vhost

import (
	"encoding/binary"

	"github.com/bartleby-mq/bartleby/internal/amqp"
)

// appendDeathHeaders appends the fields that an encoded history stands for, sorted by name, as they are in a
// field table: x-death, x-first-death-* and x-last-death-*. It goes from bytes to bytes, since every delivery
// of a dead letter passes here. The exchange and key of the last hop alias p.
// Source: RabbitMQ dlx#effects; reference dead-lettering 5, 6.
func appendDeathHeaders(b, p []byte) (_ []byte, exchange, key []byte, err error) {
	r := reader{rest: p}
	exchange = r.bytes()
	for n, i := r.uint(), uint64(0); i < n && r.err == nil; i++ {
		if k := r.bytes(); i == 0 {
			key = k
		}
	}
	r.uint() // share
	var origins [2]struct {
		reason          Reason
		queue, exchange []byte
	}
	for i := range origins {
		o := &origins[i]
		o.reason, o.queue, o.exchange = Reason(r.byte()), r.bytes(), r.bytes()
	}
	b = appendName(b, "x-death", amqp.KindArray)
	b, start := beginSized(b)
	for n := r.uint(); n > 0 && r.err == nil; n-- {
		b = appendDeath(b, &r)
	}
	endSized(b, start)
	for i, prefix := range [2]string{"x-first-death-", "x-last-death-"} {
		o := &origins[i]
		b = appendNamed(b, prefix, "exchange", o.exchange)
		b = appendNamed(b, prefix, "queue", o.queue)
		b = appendNamed(b, prefix, "reason", o.reason.String())
	}
	return b, exchange, key, r.err
}

// appendDeath appends one entry of x-death.
func appendDeath(b []byte, r *reader) []byte {
	reason := r.byte()
	queue, count, time := r.bytes(), r.uint(), r.int()
	exchange := r.bytes()
	b = append(b, amqp.KindTable)
	b, start := beginSized(b)
	keys := *r // read again when their turn comes
	for n := r.uint(); n > 0 && r.err == nil; n-- {
		r.bytes()
	}
	if reason&0x80 != 0 {
		b = appendField(b, "original-expiration", r.bytes())
	}
	b = appendName(b, "count", amqp.KindInt64)
	b = binary.BigEndian.AppendUint64(b, count)
	b = appendField(b, "reason", Reason(reason&^0x80).String())
	b = appendField(b, "queue", queue)
	b = appendName(b, "time", amqp.KindTimestamp)
	b = binary.BigEndian.AppendUint64(b, uint64(time))
	b = appendField(b, "exchange", exchange)
	b = appendName(b, "routing-keys", amqp.KindArray)
	b, list := beginSized(b)
	for n := keys.uint(); n > 0 && keys.err == nil; n-- {
		b = append(b, amqp.KindString)
		b = amqp.AppendLongString(b, keys.bytes())
	}
	endSized(b, list)
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
