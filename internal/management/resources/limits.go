package resources

const (
	ListPortion, consumersPortion, bindingsPortion = 100, 250, 250
	// bindingsLook is how many bindings one look copies to put them in order.
	bindingsLook = 2000
	// namesPortion is how many names of queues one look reads, which takes it less than a millisecond.
	namesPortion = 10_000
	// getMax bounds the messages that one request takes from a queue, all of which are in memory at once.
	getMax = 10_000
	// getBytesMax is how many bytes of messages it takes from one queue, unless the first message has more. getTries is
	// how often it looks again if others have taken what it counted on.
	getBytesMax = 32 << 20
	getTries    = 3
)
