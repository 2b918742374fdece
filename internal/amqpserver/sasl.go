package amqpserver

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/wire"
)

// mechanisms lists those offered to the client, the preferred one first. EXTERNAL is for those who use TLS: without a
// certificate it is offered, too, so that the log can say what is missing.
// Source: RabbitMQ ssl, certificate authentication.
func (s *Server) mechanisms(encrypted bool) []string {
	if encrypted {
		return s.options.Mechanisms
	}
	return slices.DeleteFunc(slices.Clone(s.options.Mechanisms), func(m string) bool { return m == external })
}

// external is the mechanism that takes the user's name from the certificate.
const external = "EXTERNAL"

// credentials takes a response apart. Errors are *amqp.Error: 502 for one that is malformed, 503 for a mechanism that
// is not offered.
// Source: RabbitMQ, authentication mechanisms.
//
// Who says ANONYMOUS logs in as the configured user, whatever else it says: as long as that user has that password,
// from where it may come. Source: RabbitMQ 4.0, anonymous_login_user.
func (c *conn) credentials(mechanism, response string) (user, password string, err error) {
	o, ok := &c.server.options, false
	offered := mechanism
	if !slices.Contains(c.server.mechanisms(c.tls != nil), mechanism) {
		offered = ""
	}
	switch offered {
	case "PLAIN":
		user, password, ok = plain(response)
	case "AMQPLAIN":
		user, password, ok = amqPlain(response)
	case "ANONYMOUS":
		user, password, ok = o.AnonymousUser, o.AnonymousPassword, true
	default:
		err := amqp.CommandInvalid("unknown authentication mechanism '%s'", mechanism)
		return "", "", err.WithMethod(ids(wire.IDConnectionStartOk))
	}
	if !ok {
		err := amqp.SyntaxError("response for mechanism %s is malformed", mechanism)
		return "", "", err.WithMethod(ids(wire.IDConnectionStartOk))
	}
	return user, password, nil
}

// plain reads NUL user NUL password. An identity to act as, before the first NUL, is not accepted.
func plain(response string) (user, password string, ok bool) {
	rest, ok := strings.CutPrefix(response, "\x00")
	if !ok {
		return "", "", false
	}
	user, password, ok = strings.Cut(rest, "\x00")
	return user, password, ok && !strings.Contains(password, "\x00")
}

// amqPlain reads a field table without its length.
func amqPlain(response string) (user, password string, ok bool) {
	sized := binary.BigEndian.AppendUint32(nil, uint32(len(response)))
	t, _, err := amqp.ParseTable(append(sized, response...))
	if err != nil {
		return "", "", false
	}
	login, _ := t.Get("LOGIN")
	secret, _ := t.Get("PASSWORD")
	return login.Str, secret.Str, isText(login) && isText(secret)
}

func isText(v amqp.Value) bool { return v.Kind == amqp.KindString || v.Kind == amqp.KindBinary }
