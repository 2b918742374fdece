package amqpserver

import "time"

const (
	// readBufferTiny, readBufferSmall and readBufferLarge are the octets of a read buffer: a connection that sends
	// little reads into a tiny one, one that fills it goes on with the next, in the largest of which one read brings
	// hundreds of messages. One that waits holds none, where the system allows that. When the batches that the engine
	// has take much memory, or the connection waits to publish, all reads are tiny: what is read stays in its buffer.
	// Source: ours, decision 22.
	readBufferTiny  = 2 << 10
	readBufferSmall = 8 << 10
	readBufferLarge = 256 << 10

	// readBuffersKept is how many buffers of each size wait for their next use, for all connections together; more
	// are left to the garbage collector. The large ones take 8 MiB.
	readBuffersKept = 32

	// commandsKept is the capacity of a batch that is kept with its buffer: batchCommandsMax, as slices grow.
	commandsKept = 4 << 10

	// largeBody is the size from which on a body has memory of its own, which it keeps in the virtual host. Of its
	// frames, the payload is read to where it stays if placedMin octets of it have not come yet, and with it no more
	// than placedTail of what comes behind. largeBodyBefore bounds what is made for a body at once because another
	// was as large before.
	// Source: ours, decision 22.
	largeBody       = 64 << 10
	largeBodyBefore = 16 << 20
	placedMin       = 8 << 10
	placedTail      = 4 << 10

	// chunkBytes is the size of the pieces that frames are encoded into; what begins to be encoded gets a small one,
	// which is enough for a message or two: a thousand connections get one each at the same time.
	// Source: ours, decision 22.
	chunkBytes      = 64 << 10
	chunkBytesSmall = 4 << 10

	// directBytesMax is how much the engine's goroutine writes itself when the writer is idle: more would keep it from
	// its virtual host for longer than waking the writer does. Source: ours, decision 22.
	directBytesMax = 16 << 10

	// chunksKept and chunksKeptSmall are how many chunks wait for their next use, for all connections together: 16 and
	// 4 MiB.
	chunksKept      = 256
	chunksKeptSmall = 1024

	// sendPiece is how much is written at once where nobody tells how much of it a client has taken: with TLS, it is
	// the size of a record.
	sendPiece = 16 << 10

	// batchesUnderWayMax is how many batches of a connection the engine may have at once before its reader pauses:
	// enough that neither waits for the other, few enough that a backlog stays with the client. Four take 1 MiB.
	// Source: ours, decision 22.
	batchesUnderWayMax = 4

	// batchCommandsMax and batchMadeMax bound the commands of one batch, and the octets of what is made for them beside
	// the commands themselves: a read of the smallest methods would bring 14,000 of them, which take 25 times as much
	// memory as the read. What else has come waits in its buffer for the next batch. valueBytes is what a value of a
	// table takes.
	batchCommandsMax = 2 << 10
	batchMadeMax     = 256 << 10
	valueBytes       = 128

	// underWayShare: batches under way take one part in so many of Options.UnfinishedMax, those of one user three
	// quarters of that, and one small batch of each connection.
	underWayShare = 2

	// unsentBytesMax is what may wait in the outbox of a connection before its reader pauses: the answers to what a
	// client sends without reading. Deliveries are bounded by the window besides.
	unsentBytesMax = 16 << 20

	// answersShare: when what waits so, of all connections together, is more than one part in so many of
	// Options.UnfinishedMax, readers pause from unsentBytesLeast on.
	answersShare     = 2
	unsentBytesLeast = 64 << 10

	// startPause is how long connection.start waits after the protocol header: the Java client over Netty before 5.34
	// loses it when it comes at once. RabbitMQ takes about as long. Source: ours, decision 17.
	startPause = 3 * time.Millisecond

	// stackBytes is what growStack needs, so that a stack has 8 KiB. The garbage collector shrinks it while the
	// connection is idle.
	stackBytes = 5 << 10

	// announceFrom is the size of a body from which on the engine is asked, before the body has arrived, whether it may
	// be published: a smaller one is here in no time.
	announceFrom = 64 << 10

	// keptFree is what a content that has not arrived whole may take beside its body without being counted: as much as
	// its channel takes anyway.
	keptFree = 1 << 10

	// progressLooks is how often, within Options.UnfinishedTimeout, is looked whether what has begun comes on;
	// progressMin is how many octets must have come in between: about 270 a second by default.
	progressLooks = 2
	progressMin   = 4 << 10

	// messageBytesCeiling is the largest that Options.MessageMax may be. Source: RabbitMQ max_message_size.
	messageBytesCeiling = 512 << 20

	// frameBytesFloor is the smallest frame-max that a client may ask for, in octets: AMQP's own is half of it.
	// Source: RabbitMQ 4.1, frame_max.
	frameBytesFloor = 8192

	// frameBytesCeiling is the largest that Options.FrameMax may be: a frame must fit in one buffer.
	frameBytesCeiling = 16 << 20

	// loginFrameMax bounds frames until the client has logged in and tuned. Source: RabbitMQ 4.1 initial_frame_max.
	loginFrameMax = 8192

	// channelNumbers is how many channels there can be when neither side sets a limit.
	channelNumbers = 1<<16 - 1

	// acceptPause is how long the server waits when it has no file descriptor or memory for a new connection.
	acceptPause = 100 * time.Millisecond

	// silencePeriodsMax is how many half intervals without an octet end a connection: about two intervals.
	// Source: RabbitMQ heartbeats.
	silencePeriodsMax = 5

	// refusalDelay is how long a client that failed to log in waits for its socket to close.
	// Source: RabbitMQ, handshake.
	refusalDelay = 3 * time.Second

	// closeTimeout is how long the answer to connection.close may take, and the last octets to leave.
	// Source: RabbitMQ, connection.close.
	closeTimeout = 10 * time.Second

	// A broker that stops cuts off the connections that are left when none has ended for shutdownPatience. It checks
	// shutdownLooks times in that time.
	shutdownPatience = time.Second
	shutdownLooks    = 10

	// lingerTimeout is how long a client may take to close its socket after our close-ok. Closing first would let
	// the octets that it still sends destroy the close-ok on its way.
	lingerTimeout = time.Second
)
