package vhost

import "github.com/bartleby-mq/bartleby/internal/amqp"

// table is the table that a command leaves in the virtual host for as long as what it makes is there; nil if it leaves none.
func (c *Command) table() amqp.Table {
	switch c.Kind {
	case DeclareExchange, DeclareQueue, BindExchange, BindQueue, Consume, SetOptions:
		return c.Definition.Arguments
	case SetPolicy:
		return c.Policy.Definition
	}
	return nil
}

// checkTable refuses a table that is larger than a frame of the usual size could carry, or that has so many values that it
// would take far more memory than it had in its frame. The rule is here because AMQP, HTTP and imports share it.
func checkTable(t amqp.Table) *amqp.Error {
	octets, values := t.Size()
	switch {
	case octets > tableBytesMax:
		return amqp.PreconditionFailed("the arguments have %d bytes as AMQP encodes them, at most %d are allowed", octets, tableBytesMax)
	case values > tableValuesMax:
		return amqp.PreconditionFailed("the arguments have %d values, at most %d are allowed", values, tableValuesMax)
	}
	return nil
}
