package conformance

// A choice is what Bartleby does otherwise than RabbitMQ on purpose, wherever it shows.
type choice string

const (
	ownInstant   choice = "a message expires on time, at any position in its queue"
	noSilentLoss choice = "no silent loss of dead letters that cannot be delivered, of messages in cycles, and of direct replies without a receiver"
	holds        choice = "at-least-once works for every queue and every overflow behaviour; turning it off deletes nothing"
	everyReturn  choice = "every return counts as a delivery, in its queue"
	everyQueue   choice = "the same rules for every queue type"
	strictLimit  choice = "reject-publish is strict, and is checked before messages are dropped"
	restOfPolicy choice = "a policy with a key of another object type applies with its other keys"
	operators    choice = "settings of operators apply, and immediately"
	sense        choice = "invalid and harmful values are refused"
	asSaid       choice = "values of clients are passed on and shown unchanged"
	byTheBook    choice = "only AMQP 0-9-1, and strictly"
	noStreams    choice = "streams are not supported"
	marks        choice = "queues can be marked as dead-letter queues"
)

// choices is every choice, in the order in which README.md lists them.
var choices = []choice{
	ownInstant, noSilentLoss, holds, everyReturn, everyQueue, strictLimit, restOfPolicy, operators, sense, asSaid,
	byTheBook, noStreams, marks,
}
