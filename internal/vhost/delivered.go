package vhost

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/amqp"
)

// A View is a message as a client sees it: the record, with what the broker knows of it rendered.
type View struct {
	Exchange   []byte
	RoutingKey []byte
	Properties []byte // raw, as in a content header
	Body       []byte
}

// View renders d, whose Record, and History if it has one, must be there. The result aliases d's bytes.
func (d *Delivered) View() (View, error) {
	v, _, err := d.AppendView(nil)
	return v, err
}

// AppendView is View with room for what has to be rendered: the result aliases d's bytes and buf. A message
// that is no dead letter and was never counted costs nothing: its octets are as they came.
// Source: RabbitMQ dlx#effects.
func (d *Delivered) AppendView(buf []byte) (View, []byte, error) {
	c, err := parseRecord(d.Record)
	if err != nil {
		return View{}, buf, err
	}
	v := View{c.exchange, c.key, c.properties, c.body}
	if d.History == nil && d.Returns == 0 {
		return v, buf, nil
	}
	var scan amqp.PropertyScan
	if err := scan.Scan(c.properties); err != nil {
		return View{}, buf, err
	}
	start := len(buf)
	buf = append(buf, 0, 0, 0, 0)
	if d.Returns > 0 {
		buf = appendName(buf, "x-acquired-count", amqp.KindInt64)
		buf = binary.BigEndian.AppendUint64(buf, uint64(d.Returns))
	}
	if d.History != nil {
		if buf, v.Exchange, v.RoutingKey, err = appendDeathHeaders(buf, d.History); err != nil {
			return View{}, buf, err
		}
	}
	if d.Returns > 0 {
		buf = appendName(buf, "x-delivery-count", amqp.KindInt64)
		buf = binary.BigEndian.AppendUint64(buf, uint64(d.Returns))
	}
	endSized(buf, start+4)
	if len(scan.Headers) > 4 {
		if buf, err = mergeHeaders(buf, start, scan.Headers); err != nil {
			return View{}, buf, err
		}
	}
	end := len(buf)
	drop := amqp.Flags(0)
	if d.History != nil {
		drop = amqp.FlagExpiration
	}
	buf = appendProperties(buf, c.properties, &scan, buf[start:end], drop)
	v.Properties = buf[end:]
	return v, buf, nil
}

// mergeHeaders lays the broker's own headers, the table from start in buf, over a publisher's: sorted by name,
// the first of a name winning. Source: RabbitMQ 4.x; reference dead-lettering 5 and 6.
func mergeHeaders(buf []byte, start int, headers []byte) ([]byte, error) {
	own, _, err := amqp.ParseTable(buf[start:])
	if err != nil {
		return buf, err
	}
	theirs, _, err := amqp.ParseTable(headers)
	if err != nil {
		return buf, err
	}
	all := append(own, theirs...)
	slices.SortStableFunc(all, func(a, b amqp.Field) int { return strings.Compare(a.Name, b.Name) })
	all = slices.CompactFunc(all, func(a, b amqp.Field) bool { return a.Name == b.Name })
	return amqp.AppendTable(buf[:start], all), nil
}
