package vhost

import (
	"slices"

	"github.com/bartleby-mq/bartleby/internal/amqp"
)

// A View is a message as a client sees it: the record, with what the broker knows of it rendered.
type View struct {
	Exchange   []byte
	RoutingKey []byte
	Properties []byte // raw, as in a content header
	Body       []byte
}

// View renders d, whose Record, and History if it has one, must be there. A message that is no dead letter
// and was never counted costs nothing: its octets are as they came. The result aliases d's bytes.
// Source: RabbitMQ dlx#effects.
func (d *Delivered) View() (View, error) {
	c, err := parseRecord(d.Record)
	if err != nil {
		return View{}, err
	}
	v := View{c.exchange, c.key, c.properties, c.body}
	if d.History == nil && d.Returns == 0 {
		return v, nil
	}
	p, err := amqp.ParseProperties(c.properties)
	if err != nil {
		return View{}, err
	}
	var own amqp.Table
	if d.Returns > 0 {
		own = amqp.Table{
			{Name: "x-acquired-count", Value: amqp.Int64(int64(d.Returns))},
			{Name: "x-delivery-count", Value: amqp.Int64(int64(d.Returns))},
		}
	}
	if d.History != nil {
		h, err := parseHistory(d.History)
		if err != nil {
			return View{}, err
		}
		v.Exchange, v.RoutingKey = []byte(h.Exchange), []byte(h.Keys[0])
		p.Has &^= amqp.FlagExpiration
		own = append(own, h.headers()...)
	}
	p.Headers = merge(p.Headers, own)
	p.Has |= amqp.FlagHeaders
	v.Properties = amqp.AppendProperties(nil, &p)
	return v, nil
}

// merge lays the broker's own headers over a publisher's, sorted by name, the first of a name winning.
// Source: RabbitMQ 4.x; reference dead-lettering 5 and 6.
func merge(headers, own amqp.Table) amqp.Table {
	all := append(slices.Clone(own), headers...)
	slices.SortStableFunc(all, func(a, b amqp.Field) int {
		switch {
		case a.Name < b.Name:
			return -1
		case a.Name > b.Name:
			return 1
		}
		return 0
	})
	return slices.CompactFunc(all, func(a, b amqp.Field) bool { return a.Name == b.Name })
}
