package wire

import (
	"encoding/binary"

	"github.com/bartleby-mq/bartleby/internal/amqp"
)

// PublishView is basic.publish; its slices are parts of what it was parsed from, and may be any octets.
type PublishView struct {
	Exchange   []byte
	RoutingKey []byte
	Mandatory  bool
	Immediate  bool
}

// DeliverView is basic.deliver; its slices are parts of what it was parsed from.
type DeliverView struct {
	ConsumerTag []byte
	DeliveryTag uint64
	Redelivered bool
	Exchange    []byte
	RoutingKey  []byte
}

// ParsePublish decodes the arguments of basic.publish, as CutMethod returns them, without allocating. Errors of this
// and the functions below are *amqp.Error with code 502 that name the method.
func ParsePublish(arguments []byte) (v PublishView, err error) {
	r := NewReader(arguments)
	r.Uint16()
	v.Exchange, v.RoutingKey = r.ShortBytes(), r.ShortBytes()
	v.Mandatory, v.Immediate = r.Bit(), r.Bit()
	return v, end(&r, IDBasicPublish)
}

// ParseDeliver decodes the arguments of basic.deliver without allocating.
func ParseDeliver(arguments []byte) (v DeliverView, err error) {
	r := NewReader(arguments)
	v.ConsumerTag, v.DeliveryTag, v.Redelivered = r.ShortBytes(), r.Uint64(), r.Bit()
	v.Exchange, v.RoutingKey = r.ShortBytes(), r.ShortBytes()
	return v, end(&r, IDBasicDeliver)
}

// ParseAck decodes the arguments of basic.ack without allocating.
func ParseAck(arguments []byte) (m BasicAck, err error) {
	r := NewReader(arguments)
	m.Parse(&r)
	return m, end(&r, IDBasicAck)
}

// ParseNack decodes the arguments of basic.nack without allocating.
func ParseNack(arguments []byte) (m BasicNack, err error) {
	r := NewReader(arguments)
	m.Parse(&r)
	return m, end(&r, IDBasicNack)
}

// ParseReject decodes the arguments of basic.reject without allocating.
func ParseReject(arguments []byte) (m BasicReject, err error) {
	r := NewReader(arguments)
	m.Parse(&r)
	return m, end(&r, IDBasicReject)
}

func end(r *Reader, id MethodID) error {
	if err := r.End(); err != nil {
		return blame(id, err)
	}
	return nil
}

// AppendPublish appends a basic.publish frame; its content is to follow.
func AppendPublish[S string | []byte](b []byte, channel uint16, exchange, routingKey S, mandatory bool) []byte {
	b, start := beginMethod(b, channel, IDBasicPublish)
	b = append(b, 0, 0)
	b = amqp.AppendShortString(b, exchange)
	b = amqp.AppendShortString(b, routingKey)
	return endFrame(append(b, bits(mandatory)), start)
}

// AppendDeliver appends a basic.deliver frame; its content is to follow.
func AppendDeliver(b []byte, channel uint16, consumerTag string, deliveryTag uint64, redelivered bool, exchange, routingKey []byte) []byte {
	b, start := beginMethod(b, channel, IDBasicDeliver)
	b = amqp.AppendShortString(b, consumerTag)
	b = binary.BigEndian.AppendUint64(b, deliveryTag)
	b = append(b, bits(redelivered))
	b = amqp.AppendShortString(b, exchange)
	return endFrame(amqp.AppendShortString(b, routingKey), start)
}

// AppendGetOk appends a basic.get-ok frame; its content is to follow. messageCount is what remains ready.
func AppendGetOk(b []byte, channel uint16, deliveryTag uint64, redelivered bool, exchange, routingKey []byte, messageCount uint32) []byte {
	b, start := beginMethod(b, channel, IDBasicGetOk)
	b = binary.BigEndian.AppendUint64(b, deliveryTag)
	b = append(b, bits(redelivered))
	b = amqp.AppendShortString(b, exchange)
	b = amqp.AppendShortString(b, routingKey)
	return endFrame(binary.BigEndian.AppendUint32(b, messageCount), start)
}

// AppendReturn appends a basic.return frame; its content is to follow.
func AppendReturn(b []byte, channel uint16, code uint16, text string, exchange, routingKey []byte) []byte {
	b, start := beginMethod(b, channel, IDBasicReturn)
	b = binary.BigEndian.AppendUint16(b, code)
	b = amqp.AppendShortString(b, text)
	b = amqp.AppendShortString(b, exchange)
	return endFrame(amqp.AppendShortString(b, routingKey), start)
}

// AppendAck appends a basic.ack frame: a settlement from a consumer, a confirm from the broker.
func AppendAck(b []byte, channel uint16, deliveryTag uint64, multiple bool) []byte {
	b, start := beginMethod(b, channel, IDBasicAck)
	b = binary.BigEndian.AppendUint64(b, deliveryTag)
	return endFrame(append(b, bits(multiple)), start)
}

// AppendNack appends a basic.nack frame: a settlement from a consumer, a refused confirm from the broker, which leaves
// requeue false.
func AppendNack(b []byte, channel uint16, deliveryTag uint64, multiple, requeue bool) []byte {
	b, start := beginMethod(b, channel, IDBasicNack)
	b = binary.BigEndian.AppendUint64(b, deliveryTag)
	return endFrame(append(b, bits(multiple, requeue)), start)
}

// AppendReject appends a basic.reject frame.
func AppendReject(b []byte, channel uint16, deliveryTag uint64, requeue bool) []byte {
	b, start := beginMethod(b, channel, IDBasicReject)
	b = binary.BigEndian.AppendUint64(b, deliveryTag)
	return endFrame(append(b, bits(requeue)), start)
}
