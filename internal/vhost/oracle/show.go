package oracle

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/amqp"
)

// show is a copy as a consumer sees it.
func (v *VHost) show(q *queue, c *Copy) string {
	m := c.message
	exchange, key := m.exchange, m.keys[0]
	p := m.properties
	var own amqp.Table
	if m.deadLetter() {
		exchange, key = m.hopExchange, m.hopKeys[0]
		own = append(m.deathTable(v), m.origins(v.word)...)
		if v.dialect() == "rabbitmq-3" { // consumers are not told of the last death; exchanges can see it all the same
			own = slices.DeleteFunc(own, func(f amqp.Field) bool { return strings.HasPrefix(f.Name, "x-last-death-") })
		}
	}
	if m.deadLetter() && m.redrives > 0 {
		own = append(own, amqp.Field{Name: "x-redrive-count", Value: amqp.Int64(m.redrives)})
	}
	if q.settings.counts {
		if c.Acquired > 0 {
			own = append(own, amqp.Field{Name: "x-acquired-count", Value: amqp.Int64(int64(c.Acquired))})
		}
		if n := q.countOf(c); n > 0 {
			own = append(own, amqp.Field{Name: "x-delivery-count", Value: amqp.Int64(int64(n))})
		}
	}
	for _, f := range p.Headers {
		if _, ok := own.Get(f.Name); !ok && !(f.Name == "CC" && m.hideCC) {
			own = append(own, f)
		}
	}
	if p.Headers = own; own != nil {
		p.Has |= amqp.FlagHeaders
	}
	return Message(exchange, key, m.body, c.Redelivered, &p)
}

// Message is a message as a consumer sees it, in a line.
func Message(exchange, key, body string, redelivered bool, p *amqp.Properties) string {
	s := fmt.Sprintf("%s:%s %q%s", exchange, key, body, showProperties(p))
	if redelivered {
		s += " redelivered"
	}
	return s
}

// deathTable is the headers that tell of all deaths. Source: docs/compat/dead-lettering.md#5, #15.
func (m *message) deathTable(v *VHost) amqp.Table {
	var list []amqp.Value
	total := int64(0)
	for _, d := range m.deaths {
		total += d.Count
	}
	for _, d := range m.deaths {
		var t amqp.Table
		if d.Expiration != "" {
			t = append(t, amqp.Field{Name: "original-expiration", Value: amqp.String(d.Expiration)})
		}
		var keys []amqp.Value
		for _, k := range d.Keys {
			keys = append(keys, amqp.String(k))
		}
		t = append(t,
			amqp.Field{Name: "count", Value: amqp.Int64(d.Count)},
			amqp.Field{Name: "reason", Value: amqp.String(v.word(d.Reason))},
			amqp.Field{Name: "queue", Value: amqp.String(d.Queue)},
			amqp.Field{Name: "time", Value: amqp.Timestamp(uint64(d.Time))},
			amqp.Field{Name: "exchange", Value: amqp.String(d.Exchange)},
			amqp.Field{Name: "routing-keys", Value: amqp.Array(keys...)},
		)
		if old := v.dialect() == "rabbitmq-3"; old && total > 1 {
			slices.SortFunc(t, func(a, b amqp.Field) int { return strings.Compare(a.Name, b.Name) })
		} else if old && d.Expiration != "" {
			t = append(t[1:], t[0])
		}
		list = append(list, amqp.TableValue(t))
	}
	t := amqp.Table{{Name: "x-death", Value: amqp.Array(list...)}}
	if v.isOn("death-total") {
		t = append(t, amqp.Field{Name: "x-death-total", Value: amqp.Int64(total)})
	}
	return t
}

// origins is the headers that tell of the first death and of the last. Source: docs/compat/dead-lettering.md#6.
func (m *message) origins(word func(Reason) string) (t amqp.Table) {
	for _, o := range [...]struct {
		prefix string
		Death
	}{{"x-first-death-", m.first}, {"x-last-death-", m.last}} {
		t = append(t,
			amqp.Field{Name: o.prefix + "exchange", Value: amqp.String(o.Exchange)},
			amqp.Field{Name: o.prefix + "queue", Value: amqp.String(o.Queue)},
			amqp.Field{Name: o.prefix + "reason", Value: amqp.String(word(o.Reason))},
		)
	}
	return t
}

// showProperties lists what a message is published with, or delivered with, each after a blank.
func showProperties(p *amqp.Properties) string {
	var b strings.Builder
	if p.Has&amqp.FlagDeliveryMode != 0 {
		fmt.Fprintf(&b, " mode=%d", p.DeliveryMode)
	}
	if p.Has&amqp.FlagPriority != 0 {
		fmt.Fprintf(&b, " priority=%d", p.Priority)
	}
	if p.Has&amqp.FlagExpiration != 0 {
		fmt.Fprintf(&b, " expiration=%q", p.Expiration)
	}
	if p.Has&amqp.FlagMessageID != 0 {
		fmt.Fprintf(&b, " message-id=%q", p.MessageID)
	}
	if len(p.Headers) > 0 {
		b.WriteString(" " + showTable(p.Headers))
	}
	return b.String()
}

// showTable lists fields by name, with the tags of their wire types.
func showTable(t amqp.Table) string {
	list := make([]string, len(t))
	for i, f := range t {
		list[i] = f.Name + "=" + showValue(f.Value)
	}
	slices.Sort(list)
	return "{" + strings.Join(list, " ") + "}"
}

func showValue(v amqp.Value) string {
	switch v.Kind {
	case amqp.KindString:
		return fmt.Sprintf("%q", v.Str)
	case amqp.KindArray:
		list := make([]string, len(v.Array))
		for i, x := range v.Array {
			list[i] = showValue(x)
		}
		return "[" + strings.Join(list, " ") + "]"
	case amqp.KindTable:
		list := make([]string, len(v.Table)) // in the order of the wire
		for i, f := range v.Table {
			list[i] = f.Name + "=" + showValue(f.Value)
		}
		return "{" + strings.Join(list, " ") + "}"
	}
	return fmt.Sprintf("%c%d", v.Kind, v.Int)
}
