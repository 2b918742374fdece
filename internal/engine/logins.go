package engine

import "sync/atomic"

// LoginProtocol is over which protocol somebody logs in.
type LoginProtocol uint8

// The protocols.
const (
	LoginAMQP LoginProtocol = iota
	LoginHTTP
	LoginProtocols
)

// String names the protocol as metrics do.
func (p LoginProtocol) String() string { return [LoginProtocols]string{"amqp091", "http"}[p] }

// Logins counts logins with a password since the engine was opened.
type Logins struct{ Succeeded, Failed uint64 }

// logins are those of each protocol.
type logins [LoginProtocols]struct{ succeeded, failed atomic.Uint64 }

// NoteLogin is told by frontends what became of a login. Source: RabbitMQ prometheus, auth_attempt_metrics.
func (e *Engine) NoteLogin(p LoginProtocol, ok bool) {
	if ok {
		e.logins[p].succeeded.Add(1)
	} else {
		e.logins[p].failed.Add(1)
	}
}

// Logins tells how often somebody has logged in over a protocol, and how often not.
func (e *Engine) Logins(p LoginProtocol) Logins {
	return Logins{e.logins[p].succeeded.Load(), e.logins[p].failed.Load()}
}
