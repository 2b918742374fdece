package wire

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/amqp"
)

// ProtocolHeader is what a client sends first, and what a server answers to any other header.
const ProtocolHeader = "AMQP\x00\x00\x09\x01"

// Frame types.
const (
	FrameMethod    byte = 1
	FrameHeader    byte = 2
	FrameBody      byte = 3
	FrameHeartbeat byte = 8
)

const (
	// FrameEnd is the last octet of every frame.
	FrameEnd byte = 0xCE

	// FrameOverhead is the octets of a frame beside its payload; a negotiated frame-max includes them.
	FrameOverhead = frameHeaderSize + 1

	// FrameMin is the smallest frame-max that peers may agree on, in octets.
	// Source: AMQP frame-min-size.
	FrameMin = 4096

	// frameHeaderSize is the octets before the payload.
	frameHeaderSize = 7

	// frameFudge is by how many octets a frame may exceed frame-max, for clients that forget the overhead.
	// Source: RabbitMQ, frame size check.
	frameFudge = FrameOverhead
)

// Frame is one frame. Payload is a part of what it was parsed from.
type Frame struct {
	Type    byte
	Channel uint16
	Payload []byte
}

// ParseFrame decodes the frame at the start of b and returns how many octets it takes, 0 if they are not all there yet.
// frameMax is the negotiated maximum in octets; 0 means none. It allocates nothing but errors, which are *amqp.Error
// and end the connection: 501 for a type that does not exist, as soon as its header is there, a frame too large,
// likewise, a wrong end marker, or a heartbeat with a payload; 505 for a heartbeat on a channel.
//
//	0      1         3      7                  7+size
//	| type | channel | size | payload ...      | 0xCE |
func ParseFrame(b []byte, frameMax uint32) (f Frame, n int, err error) {
	if len(b) < frameHeaderSize {
		return Frame{}, 0, nil
	}
	f.Type, f.Channel = b[0], binary.BigEndian.Uint16(b[1:])
	size := binary.BigEndian.Uint32(b[3:])
	if frameMax != 0 && uint64(size)+FrameOverhead > uint64(frameMax)+frameFudge {
		problem := fmt.Sprintf("{frame_too_large,%d,%d}", size, int64(frameMax)-FrameOverhead)
		return Frame{}, 0, frameError(f.Type, nil, problem)
	}
	present := b[frameHeaderSize:]
	whole := uint64(len(present)) > uint64(size)
	if whole {
		f.Payload = present[:size:size]
	}
	switch f.Type {
	case FrameMethod, FrameHeader, FrameBody:
	case FrameHeartbeat:
		if size > 0 {
			return Frame{}, 0, frameError(f.Type, present[:min(uint64(size), uint64(len(present)))], "unknown_frame")
		}
		if f.Channel != 0 {
			return Frame{}, 0, UnexpectedFrame(f)
		}
	default:
		return Frame{}, 0, frameError(f.Type, present[:min(uint64(size), uint64(len(present)))], "unknown_frame")
	}
	if !whole {
		return Frame{}, 0, nil
	}
	if err := CheckEnd(f, present[size]); err != nil {
		return Frame{}, 0, err
	}
	return f, FrameOverhead + int(size), nil
}

// BodyBegun decodes the header of a body frame of which b, that ParseFrame found no fault with, is the beginning. size
// is that of the whole payload, of which f has what is there; ok is false for anything else.
func BodyBegun(b []byte) (f Frame, size int, ok bool) {
	if len(b) < frameHeaderSize || b[0] != FrameBody {
		return Frame{}, 0, false
	}
	f = Frame{Type: FrameBody, Channel: binary.BigEndian.Uint16(b[1:]), Payload: b[frameHeaderSize:]}
	size = int(binary.BigEndian.Uint32(b[3:]))
	return f, size, len(f.Payload) < size
}

// CheckEnd returns the refusal of a frame behind whose payload marker comes, nil for the right one.
func CheckEnd(f Frame, marker byte) error {
	if marker == FrameEnd {
		return nil
	}
	return frameError(f.Type, f.Payload, fmt.Sprintf("{invalid_frame_end_marker,%d}", marker))
}

// UnexpectedFrame returns the refusal, 505, of a frame that is sound but out of place.
// Source: RabbitMQ, frames.
func UnexpectedFrame(f Frame) *amqp.Error {
	return amqp.UnexpectedFrame("type %d, %s", f.Type, snippet(f.Payload))
}

// frameError returns the refusal, 501, of a frame that is not sound; problem is an Erlang term.
// Source: RabbitMQ, frames.
func frameError(frameType byte, payload []byte, problem string) *amqp.Error {
	return amqp.FrameError("type %d, %s: %s", frameType, snippet(payload), problem)
}

// snippet shows the first octets of a payload as RabbitMQ does: an Erlang binary, as text if it is printable.
func snippet(payload []byte) string {
	const shown = 16
	amount := "all"
	if len(payload) > shown {
		amount, payload = "first 16", payload[:shown]
	}
	printable := len(payload) > 0
	numbers := make([]string, len(payload))
	for i, octet := range payload {
		printable = printable && octet >= ' ' && octet <= '~'
		numbers[i] = fmt.Sprint(octet)
	}
	if printable {
		return fmt.Sprintf("%s octets = <<%q>>", amount, payload)
	}
	return fmt.Sprintf("%s octets = <<%s>>", amount, strings.Join(numbers, ","))
}

// beginFrame appends the header of a frame; endFrame fills in the size of what was appended since, and ends it.
func beginFrame(b []byte, frameType byte, channel uint16) (_ []byte, start int) {
	b = append(b, frameType, byte(channel>>8), byte(channel), 0, 0, 0, 0)
	return b, len(b)
}

func endFrame(b []byte, start int) []byte {
	binary.BigEndian.PutUint32(b[start-4:], uint32(len(b)-start))
	return append(b, FrameEnd)
}

// beginMethod appends the header of a method frame and the method's id.
func beginMethod(b []byte, channel uint16, id MethodID) (_ []byte, start int) {
	b, start = beginFrame(b, FrameMethod, channel)
	return binary.BigEndian.AppendUint32(b, uint32(id)), start
}

// AppendMethod appends a whole method frame. A method is never split: who limits frames keeps its arguments short.
func AppendMethod(b []byte, channel uint16, m Method) []byte {
	b, start := beginMethod(b, channel, m.ID())
	return endFrame(m.Append(b), start)
}

// AppendHeartbeat appends a heartbeat frame.
func AppendHeartbeat(b []byte) []byte {
	b, start := beginFrame(b, FrameHeartbeat, 0)
	return endFrame(b, start)
}
