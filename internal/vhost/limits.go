package vhost

const (
	// tickMax is how many deadlines one Tick handles, so that publishers and consumers are served between.
	tickMax = 2048
	// excessMax is how many messages of one queue a single command drops for its length; the rest follows
	// tick by tick, at once.
	excessMax = 4096
	// portionBytesMax is how much one tick, or one queue's excess, may add to a batch: bodies that move from memory
	// into the log can be large, and a batch is written whole.
	portionBytesMax = 4 << 20
	// hopsMax is how many queues a dead letter may run through at one moment. Real chains are short; a ring of
	// queues that are full would never end.
	hopsMax = 128
	// movesMax is how many dead letters may move on at the moment of their arrival in a single command, so that
	// letters that multiply among full queues have an end. What goes beyond is lost, with cause hops. First moves
	// do not count: a settlement of many may end any number of deliveries.
	movesMax = 1 << 16
	// lettersMax is how many letters one message may become between two rejections, where each hop goes to
	// several queues that pass it on by themselves: without it, n full queues whose dead-letter exchange leads to
	// all of them would make n! of one message.
	lettersMax = 1 << 16
	// lossesMax is how many losses are kept for a log that does not look.
	lossesMax = 64
	// ttlMax is the longest TTL and queue expiry, in ms: ten years. Source: RabbitMQ ttl.
	ttlMax = 315_360_000_000
	// volatileChunkBytes is the size of a piece of memory for transient records: few pieces, no copying when
	// they fill, and little is pinned by one long-lived message.
	volatileChunkBytes = 256 << 10
	// quorumDeliveryLimit is the delivery limit of a quorum queue that sets none. Source: RabbitMQ 4.0 quorum-queues.
	quorumDeliveryLimit = 20
	// txBytesMax bounds what a transaction holds, so that its commit is one batch; txCommandBytes is the share
	// of a command beside its content.
	txBytesMax     = 64 << 20
	txCommandBytes = 128
	// patternBytesMax bounds a policy's pattern. Source: RabbitMQ policies.
	patternBytesMax = 1024
)
