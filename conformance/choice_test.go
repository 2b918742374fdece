package conformance

// A choice is what Bartleby does otherwise than RabbitMQ on purpose, wherever it shows.
type choice string

const (
	ownInstant   choice = "a deadline counts at its own instant, at any place in a queue"
	noSilentLoss choice = "nothing is lost in silence: letters that find no place, circles, messages that reach nobody"
	holds        choice = "at-least-once on every queue and with every overflow; switching it off deletes nothing"
	everyReturn  choice = "every return counts as a delivery, in the queue where it happened"
	everyQueue   choice = "one set of rules for every type of queue"
	strictLimit  choice = "reject-publish is strict, and looked at before anything is dropped"
	restOfPolicy choice = "a policy with a key that does not fit holds with its other keys"
	operators    choice = "what an operator sets holds, and at once"
	sense        choice = "a value that makes no sense, or trouble, is refused"
	asSaid       choice = "what a client said is passed on and shown as it was said"
	byTheBook    choice = "AMQP 0-9-1 by its text, and nothing else"
	noStreams    choice = "no streams so far"
)

// choices is every choice, in the order in which README.md lists them.
var choices = []choice{
	ownInstant, noSilentLoss, holds, everyReturn, everyQueue, strictLimit, restOfPolicy, operators, sense, asSaid,
	byTheBook, noStreams,
}
