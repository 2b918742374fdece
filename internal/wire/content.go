package wire

import (
	"encoding/binary"

	"github.com/bartleby-mq/bartleby/internal/amqp"
)

// contentHeaderSize is the octets of a content header before the properties.
const contentHeaderSize = 12

// ContentHeader announces a body. Properties, for amqp.ParseProperties or PropertyScan, is a part of what it was parsed
// from and not yet validated.
type ContentHeader struct {
	BodySize   uint64 // octets of all body frames together; with 0 there are none
	Properties []byte
}

// ParseContentHeader decodes a header frame's payload without allocating. Errors are *amqp.Error: 501 when it is cut
// short, 505 for another class than basic, or a weight.
func ParseContentHeader(payload []byte) (ContentHeader, error) {
	if len(payload) < contentHeaderSize {
		return ContentHeader{}, frameError(FrameHeader, payload, "unknown_frame")
	}
	if class := binary.BigEndian.Uint16(payload); class != ClassBasic {
		return ContentHeader{}, amqp.UnexpectedFrame(
			"expected content header for class %d, got one for class %d instead", ClassBasic, class)
	}
	if weight := binary.BigEndian.Uint16(payload[2:]); weight != 0 {
		return ContentHeader{}, amqp.UnexpectedFrame(
			"expected content header for class %d, got one of weight %d instead", ClassBasic, weight)
	}
	return ContentHeader{
		BodySize:   binary.BigEndian.Uint64(payload[4:]),
		Properties: payload[contentHeaderSize:],
	}, nil
}

// AppendContentHeader appends a header frame with properties already encoded. It is never split.
func AppendContentHeader(b []byte, channel uint16, bodySize uint64, properties []byte) []byte {
	b, start := beginFrame(b, FrameHeader, channel)
	b = append(b, 0, ClassBasic, 0, 0)
	b = binary.BigEndian.AppendUint64(b, bodySize)
	b = append(b, properties...)
	return endFrame(b, start)
}

// PropertiesMax is how many octets of properties fit in a header frame of at most frameMax octets, 0 for no limit.
func PropertiesMax(frameMax uint32) int {
	if frameMax == 0 {
		return 0
	}
	return max(int(frameMax)-FrameOverhead-contentHeaderSize, 1)
}

// AppendBody appends body in frames of at most frameMax octets each, 0 for no limit; none if it is empty.
func AppendBody(b []byte, channel uint16, body []byte, frameMax uint32) []byte {
	most := payloadMax(len(body), frameMax)
	for len(body) > 0 {
		n := min(len(body), most)
		var start int
		b, start = beginFrame(b, FrameBody, channel)
		b = endFrame(append(b, body[:n]...), start)
		body = body[n:]
	}
	return b
}

// BodyPieces lists the frames of AppendBody as pieces, in order, that lie in body, or in memory of their own: what is
// around the payloads.
func BodyPieces(channel uint16, body []byte, frameMax uint32) (pieces [][]byte) {
	most := payloadMax(len(body), frameMax)
	around := make([]byte, 0, FrameOverhead*bodyFrames(len(body), frameMax))
	for len(body) > 0 {
		n := min(len(body), most)
		from := len(around)
		if len(pieces) > 0 {
			from-- // the end of the frame before
		}
		start := 0
		around, start = beginFrame(around, FrameBody, channel)
		binary.BigEndian.PutUint32(around[start-4:], uint32(n))
		pieces = append(pieces, around[from:start:start], body[:n:n])
		around = append(around, FrameEnd)
		body = body[n:]
	}
	if len(pieces) > 0 {
		pieces = append(pieces, around[len(around)-1:])
	}
	return pieces
}

// ContentSize returns how many octets AppendContentHeader and AppendBody append together.
func ContentSize(properties, bodySize int, frameMax uint32) int {
	size := FrameOverhead + contentHeaderSize + properties + bodySize
	return size + FrameOverhead*bodyFrames(bodySize, frameMax)
}

// payloadMax is how many octets of a body of that size one frame of at most frameMax octets takes, 0 for no limit.
func payloadMax(bodySize int, frameMax uint32) int {
	if frameMax == 0 {
		return bodySize
	}
	return max(int(frameMax)-FrameOverhead, 1)
}

// bodyFrames is how many frames a body of that size takes.
func bodyFrames(bodySize int, frameMax uint32) int {
	most := max(payloadMax(bodySize, frameMax), 1)
	return (bodySize + most - 1) / most
}
