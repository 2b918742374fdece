package vhost

const (
	// hotEntriesMax is how many messages of all queues are in memory at once, 32 bytes each: more are in pages.
	// With two chunks hot, at its head and at its end, a thousand long queues have space. Source: ours, decision 11.
	hotEntriesMax = 512 << 10
	// volatileBytesMax is how many bytes of transient records are in memory: more are spilled.
	volatileBytesMax = 24 << 20
	// sharedMax is how many different settings are looked through for some that a queue can share.
	sharedMax = 16
	// freedPerTick is how many chunks that were taken off in whole a tick looks through.
	freedPerTick = 64
	// tickMax is how many deadlines one Tick handles, so that publishers and consumers are served between: what they
	// ask for waits for two or three of these. aheadMax is how much of that a look ahead may take. Source:
	// bench/README.md, time.
	tickMax  = 128
	aheadMax = 32
	// nearHorizon is how far ahead, in ms, messages of a chunk are put into the set of deadlines one by one, if
	// nearLeast of them at least are due by then, later than the first; nearWork are as much work as letting one go.
	nearHorizon = 250
	nearLeast   = 8
	nearWork    = 32
	// getsAheadChunks is how many chunks are examined to find what gets would take: enough for the 10,000 messages of
	// one request, unless few messages of each chunk are ready.
	getsAheadChunks = 64
	// excessMax is how many messages of one queue a single command drops for its length; the rest follows
	// tick by tick, at once.
	excessMax = 4096
	// stepBytesMax is how much one step may do of what can be done in portions, in bytes of facts and of records:
	// bodies that move from memory into the log can be large, and a batch is written whole.
	stepBytesMax = 4 << 20
	// The work of what is done beside storing records, in bytes: stepBytesMax is 5 to 10 ms of any of it.
	workOfFact  = 512     // to make, move or return a copy
	workOfRoute = 32      // to find a queue of a very wide dead letter again
	workOfRule  = 1 << 10 // to apply a policy to a queue
	workOfPoint = 6       // a point of the topology's routing
	workOfMatch = 8       // one part of a pattern for one octet of a name
	workOfEnd   = 64      // to end a copy
	workOfDeath = 512     // to read, extend and write a death of a long history; fewDeaths are within workOfFact
	fewDeaths   = 16
	workOfChunk = 1 << 10 // to end a chunk of 256 messages without a look at them
	workOfRead  = 8 << 10 // to read a batch, perhaps from the disk; a larger record: its size
	workOfQueue = 2 << 10 // to delete a queue, or to look at it because a consumer left
	// A binding that goes is looked up in the lists of both its ends, and what is behind it there is moved.
	workOfBinding = 256
	movedPerByte  = 4
	// A look is one at a consumer that has no credit; a wake is of one whose channel or connection
	// has credit again, with its queue. If the channel has more than wakeMany, all consumers of
	// their queues are looked at.
	workOfLook = 32
	workOfWake = 128
	wakeMany   = 64
	// rulingMax is how many changes of policies that are not in force on all queues are told apart.
	rulingMax = 16
	// stepWorkMax is how much the dead letters that move on at once may make in a step, in bytes, and
	// hopsKeptMax how many of those that may not are kept in the lost store.
	stepWorkMax = 64 << 20
	hopsKeptMax = 64
	// recentBytesMax bounds a recent history likewise.
	recentBytesMax = 64 << 20
	// readsMax is how many batches a tick reads to try held dead letters again, and readsPerPause by how many
	// reads the pause to the next sweep grows by a second: a read may take a few ms.
	readsMax      = 16
	readsPerPause = 250
	// hopsMax is how many queues a dead letter may run through at one moment. Real chains are short; a ring of
	// queues that are full would never end.
	hopsMax = 128
	// movesMax is how many copies dead letters may become at the moment of their arrival in a single command, so that
	// dead letters that multiply among full queues have an end. What goes beyond is lost, with cause hops; a
	// queue that is over its limit goes on with the next tick from half of it. First moves do not count: a
	// settlement of many may end any number of deliveries.
	movesMax = 1 << 14
	// putOffMax is how many messages of a queue that came back or were to die are kept, 32 bytes each, while memory is
	// short: then the queue hands over no more of them.
	putOffMax = 1024
	// lossesMax is how many losses are kept for a log that does not look.
	lossesMax = 64
	// volatileChunkBytes is the size of a piece of memory for transient records: few pieces, no copying when
	// they fill, and little is pinned by one long-lived message.
	volatileChunkBytes = 256 << 10
	// chainMax is how many ways to die a message may meet without a rejection between them: real ladders are short, and
	// its history is written anew at each.
	chainMax = 1024
	// historyBytesMax is how large the history of a dead letter may grow: each hop writes it anew, and every
	// death has all routing keys of its hop.
	historyBytesMax = 256 << 10
	// clientDeathsMax is how many entries of a publisher's x-death are read, where they are.
	clientDeathsMax = 64
	// retryBlockedMax is how many dead letters a queue with space again takes at once; the rest follows tick
	// by tick.
	retryBlockedMax = 256
	// sweepMax is how many held dead letters one tick tries again.
	sweepMax = 4096
	// sweepFirst, sweepEvery and sweepRarest are the ms until held dead letters are tried again although
	// nothing has changed: at first, then twice as long each time. Source: docs/compat/dead-lettering.md#12.
	sweepFirst  = 1000
	sweepEvery  = 1000
	sweepRarest = 60_000
	// jobRetryEvery is the ms until a job that waits for disk space looks again.
	jobRetryEvery = 1000
	// sweepsPerMilli is how many dead letters may be tried per ms of pause, so that a topology that changes
	// all the time leaves time for other things. A dead letter that need not be read takes about 0.3 µs.
	sweepsPerMilli = 200
	// handedDelay is for how long a handing over may stay out of the log, ms. Source: ours, docs/durability.md.
	handedDelay = 100
	// lateMax bounds how many taken back deliveries of a channel are remembered, should it settle them late.
	lateMax = 1 << 16
	// quorumPriority is the priority of a message without the property in a quorum queue that sets no greatest one.
	// Source: RabbitMQ 4.3 quorum-queues.
	quorumPriority = 4
	// lostSlack is by how many bytes a step may exceed the lost store's bound before it ends.
	lostSlack = 16 << 20
	// txBytesMax bounds what a transaction holds, which is in memory; txCommandBytes is the share of a command beside
	// its content, txTagBytes that of a delivery that a command settles.
	txBytesMax     = 64 << 20
	txCommandBytes = 256
	txTagBytes     = 16
	// replyBytesMax is how much may be on its way to a connection that takes direct replies, in bytes. When the replies
	// to all connections take repliesBytesMax, each connection has an equal share of that; replyManyBytes is from where
	// on a connection counts as one that shares.
	replyBytesMax   = 16 << 20
	repliesBytesMax = 32 << 20
	replyManyBytes  = 1 << 20
	// txCopiesMax bounds what a commit makes.
	txCopiesMax = 1 << 20
	// copyKeysMax is how many routing keys CC, and BCC, may have: a record counts them in two octets, and each is
	// routed by itself. A frame of the usual size has space for half as many.
	copyKeysMax = 1<<16 - 1
	// tableBytesMax bounds the arguments of a queue, exchange, binding or consumer, the definition of a policy, and
	// options, as AMQP encodes them: a frame of the usual size. tableValuesMax bounds their values, nested ones
	// included: a value takes a hundred bytes of memory, and as little as one in a frame.
	tableBytesMax  = 128 << 10
	tableValuesMax = 4096
	// tablesExtraMax bounds what all these tables of a virtual host take together, of those that take more than
	// tableFreeBytes: settings that brokers know have less, so they never count.
	tablesExtraMax = 64 << 20
	tableFreeBytes = 2 << 10
)

// JobIDsMax bounds the messages that a job names one by one.
const JobIDsMax = 10_000

// Those of jobs.
const (
	jobsMax     = 100       // that are remembered, the oldest ended ones go
	jobsOpenMax = 16        // that have not ended
	jobsUserMax = 12        // of them of one user, so that others always find a place
	jobLooksMax = 512       // messages that a portion looks at
	jobBytesMax = 256 << 10 // octets of messages that a filter looks through in a portion, but for the last one
	jobMovesMax = 256       // and moves
	jobSpare    = 16        // messages that are listed together, beyond those that may be moved: of most filters let through not all
	jobStretch  = 100       // messages, or the canary if that is more: what came back is counted over one or two such stretches
	jobPace     = 10        // ms between portions where there is a rate
	backDelay   = 100       // ms until it is in the log that a message came back
	watchUsual  = 10_000
	watchMax    = 86_400_000
	rateMax     = 1_000_000
	jobTextMax  = 4 << 10
)
