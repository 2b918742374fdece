package wire

import (
	"encoding/binary"
	"fmt"

	"github.com/bartleby-mq/bartleby/internal/amqp"
)

// MethodID names a method: its class id in the high 16 bits, its own in the low. See the ID constants.
type MethodID uint32

// ClassBasic is the only class whose methods carry content.
const ClassBasic = 60

// Class returns the class id.
func (id MethodID) Class() uint16 { return uint16(id >> 16) }

// Method returns the id within the class.
func (id MethodID) Method() uint16 { return uint16(id) }

// HasContent reports whether a content header and body follow the method.
func (id MethodID) HasContent() bool { return methodHasContent(id) }

// String returns a name such as basic.publish, or the two numbers of a method that does not exist.
func (id MethodID) String() string {
	if name := methodName(id); name != "" {
		return name
	}
	return fmt.Sprintf("%d.%d", id.Class(), id.Method())
}

// Method is a method with its arguments; pointers to the structs named after methods are.
type Method interface {
	ID() MethodID
	Append(b []byte) []byte // appends the arguments alone
}

// parser is a Method that can be filled.
type parser interface {
	Method
	Parse(r *Reader)
}

// CutMethod splits a method frame's payload into id and arguments. Errors are *amqp.Error: 501 when even the id is cut
// short. The id may be of no known method.
func CutMethod(payload []byte) (id MethodID, arguments []byte, err error) {
	if len(payload) < 4 {
		return 0, nil, frameError(FrameMethod, payload, "unknown_frame")
	}
	return MethodID(binary.BigEndian.Uint32(payload)), payload[4:], nil
}

// ParseMethod decodes a method frame's payload. The method owns its memory. Errors are *amqp.Error that name the
// method: 503 for one that does not exist, 501 for a short string that is not UTF-8, 502 for other malformed
// arguments or octets after them; and that of CutMethod.
func ParseMethod(payload []byte) (Method, error) {
	id, arguments, err := CutMethod(payload)
	if err != nil {
		return nil, err
	}
	m := newMethod(id)
	if m == nil {
		return nil, amqp.CommandInvalid("unknown method %v", id).WithMethod(id.Class(), id.Method())
	}
	r := NewReader(arguments)
	m.Parse(&r)
	if err := r.End(); err != nil {
		return nil, blame(id, err)
	}
	return m, nil
}

// blame names the method in a refusal.
func blame(id MethodID, err error) error {
	if refusal, ok := err.(*amqp.Error); ok {
		return refusal.WithMethod(id.Class(), id.Method())
	}
	return err
}
