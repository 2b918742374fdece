package amqpserver

import (
	"crypto/x509"
	"errors"
	"fmt"

	"github.com/bartleby-mq/bartleby/internal/accounts"
	"github.com/bartleby-mq/bartleby/internal/wire"
)

// logIn finds out who the client is. A reason says why it is refused, for the log; an error, that it could not even be
// asked.
func (c *conn) logIn(mechanism, response string) (user, reason string, err error) {
	var ok bool
	if mechanism == external && c.tls != nil {
		if user, reason = c.certifiedUser(); reason != "" {
			return user, reason, nil
		}
		if _, ok = c.server.engine.Accounts().User(user); !ok {
			return user, "user '" + user + "' - invalid credentials", nil
		}
	} else {
		var password string
		if user, password, err = c.credentials(mechanism, response); err != nil {
			return "", "", err
		}
		if ok, reason = c.server.engine.Authenticate(user, password, peer(c.socket)); !ok {
			return user, "user '" + user + "' - " + reason, nil
		}
	}
	if !accounts.MayComeFrom(c.server.options.LoopbackUsers, user, peer(c.socket)) {
		return user, "user '" + user + "' can only connect via localhost", nil
	}
	return user, "", nil
}

// certifiedUser is the user that the client's certificate names.
func (c *conn) certifiedUser() (user, reason string) {
	var cert *x509.Certificate
	// Verified chains and not the certificates that were sent: a listener that does not verify proves nothing.
	if chains := c.tls.ConnectionState().VerifiedChains; len(chains) > 0 {
		cert = chains[0][0]
	}
	if cert == nil {
		return "", "no peer certificate"
	}
	user, err := c.server.options.CertLogin.user(cert)
	if err != nil {
		return "", err.Error()
	}
	return user, ""
}

// loginRefused is a refusal of which the client learns less than the log.
type loginRefused struct{ mechanism, reason string }

func (e *loginRefused) Error() string { return e.mechanism + " login refused: " + e.reason }

// Unwrap is what the client learns.
func (e *loginRefused) Unwrap() error {
	return accounts.RefuseLogin(e.mechanism).WithMethod(ids(wire.IDConnectionStartOk))
}

// tlsFailed says that no TLS was agreed upon.
type tlsFailed struct{ err error }

func (e *tlsFailed) Error() string { return fmt.Sprintf("TLS handshake failed: %v", e.err) }
func (e *tlsFailed) Unwrap() error { return e.err }

// errNoName is a certificate without the name that is asked for.
var errNoName = errors.New("no name found in the peer certificate")
