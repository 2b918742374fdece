package amqp

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// The reply codes.
// Source: AMQP constants; RabbitMQ, errors.
const (
	CodeReplySuccess       uint16 = 200
	CodeContentTooLarge    uint16 = 311
	CodeNoRoute            uint16 = 312
	CodeNoConsumers        uint16 = 313
	CodeConnectionForced   uint16 = 320
	CodeInvalidPath        uint16 = 402
	CodeAccessRefused      uint16 = 403
	CodeNotFound           uint16 = 404
	CodeResourceLocked     uint16 = 405
	CodePreconditionFailed uint16 = 406
	CodeFrameError         uint16 = 501
	CodeSyntaxError        uint16 = 502
	CodeCommandInvalid     uint16 = 503
	CodeChannelError       uint16 = 504
	CodeUnexpectedFrame    uint16 = 505
	CodeResourceError      uint16 = 506
	CodeNotAllowed         uint16 = 530
	CodeNotImplemented     uint16 = 540
	CodeInternalError      uint16 = 541
)

// CodeName returns the name of a reply code as it begins a reply text, such as NOT_FOUND. A code that does not exist
// is named as the internal error that it is.
func CodeName(code uint16) string {
	switch code {
	case CodeReplySuccess:
		return "REPLY_SUCCESS"
	case CodeContentTooLarge:
		return "CONTENT_TOO_LARGE"
	case CodeNoRoute:
		return "NO_ROUTE"
	case CodeNoConsumers:
		return "NO_CONSUMERS"
	case CodeConnectionForced:
		return "CONNECTION_FORCED"
	case CodeInvalidPath:
		return "INVALID_PATH"
	case CodeAccessRefused:
		return "ACCESS_REFUSED"
	case CodeNotFound:
		return "NOT_FOUND"
	case CodeResourceLocked:
		return "RESOURCE_LOCKED"
	case CodePreconditionFailed:
		return "PRECONDITION_FAILED"
	case CodeFrameError:
		return "FRAME_ERROR"
	case CodeSyntaxError:
		return "SYNTAX_ERROR"
	case CodeCommandInvalid:
		return "COMMAND_INVALID"
	case CodeChannelError:
		return "CHANNEL_ERROR"
	case CodeUnexpectedFrame:
		return "UNEXPECTED_FRAME"
	case CodeResourceError:
		return "RESOURCE_ERROR"
	case CodeNotAllowed:
		return "NOT_ALLOWED"
	case CodeNotImplemented:
		return "NOT_IMPLEMENTED"
	}
	return "INTERNAL_ERROR"
}

// Error is a refusal to a client: what channel.close or connection.close will say. Doors to other protocols map the
// same value. An Error is not changed once made.
type Error struct {
	Code     uint16 // one of the Code constants
	Text     string // the reply text, NAME and explanation, at most ReplyTextMax octets
	ClassID  uint16 // with MethodID the method that failed; 0, 0 when none is to blame
	MethodID uint16
	Later    bool // the node lacks something for now, such as space on its disk: nothing is wrong with the request
	// Missing is what the user lacks; nil if that is not why, or not known. It is not in the reply.
	Missing *Missing
}

// Missing is a permission, a tag or the like that a user lacks, for programs: a text is for people.
type Missing struct {
	// queue, exchange, topic: a Right on Name; tag; vhost: any permission in it; connection and owner: to be the user
	// that it belongs to; died, source, notes: to read the queue of a death, of a job, or all queues
	What     string `json:"what"`
	Right    string `json:"right,omitempty"`    // configure, write, read
	Name     string `json:"name,omitempty"`     // of the queue or the exchange; the routing key
	Exchange string `json:"exchange,omitempty"` // of the routing key
	Tag      string `json:"tag,omitempty"`
	User     string `json:"user,omitempty"`  // the owner
	VHost    string `json:"vhost,omitempty"` // itself, or that of the notes
	ID       string `json:"id,omitempty"`    // of the job
}

// Errorf makes a refusal whose text is the code's name, " - " and the explanation. An explanation that makes the text
// exceed ReplyTextMax octets is cut before the 253rd octet, never inside a character, and "..." appended. Octets that
// are not UTF-8, such as a name from a publish, are replaced, because many clients fail on such a text.
// Source: RabbitMQ, errors.
func Errorf(code uint16, format string, args ...any) *Error {
	text := CodeName(code) + " - " + strings.ToValidUTF8(fmt.Sprintf(format, args...), string(utf8.RuneError))
	if len(text) > ReplyTextMax {
		end := ReplyTextMax - len("...")
		for end > 0 && !utf8.RuneStart(text[end]) {
			end--
		}
		text = text[:end] + "..."
	}
	return &Error{Code: code, Text: text}
}

// Error returns code and reply text.
func (e *Error) Error() string { return fmt.Sprintf("%d %s", e.Code, e.Text) }

// Reason returns the reply text without the name of its code.
func (e *Error) Reason() string { return strings.TrimPrefix(e.Text, CodeName(e.Code)+" - ") }

// ClosesConnection reports whether the refusal ends the connection; otherwise it ends the channel, unless there is
// none: on channel 0 every error ends the connection.
// Source: RabbitMQ, errors.
func (e *Error) ClosesConnection() bool {
	switch e.Code {
	case CodeContentTooLarge, CodeNoRoute, CodeNoConsumers,
		CodeAccessRefused, CodeNotFound, CodeResourceLocked, CodePreconditionFailed:
		return false
	}
	return true
}

// WithMethod returns a copy of e that blames the method with these ids.
func (e *Error) WithMethod(classID, methodID uint16) *Error {
	c := *e
	c.ClassID, c.MethodID = classID, methodID
	return &c
}

// ContentTooLarge refuses with 311, closing the channel.
func ContentTooLarge(format string, args ...any) *Error {
	return Errorf(CodeContentTooLarge, format, args...)
}

// ConnectionForced ends a connection with 320 because an operator or a shutdown wants it.
func ConnectionForced(format string, args ...any) *Error {
	return Errorf(CodeConnectionForced, format, args...)
}

// AccessRefused refuses with 403, closing the channel, or the connection at login.
func AccessRefused(format string, args ...any) *Error {
	return Errorf(CodeAccessRefused, format, args...)
}

// NotFound refuses with 404, closing the channel.
func NotFound(format string, args ...any) *Error { return Errorf(CodeNotFound, format, args...) }

// ResourceLocked refuses with 405, closing the channel.
func ResourceLocked(format string, args ...any) *Error {
	return Errorf(CodeResourceLocked, format, args...)
}

// PreconditionFailed refuses with 406, closing the channel.
func PreconditionFailed(format string, args ...any) *Error {
	return Errorf(CodePreconditionFailed, format, args...)
}

// FrameError refuses with 501, closing the connection.
func FrameError(format string, args ...any) *Error { return Errorf(CodeFrameError, format, args...) }

// SyntaxError refuses with 502, closing the connection.
func SyntaxError(format string, args ...any) *Error { return Errorf(CodeSyntaxError, format, args...) }

// CommandInvalid refuses with 503, closing the connection.
func CommandInvalid(format string, args ...any) *Error {
	return Errorf(CodeCommandInvalid, format, args...)
}

// ChannelError refuses with 504, closing the connection.
func ChannelError(format string, args ...any) *Error {
	return Errorf(CodeChannelError, format, args...)
}

// UnexpectedFrame refuses with 505, closing the connection.
func UnexpectedFrame(format string, args ...any) *Error {
	return Errorf(CodeUnexpectedFrame, format, args...)
}

// ResourceError refuses with 506, closing the connection.
func ResourceError(format string, args ...any) *Error {
	return Errorf(CodeResourceError, format, args...)
}

// NotAllowed refuses with 530, closing the connection.
func NotAllowed(format string, args ...any) *Error { return Errorf(CodeNotAllowed, format, args...) }

// NotImplemented refuses with 540, closing the connection.
func NotImplemented(format string, args ...any) *Error {
	return Errorf(CodeNotImplemented, format, args...)
}

// InternalError refuses with 541, closing the connection.
func InternalError(format string, args ...any) *Error {
	return Errorf(CodeInternalError, format, args...)
}

// ValidName reports whether name may travel as a name in a short string: valid UTF-8 of at most ShortStringMax octets.
// Source: AMQP shortstr; RabbitMQ, malformed names.
func ValidName(name string) bool { return len(name) <= ShortStringMax && utf8.ValidString(name) }

// malformed is the refusal of octets that cannot be decoded.
func malformed(format string, args ...any) error { return SyntaxError(format, args...) }
