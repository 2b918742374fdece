package management

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
	"github.com/bartleby-mq/bartleby/internal/turns"
)

// The refusals that have one body each. Source: RabbitMQ management API; reference http-api 1.4.
var (
	errNotFound = &api.Error{Status: http.StatusNotFound, Kind: "Object Not Found", Reason: "Not Found"}
	errLogin    = &api.Error{Status: http.StatusUnauthorized, Kind: "not_authorized", Reason: "Not_Authorized"}
)

// loginNeeded asks for credentials where none were sent.
type loginNeeded struct{}

func (*loginNeeded) Error() string { return "no credentials" }

// methodNotAllowed refuses a method on a path that has others.
type methodNotAllowed struct{ allow string }

func (*methodNotAllowed) Error() string { return "method not allowed" }

func badRequest(format string, args ...any) *api.Error {
	return &api.Error{Status: http.StatusBadRequest, Kind: "bad_request", Reason: fmt.Sprintf(format, args...)}
}

func notAuthorised(format string, args ...any) *api.Error {
	return &api.Error{Status: http.StatusUnauthorized, Kind: "not_authorised", Reason: fmt.Sprintf(format, args...)}
}

// forbidden refuses what no login would make possible.
func forbidden(format string, args ...any) *api.Error {
	return &api.Error{Status: http.StatusForbidden, Kind: "forbidden", Reason: fmt.Sprintf(format, args...)}
}

// notFound refuses an action on something that does not exist: vhost, queue, exchange.
func notFound(what string) *api.Error {
	return &api.Error{Status: http.StatusNotFound, Kind: "not_found", Reason: what + "_not_found"}
}

// refusal is the answer to an error of any kind: a refusal in the words of this API, one in the words of the
// protocol, or a fault.
func refusal(err error) answer {
	var login *loginNeeded
	if errors.As(err, &login) {
		header := http.Header{"Www-Authenticate": {`Basic realm="RabbitMQ Management"`}}
		return answer{status: http.StatusUnauthorized, header: header}
	}
	var method *methodNotAllowed
	if errors.As(err, &method) {
		refused := &api.Error{Status: http.StatusMethodNotAllowed, Kind: "method_not_allowed", Reason: "Method Not Allowed"}
		return answer{status: refused.Status, body: refused, header: http.Header{"Allow": {method.allow}}}
	}
	if errors.Is(err, turns.ErrPlaces) {
		refused := &api.Error{Status: http.StatusServiceUnavailable, Kind: "service_unavailable", Reason: fmt.Sprintf(
			"%d of your searches or scans are running: retry when one of them has finished", turns.Places)}
		return answer{status: refused.Status, body: refused, header: http.Header{"Retry-After": {"1"}}}
	}
	if errors.Is(err, errNoMemory) {
		refused := &api.Error{Status: http.StatusServiceUnavailable, Kind: "service_unavailable", Reason: errNoMemory.Error() + ": retry when some have finished"}
		return answer{status: refused.Status, body: refused, header: http.Header{"Retry-After": {"1"}}}
	}
	var refused *api.Error
	var denied *authz.Denied
	switch {
	case errors.As(err, &refused):
	case errors.As(err, &denied):
		refused = notAuthorised("%s", denied.Reason)
	default:
		refused = translate(err)
	}
	if reason := withHint(shortened(refused.Reason)); reason != refused.Reason {
		refused = &api.Error{Status: refused.Status, Kind: refused.Kind, Reason: reason}
	}
	return answer{status: refused.Status, body: refused}
}

// shortened is a reason of a length that somebody reads: it may quote what was sent.
func shortened(reason string) string {
	if len(reason) <= reasonBytesMax {
		return reason
	}
	return strings.ToValidUTF8(reason[:reasonBytesMax], "") + "…"
}

// withHint adds patternHint where it is needed.
func withHint(reason string) string {
	if !strings.Contains(reason, "error parsing regexp: ") || strings.Contains(reason, patternHint) {
		return reason
	}
	return strings.TrimRight(reason, "\n") + patternHint
}

// patternHint is said of regular expressions that are none here, most of which are some in RabbitMQ.
const patternHint = "; regular expressions have the syntax of RE2, without lookaheads, lookbehinds and back references"

// translate puts a refusal of the engine, or a fault, into the words of this API.
// Source: RabbitMQ management API; reference http-api 1.3, 1.4.
func translate(err error) *api.Error {
	var r *amqp.Error
	if !errors.As(err, &r) {
		if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
			return &api.Error{Status: http.StatusServiceUnavailable, Kind: "service_unavailable",
				Reason: "the virtual host did not respond in time; is there an alarm?"}
		}
		if errors.Is(err, engine.ErrNoRoom) {
			return &api.Error{Status: http.StatusServiceUnavailable, Kind: "service_unavailable", Reason: err.Error()}
		}
		return &api.Error{Status: http.StatusInternalServerError, Kind: "internal_server_error", Reason: err.Error()}
	}
	if r.Later {
		return &api.Error{Status: http.StatusServiceUnavailable, Kind: "service_unavailable", Reason: withoutCode(r)}
	}
	switch r.Code {
	case amqp.CodeNotFound:
		return errNotFound
	case amqp.CodeAccessRefused, amqp.CodeNotAllowed:
		return notAuthorised("Access refused.")
	case amqp.CodeNotImplemented:
		return badRequest("%s is not supported", r.Text)
	case amqp.CodeInternalError, amqp.CodeConnectionForced:
		return &api.Error{Status: http.StatusInternalServerError, Kind: "internal_server_error", Reason: r.Text}
	}
	return badRequest("%s", r.Text)
}

// plainly is translate for refusals that have no counterpart in the protocol: the reason does not begin with the
// name of a reply code, and what is missing is a mistake in the request.
func plainly(err error) error {
	var r *amqp.Error
	if !errors.As(err, &r) || r.Later || r.Code != amqp.CodePreconditionFailed && r.Code != amqp.CodeNotFound {
		return err
	}
	return badRequest("%s", withoutCode(r))
}

// withoutCode is the text of a refusal without the name of its reply code.
func withoutCode(r *amqp.Error) string {
	return strings.TrimPrefix(r.Text, amqp.CodeName(r.Code)+" - ")
}
