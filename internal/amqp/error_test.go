package amqp

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestErrorText(t *testing.T) {
	t.Parallel() // If it fails, clients that match reply texts no longer recognise ours.
	err := NotFound("no queue '%s' in vhost '%s'", "q", "/")
	if err.Code != 404 || err.Text != "NOT_FOUND - no queue 'q' in vhost '/'" {
		t.Errorf("refusal %d %q", err.Code, err.Text)
	}
	if got, want := err.Error(), "404 NOT_FOUND - no queue 'q' in vhost '/'"; got != want {
		t.Errorf("error %q, want %q", got, want)
	}
}

func TestErrorTextCut(t *testing.T) {
	t.Parallel() // If it fails, a long reply text breaks the frame, or a client that expects UTF-8.
	const name = "NOT_FOUND - "
	for _, c := range []struct{ explanation, want string }{
		{strings.Repeat("x", 255-len(name)), name + strings.Repeat("x", 255-len(name))},
		{strings.Repeat("x", 256-len(name)), name + strings.Repeat("x", 252-len(name)) + "..."},
		{strings.Repeat("x", 251-len(name)) + "é and more", name + strings.Repeat("x", 251-len(name)) + "..."},
		{"no exchange '\xff\xfe'", name + "no exchange '\uFFFD'"},
		{strings.Repeat("x", 250-len(name)) + "é and more", name + strings.Repeat("x", 250-len(name)) + "é..."},
	} {
		if got := NotFound("%s", c.explanation).Text; got != c.want || len(got) > ReplyTextMax || !utf8.ValidString(got) {
			t.Errorf("text %q, want %q", got, c.want)
		}
	}
}

func TestErrorKinds(t *testing.T) {
	t.Parallel() // If it fails, a channel error drops the whole connection, or a fatal one leaves it open.
	type maker = func(string, ...any) *Error
	for _, c := range []struct {
		make       maker
		code       uint16
		name       string
		connection bool
	}{
		{ContentTooLarge, 311, "CONTENT_TOO_LARGE", false},
		{ConnectionForced, 320, "CONNECTION_FORCED", true},
		{AccessRefused, 403, "ACCESS_REFUSED", false},
		{NotFound, 404, "NOT_FOUND", false},
		{ResourceLocked, 405, "RESOURCE_LOCKED", false},
		{PreconditionFailed, 406, "PRECONDITION_FAILED", false},
		{FrameError, 501, "FRAME_ERROR", true},
		{SyntaxError, 502, "SYNTAX_ERROR", true},
		{CommandInvalid, 503, "COMMAND_INVALID", true},
		{ChannelError, 504, "CHANNEL_ERROR", true},
		{UnexpectedFrame, 505, "UNEXPECTED_FRAME", true},
		{ResourceError, 506, "RESOURCE_ERROR", true},
		{NotAllowed, 530, "NOT_ALLOWED", true},
		{NotImplemented, 540, "NOT_IMPLEMENTED", true},
		{InternalError, 541, "INTERNAL_ERROR", true},
	} {
		err := c.make("because")
		if err.Code != c.code || err.Text != c.name+" - because" || err.ClosesConnection() != c.connection {
			t.Errorf("%d: %v, closes connection %v", c.code, err, err.ClosesConnection())
		}
	}
}

func TestErrorWithMethod(t *testing.T) {
	t.Parallel() // If it fails, a close blames the wrong method, or a shared refusal changes under another reader.
	plain := NotFound("x")
	blamed := plain.WithMethod(60, 40)
	if blamed.ClassID != 60 || blamed.MethodID != 40 || blamed.Text != plain.Text || plain.ClassID != 0 {
		t.Errorf("blamed %+v, plain %+v", blamed, plain)
	}
}

func TestValidName(t *testing.T) {
	t.Parallel() // If it fails, names that no client can send or show come into being.
	for name, want := range map[string]bool{
		"": true, "q": true, "очередь": true, "\xff": false, "\xed\xa0\x80": false,
		strings.Repeat("n", 255): true, strings.Repeat("n", 256): false,
	} {
		if got := ValidName(name); got != want {
			t.Errorf("%q: %v", name, got)
		}
	}
}
