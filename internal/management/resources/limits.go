package resources

const (
	ListPortion, consumersPortion, bindingsPortion = 100, 250, 250
	// bindingsLook is how many bindings one look copies to put them in order.
	bindingsLook = 2000
	// namesPortion is how many names of queues one look reads, which takes it less than a millisecond.
	namesPortion = 10_000
	// getMax bounds the messages that one request takes from a queue, all of which are in memory at once.
	getMax = 10_000
	// getBytesMax is about how many bytes of bodies it takes from one queue: as JSON they are up to six times as many.
	getBytesMax = 32 << 20
)
