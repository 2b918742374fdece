package vhost

import (
	"math"
	"slices"
	"strconv"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/deadline"
	"github.com/bartleby-mq/bartleby/internal/settings"
)

// The headers by which a publisher asks for a later delivery: through a delayed exchange, in ms, and through any, in ms
// since the Unix epoch. Source: docs/compat/delayed-exchange.md#2; RabbitMQ 4.4 quorum-queues, x-opt-delivery-time.
const (
	DelayHeader        = "x-delay"
	deliveryTimeHeader = "x-opt-delivery-time"
)

// delayOf reads how long a delayed exchange has to keep a message, in ms; 0 if not at all. An error is for the
// publisher, if there is such an exchange on the way: a message that was meant for later must not come now.
// Source: docs/compat/delayed-exchange.md#2.
func delayOf(headers []byte) (ms int64, err *amqp.Error) {
	a, ok, bad := amqp.LookupField(headers, DelayHeader)
	if bad != nil || !ok {
		return 0, nil
	}
	invalid := amqp.PreconditionFailed("invalid %s '%s'", DelayHeader, settings.Show(a))
	switch f, isFloat := a.Float(); {
	case isFloat && !(math.Abs(f) < 1<<63):
		return 0, invalid
	case isFloat:
		ms = int64(f)
	case a.Kind == amqp.KindString || a.Kind == amqp.KindBinary:
		n, err := strconv.ParseInt(a.Str, 10, 64)
		if err != nil {
			return 0, invalid
		}
		ms = n
	default:
		ms, _ = a.Integer()
	}
	if ms > settings.WaitMax {
		return 0, amqp.PreconditionFailed("invalid %s '%s': the maximum is %d ms", DelayHeader, settings.Show(a), int64(settings.WaitMax))
	}
	return max(ms, 0), nil
}

// deliveryTimeOf reads when a message may be delivered at the earliest, by the wall clock; 0 if at once. In a timestamp
// it is in seconds.
func deliveryTimeOf(headers []byte, wall deadline.Instant) (deadline.Instant, *amqp.Error) {
	a, ok, bad := amqp.LookupField(headers, deliveryTimeHeader)
	if bad != nil || !ok {
		return 0, nil
	}
	n, ok := a.Integer()
	switch {
	case a.Kind == amqp.KindTimestamp:
		n, ok = a.Int, a.Int <= math.MaxInt64/1000
		n *= 1000
	case a.Kind == amqp.KindString:
		m, err := strconv.ParseInt(a.Str, 10, 64)
		n, ok = m, err == nil
	}
	at := deadline.Instant(n)
	switch {
	case !ok:
		return 0, amqp.PreconditionFailed("invalid %s '%s'", deliveryTimeHeader, settings.Show(a))
	case at > wall+settings.WaitMax:
		return 0, amqp.PreconditionFailed("invalid %s '%s': the maximum is %d ms ahead", deliveryTimeHeader, settings.Show(a), int64(settings.WaitMax))
	}
	return max(at, 0), nil
}

// askTime reads from its headers when m shall be delivered, and what it is called while it waits.
func (m *message) askTime(s *Stamp, headers []byte) *amqp.Error {
	m.delay, m.delayRefusal = delayOf(headers)
	if name, err := keyOf(headers); m.delay > 0 && err != nil {
		m.delayRefusal = err
	} else {
		m.name = name
	}
	at, err := deliveryTimeOf(headers, s.Wall)
	if at > s.Wall {
		m.until = s.at(at)
	}
	return err
}

// applyExpiration reads what a message that has waited asks of the queues that it comes to.
func (m *message) applyExpiration(s *Stamp) {
	scan := m.scan()
	if scan.Expiration != nil {
		if ttl, err := settings.ParseExpiration(string(scan.Expiration)); err == nil {
			m.ttl = ttl
		}
	}
	if scan.Headers != nil {
		if at, err := deliveryTimeOf(scan.Headers, s.Wall); err == nil && at > s.Wall {
			m.until = s.at(at)
		}
	}
}

// early reports whether a delayed exchange keeps m.
func (m *message) early() bool { return m.delay > 0 || m.delayRefusal != nil }

// negated is properties whose header says how long a message was kept: so no other exchange keeps it.
func negated(properties []byte, delay int64) []byte {
	p, err := amqp.ParseProperties(properties)
	if err != nil {
		panic(err) // they were looked through when the message came
	}
	p.Headers = slices.Clone(p.Headers)
	for i := range p.Headers {
		if p.Headers[i].Name == DelayHeader {
			p.Headers[i].Value = amqp.Int64(-delay)
		}
	}
	return amqp.AppendProperties(nil, &p)
}
