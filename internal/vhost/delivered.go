package vhost

import (
	"bytes"
	"encoding/binary"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
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
	v, _, err := (*Renderer)(nil).AppendView(d, nil, 0)
	return v, err
}

// A Renderer renders messages, one after the other. It keeps the headers of the last history: messages that died
// together have the same. The zero Renderer is ready; that of nil keeps nothing.
type Renderer struct {
	history, expiration []byte // what the headers were made of: copies
	dialect             Dialect
	headers             []byte
	told                rendered
}

// rendererKeeps is the longest history that a Renderer keeps, bytes.
const rendererKeeps = 512

// appendDeathHeaders is the function of that name, for the history that it had last as for any other.
func (x *Renderer) appendDeathHeaders(b, p, expiration []byte, d Dialect) ([]byte, rendered, error) {
	if x == nil {
		return appendDeathHeaders(b, p, expiration, d)
	}
	same := d == x.dialect && len(p) > 0 && bytes.Equal(p, x.history)
	if same && (!x.told.recordTTL || bytes.Equal(expiration, x.expiration)) {
		told := x.told
		r := fact.Decoder{Rest: p}
		told.exchange, told.key = readLastHop(&r)
		return append(b, x.headers...), told, nil
	}
	start := len(b)
	b, told, err := appendDeathHeaders(b, p, expiration, d)
	if x.history = x.history[:0]; err == nil && len(p) <= rendererKeeps {
		x.history, x.expiration = append(x.history, p...), append(x.expiration[:0], expiration...)
		x.headers, x.dialect, x.told = append(x.headers[:0], b[start:]...), d, told
		x.told.exchange, x.told.key = nil, nil
	}
	return b, told, err
}

// AppendView is View of d with space for what has to be rendered: the result aliases d's bytes and buf. A message
// that is no dead letter and was never counted costs nothing: its octets are as they came.
//
// Properties get at most limit octets, 0 for no limit: a content header is one frame, which a client that agreed on
// less does not take. What the broker adds is left out as far as need be, the oldest deaths first; what the publisher
// wrote stays, whatever its size. Source: RabbitMQ dlx#effects; ours.
func (x *Renderer) AppendView(d *Delivered, buf []byte, limit int) (View, []byte, error) {
	c, err := fact.ParseRecord(d.Record)
	if err != nil {
		return View{}, buf, err
	}
	v, buf, err := x.appendHead(d, buf, &c.Head, limit)
	v.Body = c.Body
	return v, buf, err
}

// appendHead is AppendView without the body. Record need not be there: c is its head.
func (x *Renderer) appendHead(d *Delivered, buf []byte, c *fact.Head, limit int) (v View, _ []byte, err error) {
	v = View{Exchange: c.Exchange, RoutingKey: c.Key, Properties: c.Properties}
	if d.History == nil && d.Acquired == 0 && d.Count == 0 {
		return v, buf, nil
	}
	var scan amqp.PropertyScan
	if err := scan.Scan(c.Properties); err != nil {
		return View{}, buf, err
	}
	start := len(buf)
	buf = append(buf, 0, 0, 0, 0)
	buf = appendCount(buf, "x-acquired-count", d.Acquired)
	drop := amqp.Flags(0)
	var told rendered
	if d.History != nil {
		drop = amqp.FlagExpiration
		if buf, told, err = x.appendDeathHeaders(buf, d.History, scan.Expiration, d.Dialect); err != nil {
			return View{}, buf, err
		}
		if told.resent.Restored {
			drop = 0
		}
		v.Exchange, v.RoutingKey = told.exchange, told.key
	}
	buf = appendCount(buf, "x-delivery-count", d.Count)
	buf = appendCount(buf, "x-redrive-count", told.resent.Times)
	endSized(buf, start+4)
	headers := buf[start:]
	for over := 0; ; {
		if over > 0 || len(scan.Headers) > 4 {
			start = len(buf)
			if buf, err = appendMerged(buf, headers, scan.Headers, told.hideCC, over); err != nil {
				return View{}, buf, err
			}
		}
		end := len(buf)
		buf = appendProperties(buf, c.Properties, &scan, buf[start:end], drop)
		v.Properties = buf[end:]
		if limit == 0 || over > 0 || len(v.Properties) <= limit {
			return v, buf, nil
		}
		over = len(v.Properties) - limit
	}
}

// appendCount appends a counter of returns, if there were any. Source: RabbitMQ quorum-queues.
func appendCount(b []byte, name string, n uint32) []byte {
	if n == 0 {
		return b
	}
	b = appendName(b, name, amqp.KindInt64)
	return binary.BigEndian.AppendUint64(b, uint64(n))
}
