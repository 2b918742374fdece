package oracle

import (
	"slices"
	"strconv"

	"github.com/bartleby-mq/bartleby/internal/amqp"
)

// ttlMax is the longest TTL, ms: ten years. Source: docs/compat/expiry-and-limits.md#1.
const ttlMax = 315_360_000_000

// publish decides basic.publish. Source: AMQP basic.publish; RabbitMQ confirms; docs/compat/expiry-and-limits.md#7.
func (v *VHost) publish(ch *channel, c *Command) uint16 {
	x := v.exchanges[c.Exchange]
	switch {
	case x == nil:
		return amqp.CodeNotFound
	case x.internal:
		return amqp.CodeAccessRefused
	}
	m := &message{exchange: c.Exchange, keys: []string{c.Key}, properties: c.Properties, body: c.Body}
	if m.properties.Has&amqp.FlagExpiration != 0 {
		if n, err := strconv.ParseInt(m.properties.Expiration, 10, 64); err != nil || n < 0 || n > ttlMax {
			return amqp.CodePreconditionFailed
		}
	}
	if !m.senderSelected() {
		return amqp.CodePreconditionFailed
	}
	if ch.confirms {
		ch.published++
	}
	verdict := "confirm"
	targets := v.route(c.Exchange, m.keys, m.properties.Headers)
	for _, q := range targets {
		if q.refuses(m) {
			verdict = "refuse"
			v.dieAtTheDoor(q, m)
		} else {
			v.enqueue(q, m)
		}
	}
	if len(targets) == 0 && c.Mandatory {
		v.answer(ch.id, Confirmed, "return %s", Message(c.Exchange, c.Key, c.Body, false, &m.properties))
	}
	if ch.confirms {
		v.answer(ch.id, Confirmed, "%s %d", verdict, ch.published)
	}
	return 0
}

// senderSelected takes CC and BCC from the headers: both are further routing keys, and BCC is taken out. It reports
// whether both are arrays. Source: RabbitMQ sender-selected; docs/compat/dead-lettering.md#4.
func (m *message) senderSelected() bool {
	for _, name := range []string{"CC", "BCC"} {
		if name == "BCC" {
			m.public = len(m.keys)
		}
		list, ok := m.properties.Headers.Get(name)
		if ok && list.Kind != amqp.KindArray {
			return false
		}
		for _, k := range list.Array {
			if k.Kind == amqp.KindString {
				m.keys = append(m.keys, k.Str)
			}
		}
	}
	headers := slices.Clone(m.properties.Headers)
	m.properties.Headers = slices.DeleteFunc(headers, func(f amqp.Field) bool { return f.Name == "BCC" })
	return true
}
