package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/engine"
	"github.com/bartleby-mq/bartleby/internal/fairshare"
)

// The refusals that have one body each. Source: RabbitMQ management API; docs/compat/http-api.md#1.4.
var (
	ErrNotFound = &api.Error{Status: http.StatusNotFound, Kind: "Object Not Found", Reason: "Not Found"}
	ErrLogin    = &api.Error{Status: http.StatusUnauthorized, Kind: "not_authorized", Reason: "Not_Authorized"}
)

// LoginNeededError asks for credentials where none were sent.
type LoginNeededError struct{}

func (*LoginNeededError) Error() string { return "no credentials" }

// MethodNotAllowedError refuses a method on a path that has others.
type MethodNotAllowedError struct{ Allow string }

func (*MethodNotAllowedError) Error() string { return "method not allowed" }

func BadRequest(format string, args ...any) *api.Error {
	return &api.Error{Status: http.StatusBadRequest, Kind: "bad_request", Reason: fmt.Sprintf(format, args...)}
}

func NotAuthorised(format string, args ...any) *api.Error {
	return &api.Error{Status: http.StatusUnauthorized, Kind: "not_authorised", Reason: fmt.Sprintf(format, args...)}
}

// lacking refuses a user who lacks something.
func lacking(missing *amqp.Missing, reason string) *api.Error {
	refused := NotAuthorised("%s", reason)
	refused.Missing = missing
	return refused
}

// Forbidden refuses what no login would make possible.
func Forbidden(format string, args ...any) *api.Error {
	return &api.Error{Status: http.StatusForbidden, Kind: "forbidden", Reason: fmt.Sprintf(format, args...)}
}

// NotFound refuses an action on something that does not exist: vhost, queue, exchange.
func NotFound(what string) *api.Error {
	return &api.Error{Status: http.StatusNotFound, Kind: "not_found", Reason: what + "_not_found"}
}

// Refusal is the answer to an error of any kind: a refusal in the words of this API, one in the words of the
// protocol, or a fault.
func Refusal(err error) Answer {
	var login *LoginNeededError
	if errors.As(err, &login) {
		header := http.Header{"Www-Authenticate": {`Basic realm="RabbitMQ Management"`}}
		return Answer{Status: http.StatusUnauthorized, Header: header}
	}
	var method *MethodNotAllowedError
	if errors.As(err, &method) {
		refused := &api.Error{Status: http.StatusMethodNotAllowed, Kind: "method_not_allowed", Reason: "Method Not Allowed"}
		return Answer{Status: refused.Status, Body: refused, Header: http.Header{"Allow": {method.Allow}}}
	}
	if errors.Is(err, fairshare.ErrTooManyTasks) {
		refused := &api.Error{Status: http.StatusServiceUnavailable, Kind: "service_unavailable", Reason: fmt.Sprintf(
			"%d of your searches, scans or large requests are running: retry when one of them has finished", fairshare.UserTasks)}
		return Answer{Status: refused.Status, Body: refused, Header: http.Header{"Retry-After": {"1"}}}
	}
	if errors.Is(err, ErrNoMemory) {
		refused := &api.Error{Status: http.StatusServiceUnavailable, Kind: "service_unavailable", Reason: ErrNoMemory.Error() + ": retry when some have finished"}
		return Answer{Status: refused.Status, Body: refused, Header: http.Header{"Retry-After": {"1"}}}
	}
	var refused *api.Error
	var denied *authz.Denied
	switch {
	case errors.As(err, &refused):
	case errors.As(err, &denied):
		refused = lacking(denied.Missing, denied.Reason)
	default:
		refused = translate(err)
	}
	if reason := WithHint(Shorten(refused.Reason)); reason != refused.Reason {
		refused = &api.Error{Status: refused.Status, Kind: refused.Kind, Reason: reason, Missing: refused.Missing}
	}
	return Answer{Status: refused.Status, Body: refused}
}

// Shorten bounds the length of a reason, which may quote the request.
func Shorten(reason string) string {
	if len(reason) <= ReasonBytesMax {
		return reason
	}
	return strings.ToValidUTF8(reason[:ReasonBytesMax], "") + "…"
}

// WithHint adds patternHint where it is needed.
func WithHint(reason string) string {
	if !strings.Contains(reason, "error parsing regexp: ") || strings.Contains(reason, patternHint) {
		return reason
	}
	return strings.TrimRight(reason, "\n") + patternHint
}

// patternHint is said of regular expressions that are none here, most of which are some in RabbitMQ.
const patternHint = "; regular expressions have the syntax of RE2, without lookaheads, lookbehinds and back references"

// translate puts a refusal of the engine, or a fault, into the words of this API.
// Source: RabbitMQ management API; docs/compat/http-api.md#1.3, #1.4.
func translate(err error) *api.Error {
	var r *amqp.Error
	if !errors.As(err, &r) {
		if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
			return &api.Error{Status: http.StatusServiceUnavailable, Kind: "service_unavailable",
				Reason: "the virtual host did not respond in time; is there an alarm?"}
		}
		if errors.Is(err, engine.ErrNoSpace) {
			return &api.Error{Status: http.StatusServiceUnavailable, Kind: "service_unavailable", Reason: err.Error()}
		}
		return &api.Error{Status: http.StatusInternalServerError, Kind: "internal_server_error", Reason: err.Error()}
	}
	if r.Later {
		return &api.Error{Status: http.StatusServiceUnavailable, Kind: "service_unavailable", Reason: r.Reason()}
	}
	switch r.Code {
	case amqp.CodeNotFound:
		return ErrNotFound
	case amqp.CodeAccessRefused, amqp.CodeNotAllowed:
		return lacking(r.Missing, authz.Refused(r))
	case amqp.CodeNotImplemented:
		return BadRequest("%s is not supported", r.Text)
	case amqp.CodeInternalError, amqp.CodeConnectionForced:
		return &api.Error{Status: http.StatusInternalServerError, Kind: "internal_server_error", Reason: r.Text}
	}
	return BadRequest("%s", r.Text)
}

// AsBadRequest is translate for refusals that have no counterpart in the protocol: the reason does not begin with the
// name of a reply code, and what is missing is a mistake in the request.
func AsBadRequest(err error) error {
	var r *amqp.Error
	if !errors.As(err, &r) || r.Later || r.Code != amqp.CodePreconditionFailed && r.Code != amqp.CodeNotFound {
		return err
	}
	return BadRequest("%s", r.Reason())
}
